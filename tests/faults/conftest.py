"""What the tests of faults share: the report of a run that nothing disturbs."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from tests.faults.runs import QUICK, report

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
