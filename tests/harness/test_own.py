"""Datasets of your own: the same in every format, errors with their line, boards of their own."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import USER, Dataset
from benchmarks.errors import BenchmarkError
from harness import own
from harness.api import hub
from harness.cli import main
from harness.errors import BadConfig
from harness.results import files

CARD = """
name = "tea"
level = "turn"
file = "tea.FORM"
qualities = ["overall", "fit"]
"""
ITEMS = (("1", "Tea?\nGreen.", "Here you are.", ("Sure.", "Gladly."), (5.0, 4.0), (1.0,)),
         ("2", "Where to?", "Home, \"now\".", (), (1.0,), (0.0,)),
         ("3", "Hi", "", (), (2.0, 3.0), ()))


def write(folder: Path, form: str, content: str, card: str = CARD) -> Path:
    (folder / f"tea.{form}").write_text(content, encoding="utf-8")
    (folder / "tea.toml").write_text(card.replace("FORM", form), encoding="utf-8")
    return folder / "tea.toml"


def table(folder: Path, form: str, rows: list[dict[str, Any]], card: str = CARD) -> Path:
    path = folder / f"tea.{form}"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="," if form == "csv" else "\t")
        writer.writeheader()
        writer.writerows(rows)
    return write(folder, form, path.read_text(encoding="utf-8"), card)


def long() -> list[dict[str, Any]]:
    return [{"item": item, "context": context, "response": response, "reference": "\n".join(references),
             "quality": quality, "rating": vote, "annotator": f"a{index}"}
            for item, context, response, references, *votes in ITEMS
            for quality, values in zip(("overall", "fit"), votes, strict=True) for index, vote in enumerate(values)]


def wide() -> list[dict[str, Any]]:
    rows = []
    for item, context, response, references, overall, fit in ITEMS:
        rows += [{"item": item, "context": context, "response": response, "reference": "\n".join(references),
                  "overall": vote, "fit": fit[index] if index < len(fit) else "", "weather": "rain"}
                 for index, vote in enumerate(overall)]
    return rows


def official() -> str:
    return json.dumps([{"dialogue_id": item, "context": context, "response": response, "reference": list(references),
                        "annotations": {"overall": overall, "fit": fit}}
                       for item, context, response, references, overall, fit in ITEMS])


def lines() -> str:
    return "\n".join(json.dumps({"item": item, "context": context.split("\n"), "response": response,
                                 "reference": list(references), "overall": list(overall), "fit": list(fit)})
                     for item, context, response, references, overall, fit in ITEMS)


def raters() -> list[dict[str, Any]]:
    """Return a column for each rater, with names that the card maps."""
    return [{"id": item, "history": context, "response": response, "reference": "\n".join(references),
             **{f"r{index}": overall[index] if index < len(overall) else "" for index in range(2)},
             "f": fit[0] if fit else ""} for item, context, response, references, overall, fit in ITEMS]


def nested(folder: Path) -> Path:
    """Write objects with votes inside another object."""
    objects = [{"id": item, "history": context.split("\n"), "response": response, "reference": list(references),
                "votes": {"all": list(overall), "fit": list(fit)}}
               for item, context, response, references, overall, fit in ITEMS]
    card = RATERS.replace('"r0", "r1"', '"votes.all"').replace('["f"]', '["votes.fit"]')
    return write(folder, "json", json.dumps(objects), card)


RATERS = CARD.replace('qualities = ["overall", "fit"]', """columns = {item = "id", context = "history"}
[[quality]]
name = "overall"
columns = ["r0", "r1"]
[[quality]]
name = "fit"
columns = ["f"]
""")


FORMS: dict[str, Callable[[Path], Path]] = {
    "long .csv": lambda folder: table(folder, "csv", long()), "wide .csv": lambda folder: table(folder, "csv", wide()),
    "long .tsv": lambda folder: table(folder, "tsv", long()),
    ".jsonl": lambda folder: write(folder, "jsonl", lines()),
    "a column per rater": lambda folder: table(folder, "csv", raters(), RATERS),
    "objects": nested,
    "the organisers' .json": lambda folder: write(folder, "json", official())}


def load(card: Path) -> Dataset:
    return own.read_card(card).scaled()[0]


def test_every_format_gives_the_same_dataset(tmp_path: Path) -> None:
    first = load(FORMS["the organisers' .json"](tmp_path))
    assert [(rating.item, rating.quality, rating.votes) for rating in first.ratings] == [
        (item, quality, votes) for item, *_, overall, fit in ITEMS
        for quality, votes in (("overall", overall), ("fit", fit))]
    assert [(quality.low, quality.high, quality.dimension) for quality in first.card.qualities] == [
        (1, 5, "overall of tea"), (0, 1, "fit of tea")]
    for name, form in FORMS.items():
        again = load(form(tmp_path))
        votes = {(rating.item, rating.quality, rating.votes) for rating in again.ratings if rating.votes}
        assert again.items == first.items, name
        assert votes == {(rating.item, rating.quality, rating.votes) for rating in first.ratings if rating.votes}, name


def test_a_dialogue_names_the_speaker_of_each_turn(tmp_path: Path) -> None:
    content = "item,dialogue,overall\na,\"user: Hello: you?\nsystem: Fine.\",3\nb,user: Hm,1\n"
    dataset = load(write(tmp_path, "csv", content, CARD.replace("turn", "dialogue").replace(', "fit"', "")))
    assert (dataset.items[0].context[0].speaker, dataset.items[0].context[0].text) == (USER, "Hello: you?")
    assert dataset.items[0].response is None


SCALE = CARD.replace('qualities = ["overall", "fit"]', """qualities = ["fit"]
[[quality]]
name = "overall"
low = 1
high = 5
""")
BAD: tuple[tuple[str, str, str, str], ...] = (
    ("csv", "item,context,response,overall,fit\n,a,b,1,1\n", "", "tea.csv, line 2: field 'item': is missing"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1\n", "", "tea.csv, line 2: has 4 values for 5 columns"),
    ("csv", "item,context,response,overall,fit\n1,a,b,good,1\n", "",
     "tea.csv, line 2: field 'overall': should hold a number, holds 'good'"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1e9,1\n", "", "no vote"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1,1\n1,x,b,1,1\n", "",
     "tea.csv, line 3: field 'context': differs from tea.csv, line 2, which is of item '1' too; two items need two"),
    ("csv", "item,context,response,quality,rating\n1,a,b,fitt,1\n", "", "'fitt' is no quality of the card"),
    ("csv", "item,context,response,quality\n1,a,b,fit\n", "", "line 1: field 'rating': is missing"),
    ("csv", "item,context,response,f,r0,r2\n1,a,b,1,1,1\n", RATERS.replace('{item = "id", context = "history"}', "{}"),
     "tea.csv, line 1: field 'r1': is missing, and the card says that it holds votes on 'overall'; did you mean"),
    ("csv", "item,context,response,fit,fit\n1,a,b,1,1\n", "", "line 1: field 'fit': is the name of two columns"),
    ("csv", "item,context,response,overall,fit\n1,a,b,5,1\n2,a,b,9,1\n", SCALE,
     "tea.csv, line 3: field 'overall': 9 is outside the scale of 'overall', 1 to 5"),
    ("json", official().replace("4.0", "0.5"), SCALE,
     "tea.json: record 1, field 'annotations.overall': 0.5 is outside the scale of 'overall', 1 to 5"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1,1\n", CARD + "size = 2\n",
     "tea.csv: size is 1, and 2 in the card"),
    ("json", '[{"item": "1", "dialogue": [], "overall": 1}]', CARD.replace('"turn"', '"dialogue"'),
     "object 1: field 'dialogue': holds no turn with text"),
    ("json", '[{"item": "1", "dialogue": [{"role": "user"}], "overall": 1}]', CARD.replace('"turn"', '"dialogue"'),
     "object 1: field 'dialogue': holds no turn with text"),
    ("json", '[{"dialogue_id": "1", "dialogue": []}]', CARD.replace('"turn"', '"dialogue"'),
     "field 'dialogue': should be a list of {\"speaker\": \"user\", \"text\": \"Hello\"}, is empty"),
    ("xlsx", "PK", "", "tea.xlsx: should end on .csv, .tsv, .jsonl or .json; save a spreadsheet as .csv"),
    ("csv", "", SCALE.replace("low = 1", "low = 9"), "has low = 9, which is not below high = 5"),
    ("csv", "item,context,response,annotator,overall\n1,a,b,x,5\n1,a,b,y,4\n1,a,b,x,\n1,a,b,x,4\n", SCALE,
     "tea.csv, line 5: field 'annotator': 'x' has a vote on 'overall' of item '1' already, in tea.csv, line 2"),
    ("csv", "item,context,response,total\n1,a,b,1\n", "",
     "no vote on 'overall'; it has item, context, response, total"),
    ("csv", "item,response,overall,fit\n1,b,1,1\n", "", "line 1: field 'context': is missing; a turn-level table has"),
    ("csv", "item,dialogue,overall,fit\n1,user: a,1,1\n", "",
     'field \'context\': is missing; it is a whole dialogue: the card should say level = "dialogue"'),
    ("json", '[{"dialogue_id": "1", "dialog": [], "annotations": {}}]', "", 'the card should say level = "dialogue"'),
    ("json", official(), CARD.replace('"turn"', '"dialogue"'),
     'it has a context and a response: the card should say level = "turn" or, where whole dialogues'),
    ("csv", "item,context,response,overall,fit\n1,a,b,1,1\n", RATERS,
     "tea.csv, line 1: field 'id': is missing, and the card says that it is the item"),
    ("csv", "", RATERS.replace("item =", "itme ="), "columns names 'itme', which is none of item, context"),
    ("csv", "item,context,overall,fit\n1,a,1,1\n", "", "field 'response': is missing; a turn-level table has it"),
    ("csv", "item,context,response,overall,fit\n", "", "tea.csv: holds no records"),
    ("csv", 'item,context,response,overall,fit\n1,"a,b,1,1\n', "", "tea.csv, line 2: a quote opens here"),
    ("jsonl", "{}\n", "", "line 1: field 'item': is missing"),
    ("jsonl", '{"item": "1"\n', "", "line 1: is not JSON"),
    ("jsonl", "[]\n", "", "line 1: should be an object"),
    ("json", "[{}]", "", "dialogue_id"),
    ("json", official().replace('"fit"', '"fut"'), "", "no quality of tea"),
    ("csv", "", 'level = "turn"', "has no field 'name'"),
    ("csv", "", CARD.replace('"tea"', '""'), "name: should be a text of one line, 1 to"),
    ("csv", "", 'name = "tea"\nfile = "x.csv"', "needs its qualities"),
    ("csv", "", CARD.replace('"turn"', '"word"'), "level: should be one of turn, dialogue, is 'word'"),
    ("csv", "", CARD.replace("level", "levle"), "a field 'levle', which it should not; did you mean 'level'"),
    ("csv", "", CARD.replace('"tea"', '"Tea time"'), "name should be small letters, digits and hyphens"),
    ("csv", "", CARD.replace('"tea"', '"fed-turn"'), "the project has a dataset 'fed-turn'"),
    ("csv", "", CARD.replace('"fit"', '"overall"'), "the quality 'overall' is named twice"),
    ("csv", "", CARD.replace("tea.FORM", "gone.csv"), "gone.csv: no such file"),
    ("csv", "", "name = ", "is not TOML"))


def test_a_broken_dataset_is_refused_with_its_line(tmp_path: Path, home: Path) -> None:
    for form, content, card, message in BAD:
        path = write(tmp_path, form, content, card or CARD)
        with pytest.raises((BenchmarkError, BadConfig)) as refused:
            own.keep(path, home)
        assert message in str(refused.value), (form, content or card)
        assert not (home / "datasets").exists()


ROWS = [*wide(), {**wide()[0], "item": "4", "overall": 5, "fit": 1},
        {**wide()[0], "item": "5", "overall": "", "fit": ""}]
SCALED = CARD.replace('"overall", ', "") + '[[quality]]\nname = "overall"\nlow = 1\nhigh = 5\n'


def checked(path: Path, capsys: pytest.CaptureFixture[str], status: int = 0) -> list[str]:
    """Return the lines that `harness check` prints."""
    capsys.readouterr()
    assert main(["check", str(path)]) == status
    return capsys.readouterr().out.splitlines()


def test_remarks_are_printed(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = {"dialogue_id": "t", "split": "train", "utterances": [
        {"speaker": "a", "text": "Tea?"}, {"speaker": "b", "text": "Green."}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk))
    assert main(["import", str(tmp_path / "talks.jsonl")]) == 0
    lines = checked(table(tmp_path, "csv", ROWS, SCALED), capsys)
    assert any(line.startswith("look at this: the corpus talks holds the context of 3 of 5 items") for line in lines)
    assert {f"look at this: {remark}" for remark in (
        "1 item has no vote (tea.csv, line 14)", "1 response is empty (tea.csv, line 9)",
        "2 items repeat the dialogue and response of another one (tea.csv, line 11; tea.csv, line 14)",
        "fit: 1 item has no vote on it, and votes on others (tea.csv, line 9)")} <= {*lines}
    rows = [*ROWS, {**ROWS[0], "weather": "snow"}, ROWS[0]]
    printed = "\n".join(checked(table(tmp_path, "csv", rows, SCALED + 'dimension = "relevanse"\n'), capsys))
    for remark in ("columns that mean nothing: weather", "5 places hold no vote (tea.csv, line 5, fit; tea",
                   "1 row is equal to an earlier one, and counts as a vote of its own (tea.csv, line 20)",
                   "no other dataset has the board 'relevanse'; did you mean 'relevance'?"):
        assert f"look at this: {remark}" in printed


def test_inferred_lines_complete_the_card(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, "csv", ROWS, SCALED)
    size, qualities = checked(path, capsys)[-2:]
    assert (size, qualities) == (
        "size = 5", 'qualities = [{name = "fit", low = 0, high = 1}, {name = "overall", low = 1, high = 5}]')
    path.write_text(f'name = "tea"\nfile = "tea.csv"\n{size}\n{qualities}\n')
    assert not [line for line in checked(path, capsys) if "inferred" in line]


def test_all_broken_records_are_listed(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path, "csv", [*ROWS, {**ROWS[0], "overall": "good"}, {**ROWS[0], "response": "Other."}, ROWS[0]])
    assert checked(path, capsys, 1) == [
        "tea.csv, line 17: field 'overall': should hold a number, holds 'good'",
        ("tea.csv, line 20: field 'response': differs from tea.csv, line 2, which is of item '1' too; "
         "two items need two ids")]
    assert main(["import", str(path)]) == 2
    assert "holds 'good'; 1 more record is wrong" in capsys.readouterr().err
    table(tmp_path, "csv", [{**long()[0], "quality": f"overal{index % 23}"} for index in range(24)])
    first, *lines = checked(path, capsys, 1)
    assert "'overal0' is no quality of the card; did you mean 'overall'? known: overall, fit; and 1 more" in first
    assert (len(lines), lines[-1]) == (20, "and 3 more")


def test_ratings_need_a_card(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path, "csv", ROWS)
    assert main(["run", "--dataset", str(tmp_path / "tea.csv"), "--metric", "length"]) == 2
    assert "ratings come with a card" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "tea.csv")]) == 2
    assert "not a card" in capsys.readouterr().err


@pytest.mark.parametrize(("form", "head"), [("csv", b"item,context\n"), ("json", b"[\n")])
def test_other_encodings_are_refused(form: str, head: bytes, tmp_path: Path,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, form, "")
    (tmp_path / f"tea.{form}").write_bytes(head + "caf\u00e9".encode("latin-1"))
    assert main(["check", str(path)]) == 2
    assert f"tea.{form}, line 2: is not UTF-8: the byte 0xe9; save the file as UTF-8" in capsys.readouterr().err


def test_an_empty_turn_is_left_out_with_a_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = CARD.replace('"turn"', '"dialogue"')
    for form, content, card, index in (
            ("csv", 'item,context,response,overall\n1,Hi,x,1\n2,"Hi\n\nTea?",y,2\n', CARD, "tea.csv, line 3"),
            ("jsonl", json.dumps({"item": 1, "context": [{"role": "user", "text": "Hi"}, {"role": "bot", "text": ""}],
                                  "response": "x", "overall": 1}), CARD, "tea.jsonl, line 1"),
            ("csv", 'item,dialogue,overall\n1,"user: Hi\nsystem:\nuser: x",3\n', whole, "tea.csv, line 2"),
            ("json", json.dumps([{"dialogue_id": "d9", "annotations": {"overall": [1]}, "dialog": [
                {"speaker": "A", "text": " "}, {"speaker": "B", "text": "x"}]}]), whole, "d9")):
        path = write(tmp_path, form, content, card.replace(', "fit"', ""))
        assert main(["import", str(path)]) == 0
        assert f"look at this: a turn among others is empty, and left out ({index})" in capsys.readouterr().out
        assert all(turn.text.strip(" :") not in ("", "System") for item in load(path).items for turn in item.context)


def test_a_dataset_named_by_its_card_has_its_own_board(tmp_path: Path, home: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "dataset", "tea-talk", "--into", str(tmp_path)]) == 0
    card, out = str(tmp_path / "tea-talk"), tmp_path / "out"
    run = ["run", "--dataset", card, "--dataset", "jsalt", "--metric", "length", "--metric", "distinct",
           "--out", str(out)]
    assert main(run) == 0
    results = files.read(out / "report")
    assert {row.board.partition(":")[0] for row in results.ranking} == {"own", "test"}
    assert results.run.command == "harness run --metric distinct --metric length --dataset jsalt --dataset tea-talk"
    printed = capsys.readouterr().out
    assert "No value: distinct-1, distinct-2 on tea-talk: every score is the same" in printed
    assert main(run) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert main(["leaderboard", "--with", "distinct", "--out", str(out)]) == 0
    assert "no correlation on tea-talk" in capsys.readouterr().out
    assert main(["leaderboard", "--with", "distinct", "--split", "test", "--out", str(out)]) == 0
    assert "on the board test:" in capsys.readouterr().out
    assert main(["report", "--out", str(out), "--compare", "--metric", "length"]) == 0
    assert "Data: real" not in capsys.readouterr().out
    assert main(["report", "--out", str(out), "--compare", "--json", "--dataset", "jsalt"]) == 0
    lead, *rows = map(json.loads, capsys.readouterr().out.splitlines())
    assert lead["low"] < lead["delta"] < lead["high"]
    assert (lead["test"], lead["targets"][0][0], {row["test"] for row in rows}) == ("pooled", "jsalt", {"perm-both"})
    assert main(["report", "--out", str(out), "--compare", "--metric", "lenght"]) == 2
    assert "did you mean 'length'?" in capsys.readouterr().err
    assert main(["run", "--dataset", "tea-talk", "--metric", "length", "--out", str(tmp_path / "workers")]) == 0
    assert main(["report", "--out", str(out), "--dataset", card, "--json"]) == 0
    assert "is replaced" not in capsys.readouterr().err
    (tmp_path / "challenge").mkdir()
    (tmp_path / "challenge" / "challenge.toml").write_text('datasets = ["../tea-talk"]\n')
    assert main(["challenge", "template", str(tmp_path / "challenge")]) == 0
    assert (tmp_path / "challenge" / "template.csv").read_text() == "dialogue_id,score\n1,\n2,\n3,\n4,\n"
    table = next((tmp_path / "tea-talk").rglob("*.csv"))
    table.write_text(table.read_text().replace(",2\n", ",3\n"))
    assert main(run) == 0
    assert "tea-talk in the home is replaced by what " in capsys.readouterr().err
    assert "tea-talk" in registry.names()
    assert hub.at_hand(card, home).card.name == "tea-talk"
    registry.know(tmp_path)
    assert "tea-talk" not in registry.names()


def test_a_damaged_card_in_the_home_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "datasets").mkdir()
    (home / "datasets" / "tea.card.json").write_text("{")
    assert main(["list", "datasets"]) == 2
    assert "tea.card.json: tea does not read back" in capsys.readouterr().err
