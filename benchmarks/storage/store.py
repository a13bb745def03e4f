"""Imported and fetched datasets as Arrow files in the home.

    HOME/datasets/NAME.card.json         the card of a user's dataset
    HOME/datasets/NAME.json              the current folder, its origin and digests; replaced atomically
    HOME/datasets/NAME-RANDOM/items      a Hugging Face dataset (`datasets.load_from_disk`); likewise ratings
    HOME/scores/NAME.METRIC.csv          scores published with the items

The files are written and read without the `datasets` library, whose import takes longer than most commands. The
fingerprints of items and ratings are checked on every read.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Item, Origin, Rating, fingerprint
from benchmarks.errors import BadStore
from benchmarks.formats import records
from benchmarks.storage.files import STALE, staged, write_atomically

DATA_FILE = "data-00000-of-00001.arrow"
CARD_SUFFIX = ".card.json"
BATCH_ROWS = 1000  # rows per written batch


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """Record of a dataset in the home: its folder, origin, and the digests of its two tables."""

    folder: str
    origin: Origin
    items: str
    ratings: str


def save(dataset: Dataset, home: Path) -> None:
    root, name, ratings = home / "datasets", dataset.card.name, ratings_fingerprint(dataset.ratings)
    folder = root / f"{name}-{secrets.token_hex(8)}"
    with staged(folder) as temporary:
        _write(dataset, temporary)
    stored = StoredDataset(folder.name, dataset.origin, dataset.fingerprint, ratings)
    write_atomically(root / f"{name}.json", (json.dumps(asdict(stored), indent=2) + "\n").encode())
    _save_scores(dataset, home)
    for outdated in _folders(root, name):  # recent folders may be in use by an import or a reader
        if outdated != folder:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - outdated.stat().st_mtime > STALE:
                    shutil.rmtree(outdated, ignore_errors=True)


def _save_scores(dataset: Dataset, home: Path) -> None:
    name = dataset.card.name
    by_file = {home / "scores" / f"{name}.{metric}.csv": scores for metric, scores in dataset.scores.items()}
    for outdated in set(_score_files(home, name)) - by_file.keys():
        outdated.unlink(missing_ok=True)
    for path, scores in by_file.items():
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([("dialogue_id", "score"), *(
            (item, repr(score)) for item, score in scores.items())])
        write_atomically(path, stream.getvalue().encode())


def remove(home: Path, name: str) -> None:
    """Remove a dataset and its published scores from the home; raise BadStore if there is no such dataset."""
    root = home / "datasets"
    if not (root / f"{name}.json").exists():
        raise BadStore(f"{name} is not in {home}; `harness list datasets` lists the imported datasets")
    for path in (root / f"{name}{CARD_SUFFIX}", root / f"{name}.json", *_score_files(home, name)):
        path.unlink(missing_ok=True)
    for folder in _folders(root, name):
        shutil.rmtree(folder, ignore_errors=True)


def _score_files(home: Path, name: str) -> list[Path]:
    return list((home / "scores").glob(f"{name}.*.csv"))


def _folders(root: Path, name: str) -> list[Path]:
    return [path for path in root.iterdir() if re.fullmatch(re.escape(name) + r"-[0-9a-f]{16}(-[^-]+)?", path.name)]


def save_user_dataset(dataset: Dataset, home: Path) -> bool:
    """Save a user's dataset with its card; return True if it replaced a different one."""
    previous = stored_record(home, dataset.card.name)
    digests = dataset.fingerprint, ratings_fingerprint(dataset.ratings)
    is_unchanged = previous and (previous.items, previous.ratings) == digests
    if is_unchanged:
        _save_scores(dataset, home)
    else:
        save(dataset, home)
    content = json.dumps(asdict(dataset.card), indent=2, ensure_ascii=False).encode() + b"\n"
    path = home / "datasets" / f"{dataset.card.name}{CARD_SUFFIX}"
    is_unchanged = is_unchanged and path.is_file() and path.read_bytes() == content
    write_atomically(path, content)
    return previous is not None and not is_unchanged


def user_cards(home: Path) -> Iterator[DatasetCard]:
    """Yield the cards of the user's datasets in the home; raise BadStore for a damaged one."""
    for path in sorted((home / "datasets").glob(f"*{CARD_SUFFIX}")):
        yield replace(_record(DatasetCard, path, path.name.removesuffix(CARD_SUFFIX)), sources=())


def stored_record(home: Path, name: str) -> StoredDataset | None:
    """Return the record of a dataset, or None; raise BadStore if it is damaged."""
    path = home / "datasets" / f"{name}.json"
    stored: StoredDataset | None = _record(StoredDataset, path, name) if path.exists() else None
    return stored


def _record(kind: Any, path: Path, name: str) -> Any:
    try:
        return records.value_of(kind, records.load(path.name, path.read_bytes()), path.name)
    except (OSError, records.Refused) as error:
        raise _damaged(path, name, error) from error


def read(home: Path, card: DatasetCard) -> Dataset | None:
    stored = stored_record(home, card.name)
    if stored is None:
        return None
    folder = home / "datasets" / stored.folder
    problem: object = "its content does not match its digest"
    try:
        items = tuple(Item.of({"language": card.language, **row}) for row in rows(folder / "items"))
        ratings = tuple(Rating(row["item"], row["quality"], tuple(row["votes"]), tuple(row.get("raters") or ()))
                        for row in rows(folder / "ratings"))
        if (fingerprint(items), ratings_fingerprint(ratings)) == (stored.items, stored.ratings):
            return Dataset(card, items, ratings, stored.origin, stored.items)
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = error
    if stored_record(home, card.name) != stored:
        return read(home, card)  # another import has replaced it
    raise _damaged(folder, card.name, problem)


def ratings_fingerprint(ratings: Iterable[Rating]) -> str:
    digest = hashlib.sha256()
    for rating in ratings:
        record = [rating.item, rating.quality, rating.votes, *([rating.raters] if rating.raters else ())]
        digest.update(json.dumps(record).encode() + b"\n")
    return digest.hexdigest()


def _damaged(path: Path, name: str, problem: object) -> BadStore:
    reason = " ".join(str(problem).split())
    return BadStore(f"{path}: {name} is damaged ({reason:.120}); import or fetch it again")


def _write(dataset: Dataset, folder: Path) -> None:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    turn = pa.struct({"speaker": text, "text": text})
    schemas = {
        "items": pa.schema({
            "id": text, "context": pa.list_(turn), "response": turn,
            "references": pa.list_(pa.struct({"text": text, "weight": number})), "facts": pa.list_(text),
            "system": text, "language": text,
        }),
        "ratings": pa.schema({"item": text, "quality": text, "votes": pa.list_(number), "raters": pa.list_(text)}),
    }
    for name, entries in (("items", dataset.items), ("ratings", dataset.ratings)):
        (folder / name).mkdir()
        with (folder / name / DATA_FILE).open("wb") as file, pa.ipc.new_stream(file, schemas[name]) as stream:
            for start in range(0, len(entries), BATCH_ROWS):
                rows = [asdict(entry) for entry in entries[start:start + BATCH_ROWS]]
                stream.write_batch(pa.RecordBatch.from_pylist(rows, schema=schemas[name]))
        state: dict[str, Any] = {
            "_data_files": [{"filename": DATA_FILE}], "_fingerprint": dataset.fingerprint, "_split": None,
            "_format_columns": None, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False}
        (folder / name / "state.json").write_text(json.dumps(state, indent=2))
        (folder / name / "dataset_info.json").write_text("{}")


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a folder written by `datasets` or `_write`."""
    import pyarrow as pa

    for file in json.loads((folder / "state.json").read_bytes())["_data_files"]:
        with pa.memory_map(str(folder / file["filename"])) as source, pa.ipc.open_stream(source) as stream:
            for batch in stream:
                batch.validate(full=True)
                yield from batch.to_pylist()
