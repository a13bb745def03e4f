"""Metrics in a file or a folder, and scores in a file."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Quality, Rating
from harness.run import correlate
from harness.scoring import score
from metrics import registry
from metrics.errors import BrokenPlugin, CannotScore, MetricError
from metrics.metric import signature
from metrics.models.service import Models
from tests.conftest import Invoke, make_card, make_item, refused

METRIC = '''"""Marks."""
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar, Literal
import numpy as np
from metrics.metric import MetricCard
{before}

@dataclass(frozen=True, slots=True)
class {kind}:
    card: ClassVar[MetricCard] = MetricCard(
        name="{name}", title="Marks", columns=("{name}",), family="plug-in", notes="Counts marks.")
    mark: Literal["!", "?"] = "!"

    def score(self, items, models):
        return {{"{name}": np.array([{times} * float(item.response.text.count(self.mark)) for item in items])}}
'''
PROJECT = """[project]
name = "marks"
[project.entry-points."harness.metrics"]
{entry}
"""
ITEMS = [make_item("a", "oh! no! ?"), make_item("b", "well")]


def source(name: str = "marks", kind: str = "Marks", before: str = "", times: int = 1) -> str:
    return METRIC.format(name=name, kind=kind, before=before, times=times)


TWO = source() + source(name="others", kind="Others").replace("from __future__ import annotations", "")


def file(folder: Path, text: str, name: str = "marks.py") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


def package(folder: Path, entry: str = 'marks = "marks_of:Marks"', text: str = source(), name: str = "marks_of.py",
            below: str = "src") -> str:
    file((folder / below / name).parent, text, Path(name).name)
    file(folder, PROJECT.format(entry=entry), "pyproject.toml")
    return f"{folder}/"


def scored(name: str, home: Path) -> list[float]:
    metric = registry.choose(name).metric
    return list(metric.score(ITEMS, Models(home))[metric.card.columns[0]])


@pytest.fixture(autouse=True)
def _modules() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        if name.partition(".")[0].startswith(("_metric_of", "marks_of")):
            del sys.modules[name]


def test_a_file_or_a_folder_is_a_metric(tmp_path: Path, home: Path) -> None:
    path = file(tmp_path, source())
    assert scored(path, home) == [2, 0]
    chosen = registry.choose(f"{path}[mark=?]")
    assert chosen.label == "marks[mark=?]"
    assert scored(f"{path}[mark=?]", home) == [1, 0]
    assert registry.is_known(path)
    assert type(chosen.metric) is type(registry.choose(f"{tmp_path}/../{tmp_path.name}/marks.py").metric), "unchanged"
    for below in (".", "src"):
        requested = package(tmp_path / "it", below=below)
        assert scored(requested, home) == scored(requested[:-1], home) == [2, 0]
    assert str(tmp_path / "it" / "src") not in sys.path


def test_a_column_of_a_file_or_folder_can_be_an_input(tmp_path: Path, home: Path) -> None:
    path, folder = file(tmp_path, source()), package(tmp_path / "it").rstrip("/")
    assert scored(f"weighted[inputs=2*{path}+1*{path}/marks]", home)[:1] == [6]
    assert scored(f"weighted[inputs=2*{folder}/marks]", home)[:1] == [4]
    for missing, part in ((f"{folder}/other", "marks"), (f"{tmp_path}/gone", "gone")):
        with pytest.raises(MetricError, match=part):
            scored(f"weighted[inputs=2*{missing}]", home)


def test_an_import_cannot_change_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    registry.choose(file(tmp_path, source(before="import os; os.chdir('/')")))
    assert Path.cwd() == tmp_path.resolve()


def test_options_of_other_types_are_refused(tmp_path: Path) -> None:
    for hint in ("float | None", "tuple[str, ...]", "list", "dict[str, int]"):
        path = file(tmp_path, source().replace('mark: Literal["!", "?"] = "!"', f"mark: {hint} = None"))
        with refused(BrokenPlugin, "'mark'", hint):
            registry.choose(path)


def test_edited_files_are_imported_again(tmp_path: Path, home: Path) -> None:
    """Size and modification time are the same, so that cached bytecode would be used for the new source."""
    for make in (file, lambda folder, text: package(folder, text=text)):
        signed, first = [], None
        for times in (3, 4, 3):
            requested = make(tmp_path, source(times=times))
            for path in tmp_path.rglob("*.py"):
                os.utime(path, (1e9, 1e9))
            assert scored(requested, home) == scored(f"weighted[inputs=1*{requested}]", home)[:2] == [2 * times, 0]
            signed.append(signature(registry.choose(requested).metric, Models(home)))
            first = first or registry.choose(requested).metric
        assert signed[0] == signed[2] != signed[1]
        assert str(tmp_path) not in str(signed[0])
        assert list(first.score(ITEMS, Models(home))["marks"]) == [6, 0], "loaded before the file changed"


def test_a_package_of_several_files_is_read_whole(tmp_path: Path, home: Path) -> None:
    text = source(before="from marks_of.times import TIMES").replace("1 *", "TIMES *")
    folder = package(tmp_path, 'marks = "marks_of.metric:Marks"', text, "marks_of/metric.py")
    file(tmp_path / "src" / "marks_of", "", "__init__.py")
    file(tmp_path / "src" / "marks_of", "TIMES = 3", "times.py")
    assert scored(folder, home) == [6, 0]
    before = signature(registry.choose(folder).metric, Models(home))
    file(tmp_path / "src" / "marks_of", "TIMES = 4", "times.py")
    assert scored(folder, home) == [8, 0]
    assert signature(registry.choose(folder).metric, Models(home)) != before


@pytest.mark.parametrize("below", [".", "src"])
def test_changes_beside_a_module_and_behind_links_are_noticed(below: str, tmp_path: Path, home: Path) -> None:
    text = source(before="from marks_of_times import TIMES\nfrom marks_of_linked.more import MORE")
    folder = package(tmp_path / "it", text=text.replace("1 *", "TIMES * MORE *"), below=below)
    root = tmp_path / "it" / below
    (root / "marks_of_linked").symlink_to(tmp_path / "linked")
    (root / "loop").symlink_to(root)
    signed = set()
    for times, more in ((3, 1), (4, 1), (4, 2)):
        file(root, f"TIMES = {times}", "marks_of_times.py")
        file(tmp_path / "linked", f"MORE = {more}", "more.py")
        assert scored(folder, home) == [2 * times * more, 0]
        signed.add(str(signature(registry.choose(folder).metric, Models(home))))
    assert len(signed) == 3


def test_modules_that_others_imported_from_the_folder_stay(tmp_path: Path, home: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    folder = package(tmp_path / "it", text=source(), below="")
    own = ModuleType("imported_by_the_caller")
    own.__file__ = str(file(tmp_path / "it", "", "imported_by_the_caller.py"))
    monkeypatch.setitem(sys.modules, own.__name__, own)
    assert scored(folder, home) == [2, 0]
    assert sys.modules[own.__name__] is own


def test_two_metrics_of_one_name_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    first, second = file(tmp_path / "a", source()), file(tmp_path / "b", source(times=2))
    dry = ["run", "--dataset", "dstc7", "--dry-run", "--metric", first, "--metric"]
    invoke(*dry, f"{first}[mark=?]")
    assert "'marks'" in invoke(*dry, second, status=2).err


NO_METRIC: tuple[tuple[str, str], ...] = (
    ("1 / 0", "marks.py, line 1: ZeroDivisionError"), ("import sys\n\nsys.exit(3)", "line 3: SystemExit: 3"),
    ("import no_such_module", "line 1: ModuleNotFoundError"), ("x = (", "line 1: SyntaxError"),
    ("def deep():\n    raise ValueError('a\\nb')\ndeep()", "line 2: ValueError: a"), ("x = 1", "marks.py"),
    ("\x00", "Error"), (TWO, "Marks in line 10 and Others in line"),
    (source().replace("def score", "def scare"), "marks.py, line 10: "), (source(name="Marks!"), "lower-case"),
    (source().replace("mark:", "code:"), "'code'"), (source().replace("family=", "familly="), "'family'"),
    (source().replace('("marks",)', '("marks")'), "('marks',)"),
    (source().replace("card: ClassVar[MetricCard]", "card: MetricCard"), "line 10"),
    (source().replace("card:", "Card:"), "line 10"),
    (source().replace("ClassVar[MetricCard]", "MetricCard").replace(", slots=True", ""), "Marks"),
    ("class Odd(BaseException): pass\nraise Odd", "line 2: Odd"),
    *((source().replace('("marks",)', f'("marks", "{name}")'), f"'{name}'") for name in ("marks@1", "marks:max")),
    (source(name="bleu"), "'bleu'"),
)
NO_FOLDER = (
    ("", "line"), ('a = "a:A"\nb = "b:B"', "line"), ('marks = "of"', "line"), ("marks = 3", "line"),
    ('marks = "marks_of:Gone"', "'Gone'"), ("[", "pyproject.toml"), ('other = "marks_of:Marks"', "'marks'"),
    ('marks = "json:Marks"', "'json'"), ('marks = "metrics.x:Marks"', "'metrics'"),
    ('marks = "numpy:Marks"', "'numpy'"), ('marks = "gone_of:Marks"', "'gone_of'"), ('marks = "marks_of:np"', "class"),
)


def test_a_file_without_a_metric_is_refused_in_one_line(tmp_path: Path, invoke: Invoke) -> None:
    before = set(sys.modules)
    for text, part in NO_METRIC:
        out, err = invoke("show", file(tmp_path, text), status=2)
        assert part in err
        assert (err.count("\n"), out) == (1, "")
        if part != "'bleu'":
            assert not [name for name in sys.modules.keys() - before if name.startswith("_metric_of")]


def test_a_folder_without_a_metric_is_refused(tmp_path: Path) -> None:
    for entry, part in NO_FOLDER:
        with refused(BrokenPlugin, part):
            registry.choose(package(tmp_path, entry))
    for name in ("gone.py", "gone/", "./gone"):
        with pytest.raises(BrokenPlugin, match="gone"):
            registry.choose(f"{tmp_path}/{name}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BrokenPlugin, match="pyproject"):
        registry.choose(f"{tmp_path}/empty")


SERVICE = Models(Path())
SCORED = tuple(make_item(f"toy_{number}", "a reply") for number in range(4))
QUALITIES = (Quality("Relevant", dimension="relevance"), Quality("overall"))
RATINGS = tuple(Rating(item.id, quality.name, (float(index),))
                for quality in QUALITIES for index, item in enumerate(SCORED))
DATASET = Dataset(make_card(size=4, qualities=QUALITIES), SCORED, RATINGS, "imported")


def written(folder: Path, *rows: str, name: str = "mine.csv") -> str:
    (folder / name).write_text("\n".join(["dialogue_id,score", *rows]))
    return f"scores:{folder / name}"


def test_scores_of_a_file_belong_to_its_items(tmp_path: Path) -> None:
    chosen = registry.choose(written(tmp_path, "toy_2,0.5", "toy_0,-1", "other,9"))
    assert chosen.label == "scores:mine.csv"
    scores = score.score(chosen.metric, DATASET, SERVICE)
    np.testing.assert_array_equal(scores.columns["scores:mine.csv"], [-1, np.nan, 0.5, np.nan])
    first = signature(registry.choose(written(tmp_path, "toy_0,1")).metric, SERVICE)
    again = signature(registry.choose(written(tmp_path, "toy_0,2")).metric, SERVICE)
    assert first["asked"] == "scores:mine.csv"
    assert first != again
    assert str(tmp_path) not in str(first)


def test_scores_for_a_quality_are_used_for_that_quality(tmp_path: Path) -> None:
    rows = [f"toy_{index},{index}" for index in range(4)] + [f"toy_{index}|Relevant,{-index}" for index in range(3)]
    chosen = registry.choose(written(tmp_path, *rows, "toy_0|nonsense,5"))
    scores = score.score(chosen.metric, DATASET, SERVICE)
    assert set(scores.columns) == {"scores:mine.csv", "scores:mine.csv@relevance"}
    metric = score.restrict(chosen.metric, DATASET)
    assert set(metric.score(DATASET.items[3:], SERVICE)) == set(scores.columns), "parts have equal columns"
    assert signature(metric, SERVICE)["qualities"] == "relevance"
    judged = correlate.judged(DATASET, QUALITIES)
    points = correlate.item_scores(DATASET, judged, {(chosen.label, ""): scores})
    relevance, overall = correlate.targets(points, judged)
    assert relevance.names == overall.names == (("scores:mine.csv", "scores:mine.csv"),)
    np.testing.assert_array_equal(relevance.scores, [[0, -1, -2, 3]])
    np.testing.assert_array_equal(overall.scores, [[0, 1, 2, 3]])


def test_a_broken_score_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotScore):
        score.score(registry.choose(written(tmp_path, "other_0,1", "toy_1,")).metric, DATASET, SERVICE)
    for rows, why in (
        (("toy_0,x",), "line 2: toy_0: its score 'x' is not a number"),
        (("toy_0,1", "toy_1,1e400"), "line 3: toy_1: its score 1e400 is too large"),
        (("toy_0,1", "toy_0,1"), "line 3: toy_0: already on line 2"),
        (("toy_0,1,1",), "line 2: 3 values for 2 columns"),
    ):
        with pytest.raises(MetricError, match=f"^scores:mine.csv: .*{why}"):
            registry.choose(written(tmp_path, *rows))
    for name in ("none.csv", "mine.pkl", "mine"):
        with pytest.raises(MetricError, match=f"scores:{name}: "):
            registry.choose(f"scores:{tmp_path / name}")
