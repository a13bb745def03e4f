"""Every command, flag, dataset and metric is in the docs; every example parses; every link resolves."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from benchmarks import registry as datasets
from harness import cli
from metrics import registry as metrics
from metrics.metric import options
from metrics.training import trainables
from tests.conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def text(name: str) -> str:
    return (ROOT / name).read_text()


def subparsers() -> dict[str, argparse.ArgumentParser]:
    (found,) = [action for action in cli.parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found.choices)


@pytest.mark.parametrize("name", sorted(subparsers()))
def test_every_command_and_flag_is_documented(name: str) -> None:
    page = text("docs/commands.md")
    assert f"## harness {name}\n" in page
    for action in subparsers()[name]._actions:
        for flag in action.option_strings:
            assert flag in {"-h", "--help"} or f"`{flag}" in page, flag


@pytest.mark.parametrize("name", datasets.names())
def test_every_dataset_is_documented(name: str) -> None:
    assert re.search(rf"^\| `?{name}`? ", text("docs/data.md"), re.MULTILINE)


@pytest.mark.parametrize("name", metrics.names())
def test_every_metric_is_documented_with_columns_and_options(name: str) -> None:
    (row,) = re.findall(rf"^\| `{name}` .*", text("docs/metrics.md"), re.MULTILINE)
    chosen = metrics.choose(name).metric
    assert all(f"`{key}`" in row for key in options(chosen) if key != "seed")
    assert f"`{chosen.card.columns[0]}`" in row
    assert f"`{chosen.card.columns[-1]}`" in row


def examples() -> list[str]:
    blocks = [block for page in PAGES for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)]
    return [line for block in blocks for line in block.splitlines() if line.startswith("harness ")]


@pytest.mark.parametrize("line", examples())
def test_every_example_parses(line: str) -> None:
    args = cli.parser().parse_args(shlex.split(line, comments=True)[1:])
    for asked in getattr(args, "metric", None) or ():
        # docs/adding.md teaches to write `questions`; what has a colon is of another library, a path the reader's own
        if args.command == "train":
            trainables.choose(asked)
        elif asked != "questions" and ":" not in asked and not metrics.is_path(asked):
            metrics.choose(asked)
    for name in getattr(args, "dataset", None) or ():
        datasets.card(name)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_resolves(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)", goal.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


def adding() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", text("docs/adding.md"), re.DOTALL)
    return str(code)


def test_the_metric_of_the_tutorial_works(tmp_path: Path) -> None:
    space: dict[str, object] = {"__name__": "questions"}
    import sys
    import types

    module = types.ModuleType("questions")
    sys.modules["questions"] = module
    try:
        exec(compile(adding(), "docs/adding.md", "exec"), module.__dict__)  # noqa: S102
        from metrics.models.service import Models
        from tests.conftest import make_item

        items = [make_item("a", "really ? yes ."), make_item("b", "really ?!"), make_item("c", "")]
        column = module.Questions().score(items, Models(tmp_path))["questions"]
        assert list(column[:2]) == [0.5, 0.5]
        assert column[2] != column[2]
        assert module.Questions(exclamations=False).score(items, Models(tmp_path))["questions"][1] == 1
    finally:
        del sys.modules["questions"], space
