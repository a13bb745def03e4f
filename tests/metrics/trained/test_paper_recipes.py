"""The papers' systems, trained end to end on a tiny encoder: their networks against those of transformers."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks.dataset import Utterance  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.metric import checkpoints  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.training.recipe import TrainingData  # noqa: E402
from tests import tiny_weights  # noqa: E402
from tests.conftest import make_item  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
ITEMS = (make_item("a", "i like tea", "what is tea", context=("do you like tea", "what is it")),
         dataclasses.replace(make_item("b", "the rain", context=()), facts=("it rains",)),
         make_item("c", " ", "hello", context=("hello there",)))



@pytest.fixture
def trained(tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that trains a metric's recipe `paper` for two steps of four rows, and scores ITEMS."""
    tiny_weights.with_few_pairs(monkeypatch)

    def train(requested: str, *settings: str) -> tuple[Models, Any, dict[str, Any]]:
        head = requested.partition("[")[0] in {"adem", "bert-dnn", "bert-ruber", "ruber"}  # no transformer is trained
        models, metric = tiny_weights.by_paper(requested, tmp_path, tiny_encoder, "batch=4", "every=1", *settings,
                                               *["length=32"] * (not head), inference=True)
        assert metric.card.system == "same method, smaller model"
        return models, metric, dict(metric.score(ITEMS, models))

    return train


def stored(models: Models, name: str, encoder: str) -> tuple[Any, dict[str, Any]]:
    """Return the transformer with the trained weights, and the head's weights, as transformers reads them."""
    import transformers

    weights = models.checkpoint(name, encoder).weights()
    body = transformers.AutoModel.from_pretrained(encoder)
    table = "body.embeddings.word_embeddings.weight"
    body.resize_token_embeddings(len(weights[table]), mean_resizing=False)
    body.load_state_dict({key[5:]: value for key, value in weights.items() if key.startswith("body.")}, strict=False)
    return body.eval(), {key[5:]: value for key, value in weights.items() if key.startswith("head.")}


@pytest.mark.parametrize("name", ["fined-eval", "fined-eval-multitask"])
def test_fined_eval(name: str, trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """The dialogue is a sequence with </UTT> after each utterance; its mean state is scored by a linear layer."""
    models, metric, columns = trained(name)
    parts = [columns[column] for column in metric.card.columns[1:]]
    assert np.isfinite(np.array(parts)).T.tolist() == [[True] * 3, [False] * 3, [False] * 3]
    np.testing.assert_allclose(columns[name], np.mean(parts, axis=0))
    outputs = []
    for weights in checkpoints(metric):
        body, head = stored(models, weights, str(tiny_encoder))
        texts = models.encoder(str(tiny_encoder)).tokenizer.wrapped
        last = body.config.vocab_size - 1
        middle = [number for turn in ITEMS[0].utterances for number in
                  (*texts(turn.text, add_special_tokens=False).input_ids, last)]
        ids = torch.tensor([[texts.cls_token_id, *middle, texts.sep_token_id]])
        with torch.no_grad():
            states = body(ids, output_hidden_states=True).hidden_states[-2][0]
        outputs += torch.sigmoid(states.mean(0) @ head["out.weight"].T + head["out.bias"]).tolist()
    np.testing.assert_allclose([part[0] for part in parts], outputs, rtol=1e-4)


def by_hand(models: Models, weights: str, encoder: str, pooling: str, *texts: str) -> float:
    """Return P of the texts as one sequence: pooled states, a layer with tanh if there is one, and a linear layer."""
    body, head = stored(models, weights, encoder)
    with torch.no_grad():
        states = body(**models.encoder(encoder).tokenizer.wrapped(*texts, return_tensors="pt")).last_hidden_state[0]
    vector = {"max": states.amax(0), "mean": states.mean(0), "cls": states[0]}[pooling]
    if "dense.weight" in head:
        vector = torch.tanh(head["dense.weight"] @ vector + head["dense.bias"])
    return float(torch.sigmoid(head["out.weight"] @ vector + head["out.bias"]))


SAID, REPLY = "do you like tea what is it", "i like tea"


@pytest.mark.parametrize(("name", "pooling", "texts"), [
    ("mme-fm", "max", (REPLY,)), ("mme-rm", "max", (SAID, REPLY)), ("mme-em", "mean", (REPLY,)),
    ("bert-regressor", "cls", ("what is tea", REPLY))])
def test_one_network(name: str, pooling: str, texts: tuple[str, ...], trained: Callable[..., Any],
                     tiny_encoder: Path) -> None:
    """The sequence is the response, or context or reference and response; NaN if these are missing."""
    models, metric, columns = trained(name, *(["hidden=6"] if name in ("mme-em", "bert-regressor") else []))
    assert np.isfinite(columns[name]).tolist() == [True, len(texts) == 1, True]
    expected = by_hand(models, *checkpoints(metric), str(tiny_encoder), pooling, *texts)
    assert columns[name][0] == pytest.approx(expected, rel=1e-4)


def test_a_step_has_as_many_examples_as_in_the_released_code() -> None:
    """A contrast is two examples: a true reply and a false one."""
    for name, part, expected in (("bert-dnn", "", 512), ("ruber", "", 256), ("usl-h", "vup", 16), ("usl-h", "nup", 16),
                                 ("deb", "", 32), ("usr", "dr-c", 32)):
        metric: Any = registry.choose(f"{name}[recipe=paper]").metric
        recipe = metric.training.of_part(part)
        assert recipe.batch * recipe.accumulate * (1 + ("contrast" in recipe.losses)) == expected, name


def test_half_of_the_true_replies_of_mme_rm_lose_their_stop_words(tmp_path: Path) -> None:
    metric: Any = registry.choose("mme-rm[recipe=paper]").metric
    dialogues = tuple(dataclasses.replace(tiny_weights.corpus().dialogues[0], utterances=tuple(
        Utterance("A", f"it is {number}") for number in range(start, start + 100))) for start in range(0, 8_000, 100))
    data = TrainingData({"toy": dataclasses.replace(tiny_weights.corpus(), dialogues=dialogues)}, Models(tmp_path), 0,
                        read=lambda texts: np.ones((len(texts), 4), np.float16), recipe=metric.training)
    shortened = [row.right.response.isdigit() for row in metric.examples(data)[0]]
    assert len(shortened) > 6_000
    assert np.mean(shortened) == pytest.approx(0.5, abs=0.02)


def test_usl_h(trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """Two networks use the largest states; the quartiles of the likelihoods are stored with the first."""
    models, metric, columns = trained("usl-h")
    vup, nup, _ = checkpoints(metric)
    head = models.scorer(vup, str(tiny_encoder)).network
    assert 0 < head.low < head.high
    for column, weights, texts in (("usl-h-vup", vup, (REPLY,)), ("usl-h-nup", nup, (SAID, REPLY))):
        expected = by_hand(models, weights, str(tiny_encoder), "max", *texts)
        assert columns[column][0] == pytest.approx(expected, rel=1e-4)
    valid, follows, specific = (columns[f"usl-h-{part}"] for part in ("vup", "nup", "mlm"))
    np.testing.assert_allclose(columns["usl-h"], valid * (1 + follows * (1 + specific)) / 3)
    assert np.isfinite(columns["usl-h-nup"]).tolist() == [True, False, True]


def test_usr(trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """The context or the facts before the response, and a regression on the sub-scores."""
    models, metric, columns = trained("usr", "hidden=6")
    by_context, by_fact, regression, _ = checkpoints(metric)
    for column, weights, row, texts in (("usr-dr-c", by_context, 0, (SAID, REPLY)),
                                        ("usr-dr-f", by_fact, 1, ("it rains", "the rain"))):
        expected = by_hand(models, weights, str(tiny_encoder), "cls", *texts)
        assert 1 / (1 + np.exp(-columns[column][row])) == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(columns["usr-dr-c"]).tolist() == [True, False, True]
    assert np.isfinite(columns["usr-dr-f"]).tolist() == [False, True, False]
    weights = models.checkpoint(regression, str(tiny_encoder)).weights()
    scores = torch.tensor([columns["usr-mlm"][0], columns["usr-dr-c"][0]], dtype=torch.float32)
    logit = weights["without_facts.weight"] @ scores + weights["without_facts.bias"]
    assert columns["usr"][0] == pytest.approx(torch.sigmoid(logit).item(), rel=1e-4)


@pytest.mark.parametrize(("name", "said"), [("bert-dnn", SAID), ("bert-ruber", "what is it")])
def test_layers_over_a_frozen_encoder(name: str, said: str, trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """BERT+DNN: tanh layers over max-pooled states; BERT-RUBER: ReLU layers over them and their product."""
    models, metric, columns = trained(name, "first=5", "second=6", "third=4")
    column = columns["bert-ruber-unreferenced" if name == "bert-ruber" else name]
    weights = models.checkpoint(*checkpoints(metric), str(tiny_encoder)).weights()
    texts = said, REPLY, ITEMS[0].references[0].text
    query, answer, reference = torch.from_numpy(models.encoder(str(tiny_encoder)).sentences(texts, "max"))
    states, between = torch.cat([query, answer]), torch.tanh
    if name == "bert-ruber":
        states, between = torch.cat([states, (query @ weights["bilinear"] @ answer)[None]]), torch.relu
    for layer in (0, 3, 6, 9):
        states = weights[f"layers.{layer}.weight"] @ states + weights[f"layers.{layer}.bias"]
        states = between(states) if layer < 9 else states
    assert len(states) == 1
    assert column[0] == pytest.approx(torch.sigmoid(states).item(), rel=1e-4)
    assert np.isfinite(column).tolist() == [True, False, True]
    if name == "bert-ruber":
        cosine = torch.nn.functional.cosine_similarity(reference, answer, dim=0).item()
        assert columns["bert-ruber-referenced"][0] == pytest.approx((1 + cosine) / 2, rel=1e-4)


def test_adem(trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """Context, reference and response on principal axes, against the formula."""
    models, metric, columns = trained("adem", "size=5")
    kept = models.checkpoint(*checkpoints(metric), str(tiny_encoder))
    weights, sizes = kept.weights(), kept.config["network"]
    assert weights["axes"].shape == (16, 5)
    vectors = torch.from_numpy(models.encoder(str(tiny_encoder)).sentences([SAID, "what is tea", REPLY], "mean"))
    c, g, r = (torch.nn.functional.normalize(vectors, dim=-1) - weights["centre"]) @ weights["axes"]
    score = (c @ weights["with_context"] @ r + g @ weights["with_reference"] @ r - sizes["alpha"]) / sizes["beta"]
    assert columns["adem"][0] == pytest.approx((score.item() - 1) / 4, rel=1e-3)
    assert np.isfinite(columns["adem"]).tolist() == [True, False, True]


@pytest.mark.parametrize(("rated", "ratings"), [((), {1.0, 5.0}), ([["i like it", 2], ["what", 4.5]], {2.0, 4.5})])
def test_adem_learns_from_ratings(rated: Any, ratings: set[float], tmp_path: Path, tiny_encoder: Path) -> None:
    metric: Any = registry.choose("adem[recipe=paper]").metric
    toys = tiny_weights.corpus()
    dialogues = tuple(dataclasses.replace(row, labels={**row.labels, "rated_responses": rated})
                      for row in toys.dialogues if "positive_responses" in row.labels)
    models = Models(tmp_path, Choice(encoder=str(tiny_encoder), device="cpu"))
    objective = metric.objective(TrainingData(
        {"toy": dataclasses.replace(toys, dialogues=dialogues)}, models, 0, recipe=metric.training))
    batch, network = objective.draw(np.random.default_rng(0)), objective.network.train()
    assert set(batch[1].tolist()) == ratings
    squares = network.with_context.square().sum() + network.with_reference.square().sum()
    penalised = objective.loss(network, batch)
    assert (penalised - objective.loss(network.eval(), batch)).item() == pytest.approx(0.01 * squares.item())


def test_ruber(trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """The network is as wide as requested; a large one is twice as wide and deep."""
    for options, sizes in (("", (1, 5, 8)), ("[size=large]", (2, 10, 8))):
        models, metric, columns = trained(f"ruber{options}", "size=8", "hidden=5")
        network = models.scorer(*checkpoints(metric), str(tiny_encoder)).network
        reader = network.context[0]
        assert (reader.num_layers, reader.hidden_size, reader.input_size) == sizes
        assert np.isfinite(columns["ruber-unreferenced"]).tolist() == [True, False, True]
