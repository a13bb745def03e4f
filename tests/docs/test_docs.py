"""Examples in the docs and the notebook give the results shown; links resolve; the reference is current."""

import doctest
import json
import re
import shlex
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry as datasets
from harness import cli, own
from harness.scoring.parts import MAX_ITEMS, MAX_ITEMS_WITH_LM
from metrics import registry as metrics
from metrics.external import files, isolation
from metrics.external.files import SKIPPED_FOLDERS
from metrics.external.isolation import Settings, serving
from metrics.models.service import Models
from metrics.registry import choose
from metrics.training import trainables
from tests.conftest import ROOT, make_item
from tools import reference, shipped

PAGES = sorted([*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if "example" not in path.parts)])


def blocks(page: Path | str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def test_command_lines_parse_and_names_exist() -> None:
    parser = cli.parser()
    lines = [(page, line) for page in PAGES for line in "".join(blocks(page, "sh")).splitlines()
             if line.startswith("harness ")]
    assert len(lines) > 30
    assert {len(examples.splitlines()) for _, examples in cli.help_texts().values()} == {2}, "the reference has them"
    for page, line in lines:
        try:
            args = parser.parse_args(shlex.split(line, comments=True)[1:])
        except SystemExit:
            pytest.fail(f"{page.name}: {line}")
        for name in getattr(args, "dataset", None) or ():
            assert own.is_path(name) or name == "ratings.csv" or datasets.card(name)
        for name in getattr(args, "metric", None) or ():
            if args.command == "train":
                trainables.choose(name)
            elif ":" not in name and not metrics.is_path(name):  # another library's metric, or a file of the reader
                metrics.choose(name)


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
    """Return True if a page has the heading that an anchor names."""
    headings = re.findall(r"^#+ (.+)", page.read_text(), re.MULTILINE) if anchor else []
    return not anchor or anchor in {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in headings}


def test_tutorial_metric_and_python_interface_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("questions")
    monkeypatch.setitem(sys.modules, "questions", module)
    exec(blocks("docs/tutorial-researcher.md", "python")[0], module.__dict__)  # noqa: S102
    items = [make_item("a", "really ? yes ."), make_item("b", "really ?!"), make_item("c", "")]
    column = module.Questions().score(items, Models(tmp_path))["questions"]
    np.testing.assert_array_equal(column, [0.5, 0.5, np.nan])
    assert module.Questions(exclamations=False).score(items, Models(tmp_path))["questions"][1] == 1
    names: dict[str, Any] = {}
    for block in blocks("docs/tutorial-researcher.md", "python")[1:]:
        exec(block, names)  # noqa: S102
    assert list(names["columns"]) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]


def test_statistics_examples_give_the_printed_results() -> None:
    """The blocks are one program: each may use names of earlier ones."""
    names, output = dict[str, Any](), list[str]()
    runner = doctest.DocTestRunner(verbose=False)
    for number, block in enumerate(blocks("docs/statistics.md", "python")):
        test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "docs/statistics.md", 0)
        assert test.examples, f"block {number}: without >>>"
        runner.run(test, out=output.append, clear_globs=False)
        names = test.globs
    assert runner.tries > 40
    assert not runner.failures, "".join(output)


def test_decisions_example_gives_the_printed_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_HOME", str(tmp_path / "home"))
    exec(blocks("docs/decisions-guide.md", "python")[0], {})  # noqa: S102 - our own page
    for line in blocks("docs/decisions-guide.md", "sh")[0].splitlines():
        capsys.readouterr()
        assert cli.main(shlex.split(line)[1:]) == 0
    assert blocks("docs/decisions-guide.md", "text")[0] in capsys.readouterr().out


def test_reference_is_current_and_short() -> None:
    pages = reference.pages()
    assert {path.name for path in reference.FOLDER.iterdir()} == set(pages) - {"../licences.md"}
    for name, text in pages.items():
        assert (reference.FOLDER / name).read_text() == text, f"{name}: run `python -m tools.reference`"
    assert len(pages["metrics.md"].split()) < 5000
    assert len(pages["commands.md"].split()) < 3500


def test_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    cells = json.loads(shipped.NOTEBOOK.read_text())["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        value = shipped.value_of("".join(cell["source"]), names)
        outputs = [output["data"] for output in cell["outputs"]]
        assert ["text/html" in data for data in outputs] == ([] if value is None else [hasattr(value, "_repr_html_")])
        if isinstance(value, bool | np.bool_):
            assert value
    assert names["results"].decisions()["column"].tolist()[1:] == ["length", "random"]
    assert "exclaims" in set(names["board"].leads("exclaims")["better"])


@pytest.mark.skipif(shutil.which("perl") is None, reason="there is no perl")
def test_protocol_example_works(tmp_path: Path) -> None:
    (tmp_path / "metric.pl").write_text(blocks("docs/protocol.md", "perl")[0])
    (tmp_path / "pyproject.toml").write_text(blocks("docs/protocol.md", "toml")[1])
    items = [make_item("a", "Hello Big world yes"), make_item("b", ""), make_item("c", None, context=("Ünsere",))]
    try:
        column = choose(str(tmp_path) + "/").metric.score(items, Models(tmp_path))["capitals"]
        assert list(column[[0, 2]]) == [0.5, 1.0]
        assert np.isnan(column[1])
        assert np.isnan(choose(f"{tmp_path}/[least=5]").metric.score(items, Models(tmp_path))["capitals"]).all()
    finally:
        files.metric_class(str(tmp_path)).process.close()


def test_protocol_page_names_every_setting_and_type() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    folders = SKIPPED_FOLDERS - {"__pycache__", "node_modules"}
    for word in (*Settings.__slots__, *serving.TYPES, *isolation.PYTHON_VARIABLES, *folders):
        assert f"`{word}`" in page or f"\n{word} = " in page, word
    assert serving.MAX_MESSAGE_BYTES == 1 << 30
    assert f"({Settings().timeout:.0f})" in page
    assert f"at most {MAX_ITEMS_WITH_LM} items if the card's `models` contain `lm`, else {MAX_ITEMS:,}" in page
    assert f"| {serving.PROTOCOL} |" in page
