"""Datasets for the library `datasets`, and weights on the hub."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.storage.store import save_user_dataset
from harness.api import hub, score, to_datasets
from metrics.errors import MissingResource
from metrics.models import checkpoint
from tests.conftest import Invoke, make_dataset
from tests.hub_server import serving


@pytest.mark.parametrize("name", ["persona-usr", "fed-dial"])
def test_items_and_votes_are_those_of_the_dataset(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  invoke: Invoke) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    dataset, parts = registry.sample(registry.card(name)), to_datasets(name)
    assert parts["items"].info.license == dataset.card.licence
    assert parts["items"].info.citation == dataset.card.citation
    assert "simulated raters" in parts["votes"].info.description
    assert [(row["item"], row["quality"], row["vote"]) for row in parts["votes"]] == [
        (rating.item, rating.quality, vote) for rating in dataset.ratings for vote in rating.votes]
    for row, item in zip(parts["items"], dataset.items, strict=True):
        turns = row["dialogue"] if name == "fed-dial" else row["context"]
        assert (row["id"], row["facts"]) == (item.id, list(item.facts))
        assert (turns, row["references"]) == (list(map(dataclasses.asdict, item.context)),
                                              list(map(dataclasses.asdict, item.references)))
    scored = score("length", parts["items"])["length"]
    assert name == "fed-dial" or scored.tolist() == score("length", dataset)["length"].tolist()
    assert f"{len(dataset.items)} items" in invoke("export", name, "--out", tmp_path / "out").out
    for part, table in parts.items():
        read = datasets.load_dataset(str(tmp_path / "out"), part, split="train")
        assert read.features == table.features
        assert read.to_list() == table.to_list()


def at_hub(address: str, who: str, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a new process, because the hub client reads its address on import."""
    cache = str(Path.cwd() / "hf")
    return subprocess.run([sys.executable, "-m", "harness", *argv], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "HF_ENDPOINT": address, "HF_TOKEN": f"hf_{who}", "HF_HOME": cache})


def test_dataset_is_exported_but_not_uploaded(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                              invoke: Invoke) -> None:
    monkeypatch.chdir(tmp_path)
    assert "hf upload" in invoke("export", "fed-turn", "--push", "me/fed", status=2).err
    dataset = make_dataset(["a", "b", "c"], [(1.0,), (2.0,), (3.0,)], split="own", sources=())
    for licence, known in (("CC BY 4.0", "cc-by-4.0"), ("CC0-1.0", "cc0-1.0"), ("Apache-2.0 (code)", "other"),
                           ("CC BY-ND 4.0", "other")):
        card = dataclasses.replace(dataset.card, licence=licence)
        assert f'license: "{known}"' in hub.readme(dataclasses.replace(dataset, card=card))
    save_user_dataset(dataset, home)
    invoke("export", "toy")
    assert {path.name for path in Path("toy").iterdir()} == {"README.md", "items.parquet", "votes.parquet"}
    Path("other").mkdir()
    Path("other/file").touch()
    invoke("export", "toy", "--out", "other", status=2)


def test_weights_round_trip_through_the_hub(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = checkpoint.SHIPPED / "mme-rm"
    with serving() as (address, served):
        pushed = at_hub(address, "mine", "export", str(shipped), "--push", "me/toy")
        assert pushed.returncode == 0, pushed.stderr
        readme = served.files["README.md"].decode()
        assert "`harness fetch me/toy`" in readme
        assert "DailyDialog, CC BY-NC-SA 4.0" in readme
        fetched = at_hub(address, "other", "fetch", "me/toy")
        assert fetched.returncode == 0, fetched.stderr
    weights = checkpoint.read("mme-rm", shipped)
    stored = checkpoint.find("mme-rm", weights.config["encoder"]["identity"], home)
    assert stored.folder.is_relative_to(home)
    assert stored.digest == weights.digest
    for name, damaged in (("card.json", b'{"name": "../../mine"}'), ("model.safetensors", b"other")):
        (tmp_path / name).mkdir()
        for path in stored.folder.iterdir():
            (tmp_path / name / path.name).write_bytes(damaged if path.name == name else path.read_bytes())
        with pytest.raises(MissingResource):
            checkpoint.install(tmp_path / name, home)
