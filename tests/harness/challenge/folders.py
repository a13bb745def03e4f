"""Small challenges as folders: two made-up datasets, private ratings, and score files that follow the ratings."""

import json
from pathlib import Path

import numpy as np

SETS = {"first": ("overall",), "second": ("overall", "wit")}
SIZE = 40

RULES = '''title = "Made up"
ratings = "private/ratings.csv"
draws = {draws}
[[dataset]]
name = "first"
file = "data/first.json"
qualities = [{{name = "overall", low = 1, high = 5}}]
[[dataset]]
name = "second"
file = "data/second.json"
qualities = [{{name = "overall", low = 1, high = 5}}, {{name = "wit", low = 1, high = 5}}]
'''


def items() -> list[str]:
    """The ids of all items."""
    return [f"{name}_{place:03d}" for name in SETS for place in range(SIZE)]


def truth() -> np.ndarray:
    """What the ratings of each item are around."""
    return np.random.default_rng(1).uniform(1, 5, size=len(items()))


def challenge(root: Path, draws: int = 200) -> Path:
    """Write a challenge without submissions."""
    for name in ("data", "private", "submissions"):
        (root / name).mkdir(parents=True)
    (root / "challenge.toml").write_text(RULES.format(draws=draws))
    level, rng = dict(zip(items(), truth(), strict=True)), np.random.default_rng(2)
    lines = ["item,quality,vote"]
    for name, qualities in SETS.items():
        own = [one for one in items() if one.startswith(name)]
        rows = [{"dialogue_id": one, "context": f"{one}?", "response": "" if place == 3 else f"the secret of {one}"}
                for place, one in enumerate(own)]
        (root / "data" / f"{name}.json").write_text(json.dumps(rows))
        lines += [f"{one},{quality},{np.clip(round(level[one] + rng.normal()), 1, 5):g}"
                  for one in own for quality in qualities for _ in range(2)]
    (root / "private" / "ratings.csv").write_text("\n".join(lines) + "\n")
    return root


def scores(noise: float, seed: int) -> dict[str, float]:
    """Scores that follow the ratings more or less."""
    return dict(zip(items(), truth() + np.random.default_rng(seed).normal(0, noise, len(items())), strict=True))


def submit(root: Path, team: str, number: int | str, given: dict[str, float], about: str = "") -> Path:
    """Write a submission; its folder."""
    folder = root / "submissions" / team / str(number)
    folder.mkdir(parents=True)
    (folder / "scores.csv").write_text("dialogue_id,score\n" + "".join(f"{one},{float(value)!r}\n" for one, value
                                                                       in given.items()))
    if about:
        (folder / "submission.toml").write_text(about)
    return folder


def three_teams(root: Path) -> None:
    """Three teams, the first with two submissions of which the second is better."""
    submit(root, "alpha", 1, scores(4, 11), 'name = "Alpha one"\n')
    submit(root, "alpha", 2, scores(1, 12))
    submit(root, "beta", 1, scores(2, 13))
    submit(root, "gamma", 1, scores(8, 14))
