"""Bundles: packed from a run, checked, and refused if malformed."""

import dataclasses
import hashlib
import json
import math
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import registry as datasets
from harness import bundle
from harness.bundle import reading
from harness.cli import main
from harness.errors import BadBundle
from harness.results import files
from harness.results.rows import Correlation, Results
from harness.run.reuse import Reused
from tests.conftest import Invoke
from tests.suite_run import SuiteRun

COMPOSITE, MANIFEST = "rank-average[inputs=length+distinct]", "manifest.json"
Verify = Callable[..., str]


@pytest.fixture(scope="module")
def submitted(suite_run: SuiteRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "submitted.zip"
    assert main(["submit", str(path), "--out", str(suite_run.out), "--metric", f"bleu,{COMPOSITE}", "--name",
                 "two metrics"]) == 0
    return path


@pytest.fixture
def packed(submitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(submitted, tmp_path / "made.zip"))


@pytest.fixture
def verify(invoke: Invoke) -> Verify:
    return lambda *argv, status: "".join(invoke("verify", *argv, status=status))


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write(path: Path, content: dict[str, bytes], *, listed: bool = True) -> None:
    """Write members; `listed` makes a new manifest, as a careful attacker would."""
    if listed:
        manifest = json.loads(content[MANIFEST])
        manifest["files"] = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                             for name, data in content.items() if name != MANIFEST}
        content = {**content, MANIFEST: json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in content.items():
            target.writestr(name, data)


def test_intact_bundle_verifies(packed: Path, suite_run: SuiteRun, verify: Verify) -> None:
    printed, report = verify(packed, status=0), suite_run.results
    count = sum(row.metric == "bleu" or row.metric.startswith("rank") for row in report.correlations)
    board = [row for row in report.ranking
             if (row.board, row.rule, row.statistic) == ("dev-references", "dev", "spearman")]
    (row,) = [row for row in board if row.column == "bleu-2"]
    ranked = sum(math.isfinite(row.value) for row in board)
    for words in (f"{count} of {count} correlations, on 4 of 4", "scored again: bleu", f"scored again: {COMPOSITE}",
                  f"bleu/bleu-2 rank {row.rank} of {ranked}, {row.value:.3f}"):
        assert words in printed


def test_packing_is_deterministic_and_reads_back(packed: Path, suite_run: SuiteRun, tmp_path: Path) -> None:
    """Integer limits of scales are read back with a decimal point."""
    assert bundle.zipped(bundle.bundle_of(suite_run.results, [COMPOSITE, "bleu"], "two metrics")) == packed.read_bytes()
    (tmp_path / "again.zip").write_bytes(bundle.zipped(reading.read(packed)))
    again, before = members(tmp_path / "again.zip"), members(packed)
    assert again.keys() == before.keys()
    assert {name for name in again if again[name] != before[name]} <= {"datasets.json", MANIFEST}


def test_bundle_holds_no_text_path_or_secret(suite_run: SuiteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                             ) -> None:
    monkeypatch.setenv("HARNESS_SECRET", "s3cr3t-value")
    (tmp_path / "again.zip").write_bytes(bundle.zipped(bundle.bundle_of(suite_run.results, (), "")))
    content = b"\n".join(members(tmp_path / "again.zip").values()).decode()
    texts = [example.response or example.context[-1] for example in suite_run.results.examples]
    assert not [text for text in ("s3cr3t", str(suite_run.out.parent), f"{Path.home()}/", *texts) if text in content]


def test_metrics_named_by_a_path_are_refused(suite_run: SuiteRun) -> None:
    report = suite_run.results
    for name in ("judge:/models/mine", "cosine[encoder=~/mine]", "./x.py[file=C:\\mine]", "scores:file:///mine.csv"):
        renamed = dataclasses.replace(report, metrics=(dataclasses.replace(report.metrics[0], name=name),))
        with pytest.raises(BadBundle):
            bundle.bundle_of(renamed, (), "x")
    assert not bundle.PATH.search("judge:llm-eval[model=NAME,url=http://localhost:8000/v1]"), "an address is no path"
    assert bundle.without_folders("no /home/me/models/mine: https://example.org/a/b") == "no mine: https://example.org/a/b"
    with pytest.raises(BadBundle, match="'bleu'"):
        bundle.bundle_of(report, ["blue"], "x")


def test_changed_numbers_are_reported(packed: Path, verify: Verify) -> None:
    """A score is changed, then removed, with a new manifest; tests/harness/test_verification.py forges correlations."""
    content, quick = members(packed), ("--rescore", "never")
    lines = content[SCORES].decode().split("\n")
    index, cells = lines[0].split(",").index("bleu/bleu-1"), lines[3].split(",")
    cells[index] = str(float(cells[index]) + 50)
    lines[3] = ",".join(cells)
    write(packed, {**content, SCORES: "\n".join(lines).encode()})
    printed = verify(packed, status=1)
    for drift in ("bleu, bleu-1, pearson, value: ", "points: 1 of ",
                  f"differs: persona-usr, bleu, bleu-1, {cells[0]}, score: {float(cells[index]):.6g} then, "):
        assert drift in printed
    assert ", score: " not in verify(packed, *quick, status=1)
    write(packed, {name: data for name, data in content.items() if name != "scores/fed-turn.csv"})
    assert "gone: fed-turn, " in verify(packed, *quick, status=1)


def test_pages_link_the_bundle_instead_of_large_tables(suite_run: SuiteRun, tmp_path: Path, invoke: Invoke) -> None:
    site = tmp_path / "docs" / "example"
    invoke("publish", "--out", suite_run.out, "--site", site, "--bundle", f"{site}.zip")
    assert 'href="../example.zip"' in (site / "methods.html").read_text()
    assert {path.name for path in (*site.glob("*.csv"), *site.glob("l*.json"))} == {"ranking.csv", "reliability.csv"}


def test_run_reuses_scores_of_a_bundle(packed: Path, suite_run: SuiteRun, tmp_path: Path, invoke: Invoke) -> None:
    """A metric of another version is scored; a metric that only the bundle has is added, or skipped."""
    content = members(packed)
    content["metrics.json"] = content["metrics.json"].replace(b'"metric": "bleu"', b'"metric": "old"')
    write(packed, content)
    printed = invoke("run", "--metric", "bleu,length", "--dataset", "persona-usr,dstc7", "--reuse", packed, "--out",
                     tmp_path / "out").out
    assert "1 from a bundle" in printed
    results = files.read(tmp_path / "out")
    assert {entry.name: entry.source for entry in results.metrics} == {
        "bleu": "", "length": "", COMPOSITE: "two metrics"}
    assert results.metrics[2].badge.endswith("two metrics")

    def numbers(results: Results) -> list[Correlation]:
        return [dataclasses.replace(row, corrected=0.0) for row in results.correlations
                if row.dataset == "persona-usr" and row.metric in (COMPOSITE, "bleu")]

    assert repr(numbers(results)) == repr(numbers(suite_run.results))
    assert [row.dataset for row in results.skips if row.metric == COMPOSITE] == ["dstc7"]


def test_a_metric_scored_here_on_every_dataset_does_not_name_the_bundle(packed: Path, tmp_path: Path, invoke: Invoke,
                                                                        ) -> None:
    invoke("run", "--metric", "bleu", "--dataset", "dstc7", "--reuse", packed, "--out", tmp_path / "out")
    assert {entry.name: entry.source for entry in files.read(tmp_path / "out").metrics} == {
        "bleu": "", COMPOSITE: "two metrics"}


def test_scores_made_for_other_qualities_are_not_reused(suite_run: SuiteRun) -> None:
    dataset = datasets.sample(datasets.card("persona-usr"))
    values = np.zeros(len(dataset.items))
    (points,) = (points for points in suite_run.results.points if points.dataset == "persona-usr")
    table = dataclasses.replace(points, items=tuple(item.id for item in dataset.items), scores={
        ("length", "length"): values, ("mixed", "mixed"): values, ("mixed", "mixed@fluency"): values})
    entries = {entry.name: entry for name in ("length", "mixed")
               for entry in [dataclasses.replace(suite_run.results.metrics[0], name=name)]}
    reused = Reused(metrics=entries, tables={dataset.fingerprint: table})
    for dimensions, labels in (({quality.dimension for quality in dataset.card.qualities}, {"length", "mixed"}),
                               ({"fluency"}, {"length"})):
        made_for = {dataset.fingerprint: frozenset(dimensions)}
        assert set(dataclasses.replace(reused, dimensions=made_for).scores(dataset)) == labels


def test_changed_items_and_ratings_are_not_recomputed(packed: Path, verify: Verify) -> None:
    """Results cannot be compared if the items or the ratings are different."""
    content = members(packed)
    first, *others = json.loads(content["datasets.json"])
    entries = [first | {"ratings_fingerprint": "0" * 64}, *(entry | {"fingerprint": "0" * 64} for entry in others)]
    write(packed, {**content, "datasets.json": json.dumps(entries).encode()})
    printed = verify(packed, status=1)
    assert ": 0 rows" not in printed
    assert "the items here differ" in printed
    assert "the ratings here differ" in printed


def test_names_in_a_bundle_load_no_code(suite_run: SuiteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        verify: Verify) -> None:
    """A script with the name of a metric in the working folder is not run."""
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("raise SystemExit('executed')")
    packed = tmp_path / "made.zip"
    packed.write_bytes(bundle.zipped(bundle.bundle_of(suite_run.results, ["bleu"], "one metric")))
    before = members(packed)
    for name in ("./evil.py", "evaluate:./evil.py", "scores:evil.csv", "length[lowercase=/x]"):
        write(packed, {key: value.replace(b'"bleu"', json.dumps(name).encode()).replace(
            b"bleu/bleu", f"{name}/bleu".encode()) for key, value in before.items()})
        printed = verify(packed, "--rescore", "always", status=0)
        assert "executed" not in printed
        assert f"not scored again: {name}" in printed


SCORES, EVIL, GONE = "scores/persona-usr.csv", b"\x80\x04.", None
REFUSED: list[tuple[str, bytes, bytes | None, bool, str]] = [
    (MANIFEST, b"two metrics", rb"\\u0007", False, "80"), (MANIFEST, b'"sha256": "', b'"sha256": "0', False, "sha256"),
    (MANIFEST, b'"form": 2', b'"form": 1', False, "form 1"), (MANIFEST, b"", GONE, False, "manifest"),
    ("run.json", b'"seed": 0', b'"seed": NaN', True, "NaN"), ("run.json", b'"seed": 0', b'"seed": -5', True, "seed"),
    ("run.json", rb'"aggregations": \[[^]]*', b'"aggregations": [5', True, "options: aggregations"),
    ("evil.pkl", b"", EVIL, False, "'evil.pkl'"), ("evil.pkl", b"", EVIL, True, "'evil.pkl'"),
    ("skips.json", b"", GONE, False, "'skips.json'"), ("skips.json", b"", GONE, True, "no skips.json"),
    ("metrics.json", b"^", b"[" * 100_000, True, "metrics.json"),
    ("datasets.json", b'"name": "fed-turn"', b'"name": "persona-usr"', True, "'persona-usr'"),
    ("correlations.jsonl", b'"p": ', b'"q": 1, "p": ', True, "correlations.jsonl, record 0: unknown field 'q'"),
    ("correlations.jsonl", rb'"p": [^,]+,', b'"p": 1e400,', True, "inf"),
    (SCORES, b"_00000,[^,]*", b"_00000,1e400", True, "line 2: its score 1e400"),
    (SCORES, b"_00000,[^,]*", b"_00000,=1+1", True, "line 2: its score '=1+1'"),
    (SCORES, b"\npersona-usr_00000,", b"\npersona-usr_00000", True, "values"),
    (SCORES, b"bleu/bleu-1", b"bleu/bleu-9", True, "'bleu/bleu-9'"),
    (SCORES, b"persona-usr_00001", b"persona-usr_00000", True, "twice"),
]
"""Member, replaced text and replacement (GONE removes the member), True for a new manifest, and the reason."""


def test_malformed_bundles_are_refused(packed: Path) -> None:
    before = members(packed)
    for member, old, new, listed, reason in REFUSED:
        changed = {**before, member: re.sub(old, new, before.get(member, b""), count=1)} if new is not None else {
            name: data for name, data in before.items() if name != member}
        write(packed, changed, listed=listed)
        with pytest.raises(BadBundle, match=re.escape(reason)):
            reading.read(packed)


def test_hostile_archives_are_refused_and_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                         verify: Verify) -> None:
    """Other hostile archives are refused by benchmarks/storage/archive.py."""
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work"))
    monkeypatch.setattr("tempfile.tempdir", None)
    bad = tmp_path / "bad.zip"
    write(bad, {"../../escaped.txt": b"out"}, listed=False)
    verify(bad, status=2)
    bad.write_bytes(b"\x80\x04\x95cos\nsystem\n(S'ls'\ntR.")
    verify(bad, status=2)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bad.zip", "work"]


def test_worst_of_several_bundles_decides_the_status(packed: Path, tmp_path: Path, verify: Verify) -> None:
    """In Markdown, names from a bundle are not markup."""
    content = members(packed)
    manifest = json.loads(content[MANIFEST]) | {"name": "a|b`<img src=x>`@everyone"}
    write(packed, {**content, MANIFEST: json.dumps(manifest).encode()})
    (tmp_path / "bad.zip").write_bytes(b"nothing")
    printed = verify(tmp_path / "bad.zip", packed, "--markdown", "--rescore", "never", status=2)
    assert printed.startswith("### `bad.zip`\n\n**refused**")
    assert "### `made.zip`: `a¦b'<img src=x>'@everyone`\n" in printed
    assert "- `board dev-references (sample): bleu/bleu-1 rank " in printed
