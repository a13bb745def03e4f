"""Datasets of your own: the same in every format, errors with lines, separate boards."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from harness import cards, own
from harness.api import hub, run
from harness.errors import BadConfig
from harness.results import files
from tests.benchmarks.tables.test_tables import CASES, Case, lines, read
from tests.conftest import Invoke, refused

BOTH = 'qualities = ["overall", "fit"]\n'
CARD = f'name = "tea"\nlevel = "turn"\nfile = "tea.FORM"\n{BOTH}'
WHOLE = CARD.replace('"turn"', '"dialogue"')
SCALE = CARD.replace(BOTH, 'qualities = ["fit", {name = "overall", low = 1, high = 5}]\n')
RATERS = CARD.replace(BOTH, """columns = {item = "id", context = "history"}
qualities = [{name = "overall", columns = ["r0", "r1"]}, {name = "fit", columns = ["f"]}]
""")
ITEMS = (("1", "Tea?\nGreen.", "Here you are.", ("Sure.",), (5.0, 4.0), (1.0,)),
         ("2", "Where to?", "Home, \"now\".", (), (1.0,), (0.0,)),
         ("3", "Hi", "Yo", (), (2.0, 3.0), ()))
WORDS = tuple(enumerate(("Yes.", "No, thank you.", "I like green tea a lot.", "Behind the church, I think.", "Hm.")))
TALKS = lines("situation,reply,rater_anna,rater_ben", *(
    f'"It rains.\nIt is day {n}.","{text}",{label},{label}' for n, text in WORDS
    for label in [("Meh", "Ace", "Fine")[n % 3]]))
READING = ("--columns", "prompt=situation", "--scale", "meh < fine < ace")


def write(folder: Path, form: str, content: str | list[dict[str, Any]], card: str = CARD) -> Path:
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
    return {"item": item, "context": context, "response": response, "reference": "".join(references)}


def long() -> list[dict[str, Any]]:
    return [{**texts(*item), "quality": quality, "rating": vote, "annotator": f"a{index}"}
            for *item, overall, fit in ITEMS for quality, votes in (("overall", overall), ("fit", fit))
            for index, vote in enumerate(votes)]


def wide() -> list[dict[str, Any]]:
    return [{**texts(*item), "overall": vote, "fit": (*fit, "", "")[index], "weather": "rain"}
            for *item, overall, fit in ITEMS for index, vote in enumerate(overall)]


def raters() -> list[dict[str, Any]]:
    """Return a column for each rater, with names that the card maps."""
    return [{"id": item, "history": context, "response": response, "reference": "".join(references),
             "r0": overall[0], "r1": (*overall, "")[1], "f": (*fit, "")[0]}
            for item, context, response, references, overall, fit in ITEMS]


def official() -> str:
    return json.dumps([{"dialogue_id": item, "context": context, "response": response, "reference": list(references),
                        "annotations": {"overall": overall, "fit": fit}}
                       for item, context, response, references, overall, fit in ITEMS])


def load(card: Path) -> Dataset:
    return cards.read_card(card).scaled()[0]


def test_organisers_json_and_tables_give_the_same_dataset(tmp_path: Path) -> None:
    first, *others = (load(write(tmp_path, form, content, card)) for form, content, card in (
        ("json", official(), CARD), ("csv", long(), CARD), ("csv", wide(), CARD), ("tsv", raters(), RATERS)))
    assert [(rating.item, rating.quality, rating.votes) for rating in first.ratings] == [
        (item, quality, votes) for item, *_, overall, fit in ITEMS
        for quality, votes in (("overall", overall), ("fit", fit))]
    assert [(quality.low, quality.high, quality.dimension) for quality in first.card.qualities] == [
        (1, 5, "overall"), (0, 1, "fit of tea")]
    for dataset in others:
        assert dataset.items == first.items
        assert {replace(rating, raters=()) for rating in dataset.ratings if rating.votes} == {
            rating for rating in first.ratings if rating.votes}


def test_a_usual_name_of_a_quality_gives_its_dimension(tmp_path: Path) -> None:
    """So that judges and composites know what it is about; a second quality of the same dimension keeps its own."""
    rows = lines("prompt,response,Engaging,natural,naturalness,warmth", "Hi,Yo,1,2,3,4", "Ho,Ye,5,4,3,2")
    case = Case(rows, name="tea.csv")
    table = read(case, tmp_path)
    (tmp_path / "tea.toml").write_text(cards.card_text(table, "tea", case.name), encoding="utf-8")
    for dataset in (table.dataset, load(tmp_path / "tea.toml")):
        assert {quality.name: quality.dimension for quality in dataset.card.qualities} == {
            "Engaging": "engagement", "natural": "naturalness", "naturalness": "naturalness of tea",
            "warmth": "warmth of tea"}


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_read_in_the_same_way_with_a_card(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    table = read(case, tmp_path)
    (tmp_path / "tea.toml").write_text(cards.card_text(table, "tea", case.name), encoding="utf-8")
    card = cards.read_card(tmp_path / "tea.toml")
    dataset, _ = card.scaled()
    assert (dataset.items, dataset.ratings) == (table.dataset.items, table.dataset.ratings)
    assert [(quality.name, quality.low, quality.high) for quality in dataset.card.qualities] == [
        (quality.name, quality.low, quality.high) for quality in table.dataset.card.qualities]
    assert card.inferred(dataset) == ()


def test_new_dataset_from_a_table_gives_its_correlations(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "talks.csv").write_text(TALKS, encoding="utf-8")
    card = tmp_path / "tea"
    report = invoke("new", "dataset", "tea", "--from", tmp_path / "talks.csv", *READING, "--into", tmp_path).err
    assert "inferred" not in invoke("check", card).out

    def correlations(dataset: Path, out: Path, *flags: str) -> list[tuple[str, float, int]]:
        run = ["run", "--metric", "length", "--draws", "0", "--dataset", dataset, "--out", out, *flags]
        assert report.splitlines()[0] in invoke(*run).err or dataset == card
        return [(row.quality, row.value, row.n) for row in files.read(out / "report").correlations
                if row.statistic == "spearman"]

    values = correlations(tmp_path / "talks.csv", tmp_path / "table", *READING)
    assert correlations(card, tmp_path / "card") == values
    assert all(abs(value) > 0.1 for _, value, _ in values)
    assert "--columns" in invoke(
        "run", "--metric", "length", "--dataset", card, "--columns", "ignore=x", status=2).err


def test_a_stored_table_names_its_files_repeats_and_replacements(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    tea, copy, rows = tmp_path / "tea.csv", tmp_path / "copy.csv", lines("question,answer,fun", "Hi,Yo,1", "Ho,Ye,2")
    for path in (tea, copy):
        path.write_text(rows)
    invoke("run", "--dataset", tea, "--metric", "lenght", status=2)
    assert not (home / "datasets").exists()
    assert "`harness import tea --remove`" in invoke("import", tea).err
    assert " tea" in invoke("import", copy).err
    tea.write_text(rows.replace("Yo,1", "Yo,3"))
    assert "tea: replaced" in invoke("import", tea).err
    for name in ("tea", "copy"):
        invoke("import", name, "--remove")
        assert name in invoke("import", name, "--remove", status=2).err
    assert [*(home / "datasets").iterdir()] == []


def test_two_tables_of_one_name_are_refused(tmp_path: Path, home: Path) -> None:
    names = ("a/tea.csv", "b/tea.csv", "tea.2023.csv", "tea.2024.csv", "ta.csv", "t/t.toml")
    for path in (paths := [tmp_path / name for name in names]):
        path.parent.mkdir(exist_ok=True)
        path.write_text(lines("question,answer,fun", "Hi,Yo,1", "Ho,Ye,2"))
    paths[-1].write_text('name = "ta"\nfile = "../ta.csv"\nqualities = ["fun"]')
    for pair in zip(paths[::2], paths[1::2], strict=True):
        for load_pair in (lambda names: own.import_paths(names, home), lambda names: run("length", names, home=home)):
            with refused(BadConfig, *pair, "rename one"):
                load_pair(tuple(map(str, pair)))
    with refused(BadConfig, "gpt 4", "gpt-4.1", "rename one"):
        run("length", {"gpt-4.1": [], "gpt 4": []}, home=home)
    assert not (home / "datasets").exists()
    again = str(tmp_path / "b" / ".." / "a" / "tea.csv")
    assert own.import_paths(("tea", str(paths[0]), "tea", again), home) == ("tea",)
    assert "tea" in registry.names()


def test_a_column_named_by_the_card_has_no_other_role(tmp_path: Path) -> None:
    content = "item,response,quality,score,overall\n1,Yo,3,1,5\n2,Hm,1,2,4\n"
    qualities = '[{name = "good", columns = ["quality"]}, "overall"]'
    dataset = load(write(tmp_path, "csv", content, f'name = "tea"\nfile = "tea.csv"\nqualities = {qualities}\n'))
    assert [rating.votes for rating in dataset.ratings] == [(3.0,), (5.0,), (1.0,), (4.0,)]


def test_cards_keep_raters_by_pseudonyms_only(tmp_path: Path) -> None:
    for rows, card in ((long(), CARD), (raters(), RATERS)):
        dataset = load(write(tmp_path, "csv", rows, card))
        assert dataset.ratings[0].raters == ("r1", "r2")
        assert {name for rating in dataset.ratings for name in rating.raters} <= {"r1", "r2", "r3"}


HEAD = "item,context,response,"
BAD_ROWS = (  # after a header
    ("1,a,b,1,1,1", "", "tea.csv: line 2"), ("1,a,b,awful,1", "", "tea.csv, line 2: field 'overall': 'awful'"),
    ("1,a,b,1e9,1", "", "1e9"), ("1,a,b,5,1\n2,a,b,9,1", SCALE, "tea.csv, line 3: field 'overall': 9"),
    ("1,a,b,1,1", CARD + "size = 2\n", "size = 2"), ("1,a,b,1,1", RATERS, "'id'"),
    ("1,a,b,1,1", CARD + 'columns = {itme = "item"}', "'item'"))
BAD_FILES = (
    ("csv", f"{HEAD}quality,rating\n1,a,b,fitt,1\n", "", "'fitt'"),
    ("csv", f"{HEAD}f,r0,r2\n1,a,b,1,1,1\n", RATERS.replace('{item = "id", context = "history"}', "{}"),
     "tea.csv: field 'r1'"),
    ("csv", "id,history,response,worker_id,f,r0,r1\n1,a,b,w,1,1,1\n", RATERS, 'columns = {ignore = "worker_id"}'),
    ("json", '[{"item": "1", "response": "a", "safe": true}]', CARD.replace(
        BOTH, 'qualities = [{name = "safe", scale = "yes < no"}]\n'), "field 'safe': 'true'"),
    ("csv", f"{HEAD}total\n1,a,b,1\n", "", "'overall'"),
    ("csv", "item,dialogue,overall,fit\n1,user: a,1,1\n", "", 'level = "dialogue"'),
    ("jsonl", "{}\n", "", "tea.jsonl"), ("jsonl", '{"response": "\\ud800"}\n', "", "surrogate"),
    ("jsonl", "[]\n", "", "line 1"), ("json", '[{"dialogue_id": ""}]', "", "dialogue_id"),
    ("json", official().replace('"fit"', '"fut"'), "", "fut"),
    ("json", official().replace("4.0", "0.5"), SCALE, "tea.json: record 1, field 'annotations.overall': 0.5"),
    *(("json", f'[{{"item": "1", "dialogue": [{turns}], "overall": 1, "fit": 1}}]', WHOLE, "field 'dialogue'")
      for turns in ("", '{"role": "user"}')),
    ("csv", f"{HEAD}lang,overall,fit\n1,a,b,English,1,1\n", "", "line 2: field 'lang'"),
    ("json", '[{"dialogue_id": "1", "dialogue": []}]', WHOLE, "field 'dialogue'"),
    ("json", '[{"dialogue_id": "1", "dialog": [], "annotations": {}}]', "", 'level = "dialogue"'),
    ("json", official(), WHOLE, 'level = "turn"'), ("docx", "PK", "", "tea.docx"))
BAD_CARDS = (
    (SCALE.replace("low = 1", "low = 9"), "low = 9"), (CARD + '[[quality]]\nname = "safe"\nscale = "no, yes"', "scale"),
    ('level = "turn"', "'name'"), ('name = "tea"\nfile = "x.csv"', "qualities"), (CARD.replace('"tea"', '""'), "name"),
    (CARD.replace('"turn"', '"word"'), "'word'"), (CARD.replace("level", "levle"), "'levle'; did you mean 'level'"),
    (CARD.replace('"tea"', '"Tea time"'), "name"), (CARD.replace('"tea"', '"fed-turn"'), "'fed-turn'"),
    (CARD.replace('"fit"', '"overall"'), "'overall'"), (CARD.replace("tea.FORM", "gone.csv"), "gone.csv"),
    ("name = ", "TOML"))


def test_a_card_with_scales_takes_private_votes(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "tea.csv").write_text(lines("id,context,response", "a,Hi,Yo", "b,Ho,Ye there", "c,He,Ya you all"))
    (tmp_path / "tea.toml").write_text(
        'name = "tea"\nfile = "tea.csv"\nqualities = [{name = "overall", low = 1, high = 5}]')
    (tmp_path / "votes.csv").write_text(lines("item,quality,vote", "a,overall,1", "b,overall,2", "c,overall,4"))
    invoke("run", "--metric", "length", "--dataset", tmp_path / "tea.toml", "--ratings", tmp_path / "votes.csv",
           "--out", tmp_path / "out")
    assert {row.value for row in files.read(tmp_path / "out").correlations if row.statistic == "spearman"} == {1.0}


def test_a_broken_dataset_is_refused_with_its_line(tmp_path: Path, home: Path) -> None:
    broken_rows = [("csv", f"{HEAD}overall,fit\n{rows}\n", *more) for rows, *more in BAD_ROWS]
    for form, content, card, part in (*broken_rows, *BAD_FILES, *(("csv", "", *entry) for entry in BAD_CARDS)):
        path = write(tmp_path, form, content, card or CARD)
        with refused((BenchmarkError, BadConfig), part):
            own.import_card(path, home)
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
    for remark in (r"the corpus talks .* 3 of 5 items \(60 %\)", r"1 item .*\(tea.csv, line 11\)",
                   r"2 items .*\(tea.csv, line 9; tea.csv, line 11\)", r"fit: 1 item .*\(tea.csv, line 7\)",
                   "weather is left out", "1 row identical", "1 row without a rating", "3 rows whose lines",
                   ".*'relevanse'; did you mean 'relevance'"):
        assert re.search(f"please check: {remark}", printed), remark


def test_json_lines_other_than_a_corpus_are_a_table(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(json.dumps({"messages": [{"role": "user", "content": "Tea?"}], "answer": text, "fun": n})
                              for n, text in WORDS))
    assert "chat.jsonl: 5 items" in invoke("import", path).err
    path.write_text('{"answer": "Yes."}')
    assert "line 1: field 'dialogue_id'" in invoke("import", path, status=2).err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
@pytest.mark.parametrize(("header", "row"), [
    ("prompt,response,rater_a,rater_b,rater_c", "Where is gate {n} please?,Behind hall {n} on the left.,1,{v},5"),
    ("prompt,response,rater,fun", "Where is gate {i} please?,Behind hall {i} on the left.,worker{v},{v}")])
def test_a_million_rows_are_imported_within_a_gibibyte(tmp_path: Path, header: str, row: str) -> None:
    with (tmp_path / "big.csv").open("w") as file:
        file.write(f"{header}\n")
        file.writelines(row.format(n=n, i=n // 3, v=n % 7) + "\n" for n in range(1_000_000))
    measured = ("import resource, sys; from harness.cli import main; main(); "
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)")
    run = subprocess.run([sys.executable, "-c", measured, "import", "big.csv", "--home", "home"], cwd=tmp_path,
                         check=True, capture_output=True, text=True)
    assert "1000000 items" in run.stderr or "333334 items" in run.stderr
    assert int(run.stdout.splitlines()[-1]) <= 1 << 20


def test_check_prints_the_inferred_scales(tmp_path: Path, invoke: Invoke) -> None:
    path = write(tmp_path, "csv", wide(), SCALE)
    printed = invoke("check", path).out
    size, *qualities = printed.splitlines()[-3:]
    assert (size, " ".join("".join(qualities).split())) == (
        "size = 3", 'qualities = [{name = "fit", low = 0, high = 1}, {name = "overall", low = 1, high = 5}]')
    path.write_text("\n".join(('name = "tea"', 'file = "tea.csv"', size, *qualities)))
    assert "inferred" not in invoke("check", path).out


def test_check_names_every_wrong_record(tmp_path: Path, invoke: Invoke) -> None:
    first = wide()[0]
    path = write(tmp_path, "csv", [first, {**first, "overall": "good"}, {**first, "overall": "great"}])
    assert [line.partition(" is ")[0] for line in invoke("check", path, status=1).out.splitlines()] == [
        "tea.csv, line 4: field 'overall': 'good'", "tea.csv, line 6: field 'overall': 'great'"]
    assert "1 more record" in invoke("import", path, status=2).err
    write(tmp_path, "csv", [{**first, "overall": f"good{index}"} for index in range(23)])
    printed = invoke("check", path, status=1).out.splitlines()
    assert (len(printed), printed[-1]) == (21, "and 3 more")


def test_table_without_card_or_in_another_encoding_is_refused(tmp_path: Path, invoke: Invoke) -> None:
    path = write(tmp_path, "json", "")
    path.with_suffix(".json").write_bytes(b"[\n" + "caf\u00e9".encode("latin-1"))
    assert re.search("tea.json, line 2: .*0xe9", invoke("check", path, status=2).err)
    table = path.with_suffix(".csv")
    table.write_text("item,context\n")
    assert "tea.csv" in invoke("run", "--metric", "length", "--dataset", table, status=2).err
    assert "tea.csv" in invoke("check", table, status=2).err


def test_an_empty_turn_of_the_organisers_json_is_left_out_with_a_remark(tmp_path: Path, invoke: Invoke) -> None:
    content = json.dumps([{"dialogue_id": "d9", "annotations": {"overall": [1]}, "dialog": [
        {"speaker": "A", "text": " "}, {"speaker": "B", "text": "x"}]}])
    path = write(tmp_path, "json", content, WHOLE.replace(', "fit"', ""))
    assert "(d9)" in invoke("import", path).out
    assert [[turn.text for turn in item.context] for item in load(path).items] == [["x"]]


def test_a_dataset_named_by_its_card_has_its_own_board(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    card, out = tmp_path / "tea-talk", tmp_path / "out"
    invoke("new", "dataset", "tea-talk", "--into", tmp_path)
    run = ["run", "--dataset", card, "--dataset", "jsalt", "--metric", "length", "--metric", "distinct", "--out", out]
    assert "distinct-1, distinct-2 on tea-talk: every score is the same" in invoke(*run).out
    results = files.read(out / "report")
    assert {row.board.partition(":")[0] for row in results.ranking} == {"own", "test"}
    assert results.run.command == "harness run --metric distinct --metric length --dataset jsalt --dataset tea-talk"
    placed = ["leaderboard", "--with", "distinct", "--out", out]
    assert "on tea-talk" in invoke(*placed).out
    assert "on the board test" in invoke(*placed, "--split", "test").out
    invoke("run", "--dataset", "tea-talk", "--metric", "length", "--out", tmp_path / "by name")
    assert "replaced in the home" not in invoke("report", "--out", out, "--dataset", card, "--json").err
    (tmp_path / "challenge").mkdir()
    (tmp_path / "challenge" / "challenge.toml").write_text('datasets = ["../tea-talk"]\n')
    invoke("challenge", "template", tmp_path / "challenge")
    assert (tmp_path / "challenge" / "template.csv").read_text() == "dialogue_id,score\n1,\n2,\n3,\n4,\n"
    table = next(card.rglob("*.csv"))
    table.write_text(table.read_text().replace(",2\n", ",3\n"))
    assert "tea-talk: replaced in the home" in invoke(*run).err
    assert "tea-talk" in registry.names()
    assert hub.load(str(card), home).card.name == "tea-talk"
    registry.register_home(tmp_path)
    assert "tea-talk" not in registry.names()


def test_a_damaged_card_in_the_home_is_named(home: Path, invoke: Invoke) -> None:
    (home / "datasets").mkdir()
    (home / "datasets" / "tea.card.json").write_text("{")
    assert "tea.card.json" in invoke("list", "datasets", status=2).err
