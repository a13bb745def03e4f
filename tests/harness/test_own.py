"""Datasets of one's own: the same in every format, refused with the line, on boards of their own."""

from __future__ import annotations

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


def table(folder: Path, form: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"tea.{form}"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="," if form == "csv" else "\t")
        writer.writeheader()
        writer.writerows(rows)
    return write(folder, form, path.read_text(encoding="utf-8"))


def long() -> list[dict[str, Any]]:
    return [{"item": item, "context": context, "response": response, "reference": "\n".join(references),
             "quality": quality, "rating": vote, "annotator": "a"}
            for item, context, response, references, *votes in ITEMS
            for quality, given in zip(("overall", "fit"), votes, strict=True) for vote in given]


def wide() -> list[dict[str, Any]]:
    rows = []
    for item, context, response, references, overall, fit in ITEMS:
        rows += [{"item": item, "context": context, "response": response, "reference": "\n".join(references),
                  "overall": vote, "fit": fit[place] if place < len(fit) else "", "weather": "rain"}
                 for place, vote in enumerate(overall)]
    return rows


def official() -> str:
    return json.dumps([{"dialogue_id": item, "context": context, "response": response, "reference": list(references),
                        "annotations": {"overall": overall, "fit": fit}}
                       for item, context, response, references, overall, fit in ITEMS])


def lines() -> str:
    return "\n".join(json.dumps({"item": item, "context": context.split("\n"), "response": response,
                                 "reference": list(references), "overall": list(overall), "fit": list(fit)})
                     for item, context, response, references, overall, fit in ITEMS)


FORMS: dict[str, Callable[[Path], Path]] = {
    "long .csv": lambda folder: table(folder, "csv", long()), "wide .csv": lambda folder: table(folder, "csv", wide()),
    "long .tsv": lambda folder: table(folder, "tsv", long()),
    ".jsonl": lambda folder: write(folder, "jsonl", lines()),
    "the organisers' .json": lambda folder: write(folder, "json", official())}


def load(card: Path) -> Dataset:
    return own.load(own.read_card(card))


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


BAD: tuple[tuple[str, str, str, str], ...] = (
    ("csv", "item,context,response,overall,fit\n,a,b,1,1\n", "", "tea.csv, line 2: field 'item': is missing"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1\n", "", "tea.csv, line 2: has more or fewer fields"),
    ("csv", "item,context,response,overall,fit\n1,a,b,good,1\n", "",
     "tea.csv, line 2: field 'overall': should hold a number, holds 'good'"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1e9,1\n", "", "no vote"),
    ("csv", "item,context,response,overall,fit\n1,a,b,1,1\n1,x,b,1,1\n", "",
     "tea.csv, line 3: field 'context': differs from an earlier row of item '1'"),
    ("csv", "item,context,response,quality,rating\n1,a,b,fitt,1\n", "", "'fitt' is no quality of the card"),
    ("csv", "item,context,response,quality\n1,a,b,fit\n", "", "line 2: field 'rating': is missing"),
    ("csv", "item,context,response,total\n1,a,b,1\n", "",
     "no vote on 'overall'; it has item, context, response, total"),
    ("csv", "item,response,overall,fit\n1,b,1,1\n", "", "field 'context': is missing; a turn-level table has it"),
    ("csv", "item,context,overall,fit\n1,a,1,1\n", "", "field 'response': is missing; a turn-level table has it"),
    ("csv", "item,context,response,overall,fit\n", "", "tea.csv: holds no records"),
    ("csv", 'item,context,response,overall,fit\n1,"a,b,1,1\n', "", "tea.csv, line 1: unexpected end of data"),
    ("jsonl", "{}\n[]\n", "", "line 1: field 'item': is missing"),
    ("jsonl", '{"item": "1"\n', "", "line 1: is not JSON"),
    ("jsonl", "[]\n", "", "line 1: should be an object"),
    ("json", "[{}]", "", "dialogue_id"),
    ("json", official().replace('"fit"', '"fut"'), "", "no quality of tea"),
    ("csv", "", 'level = "turn"', "needs a name and a file"),
    ("csv", "", 'name = "tea"\nfile = "x.csv"', "needs its qualities"),
    ("csv", "", CARD.replace('"turn"', '"word"'), "level should be one of turn, dialogue, not 'word'"),
    ("csv", "", CARD.replace("level", "levle"), "'levle' is no setting; known: "),
    ("csv", "", CARD.replace('"tea"', '"Tea time"'), "name should be small letters, digits and hyphens"),
    ("csv", "", CARD.replace('"tea"', '"fed-turn"'), "the project has a dataset 'fed-turn'"),
    ("csv", "", CARD.replace('"fit"', '"overall"'), "the quality 'overall' is named twice"),
    ("csv", "", CARD.replace("tea.FORM", "gone.csv"), "gone.csv: no such file"),
    ("csv", "", "name = ", "is not TOML"))


def test_what_is_wrong_is_refused_with_its_place_and_nothing_is_kept(tmp_path: Path, home: Path) -> None:
    for form, content, card, message in BAD:
        path = write(tmp_path, form, content, card or CARD)
        with pytest.raises((BenchmarkError, BadConfig)) as refused:
            own.keep(path, home)
        assert message in str(refused.value), (form, content or card)
        assert not (home / "datasets").exists()


def test_what_to_look_at_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*wide(), {**wide()[0], "item": "4", "overall": 9, "fit": 1},
            {**wide()[0], "item": "5", "overall": "", "fit": ""}]
    path = table(tmp_path, "csv", rows)
    card = CARD.replace('"overall", ', "") + '[[quality]]\nname = "overall"\nlow = 1\nhigh = 5\n'
    path.write_text(card.replace("FORM", "csv"))
    assert main(["check", str(path)]) == 0
    printed = capsys.readouterr().out
    for remark in ("1 items have no vote", "1 responses are empty", "2 items repeat the dialogue and response",
                   "overall: 1 votes outside the scale 1 to 5", "fit: one vote per item"):
        assert f"look at this: {remark}" in printed
    table(tmp_path, "csv", [*rows, {**rows[0], "weather": "snow"}, rows[0]])
    path.write_text(card.replace("FORM", "csv") + 'dimension = "relevanse"\n')
    assert main(["check", str(path)]) == 0
    printed = capsys.readouterr().out
    for remark in ("columns that mean nothing: weather", "1 rows are equal to an earlier one", "5 places hold no vote",
                   "no other dataset has the board 'relevanse'"):
        assert f"look at this: {remark}" in printed
    assert "did you mean 'relevance'?" in printed
    assert main(["run", "--dataset", str(tmp_path / "tea.csv"), "--metric", "length"]) == 2
    assert "ratings come with a card" in capsys.readouterr().err


def test_a_dataset_by_its_card_has_a_board_of_its_own(tmp_path: Path, home: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "dataset", "tea-talk", "--into", str(tmp_path)]) == 0
    card, out = str(tmp_path / "tea-talk" / "tea-talk.toml"), tmp_path / "out"
    run = ["run", "--dataset", card, "--dataset", "jsalt", "--metric", "length", "--metric", "distinct",
           "--out", str(out)]
    assert main(run) == 0
    results = files.read(out / "report")
    assert {row.board for row in results.ranking} == {"own", "test"}
    assert results.run.command == "harness run --metric distinct --metric length --dataset jsalt --dataset tea-talk"
    capsys.readouterr()
    assert main(run) == 0
    assert "nothing has changed" in capsys.readouterr().out
    assert main(["run", "--dataset", "tea-talk", "--metric", "length", "--executor", "local:2",
                 "--out", str(tmp_path / "workers")]) == 0
    assert main(["report", "--out", str(out), "--dataset", card, "--json"]) == 0
    assert "tea-talk" in registry.names()
    registry.know(tmp_path)
    assert "tea-talk" not in registry.names()


def test_a_card_that_was_damaged_in_the_home_is_named(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "datasets").mkdir()
    (home / "datasets" / "tea.card.json").write_text("{")
    assert main(["list", "datasets"]) == 2
    assert "tea.card.json: tea does not read back" in capsys.readouterr().err
