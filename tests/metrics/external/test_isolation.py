"""Metrics in separate processes: settings, messages, failures, and no process left behind."""

import contextlib
import dataclasses
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmarks.dataset import Item, Reference, Utterance
from benchmarks.formats.records import Refused
from metrics.column import checked
from metrics.errors import BadScores, BrokenPlugin, CannotScore, MissingResource, WorkerFailed, line_of
from metrics.external import files, isolation
from metrics.external.files import read_settings
from metrics.external.isolation import Settings, environment, process, serving
from metrics.external.isolation.serving import columns_of, description
from metrics.metric import Metric, signature
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import ROOT, make_item

ITEMS = (make_item("a", "one two three"), make_item("b", ""), make_item("c", None))


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = opened()
    yield
    for _, _, running in isolation._cached.values():
        running.close()
    isolation._cached.clear()
    assert opened() == before


def opened() -> tuple[int, int]:
    this = psutil.Process()
    return this.num_fds(), len(this.children(recursive=True))


def misbehaving(folder: Path, how: str, table: str = "") -> Metric:
    """Return the metric of a folder whose program misbehaves at its first dataset."""
    folder.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("misbehaving.py"), folder)
    (folder / "pyproject.toml").write_text(
        f"[tool.harness]\ncommand = ['{sys.executable}', '-S', '-E', 'misbehaving.py', '{how}']\n{table}\n")
    return files.metric_class(str(folder))()


def python_metric(folder: Path, score: str, head: str = "", fields: str = "",
                  python: str = sys.executable) -> type[Metric]:
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
    return files.metric_class(str(folder))


def score(metric: Metric) -> list[float]:
    columns = metric.score(ITEMS, Models(Path("/nowhere")))
    return list(checked("words", ("words",), ITEMS, columns)["words"])


@pytest.mark.parametrize(("how", "part"), [
    ("segmentation", "11"), ("truncated", "0"), ("garbage", "b"), ("no-object", "object"), ("other-id", "1.* 2"),
    ("no-columns", "columns"), ("raises", "KeyError: two lines"), ("leaves-the-pipe-to-another", "4"),
    ("closes", "pipes"), ("hangs", "0.5 s.*about to misbehave"), ("chatters", "0.5 s"),
    ("starts-another-session", "0.5 s"),
])
def test_a_failure_fails_one_dataset(how: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "EXIT_SECONDS", 0.2)
    descendants, start = opened()[1], time.monotonic()
    metric = misbehaving(tmp_path, how, "timeout = 0.5" * part.startswith("0.5"))
    with pytest.raises(WorkerFailed, match=rf"^words: .*{part}") as caught:
        score(metric)
    assert "\n" not in str(caught.value)
    assert line_of(caught.value, metric) == "", "a line of the harness"
    assert opened()[1] - descendants == (how == "raises")
    assert time.monotonic() - start < 10
    assert score(metric) == [3, 0, 2]


def test_a_process_that_was_killed_between_questions_is_replaced(tmp_path: Path) -> None:
    metric, before = misbehaving(tmp_path, "nothing"), opened()
    child = type(metric).process._child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert score(metric) == [3, 0, 2]
    assert opened() == before


def test_ctrl_c_ends_the_process(tmp_path: Path) -> None:
    metric = misbehaving(tmp_path, "hangs")
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (it may come at any moment from here on)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        score(metric)
    assert not type(metric).process.alive


def test_a_metric_without_a_description_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, part in (("['./nothing']", "nothing"), ("['echo', 'hello world']", "hello world")):
        (tmp_path / "pyproject.toml").write_text(f"[tool.harness]\ncommand = {command}")
        with pytest.raises(BrokenPlugin, match=part):
            files.metric_class(str(tmp_path))
    for head, fields, part in (("import no_such_package", "", "'no_such_package'"),
                               ("", "texts: tuple[str, ...] = ()", "option texts"),
                               ("", "timeout: int = 1", "option timeout")):
        with pytest.raises(BrokenPlugin, match=part):
            python_metric(tmp_path, "pass", head, fields)
    for wrong in ([("class", int, 1)], [("n", int, 1)] * 2, [("a b", int, 1)]):
        monkeypatch.setattr(isolation, "description", lambda answer, wrong=wrong: (description(answer)[0], wrong, ()))
        with pytest.raises(BrokenPlugin, match="options"):
            misbehaving(tmp_path, "nothing")


def test_prints_do_not_break_the_stream(tmp_path: Path) -> None:
    kind = python_metric(
        tmp_path, "print('from Python'); os.write(1, b'from C'); os.system('echo from a shell'); "
        "sys.stdin.read(); return {'words': np.array([1, np.nan, 2])}", head="print('as it is imported')")
    assert score(kind())[::2] == [1, 2]


def test_options_files_and_models_reach_the_metric(tmp_path: Path) -> None:
    folder = tmp_path / "metric"
    (tmp_path / "list.txt").write_text("12345")
    kind = python_metric(
        folder, "models.requested.add(('lm', 'x')); return {'words': np.full(3, len(self.words.content()) * self.scale "
        "+ (self.way == 'b') + self.yes)}",
        fields="words: File = File(); scale: float = 1; way: Literal['a', 'b'] = 'a'; yes: bool = False")
    with contextlib.chdir(tmp_path):
        metric = choose(f"{folder}/[words=list.txt,scale=2,way=b,yes=true]").metric
        models = Models(tmp_path)
        assert list(metric.score(ITEMS, models)["words"]) == [12, 12, 12]
        assert models.requested == {("lm", "x")}
        assert signature(metric, models)["words"].startswith("list.txt@")
    assert [field.name for field in dataclasses.fields(kind)] == ["words", "scale", "way", "yes"]


RAISED = {
    "raise CannotScore('no moon')": (CannotScore, r"^no moon \(words.py line \d+\)$"),
    "models.resource('conceptnet')": (MissingResource, "conceptnet"),
    "[][0]": (WorkerFailed, r"^words: IndexError.* \(words.py line \d+\)$"),
    "sys.exit('enough')": (WorkerFailed, "words: SystemExit: enough"),
    "return {'words': ['1', '2', '3']}": (BadScores, "column words"),
    "return {'words': np.zeros((3, 2))}": (BadScores, r"column words .*\(3, 2\)"),
    "return {'words': [0, np.inf, 0]}": (BadScores, f"column words .*item {ITEMS[1].id}$"),
    "return 5": (BadScores, "words.*int$"),
    "import ctypes; ctypes.string_at(0)": (WorkerFailed, "Segmentation"),
    "os.write(4, b'x' * 99)": (WorkerFailed, "b'xxx"),
    "return {'words': np.zeros(3)}": (None, ""),
}


def test_errors_of_a_metric_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLTK_DATA", "")
    branches = "\n".join(f"        if self.how == {number}: {body}" for number, body in enumerate(RAISED))
    kind = python_metric(tmp_path, f"pass\n{branches}", fields="how: int = 0")
    for number, (error, message) in enumerate(RAISED.values()):
        with pytest.raises(error, match=message) if error else contextlib.nullcontext():
            assert score(kind(how=number)) == [0, 0, 0]


def test_an_environment_with_other_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness has version 1 of a package, the metric version 2; the metric does not see the harness's packages."""
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "clashing.py").write_text("VERSION = 1")
    monkeypatch.syspath_prepend(ours)
    monkeypatch.setenv("PYTHONPATH", str(ours))
    folder = tmp_path / "metric"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    for path in Path(np.__file__).parent.parent.glob("numpy*"):
        (site / path.name).symlink_to(path)
    (site / "clashing.py").write_text("VERSION = 2")
    kind = python_metric(
        folder, "import importlib.util as u; return {'words': np.array([clashing.VERSION, "
        "u.find_spec('sacrebleu') is None and u.find_spec('leaderboard') is None, u.find_spec('harness') is not None"
        "])}",
        head="import clashing", python=".venv/bin/python")
    import clashing  # type: ignore[import-not-found]

    assert clashing.VERSION == 1
    assert score(kind()) == [2, 1, 1]
    assert files.metric_class(str(folder)) is kind


def test_the_signature_follows_folder_and_environment(tmp_path: Path) -> None:
    def parts() -> list[str]:
        return [*signature(files.metric_class(str(tmp_path))(), Models(tmp_path)).values()][-2:]

    misbehaving(tmp_path, "nothing")
    code, installed = parts()
    for skipped in (".venv/lib/x.py", "env/pyvenv.cfg", "env/lib/x.py", "results/report.json", "__pycache__/x.pyc",
                    "tests/test_x.py", "a.egg-info/x"):
        (tmp_path / skipped).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / skipped).write_text("2")
    assert parts() == [code, installed]
    (tmp_path / "list.txt").write_text("more words")
    second = parts()
    (tmp_path / "list.txt").rename(tmp_path / "words.txt")
    third = parts()
    assert second[1] == third[1] == installed
    assert len({code, second[0], third[0]}) == 3
    with tempfile.TemporaryDirectory() as elsewhere:
        (tmp_path / "linked").symlink_to(elsewhere)
        Path(elsewhere, "loop").symlink_to(tmp_path)
        Path(elsewhere, "list.txt").write_text("words behind a link")
        assert parts()[0] != third[0]
    script = tmp_path / "misbehaving.py"
    script.write_text(script.read_text().replace("made-up==1", "made-up==2"))
    assert parts()[1] != installed


def test_a_process_with_another_description_is_refused(tmp_path: Path) -> None:
    metric = misbehaving(tmp_path, "leaves")
    with pytest.raises(WorkerFailed):
        score(metric)
    script = tmp_path / "misbehaving.py"
    script.write_text(script.read_text().replace("made-up==1", "made-up==2"))
    with pytest.raises(WorkerFailed, match="description"):
        score(metric)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_processes_of_metrics_end_with_the_harness(killed: bool, tmp_path: Path) -> None:
    python_metric(tmp_path, "import time; time.sleep(60)")
    code = ("import os, signal, threading; from pathlib import Path; from metrics.external import files; "
            "from metrics.models.service import Models; "
            f"kind = files.metric_class({str(tmp_path)!r}); "
            "print(kind.process._child.pid, flush=True); ")
    if killed:
        code += ("threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start(); "
                 "kind().score([], Models(Path('.')))")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=ROOT, text=True)
    assert ended.returncode == (-signal.SIGKILL if killed else 0), ended.stderr
    until = time.monotonic() + 5
    while psutil.pid_exists(int(ended.stdout)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(ended.stdout))


def test_secrets_are_not_passed_on() -> None:
    passed = {"PATH": "/bin", "HOME": "/root", "TOKENIZERS_PARALLELISM": "false", "KEYBOARD": "x", "PASSED_TOKEN": "1",
              "AUTHOR": "me", "PROXY": "http://host:80/"}
    secret = {"HF_TOKEN": "1", "OPENAI_API_KEY": "1", "AWS_SECRET_ACCESS_KEY": "1", "PGPASSWORD": "1", "my_apikey": "1",
              "GOOGLE_APPLICATION_CREDENTIALS": "1", "INDEX": "https://me:pass@host/", "PYTHONPATH": "/ours"}
    assert environment(passed | secret, ("PASSED_TOKEN",)) == passed


def test_settings_are_read_or_refused(tmp_path: Path) -> None:
    def read(text: str) -> Settings:
        (tmp_path / "pyproject.toml").write_text(text)
        return read_settings(tmp_path)

    assert not read_settings(tmp_path).isolated
    assert not read("[tool.other]\nx = 1\n[tool.harness]\ntimeout = 5").isolated
    table = read("[tool.harness]\ncommand = ['perl', 'x.pl']\ntimeout = 1.5\nenv = ['A']")
    assert table == Settings(None, ("perl", "x.pl"), 1.5, ("A",))
    assert table.isolated
    for wrong, part in (
        ("=", "TOML"), ("python = 'nowhere'", "nowhere"), ("pyhton = 'x'", "'pyhton'.* 'python'"),
        ("python = 'x'\ncommand = ['x']", "python .*command"), ("command = 'perl x.pl'", "command"),
        ("env = [1]", "env"), ("timeout = 0", "timeout"), ("timeout = nan", "timeout"),
    ):
        with pytest.raises(BrokenPlugin, match=part):
            read(f"[tool.harness]\n{wrong}")


CARD = {"name": "words", "title": "Words", "columns": ["words"], "family": "control"}


def test_a_description_that_breaks_the_protocol_is_refused() -> None:
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"protocol": 1}, "protocol 1"), ({"card": None}, "card:"), ({"options": 1}, "options:"),
        ({"options": [{"type": "int", "default": 1}]}, "option, name"),
        ({"options": [{"name": "n", "type": "list", "default": []}]}, "int, float"),
        ({"options": [{"name": "n", "type": "int", "default": True}]}, "default.* True"),
        ({"options": [{"name": "n", "choices": ["a"], "default": "b"}]}, "default:"),
        ({"environment": "perl"}, "environment:"))
    for change, part in changes:
        with pytest.raises(Refused, match=part):
            description({"protocol": 2, "card": CARD, **change})


def sent(message: dict[str, Any]) -> dict[str, Any]:
    line = serving.encoded(message)
    assert line.count(b"\n") == 1
    return serving.decoded(line)


def test_messages_are_lossless() -> None:
    items = (
        Item("a", (Utterance("user", "hello\n\0 ü 你好"), Utterance("system", "")), Utterance("system", "hi")),
        Item("b", (), None, (Reference("yes", 0.1), Reference("no", -1.0)), ("a fact",), "bot"),
        Item("c", (), Utterance("", "")))
    assert tuple(map(Item.of, sent({"items": [dataclasses.asdict(item) for item in items]})["items"])) == items
    assert sent({"text": "x\ud800y \U0001f600"}) == {"text": "x\ufffdy \U0001f600"}
    columns = {"x": np.array([0.1, math.nan, -1e-300, 1 / 3]), "y@z": np.array([1.0, 2.0, 3.0, 4.0])}
    np.testing.assert_equal(columns_of(sent({"columns": serving.columns_record(columns)})["columns"]), columns)


def test_other_columns_are_refused() -> None:
    for columns in (b'{"x": [NaN]}', b'{"x": [-Infinity]}', b'{"x": [true]}', b'{"x": [[1]]}', b'{"x": "12"}', b"[]",
                    b"", b"\xff", b'{"x": [1' + b"0" * 400 + b"]}", b"[" * 100_000):
        with pytest.raises(Refused):
            columns_of(serving.decoded(b'{"columns": ' + columns + b"}\n")["columns"])
