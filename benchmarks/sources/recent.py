"""Sources of ratings from 2022 on: one function per file format, which reads the file its authors publish.

Labels of faults are inverted, so that higher is better for every quality.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, DatasetCard, Utterance
from benchmarks.formats.official import alternating, load_json
from benchmarks.sources.rows import RatedRow, Rows, published_file, read_each, read_json, read_table

BEGIN = {"Fully attributable": {"attributable": [1.0], "not generic": [1.0]},
         "Not fully attributable": {"attributable": [0.0], "not generic": [1.0]},
         "Generic": {"not generic": [0.0]}}
"""Votes for each label; a generic reply says nothing that could be attributed."""
CONTROL = "QualityControl"  # a bot of dialogue-eval that was degraded on purpose, to test the workers
DIALOGUE_EVAL = {"not robotic": "robotic", "not repetitive": "repetitive"}
"""Upstream names of qualities where they differ; upstream's scores are already inverted."""
UNSAFE = {"Yes": 0.0, "Unsure": 0.5, "No": 1.0}
"""Votes on `safe` by answer; the raters of DICES were asked whether the reply is unsafe."""
SPEAKERS = {"USER": USER, "A": USER, "LAMDA": SYSTEM, "B": SYSTEM, "Student": USER, "Tutor": SYSTEM}
SCALE = {"No": 0.0, "To some extent": 1.0, "Yes": 2.0}
REVEALS = {"Yes (and the answer is correct)": 0.0, "Yes (but the answer is incorrect)": 0.0, "No": 1.0}
TONE = {"Offensive": 0.0, "Neutral": 1.0, "Encouraging": 2.0}
MRBENCH = {
    "mistake identification": ("Mistake_Identification", SCALE),
    "mistake location": ("Mistake_Location", SCALE),
    "not revealing the answer": ("Revealing_of_the_Answer", REVEALS),
    "providing guidance": ("Providing_Guidance", SCALE),
    "actionability": ("Actionability", SCALE),
    "humanlikeness": ("humanlikeness", SCALE),
    "coherence": ("Coherence", SCALE),
    "tutor tone": ("Tutor_Tone", TONE),
}
"""Upstream name of each quality, and the value of each answer."""
MTRAG_PROGRAMS = ("system", "composite")  # raters that are programs
EMPATHETIC = "empathetic"  # the only behaviour that is not a fault
ABCEVAL = {
    "no self contradiction": "self contradiction",
    EMPATHETIC: EMPATHETIC,
    "no lack of empathy": "lack of empathy",
    "not irrelevant": "irrelevant",
    "not ignoring": "ignore",
    "no incorrect fact": "incorrect fact",
    "no commonsense contradiction": "commonsense contradiction",
    "no partner contradiction": "partner contradiction",
    "not redundant": "redundant",
}
"""Upstream name of each quality."""
ABCEVAL_PROGRAMS = ("gpt", "specialized")  # programs that labelled the turns: GPT-3.5 and classifiers


def begin(path: Path, card: DatasetCard) -> Rows:
    """BEGIN (Dziri et al., TACL 2022): is a reply fully attributable to the given knowledge?

    Upstream is a table without quoting: model_name, data_source, knowledge, message, response, begin_label.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        yield RatedRow([Utterance(USER, record["message"])], record["response"], BEGIN[record["begin_label"].strip()],
                       facts=[record["knowledge"]], system=record["model_name"])

    return read_table(published_file(path, card), read, delimiter="\t", quoting=csv.QUOTE_NONE)


def deco(path: Path, card: DatasetCard) -> Rows:
    """DECO (Ghazarian et al., ACL 2023, ACCENT): do a reply and the events in it make sense?

    Upstream is a list of {history, response, system, general_cs_raw, event_cs_raw}: turns separated by </UTT>, three
    votes each by raters who are not identified.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        yield RatedRow(alternating(record["history"].split("</UTT>")), record["response"],
                       {"commonsense": record["general_cs_raw"], "event commonsense": record["event_cs_raw"]},
                       system=record["system"])

    return read_json(published_file(path, card), read)


def dialogue_eval(path: Path, card: DatasetCard) -> Rows:
    """Ji et al. (ACL 2022): dialogues with ten chatbots, rated by the user on seven scales from 0 to 100.

    Upstream is a list of tasks: {WorkerId, data: [{model, dialogue: [{user, bot}], raw scores, z scores}]}. Votes are
    the raw scores. The dialogue of each task with `CONTROL` is left out.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        for entry in record["data"]:
            if entry["model"] != CONTROL:
                turns = [Utterance(speaker, turn[side]) for turn in entry["dialogue"]
                         for side, speaker in (("user", USER), ("bot", SYSTEM))]
                scores = {quality.name: entry["raw scores"][DIALOGUE_EVAL.get(quality.name, quality.name)]
                          for quality in card.qualities}
                votes = {name: {record["WorkerId"]: score} for name, score in scores.items()}
                yield RatedRow(turns, None, votes, system=entry["model"])

    return read_json(published_file(path, card), read)


def dices(path: Path, card: DatasetCard) -> Rows:
    """DICES (Aroyo et al., NeurIPS 2023): is LaMDA's last reply safe, in conversations meant to provoke it?

    Read in the format of JUDGE-BENCH (Bavaresco et al. 2025): `instances` with a conversation in one string, the reply,
    and answers Yes, No and Unsure to DICES's question of whether the reply is unsafe. The prompt in that file asks the
    opposite, but nearly all raters say No to a greeting and Yes to instructions for a pipe bomb. Unsure counts as half
    safe. In the set of 350, all 123 raters rated every item, so the position of an answer identifies its rater: means
    by position over two halves of the items correlate at .98. In the set of 990, raters are not identified.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        votes = [UNSAFE[answer] for answer in record["annotations"]["safety"]["individual_human_scores"]]
        text = record["instance"]["user_prompt"].replace("\\n", "\n")
        yield RatedRow(_spoken(text, r"(?:^|\n)(USER|LAMDA|A|B): ?"), record["instance"]["response"],
                       {"safe": votes if card.name == "dices-990" else dict(enumerate(votes))}, system="LaMDA")

    file = published_file(path, card)
    return read_each(file, load_json(file)["instances"], read)


def gpt_abceval(path: Path, card: DatasetCard) -> Rows:
    """ABC-Eval, labelled again for GPT-ABCEval (Finch et al., SIGDIAL 2023): nine behaviours per chatbot turn.

    Upstream is an object that maps a dialogue to its turns: {user, system, behaviors: {NAME: {human: [0, 1], gpt,
    specialized}}}. All but `empathetic` are faults. The programs' labels are the dataset's published scores.
    """
    def vote(quality: str, label: float) -> float:
        return float(label) if quality == EMPATHETIC else 1.0 - float(label)

    def read(record: tuple[str, Any]) -> Iterator[RatedRow]:
        dialogue, turns = record
        context: list[Utterance] = []
        for turn in turns:
            context.append(Utterance(USER, turn["user"]))
            labels = {quality: turn["behaviors"][name] for quality, name in ABCEVAL.items()}
            yield RatedRow(
                tuple(context), turn["system"], {quality: [vote(quality, label) for label in values["human"]]
                                                 for quality, values in labels.items()},
                system=dialogue.rpartition(")_")[2],
                scores={author: {quality: vote(quality, values[author]) for quality, values in labels.items()
                                 if author in values} for author in ABCEVAL_PROGRAMS})
            context.append(Utterance(SYSTEM, turn["system"]))

    file = published_file(path, card)
    return read_each(file, load_json(file).items(), read)


def mrbench(path: Path, card: DatasetCard) -> Rows:
    """MRBench (Maurya et al., NAACL 2025): replies of language models and human tutors to a pupil who made a mistake.

    Upstream is a list of conversations: {conversation_history, anno_llm_responses: {tutor: {response, annotation}}}.
    Each answer is the annotators' consensus. Some conversations share an id.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        history = record["conversation_history"].replace("\xa0", " ")
        context = [Utterance(turn.speaker, " ".join(turn.text.split()))
                   for turn in _spoken(history, r"(?:^|\n)\s*(Tutor|Student): ?", keep_start=False)]
        for tutor, reply in record["anno_llm_responses"].items():
            votes = {quality: [values[reply["annotation"][name]]] for quality, (name, values) in MRBENCH.items()}
            yield RatedRow(context, reply["response"], votes, system=tutor)

    return read_json(published_file(path, card), read)


def mtrag(path: Path, card: DatasetCard) -> Rows:
    """MTRAG (Katsis et al., TACL 2025): replies of two models and of people in retrieval-augmented conversations.

    Upstream is one JSON object: `tasks` with the conversation, the retrieved passages and the reference, `documents`
    with the passages, `evaluations` with a reply and, by measure, votes by rater or the score of an algorithm or judge
    (`rl_f`, `rb_llm`, `rb_agg`). The replies of the system `reference` are themselves the references.
    """
    file = published_file(path, card)
    content = load_json(file)
    tasks = {task["task_id"]: task for task in content["tasks"]}
    passages = {document["document_id"]: document["text"] for document in content["documents"]}

    def read(record: Any) -> Iterator[RatedRow]:
        task, measures = tasks[record["task_id"]], record["annotations"]
        yield RatedRow(
            [Utterance(USER if turn["speaker"] == "user" else SYSTEM, turn["text"]) for turn in task["input"]],
            record["model_response"],
            {quality.name: {rater: vote["value"] for rater, vote in measures[quality.name].items()}
             for quality in card.qualities},
            [target["text"] for target in task["targets"]],
            [passages[context["document_id"]] for context in task["contexts"]], record["model_id"],
            {name: float(score["value"]) for name, values in measures.items()
             for author, score in values.items() if author in MTRAG_PROGRAMS})

    return read_each(file, content["evaluations"], read)


def _spoken(text: str, prefixes: str, *, keep_start: bool = True) -> list[Utterance]:
    """Split a conversation at its speaker prefixes; other lines continue the turn before them.

    With `keep_start`, text before the first prefix is the user's; otherwise it is dropped.
    """
    start, *pieces = re.split(prefixes, text)
    turns = [Utterance(SPEAKERS[prefix], turn) for prefix, turn in zip(pieces[::2], pieces[1::2], strict=True)]
    return [Utterance(USER, start), *turns] if keep_start and start.strip() else turns
