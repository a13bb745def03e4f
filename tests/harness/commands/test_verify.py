"""`harness verify RESULTS`: repeats a run, and reports what differs, by how much and why."""

import dataclasses
import hashlib
import json
import shutil
from pathlib import Path

import pytest

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from harness.cli import main
from harness.results import files
from harness.results.rows import Comparisons, Results
from tests.faults.runs import metric


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_HOME", str(folder / "home"))
        assert main(["run", "--dataset", "esl", "--dataset", "humod", "--metric", "length", "--metric", "bleu",
                     "--limit", "25", "--seed", "3", "--draws", "20", "--permutations", "10", "--examples", "2",
                     "--out", str(folder / "made")]) == 0
    return folder / "made"


@pytest.fixture
def made(finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A copy of the results, to be changed."""
    capsys.readouterr()
    return Path(shutil.copytree(finished, tmp_path / "made"))


def altered(made: Path, **values: object) -> Results:
    """Change values of the recorded run, in place."""
    report = files.read(made / "report")
    report = dataclasses.replace(report, run=dataclasses.replace(report.run, **values))  # type: ignore[arg-type]
    files.write(report, made / "report")
    return report


def test_repeated_run_gives_the_same_bytes(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(made), "--out", str(tmp_path / "again")]) == 0
    printed = capsys.readouterr()
    for table in ("correlations", "comparisons", "reliability", "ranking"):
        rows = getattr(files.read(made / "report"), table)
        count = sum(len(row) if isinstance(row, Comparisons) else 1 for row in rows)
        assert f"{table}: {count} rows, all equal" in printed.out
    assert "3 scored, 0 kept" in printed.out
    assert "changed:" not in printed.err
    for path in (made / "report").rglob("*"):
        if path.is_file() and path.name != "timings.json":
            assert (tmp_path / "again" / "report" / path.relative_to(made / "report")).read_bytes() == path.read_bytes()


def test_differences_are_reported_with_their_cause(made: Path, tmp_path: Path, home: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    report = altered(made, packages={**files.read(made / "report").run.packages, "numpy": "0.1"})
    rows = [dataclasses.replace(row, value=row.value + 0.25) if (row.column, row.statistic) == ("length", "spearman")
            and row.dataset == "esl" else row for row in report.correlations]
    files.write(dataclasses.replace(report, correlations=tuple(rows)), made / "report")
    again = ["verify", str(made / "report"), "--out", str(tmp_path / "again")]
    assert main(again) == 1
    printed = capsys.readouterr()
    assert "changed: numpy: 0.1 then, " in printed.err
    assert "rows differ, most by 0.25: esl, " in printed.out
    assert "likely cause: environment: numpy" in printed.out.splitlines()[-1]
    assert main(again) == 1
    assert "0 scored, 3 kept" in capsys.readouterr().out
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items[5:], sample.ratings, "imported"), home)
    assert main(again) == 1
    printed = capsys.readouterr()
    assert "changed: items of esl: sample then, imported now" in printed.err
    assert "likely cause: data: items" in printed.out


def test_user_metrics_data_and_models_are_found_by_content(
        tmp_path: Path, tiny_encoder: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "dataset", "tea-talk", "--into", str(tmp_path)]) == 0
    card = tmp_path / "tea-talk" / "tea-talk.toml"
    mine, made, packed = tmp_path / "mine" / "size.py", tmp_path / "made", tmp_path / "packed.zip"
    mine.parent.mkdir()
    metric(mine.parent, "size")
    assert main(["run", "--dataset", str(card), "--metric", str(mine), "--with",
                 f"cosine[encoder={tiny_encoder}]", "--draws", "0", "--out", str(made)]) == 0
    results = files.read(made / "report")
    assert [entry.name for entry in results.metrics] == [
        f"cosine[encoder={tiny_encoder.name}]", "size"]
    assert str(tmp_path) not in (made / "report" / "report.json").read_text()
    again = ["verify", str(made), "--out", str(tmp_path / "again"), "--from", str(mine.parent), "--from",
             str(tiny_encoder.parent)]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("HARNESS_HOME", str(tmp_path / "another home"))
    for words, part in ((again[:4], "the run read size.py, which is not in"),
                        (again, "dataset 'tea-talk' is not installed")):
        assert main(words) == 2
        assert part in capsys.readouterr().err
    again += ["--from", str(card.parent)]
    assert main(again) == 0
    assert "changed:" not in capsys.readouterr().err
    assert main(["submit", str(packed), "--out", str(made)]) == 0
    verify = ["verify", str(packed), "--rescore", "always"]
    assert main([*verify, "--with", str(mine)]) == 0
    assert "scored again: size, 1 column" in capsys.readouterr().out
    metric(mine.parent, "size", "right = [-one for one in right]")
    table = card.with_suffix(".csv")
    table.write_text(table.read_text().replace(",2\n", ",3\n"))
    monkeypatch.chdir(card.parent)
    assert main(again[:-2]) == 1
    printed = capsys.readouterr()
    assert "changed: ratings of tea-talk: not the same" in printed.err
    assert "changed: size, code: " in printed.err
    assert "likely cause: data: ratings; code\n" in printed.out
    assert main([*verify, "--with", str(mine)]) == 1
    printed = capsys.readouterr().out
    assert "not here: tea-talk: the ratings here are others" in printed
    monkeypatch.setenv("HARNESS_HOME", str(tmp_path / "third home"))
    assert main(verify) == 1
    assert "not here: tea-talk: no dataset of that name is here" in capsys.readouterr().out
    assert main([*verify, "--with", "bleu"]) == 2
    assert "the bundle has no metric of that name" in capsys.readouterr().err


def test_private_ratings_are_required(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = datasets.sample(datasets.card("esl"))
    store.save(Dataset(sample.card, sample.items, (), "imported"), home)
    rows = [{"dialogue_id": rating.item, "annotations": {rating.quality: list(rating.votes)}}
            for rating in sample.ratings]
    mine, other, made = tmp_path / "mine.json", tmp_path / "other.json", tmp_path / "made"
    mine.write_text(json.dumps(rows))
    other.write_text(json.dumps(rows[:-1]))
    main(["run", "--dataset", "esl", "--metric", "length", "--ratings", str(mine), "--out", str(made), "--draws", "0"])
    again = ["verify", str(made), "--out", str(tmp_path / "again")]
    assert main(again) == 2
    assert "--ratings" in capsys.readouterr().err
    assert main([*again, "--ratings", str(other)]) == 2
    assert str(other) in capsys.readouterr().err
    assert main([*again, "--ratings", str(mine)]) == 0
    digest = files.read(tmp_path / "again" / "report").run.options["ratings sha256"]
    assert digest == hashlib.sha256(mine.read_bytes()).hexdigest()


def test_foreign_or_unsafe_commands_are_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named in (made, made / "report"):
        assert main(["verify", str(named), "--out", str(made)]) == 2
        assert "--out" in capsys.readouterr().err
    for command, part in (
            ("harness study dimensions", "harness study dimensions"), ("harness run --all --frob", "--frob"),
            ("harness run --all --out /elsewhere", "--out"),
            ("harness run --all --store x", "--store"), ("harness run --metric no-such-one", "no metric")):
        altered(made, command=command)
        assert main(["verify", str(made), "--out", str(tmp_path / "again")]) == 2
        assert part in capsys.readouterr().err
    assert not (tmp_path / "again").exists()
