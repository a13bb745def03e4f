"""The cards of the corpora, each called as its file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """What is known of a corpus; `training` are the splits that may be trained on."""

    name: str
    title: str
    training: tuple[str, ...]
    licence: str
    citation: str
    notes: str = ""


TRAIN = ("train",)
SESSIONS = tuple(f"session{number}-{split}" for number in range(2, 6) for split in ("train", "valid", "test"))
EXPORTS = (*(f"export_2018-07-0{day}_train" for day in range(4, 8)), "data_tolokers", "data_intermediate",
           "data_volunteers")

_CARDS = (
    CorpusCard(
        "dailydialog", "DailyDialog", TRAIN, "CC BY-NC-SA 4.0",
        "Li, Su, Shen, Li, Cao and Niu (2017). DailyDialog: A Manually Labelled Multi-turn Dialogue Dataset. IJCNLP.",
        "Non-commercial. Everyday conversations from sites for learners of English, tokenised. It repeats dialogues "
        "across its own splits, and dailydialog-zhao and DailyDialog++ were drawn from its train split too."),
    CorpusCard(
        "dailydialog_pp", "DailyDialog++", ("train", "train_positive_only", "dev"), "not stated",
        "Sai, Mohankumar, Arora and Khapra (2020). Improving Dialog Evaluation with a Multi-reference Adversarial "
        "Dataset and Large Scale Pretraining. TACL.",
        "Contexts with five replies of each kind. The train split has adversarial and random negatives; "
        "train_positive_only, 7,641 further contexts, has none."),
    CorpusCard(
        "empatheticdialogues", "EmpatheticDialogues", TRAIN, "CC BY-NC 4.0",
        "Rashkin, Smith, Li and Boureau (2019). Towards Empathetic Open-domain Conversation Models: a New Benchmark "
        "and Dataset. ACL.",
        "Non-commercial. A situation is told and felt with. A label auto_label of an utterance is machine-made."),
    CorpusCard(
        "personachat", "PersonaChat (ConvAI2)", TRAIN, "not stated",
        "Zhang, Dinan, Urbanek, Szlam, Kiela and Weston (2018). Personalizing Dialogue Agents: I have a dog, do you "
        "have pets too? ACL. Dinan et al. (2019). The Second Conversational Intelligence Challenge (ConvAI2).",
        "Lower-cased and tokenised. ConvAI2 train has 17,878 episodes, every conversation from both sides. The valid "
        "split is what convai2-grade, persona-usr and persona-zhao are made of."),
    CorpusCard(
        "topical_chat", "Topical-Chat", ("train", "valid_freq", "valid_rare", "test_freq", "test_rare"),
        "CDLA-Sharing-1.0",
        "Gopalakrishnan, Hedayatnia, Chen, Gottardi, Kwatra, Venkatesh, Gabriel and Hakkani-Tür (2019). Topical-Chat: "
        "Towards Knowledge-Grounded Open-Domain Conversations. Interspeech.",
        "About things read beforehand. Contexts of topical-usr are among its valid and test splits, and left out."),
    CorpusCard(
        "wizard_of_wikipedia", "Wizard of Wikipedia", (
            "train", "valid", "test", "valid_unseen", "test_unseen"), "not stated",
        "Dinan, Roller, Shuster, Fan, Auli and Weston (2019). Wizard of Wikipedia: Knowledge-Powered Conversational "
        "Agents. ICLR.",
        "One of the two speakers can look things up. The passages are left out."),
    CorpusCard(
        "multi_session_chat", "Multi-Session Chat", SESSIONS, "not stated",
        "Xu, Szlam and Weston (2022). Beyond Goldfish Memory: Long-Term Open-Domain Conversation. ACL.",
        "People of PersonaChat go on in sessions 2 to 5."),
    CorpusCard(
        "wizard_of_internet", "Wizard of the Internet", ("train", "valid", "test"), "not stated",
        "Komeili, Shuster and Weston (2022). Internet-Augmented Dialogue Generation. ACL."),
    CorpusCard(
        "opendialkg", "OpenDialKG", ("train", "valid", "test"), "CC BY-NC 4.0",
        "Moon, Shah, Kumar and Subba (2019). OpenDialKG: Explainable Conversational Reasoning with Attention-based "
        "Walks over Knowledge Graphs. ACL.",
        "Non-commercial."),
    CorpusCard(
        "cmu_dog", "CMU_DoG", TRAIN, "not stated",
        "Zhou, Prabhumoye and Black (2018). A Dataset for Document Grounded Conversations. EMNLP.",
        "About films; a speaker can take several turns in a row."),
    CorpusCard(
        "self_dialogue", "Self-dialogue Corpus", TRAIN, "BSD-3-Clause",
        "Fainberg, Krause, Dobre, Damonte, Kahembwe, Duma, Webber and Fancellu (2018). Talking to myself: "
        "self-dialogues as data for conversational agents. arXiv.",
        "One person wrote both sides."),
    CorpusCard(
        "dream", "DREAM", TRAIN, "non-commercial research only",
        "Sun, Yu, Chen, Yu, Choi and Cardie (2019). DREAM: A Challenge Data Set and Models for Dialogue-Based Reading "
        "Comprehension. TACL.",
        "Dialogues of English exams. More than two people can speak."),
    CorpusCard(
        "mutual", "MuTual", TRAIN, "not stated",
        "Cui, Wu, Liu, Zhang and Zhou (2020). MuTual: A Dataset for Multi-Turn Dialogue Reasoning. ACL.",
        "The last utterance is the right answer; distractor_responses are plausible and do not follow."),
    CorpusCard(
        "meld", "MELD", TRAIN, "GPL-3.0",
        "Poria, Hazarika, Majumder, Naik, Cambria and Mihalcea (2019). MELD: A Multimodal Multi-Party Dataset for "
        "Emotion Recognition in Conversations. ACL.",
        "Scenes of a television series, of several speakers, with emotion and sentiment."),
    CorpusCard(
        "convai2_2018_human_bot", "ConvAI2 2018, people with bots", EXPORTS, "not stated",
        "Dinan et al. (2019). The Second Conversational Intelligence Challenge (ConvAI2).",
        "Half of the turns are of bots. eval_score, 1 to 5, is what the person thought of the conversation. The text "
        "is uncensored."),
    CorpusCard(
        "convai2017", "ConvAI 2017", ("amt50", "2017-07-24"), "not stated",
        "Ghazarian, Weischedel, Galstyan and Peng (2020). Predictive Engagement: An Efficient Metric for Automatic "
        "Evaluation of Open-Domain Dialogue Systems. AAAI.",
        "Partial: 50 conversations with engagement, 281 without, of the 2,099 of the full file."),
    CorpusCard(
        "engagement_utterances", "Utterances judged for engagement", TRAIN, "not stated",
        "Ghazarian, Weischedel, Galstyan and Peng (2020). Predictive Engagement: An Efficient Metric for Automatic "
        "Evaluation of Open-Domain Dialogue Systems. AAAI.",
        "A query and a reply each, with engaging, 0 or 1."),
    CorpusCard(
        "dialogue_nli_sample", "DialogueNLI, a sample", TRAIN, "not stated",
        "Welleck, Weston, Szlam and Cho (2019). Dialogue Natural Language Inference. ACL.",
        "No dialogues: two sentences of PersonaChat each, with label: entailment, neutral or contradiction."),
)

CARDS = {card.name: card for card in _CARDS}
