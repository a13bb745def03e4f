"""Trained transformers: inputs, training, and scores equal to those in training."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from harness.cli import main  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.errors import BadOption, MetricError  # noqa: E402
from metrics.models import checkpoint  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.models.tokens import Pair  # noqa: E402
from metrics.trained.deb import Deb  # noqa: E402
from metrics.training import trainables  # noqa: E402
from metrics.training.backbones.dialogue import DialogueEncoder  # noqa: E402
from metrics.training.examples import Contrast  # noqa: E402
from metrics.training.loop import fit  # noqa: E402
from metrics.training.objectives import contrast, retrieval  # noqa: E402
from metrics.training.recipe import Recipe, TrainingData  # noqa: E402
from metrics.training.tuned import Tuned, network_of, tokenized  # noqa: E402
from tests import tiny_weights  # noqa: E402
from tests.conftest import make_item, refused  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
TINY = Recipe(("toy",), steps=4, rate=1e-2, every=2, batch=4, length=16, architecture="cross-encoder")
TOY = [Contrast(Pair((f"do you like {thing}",), f"yes i like {thing}"), Pair((f"do you like {thing}",), "the rain"))
       for thing in ("tea", "you")]


@pytest.fixture
def data(tmp_path: Path, tiny_encoder: Path) -> TrainingData:
    models = Models(tmp_path, Choice(encoder=str(tiny_encoder), device="cpu"))
    return TrainingData({"toy": tiny_weights.corpus()}, models, 0, recipe=TINY)


@pytest.fixture
def command(tmp_path: Path, tiny_encoder: Path) -> Callable[..., int]:
    """Return a function that runs `harness train` on the toy corpus with a tiny encoder."""
    return lambda *words, encoder=tiny_encoder: tiny_weights.train_by_command(tmp_path, encoder, *words)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_padding_does_not_change_a_row(pooling: str, data: TrainingData, rng: np.random.Generator) -> None:
    result = network_of(data, hidden=3, pooling=pooling)
    network = result.network.eval()
    rows = result.inputs(["tea", "do you like the rain", "hello there what is not"], rng)
    alone = [network(*result.inputs([text], rng)) for text in ("tea", "do you like the rain")]
    network.tokens = 8  # one row at a time
    torch.testing.assert_close(network(*rows)[:2], torch.cat(alone))


@pytest.mark.parametrize(("rank", "prefixes"), [(0, {"body", "head"}), (2, {"adapters", "head"})])
def test_the_body_or_its_adapters_are_trained(rank: int, prefixes: set[str], data: TrainingData) -> None:
    data.recipe = dataclasses.replace(TINY, rank=rank)
    names = checkpoint.trained_tensors(contrast(data, (TOY, TOY)).network)
    assert {name.partition(".")[0] for name in names} == prefixes
    assert not any("pooler" in name for name in names)
    data.untrained, data.recipe = None, dataclasses.replace(TINY, rank=2, checkpointing=True)
    with pytest.raises(BadOption, match="adapters"):
        network_of(data)


def test_each_example_is_judged_by_its_output(data: TrainingData) -> None:
    data.recipe = dataclasses.replace(TINY, margin=0.1, network={"outputs": 3, "dropout": 0.0})
    objective = contrast(data, (TOY, TOY))
    network, ((right, wrong), outputs) = objective.network.eval(), objective.held_out[0]
    assert network(*right).shape == (4, 3)
    better, worse = (torch.sigmoid(network(*side))[range(4), [0, 1, 2, 0]] for side in (right, wrong))
    loss = objective.loss(network, ((right, wrong), torch.tensor([[0], [1], [2], [0]])))
    assert loss.item() == pytest.approx((0.1 - better + worse).clamp_min(0).mean().item())
    assert outputs.flatten().tolist() == [0] * 4


def test_the_trained_transformer_is_an_encoder(data: TrainingData) -> None:
    """The merged encoder returns the same vectors as the trained network."""
    models, metric = data.models, DialogueEncoder()
    data.recipe = dataclasses.replace(metric.training, steps=4, every=2, batch=8, rank=2, length=16, rate=5e-2)
    objective = metric.objective(data)
    before, identity = models.encoder().sentences(["do you like tea"]), models.encoder().weights.identity
    fitted = fit(objective, data.recipe, models.machine, seed=0)
    checkpoint.save(checkpoint.user_folder("dialogue", identity, models.home), fitted.weights,
                    {"network": dict(objective.config), "encoder": {"name": "tiny", "identity": identity}},
                    {"name": "dialogue"})
    encoder = models.encoder("+dialogue")
    assert encoder.name.endswith("+dialogue")
    assert encoder.weights.identity != identity
    with torch.no_grad():
        expected = objective.network.eval().pooled(tokenized(["do you like tea"], encoder.tokenizer, 16)).numpy()
    assert fitted.steps == 4
    after = encoder.sentences(["do you like tea"])
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, expected, rtol=1e-2, atol=2e-3)  # float16
    data.encoder, data.untrained = "+dialogue", None
    with pytest.raises(BadOption, match=r"--encoder .*tiny-encoder$"):
        network_of(data)


def test_deb_from_pretraining_to_a_score(tmp_path: Path, command: Callable[..., int], tiny_encoder: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """Both stages give the same weights, bit for bit, if training is interrupted and resumed."""
    settings = ["deb", "--recipe", "paper", "--set", "batch=4", "--set", "every=3", "--set", "patience=9", "--set",
                "steps=6"]
    assert command("deb", "--recipe", "pretrain", "--steps", "2", "--set", "batch=4") == command(*settings) == 0
    whole = checkpoint.read("deb-paper", next((tmp_path / "checkpoints" / "deb-paper").iterdir()))
    assert (whole.card["steps"], whole.card["recipe"]["rate"]) == (6, 5e-5)
    assert whole.card["weights_read"].keys() == {"deb-pretrain"}
    assert command(*settings, "--fresh", "--minutes", "0") == 0
    assert checkpoint.read("deb-paper", whole.folder).card["steps"] == 3
    assert command(*settings) == 0
    assert "resuming" in capsys.readouterr().err
    assert checkpoint.read("deb-paper", whole.folder).digest == whole.digest
    assert command(*settings, "--set", "rank=2") == 2
    assert "rank" in capsys.readouterr().err
    requested = f"deb[recipe=paper,encoder={tiny_encoder}]"
    chosen = registry.choose(requested).metric
    assert chosen.card.system == "same method, smaller model"
    assert "bert-base-uncased" in chosen.card.departures[0]
    items = [make_item("a", "i like tea", context=("do you like tea",)), make_item("b", "x", context=())]
    column = chosen.score(items, Models(tmp_path, Choice(device="cpu")))["deb"]
    assert 0 < column[0] < 1
    assert np.isnan(column[1])
    assert main(["run", "--metric", requested, "--dataset", "convai2-grade", "--limit", "8", "--out",
                 str(tmp_path / "out"), "--home", str(tmp_path)]) == 0, "its signature has the weights it uses"


def test_deb_begins_as_bert_and_learns_by_both_losses(tmp_path: Path, command: Callable[..., int], data: TrainingData,
                                                      tiny_encoder: Path) -> None:
    """Before training it equals BERT's next-sentence layer; its losses, with masked words, equal transformers'."""
    import transformers

    folder = shutil.copytree(tiny_encoder, tmp_path / "bert")
    torch.manual_seed(1)
    bert = transformers.BertForPreTraining.from_pretrained(tiny_encoder).eval()
    bert.save_pretrained(folder)
    assert command("deb", "--recipe", "original", encoder=folder) == 0
    item, models = make_item("a", "i like tea", context=("do you like tea",)), Models(tmp_path, Choice(device="cpu"))
    score = registry.choose(f"deb[recipe=original,encoder={folder}]").metric.score([item], models)["deb"]
    tokens = models.encoder(str(folder)).tokenizer.wrapped("do you like tea", "i like tea", return_tensors="pt")
    with torch.no_grad():
        assert score[0] == pytest.approx(bert(**tokens).seq_relationship_logits.softmax(-1)[0, 0].item(), rel=1e-3)

    metric = registry.choose(f"deb[recipe=pretrain,encoder={folder}]").metric
    data.encoder, data.recipe = str(folder), dataclasses.replace(metric.training, batch=4, length=16)
    objective = metric.objective(data)
    batch, losses, words = objective.held_out[0], [], []
    for (rows,), sign in zip(batch[0], (-1, 1), strict=True):
        hidden = rows["targets"] >= 0
        assert bool(hidden.any(1).all())
        mask = (torch.arange(rows["ids"].shape[1]) < rows["lengths"][:, None]).long()
        with torch.no_grad():
            out = bert(input_ids=rows["ids"], attention_mask=mask, token_type_ids=rows["types"])
        losses.append(torch.nn.functional.softplus(
            sign * (out.seq_relationship_logits @ torch.tensor([1.0, -1.0]))).mean())
        words.append((out.prediction_logits[hidden], rows["targets"][hidden]))
    predicted = torch.nn.functional.cross_entropy(*map(torch.cat, zip(*words, strict=True)))
    with torch.no_grad():
        loss = objective.loss(objective.network.eval(), batch)
    assert loss.item() == pytest.approx((sum(losses) / 2 + predicted).item(), rel=1e-4)


@pytest.mark.parametrize(("words", "message"), [
    (["deb", "--recipe", "original"], "next-sentence"), (["deb", "--recipe", "pretrain"], "mask")])
def test_an_encoder_that_lacks_a_part_is_refused(words: list[str], message: str, tmp_path: Path, tiny_encoder: Path,
                                                 command: Callable[..., int],
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "plain")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "mask_token": None}))
    assert command(*words, encoder=folder) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_share_of_the_contexts_keeps_its_adversarial_replies(data: TrainingData) -> None:
    counts = {share: sum(example.wrong is not None for example in set(
        Deb(negatives=share)._labelled_contrasts(data.dialogues(), data.rng))) for share in ("1%", "10%", "both")}
    assert 0 < counts["1%"] < counts["10%"] < counts["both"]


def test_unknown_negatives_are_refused() -> None:
    assert Deb(negatives="0.5%", recipe="paper").weights_name == "deb-paper-0-5-per-cent"
    for negatives in ("some", "100%", "%", "-1%", "0%"):
        with refused(BadOption, f"negatives={negatives}"):
            Deb(negatives=negatives)


def test_settings_are_parsed_and_checked() -> None:
    recipe = Recipe(("toy",), 10, architecture="cross-encoder", network={"hidden": 4})
    recipe = recipe.with_settings(["rate=2e-5", "batch=16", "hidden=8"])
    assert (recipe.rate, recipe.batch, recipe.network) == (2e-5, 16, {"hidden": 8})
    for wrong, part in (("speed=1", "speed"), ("batch=many", "batch=16"), ("batch", "batch"), ("encoder=x", "encoder"),
                        ("checkpointing=yes", "checkpointing=False"), ("schedule=constnat", "'constant'"),
                        ("batch=-5", "at least 1"), ("warmup=2", "at most 1"), ("rate=nan", "finite")):
        with pytest.raises(BadOption, match=part):
            recipe.with_settings([wrong])
    epochs = Recipe((), 1, batch=4, accumulate=2, epochs=3)
    assert [epochs.with_settings([setting]).over(80).steps for setting in ("epochs=1.5", "steps=20")] == [15, 20]
    assert Recipe((), 1, epochs=3).over(1280).steps == 30, "batches of 128 by default"


def test_a_batch_that_does_not_fit_is_halved(command: Callable[..., int], monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    read = Tuned._read

    def small(self: Tuned, rows: Any, chunk: Any) -> Any:
        if len(rows["ids"]) > 4:
            raise RuntimeError("CUDA out of memory")
        return read(self, rows, chunk)

    monkeypatch.setattr(Tuned, "_read", small)
    assert command("deb", "--recipe", "pretrain", "--steps", "1", "--set", "batch=8") == 0
    assert "2 batches of 4" in capsys.readouterr().err


def test_ineffective_and_invalid_settings_are_refused() -> None:
    for requested, setting, part in (
        ("mlm", "rank=2", "effect"), ("mlm", "batch=2", "effect"), ("lm", "length=8", "effect"),
        ("bert-ruber", "rank=64", "effect"), ("adem", "margin=1", "effect"), ("dialogue", "masked=0.1", "effect"),
        ("usr", "rank=2", "effect"), ("mme-fm[recipe=paper,encoder=x]", "pooling=maxx", "'max'"),
        ("mme-fm", "reads=none", "mean, max, both"),
    ):
        recipe = trainables.choose(requested).trainable.training
        with pytest.raises(BadOption, match=part):
            recipe.with_settings([setting], next(iter(recipe.parts), ""))


def test_settings_override_those_of_the_parts_that_use_them() -> None:
    recipe = trainables.choose("usr").trainable.training
    changed = {part: recipe.with_settings(["turns=2", "batch=8"], part) for part in recipe.parts}
    assert [part.batch for part in changed.values()] == [8, 8, 8]
    assert [part.network for part in changed.values()] == [{"turns": 2}, {}, {}]


def test_a_part_reads_the_parts_trained_into_the_same_folder(tmp_path: Path, command: Callable[..., int]) -> None:
    assert command("mlm", "--steps", "1") == command("usr", "--steps", "2", "--out", str(tmp_path / "out")) == 0
    read = checkpoint.read("usr-regression", tmp_path / "out" / "usr-regression").card["weights_read"]
    for name in ("usr-dr-c", "usr-dr-f"):
        assert read[name] == checkpoint.read(name, tmp_path / "out" / name).identity


def test_a_response_is_never_its_own_false_response(data: TrainingData) -> None:
    examples = [row._replace(wrong=None) for row in TOY]

    def refuses(objective: Callable[..., object], batch: int, held_out: list[Contrast]) -> None:
        data.recipe = dataclasses.replace(TINY, batch=batch, architecture="match")
        with pytest.raises(MetricError, match="2"):
            objective(data, (examples, held_out))

    refuses(contrast, 1, examples)
    refuses(retrieval, 1, examples)
    refuses(contrast, 4, examples[:1])


@pytest.mark.slow
def test_two_processes_train_together(tmp_path: Path, tiny_encoder: Path) -> None:
    """Both stop, resume or start again, also if one has lost its state, and neither repeats a completed one."""
    def launched(*words: str) -> str:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m",
                   "harness", "train", "deb", "--recipe", "pretrain", "--steps", "4", "--set", "batch=4", "--set",
                   "every=2", "--encoder", str(tiny_encoder), "--corpus", str(tiny_weights.corpus_file(tmp_path)),
                   "--home", str(tmp_path), "--device", "cpu", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout + done.stderr

    for lost, steps in ((False, ["4", "4"]), (True, ["2", "2", "4", "4"])):
        launched("--fresh", "--minutes", "0")
        second, _ = sorted((tmp_path / "training").glob("*.state"))
        if lost:
            second.unlink()
        assert sorted(re.findall(r"step (\d) of 4,", launched())) == steps
        assert not list((tmp_path / "training").glob("*.state"))
    assert launched().count("already trained") == 2
    (folder,) = (tmp_path / "checkpoints" / "deb-pretrain").iterdir()
    assert checkpoint.read("deb-pretrain", folder).card["steps"] == 4
