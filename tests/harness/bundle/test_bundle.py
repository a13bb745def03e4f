"""Bundles: packed from a run, checked, and refused where they are not what they say."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import re
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import bundle
from harness.bundle import reading
from harness.cli import main
from harness.errors import BadBundle
from harness.results import files
from tests.suite_run import SuiteRun

COMPOSITE = "rank-average[inputs=length+distinct]"


@pytest.fixture
def results(suite_run: SuiteRun) -> Path:
    return suite_run.out


@pytest.fixture(scope="module")
def submitted(suite_run: SuiteRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of two of the metrics."""
    path = tmp_path_factory.mktemp("bundle") / "submitted.zip"
    assert main(["submit", "--results", str(suite_run.out), "--out", str(path), "--metric", "bleu", "--metric",
                 COMPOSITE, "--name", "two metrics"]) == 0
    return path


@pytest.fixture
def packed(submitted: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copy(submitted, tmp_path / "made.zip"))


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write(path: Path, content: dict[str, bytes], *, listed: bool = True) -> None:
    """Write members; `listed` makes the manifest anew, as a careful forger would."""
    if listed:
        manifest = json.loads(content["manifest.json"])
        manifest["files"] = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                             for name, data in content.items() if name != "manifest.json"}
        content = {**content, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in content.items():
            target.writestr(name, data)


def verified(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["verify", str(path), *more])
    told = capsys.readouterr()
    return status, told.out + told.err


def test_what_was_packed_is_found_again(packed: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, told = verified(packed, capsys)
    report = files.read(results / "report")
    mine = [row for row in report.correlations if row.metric == "bleu" or row.metric.startswith("rank")]
    assert status == 0, told
    assert f"correlations: {len(mine)} of {len(mine)} computed again, on 4 of 4 datasets" in told
    assert "scored again: bleu" in told
    assert "scored again: rank-average[inputs=length+distinct]" in told
    assert "no difference above 0.001" in told
    (row,) = [row for row in report.ranking if (row.board, row.rule, row.statistic, row.column) == (
        "dev-references", "dev", "spearman", "bleu-2")]
    of = sum(math.isfinite(other.value) for other in report.ranking
             if (other.board, other.rule, other.statistic) == ("dev-references", "dev", "spearman"))
    assert f"bleu/bleu-2 rank {row.rank} of {of}, {row.value:.3f}" in told


def test_the_same_results_make_the_same_bytes(packed: Path, results: Path) -> None:
    made = bundle.of(files.read(results / "report"), [COMPOSITE, "bleu"], "two metrics")
    assert bundle.packed(made) == packed.read_bytes()


def test_reading_gives_what_was_packed(packed: Path, tmp_path: Path) -> None:
    """But for whole numbers of scales, which come back with a point."""
    (tmp_path / "again.zip").write_bytes(bundle.packed(reading.read(packed)))
    again, before = members(tmp_path / "again.zip"), members(packed)
    assert again.keys() == before.keys()
    assert {name for name in again if again[name] != before[name]} <= {"datasets.json", "manifest.json"}


def test_there_is_no_text_path_or_secret_in_it(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_SECRET", "s3cr3t-value")
    made = bundle.packed(bundle.of(files.read(results / "report"), (), ""))
    (tmp_path / "again.zip").write_bytes(made)
    everything = b"\n".join(members(tmp_path / "again.zip").values()).decode()
    assert "s3cr3t" not in everything
    assert str(results.parent) not in everything
    assert str(Path.home()) + "/" not in everything
    for example in files.read(results / "report").examples:
        assert (example.response or example.context[-1]) not in everything


def test_a_metric_that_is_named_by_a_path_of_this_machine_is_not_packed(results: Path) -> None:
    report = files.read(results / "report")
    for name in ("st:/models/mine", "cosine[encoder=~/mine]", "./x.py[file=C:\\mine]", "scores:file:///mine.csv"):
        renamed = dataclasses.replace(report, metrics=(dataclasses.replace(report.metrics[0], name=name),))
        with pytest.raises(BadBundle, match="holds a path of this machine"):
            bundle.of(renamed, (), "x")
    assert not bundle.PATH.search("judge:llm-eval[model=NAME,url=http://localhost:8000/v1]"), "an address is no path"
    assert bundle.placeless("no /home/me/models/mine: https://example.org/a/b") == "no mine: https://example.org/a/b"


def test_an_unknown_metric_is_answered_with_the_nearest(results: Path, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "--results", str(results), "--out", str(tmp_path / "x.zip"), "--metric", "blue"]) == 2
    assert "did you mean 'bleu'" in capsys.readouterr().err


def change(name: str, before: str, after: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """Replace a text in a member, once."""
    def changed(content: dict[str, bytes]) -> dict[str, bytes]:
        assert before.encode() in content[name], name
        return {**content, name: content[name].replace(before.encode(), after.encode(), 1)}
    return changed


def test_a_changed_score_is_drift(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a manifest made anew: the correlation is not that of the scores, the score not that of the metric."""
    content = members(packed)
    lines = content["scores/persona-usr.csv"].decode().split("\n")
    place = lines[0].split(",").index("bleu/bleu-1")
    cells = lines[3].split(",")
    cells[place] = str(float(cells[place]) + 50)
    lines[3] = ",".join(cells)
    write(packed, {**content, "scores/persona-usr.csv": "\n".join(lines).encode()})
    status, told = verified(packed, capsys)
    assert status == 1
    assert "bleu/bleu-1, pearson, value: packed" in told
    assert "drift: persona-usr, bleu, scores of bleu-1, 1 of 63 items, the first: packed" in told
    status, told = verified(packed, capsys, "--rescore", "never")
    assert status == 1
    assert "of 63 items" not in told


def test_a_changed_number_of_the_report_is_drift(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = members(packed)
    rows = [json.loads(line) for line in content["correlations.jsonl"].splitlines()]
    (row,) = [row for row in rows if (row["dataset"], row["quality"], row["column"], row["statistic"]) == (
        "persona-usr", "Overall", "bleu-3", "spearman")]
    row["value"] += 0.002
    write(packed, {**content, "correlations.jsonl": "\n".join(map(json.dumps, rows)).encode()})
    status, told = verified(packed, capsys)
    assert status == 1
    assert told.count("drift:") == 1
    assert "drift: persona-usr, Overall, bleu/bleu-3, spearman, value: packed" in told


def test_a_changed_place_is_drift(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = members(packed)
    rows = [json.loads(line) for line in content["ranking.jsonl"].splitlines()]
    row = next(row for row in rows if row["column"] == "bleu-3" and row["board"] == "dev-references")
    for field in ("value", "rank", "covered", "targets"):
        row[field] += 1
    write(packed, {**content, "ranking.jsonl": "\n".join(map(json.dumps, rows)).encode()})
    status, told = verified(packed, capsys, "--rescore", "never")
    assert status == 1
    for field in ("value", "rank", "covered", "targets"):
        assert f"bleu/bleu-3, {row['statistic']}, {field}: packed" in told


def test_a_value_without_scores_behind_it_is_drift(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = members(packed)
    del content["scores/fed-turn.csv"]
    write(packed, content)
    status, told = verified(packed, capsys)
    assert status == 1
    assert "here no scores of it" in told


def test_what_is_not_here_is_told_and_is_no_drift(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other items, other ratings, another signature: nothing can be said about them."""
    content = members(packed)
    entries = json.loads(content["datasets.json"])
    for entry in entries[1:]:
        entry["fingerprint"] = "0" * 64
    entries[0]["ratings_fingerprint"] = "0" * 64
    write(packed, {**content, "datasets.json": json.dumps(entries).encode()})
    status, told = verified(packed, capsys)
    assert status == 0
    assert "the items here are others" in told
    assert "the ratings here are others" in told
    assert "nothing could be computed again from scores" in told


def test_no_metric_is_loaded_from_what_a_bundle_names(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    """A script in the working folder by that name is not run."""
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("raise SystemExit('executed')")
    before = members(packed)
    for name in ("./evil.py", "evaluate:./evil.py", "scores:evil.csv", "length[lowercase=/x]"):
        write(packed, {key: value.replace(b'"bleu"', json.dumps(name).encode()).replace(b"bleu/bleu",
                                                                                     f"{name}/bleu".encode())
                       for key, value in before.items()})
        status, told = verified(packed, capsys, "--rescore", "always")
        assert "executed" not in told
        assert f"not scored again: {name}" in told
        assert status == 0


def without(name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda content: {key: one for key, one in content.items() if key != name}


def in_first_row(value: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """In place of the first score of a table."""
    def changed(content: dict[str, bytes]) -> dict[str, bytes]:
        head, first, rest = content["scores/persona-usr.csv"].decode().split("\n", 2)
        item, _, others = first.split(",", 2)
        return {**content, "scores/persona-usr.csv": "\n".join((head, f"{item},{value},{others}", rest)).encode()}
    return changed


def in_first_agreement(value: bytes) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    """In place of the p of the first agreement."""
    return lambda content: {
        **content, "correlations.jsonl": re.sub(rb'"p": [^,]+, ', value, content["correlations.jsonl"],
                                                                  count=1)}


MANIFEST = "manifest.json"
REFUSED = [
    ("changed manifest", change(MANIFEST, "two metrics", "\\u0007"), False, "1 to 80 printable signs"),
    ("changed digest", change(MANIFEST, '"sha256": "', '"sha256": "0'), False, "its sha256 differs"),
    ("changed member", change("run.json", '"seed": 0', '"seed": 1'), False, "'run.json' is not what the manifest has"),
    ("added file", lambda given: {**given, "evil.pkl": b"\x80\x04."}, False, "'evil.pkl' is not in the manifest"),
    ("listed file", lambda given: {**given, "evil.pkl": b"\x80\x04."}, True, "'evil.pkl' is no part of a bundle"),
    ("lost file", without("skips.json"), False, "'skips.json' is in the manifest and not in the bundle"),
    ("no list", without("skips.json"), True, "has no skips.json"),
    ("no manifest", without(MANIFEST), False, "has no manifest"),
    ("other form", change(MANIFEST, '"form": 1', '"form": 2'), False, "this harness reads form 1"),
    ("no JSON", change("metrics.json", "[", "{"), True, "metrics.json: is not JSON"),
    ("deep JSON", lambda given: {**given, "metrics.json": b"[" * 100_000}, True, "metrics.json: is not JSON"),
    ("bad UTF-8", lambda given: {**given, "metrics.json": b"\xff"}, True, "is no text in UTF-8"),
    ("unknown field", change("correlations.jsonl", '"p": ', '"q": 1, "p": '), True,
     "correlations.jsonl, record 0: has a field 'q'"),
    ("field twice", change("correlations.jsonl", '"p": ', '"p": 0, "p": '), True, "has 'p' twice"),
    ("lost field", in_first_agreement(b""), True, "correlations.jsonl, record 0: has no field 'p'"),
    ("1e400", in_first_agreement(b'"p": 1e400, '), True, "record 0, p: should be a finite number, is inf"),
    ("NaN", change("run.json", '"seed": 0', '"seed": NaN'), True, "is not JSON: NaN is no number"),
    ("infinite score", in_first_row("1e400"), True, "line 2: '1e400' is not a finite number"),
    ("formula", in_first_row("=1+1"), True, "line 2: '=1+1' is not a finite number"),
    ("short row", change("scores/persona-usr.csv", "\npersona-usr_00000,", "\npersona-usr_00000"), True, "values for"),
    ("unknown column", change("scores/persona-usr.csv", "bleu/bleu-1", "bleu/bleu-9"), True,
     "the column 'bleu/bleu-9' is of no metric"),
    ("item twice", change("scores/persona-usr.csv", "persona-usr_00001", "persona-usr_00000"), True,
     "an item occurs twice"),
    ("dataset twice", change("datasets.json", '"name": "fed-turn"', '"name": "persona-usr"'), True,
     "each name should occur once"),
]


def test_what_is_not_a_bundle_is_refused_with_its_reason(packed: Path) -> None:
    before = members(packed)
    for _, changed, listed, reason in REFUSED:
        write(packed, changed(before), listed=listed)
        with pytest.raises(BadBundle, match=re.escape(reason)):
            reading.read(packed)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("manifest.json", b"0" * (8 << 20))


def outside(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("../../escaped.txt", b"out")


def link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as target:
        member = zipfile.ZipInfo("manifest.json")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(member, b"/etc/passwd")


def twice(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as target:
        target.writestr("manifest.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("manifest.json", b"{}")


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04\x95cos\nsystem\n(S'touch escaped.txt'\ntR.")


def test_hostile_archives_are_refused_and_leave_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work"))
    monkeypatch.setattr("tempfile.tempdir", None)
    for made, reason in ((bomb, "times its compressed size"), (link, "is a link or a device"), (twice, "occurs twice"),
                         (outside, "is not a path with plain slashes below the folder"),
                         (pickled, "is no zip archive")):
        made(tmp_path / "bad.zip")
        status, told = verified(tmp_path / "bad.zip", capsys)
        assert status == 2
        assert reason in told
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["bad.zip", "work"]


def test_one_that_is_too_large_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LIMIT", 10)
    (tmp_path / "large.zip").write_bytes(b"PK\x03\x04" + bytes(20))
    assert verified(tmp_path / "large.zip", capsys)[0] == 2
    assert verified(tmp_path / "none.zip", capsys)[0] == 2


def test_names_from_a_bundle_are_no_markup(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = members(packed)
    evil = "a|b`<img src=x>`@everyone"
    manifest = json.loads(content[MANIFEST])
    manifest["name"] = evil
    write(packed, {**content, MANIFEST: json.dumps(manifest).encode()})
    status, told = verified(packed, capsys, "--markdown")
    assert status == 0
    assert told.startswith("### `made.zip`: `a¦b'<img src=x>'@everyone`\n")
    assert "| `bleu/bleu-1` | `dev-references, sample` |" in told


def test_several_are_checked_and_the_worst_decides(packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                   ) -> None:
    (tmp_path / "bad.zip").write_bytes(b"nothing")
    status, told = verified(tmp_path / "bad.zip", capsys, str(packed), "--markdown")
    assert status == 2
    assert told.index("**refused**") < told.index("**no difference above 0.001")
    assert io.StringIO(told).readline() == "### `bad.zip`\n"
