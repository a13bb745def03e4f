"""Checkpoints: written atomically, found for the right encoder, and refused with a reason if damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from metrics.errors import MetricError, MissingResource  # noqa: E402
from metrics.models import checkpoint  # noqa: E402
from metrics.models.checkpoint import Checkpoint  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from tests.conftest import refused  # noqa: E402

MINE, OTHER = "mine@" + "a" * 12 + ".aaaaaa", "other@" + "b" * 12 + ".bbbbbb"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(checkpoint, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "shipped"


def write(folder: Path, encoder: str = MINE, fill: float = 0.5, **config: Any) -> Checkpoint:
    network = torch.nn.Linear(3, 2)
    torch.nn.init.constant_(network.bias, fill)
    named = {"name": encoder.partition("@")[0], "identity": encoder} if encoder else None
    return checkpoint.save(folder, network.state_dict(), {
        "network": {"in_features": 3, "out_features": 2} | config, "encoder": named}, {"name": "toy", "held_out": 0.5})


@pytest.fixture
def kept(home: Path, shipped: Path) -> Path:
    return write(checkpoint.user_folder("toy", MINE, home)).folder


def test_weights_are_stored_as_float16_and_read_as_float32(home: Path, kept: Path, tiny_encoder: Path) -> None:
    from safetensors.torch import load_file

    stored = load_file(kept / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.float16}
    found = checkpoint.find("toy", MINE, home)
    assert found.card["held_out"] == 0.5
    assert found.encoder == "mine"
    models = Models(home, Choice(encoder=str(tiny_encoder), device="cpu"))
    write(checkpoint.user_folder("toy", models.encoder().weights.identity, home), models.encoder().weights.identity)
    network = models.trained("toy", torch.nn.Linear)
    assert network.weight.dtype == torch.float32
    assert network.bias.tolist() == [0.5, 0.5]
    assert not network.training
    assert not network.weight.requires_grad
    assert models.trained("toy", torch.nn.Linear) is network
    assert ("checkpoint", "toy") in models.requested


def test_the_checkpoint_of_the_encoder_is_preferred(home: Path, shipped: Path) -> None:
    """An encoder is known by its digest, not its name; the user's own checkpoints precede the shipped ones."""
    write(shipped / "toy", MINE)
    write(shipped / "toy" / "large", OTHER)
    assert checkpoint.find("toy", OTHER, home).folder.name == "large"
    assert checkpoint.find("toy", "a-folder@" + MINE.partition("@")[2], home).folder.name == "toy"
    own = write(checkpoint.user_folder("toy", MINE, home), fill=1.0)
    assert checkpoint.find("toy", MINE, home) == own
    assert own.digest != checkpoint.read("toy", shipped / "toy").digest
    write(checkpoint.user_folder("any", "", home), "")  # uses no encoder
    assert checkpoint.find("any", OTHER, home) == checkpoint.find("any", "", home)
    models = Models(home, Choice(encoder="./no-such-folder", device="cpu"))
    assert models.trained("any", torch.nn.Linear).out_features == 2


def test_weights_of_another_encoder_are_refused_with_a_hint(home: Path, kept: Path, shipped: Path) -> None:
    with refused(MissingResource, MINE, OTHER, "`harness train toy --encoder other`"):
        checkpoint.find("toy", OTHER, home)
    write(checkpoint.user_folder("toy", "other+dialogue@dd.d", home), "other+dialogue@dd.d")
    with refused(MissingResource, "`--encoder other+dialogue`"):
        checkpoint.find("toy", OTHER, home)
    with refused(MissingResource, MINE):
        checkpoint.find("toy", "", home)
    with refused(MissingResource, "`pip install ./weights`"):
        checkpoint.find("not-here-paper-part", "", home)
    shipped.mkdir()
    with refused(MissingResource, "`harness train not-here --recipe paper`"):
        checkpoint.find("not-here-paper-part", "", home)


def spoiled(path: Path, change: Any) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    *((lambda folder, name=name: (folder / name).unlink(), name)
      for name in ("model.safetensors", "config.json", "card.json")),
    (lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1]),
     "model.safetensors"),
    (lambda folder: spoiled(folder / "config.json", lambda config: config["network"].update(out_features=3)),
     "config.json"),
    (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
    (lambda folder: (folder / "card.json").write_bytes(b"\xff\xfe"), "card.json"),
    (lambda folder: (folder / "card.json").write_text("[]"), "card.json"),
    (lambda folder: spoiled(folder / "card.json", lambda card: card.pop("sha256")), "'sha256'"),
    (lambda folder: spoiled(folder / "config.json", lambda config: config.pop("encoder")), "which encoder"),
    (lambda folder: spoiled(folder / "config.json", lambda config: config.pop("network")), "'network'"),
]


def test_a_damaged_checkpoint_is_refused(home: Path, shipped: Path) -> None:
    write(checkpoint.user_folder("toy", OTHER, home), OTHER)
    for damage, part in DAMAGES:
        damage(write(checkpoint.user_folder("toy", MINE, home)).folder)
        with refused(MissingResource, part, "harness train toy --fresh"):
            checkpoint.find("toy", MINE, home)
        if part != "which encoder":  # weights that do not say so may belong to any encoder
            assert checkpoint.find("toy", OTHER, home).encoder == "other"
        shutil.rmtree(checkpoint.user_folder("toy", MINE, home))


def test_weights_of_another_network_are_refused(home: Path, shipped: Path) -> None:
    for config, part in (({"out_features": 3}, "size mismatch"), ({"colour": "red"}, "colour"),
                         ({"bias": False}, "bias")):
        write(shipped / "toy", "", **config)
        with refused(MissingResource, part):
            Models(home, Choice(device="cpu")).trained("toy", torch.nn.Linear)

    def use(**weights: Any) -> None:
        """Save and load two layers, of which only the first is learned and saved."""
        checkpoint.save(shipped / "toy", weights, {"network": {}, "encoder": None}, {"name": "toy"})
        Models(home, Choice(device="cpu")).trained("toy", lambda: torch.nn.Sequential(
            torch.nn.Linear(1, 1), torch.nn.Linear(1, 1).requires_grad_(False)))

    use(**{"0.weight": torch.ones(1, 1), "0.bias": torch.ones(1)})
    with refused(MissingResource, "0.bias"):
        use(**{"0.weight": torch.ones(1, 1)})


def test_a_failed_write_changes_nothing(home: Path, kept: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        checkpoint.save(kept, {}, {"network": {}, "encoder": None}, {"not json": object()})
    assert checkpoint.find("toy", MINE, home).folder == kept
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(MetricError, match="thesis"):
        write(tmp_path)
    with pytest.raises(MetricError):
        write(tmp_path / "thesis.txt")


def test_eight_bits_round_to_the_nearest_step() -> None:
    """A step is 1/127 of the row's maximum; the scale itself is rounded to float16."""
    matrix = torch.linspace(-100, 90, 2 * checkpoint.MIN_INT8_SIZE).reshape(2, -1) * torch.tensor([[1.0], [0.01]])
    read = checkpoint.decompressed(checkpoint.compressed({"matrix": matrix}, eight_bits=True))["matrix"]
    assert bool(((read - matrix).abs().amax(1) <= matrix.abs().amax(1) * 0.0046).all())
    weights = {"vector": torch.tensor([0.5, -2.5]), "small": torch.ones(3, 3), "whole": torch.tensor([7]),
               "large": torch.tensor([1e6]), "matrix": torch.ones(64, 64), "lost": torch.full((64, 64), torch.nan),
               "many": torch.ones(4, 64, 64), "none": torch.zeros(0),
               "norm.scale": torch.ones(3)}
    stored = checkpoint.compressed(weights, eight_bits=True)
    assert {name: tensor.dtype for name, tensor in stored.items()} == {
        "vector": torch.float16, "small": torch.float16, "whole": torch.int64, "large": torch.float32,
        "matrix": torch.int8, "matrix.scale": torch.float16, "lost": torch.float32, "many": torch.int8,
        "many.scale": torch.float16, "none": torch.float32, "norm.scale": torch.float16}
    read = checkpoint.decompressed(stored)
    assert read.keys() == weights.keys()
    for name, tensor in weights.items():
        torch.testing.assert_close(read[name], tensor, rtol=1e-3, atol=1e-4, equal_nan=True)
