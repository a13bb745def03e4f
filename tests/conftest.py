"""Fixtures of all tests: a home, the real data, tiny models, the suite-wide run, and small datasets."""

import contextlib
import gc
import os
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Item, Quality, Rating, Reference, Source, Utterance
from harness.cli import main
from metrics import registry as metrics
from metrics.models.device import single_threaded
from tests import suite_run as suite
from tests import tiny
from tests.guard import sitecustomize

ROOT = Path(__file__).resolve().parent.parent
GUARD = str(ROOT / "tests" / "guard")

if GUARD not in (path := os.environ.get("PYTHONPATH", "")).split(os.pathsep):  # for the processes that tests start
    os.environ["PYTHONPATH"] = GUARD + (os.pathsep + path if path else "")

os.environ.pop("COLUMNS", None) # would change the width of printed tables

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells do for background processes
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all modules are imported, which makes many objects and no garbage


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


settings.register_profile("unhurried", deadline=None)  # other work may slow the machine
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's data."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HARNESS_HOME", str(home))
    registry.register_home(home)


@pytest.fixture(autouse=True)
def _network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only tests that are marked `network` reach more than this machine."""
    if request.node.get_closest_marker("network"):
        monkeypatch.setenv(sitecustomize.OPEN, "1")


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HARNESS_HOME"])


class Printed(NamedTuple):
    out: str
    err: str


Invoke = Callable[..., Printed]


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Return a function that runs a command, checks its exit status, and returns its output."""
    def run(*argv: object, status: int = 0) -> Printed:
        capsys.readouterr()
        actual, printed = main([str(word) for word in argv]), capsys.readouterr()
        assert actual == status, printed.err
        return Printed(*printed)

    return run


@contextlib.contextmanager
def refused(kind: type[Exception] | tuple[type[Exception], ...], *words: object) -> Iterator[None]:
    """Expect an error with a message of one line that contains these words."""
    try:
        yield
    except kind as error:
        message = str(error)
    else:
        pytest.fail(f"no error with {words}")
    assert "\n" not in message
    assert [word for word in map(str, words) if word not in message] == [], message


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = Path(os.environ.get("HARNESS_REAL_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "human_evaluation_data").is_dir():
        pytest.skip(f"no real data under {folder}")
    return folder


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Use one core: tiny models are no faster on two, and slower on a busy machine."""
    pytest.importorskip("torch")
    with single_threaded():
        yield


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny encoder with random weights; skip without torch."""
    pytest.importorskip("torch")
    return tiny.encoder(tmp_path_factory.mktemp("models") / "tiny-encoder")


@pytest.fixture(scope="session")
def tiny_bytes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return tiny.byte_encoder(tmp_path_factory.mktemp("models") / "tiny-bytes")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def tiny_weights(tiny_encoder: Path, shared_folder: Path) -> Path:
    """Return a home with weights of each trained metric for the tiny encoder, shared by all workers."""
    from metrics.models.service import Choice, Models
    from tests import tiny_weights

    return suite.once(shared_folder / "tiny-weights", lambda home: tiny_weights.everything(
        Models(home, Choice(encoder=str(tiny_encoder))), 12))


@pytest.fixture(scope="session")
def tiny_lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny language model with random weights; skip without torch."""
    pytest.importorskip("torch")
    return tiny.causal(tmp_path_factory.mktemp("models") / "tiny-lm")


@pytest.fixture(scope="session")
def suite_run(shared_folder: Path) -> suite.SuiteRun:
    return suite.at(shared_folder / "suite-run")


def make_card(name: str = "toy", level: str = "turn", **more: object) -> DatasetCard:
    values: dict[str, object] = {
        "name": name, "title": name.title(), "split": "dev", "level": level,
        "qualities": (Quality("overall", 1, 5),), "size": 3, "sources": (Source("https://example.org/toy.json"),),
        "licence": "CC0-1.0", "citation": "Nobody 2020", **more,
    }
    return DatasetCard(**values)  # type: ignore[arg-type]


def make_item(name: str, response: str | None, *references: str, context: tuple[str, ...] = ("hello there",),
              language: str = "en") -> Item:
    turns = [Utterance(USER if back % 2 == 0 else SYSTEM, text) for back, text in enumerate(reversed(context))]
    return Item(name, tuple(turns[::-1]), None if response is None else Utterance(SYSTEM, response),
                tuple(Reference(text) for text in references), system="bot", language=language)


def make_dataset(responses: list[str], votes: list[tuple[float, ...]], **more: object) -> Dataset:
    """Return a dataset of one quality, with a reference for each item."""
    card = make_card(size=len(responses), **more)
    items = tuple(make_item(f"toy_{number:05d}", text, "a good reply to you") for number, text in enumerate(responses))
    ratings = tuple(Rating(item.id, "overall", row) for item, row in zip(items, votes, strict=True))
    return Dataset(card, items, ratings, "imported")


def make_wheel(folder: Path, package: str, version: str, files: Mapping[str, str | bytes]) -> Path:
    """Make a wheel that pip installs without a package index."""
    name = package.replace("-", "_")
    about = {"METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
             "WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true\n", "RECORD": ""}
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**files, **{f"{name}-{version}.dist-info/{member}": text
                                            for member, text in about.items()}}.items():
            archive.writestr(member, content)
    return path


@pytest.fixture
def evaluate_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the library `evaluate` a folder of this test for its modules; skip without the library."""
    config = pytest.importorskip("evaluate", exc_type=ImportError).config
    monkeypatch.setattr(config, "HF_METRICS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "HF_MODULES_CACHE", tmp_path / "modules")
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "evaluate_modules"]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "evaluate_modules"]:
        del sys.modules[name]


@pytest.fixture
def nltks(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return NLTK's reader of the real WordNet."""
    import nltk.data
    from nltk.corpus import wordnet

    monkeypatch.setattr(nltk.data, "path", [str(real_data / "resources" / "nltk_data")])
    wordnet.ensure_loaded()
    return wordnet


@pytest.fixture
def look_anew() -> Iterator[Callable[[], None]]:
    """Let the registry search for installed metrics again, now and after the test."""
    def forget() -> None:
        metrics._plugins.cache_clear()
        metrics.metric_class.cache_clear()

    yield forget
    forget()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
