"""Every example in the docs parses or runs and gives what the page says; every link resolves."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry as datasets
from harness import cli, own
from metrics import registry as metrics
from metrics.models.service import Models
from metrics.training import trainables
from tests.conftest import ROOT, make_item
from tests.docs import reference

PAGES = sorted([*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if "example" not in path.parts)])


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def test_every_command_line_parses_and_names_what_there_is() -> None:
    parser, lines = cli.parser(), 0
    for page in PAGES:
        for line in "".join(blocks(str(page.relative_to(ROOT)), "sh")).splitlines():
            if not line.startswith("harness "):
                continue
            lines += 1
            try:
                args = parser.parse_args(shlex.split(line, comments=True)[1:])
            except SystemExit:
                pytest.fail(f"{page.name}: {line}")
            for name in getattr(args, "dataset", None) or ():
                assert own.is_path(name) or datasets.card(name)
            for name in getattr(args, "metric", None) or ():
                if args.command == "train":
                    trainables.choose(name)
                elif ":" not in name and not metrics.is_path(name):  # of another library, and the reader's own file
                    metrics.choose(name)
    assert lines > 30


def test_every_link_resolves() -> None:
    broken = []
    for page in PAGES:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            path, _, anchor = target.partition("#")
            goal = (page.parent / path).resolve() if path else page
            if not path.startswith(("http://", "https://")) and not (goal.exists() and has(goal, anchor)):
                broken.append(f"{page.name}: {target}")
    assert broken == []


def has(page: Path, anchor: str) -> bool:
    """Whether a page has the heading that an anchor names."""
    headings = re.findall(r"^#+ (.+)", page.read_text(), re.MULTILINE) if anchor else []
    return not anchor or anchor in {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in headings}


def test_the_metric_of_the_tutorial_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("questions")
    monkeypatch.setitem(sys.modules, "questions", module)
    exec(blocks("docs/tutorial-researcher.md", "python")[0], module.__dict__)  # noqa: S102
    items = [make_item("a", "really ? yes ."), make_item("b", "really ?!"), make_item("c", "")]
    column = module.Questions().score(items, Models(tmp_path))["questions"]
    np.testing.assert_array_equal(column, [0.5, 0.5, np.nan])
    assert module.Questions(exclamations=False).score(items, Models(tmp_path))["questions"][1] == 1


@pytest.mark.usefixtures("evaluate_cache")
def test_the_python_surface_gives_what_the_tutorial_says() -> None:
    names: dict[str, Any] = {}
    for block in blocks("docs/tutorial-researcher.md", "python")[1:]:
        exec(block, names)  # noqa: S102
    assert list(names["columns"]) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]
    assert names["result"]["bleu-1"] == names["columns"]["bleu-1"].tolist()
    assert names["result"]["mean_bleu-1"] == names["columns"]["bleu-1"].mean()


def test_every_worked_example_of_the_statistics_gives_what_the_page_says() -> None:
    """The blocks are one program: each may use the names of those before."""
    names, output = dict[str, Any](), list[str]()
    runner = doctest.DocTestRunner(verbose=False)
    for number, block in enumerate(blocks("docs/statistics.md", "python")):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/statistics.md", 0)
        assert test.examples, f"block {number}: without >>>"
        runner.run(test, out=output.append, clear_globs=False)
        names = test.globs
    assert runner.tries > 40
    assert not runner.failures, "".join(output)


def test_the_reference_is_current_and_short() -> None:
    """It is written anew by `python -m tests.docs.reference`."""
    pages = reference.pages()
    assert {path.name for path in reference.FOLDER.iterdir()} == set(pages) - {"../licences.md"}
    for name, text in pages.items():
        assert (reference.FOLDER / name).read_text() == text, f"{name}: run `python -m tests.docs.reference`"
    assert len(pages["metrics.md"].split()) < 5000
    assert len(pages["commands.md"].split()) < 3500
