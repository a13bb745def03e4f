"""Datasets of your own: the same in every format, errors with their line, boards of their own."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import USER, Dataset
from benchmarks.errors import BenchmarkError
from harness import own
from harness.api import hub
from harness.errors import BadConfig
from harness.results import files
from tests.conftest import Invoke

BOTH = 'qualities = ["overall", "fit"]\n'
CARD = f'name = "tea"\nlevel = "turn"\nfile = "tea.FORM"\n{BOTH}'
WHOLE = CARD.replace('"turn"', '"dialogue"')
SCALE = CARD.replace(BOTH, 'qualities = ["fit", {name = "overall", low = 1, high = 5}]\n')
RATERS = CARD.replace(BOTH, """columns = {item = "id", context = "history"}
qualities = [{name = "overall", columns = ["r0", "r1"]}, {name = "fit", columns = ["f"]}]
""")
ITEMS = (("1", "Tea?\nGreen.", "Here you are.", ("Sure.", "Gladly."), (5.0, 4.0), (1.0,)),
         ("2", "Where to?", "Home, \"now\".", (), (1.0,), (0.0,)),
         ("3", "Hi", "", (), (2.0, 3.0), ()))


def write(folder: Path, form: str, content: str | list[dict[str, Any]], card: str = CARD) -> Path:
    """Write a file, a list of rows as a table, and return its card."""
    if isinstance(content, list):
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(content[0]), delimiter="," if form == "csv" else "\t")
        writer.writeheader()
        writer.writerows(content)
        content = stream.getvalue()
    (folder / f"tea.{form}").write_text(content, encoding="utf-8", newline="")
    (folder / "tea.toml").write_text(card.replace("FORM", form), encoding="utf-8")
    return folder / "tea.toml"


def texts(item: Any, context: Any, response: Any, references: Any) -> dict[str, Any]:
    return {"item": item, "context": context, "response": response, "reference": "\n".join(references)}


def long() -> list[dict[str, Any]]:
    """Return a row per vote."""
    return [{**texts(*item), "quality": quality, "rating": vote, "annotator": f"a{index}"}
            for *item, overall, fit in ITEMS for quality, votes in (("overall", overall), ("fit", fit))
            for index, vote in enumerate(votes)]


def wide() -> list[dict[str, Any]]:
    """Return a row per item and rater."""
    return [{**texts(*item), "overall": vote, "fit": (*fit, "", "")[index], "weather": "rain"}
            for *item, overall, fit in ITEMS for index, vote in enumerate(overall)]


def raters() -> list[dict[str, Any]]:
    """Return a column for each rater, with names that the card maps."""
    return [{"id": item, "history": context, "response": response, "reference": "\n".join(references),
             "r0": overall[0], "r1": (*overall, "")[1], "f": (*fit, "")[0]}
            for item, context, response, references, overall, fit in ITEMS]


def official() -> str:
    return json.dumps([{"dialogue_id": item, "context": context, "response": response, "reference": list(references),
                        "annotations": {"overall": overall, "fit": fit}}
                       for item, context, response, references, overall, fit in ITEMS])


def objects(item: str, context: str) -> list[dict[str, Any]]:
    """Return an object per item, with the names of two fields."""
    return [{item: name, context: text.split("\n"), "response": response, "reference": list(references),
             "votes": {"all": overall}, "overall": overall, "fit": fit}
            for name, text, response, references, overall, fit in ITEMS]


def every_form(folder: Path) -> Iterator[Path]:
    """Write the same dataset in each format, and yield its card."""
    yield write(folder, "json", official())
    yield write(folder, "csv", long())
    yield write(folder, "csv", wide())
    yield write(folder, "tsv", long())
    yield write(folder, "csv", raters(), RATERS)
    yield write(folder, "jsonl", "\n".join(map(json.dumps, objects("item", "context"))))
    yield write(folder, "json", json.dumps(objects("id", "history")),
                RATERS.replace('"r0", "r1"', '"votes.all"').replace('["f"]', '["fit"]'))


def load(card: Path) -> Dataset:
    return own.read_card(card).scaled()[0]


def test_every_format_gives_the_same_dataset(tmp_path: Path) -> None:
    first, *others = map(load, every_form(tmp_path))
    assert [(rating.item, rating.quality, rating.votes) for rating in first.ratings] == [
        (item, quality, votes) for item, *_, overall, fit in ITEMS
        for quality, votes in (("overall", overall), ("fit", fit))]
    assert [(quality.low, quality.high, quality.dimension) for quality in first.card.qualities] == [
        (1, 5, "overall of tea"), (0, 1, "fit of tea")]
    for dataset in others:
        assert dataset.items == first.items
        assert {rating for rating in dataset.ratings if rating.votes} == {
            rating for rating in first.ratings if rating.votes}


def test_a_dialogue_names_the_speaker_of_each_turn(tmp_path: Path) -> None:
    content = "item,dialogue,overall\na,\"user: Hello: you?\nsystem: Fine.\",3\nb,user: Hm,1\n"
    item, _ = load(write(tmp_path, "csv", content, WHOLE.replace(', "fit"', ""))).items
    assert (item.context[0].speaker, item.context[0].text, item.response) == (USER, "Hello: you?", None)


HEAD = "item,context,response,"
BAD_ROWS = (  # below a row with the names of the columns
    (",a,b,1,1", "", "tea.csv, line 2: field 'item': is missing"),
    ("1,a,b,1", "", "tea.csv, line 2: has 4 values for 5 columns"),
    ("1,a,b,good,1", "", "tea.csv, line 2: field 'overall': should hold a number, holds 'good'"),
    ("1,a,b,1e9,1", "", "no vote"),
    ("1,a,b,1,1\n1,x,b,1,1", "",
     "tea.csv, line 3: field 'context': differs from tea.csv, line 2, which is of item '1' too; two items need two"),
    ("1,a,b,5,1\n2,a,b,9,1", SCALE, "tea.csv, line 3: field 'overall': 9 is outside the scale of 'overall', 1 to 5"),
    ("1,a,b,1,1", CARD + "size = 2\n", "tea.csv: has 1 items, but size = 2 in the card"),
    ("1,a,b,1,1", RATERS, "tea.csv, line 1: field 'id': is missing, and the card says that it is the item"),
    ("", "", "tea.csv: holds no records"), ('1,"a,b,1,1', "", "tea.csv, line 2: a quote opens here"))
BAD_FILES = (
    ("csv", f"{HEAD}quality,rating\n1,a,b,fitt,1\n", "", "'fitt' is no quality of the card"),
    ("csv", f"{HEAD}quality\n1,a,b,fit\n", "", "line 1: field 'rating': is missing"),
    ("csv", f"{HEAD}f,r0,r2\n1,a,b,1,1,1\n", RATERS.replace('{item = "id", context = "history"}', "{}"),
     "tea.csv, line 1: field 'r1': is missing, and the card says that it holds votes on 'overall'; did you mean"),
    ("csv", f"{HEAD}fit,fit\n1,a,b,1,1\n", "", "line 1: field 'fit': is the name of two columns"),
    ("csv", f"{HEAD}annotator,overall\n1,a,b,x,5\n1,a,b,y,4\n1,a,b,x,\n1,a,b,x,4\n", SCALE,
     "tea.csv, line 5: field 'annotator': 'x' has a vote on 'overall' of item '1' already, in tea.csv, line 2"),
    ("csv", f"{HEAD}total\n1,a,b,1\n", "", "no vote on 'overall'; it has item, context, response, total"),
    ("csv", "item,response,overall,fit\n1,b,1,1\n", "", "line 1: field 'context': is missing; a turn-level table has"),
    ("csv", "item,context,overall,fit\n1,a,1,1\n", "", "field 'response': is missing; a turn-level table has it"),
    ("csv", "item,dialogue,overall,fit\n1,user: a,1,1\n", "",
     'field \'context\': is missing; it is a whole dialogue: the card should say level = "dialogue"'),
    ("jsonl", "{}\n", "", "line 1: field 'item': is missing"), ("jsonl", '{"item": "1"\n', "", "line 1: is not JSON"),
    ("jsonl", "[]\n", "", "line 1: should be an object"), ("json", "[{}]", "", "dialogue_id"),
    ("json", official().replace('"fit"', '"fut"'), "", "no quality of tea"),
    ("json", official().replace("4.0", "0.5"), SCALE,
     "tea.json: record 1, field 'annotations.overall': 0.5 is outside the scale of 'overall', 1 to 5"),
    *(("json", f'[{{"item": "1", "dialogue": [{turns}], "overall": 1}}]', WHOLE,
       "object 1: field 'dialogue': holds no turn with text") for turns in ("", '{"role": "user"}')),
    ("json", '[{"dialogue_id": "1", "dialogue": []}]', WHOLE,
     "field 'dialogue': should be a list of {\"speaker\": \"user\", \"text\": \"Hello\"}, is empty"),
    ("json", '[{"dialogue_id": "1", "dialog": [], "annotations": {}}]', "", 'the card should say level = "dialogue"'),
    ("json", official(), WHOLE,
     'it has a context and a response: the card should say level = "turn" or, where whole dialogues'),
    ("xlsx", "PK", "", "tea.xlsx: should end in .csv, .tsv, .jsonl or .json; save a spreadsheet as .csv"))
BAD_CARDS = (
    (SCALE.replace("low = 1", "low = 9"), "has low = 9, which is not below high = 5"),
    (RATERS.replace("item =", "itme ="), "unknown column 'itme' in columns; known: item, context"),
    ('level = "turn"', "has no field 'name'"), ('name = "tea"\nfile = "x.csv"', "needs its qualities"),
    (CARD.replace('"tea"', '""'), "name: should be a text of one line, 1 to"),
    (CARD.replace('"turn"', '"word"'), "level: should be one of turn, dialogue, is 'word'"),
    (CARD.replace("level", "levle"), "a field 'levle', which it should not; did you mean 'level'"),
    (CARD.replace('"tea"', '"Tea time"'), "name should be small letters, digits and hyphens"),
    (CARD.replace('"tea"', '"fed-turn"'), "the project has a dataset 'fed-turn'"),
    (CARD.replace('"fit"', '"overall"'), "the quality 'overall' is named twice"),
    (CARD.replace("tea.FORM", "gone.csv"), "gone.csv: no such file"), ("name = ", "is not TOML"))


def test_a_broken_dataset_is_refused_with_its_line(tmp_path: Path, home: Path) -> None:
    broken_rows = [("csv", f"{HEAD}overall,fit\n{rows}\n", *more) for rows, *more in BAD_ROWS]
    for form, content, card, message in (*broken_rows, *BAD_FILES, *(("csv", "", *entry) for entry in BAD_CARDS)):
        path = write(tmp_path, form, content, card or CARD)
        with pytest.raises((BenchmarkError, BadConfig)) as refused:
            own.import_card(path, home)
        assert message in str(refused.value), (form, content or card)
        assert not (home / "datasets").exists()


def test_remarks_are_printed(tmp_path: Path, invoke: Invoke) -> None:
    first = wide()[0]
    rows = [*wide(), {**first, "item": "4", "overall": 5, "fit": 1}, {**first, "item": "5", "overall": "", "fit": ""},
            {**first, "weather": "snow"}, first]
    misspelt = '[[quality]]\nname = "overall"\nlow = 1\nhigh = 5\ndimension = "relevanse"\n'
    path = write(tmp_path, "csv", rows, CARD.replace('"overall", ', "") + misspelt)
    talk = {"dialogue_id": "t", "split": "train", "utterances": [
        {"speaker": "a", "text": "Tea?"}, {"speaker": "b", "text": "Green."}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk))
    invoke("import", tmp_path / "talks.jsonl")
    printed = invoke("check", path).out
    for remark in ("the corpus talks holds the context of 3 of 5 items (60%)", "1 item has no vote (tea.csv, line 14)",
                   "1 response is empty (tea.csv, line 9)",
                   "2 items repeat the dialogue and response of another one (tea.csv, line 11; tea.csv, line 14)",
                   "fit: 1 item has no vote on it, and votes on others (tea.csv, line 9)",
                   "columns that mean nothing: weather", "5 places hold no vote (tea.csv, line 5, fit; tea",
                   "1 row is equal to an earlier one, and counts as a vote of its own (tea.csv, line 20)",
                   "no other dataset has the board 'relevanse'; did you mean 'relevance'?"):
        assert f"look at this: {remark}" in printed


def test_check_prints_the_inferred_scales(tmp_path: Path, invoke: Invoke) -> None:
    path = write(tmp_path, "csv", wide(), SCALE)
    printed = invoke("check", path).out
    assert "look at this: fit: one vote per item" in printed
    size, qualities = printed.splitlines()[-2:]
    assert (size, qualities) == (
        "size = 3", 'qualities = [{name = "fit", low = 0, high = 1}, {name = "overall", low = 1, high = 5}]')
    path.write_text(f'name = "tea"\nfile = "tea.csv"\n{size}\n{qualities}\n')
    assert "inferred" not in invoke("check", path).out


def test_check_names_every_wrong_record(tmp_path: Path, invoke: Invoke) -> None:
    first = wide()[0]
    path = write(tmp_path, "csv", [first, {**first, "overall": "good"}, {**first, "response": "Other."}])
    assert invoke("check", path, status=1).out.splitlines() == [
        "tea.csv, line 5: field 'overall': should hold a number, holds 'good'",
        ("tea.csv, line 8: field 'response': differs from tea.csv, line 2, which is of item '1' too; "
         "two items need two ids")]
    assert "holds 'good'; 1 more record is wrong" in invoke("import", path, status=2).err
    write(tmp_path, "csv", [{**long()[0], "quality": f"overal{index % 23}"} for index in range(24)])
    message, *printed = invoke("check", path, status=1).out.splitlines()
    assert "'overal0' is no quality of the card; did you mean 'overall'? known: overall, fit; and 1 more" in message
    assert (len(printed), printed[-1]) == (20, "and 3 more")


def test_table_without_card_or_in_another_encoding_is_refused(tmp_path: Path, invoke: Invoke) -> None:
    for form, head in (("csv", b"item,context\n"), ("json", b"[\n")):
        path = write(tmp_path, form, "")
        path.with_suffix(f".{form}").write_bytes(head + "caf\u00e9".encode("latin-1"))
        assert (f"tea.{form}, line 2: is not UTF-8: the byte 0xe9; save the file as UTF-8"
                in invoke("check", path, status=2).err)
    table = path.with_suffix(".csv")
    assert "no column holds responses" in invoke("run", "--metric", "length", "--dataset", table, status=2).err
    assert "not a card" in invoke("check", table, status=2).err


def test_an_empty_turn_is_left_out_with_a_remark(tmp_path: Path, invoke: Invoke) -> None:
    for form, content, card, index in (
            ("csv", 'item,context,response,overall\n1,Hi,x,1\n2,"Hi\n\nTea?",y,2\n', CARD, "tea.csv, line 3"),
            ("jsonl", json.dumps({"item": 1, "context": [{"role": "user", "text": "Hi"}, {"role": "bot", "text": ""}],
                                  "response": "x", "overall": 1}), CARD, "tea.jsonl, line 1"),
            ("csv", 'item,dialogue,overall\n1,"user: Hi\nsystem:\nuser: x",3\n', WHOLE, "tea.csv, line 2"),
            ("json", json.dumps([{"dialogue_id": "d9", "annotations": {"overall": [1]}, "dialog": [
                {"speaker": "A", "text": " "}, {"speaker": "B", "text": "x"}]}]), WHOLE, "d9")):
        path = write(tmp_path, form, content, card.replace(', "fit"', ""))
        remark = f"look at this: an empty turn between others is left out ({index})"
        assert remark in invoke("import", path).out
        assert all(turn.text.strip(" :") not in ("", "System") for item in load(path).items for turn in item.context)


def test_a_dataset_named_by_its_card_has_its_own_board(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    card, out = tmp_path / "tea-talk", tmp_path / "out"
    invoke("new", "dataset", "tea-talk", "--into", tmp_path)
    run = ["run", "--dataset", card, "--dataset", "jsalt", "--metric", "length", "--metric", "distinct", "--out", out]
    assert "No value: distinct-1, distinct-2 on tea-talk: every score is the same" in invoke(*run).out
    results = files.read(out / "report")
    assert {row.board.partition(":")[0] for row in results.ranking} == {"own", "test"}
    assert results.run.command == "harness run --metric distinct --metric length --dataset jsalt --dataset tea-talk"
    assert "nothing has changed" in invoke(*run).out
    placed = ["leaderboard", "--with", "distinct", "--out", out]
    assert "no correlation on tea-talk" in invoke(*placed).out
    assert "on the board test:" in invoke(*placed, "--split", "test").out
    assert "Data: real" not in invoke("report", "--out", out, "--compare", "--metric", "length").out
    printed = invoke("report", "--out", out, "--compare", "--json", "--dataset", "jsalt").out
    lead, *rows = map(json.loads, printed.splitlines())
    assert (lead["test"], lead["targets"][0][0], {row["test"] for row in rows}) == ("pooled", "jsalt", {"perm-both"})
    assert lead["low"] < lead["delta"] < lead["high"]
    invoke("run", "--dataset", "tea-talk", "--metric", "length", "--out", tmp_path / "by name")
    assert "replaced in the home" not in invoke("report", "--out", out, "--dataset", card, "--json").err
    (tmp_path / "challenge").mkdir()
    (tmp_path / "challenge" / "challenge.toml").write_text('datasets = ["../tea-talk"]\n')
    invoke("challenge", "template", tmp_path / "challenge")
    assert (tmp_path / "challenge" / "template.csv").read_text() == "dialogue_id,score\n1,\n2,\n3,\n4,\n"
    table = next(card.rglob("*.csv"))
    table.write_text(table.read_text().replace(",2\n", ",3\n"))
    assert "tea-talk: replaced in the home by the current content of " in invoke(*run).err
    assert "tea-talk" in registry.names()
    assert hub.load(str(card), home).card.name == "tea-talk"
    registry.know(tmp_path)
    assert "tea-talk" not in registry.names()


def test_a_damaged_card_in_the_home_is_named(home: Path, invoke: Invoke) -> None:
    (home / "datasets").mkdir()
    (home / "datasets" / "tea.card.json").write_text("{")
    assert "tea.card.json: tea does not read back" in invoke("list", "datasets", status=2).err
