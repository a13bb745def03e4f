"""Create small challenges: two fictional datasets, private ratings, and score files that correlate with them."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

SETS = {"first": ("overall",), "second": ("overall", "wit")}
SIZE = 40
ITEMS = [f"{name}_{index:03d}" for name in SETS for index in range(SIZE)]
TRUTH = np.random.default_rng(1).uniform(1, 5, size=len(ITEMS))

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


def challenge(root: Path, draws: int = 200) -> Path:
    for name in ("data", "private", "submissions"):
        (root / name).mkdir(parents=True)
    (root / "challenge.toml").write_text(RULES.format(draws=draws))
    level, rng = dict(zip(ITEMS, TRUTH, strict=True)), np.random.default_rng(2)
    lines = ["item,quality,vote"]
    for name, qualities in SETS.items():
        ids = [item for item in ITEMS if item.startswith(name)]
        rows = [{"dialogue_id": item, "context": f"{item}?", "response": "" if index == 3 else f"the secret of {item}"}
                for index, item in enumerate(ids)]
        (root / "data" / f"{name}.json").write_text(json.dumps(rows))
        lines += [f"{item},{quality},{np.clip(round(level[item] + rng.normal()), 1, 5):g}"
                  for item in ids for quality in qualities for _ in range(2)]
    (root / "private" / "ratings.csv").write_text("\n".join(lines) + "\n")
    return root


def scores(noise: float, seed: int) -> dict[str, float]:
    """Return the true ratings plus noise."""
    return dict(zip(ITEMS, TRUTH + np.random.default_rng(seed).normal(0, noise, len(ITEMS)), strict=True))


def table(values: dict[str, float], column: str = "score") -> str:
    return f"dialogue_id,{column}\n" + "".join(f"{item},{float(value)!r}\n" for item, value in values.items())


def submit(root: Path, team: str, number: int | str, values: dict[str, float], about: str = "") -> Path:
    folder = root / "submissions" / team / str(number)
    folder.mkdir(parents=True)
    (folder / "scores.csv").write_text(table(values))
    if about:
        (folder / "submission.toml").write_text(about)
    return folder


def edit(root: Path, *lines: str, **replaced: str) -> None:
    """Put lines in front of the rules, and give settings in them another value."""
    path = root / "challenge.toml"
    text = path.read_text()
    for name, value in replaced.items():
        text = re.sub(rf"(?m)^{name} = .*", f"{name} = {value}", text)
    path.write_text("\n".join((*lines, text)))


def edit_items(root: Path, change: Callable[[int, dict[str, str]], dict[str, object]], names: str = "*") -> None:
    """Change fields of the items of these datasets, by their number in the dataset."""
    for path in (root / "data").glob(f"{names}.json"):
        rows = json.loads(path.read_text())
        path.write_text(json.dumps([row | change(index, row) for index, row in enumerate(rows)]))


def three_teams(root: Path) -> None:
    """Submit for three teams; of the first team's two submissions, the second is better."""
    submit(root, "alpha", 1, scores(4, 11), 'name = "Alpha one"\n')
    submit(root, "alpha", 2, scores(1, 12))
    submit(root, "beta", 1, scores(2, 13))
    submit(root, "gamma", 1, scores(8, 14))


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
