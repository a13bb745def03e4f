"""How fast score files are read and validated: `python -m tests.bench.scorefiles`; 500 files of 18,641 scores."""

from __future__ import annotations

import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.formats.scorefile import Expected, read

ITEMS, FILES, FEW = 18_641, 500, 20


def written(folder: Path, name: str, ids: list[str], scores: list[float]) -> Path:
    """A file of the form that its name says."""
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"dialogue_id": id_, "score": score}) + "\n"
                                for id_, score in zip(ids, scores, strict=True)))
    else:
        rows = "".join(f"{id_},{score!r}\n" for id_, score in zip(ids, scores, strict=True))
        path.write_text("dialogue_id,score\n" + rows)
    return path


def main() -> None:
    """Time each form, then five hundred CSV files."""
    rng = np.random.default_rng(7)
    ids = [f"dstc10-task5.1_{number:05d}" for number in range(ITEMS)]
    wanted = Expected({"pool": tuple(ids)}, {"pool": ("appropriateness", "content", "grammar", "relevance")})
    with tempfile.TemporaryDirectory() as folder:
        for form in ("csv", "jsonl"):
            files = [written(Path(folder), f"{number}.{form}", ids, rng.normal(size=ITEMS).tolist())
                     for number in range(FEW)]
            read(files[0], wanted)
            start = time.process_time()
            problems = sum(len(read(path, wanted).problems) for path in files)
            each = 1000 * (time.process_time() - start) / FEW
            print(f"{form:<8} {each:6.1f} ms of processor time a file, {problems} problems")
        files = [written(Path(folder), f"{number}.csv", ids, rng.normal(size=ITEMS).tolist())
                 for number in range(FILES)]
        start = time.process_time()
        found = [read(path, wanted) for path in files]
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(found)} files of {ITEMS:,} scores: {seconds:.1f} s of processor time, {peak:.0f} MiB at most")


if __name__ == "__main__":
    main()
