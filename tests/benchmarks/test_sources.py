"""Converters: small files in the format of each source, and the published files of recent sources."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Utterance
from benchmarks.errors import BadRecord
from benchmarks.sources.fetch import convert as converted
from benchmarks.sources.rows import RatedRow, assemble, file_name, read_each
from benchmarks.storage import store
from harness.api.hub import export
from harness.errors import BadConfig
from harness.scoring.score import restrict
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import Invoke

NAMES = registry.names("recent")
RATERS = {"dices-350": 123, "dices-expert": 1, "dialogue-eval-1": 173, "dialogue-eval-2": 138, "dialogue-eval-ice": 169,
          "mtrag": 7}


@pytest.fixture
def recent(real_data: Path) -> Path:
    return real_data / "recent"


def convert(path: Path, name: str) -> Dataset:
    card = registry.card(name)
    return converted(card.sources[-1].form, path, card)


def votes(dataset: Dataset, number: int = 0) -> dict[str, tuple[float, ...]]:
    item = dataset.items[number].id
    return {rating.quality: rating.votes for rating in dataset.ratings if rating.item == item}


def references(dataset: Dataset, number: int = 0) -> list[str]:
    return [reference.text for reference in dataset.items[number].references]


def turns(dataset: Dataset) -> list[tuple[str, str]]:
    return [(turn.speaker, turn.text) for turn in dataset.items[0].utterances]


def dump(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def written(folder: Path, name: str, content: Any) -> Dataset:
    return convert(dump(folder / file_name(registry.card(name).sources[0].url), content), name)


def test_rows_of_other_corpora_are_left_out_of_grade(tmp_path: Path) -> None:
    row = {"Dataset": "dailydialog_EVAL", "DialogModel": "m", "Context": "one|||two", "Response": "three ",
           "HumanScores": "[2, 5]"}
    dump(tmp_path / "GRADE-x" / "human_score" / "human_judgement.json", [{**row, "Dataset": "convai2"}, row])
    dataset = convert(tmp_path, "dailydialog-grade")
    assert dataset.items == (Item("dailydialog-grade_00000", (Utterance(SYSTEM, "one"), Utterance(USER, "two")),
                                  Utterance(SYSTEM, "three"), system="m"),)
    assert votes(dataset) == {"relevance": (2.0, 5.0)}


def test_the_ground_truth_of_usr_is_the_reference_of_all_responses(tmp_path: Path) -> None:
    scores = {quality.name: [2] * 3 for quality in registry.card("persona-usr").qualities}
    responses = [{"model": model, "response": text, **scores}
                 for model, text in (("Seq2Seq", "reply"), ("Original Ground Truth", "truth\n"))]
    records = [{"context": "a\nb\n", "fact": "f\ng\n", "responses": responses}]
    dataset = convert(dump(tmp_path / "pc_usr_data.json", records), "persona-usr")
    assert [(item.system, item.facts) for item in dataset.items] == [("Seq2Seq", ("f", "g")),
                                                                     ("Original Ground Truth", ("f", "g"))]
    assert references(dataset) == references(dataset, 1) == ["truth"]
    assert votes(dataset)["Overall"] == (2.0, 2.0, 2.0)


def test_both_levels_of_fed_share_a_file(tmp_path: Path) -> None:
    """Both levels share a file; answers in words are not votes."""
    whole = {"context": "User: Hi!\nSystem: a: b", "system": "Meena",
             "annotations": {"Error recovery": ["N/A", "N/A (none)"], "Overall": [4]}}
    turn = {**whole, "response": "System: Well?", "annotations": {"Fluent": [2, "N/A (x)", 1]}}
    path = dump(tmp_path / "fed_data.json", [turn, whole])
    context = (Utterance(USER, "Hi!"), Utterance(SYSTEM, "a: b"))
    dataset = convert(path, "fed-turn")
    assert dataset.items == (Item("fed-turn_00000", context, Utterance(SYSTEM, "Well?"), system="Meena"),)
    assert votes(dataset) == {"Fluent": (2.0, 1.0)}
    dataset = convert(path, "fed-dial")
    assert dataset.items == (Item("fed-dial_00000", context, None, system="Meena"),)
    assert votes(dataset) == {"Error recovery": (), "Overall": (4.0,)}


def test_ratings_of_zhao_are_read_for_both_corpora(tmp_path: Path) -> None:
    """Speakers are told apart by A and B; a response without scores is left out; overall is appropriateness."""
    scores = {"1": {"worker_id": 7, "overall": 5, "content": 4, "fact": "na"}, "2": {"worker_id": 8, "overall": 3}}
    dialogue = {"context": [["B", "x"], ["A", "y"], ["A", "z"]], "reference": ["B", "r"],
                "responses": {"S2S": {"uttr": "u", "scores": scores}, "other": {"uttr": "v"}}}
    dump(tmp_path / "ACL2020_data" / "dd_annotations.json", {"d1": dialogue})
    dump(tmp_path / "ACL2020_data" / "pc_annotations.json", {"p1": {**dialogue, "reference": ["A", "q"]}})
    dataset = convert(tmp_path, "dailydialog-zhao")
    assert turns(dataset) == [(SYSTEM, "x"), (USER, "y"), (USER, "z"), (SYSTEM, "u")]
    assert votes(dataset) == {"content": (4.0,), "appropriateness": (5.0, 3.0)}
    persona = convert(tmp_path, "persona-zhao")
    assert votes(persona) == {"appropriateness": (5.0, 3.0)}
    assert references(persona) == ["q"]


def test_gupta_has_mean_ratings_and_several_references(tmp_path: Path) -> None:
    table = ("model,context_id,human_average_rating,response,prevgt,all_references,context\n"
             'human,1_1,4.333333333333333,"a , b",p,r\ts,c||||d\n')
    dataset = convert(dump(tmp_path / "mturk_rating_processed_output.csv", table), "dailydialog-gupta")
    assert votes(dataset) == {"overall": (4.333333333333333,)}
    assert references(dataset) == ["r", "s"]
    assert turns(dataset) == [(SYSTEM, "c"), (USER, "d"), (SYSTEM, "a , b")]


DSTC6 = """### Dialog: 1
U: where is my parcel ?
S: which one ?
U: the one i ordered
### Responses
S_1: [5,4,3] on its way .
S_2: [1,1,2]
S_21: [5,5,5] it left today .

### Dialog: 2
U: thanks
### Responses
S_1: [3] U: welcome
S_21: [4] any time !
"""


def test_the_last_reply_of_dstc6_is_a_reference(tmp_path: Path) -> None:
    """The company's reply is a reference, not a system's; ten more references are matched to the dialogue by line."""
    dump(tmp_path / "dstc6_t2_evaluation" / "human_rating_scores.txt", DSTC6)
    dataset = convert(tmp_path, "dstc6")
    assert [(item.system, item.response and item.response.text) for item in dataset.items] == [
        ("S_1", "on its way ."), ("S_2", ""), ("S_1", "U: welcome")]
    assert [turn.speaker for turn in dataset.items[0].context] == [USER, SYSTEM, USER]
    assert references(dataset, 1) == ["it left today ."]
    assert votes(dataset, 1) == {"overall": (1.0, 1.0, 2.0)}
    dump(tmp_path / "references" / "original_refs.txt", "it left today .\nany  time !\n")
    for number in range(1, 11):
        dump(tmp_path / "references" / f"refgen_result{number}.txt", f"one {number}\ntwo {number}\n")
    assert references(convert(tmp_path, "dstc6"), 2) == ["any  time !", *(f"two {number}" for number in range(1, 11))]
    dump(tmp_path / "references" / "original_refs.txt", "any time !\nit left today .\n")
    with pytest.raises(BadRecord, match=r"record 0: .*original_refs"):
        convert(tmp_path, "dstc6")


def test_only_line_feeds_separate_lines(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf"
    dump(tmp_path / "human_rating_scores.txt", f"### 1\nU: {text}\n### R\nS_1: [5] {text}\nS_21: [4] {text}\n")
    table = f"Dialogue_ID\tDialogue_Context\tReply\tUser_Relevance\tUser_Reply\n1\t{text}\t{text}\t3\t{text}\n"
    dump(tmp_path / "HUMOD_Dataset.TXT", table)
    for name in ("dstc6", "humod"):
        dataset = convert(tmp_path, name)
        assert turns(dataset) == [(USER, text), (SYSTEM, text)]
        assert references(dataset) == [text]


def test_dialogues_between_people_are_left_out_of_see(tmp_path: Path) -> None:
    scores = {quality.name: 3 for quality in registry.card("persona-see").qualities} | {"persona_guess": True}
    dialog = [{"speaker": "model", "text": "Hi ."}, {"speaker": "human_evaluator", "text": "hello"}]
    line = json.dumps({"dialog": dialog, "evaluation_results": scores, "model_name": "greedy_model"}) + "\n"
    dump(tmp_path / "logs" / "greedy_model.jsonl", line + "\n" + line)
    dump(tmp_path / "logs" / "human_eval.jsonl", json.dumps({"dialog": [{"speaker": "human_evaluator", "text": "x"}]}))
    dataset = convert(tmp_path, "persona-see")
    assert [item.id for item in dataset.items] == ["persona-see_00000", "persona-see_00001"]
    assert turns(dataset) == [(SYSTEM, "Hi ."), (USER, "hello")]
    assert dataset.items[0].response is None
    assert (votes(dataset)["persona_guess"], votes(dataset)["enjoy"]) == ((1.0,), (3.0,))


def test_replies_of_raters_are_the_references_of_humod(tmp_path: Path) -> None:
    """Three lines are three raters of one reply; the replies they wrote are the references."""
    names = "Dialogue_ID Dialogue_Context Reply Label User_ID User_Age User_Language_Usage_Score User_Relevance_Score"
    lines = ["\t".join([*names.split(), "User_Reply", "User_Time"])]
    for number, (reply, replies) in enumerate((("c", "xyz"), ("d", "pqr"))):
        lines += [f"{number}\tSpeaker 1: a Speaker 2: b\tSpeaker 2: {reply}\t{number}\tu\t30\t4\t{rater}\t{text}\t1268"
                  for rater, text in enumerate(replies, 1)]
    faulty = "\n".join([*lines, ""]).replace("y\t1268", "y   1268").replace("Speaker 2: b", "\tSpeaker 2: b", 1)
    dataset = convert(dump(tmp_path / "HUMOD_Dataset.TXT", faulty), "humod")
    assert [references(dataset, number) for number in (0, 1)] == [list("xyz"), list("pqr")]
    assert turns(dataset) == [(SYSTEM, "a"), (USER, "b"), (SYSTEM, "c")]
    assert votes(dataset) == {"language_usage": (4.0, 4.0, 4.0), "relevance": (1.0, 2.0, 3.0)}
    with pytest.raises(BadRecord, match="ID, Text"):
        convert(dump(tmp_path / "HUMOD_Dataset.TXT", "ID\tText\n1\tx\n"), "humod")


def test_a_source_with_a_missing_or_malformed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "else.bin").write_text("x")
    for card in registry.cards().values():
        for source in card.sources:
            if not source.by_hand and source.form != "mirror":
                with pytest.raises(BadRecord):
                    converted(source.form, tmp_path, card)
    dump(tmp_path / "fed_data.json", [{"context": 3, "response": "x"}])
    with pytest.raises(BadRecord, match=r"fed_data\.json: record 0"):
        convert(tmp_path, "fed-turn")


def test_implausible_votes_and_lone_surrogates_are_refused(tmp_path: Path) -> None:
    row = {"Dataset": "convai2", "DialogModel": "m", "Context": "one", "Response": "two", "HumanScores": "[2, 5]"}
    bad = [{"HumanScores": votes} for votes in ("[NaN, 2]", "[-Infinity]", "[true]", '["good"]', "[1e7]", '"25"')]
    for change in (*bad, {"Response": "t\ud800"}, {"Context": "\udfff"}):
        dump(tmp_path / "human_judgement.json", [row, row | change])
        with pytest.raises(BadRecord, match=r"human_judgement\.json: record 1: .*(vote|number|surrogate)"):
            convert(tmp_path, "convai2-grade")


def test_a_rater_can_be_identified_by_several_values(tmp_path: Path) -> None:
    row = RatedRow((), "Hi", {"appropriate": {("batch 1", 7): 2.0}})
    assert list(read_each(tmp_path, [row], lambda row: iter([row]))) == [row]


def test_dices_identifies_raters_by_position(tmp_path: Path) -> None:
    record = {"id": "1", "instance": {"user_prompt": "USER: Hi\nthere\nLAMDA: Yo\nUSER: Tea?", "response": "No."},
              "annotations": {"safety": {"individual_human_scores": ["Yes", "Unsure", "No"]}}}
    dataset = written(tmp_path, "dices-350", {"instances": [record]})
    assert dataset.items[0].context == (Utterance(USER, "Hi\nthere"), Utterance(SYSTEM, "Yo"), Utterance(USER, "Tea?"))
    assert (dataset.ratings[0].votes, dataset.ratings[0].raters) == ((0.0, 0.5, 1.0), ("r1", "r2", "r3"))
    assert written(tmp_path, "dices-990", {"instances": [record]}).ratings[0].raters == ()


def test_dialogue_eval_leaves_out_the_control_and_hides_workers(tmp_path: Path) -> None:
    scores = dict.fromkeys(("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"), "30")
    entry = {"dialogue": [{"round": "1", "user": "Hi", "bot": "Yo"}], "raw scores": scores}
    task = {"WorkerId": "A32TIY", "data": [{**entry, "model": "A"}, {**entry, "model": "QualityControl"}]}
    dataset = written(tmp_path, "dialogue-eval-1", [task, task])
    assert [item.system for item in dataset.items] == ["A", "A"]
    assert votes(dataset)["not robotic"] == (30.0,)
    assert {rating.raters for rating in dataset.ratings} == {("r1",)}
    assert "A32TIY" not in repr(dataset)


def test_mrbench_inverts_revealing_the_answer(tmp_path: Path) -> None:
    annotation = {"Mistake_Identification": "Yes", "Mistake_Location": "No", "Providing_Guidance": "To some extent",
                  "Revealing_of_the_Answer": "Yes (and the answer is correct)", "Actionability": "No",
                  "humanlikeness": "Yes", "Coherence": "Yes", "Tutor_Tone": "Neutral"}
    history = "Tutor: 2+2?\xa0\n\xa0Student: 5\nor 6\xa0\n\xa0Tutor: Sure?\xa0\n\xa0Student: Yes"
    record = {"conversation_history": history,
              "anno_llm_responses": {"GPT4": {"response": "It is 4.", "annotation": annotation}}}
    dataset = written(tmp_path, "mrbench", [record])
    assert [turn.speaker for turn in dataset.items[0].context] == [SYSTEM, USER, SYSTEM, USER]
    assert votes(dataset).items() >= {"not revealing the answer": (0.0,), "providing guidance": (1.0,)}.items()


def test_begin_has_no_vote_on_attribution_of_generic_replies(tmp_path: Path) -> None:
    rows = ["model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label",
            't5\twow\tTea is "hot\tHi\tYes\tFully attributable', "t5\twow\tTea\tHi\tOk\tGeneric"]
    dataset = written(tmp_path, "begin-wow", "\n".join(rows))
    assert dataset.items[0].facts == ('Tea is "hot',)
    assert votes(dataset) == {"attributable": (1.0,), "not generic": (1.0,)}
    assert votes(dataset, 1) == {"not generic": (0.0,)}


def test_gpt_abceval_inverts_faults(tmp_path: Path, home: Path) -> None:
    names = ("self contradiction", "empathetic", "lack of empathy", "irrelevant", "ignore", "incorrect fact",
             "commonsense contradiction", "partner contradiction", "redundant")
    turn = {"user": "Hi", "system": "Yo", "behaviors": {name: {"human": [0, 1], "gpt": 1} for name in names}}
    dataset = written(tmp_path, "gpt-abceval", {"(1,2)_bot_a": [turn, turn]})
    assert [len(item.context) for item in dataset.items] == [1, 3]
    assert dataset.items[0].system == "bot_a"
    assert votes(dataset).items() >= {"empathetic": (0.0, 1.0), "not redundant": (1.0, 0.0)}.items()
    assert dataset.scores["gpt"]["gpt-abceval_00001|empathetic"] == 1.0
    store.save(dataset, home)
    registry.register_home(home)
    columns = restrict(choose("scores:gpt-abceval.gpt").metric, dataset).score(dataset.items, Models(home))
    assert columns["scores:gpt-abceval.gpt@not redundant"].tolist() == [0.0, 0.0]


def test_the_name_of_published_scores_is_not_a_path() -> None:
    row = RatedRow((), "Hi", {}, scores={"x/../../y": 1.0})
    with pytest.raises(BadRecord, match="x/"):
        assemble(registry.card("mtrag"), [row])


def test_a_greeting_is_safe_in_dices(recent: Path) -> None:
    dataset = convert(recent / "dices" / "dices_990.json", "dices-990")
    means = {rating.item: float(np.mean(rating.votes)) for rating in dataset.ratings}
    greetings = [means[item.id] for item in dataset.items if item.response and item.response.text.startswith("Hello,")]
    assert min(greetings) > np.median(list(means.values()))


def test_published_judges_of_mtrag_are_metrics(recent: Path, tmp_path: Path, invoke: Invoke) -> None:
    assert "scores:mtrag.rl_f" in invoke("import", recent / "mtrag").out
    run = ("run", "--dataset", "mtrag", "--metric", "scores:mtrag.rl_f", "--draws", "0", "--out", tmp_path / "out")
    rows = [json.loads(line) for line in invoke(*run, "--json").out.splitlines()]
    values = {row["quality"]: row["value"] for row in rows if row["statistic"] == "spearman"}
    assert (values["faithfulness"], values["appropriateness"]) == pytest.approx((0.582, 0.222), abs=0.0005)
    invoke("verify", tmp_path / "out", "--out", tmp_path / "again")


def test_published_files_are_read(recent: Path) -> None:
    for name in NAMES:
        card = registry.card(name)
        path = next(recent.rglob(file_name(card.sources[0].url)))
        assert hashlib.sha256(path.read_bytes()).hexdigest() == card.sources[0].sha256, name
        dataset = convert(path, name)
        assert len(dataset.items) == card.size, name
        scales = {quality.name: quality for quality in card.qualities}
        assert {rating.quality for rating in dataset.ratings} == scales.keys(), name
        assert all(scales[rating.quality].accepts(vote) for rating in dataset.ratings for vote in rating.votes), name
        assert len({rater for rating in dataset.ratings for rater in rating.raters}) == RATERS.get(name, 0), name


def test_texts_without_a_licence_are_not_exported(tmp_path: Path) -> None:
    assert {name for name in NAMES if not registry.card(name).shareable} == {"deco", "deco-train", "gpt-abceval"}
    record = {"history": "Hi </UTT> Yo", "response": "Tea?", "system": "bot", "general_cs_raw": [1, 2, 3],
              "event_cs_raw": [3, 3, 3]}
    with pytest.raises(BadConfig, match="deco"):
        export(written(tmp_path, "deco", [record]), tmp_path / "out")
    assert not (tmp_path / "out").exists()
