"""The command line: errors are one line with status 2 and leave nothing half-written; `doctor`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.commands._arguments import separated
from harness.commands._output import write_site
from metrics import registry
from metrics.models import catalogue, checkpoint
from tests.conftest import Invoke
from tests.suite_run import SuiteRun

REFUSED = (
    ("rum", "'run'"), ("run", "--all"), ("run --metric rogue-l", "'rouge-l'"),
    ("run --dataset fed-trun", "'fed-turn'"), ("run --quality relevanc", "'relevance'"),
    ("run --dataset jsalt --split dev", "split dev"), ("fetch --split dev --split recent", "--split"),
    ("run --all --limit 0", "--limit"), ("run --all --examples -1", "--examples: should be 0 or more, not '-1'"),
    ("run --all --epsilon 1.5", "--epsilon"), ("run --all --device tpu", "--device"),
    ("run --all --device cuda:99", "cuda:99"), ("run --all --ratings absent.csv", "absent.csv"),
    ("show blue", "'bleu'"), ("check bleu --timeout 0", "--timeout"), ("check blue", "'bleu'"),
    ("report .", "--out ."), ("report --out nowhere", "nowhere"), ("publish --out nowhere", "nowhere"),
    ("import nowhere", "nowhere"), (f"list datasets --home {__file__}", __file__),
    ("fetch fed-trun", "'fed-turn'"), ("judge try bleu --dataset fed-turn", "judge:PROMPT"))


def test_errors_are_one_line(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for argv, part in REFUSED:
        (line,) = invoke(*argv.split(), status=2).err.strip().splitlines()
        assert part in line
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_failed_import_leaves_the_home_unchanged(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    good = json.dumps([{"dialogue_id": "x", "context": "a", "response": "b"}])
    (tmp_path / "esl_eval.json").write_text(good)
    for text in (good[:-5], good.replace('"b"', '"b", "annotations": {"rel": [1]}')):
        (tmp_path / "jsalt_eval.json").write_text(text)
        assert "jsalt_eval.json" in invoke("import", tmp_path, status=2).err
        assert [*home.iterdir()] == []
    home.rmdir()
    home.write_text("")  # refuses writing even to root
    assert home.name in invoke("import", tmp_path / "esl_eval.json", status=2).err


def test_light_commands_import_little(suite_run: SuiteRun) -> None:
    """The named modules take longer to import than the command takes to run."""
    code = f"""import sys, harness
from harness.cli import main
def answers(command, *heavy):
    try: main(command.split())
    except SystemExit: pass
    assert not {{*heavy}} & {{*sys.modules}}, (command, {{*heavy}} & {{*sys.modules}})
never = ("torch", "transformers", "datasets", "pandas", "scipy.stats", "scipy.special", "scipy.sparse", "nltk")
answers("--help", "numpy", "scipy", "pyarrow", "jinja2", *never)
for command in ("list datasets", "list models", "list metrics", "show jsalt", "show meteor", "show all-MiniLM-L6-v2"):
    answers(command, "jinja2", *never)
answers({f"report --out {suite_run.out}"!r}, "jinja2", "harness.scoring.store", "torch", "transformers", "datasets")
harness.score
assert "torch" not in sys.modules"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_show_names_the_command_that_trains_missing_weights(invoke: Invoke) -> None:
    shown = invoke("show", "deb[recipe=paper]").out
    assert "'bert-base-uncased'" in shown
    assert "`harness train deb --recipe paper`" in shown


def test_help_version_and_completions(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    for flags, lines in (([], r"(?s).*\n +run +\w.*"),
                         (["--version"], r"harness \d+\.\d+\.\d+( [0-9a-f]{40}(-dirty)?)?\n"),
                         (["--print-completion", "bash"], r"(?s).*leaderboard.*--executor.*complete .* harness\s*")):
        with pytest.raises(SystemExit) as ended:
            main(flags)
        assert ended.value.code == 0
        assert re.fullmatch(lines, capsys.readouterr().out)


def test_only_changed_pages_are_rewritten(tmp_path: Path) -> None:
    pages = {name: name.encode() for name in ("same.html", "metric/damaged.html", "metric/gone.html", "changed.html")}
    write_site(pages, tmp_path)
    inodes = {name: (tmp_path / name).stat().st_ino for name in ("same.html", "changed.html")}
    (tmp_path / "metric" / "damaged.html").write_bytes(b"x")
    (tmp_path / "metric" / "gone.html").unlink()
    pages["changed.html"] = b"d"
    write_site(pages, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in pages} == pages
    assert [name for name, inode in inodes.items() if (tmp_path / name).stat().st_ino == inode] == ["same.html"]


def test_a_shadowing_folder_or_closed_pipe_gives_no_traceback(tmp_path: Path) -> None:
    for package in ("benchmarks", "metrics", "harness", "leaderboard"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise SystemExit('fooled')")
    command = f"{Path(sys.executable).parent / 'harness'} list metrics | head -n 1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True,  # noqa: S602
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(("", ".", str(tmp_path)))})
    assert (done.stderr, done.stdout.count("\n")) == ("", 1)
    for words in (("--help",), ("list", "studies")):  # shorter than a buffer
        started = subprocess.Popen([sys.executable, "-m", "dialogue_harness", *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": ""})
        assert started.stdout
        started.stdout.close()
        assert (started.communicate()[1], started.returncode) == ("", 141)


def test_list_and_doctor_name_what_is_missing(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose, average = registry.choose, "rank-average[inputs=bleu+cosine]"
    monkeypatch.setattr(registry, "choose", lambda name, **more: choose(name.replace("rank-average", average), **more))
    monkeypatch.setattr(registry, "names", lambda: ("panel", "perplexity", "rank-average"))
    needs = re.findall(r" needs (.+?) +[A-Z]", invoke("list", "metrics").out)
    assert needs == ["context, encoder, lm", "lm", "references, encoder"]
    assert re.search(r"dialogue-lm .* this package\n", invoke("list", "models").out)
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path / "shipped")
    missing = "the project's trained weights are not installed: .*pip install ./weights"
    assert re.search(rf"dialogue-lm .*{missing}", invoke("list", "models").out)
    printed = invoke("doctor").out
    assert re.search(rf"perplexity +unavailable: {missing}", printed)
    assert re.search(r"rank-average.* ready .*; skipped on .*: references missing\n", printed)


def test_doctor_reports_a_shadowed_version(tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "dialogue_harness-9.0.dist-info"
    for folder in (tmp_path / "harness", info):
        folder.mkdir()
    (info / "METADATA").write_text("Name: dialogue-harness\nVersion: 9.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert f"  shadowed: harness 9.0 in {tmp_path}\n" in invoke("doctor").out


def test_names_are_split_at_commas_outside_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nested = "rank-average[inputs=deb+cosine[encoder=x,turns=3],z=1]"
    assert separated(f"bleu, {nested},length") == ["bleu", nested, "length"]
    assert separated(",".join(["bleu"] * 100)) == ["bleu"] * 100
    monkeypatch.chdir(tmp_path)
    Path("a,b.csv").touch()
    assert separated("a,b.csv") == ["a,b.csv"]


def test_fetch_downloads_the_models_that_a_metric_names(home: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(catalogue, "fetch", lambda card, home, accepted: fetched.append(card.name) or "")
    assert main(["fetch", "panel", "smollm2-135m", "--home", str(home)]) == 0
    assert fetched == ["qwen2.5-coder-1.5b", "smollm2-135m", "all-mpnet-base-v2"]
    assert main(["fetch", "bleu", "--home", str(home)]) == 2
