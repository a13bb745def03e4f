"""Metrics in a process of their own: what they can do wrong ends as one line, and leaves nothing behind."""

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.scoring import score as scoring
from metrics.errors import BrokenPlugin, CannotScore, MissingResource, WorkerFailed
from metrics.external import files as plugin_files
from metrics.external import isolation
from metrics.external.isolation import process
from metrics.external.isolation.process import environment, family
from metrics.metric import Metric, signature
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import ROOT, make_item

ITEMS = (make_item("a", "one two three"), make_item("b", ""), make_item("c", None))
HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Every test ends its processes, and closes what it opened."""
    before, family_before = open_files(), family(os.getpid())
    yield
    for _, _, process_ in isolation._made.values():
        process_.close()
    isolation._made.clear()
    assert not process._running
    assert family(os.getpid()) <= family_before, "other tests of this process may have left some of their own"
    assert open_files() == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def misbehaving(folder: Path, how: str, settings: str = "") -> Metric:
    """The metric of a folder whose program misbehaves at its first dataset."""
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / "misbehaving.py", folder)
    (folder / "pyproject.toml").write_text(
        f"[tool.harness]\ncommand = ['{sys.executable}', '-S', '-E', 'misbehaving.py', '{how}']\n{settings}\n")
    return isolation.metric_class(folder)()


def python_metric(folder: Path, score: str, head: str = "", fields: str = "",
                  python: str = sys.executable) -> type[Metric]:
    """A metric in Python whose `score` has this body."""
    folder.mkdir(exist_ok=True)
    (folder / "words.py").write_text(f"""
import os, sys
from dataclasses import dataclass
from typing import ClassVar, Literal
import numpy as np
from metrics.errors import CannotScore
from metrics.metric import File, MetricCard
{head}

@dataclass(frozen=True, slots=True)
class Words:
    card: ClassVar[MetricCard] = MetricCard(name="words", title="Words", columns=("words",), family="control")
    {fields}

    def score(self, items, models):
        {score}
""")
    (folder / "pyproject.toml").write_text(
        f"[project.entry-points.'harness.metrics']\nwords = 'words:Words'\n[tool.harness]\npython = '{python}'\n")
    return isolation.metric_class(folder)


def score(metric: Metric) -> list[float]:
    return list(scoring.checked(metric, ITEMS, metric.score(ITEMS, Models(Path("/nowhere"))))["words"])


FAILURES = {
    "segmentation": "was ended by SIGSEGV",
    "truncated": "ended with exit status 0 before it answered",
    "garbage": "answered with garbage: b",
    "no-json": "cannot be read as JSON",
    "no-object": "a message is a JSON object",
    "other-id": "answered question 1 where 2 was expected",
    "no-columns": "columns should be an object of lists",
    "raises": "words: KeyError: two lines",
    "leaves_the_pipe_to_another": "ended with exit status 4 before it answered",
    "closes": "closed its pipes before it answered",
}
LIMITED = {
    "hangs": ("timeout = 0.4", "gave no answer in 0.4 s"),
    "chatters": ("timeout = 0.4", "gave no answer in 0.4 s"),
    "starts_another_session": ("timeout = 0.5", "gave no answer in 0.5 s"),
}


def test_a_failure_fails_one_dataset_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.2)
    for how, message in FAILURES.items():
        others = family(os.getpid())
        metric, files = misbehaving(tmp_path / how, how), open_files()
        with pytest.raises(WorkerFailed) as caught:
            score(metric)
        assert message in str(caught.value)
        assert str(caught.value).startswith("words: ")
        assert "\n" not in str(caught.value)
        assert len(family(os.getpid()) - others) == (how == "raises"), how  # an answer as good as any
        assert score(metric) == [3, 0, 2]
        assert open_files() <= files
        type(metric).process.close()


def test_time_has_an_end(tmp_path: Path) -> None:
    for how, (settings, message) in LIMITED.items():
        others = family(os.getpid())
        metric = misbehaving(tmp_path / how, how, settings)
        start = time.monotonic()
        with pytest.raises(WorkerFailed, match=rf"{message}.*; it last said: "):
            score(metric)
        assert time.monotonic() - start < 10
        assert family(os.getpid()) <= others, how
        assert score(metric) == [3, 0, 2]
        type(metric).process.close()


def test_a_process_that_ends_while_nobody_asks_is_replaced(tmp_path: Path) -> None:
    metric, files = misbehaving(tmp_path, "nothing"), open_files()
    child = type(metric).process._child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert score(metric) == [3, 0, 2]
    assert len(process._running) == 1
    assert open_files() == files


def test_ctrl_c_ends_the_process(tmp_path: Path) -> None:
    metric, before = misbehaving(tmp_path, "hangs"), family(os.getpid())
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (it may come at any moment from here on)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        score(metric)
    assert not process._running
    assert family(os.getpid()) <= before


def test_what_cannot_be_described_is_refused(tmp_path: Path) -> None:
    for command, message in ((["./nothing"], r"\./nothing cannot be started: No such file"),
                             (["echo", "hello world, how are you"], "answered with garbage.*hello world")):
        (tmp_path / "pyproject.toml").write_text(f"[tool.harness]\ncommand = {command}")
        with pytest.raises(BrokenPlugin, match=message):
            isolation.metric_class(tmp_path)
    for head, fields, message in (
        ("import no_such_package", "", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("", "many: tuple[str, ...] = ()", "option many: one of a metric in an environment of its own has a default"),
    ):
        with pytest.raises(BrokenPlugin, match=message):
            python_metric(tmp_path, "pass", head, fields)


def test_prints_do_not_break_the_stream(tmp_path: Path) -> None:
    kind = python_metric(
        tmp_path, "print('from Python'); os.write(1, b'from C'); os.system('echo from a shell'); "
        "sys.stdin.read(); return {'words': np.array([1, np.nan, 2])}", head="print('as it is imported')")
    assert score(kind())[::2] == [1, 2]


def test_options_files_and_models_reach_the_metric(tmp_path: Path) -> None:
    """A path is given as it is seen from anywhere; models are asked for in the process and counted here."""
    own = tmp_path / "metric"
    own.mkdir()
    (tmp_path / "list.txt").write_text("12345")
    kind = python_metric(
        own, "models.requested.add(('lm', 'x')); return {'words': np.full(3, len(self.words.content()) * self.scale "
        "+ (self.way == 'b') + self.yes)}",
        fields="words: File = File(); scale: float = 1; way: Literal['a', 'b'] = 'a'; yes: bool = False")
    with contextlib.chdir(tmp_path):
        metric = choose(f"{own}/[words=list.txt,scale=2,way=b,yes=true]").metric
        models = Models(tmp_path)
        assert list(metric.score(ITEMS, models)["words"]) == [12, 12, 12]
        assert models.requested == {("lm", "x")}
        assert "words=list.txt@" in signature(metric, models)
    assert [field.name for field in dataclasses.fields(kind)] == ["words", "scale", "way", "yes"]


RAISED = {
    "raise CannotScore('no moon')": (CannotScore, r"^no moon \(words.py line \d+\)$"),
    "models.resource('wordnet')": (MissingResource, "wordnet is not on this machine"),
    "[][0]": (WorkerFailed, r"^words: IndexError: list index out of range \(words.py line \d+\)$"),
    "sys.exit('enough')": (WorkerFailed, "words: SystemExit: enough"),
    "return {'words': ['x']}": (WorkerFailed, "words: ValueError: could not convert"),
    "return {'words': np.zeros((3, 2))}": (WorkerFailed, r"words: column words has shape \(3, 2\)"),
    "return 5": (WorkerFailed, "words: AttributeError: 'int' object"),
    "import ctypes; ctypes.string_at(0)": (WorkerFailed, "SIGSEGV; it last said: Fatal Python error: Segmentation"),
    "os.write(4, b'x' * 99)": (WorkerFailed, "its process answered with garbage: b'xxx"),
    "return {'words': np.zeros(3)}": (None, ""),
}


def test_what_a_metric_in_python_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLTK_DATA", "")
    branches = "\n".join(f"        if self.how == {place}: {body}" for place, body in enumerate(RAISED))
    kind = python_metric(tmp_path, f"pass\n{branches}", fields="how: int = 0")
    for place, (error, told) in enumerate(RAISED.values()):
        with pytest.raises(error, match=told) if error else contextlib.nullcontext():
            assert score(kind(how=place)) == [0, 0, 0]


def test_an_environment_with_other_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours has version 1 of a package, the metric's has version 2, and each gets its own; ours are not seen there."""
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "clashing.py").write_text("VERSION = 1")
    monkeypatch.syspath_prepend(ours)
    monkeypatch.setenv("PYTHONPATH", str(ours))
    folder = tmp_path / "metric"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    for found in Path(np.__file__).parent.parent.glob("numpy*"):
        (site / found.name).symlink_to(found)
    (site / "clashing.py").write_text("VERSION = 2")
    kind = python_metric(
        folder, "import importlib.util as u; return {'words': np.array([clashing.VERSION, "
        "u.find_spec('sacrebleu') is None and u.find_spec('leaderboard') is None, u.find_spec('harness') is not None"
        "])}",
        head="import clashing", python=".venv/bin/python")
    import clashing  # type: ignore[import-not-found]

    assert clashing.VERSION == 1
    assert score(kind()) == [2, 1, 1]
    assert plugin_files.metric_class(str(folder)) is kind


def test_the_signature_follows_folder_and_environment(tmp_path: Path) -> None:
    one = signature(misbehaving(tmp_path, "nothing"), Models(tmp_path))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "report.json").write_text("{}")
    assert signature(isolation.metric_class(tmp_path)(), Models(tmp_path)) == one
    (tmp_path / "list.txt").write_text("more words")
    other = signature(isolation.metric_class(tmp_path)(), Models(tmp_path))
    assert one.partition("environment=")[2] == other.partition("environment=")[2]
    assert one != other
    assert len(process._running) == 1  # what served the older files is gone
    script = tmp_path / "misbehaving.py"
    script.write_text(script.read_text().replace("made-up==1", "made-up==2"))
    third = signature(isolation.metric_class(tmp_path)(), Models(tmp_path))
    assert third.partition("environment=")[2] != other.partition("environment=")[2]


def test_a_process_that_has_become_another_is_not_believed(tmp_path: Path) -> None:
    metric = misbehaving(tmp_path, "leaves")
    with pytest.raises(WorkerFailed):
        score(metric)
    script = tmp_path / "misbehaving.py"
    script.write_text(script.read_text().replace("made-up==1", "made-up==2"))
    with pytest.raises(WorkerFailed, match="describes itself otherwise than before"):
        score(metric)


@pytest.mark.slow
def test_a_harness_that_ends_or_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """At its end it closes the pipe; where it was killed in the middle of a question, the metric ends itself."""
    python_metric(tmp_path, "import time; time.sleep(60)")
    code = ("import os, signal, threading; from pathlib import Path; from metrics.external import isolation; "
            "from metrics.models.service import Models; "
            f"kind = isolation.metric_class(Path({str(tmp_path)!r})); "
            "print(kind.process._child.pid, flush=True); ")
    killed = ("threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start(); "
              "kind().score([], Models(Path('.')))")
    for ending, status in ((code, 0), (code + killed, -signal.SIGKILL)):
        ended = subprocess.run([sys.executable, "-c", ending], capture_output=True, check=False, cwd=ROOT, text=True)
        assert ended.returncode == status, ended.stderr
        until = time.monotonic() + 5
        while Path(f"/proc/{int(ended.stdout)}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{int(ended.stdout)}").exists()


def test_secrets_are_not_passed_on() -> None:
    passed = {"PATH": "/bin", "HOME": "/root", "TOKENIZERS_PARALLELISM": "false", "KEYBOARD": "x", "PASSED_TOKEN": "1",
              "AUTHOR": "me", "PROXY": "http://host:80/"}
    secret = {"HF_TOKEN": "1", "OPENAI_API_KEY": "1", "AWS_SECRET_ACCESS_KEY": "1", "PGPASSWORD": "1", "my_apikey": "1",
              "GOOGLE_APPLICATION_CREDENTIALS": "1", "INDEX": "https://me:pass@host/", "PYTHONPATH": "/ours"}
    assert environment(passed | secret, ("PASSED_TOKEN",)) == passed
