"""The readers of what is kept from before: scores, statistics and answers of judges.

The names of most parts hold the digest of what is in them, so that damage is seen without reading. Here the digest is
always right: what is left to notice is another form, as an older version wrote it, or one who shares the folder.
"""

import contextlib
import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.storage.digested import digest
from harness.results.cache import Cache
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore, _stem, _to_parquet
from metrics.judges import archive as answers
from metrics.judges.answer import Answer
from tests.fuzz.reading import FileReader, sound

PRINT, SIGNATURE = "f" * 64, "toy|r1|references=max"
KEPT = Scores(("a", "b"), {"x": np.array([0.1, np.nan]), "y:sum": np.array([-0.0, 1e-300])}, 1.25)


def _cache() -> dict[str, list[bytes]]:
    answer = asdict(Answer("4", tokens=((0, "4", (("4", -0.5), ("5", -1.0))),)))
    cell = _to_parquet(KEPT, SIGNATURE)
    return {"cell": [cell], "part": [cell], "memo": [json.dumps({"p": [0.5, math.nan], "n": 3}).encode()],
            "answers": [json.dumps(answer).encode()]}


def _read_cache(folder: Path, form: str, content: bytes) -> None:
    with contextlib.ExitStack() as stack:
        read = {"cell": _read_cell, "part": _read_part, "memo": _read_memo, "answers": _read_answers}[form]
        read(folder, content, stack)


def _placed(path: Path, content: bytes, stack: contextlib.ExitStack) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    stack.callback(lambda: [one.unlink() for one in path.parent.iterdir()])
    return path


def _read_cell(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    store = ScoreStore(folder)
    _placed(folder / f"{_stem(PRINT, SIGNATURE)}-{digest(content)}.parquet", content, stack)
    found = store.get(PRINT, SIGNATURE)
    sound(found is not None or store.set_aside, "a cell that is neither read nor set aside")
    if found is not None:
        sound(all(column.dtype == np.float64 and column.shape == (len(found.items),)
                  for column in found.columns.values()), "a column that is no score of each item")
        sound(all(isinstance(item, str) for item in found.items) and math.isfinite(found.seconds), "items without id")
    store.put(PRINT, SIGNATURE, KEPT)
    sound(store.get(PRINT, SIGNATURE), "a store that cannot be written again")


def _read_part(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    store = ScoreStore(folder)
    _placed(folder / f"{_stem(PRINT, SIGNATURE)}.0000002-0000004-{digest(content)}.shard", content, stack)
    store.put_part(PRINT, SIGNATURE, (0, 2), KEPT)
    items = ("a", "b", "a", "b")
    found = store.joined(PRINT, SIGNATURE, items)
    if found is not None:
        sound(found.items == items, "joined scores that are not of the items")
    else:
        sound(store.set_aside, "a part that is neither joined nor set aside")


def _read_memo(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    memo = Cache(folder / "statistics")
    memo.get("kind", "key", lambda: 1)
    (path,) = (folder / "statistics").glob("kind-*.json")
    path.unlink()
    _placed(path.with_name(f"{path.stem.rpartition('-')[0]}-{digest(content)}.json"), content, stack)
    memo.get("kind", "key", lambda: 1)


def _read_answers(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    archive = answers.AnswerArchive(folder, "prompt", "model")
    _placed(archive.folder / "k" / f"k-{digest(content)}.json", content, stack)
    answer = archive.get("k/k.json")
    sound(answer is None or isinstance(answer.text, str), "an answer that is no text")


READERS = (
    FileReader("cache", _cache, _read_cache,
               ("PAR1", "ARROW1", "item", "score:x", "signature", "seconds", "key", "text", "finish",
                "served", "prompt", "completion", "tokens", "NaN", "null", "pandas", "nan")),
)
