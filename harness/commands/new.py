"""`harness new metric|dataset NAME`: Create a metric from a template, or a dataset from a template or table.

    harness new metric green-tea
    harness new dataset tea-talk --from ratings.csv
"""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.tables import sheet
from harness import own
from harness.cards import card_text
from harness.commands._arguments import add
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
"""Paths of the created files by template file; `{kind}` is the flag --kind."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("metric", "dataset"))
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and hyphens, such as my-metric")
    add(parser, "kind: plain: uses words; encoder: uses sentence vectors; trained: has trained weights; "
                "composite: combines metrics (default: plain)", default="plain", choices=KINDS)
    add(parser, "from TABLE: table of ratings for which to write a card", dest="table")
    add(parser, "columns", "scale")
    add(parser, "into DIR: parent of the folder NAME (default: .)", default=Path())


def run(args: argparse.Namespace) -> int:
    noun, name, folder = args.what, args.name, args.into / args.name
    if (args.table or args.columns or args.scale) and not (args.table and noun == "dataset"):
        raise BadConfig("--columns and --scale need --from, and all three are for `harness new dataset`")
    _check(noun, name, folder)
    files = _files(noun, name, args.kind) if not args.table else _of_table(
        name, args.table, own.Reading(tuple(args.columns or ()), tuple(args.scale or ())))
    for path, text in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        print(folder / path)
    folder_argument = f"./{folder}" if not folder.is_absolute() and not str(folder).startswith(".") else str(folder)
    steps = (f"edit card and table; harness check {folder_argument}; harness run --dataset {folder_argument} "
             "--metric length --metric bleu")
    if noun == "metric":
        train = f"harness train {folder_argument}; " if args.kind == "trained" else ""
        steps = (f"edit {folder / 'src' / name.replace('-', '_')}.py; {train}harness check {folder_argument}; "
                 f"harness run --all --with {folder_argument}")
    print(f"\nnext: {steps}")
    return 0


def _check(noun: str, name: str, folder: Path) -> None:
    module = name.replace("-", "_")
    if not is_name(name) or not module.isidentifier() or keyword.iskeyword(module):
        raise BadConfig(f"{name!r}: invalid name; use lower-case letters, digits and hyphens, beginning with a letter, "
                        f"such as my-{noun}")
    if noun == "dataset" and name in datasets.names():
        raise BadConfig(f"{name!r} is the name of an existing dataset; choose another")
    if noun == "metric" and name in registry.names():
        package = registry.plugin_package(name) or "a plug-in"
        whose = "built-in metric" if registry.is_built_in(name) else f"metric of {package}"
        raise BadConfig(f"{name!r} is the name of a {whose}; choose another")
    if module in sys.stdlib_module_names or importlib.util.find_spec(module) is not None:
        raise BadConfig(f"{name!r}: would hide the Python module {module!r}; choose another name")
    if folder.exists():
        raise BadConfig(f"{folder} already exists; choose another name, or another parent with --into")


def _of_table(name: str, table: str, reading: own.Reading) -> Iterator[tuple[str, str | bytes]]:
    if (path := own.table_of(table)) is None:
        raise BadConfig(f"{table}: not a table of ratings ({', '.join(sheet.ENDINGS)})")
    ratings = reading.table(sheet.read(path))
    sys.stderr.write("\n".join(ratings.report) + "\n")
    file = name + "".join(path.suffixes[-2 if path.suffix.casefold() == ".gz" else -1:])
    readme, *_ = (text for _, text in _files("dataset", name, "plain"))
    yield "README.md", readme.replace(f"{name}.csv", file)
    yield f"{name}.toml", card_text(ratings, name, file)
    yield file, path.read_bytes()


def _files(noun: str, name: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield paths and contents of the files, with the name inserted in each spelling."""
    words = name.split("-")
    spellings = {f"my-{noun}": name, f"my_{noun}": "_".join(words),
                 f"My{noun.capitalize()}": "".join(map(str.capitalize, words)),
                 f"My {noun}": " ".join(words).capitalize()}
    if kind in ("encoder", "trained"):
        spellings['["dialogue-harness"]'] = '["dialogue-harness[neural]"]'
    if kind == "trained":  # its test trains the metric; the workflow has no weights to check
        spellings = {"      - run: harness check my-metric\n": "", **spellings}
    for source, path in FILES[noun].items():
        test_kind = "trained" if kind == "trained" else "metric"
        file = source.format(kind=test_kind if source.startswith("test_") else kind)
        text = (TEMPLATES / noun / file).read_text(encoding="utf-8")
        for placeholder, spelling in spellings.items():
            path, text = path.replace(placeholder, spelling), text.replace(placeholder, spelling)
        yield path, text
