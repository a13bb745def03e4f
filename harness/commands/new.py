"""`harness new metric|dataset NAME`: write a metric or a dataset of your own to start from."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import registry as datasets
from harness.errors import BadConfig
from metrics import registry
from metrics.metric import is_name

TEMPLATES = Path(__file__).resolve().parent.parent / "contract" / "templates" / "metric"
DATASET = TEMPLATES.with_name("dataset")
KINDS = ("plain", "encoder", "trained", "composite")
FILES = {"pyproject.toml": "pyproject.toml", "README.md": "README.md", "workflow.yml": ".github/workflows/test.yml"}
"""Templates by where they go; the metric and its test are chosen by kind."""
FIRST = """\
It has weights of its own, so train it first, with what `harness fetch --corpora` brings or a file of yours:

```sh
harness train my-metric
harness train my-metric --corpus FILE.jsonl
```

"""
"""What the README of a trained metric says must be done before anything is scored."""


def configure(parser: argparse.ArgumentParser) -> None:
    """What, its name, what kind of metric, and where."""
    parser.add_argument("what", choices=("metric", "dataset"))
    parser.add_argument("name", metavar="NAME", help="small letters, digits and hyphens, as in my-metric")
    parser.add_argument("--kind", choices=KINDS, default="plain",
                        help="plain: from the words; encoder: with sentence vectors; trained: it learns; composite: "
                             "made of others (default: plain)")
    parser.add_argument("--into", type=Path, default=Path(), metavar="DIR",
                        help="where the folder NAME goes (default: .)")


def run(args: argparse.Namespace) -> int:
    """Write the package, and say what to do with it."""
    name, folder = args.name, args.into / args.name
    if args.what == "dataset":
        return _dataset(name, folder)
    _check(name, folder)
    for path, text in _files(name, args.kind):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
        print(folder / path)
    here = f"./{folder}" if not folder.is_absolute() and not str(folder).startswith(".") else str(folder)
    first = f"harness train {here}; " if args.kind == "trained" else ""
    print(f"\nnext: edit {folder / 'src' / name.replace('-', '_')}.py; {first}harness check {here}; "
          f"harness run --all --with {here}")
    return 0


def _dataset(name: str, folder: Path) -> int:
    """Write a card and a table of a dataset."""
    if not is_name(name) or name in datasets.names():
        raise BadConfig(f"{name!r}: a dataset is named by small letters, digits and hyphens, as no other is")
    if folder.exists():
        raise BadConfig(f"{folder} is there already; choose another name, or another place with --into")
    folder.mkdir(parents=True)
    for path, template in ((folder / f"{name}.toml", "card.toml"), (folder / f"{name}.csv", "items.csv")):
        text = (DATASET / template).read_text(encoding="utf-8").replace("my-dataset", name)
        text = text.replace("My dataset", " ".join(name.split("-")).capitalize())
        path.write_text(text, encoding="utf-8")
        print(path)
    card = folder / f"{name}.toml"
    print(f"\nnext: edit both; harness check {card}; harness run --dataset {card} --metric length --metric cosine")
    return 0


def _check(name: str, folder: Path) -> None:
    """Refuse a name that no metric can have, or that is taken, and a folder that is there."""
    module = name.replace("-", "_")
    if not is_name(name) or not module.isidentifier() or keyword.iskeyword(module):
        raise BadConfig(f"{name!r}: a metric is named by small letters, digits and hyphens, a letter first, as in "
                        "my-metric")
    if name in registry.names():
        whose = "built-in metric" if registry.is_built_in(name) else f"metric of {registry.origin(name) or 'a plug-in'}"
        raise BadConfig(f"{name!r} is the name of a {whose}; choose another")
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        raise BadConfig(f"{name!r}: there is a Python module {module!r} already, which the metric's would hide; "
                        "choose another name")
    if folder.exists():
        raise BadConfig(f"{folder} is there already; choose another name, or another place with --into")


def _files(name: str, kind: str) -> Iterator[tuple[str, str]]:
    """The files of the package: paths in it, and their text, with the metric's own name in each of its spellings."""
    parts = name.split("-")
    module = "_".join(parts)
    spellings = {"{first}": FIRST if kind == "trained" else "", "my-metric": name, "my_metric": module,
                 "MyMetric": "".join(map(str.capitalize, parts)), "My metric": " ".join(parts).capitalize()}
    test = "test_trained.py" if kind == "trained" else "test_metric.py"
    for template, path in {**FILES, f"{kind}.py": f"src/{module}.py", test: f"tests/test_{module}.py"}.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        for mine, own in spellings.items():
            text = text.replace(mine, own)
        yield path, text
