"""`harness verify RESULTS`: repeats a run, and reports what differs, by how much and why."""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from harness.cli import main
from harness.results import files
from harness.results.rows import Comparisons, Results
from tests.conftest import Invoke
from tests.faults.runs import metric

Verify = Callable[..., str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_HOME", str(folder / "home"))
        assert main(["run", "--dataset", "esl", "--dataset", "humod", "--metric", "length", "--metric", "bleu",
                     "--limit", "25", "--seed", "3", "--draws", "20", "--permutations", "10", "--examples", "2",
                     "--quality", "appropriateness", "--quality", "relevance", "--epsilon", "0.2",
                     "--out", str(folder / "made")]) == 0
    return folder / "made"


@pytest.fixture
def made(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "made"))


@pytest.fixture
def again(tmp_path: Path) -> Path:
    return tmp_path / "again"


@pytest.fixture
def verify(invoke: Invoke) -> Verify:
    return lambda *argv, status=0: "".join(invoke("verify", *argv, status=status))


def altered(made: Path, **values: object) -> Results:
    report = files.read(made / "report")
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, **values))  # type: ignore[arg-type]
    files.write(report, made / "report")
    return report


def test_repeated_run_gives_the_same_bytes(made: Path, again: Path, verify: Verify) -> None:
    printed = verify(made, "--out", again)
    decisions = files.read(again / "report").decisions
    assert {(row.quality, row.epsilon) for row in decisions} == {("appropriateness", 0.2), ("relevance", 0.2)}
    for table in ("correlations", "comparisons", "reliability", "ranking"):
        rows = getattr(files.read(made / "report"), table)
        count = sum(len(row) if isinstance(row, Comparisons) else 1 for row in rows)
        assert f"{table}: {count} rows, all equal" in printed
    assert "3 scored, 0 reused" in printed
    assert "changed:" not in printed
    for path in (made / "report").rglob("*"):
        if path.is_file() and path.name != "timings.json":
            assert (again / "report" / path.relative_to(made / "report")).read_bytes() == path.read_bytes()


def test_differences_are_reported_with_their_cause(made: Path, again: Path, home: Path, verify: Verify) -> None:
    report = altered(made, packages={**files.read(made / "report").run.packages, "numpy": "0.1"})
    rows = [dataclasses.replace(row, value=row.value + 0.25) if (row.column, row.statistic) == ("length", "spearman")
            and row.dataset == "esl" else row for row in report.correlations]
    files.write(dataclasses.replace(report, correlations=tuple(rows)), made / "report")
    printed = verify(made / "report", "--out", again, status=1)
    for part in ("numpy: 0.1 then, ", " 0.25, in esl, ", "likely cause: environment: numpy"):
        assert part in printed
    assert "0 scored, 3 reused" in verify(made / "report", "--out", again, status=1)
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items[5:], sample.ratings, "imported"), home)
    printed = verify(made / "report", "--out", again, status=1)
    assert "changed: esl, items: 24 (" in printed
    assert "likely cause: data: items" in printed


def test_user_metrics_data_and_models_are_found_by_content(
        tmp_path: Path, again: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch, verify: Verify) -> None:
    made, packed, mine = tmp_path / "made", tmp_path / "packed.zip", tmp_path / "mine"
    for folder in (mine, tmp_path / "elsewhere"):
        folder.mkdir()
    size = metric(mine, "size")
    assert main(["new", "dataset", "tea-talk", "--into", str(tmp_path)]) == 0
    card = tmp_path / "tea-talk" / "tea-talk.toml"
    assert main(["run", "--dataset", str(card), "--metric", size, "--with", f"cosine[encoder={tiny_encoder}]",
                 "--draws", "0", "--out", str(made)]) == 0
    assert [entry.name for entry in files.read(made / "report").metrics] == [
        f"cosine[encoder={tiny_encoder.name}]", "size"]
    assert str(tmp_path) not in (made / "report" / "report.json").read_text()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HARNESS_HOME", str(tmp_path / "another home"))
    flags = ["--out", again, "--from", mine, "--from", tiny_encoder.parent]
    assert "size.py" in verify(made, "--out", again, status=2)
    assert "'tea-talk'" in verify(made, *flags, status=2)
    assert "changed:" not in verify(made, *flags, "--from", card.parent)
    assert main(["submit", str(packed), "--out", str(made)]) == 0
    rescore = ("--rescore", "always", "--with")
    assert "scored again: size" in verify(packed, *rescore, size)
    metric(mine, "size", "right = [-one for one in right]")
    table = card.with_suffix(".csv")
    table.write_text(table.read_text().replace(",2\n", ",3\n"))
    monkeypatch.chdir(card.parent)
    printed = verify(made, *flags, status=1)
    for part in ("changed: tea-talk, ratings: ", "changed: size, code: ", "likely cause: data: ratings; code\n"):
        assert part in printed
    assert "not here: tea-talk: the ratings here differ" in verify(packed, *rescore, size, status=1)
    monkeypatch.setenv("HARNESS_HOME", str(tmp_path / "third home"))
    assert "not here: tea-talk: no dataset" in verify(packed, *rescore[:2], status=1)
    assert "bleu" in verify(packed, *rescore, "bleu", status=2)


def test_private_ratings_are_required(tmp_path: Path, again: Path, home: Path, verify: Verify) -> None:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items, (), "imported"), home)
    rows = [{"dialogue_id": rating.item, "annotations": {rating.quality: list(rating.votes)}}
            for rating in sample.ratings]
    mine, other, made = tmp_path / "mine.json", tmp_path / "other.json", tmp_path / "made"
    mine.write_text(json.dumps(rows))
    other.write_text(json.dumps(rows[:-1]))
    main(["run", "--dataset", "esl", "--metric", "length", "--ratings", str(mine), "--out", str(made), "--draws", "0"])
    assert "--ratings" in verify(made, "--out", again, status=2)
    assert str(other) in verify(made, "--out", again, "--ratings", other, status=2)
    verify(made, "--out", again, "--ratings", mine)
    digest = files.read(again / "report").run.options["ratings sha256"]
    assert digest == hashlib.sha256(mine.read_bytes()).hexdigest()


def test_foreign_or_unsafe_commands_are_refused(made: Path, again: Path, verify: Verify) -> None:
    for folder in (made, made / "report"):
        assert "--out" in verify(folder, "--out", made, status=2)
    for command, part in (
            ("harness study dimensions", "harness study dimensions"), ("harness run --all --frob", "--frob"),
            ("harness run --all --out /elsewhere", "--out"), ("harness run --all --store x", "--store"),
            ("harness run --metric no-such-one", "no-such-one")):
        altered(made, command=command)
        assert part in verify(made, "--out", again, status=2)
    assert not again.exists()
