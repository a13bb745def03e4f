"""A challenge of 500 submissions of 18,641 scores each: wall time and peak memory of validating and ranking it.

`python tests/bench/challenge.py [--submissions N] [--per-team N]`. The data is made up: five datasets with the numbers
of qualities of the challenge's test sets, enlarged to the 18,641 items that its organisers name; ratings are whole
numbers from 1 to 5, scores are ratings with noise.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.challenge import folder, outcome

SETS = {"one": (741, 1), "two": (1242, 1), "three": (2461, 1), "four": (7000, 4), "five": (7197, 4)}


def make(root: Path, submissions: int, per_team: int) -> None:
    """Write the challenge."""
    rng = np.random.default_rng(0)
    lines = ['title = "Made up"', f"submissions = {per_team}"]
    people, names = [], []
    for name, (size, qualities) in SETS.items():
        ratings = {f"q{place}": rng.integers(1, 6, size=(size, 3)) for place in range(qualities)}
        rows = [{"dialogue_id": f"{name}_{at:05d}", "context": f"said {at}", "response": f"answer {at}",
                 "annotations": {quality: votes[at].tolist() for quality, votes in ratings.items()}}
                for at in range(size)]
        (root / f"{name}.json").write_text(json.dumps(rows))
        people.append(sum(votes.mean(axis=1) for votes in ratings.values()) / qualities)
        names += [row["dialogue_id"] for row in rows]
        scales = ", ".join(f'{{name = "{quality}", low = 1, high = 5}}' for quality in ratings)
        lines += ["[[dataset]]", f'name = "{name}"', f'file = "{name}.json"', f"qualities = [{scales}]"]
    (root / "challenge.toml").write_text("\n".join(lines))
    truth = np.concatenate(people)
    for place in range(submissions):
        team, number = divmod(place, per_team)
        at = root / "submissions" / f"team {team + 1}" / str(number + 1)
        at.mkdir(parents=True)
        scores = truth + rng.normal(0, 1 + 4 * rng.random(), size=len(truth))
        (at / "scores.csv").write_text("dialogue_id,score\n" + "".join(
            f"{name},{score:.6f}\n" for name, score in zip(names, scores, strict=True)))


def peak() -> float:
    """GiB that this process had at most, and the largest that it started."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20


def main() -> None:
    """Make, validate, rank, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=500)
    parser.add_argument("--per-team", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make(root, args.submissions, args.per_team)
        start = time.perf_counter()
        _, _, taken, _ = outcome.validated(root, root)
        print(f"validated alone: {len(taken.whole.entries)} taken, {time.perf_counter() - start:.1f} s")
        del taken
        start = time.perf_counter()
        ranked = outcome.outcome(root, root)
        print(f"validated and ranked: {len(ranked.ranking.chosen)} teams, {len(ranked.pairs)} cells, "
              f"{len(ranked.entries.entries)} submissions, {time.perf_counter() - start:.1f} s")
        folder.write(ranked, root / "ranking")
        print(f"and written: {time.perf_counter() - start:.1f} s, peak {peak():.2f} GiB; "
              f"pairs.parquet {(root / 'ranking' / 'pairs.parquet').stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
