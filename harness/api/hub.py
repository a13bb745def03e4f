"""Datasets as Hugging Face `datasets`, and datasets or trained weights as folders for the hub.

    items    id, context (speaker, text), response, references (text, weight), facts, system, language; whole
             dialogues have `dialogue` instead of context and response
    votes    item, quality, vote

    FOLDER/README.md, items.parquet, votes.parquet        `datasets.load_dataset(FOLDER, "items")`
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import registry
from benchmarks.dataset import Dataset, Item
from benchmarks.storage.files import write_atomically
from harness import own
from harness.api.results import check, library
from harness.errors import BadConfig
from harness.run.settings import home_folder
from metrics.models.checkpoint import Checkpoint
from metrics.registry import choose

if TYPE_CHECKING:
    import datasets as hub
    import pyarrow as pa

HUB_LICENCES = re.compile(r"(cc0|cc-by(-nc)?(-sa)?|mit|apache|bsd|odc-by|odbl|pddl|[oc]-uda|cdla-(permissive|sharing))"
                          r"(-\d(-clause)?)*(-universal)?")
"""Licences with an identifier on the hub."""


def to_datasets(name: str, home: Path | str | None = None) -> hub.DatasetDict:
    """Return items and votes of a dataset with its card; the bundled sample if the real data is not available.

    `score(metric, to_datasets(name)["items"])` gives the same scores as a run.
    """
    check("name", name, str)
    hub = library("datasets")
    dataset = load(name, home_folder(Path(home) if home else None))
    card = dataset.card
    info = hub.DatasetInfo(description=readme(dataset), citation=card.citation, homepage=card.homepage,
                           license=card.licence)
    return hub.DatasetDict({part: hub.Dataset(table, info=info.copy()) for part, table in tables(dataset).items()})


def load(name: str, home: Path) -> Dataset:
    """Load a dataset by name, or by the path of its card or ratings table."""
    registry.register_home(home)
    (dataset_name,) = own.import_paths((name,), home)
    return registry.load(registry.card(dataset_name.casefold()).name, home)


def export(dataset: Dataset, folder: Path) -> None:
    """Write a dataset folder for the hub, reproducibly."""
    import pyarrow.parquet as pq

    if not dataset.card.shareable:
        raise BadConfig(f"{dataset.card.name} states no licence, so it cannot be exported")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "README.md", readme(dataset).encode())
    for part, table in tables(dataset).items():
        pq.write_table(table, folder / f"{part}.parquet", compression="zstd")


def push(folder: Path, repo: str) -> str:
    """Upload a folder to the hub as a model of the logged-in user and return its address."""
    import huggingface_hub

    try:
        created = huggingface_hub.create_repo(repo, repo_type="model", exist_ok=True)
        huggingface_hub.upload_folder(repo_id=repo, repo_type="model", folder_path=folder)
    except Exception as error:  # from the hub or the network
        reason = " ".join(str(error).split())
        raise BadConfig(f"{repo}: upload failed ({reason:.200}); log in with `hf auth login`") from error
    return str(created.url)


def tables(dataset: Dataset) -> dict[str, pa.Table]:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    turns = pa.list_(pa.struct({"speaker": text, "text": text}))
    fields = {"dialogue": turns} if dataset.card.level == "dialogue" else {"context": turns, "response": text}
    items = pa.schema({"id": text, **fields, "references": pa.list_(pa.struct({"text": text, "weight": number})),
                       "facts": pa.list_(text), "system": text, "language": text})
    votes = [{"item": rating.item, "quality": rating.quality, "vote": vote}
             for rating in dataset.ratings for vote in rating.votes]
    return {"items": pa.Table.from_pylist(list(map(_row, dataset.items)), schema=items),
            "votes": pa.Table.from_pylist(votes, schema=pa.schema({"item": text, "quality": text, "vote": number}))}


def readme(dataset: Dataset) -> str:
    card = dataset.card
    licence = _licence_id(card.licence, dots=True) if HUB_LICENCES.fullmatch(_licence_id(card.licence)) else "other"
    front_matter = {"pretty_name": card.title, "language": card.language, "license": licence,
                    **({"license_name": card.licence} if licence == "other" else {}),
                    "configs": [{"config_name": part, "data_files": f"{part}.parquet"} for part in ("items", "votes")]}
    votes = sum(len(rating.votes) for rating in dataset.ratings)
    qualities = "\n".join(f"- {quality.name} (dimension {quality.dimension}): " + (
        "unknown scale" if quality.low is None or quality.high is None else f"{quality.low:g} to {quality.high:g}")
        for quality in card.qualities)
    sample = "**The bundled sample: made by a script, with simulated raters.**" if dataset.origin == "sample" else ""
    return _document(
        front_matter, f"# {card.title}", sample, card.notes,
        f"{len(dataset.items)} items ({card.level} level), {votes} votes. Qualities:", qualities,
        f"Licence: {card.licence}. Citation: {card.citation}", f"Fingerprint: `{dataset.fingerprint}`.")


def weights_readme(weights: Checkpoint, repo: str) -> str:
    card = weights.card
    front_matter = {"license": "other", "license_name": "the terms of the corpora below",
                    "library_name": "dialogue-harness",
                    **({"base_model": weights.encoder} if "/" in weights.encoder else {})}
    departures = choose(card["trained"]).metric.card.departures
    corpora = "\n".join(f"- {corpus['title']}, {corpus['licence'] or 'licence not stated'}: {corpus['training']:,} "
                        f"dialogues. {corpus['citation']}" for corpus in card["corpora"])
    return _document(
        front_matter, f"# {weights.name}",
        f"Weights of `{card['trained']}`, for {weights.encoder or 'no encoder'}: `harness fetch {repo}`.",
        "Differences from the paper:\n\n" + "\n".join(f"- {line}" for line in departures) if departures else "",
        f"Trained with `{card['command']}` on:\n\n{corpora}",
        f"Validation loss {card['held_out']:.4f}. `card.json` has the recipe, the loss curve and the versions.")


def _document(front_matter: Mapping[str, object], *parts: str) -> str:
    lines = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in front_matter.items())
    return "\n\n".join(filter(None, (f"---\n{lines}\n---", *parts))) + "\n"


def _row(item: Item) -> dict[str, Any]:
    """Return the record of an item, with its turns as `context` and as `dialogue`."""
    record = dataclasses.asdict(item)
    return {**record, "dialogue": record["context"], "response": item.response and item.response.text}


def _licence_id(licence: str, *, dots: bool = False) -> str:
    """Return a licence in the hub's spelling, such as cc-by-4.0."""
    return re.sub(r"[^a-z0-9.]+" if dots else r"[^a-z0-9]+", "-", licence.casefold()).strip("-")
