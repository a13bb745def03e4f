"""The masked language model: agreement with transformers, training, and what does not change a likelihood."""

from pathlib import Path

import numpy as np
import pytest

from metrics.errors import BadOption, MissingResource
from metrics.models import networks
from metrics.models.checkpoint import trained_tensors
from metrics.models.masked import MaskedModel, log_likelihoods, mean_log_likelihoods
from metrics.models.service import Choice, Models
from metrics.training.backbones.mlm import MaskedLanguageModel, masked
from metrics.training.loop import Fitted
from metrics.training.recipe import TrainingData
from tests import tiny, tiny_weights
from tests.conftest import make_item

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def trained(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fitted]:
    """A home with weights for the tiny encoder, and the result of their training."""
    models = Models(tmp_path_factory.mktemp("trained"), Choice(encoder=str(tiny_encoder)))
    return models.home, tiny_weights.train("mlm[rank=2]", models, steps=12, every=6, rate=2e-2)[0]


@pytest.fixture
def models(trained: tuple[Path, Fitted], tiny_encoder: Path) -> Models:
    return Models(trained[0], Choice(encoder=str(tiny_encoder)))


@pytest.fixture
def model(models: Models) -> MaskedModel:
    return models.masked()


def by_hand(model: MaskedModel, context: str, text: str) -> list[float]:
    """Return log p of each token, masked in turn, from transformers' network with unmerged adapters."""
    body = networks.load("AutoModel", model.encoder.weights, model.encoder.machine).eval()
    head = model._head
    tokenizer = model.encoder.tokenizer.wrapped
    read = tokenizer(context, text, return_tensors="pt") if context else tokenizer(text, return_tensors="pt")
    count = len(tokenizer.tokenize(text))
    size = read["input_ids"].shape[1]
    likelihoods = []
    for position in range(size - 1 - count, size - 1):
        ids, target = read["input_ids"].clone(), int(read["input_ids"][0, position])
        ids[0, position] = tokenizer.mask_token_id
        with torch.no_grad(), head.masking(body, tokenizer.mask_token_id):
            states = body(input_ids=ids, token_type_ids=read["token_type_ids"]).last_hidden_state
            scores = head.logits(states[0, position], body.get_input_embeddings().weight)
        likelihoods.append(float(scores.log_softmax(0)[target]))
    return likelihoods


def test_likelihoods_equal_those_computed_by_hand(model: MaskedModel, models: Models) -> None:
    pairs = [("", "what do you like?"), ("hello there", "i like tea"), ("", "tea"), ("what", "x y z . tea ☃")]
    for found, (context, text) in zip(model.log_likelihoods(pairs, copies=64), pairs, strict=True):
        np.testing.assert_allclose(found, by_hand(model, context, text), atol=1e-4)
    before = models.encoder().sentences(["hello there"])
    model.log_likelihoods([("", "hello there")])
    np.testing.assert_array_equal(Models(models.home, models.choice).encoder().sentences(["hello there"]), before)


def test_a_long_text_is_processed_in_the_given_number_of_copies(model: MaskedModel) -> None:
    """With 4 copies, tokens 0 and 4 of the five are masked together; the others have the exact likelihood."""
    text = "the tea is not good"
    exact, together = (model.log_likelihoods([("", text)], copies)[0] for copies in (64, 4))
    np.testing.assert_allclose(together[1:4], exact[1:4], atol=1e-5)
    assert abs(together[0] - exact[0]) > 1e-4
    rows = tiny.rows_read(model)
    model.log_likelihoods([("", "a b c d e f g h i j")], 4)
    assert sum(rows) == 4
    with pytest.raises(BadOption, match="copies=-1"):
        model.log_likelihoods([("", text)], -1)


def test_long_texts_have_two_copies_and_short_ones_one_per_token(model: MaskedModel) -> None:
    for text, copies in (("i like tea", 64), ("a b c d e f g " * 12, 2)):
        by_length, fixed = (model.log_likelihoods([("", text)], *option)[0] for option in ((), (copies,)))
        np.testing.assert_allclose(by_length, fixed, atol=1e-5)


def test_means_are_over_tokens_after_the_last_utterance(model: MaskedModel) -> None:
    items = [make_item("a", " i like tea ", context=("no", "hello there")), make_item("b", "tea", context=()),
             make_item("c", " ")]
    after, alone = mean_log_likelihoods(items, model), log_likelihoods(items, model)
    np.testing.assert_allclose(alone[0], by_hand(model, "", "i like tea"), atol=1e-4)
    np.testing.assert_allclose(after, [np.mean(by_hand(model, "hello there", "i like tea")), alone[1][0], np.nan],
                               atol=1e-4)
    assert [values.size for values in alone] == [3, 1, 0]


def test_training_learns_and_saves_only_trained_weights(trained: tuple[Path, Fitted], models: Models) -> None:
    fitted = trained[1]
    assert {name.partition(".")[0] for name in fitted.weights} == {"dense", "norm", "bias", "mask", "down", "up"}
    data = TrainingData({"toy": tiny_weights.corpus()}, models, seed=0)
    bare = MaskedLanguageModel(rank=0).objective(data)
    assert {name.partition(".")[0] for name in trained_tensors(bare.network)} == {"dense", "norm", "bias"}
    assert bare.draw(np.random.default_rng(0))["targets"].numel()
    before = float(bare.notes(bare.network)["masked_perplexity"])
    assert np.exp(fitted.best.held_out) < 0.8 * before


def test_a_batch_masks_its_share_and_at_least_one_token_per_text(home: Path, tiny_encoder: Path) -> None:
    encoder = Models(home, Choice(encoder=str(tiny_encoder))).encoder()
    texts = encoder.tokenizer.texts(["tea", "a b c d e f g h i j " * 4, "☃ ☃"])
    for share in (0.0, 0.5, 1.0):
        batch = masked(texts, encoder, np.random.default_rng(0), share)
        ids = batch["input_ids"]
        chosen = ids == 4
        assert chosen.sum() == len(batch["positions"]) == len(batch["targets"])
        counts = chosen.sum(1).tolist()
        assert counts == {0.0: [1, 1, 1], 1.0: [1, 40, 2]}.get(share, [1, counts[1], counts[2]])
        restored = ids.flatten().clone()
        restored[batch["positions"]] = batch["targets"]
        assert restored.view(ids.shape)[1, : len(texts[1].ids)].tolist() == texts[1].ids


def test_the_embedded_model_replaces_missing_weights_but_no_encoder(home: Path, tiny_encoder: Path) -> None:
    models, embedded = Models(home, Choice(encoder=str(tiny_encoder))), Models(home)
    assert models.masked().encoder.weights.identity == embedded.encoder().weights.identity
    assert models.checkpoint("mlm").digest == embedded.checkpoint("mlm").digest
    with pytest.raises(MissingResource, match="no-such-encoder"):
        Models(home, Choice(encoder="./no-such-encoder")).masked()


def test_an_encoder_without_mask_is_refused(home: Path, tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "maskless")
    settings = folder / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"mask_token": "[MASK]"', '"mask_token": null'))
    models = Models(home, Choice(encoder=str(folder)))
    with pytest.raises(BadOption, match="mask"):
        MaskedLanguageModel().objective(TrainingData({"toy": tiny_weights.corpus()}, models, seed=0))
