"""The commands for score files: template, validation and ranking."""

import csv
import json
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.dataset import Quality
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import Invoke, make_item

ID = registry.sample(registry.card("jsalt")).items[0].id
DATASETS = ("--dataset", "fed-dial", "--dataset", "jsalt")


def fill(path: Path, every: int = 1) -> Path:
    """Fill a score into every row of a template, or into each `every`-th row."""
    mine = path.with_name("mine.csv")
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    with mine.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *([row[0], number * 7919 % 101 / 10] for number, row in enumerate(rows)
                                              if number % every == 0)])
    return mine


def test_filled_template_is_valid_and_ranked(tmp_path: Path, invoke: Invoke) -> None:
    path, out = tmp_path / "template.csv", tmp_path / "out"
    assert "bundled sample" in invoke("template", *DATASETS, "--out", path).err
    mine = fill(path)
    assert invoke("validate", mine).out.endswith("mine.csv: valid\n")
    printed = invoke("run", *DATASETS, "--metric", f"scores:{mine}", "--metric", "length", "--draws", "0", "--out", out,
                     "--json").out
    rows = map(json.loads, printed.splitlines())
    scored = {row["dataset"] for row in rows if row["metric"] == "scores:mine.csv" and row["value"] is not None}
    assert scored == {"jsalt", "fed-dial"}
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert str(tmp_path).encode() not in written, "results can be published"


def test_a_column_of_a_table_is_a_metric(tmp_path: Path, invoke: Invoke) -> None:
    """Also if the table was stored before without it, and by its card; ratings come from the other columns alone."""
    table, out = tmp_path / "mine.csv", ("--out", tmp_path / "out", "--json")
    table.write_text("id,response,rater,fun,gpt4_score\n" + "".join(
        f'"a,""{row}",reply {row},{rater},{row % 5},{row % 5 / 7 or ""}\n' for row in range(20) for rater in "ab"))
    flags = ("--columns", "metric=gpt4_score")
    assert "add --columns metric=gpt4_score" in invoke("run", "--dataset", table, "--metric", "length", *out).err
    invoke("new", "dataset", "yours", "--from", table, *flags, "--into", tmp_path)
    for dataset, name in ((table, "mine"), (tmp_path / "yours", "yours")):
        printed = invoke("run", "--dataset", dataset, *(flags if dataset == table else ()), "--metric",
                         f"GPT=scores:{name}.gpt4_score", *out).out
        (row,) = filter(lambda row: row["statistic"] == "spearman", map(json.loads, printed.splitlines()))
        assert (row["quality"], row["n"], row["value"]) == ("fun", 16, 1.0)
    assert "--columns metric=COLUMN" in invoke(
        "run", "--dataset", table, "--metric", "scores:mine.gpt4_score", *out, status=2).err
    head, *rows = table.read_text().splitlines()
    numberless = [(f"x,reply 99,c,1,{cell}", f"'{cell}'") for cell in ("good", "1e999", "4-May")]
    for line, part in (('"a,""1",reply 1,c,1,0.5', "line 42"), *numberless):
        table.write_text("\n".join((head, *rows, line)))
        assert part in invoke("run", "--dataset", table, *flags, "--metric", "length", *out, status=2).err
    for names, columns, part in (
            ("评分,b", "评分", "评分"), ("GPT 4,gpt-4", "GPT 4+gpt-4", "'gpt-4'"), ("a,b", "a", "'a'")):
        table.write_text(f"response,fun,{names}\nYo,1,,\nYe,2,,\n")
        assert part in invoke("run", "--dataset", table, "--columns", f"metric={columns}", "--metric", "length", *out,
                              status=2).err


def test_a_file_for_real_data_is_not_scored_on_the_sample(tmp_path: Path, invoke: Invoke) -> None:
    """The ids of the sample's items coincide with some of the real ones."""
    path, part = tmp_path / "mine.csv", "80 of its 81 rows"
    path.write_text("dialogue_id,score\n" + "".join(f"{name},1\n" for name in (ID, *(f"{ID}{n}" for n in range(80)))))
    printed = invoke("validate", path, status=1).out
    assert part in " ".join(printed.split())
    assert "did you mean" not in printed
    for flags in (("--dataset", "jsalt"), ("--all",)):
        assert part in invoke("run", *flags, "--with", f"scores:{path}", "--out", tmp_path / "out", status=2).err
    err = invoke("run", "--dataset", "fed-dial", "--metric", f"scores:{path}", "--out", tmp_path / "out", status=1).err
    assert part not in err


def test_missing_scores_are_counted(tmp_path: Path, invoke: Invoke) -> None:
    items = {name: len(registry.sample(registry.card(name)).items) for name in ("fed-dial", "jsalt")}
    invoke("template", *DATASETS, "--out", tmp_path / "template.csv", "--by", "item")
    mine = fill(tmp_path / "template.csv", every=2)
    problems = json.loads(invoke("validate", mine, "--json", status=1).out)
    assert problems["counts"] == {"missing": sum(items.values()) // 2}
    assert (problems["file"], problems["refused"], problems["origin"]) == ("mine.csv", False, "sample")
    assert set(problems["datasets"]) == set(items)
    printed = invoke("validate", mine, "--dataset", "fed-dial", "--dataset", "esl", status=1).out
    assert "esl: none of its 24 items" in printed


def test_invalid_score_files_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "mine.csv"
    for content, status, message in (
            (None, 2, "unreadable"), ("dialogue_id,score\njsalt_0,1\n", 1, "2 unknown"),
            (f"dialogue_id,score\n{ID},x\n", 1, "1 no number, 31 missing"),
            ("dialogue_id;value\n", 2, "1 unreadable")):
        if content is not None:
            path.write_text(content)
        assert message in invoke("validate", path, "--dataset", "jsalt", status=status).out


def test_template_never_overwrites_scores(tmp_path: Path, invoke: Invoke) -> None:
    assert invoke("template", "--split", "test").out.startswith("dialogue_id,score\ndstc10-task5.1_")
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    assert ".csv" in invoke("template", "--out", path.with_suffix(".docx"), status=2).err
    assert "mine.csv" in invoke("template", "--out", path, status=2).err
    assert path.read_text() == "mine"


def test_texts_suffice_to_score_elsewhere(tmp_path: Path, invoke: Invoke) -> None:
    """Covers a whole dialogue and a response."""
    lines = tmp_path / "new folder" / "texts.jsonl"
    invoke("template", "--texts", "--dataset", "persona-usr", "--dataset", "fed-dial", "--out", lines)
    rows = list(map(json.loads, lines.read_text().splitlines()))
    items = [item for name in ("persona-usr", "fed-dial") for item in registry.sample(registry.card(name)).items]
    assert {row["dataset"]: row["response"] is None for row in rows} == {"persona-usr": False, "fed-dial": True}
    for row, item in zip(rows, items, strict=True):
        assert row["dialogue_id"] == item.id
        assert row["context"] == [{"speaker": turn.speaker, "text": turn.text} for turn in item.context]
        assert row["references"] == [reference.text for reference in item.references]
        assert row["facts"] == list(item.facts)


def test_scores_for_a_quality_go_by_the_qualities_of_the_dataset(tmp_path: Path, home: Path) -> None:
    """The same name is another dimension in another dataset."""
    file = tmp_path / "mine.csv"
    file.write_text("dialogue_id,score\na,1\na|appropriateness,2\nb,3\n")
    metric: Any = choose(f"scores:{file}").metric
    items = [make_item(name, "tea please") for name in "ab"]
    for dimension in ("appropriateness", "useful information"):
        columns = metric.about([Quality("appropriateness", dimension=dimension), Quality("fluency")]).score(
            items, Models(home))
        assert {name: values.tolist() for name, values in columns.items()} == {
            "scores:mine.csv": [1, 3], f"scores:mine.csv@{dimension}": [2, 3]}
