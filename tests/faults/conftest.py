"""What the tests of faults share: the report of a run that nothing disturbs."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from tests.faults.runs import QUICK, report

LEFT_OPEN = ("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
"""Ray leaves its files to be closed by the collector, in whichever test that comes."""

Whole = Callable[..., dict[str, bytes]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Makes the report of a run that nothing disturbs, once for each list of flags."""
    @functools.cache
    def made(*argv: str) -> dict[str, bytes]:
        folder: Path = tmp_path_factory.mktemp("undisturbed")
        assert main(["run", *argv, *QUICK, "--home", str(folder / "home"), "--out", str(folder / "out")]) == 0
        return report(folder / "out")

    return made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.filterwarnings(*LEFT_OPEN))
