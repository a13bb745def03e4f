"""The cards, and the converters: small files in each upstream's format, and the real ones where they are.

The real test writes the organisers' rows out in the upstream's own format, and the converter must give the
organisers' items and votes again.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.sources.grade import CORPORA
from benchmarks.storage.fetch import converter

Rows = list[dict[str, Any]]


def convert(form: str, path: Path, name: str) -> Dataset:
    return converter(form)(path, registry.card(name))


def votes(dataset: Dataset, item: str) -> dict[str, tuple[float, ...]]:
    return {rating.quality: rating.votes for rating in dataset.ratings if rating.item == item}


def dump(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def same(converted: Dataset, real: Dataset) -> None:
    """Equal items and ratings, row by row."""
    assert converted.card == real.card
    for mine, theirs in zip(converted.items, real.items, strict=True):
        assert mine == theirs
    assert converted.ratings == real.ratings
    assert converted.origin == "fetched"


# Small files

def test_grade(tmp_path: Path) -> None:
    """Rows of the other corpora are passed over."""
    rows = [
        {"ID": 0, "Dataset": "convai2", "DialogModel": "m", "Context": "a|||b", "Response": "c", "HumanScores": "[1]"},
        {"ID": 1, "Dataset": "dailydialog_EVAL", "DialogModel": "m", "Context": "one|||two", "Response": "three ",
         "HumanScores": "[2, 5]"},
    ]
    dump(tmp_path / "GRADE-x" / "evaluation" / "human_score" / "human_judgement.json", rows)
    dataset = convert("grade", tmp_path, "dailydialog-grade")
    assert [item.id for item in dataset.items] == ["dailydialog-grade_00000"]
    item = dataset.items[0]
    assert item.context == (Utterance(SYSTEM, "one"), Utterance(USER, "two"))
    assert item.response == Utterance(SYSTEM, "three")
    assert item.references == ()
    assert item.system == "m"
    assert votes(dataset, item.id) == {"relevance": (2.0, 5.0)}


def usr_response(model: str, text: str, vote: int = 1) -> dict[str, Any]:
    qualities = registry.card("persona-usr").qualities
    return {"model": model, "response": text, **{quality.name: [vote] * 3 for quality in qualities}}


def test_usr(tmp_path: Path) -> None:
    """The ground truth is everybody's reference, its own as well."""
    responses = [usr_response("Seq2Seq", "reply", 2), usr_response("Original Ground Truth", "truth\n")]
    records = [{"context": "a\nb\n", "fact": "f\ng\n", "responses": responses}]
    dataset = convert("usr", dump(tmp_path / "pc_usr_data.json", records), "persona-usr")
    assert [item.system for item in dataset.items] == ["Seq2Seq", "Original Ground Truth"]
    assert {item.facts for item in dataset.items} == {("f", "g")}
    assert [reference.text for item in dataset.items for reference in item.references] == ["truth", "truth"]
    assert votes(dataset, "persona-usr_00000")["Overall"] == (2.0, 2.0, 2.0)


def test_fed(tmp_path: Path) -> None:
    """Both levels share a file; an answer in words is no vote, and a quality may have none left."""
    turn = {"context": "User: Hi!\nSystem: a: b", "response": "System: Well?", "system": "Meena",
            "annotations": {"Fluent": [2, "N/A (x)", 1]}}
    whole = {"context": "User: Hi!\nSystem: a: b", "system": "Human",
             "annotations": {"Error recovery": ["N/A", "N/A (none)"], "Overall": [4]}}
    path = dump(tmp_path / "fed_data.json", [turn, whole])
    turns, dialogues = convert("fed", path, "fed-turn"), convert("fed", path, "fed-dial")
    context = (Utterance(USER, "Hi!"), Utterance(SYSTEM, "a: b"))
    assert turns.items == (Item("fed-turn_00000", context, Utterance(SYSTEM, "Well?"), system="Meena"),)
    assert dialogues.items == (Item("fed-dial_00000", context, None, system="Human"),)
    assert votes(turns, "fed-turn_00000") == {"Fluent": (2.0, 1.0)}
    assert votes(dialogues, "fed-dial_00000") == {"Error recovery": (), "Overall": (4.0,)}


def test_zhao(tmp_path: Path) -> None:
    """The floors name the speakers; a response without scores was not judged; overall is appropriateness."""
    scores = {"1": {"worker_id": 7, "overall": 5, "content": 4, "fact": "na"}, "2": {"worker_id": 8, "overall": 3}}
    dialogue = {"context": [["B", "x"], ["A", "y"], ["A", "z"]], "reference": ["B", "r"],
                "responses": {"S2S": {"uttr": "u", "scores": scores}, "other": {"uttr": "v"}}}
    dump(tmp_path / "ACL2020_data" / "dd_annotations.json", {"d1": dialogue})
    dump(tmp_path / "ACL2020_data" / "pc_annotations.json", {"p1": {**dialogue, "reference": ["A", "q"]}})
    dataset = convert("zhao", tmp_path, "dailydialog-zhao")
    assert [turn.speaker for turn in dataset.items[0].context] == [SYSTEM, USER, USER]
    assert votes(dataset, "dailydialog-zhao_00000") == {"content": (4.0,), "appropriateness": (5.0, 3.0)}
    persona = convert("zhao", tmp_path, "persona-zhao")
    assert votes(persona, "persona-zhao_00000") == {"appropriateness": (5.0, 3.0)}
    assert [reference.text for reference in persona.items[0].references] == ["q"]


def test_gupta(tmp_path: Path) -> None:
    """One mean rating is one vote."""
    path = tmp_path / "mturk_rating_processed_output.csv"
    path.write_text("model,context_id,human_average_rating,response,prevgt,all_references,context\n"
                    'human,1_1,4.333333333333333,"a , b",p,r\ts,c||||d\n')
    dataset = convert("gupta", path, "dailydialog-gupta")
    assert votes(dataset, "dailydialog-gupta_00000") == {"overall": (4.333333333333333,)}
    assert [reference.text for reference in dataset.items[0].references] == ["r", "s"]
    assert [turn.text for turn in dataset.items[0].context] == ["c", "d"]


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
    """What the company wrote is a reference and no system; an empty reply stays empty."""
    path = tmp_path / "dstc6_t2_evaluation" / "human_rating_scores.txt"
    path.parent.mkdir()
    path.write_text(DSTC6)
    dataset = convert("dstc6", tmp_path, "dstc6")
    assert [item.system for item in dataset.items] == ["S_1", "S_2", "S_1"]
    assert [item.response and item.response.text for item in dataset.items] == ["on its way .", "", "U: welcome"]
    assert [turn.speaker for turn in dataset.items[0].context] == [USER, SYSTEM, USER]
    assert [reference.text for reference in dataset.items[1].references] == ["it left today ."]
    assert votes(dataset, "dstc6_00001") == {"overall": (1.0, 1.0, 2.0)}


def test_dstc6_references(tmp_path: Path) -> None:
    """The ten references more belong to the dialogue whose original reply stands in the same line."""
    (tmp_path / "human_rating_scores.txt").write_text(DSTC6)
    folder = tmp_path / "references"
    folder.mkdir()
    (folder / "original_refs.txt").write_text("it left today .\nany  time !\n")
    for number in range(1, 11):
        (folder / f"refgen_result{number}.txt").write_text(f"one {number}\ntwo {number}\n")
    dataset = convert("dstc6", tmp_path, "dstc6")
    assert [reference.text for reference in dataset.items[2].references] == [
        "any  time !", *(f"two {number}" for number in range(1, 11))]
    (folder / "original_refs.txt").write_text("any time !\nit left today .\n")
    with pytest.raises(BadRecord, match=r"record 0: .*not that of original_refs"):
        convert("dstc6", tmp_path, "dstc6")


def see_line(speaker: str = "human_evaluator") -> str:
    scores = {quality.name: 3 for quality in registry.card("persona-see").qualities} | {"persona_guess": True}
    dialog = [{"speaker": "model", "text": "Hi ."}, {"speaker": speaker, "text": "hello"}]
    return json.dumps({"dialog": dialog, "evaluation_results": scores, "model_name": "greedy_model"}) + "\n"


def test_see(tmp_path: Path) -> None:
    """Logs go by name; two people talking is no system's dialogue."""
    folder = tmp_path / "evaluation_logs_reproducible"
    folder.mkdir()
    (folder / "greedy_model.jsonl").write_text(see_line() + "\n" + see_line())
    people = json.dumps({"dialog": [{"speaker": "human_evaluator", "text": "x"}, {"speaker": "other", "text": "y"}]})
    (folder / "human_eval.jsonl").write_text(people + "\n")
    dataset = convert("see", tmp_path, "persona-see")
    assert [item.id for item in dataset.items] == ["persona-see_00000", "persona-see_00001"]
    assert dataset.items[0].context == (Utterance(SYSTEM, "Hi ."), Utterance(USER, "hello"))
    assert dataset.items[0].response is None
    assert votes(dataset, "persona-see_00000")["persona_guess"] == (1.0,)
    assert votes(dataset, "persona-see_00000")["enjoy"] == (3.0,)


HUMOD = ["Dialogue_ID", "Dialogue_Context", "Reply", "Label", "User_ID", "User_Age", "User_Language_Usage_Score",
         "User_Relevance_Score", "User_Reply", "User_Time"]


def humod_lines(rows: Rows) -> str:
    table = ["\t".join(HUMOD)]
    for number, row in enumerate(rows):
        context = " ".join(f"Speaker {1 + place % 2}: {turn}" for place, turn in enumerate(row["context"].split("\n")))
        for rater, reference in enumerate(row["reference"], 1):
            table.append("\t".join([str(number), context, f"Speaker 2: {row['response']}", str(number % 2), "u", "30",
                                    "4", str(rater), reference, "1268"]))
    return "\n".join(table) + "\n"


def test_humod(tmp_path: Path) -> None:
    """Three lines are three raters of one reply; their own replies are the references."""
    rows = [{"context": "a\nb", "response": "c", "reference": ["x", "y", "z"]},
            {"context": "a\nb", "response": "d", "reference": ["p", "q", "r"]}]
    path = tmp_path / "HUMOD_Dataset.TXT"
    path.write_text(humod_lines(rows).replace("y\t1268", "y   1268").replace("Speaker 2: b", "\tSpeaker 2: b", 1))
    dataset = convert("humod", path, "humod")
    assert [[reference.text for reference in item.references] for item in dataset.items] == [list("xyz"), list("pqr")]
    assert [item.response and item.response.text for item in dataset.items] == ["c", "d"]
    assert [turn.text for turn in dataset.items[0].context] == ["a", "b"]
    assert votes(dataset, "humod_00000") == {"language_usage": (4.0, 4.0, 4.0), "relevance": (1.0, 2.0, 3.0)}
    path.write_text("ID\tText\n1\tx\n")
    with pytest.raises(BadRecord, match="no such column among ID, Text"):
        convert("humod", path, "humod")


def test_the_mirror_has_the_organisers_format(tmp_path: Path) -> None:
    """The file of the mirror is read like an imported one, but is marked as fetched."""
    rows = [{"dialogue_id": "humod_00000", "context": "hi", "response": "yes", "annotations": {"relevance": [1]}}]
    dump(tmp_path / "DSTC_11_Track_4" / "metadata" / "dev" / "en" / "humod" / "humod_eval.json", rows)
    dataset = convert("dstc11", tmp_path, "humod")
    assert dataset.origin == "fetched"
    assert dataset.items[0].id == "humod_00000"


def test_a_source_without_its_file_says_so(tmp_path: Path) -> None:
    """An archive that holds something else is not taken for an empty dataset."""
    (tmp_path / "else.bin").write_text("x")
    for card in registry.cards().values():
        for source in card.sources:
            if not source.by_hand:
                with pytest.raises(BadRecord, match="holds no file"):
                    convert(source.form, tmp_path, card.name)
    dump(tmp_path / "fed_data.json", [{"context": 3, "response": "x"}])
    with pytest.raises(BadRecord, match=r"fed_data\.json: record 0: is not in the form"):
        convert("fed", tmp_path, "fed-turn")


# The real files, written back in the upstream's format

def real(folder: Path, name: str) -> tuple[Rows, Dataset]:
    path = folder / "human_evaluation_data" / f"{name}_eval.json"
    assert registry.card(name).sources[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    return json.loads(path.read_text(encoding="utf-8")), official.parse(path, registry.card(name))


def test_real_grade(real_data: Path, tmp_path: Path) -> None:
    """The rows of GRADE, written out as upstream has them."""
    for name, corpus in CORPORA.items():
        rows, expected = real(real_data, name)
        records = [{"Dataset": corpus, "DialogModel": row["model_name"], "Context": row["context"].replace("\n", "|||"),
                    "Response": row["response"], "HumanScores": str(row["annotations"]["relevance"])} for row in rows]
        path = dump(tmp_path / "evaluation" / "human_judgement.json", records)
        same(convert("grade", path, name), expected)


@pytest.mark.parametrize(("name", "file"), [("persona-usr", "pc_usr_data.json"), ("topical-usr", "tc_usr_data.json")])
def test_real_usr(real_data: Path, tmp_path: Path, name: str, file: str) -> None:
    """The rows of USR, grouped by context again."""
    rows, expected = real(real_data, name)
    groups: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["context"].strip(), row["fact"].strip(), row["reference"][0].strip())
        group = groups.setdefault(key, {"context": row["context"], "fact": row["fact"], "responses": []})
        group["responses"].append({"model": row["model"], "response": row["response"], **row["annotations"]})
    same(convert("usr", dump(tmp_path / file, list(groups.values())), name), expected)


def test_real_fed(real_data: Path, tmp_path: Path) -> None:
    """Both levels of FED out of one file, with answers in words strewn in."""
    turn_rows, turns = real(real_data, "fed-turn")
    dialogue_rows, dialogues = real(real_data, "fed-dial")
    marks = {"human": "User", "model": "System"}
    records = [{"context": row["context"], "response": row["response"], "system": row["model"],
                "annotations": {name: ["N/A (so)", *values] for name, values in row["annotations"].items()}}
               for row in turn_rows]
    records[10:10] = [{"context": "\n".join(f"{marks[turn['speaker']]}: {turn['text']}" for turn in row["dialog"]),
                       "system": row["model"], "annotations": row["annotations"]} for row in dialogue_rows]
    path = dump(tmp_path / "fed_data.json", records)
    same(convert("fed", path, "fed-turn"), turns)
    same(convert("fed", path, "fed-dial"), dialogues)


@pytest.mark.parametrize(("name", "file"), [
    ("dailydialog-zhao", "dd_annotations.json"), ("persona-zhao", "pc_annotations.json"),
])
def test_real_zhao(real_data: Path, tmp_path: Path, name: str, file: str) -> None:
    """The rows of Zhao et al., grouped by dialogue again."""
    rows, expected = real(real_data, name)
    dialogues: dict[str, dict[str, Any]] = {}
    for row in rows:
        turns = row["context"].split("\n")
        context = [["AB"[(len(turns) - place) % 2], text] for place, text in enumerate(turns)]
        dialogue = dialogues.setdefault(row["context"] + row["reference"][0],
                                        {"context": context, "reference": ["A", row["reference"][0]], "responses": {}})
        given = {("overall" if quality == "appropriateness" else quality): scores
                 for quality, scores in row["annotations"].items()}
        hits = {str(hit): {quality: scores[hit] for quality, scores in given.items()}
                for hit in range(len(row["annotations"]["appropriateness"]))}
        dialogue["responses"][row["model"]] = {"uttr": row["response"], "scores": hits}
    same(convert("zhao", dump(tmp_path / file, dialogues), name), expected)


def test_real_gupta(real_data: Path, tmp_path: Path) -> None:
    """The rows of Gupta et al. as the table that they were."""
    rows, expected = real(real_data, "dailydialog-gupta")
    path = tmp_path / "mturk_rating_processed_output.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["model", "context_id", "human_average_rating", "response", "prevgt", "all_references",
                        "context"])
        for row in rows:
            table.writerow([row["model"], "1_1", row["annotations"]["overall"][0], row["response"], "",
                            "\t".join(row["reference"]), row["context"].replace("\n", "||||")])
    same(convert("gupta", path, "dailydialog-gupta"), expected)


def test_real_humod(real_data: Path, tmp_path: Path) -> None:
    """The texts of HUMOD, with ratings made up: contexts, replies and references come back."""
    rows = json.loads((real_data / "side" / "humod_text.json").read_text(encoding="utf-8"))
    path = tmp_path / "HUMOD_Dataset.TXT"
    path.write_text(humod_lines(rows), encoding="utf-8")
    dataset = convert("humod", path, "humod")
    texts = official.parse(real_data / "side" / "humod_text.json", registry.card("humod"))
    assert dataset.items == texts.items


def test_real_persona_see(real_data: Path, tmp_path: Path) -> None:
    """The dialogues of See et al., with ratings made up."""
    source = real_data / "side" / "persona-see_text.json"
    scores = json.loads(see_line())["evaluation_results"]
    with (tmp_path / "all.jsonl").open("w", encoding="utf-8") as stream:
        for row in json.loads(source.read_text(encoding="utf-8")):
            record = {"dialog": row["dialogue"], "evaluation_results": scores, "model_name": "m"}
            stream.write(json.dumps(record) + "\n")
    expected = official.parse(source, registry.card("persona-see")).items
    found = convert("see", tmp_path, "persona-see").items
    assert found == tuple(dataclasses.replace(item, system="m") for item in expected)
