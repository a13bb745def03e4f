"""The report of an undisturbed run, for comparison."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from tests.faults.runs import QUICK, report

Reports = Callable[..., dict[str, bytes]]


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Return a function that makes the report of an undisturbed run, once per list of flags."""
    @functools.cache
    def report_of(*argv: str) -> dict[str, bytes]:
        folder: Path = tmp_path_factory.mktemp("undisturbed")
        assert main(["run", *argv, *QUICK, "--home", str(folder / "home"), "--out", str(folder / "out")]) == 0
        return report(folder / "out")

    return report_of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings about files that Ray leaves to the garbage collector, which may close them in any test."""
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.filterwarnings(
                "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"))
