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

TEMPLATES = Path(__file__).resolve().parent.parent / "contract" / "templates"
KINDS = ("plain", "encoder", "trained", "composite")
FILES = {
    "metric": {"pyproject.toml": "pyproject.toml", "README.md": "README.md",
               "workflow.yml": ".github/workflows/test.yml", "{kind}.py": "src/my_metric.py",
               "test_{kind}.py": "tests/test_my_metric.py"},
    "dataset": {"README.md": "README.md", "card.toml": "my-dataset.toml", "items.csv": "my-dataset.csv"}}
"""Templates by where they go in the folder."""
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
    """Write the files, and say what to do with them."""
    what, name, folder = args.what, args.name, args.into / args.name
    _check(what, name, folder)
    for path, text in _files(what, name, args.kind):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
        print(folder / path)
    here = f"./{folder}" if not folder.is_absolute() and not str(folder).startswith(".") else str(folder)
    if what == "dataset":
        print(f"\nnext: edit card and table; harness check {here}; "
              f"harness run --dataset {here} --metric length --metric bleu")
    else:
        source = folder / "src" / f"{name.replace('-', '_')}.py"
        first = f"harness train {here}; " if args.kind == "trained" else ""
        print(f"\nnext: edit {source}; {first}harness check {here}; harness run --all --with {here}")
    return 0


def _check(what: str, name: str, folder: Path) -> None:
    """Refuse a name that no metric or dataset can have, or that is taken, and a folder that is there."""
    module = name.replace("-", "_")
    if not is_name(name) or not module.isidentifier() or keyword.iskeyword(module):
        raise BadConfig(f"{name!r}: a {what} is named by small letters, digits and hyphens, a letter first, as in "
                        f"my-{what}")
    if what == "dataset" and name in datasets.names():
        raise BadConfig(f"{name!r} is the name of a dataset that is here; choose another")
    if what == "metric" and name in registry.names():
        whose = "built-in metric" if registry.is_built_in(name) else f"metric of {registry.origin(name) or 'a plug-in'}"
        raise BadConfig(f"{name!r} is the name of a {whose}; choose another")
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        raise BadConfig(f"{name!r}: there is a Python module {module!r} already, which the {what}'s would hide; "
                        "choose another name")
    if folder.exists():
        raise BadConfig(f"{folder} is there already; choose another name, or another place with --into")


def _files(what: str, name: str, kind: str) -> Iterator[tuple[str, str]]:
    """The files of the package: paths in it, and their text, with the own name in each of its spellings."""
    parts = name.split("-")
    spellings = {"{first}": FIRST if kind == "trained" else "", f"my-{what}": name, f"my_{what}": "_".join(parts),
                 f"My{what.capitalize()}": "".join(map(str.capitalize, parts)),
                 f"My {what}": " ".join(parts).capitalize()}
    for template, path in FILES[what].items():
        tested = "trained" if kind == "trained" else "metric"
        file = template.format(kind=tested if template.startswith("test_") else kind)
        text = (TEMPLATES / what / file).read_text(encoding="utf-8")
        for mine, own in spellings.items():
            path, text = path.replace(mine, own), text.replace(mine, own)
        yield path, text
