"""`harness doctor`: say what is installed, which data and models are here, which device, and what would be skipped."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import harness
from benchmarks import registry as datasets
from benchmarks.errors import BenchmarkError
from benchmarks.storage import store
from harness.run.entries import metric_entry
from harness.run.environment import PACKAGES, packages
from harness.scoring.score import unmet
from metrics import registry
from metrics.errors import BrokenPlugin, MissingResource
from metrics.metric import signature
from metrics.models import weights
from metrics.models.service import Models
from metrics.training import checkpoint


def configure(parser: argparse.ArgumentParser) -> None:
    """What to look at."""
    parser.add_argument("--models", action="store_true", help="the models that are here, with size and sha256, instead")


def run(args: argparse.Namespace) -> int:
    """Print the state of things; always 0."""
    home = args.home
    general = (("environment", _environment()), ("home", _home(home)), ("data", _data(home)),
               ("metrics", _metrics(home)))
    models = (("home", _home(home)), ("models", _models(home)), ("trained weights", _trained(home)),
              ("word vectors", _vectors(home)))
    for title, lines in models if args.models else general:
        print(title)
        for line in lines:
            print(f"  {line}", flush=True)
    return 0


def _environment() -> Iterator[str]:
    yield f"harness {harness.__version__}, Python {platform.python_version()}, {platform.platform()}"
    versions = packages()
    yield ", ".join(f"{name} {version}" for name, version in versions.items())
    if missing := [name for name in PACKAGES if name not in versions]:
        yield f"not installed: {', '.join(missing)} (lexical metrics, statistics and pages work without)"
    yield f"device: {_device()}"


def _device() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu (torch is not installed; the extra [neural] brings it)"
    import torch

    if torch.cuda.is_available():
        devices = range(torch.cuda.device_count())
        return ", ".join(f"cuda:{number} {torch.cuda.get_device_name(number)}" for number in devices)
    return "mps" if torch.backends.mps.is_available() else f"cpu, {torch.get_num_threads()} threads"


def _home(home: Path) -> Iterator[str]:
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    writable = "writable" if os.access(existing, os.W_OK) else "not writable"
    yield f"{home} ({writable}{'' if home.exists() else ', not made yet'})"


def _data(home: Path) -> Iterator[str]:
    for name, card in datasets.cards().items():
        try:
            stored = store.read(home, card)
            state = (f"{stored.origin}, {len(stored.items)} items" if stored
                     else "the bundled sample; import or fetch the real one")
        except BenchmarkError as error:
            state = str(error)
        yield f"{name:<18} {card.split:<5} {state}"


def _metrics(home: Path) -> Iterator[str]:
    models = Models(home)
    loaded = []
    for name in datasets.names():
        with contextlib.suppress(BenchmarkError):  # the line on the dataset says so
            loaded.append(datasets.load(name, home))
    for name in registry.names():
        try:
            chosen = registry.choose(name)
            signature(chosen.metric, models)
        except (BrokenPlugin, MissingResource) as error:
            yield f"{name:<18} not run: {error}"
            continue
        lacking = [dataset.card.name for dataset in loaded if unmet(chosen.metric, dataset)]
        models_read = ", ".join(metric_entry(chosen, models).models)
        yield f"{name:<18} ready" + (f" with {models_read}" if models_read else "") + (
            f"; skipped on {', '.join(lacking)}: {', '.join(chosen.metric.card.needs)} missing" if lacking else "")
    yield from registry.shadowing()


def _models(home: Path) -> Iterator[str]:
    """Every model, three lines each; a broken one is a line that says what is wrong."""
    for model in weights.here(home):
        if isinstance(model, str):
            yield f"not usable: {model}"
            continue
        files = weights.check_files(model.name, model.folder)
        size = sum(path.stat().st_size for path in files) / 1e6
        yield model.name + (" (the default encoder)" if model.name == weights.EMBEDDED else "")
        yield f"  {model.origin}; {size:,.1f} MB"
        yield f"  sha256 {model.digest}" + (f" over {len(files)} parts" if len(files) > 1 else "")
    yield f"more: a folder under {weights.models_home(home)}, a hub id, or a path, as --encoder or a metric's option"


def _trained(home: Path) -> Iterator[str]:
    """Every checkpoint, two lines each; a damaged one is a line that says what is wrong."""
    for trained in checkpoint.here(home):
        if isinstance(trained, str):
            yield f"not usable: {trained}"
            continue
        loss = trained.card.get("held_out")
        ours = trained.folder.is_relative_to(checkpoint.SHIPPED)
        yield f"{trained.name} ({'shipped' if ours else f'trained here: {trained.folder}'})"
        yield (f"  {trained.size / 1e6:,.2f} MB{f', for {trained.encoder}' if trained.encoder else ''}"
               + (f"; held-out loss {loss:.4f}" if isinstance(loss, float) else ""))
        yield f"  sha256 {trained.digest}"
    yield "more: `harness train METRIC --encoder MODEL`; the user's own come before those of the project"


def _vectors(home: Path) -> Iterator[str]:
    folder, models = home / "vectors", Models(home)
    for path in sorted(path for path in folder.glob("*")
                       if path.is_file() and path.suffix not in {".table", ".sha256"}):  # what was made of them
        signed = models.identity("vectors", path.name)
        yield f"{path.name:<18} {path.stat().st_size / 1e6:,.1f} MB; in signatures {signed}"
    yield (f"more: a file of word2vec or GloVe vectors in {folder} or anywhere, as --vectors or a metric's option; "
           "without, the encoder's input embeddings")
