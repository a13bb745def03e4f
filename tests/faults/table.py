"""docs/reliability.md: every fault of the suite, what should come of it, and what did when the suite was last run.

    python -m tests.faults.table                   run the suite and write the tables
    python -m tests.faults.table --record FILE     write them from what a run with FAULTS_RECORD=FILE has recorded

What stands above the mark is written by hand.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.faults.faults import KNOWN, RECORD, Fault

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "reliability.md"
MARK = "<!-- below: python -m tests.faults.table -->\n"
SUITE = ("-m", "pytest", "-n", "2", "-q", "-m", "faults", str(HERE))
NOT_TRIED = "not tried: what it needs was not there"


def known() -> list[Fault]:
    """Every fault of the suite, in the order of its files."""
    for path in sorted(HERE.glob("test_*.py")):
        importlib.import_module(f"tests.faults.{path.stem}")
    return sorted(KNOWN.values(), key=lambda fault: fault.group)


def lines(faults: Iterable[Fault], records: list[dict[str, Any]]) -> Iterator[str]:
    """A section for each group of faults: what should come of them, each said once, and a table of what did."""
    for group, members in itertools.groupby(faults, key=lambda fault: fault.group):
        some = list(members)
        yield from ("", f"## {group}", "")
        yield from (f"Expected: {expected}.\n" for expected in dict.fromkeys(fault.expected for fault in some))
        yield from ("| fault | where | outcome | times |", "| --- | --- | --- | --- |")
        for fault in some:
            rows = [row for row in records if (row["group"], row["what"]) == (fault.group, fault.what)]
            outcome = "; ".join(dict.fromkeys(shown(row["outcome"]) for row in rows))
            yield f"| {fault.what} | {fault.where} | {outcome or NOT_TRIED} | {sum(row['times'] for row in rows)} |"


def shown(outcome: str) -> str:
    """What came of a fault, without what every message of its kind ends in."""
    short = re.sub("; (mend that|make room): what was \\w+ is kept, the same command goes on", "; ...", outcome)
    return " ".join(short.replace("exit status", "exit").split()).replace("|", "\\|")


def about(records: list[dict[str, Any]], took: float) -> str:
    """When and on what the suite was run."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "pyarrow", "ray"))
    minutes, count = f" in {took / 60:.1f} minutes" if took else "", sum(row["times"] for row in records)
    return (f"Run on {time.strftime('%Y-%m-%d')}{minutes}: {count} faults caused;\n"
            f"{platform.system()} on {platform.machine()}, {os.cpu_count()} processors, "
            f"Python {platform.python_version()}, {versions}.")


def main() -> int:
    """Write the tables; the exit status of the suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, help="what a run of the suite has recorded")
    recorded, took = parser.parse_args().record, 0.0
    with tempfile.TemporaryDirectory() as folder:
        record: Path = recorded or Path(folder) / "record.jsonl"
        if recorded is None:
            start = time.monotonic()
            ran = subprocess.run([sys.executable, *SUITE], env={**os.environ, RECORD: str(record)}, check=False)
            if ran.returncode:
                return ran.returncode
            took = time.monotonic() - start
        records = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    made = "\n".join(["", about(records, took), *lines(known(), records), ""])
    PAGE.write_text(head + MARK + made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
