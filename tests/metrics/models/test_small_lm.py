"""The language model of this package: tokenizer, eight-bit weights, training, and use as the default."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.corpora.corpora import Corpus, Dialogue, card
from benchmarks.dataset import Utterance
from metrics.errors import MetricError
from metrics.models import checkpoint
from metrics.models.device import Machine
from metrics.models.service import Choice, Models
from metrics.models.small_lm import CHARACTERS, END, OTHER, Pieces
from metrics.training.backbones.lm import CausalLanguageModel
from metrics.training.loop import fit
from metrics.training.recipe import Recipe, TrainingData
from tests.metrics.models.test_tokens import AWKWARD

torch = pytest.importorskip("torch")

TALK = ("hello there", "hello, how are you?", "i am fine, thank you. and you?", "i'm good. what do you like?",
        "i like tea and the sea", "do you like tea?", "yes, i do. tea is good")
SIZES = CausalLanguageModel(pieces=90, width=16, layers=1, heads=2, positions=24)


def talks(number: int, corpus: str = "dailydialog") -> tuple[Dialogue, ...]:
    """Return different dialogues made of the same few utterances."""
    return tuple(Dialogue(f"{corpus}-{index}", corpus, "train", tuple(
        Utterance("AB"[turn % 2], f"{TALK[(index + turn) % len(TALK)]} {index}") for turn in range(4 + index % 3)))
        for index in range(number))


@pytest.fixture
def data(home: Path) -> TrainingData:
    corpora = {name: Corpus(card(name), "0" * 64, talks(size, name), {})
               for name, size in (("dailydialog", 90), ("personachat", 40))}
    return TrainingData(corpora, Models(home, Choice(device="cpu")), 0)


def cut(pieces: Pieces, text: str) -> list[str]:
    return list(pieces.tokenizer().encode(text).tokens)


def test_spellings_of_corpora_are_normalised() -> None:
    for written, same in (
        ("I don ’ t know .", "i don't know."), ("i do n't know", "I don't know"), ("Hello , you", "hello, you"),
        ("café", "cafe"), ("  a   b\t c\n", "a b c"), ("“well…”", '"well..."'), ("i ' m here", "i'm here"),
        ("日本", OTHER), (" hello", "hello"), ("  ", ""),
    ):
        assert cut(Pieces(), written) == cut(Pieces(), same)
    assert cut(Pieces(), f"a{END}b") == ["▁", "a", END, "▁", "b"]
    assert cut(Pieces(), "") == []


def test_pieces_never_cross_spaces_punctuation_or_digits() -> None:
    pieces = Pieces.learn(["do you like tea?", "i don't like tea 12"] * 50, 100)
    assert cut(pieces, "like tea? don't 12") == ["▁like", "▁tea", "?", "▁don", "'t", "▁1", "2"]
    for text in (*AWKWARD, "".join(map(chr, range(0x3000)))):
        assert set(cut(Pieces(), text)) <= {END, *CHARACTERS}


def test_loss_and_gradients_equal_those_of_transformers(data: TrainingData) -> None:
    network = SIZES.objective(data).network.float()
    rows = torch.arange(26).reshape(2, 13) % 90
    states = network.gpt_neox(input_ids=rows[:, :-1]).last_hidden_state
    expected = torch.nn.functional.cross_entropy(
        (states @ network.gpt_neox.embed_in.weight.T).flatten(0, 1), rows[:, 1:].flatten())
    expected.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in network.named_parameters()}
    network.zero_grad()
    loss = network(rows)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=2e-3)  # bfloat16 if supported
    for name, parameter in network.named_parameters():
        atol = 0.02 * float(gradients[name].abs().max()) + 1e-6
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=0.1, atol=atol)


def test_a_batch_is_windows_that_begin_with_a_turn(data: TrainingData) -> None:
    objective = SIZES.objective(data)
    rng = np.random.default_rng(0)
    batches = [objective.draw(rng) for _ in range(20)]
    assert {batch.shape[1] - 1 for batch in batches} == {SIZES.positions, SIZES.positions // 2}
    for rows in (*batches, *objective.held_out):
        assert bool((rows[:, 0] == 0).all())
        assert bool((rows[:, 1] != 0).all())
    assert torch.equal(batches[0], objective.draw(np.random.default_rng(0)))


def test_training_learns_and_eight_bits_cost_little(data: TrainingData, tmp_path: Path, home: Path) -> None:
    objective = SIZES.objective(data)
    fitted = fit(objective, Recipe((), 12, rate=2e-2, every=12), Machine(), 0)
    assert fitted.best.held_out < 0.95 * np.log(90)
    notes: Mapping[str, Any] = objective.notes(objective.network)
    assert notes["the same in eight bits"] == pytest.approx(notes["held-out bits per character"], abs=0.02)
    few = Corpus(card("dailydialog"), "0" * 64, talks(3), {})
    with pytest.raises(MetricError, match="corpora"):
        SIZES.objective(TrainingData({"dailydialog": few}, Models(home), 0))


def test_the_users_own_model_is_the_default(data: TrainingData, home: Path) -> None:
    objective = SIZES.objective(data)
    fitted = fit(objective, Recipe((), 2, rate=1e-2, every=2), Machine(), 0)
    found = checkpoint.save(checkpoint.user_folder("lm", "", home), fitted.weights,
                            {"network": dict(objective.config), "encoder": None}, {"name": "lm"})
    models = Models(home, Choice(device="cpu"))
    assert models.identity("lm").startswith(f"dialogue-lm@{found.card['sha256']['model.safetensors'][:12]}.")
    assert models.display_name("lm") == "dialogue-lm"
    model = models.lm()
    assert model is models.lm()
    assert model.end == END
    [values] = model.log_likelihoods([("how are you?" + END, "i am fine")])
    ids = torch.tensor(model.tokenizer.plain(["how are you?" + END + "i am fine"]))
    scores = torch.log_softmax(model.networks[0](input_ids=ids).logits[0, :-1], -1).gather(1, ids[0, 1:, None])[:, 0]
    np.testing.assert_allclose(values, scores[-len(values):], atol=1e-5)


@pytest.mark.skipif(not (checkpoint.SHIPPED / "lm").is_dir(), reason="no model is shipped")
def test_fluent_and_fitting_texts_are_more_likely(home: Path) -> None:
    model = Models(home, Choice(device="cpu")).lm()
    fluent, jumbled, answer, other = (values.mean() for values in model.log_likelihoods([
        ("", "i am going to the store to buy some milk."), ("", "store milk the buy am to to some i going."),
        ("what is your favourite food?" + model.end, "i love pizza!"),
        ("when does the train leave?" + model.end, "i love pizza!")]))
    assert fluent > jumbled + 1
    assert answer > other
