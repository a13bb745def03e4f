"""Converters: small files in each upstream's format, and real rows written back into that of one."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.sources.convert import convert as converted


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


def test_grade(tmp_path: Path) -> None:
    """Rows of the other corpora are left out."""
    row = {"Dataset": "dailydialog_EVAL", "DialogModel": "m", "Context": "one|||two", "Response": "three ",
           "HumanScores": "[2, 5]"}
    dump(tmp_path / "GRADE-x" / "human_score" / "human_judgement.json", [{**row, "Dataset": "convai2"}, row])
    dataset = convert(tmp_path, "dailydialog-grade")
    assert dataset.items == (Item("dailydialog-grade_00000", (Utterance(SYSTEM, "one"), Utterance(USER, "two")),
                                  Utterance(SYSTEM, "three"), system="m"),)
    assert votes(dataset) == {"relevance": (2.0, 5.0)}


def test_usr(tmp_path: Path) -> None:
    """The ground truth is the reference of every response, its own too."""
    scores = {quality.name: [2] * 3 for quality in registry.card("persona-usr").qualities}
    responses = [{"model": model, "response": text, **scores}
                 for model, text in (("Seq2Seq", "reply"), ("Original Ground Truth", "truth\n"))]
    records = [{"context": "a\nb\n", "fact": "f\ng\n", "responses": responses}]
    dataset = convert(dump(tmp_path / "pc_usr_data.json", records), "persona-usr")
    assert [(item.system, item.facts) for item in dataset.items] == [("Seq2Seq", ("f", "g")),
                                                                     ("Original Ground Truth", ("f", "g"))]
    assert references(dataset) == references(dataset, 1) == ["truth"]
    assert votes(dataset)["Overall"] == (2.0, 2.0, 2.0)


def test_fed(tmp_path: Path) -> None:
    """Both levels share a file; an answer in words is no vote."""
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


def test_zhao(tmp_path: Path) -> None:
    """Floors name the speakers; a response without scores was not judged; overall is appropriateness."""
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


def test_gupta(tmp_path: Path) -> None:
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


def test_dstc6(tmp_path: Path) -> None:
    """The company's reply is a reference and no system; ten more belong to the dialogue in the same line."""
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
    with pytest.raises(BadRecord, match=r"record 0: .*not that of original_refs"):
        convert(tmp_path, "dstc6")


def test_see(tmp_path: Path) -> None:
    """Dialogues between two people are left out."""
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


def test_humod(tmp_path: Path) -> None:
    """Three lines are three raters of one reply; their own replies are the references."""
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
    with pytest.raises(BadRecord, match="no such column among ID, Text"):
        convert(dump(tmp_path / "HUMOD_Dataset.TXT", "ID\tText\n1\tx\n"), "humod")


def test_a_source_without_its_file_or_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "else.bin").write_text("x")
    for card in registry.cards().values():
        for source in card.sources:
            if not source.by_hand and source.form != "mirror":
                with pytest.raises(BadRecord, match="holds no file"):
                    converted(source.form, tmp_path, card)
    dump(tmp_path / "fed_data.json", [{"context": 3, "response": "x"}])
    with pytest.raises(BadRecord, match=r"fed_data\.json: record 0: is not in the form"):
        convert(tmp_path, "fed-turn")


def test_real_rows_of_zhao_give_the_organisers_dataset(real_data: Path, tmp_path: Path) -> None:
    name = "dailydialog-zhao"
    path = real_data / "human_evaluation_data" / f"{name}_eval.json"
    dialogues: dict[str, dict[str, Any]] = {}
    for row in json.loads(path.read_text(encoding="utf-8")):
        texts, reference = row["context"].split("\n"), row["reference"][0]
        context = [["AB"[(len(texts) - number) % 2], text] for number, text in enumerate(texts)]
        dialogue = dialogues.setdefault(row["context"] + reference,
                                        {"context": context, "reference": ["A", reference], "responses": {}})
        scores = {("overall" if quality == "appropriateness" else quality): values
                  for quality, values in row["annotations"].items()}
        hits = {str(hit): {quality: values[hit] for quality, values in scores.items()}
                for hit in range(len(scores["overall"]))}
        dialogue["responses"][row["model"]] = {"uttr": row["response"], "scores": hits}
    expected = dataclasses.replace(official.parse(path, registry.card(name)), origin="fetched")
    assert convert(dump(tmp_path / "dd_annotations.json", dialogues), name) == expected
