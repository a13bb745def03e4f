"""Trained metrics: architectures, losses and blends by hand; the contract of the bundled ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.corpora.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Item, Utterance
from metrics import evidence, registry
from metrics.errors import MetricError
from metrics.models import catalogue, checkpoint
from metrics.models.service import Choice, Models
from metrics.models.tokens import Pair
from metrics.models.weights import Weights
from metrics.trained.adem import rated_replies
from metrics.trained.mme_em import rated_utterances
from metrics.trained.ruber import blended, referenced
from metrics.trained.usl_h import composite, specificity
from metrics.trained.usr import sentences
from metrics.training import trainables
from metrics.training.examples import intact_or_corrupted, response_contrasts
from metrics.training.recipe import TrainingData
from tests.conftest import make_item
from tests.tiny_weights import METRICS

torch = pytest.importorskip("torch")
heads = pytest.importorskip("metrics.models.architectures.heads")
objectives = pytest.importorskip("metrics.training.objectives")

CONTEXT = torch.tensor([[[3.0, 4.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]], [[0.0, 5.0, 0.0, 6.0], [1.0, 0.0, 9.0, 0.0]]])
REPLY = torch.tensor([[1.0, 0.0, 2.0, 4.0], [0.0, 2.0, 1.0, 3.0]])


def dialogue(*texts: str, speakers: str = "AB", **labels: Any) -> Dialogue:
    turns = tuple(Utterance(speakers[index % len(speakers)], text) for index, text in enumerate(texts))
    return Dialogue("toy-0", "toy", "train", turns, labels)


def test_a_matrix_has_each_pair_on_its_diagonal() -> None:
    torch.manual_seed(0)
    for network in (heads.Match(2, 2).eval(), heads.FactMatch(2).eval()):
        torch.testing.assert_close(network.matrix(CONTEXT, REPLY).diagonal(), network(CONTEXT, REPLY))


def test_facts_count_by_the_log_of_the_mean_of_their_exponentials() -> None:
    network = heads.FactMatch(width=2).eval()
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    network.alike.data = torch.tensor([1.0])
    facts = torch.tensor([[[1.0, 0, 1, 2], [0, 1, 1, 2]], [[1.0, 0, 1, 2], [0, 0, 0, 0]], [[0.0] * 4] * 2])
    reply = torch.tensor([[1.0, 0, 1, 2]] * 3)
    np.testing.assert_allclose(network(facts, reply).detach(), [np.log((np.e + 1) / 2), 1, 0], rtol=1e-5)


def test_losses_by_hand() -> None:
    logits = torch.tensor([[0.0, np.log(3.0)], [0.0, 0.0]])  # rows: ln 4 and ln 2; columns: ln 2 and ln 4
    assert objectives.symmetric_cross_entropy(logits).item() == pytest.approx(np.log(8) / 2)
    right, wrong = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 3.0])
    by_hand = np.mean([np.log1p(np.exp(value)) for value in (-2, 1, 0.5, 3)])
    assert objectives.logistic(right, wrong).item() == pytest.approx(by_hand)
    low, high = (1 / (1 + np.exp(-np.array(values))) for values in ([2, -1], [0.5, 3]))
    assert objectives.margin_ranking(right, wrong, 0.1).item() == pytest.approx(np.maximum(0, high - low + 0.1).mean())


def test_composites_of_usl_h_and_ruber_by_hand() -> None:
    # USL-H of U = 0.5, S = 0.4, L = 0.2: S counts only if U holds, and L only if S holds
    scores = composite(np.array([0.5, 0, 0.5]), np.array([0.4, 0.4, 0]), np.array([0.2, 0.2, 0.9]))
    np.testing.assert_allclose(scores, [(0.5 + 0.2 + 0.04) / 3, 0, 0.5 / 3])
    # specificity is clipped at the quartiles
    np.testing.assert_allclose(specificity(np.array([5, 10, 15, 20, 30, np.nan]), 10, 20), [0, 0, 0.5, 1, 1, np.nan])
    for blend, expected in (("min", 0.2), ("mean", 0.5), ("geometric", 0.4), ("max", 0.8)):
        both = blended(blend, np.array([0.2, np.nan]), np.array([0.8, 0.8]))  # type: ignore[arg-type]
        np.testing.assert_allclose(both, [expected, np.nan])
    # the referenced part of RUBER is the best or the mean cosine, from 0 to 1
    known = {"r": (1.0, 0.0), "same": (2.0, 0.0), "other": (0.0, 1.0), "turned": (-1.0, 0.0)}
    items = [make_item("a", "r", "other", "same"), make_item("b", "r", "turned"), make_item("c", "r", "other"),
             make_item("d", "r")]
    for aggregation, first in (("standard", 1), ("mean", 0.75)):
        cosines = referenced(items, lambda texts: np.array([known[text] for text in texts], np.float32), aggregation)
        np.testing.assert_allclose(cosines, [first, 0, 0.5, np.nan])


def test_the_three_columns_of_specificity_by_hand() -> None:
    """The first token of a text has a probability of 0.1, others 0.5."""
    items = [make_item(text, text) for text in ("quantum tea", "", "tea")]
    read = Mock(return_value=[np.log(shares).astype(np.float32) for shares in ([0.1, 0.5], [], [0.1])])
    columns = registry.choose("sm").metric.score(items, Mock(**{"masked.return_value.log_likelihoods": read}))
    assert read.call_args.args[0] == [("", "quantum tea"), ("", ""), ("", "tea")]
    for name, expected in (("sm-ll", [np.log(20), np.nan, np.log(10)]), ("sm-ppl", [20 ** 0.5, np.nan, 10]),
                           ("sm-nce", [-np.log(20) / 2, np.nan, -np.log(10)])):
        np.testing.assert_allclose(columns[name], expected, rtol=1e-6)
        assert columns[name][1].tobytes() == np.float64(np.nan).tobytes(), "NaN of positive sign"


def test_facts_and_ratings_of_dialogues() -> None:
    facts = sentences(["your persona: i like tea.", "It rains. It pours!", " . "])
    assert facts == ["i like tea.", "It rains.", "It pours!"]
    roles: tuple[dict[str, str], ...] = ({"role": "human"}, {"role": "bot"}, {})
    engaging = rated_utterances([dialogue("hi", "yo", "ah", eval_score=2, utterances=roles),
                      dialogue("q", "r", engaging=1), dialogue("no", "score"), dialogue("go", engagement=4)])
    assert engaging == [("yo", 0.25), ("ah", 0.25), ("r", 1.0), ("go", 0.8)]


def test_each_utterance_follows_those_before_it() -> None:
    examples = response_contrasts([dialogue("a", "b", " ", "c"), dialogue("e")], 1)
    assert [example.right for example in examples] == [Pair(("a",), "b"), Pair(("b",), "c")]
    assert heads.last_turns(["a", "b", " ", "c", "d"]) == ["d", "c", "b"]
    assert heads.last_turns(["", "a"]) == ["a", "", ""]


def test_replies_are_labelled_intact_or_corrupted(rng: np.random.Generator) -> None:
    said = [dialogue("hi", f"well i do like the number {number}") for number in range(80)]
    examples = intact_or_corrupted(said, 50, rng, 0.0)
    broken, whole = ([text for text, label in examples if label == expected] for expected in (0, 1))
    assert len(broken) == len(whole) == len(set(whole)) == 50
    assert set(whole) <= {dialogue.utterances[1].text for dialogue in said}
    assert not set(broken) & set(whole)


@pytest.mark.parametrize("requested", ["bert-dnn", "bert-regressor", "adem", "bert-ruber", "mme-em", "mme-fm", "deb"])
def test_corpora_without_examples_are_refused(requested: str, home: Path) -> None:
    toy = Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020"), "0" * 64, (dialogue("hi"),), {})
    metric: Any = registry.choose(requested).metric
    with pytest.raises(MetricError, match="corpora"):
        metric.objective(TrainingData({"toy": toy}, Models(home), 0, recipe=metric.training))


def test_shipped_metrics_learn_and_score(tiny_encoder: Path, tiny_weights: Path) -> None:
    response_only = {"mme-fm", "mme-em", "usl-h-vup", "usl-h-mlm", "usr-mlm"}
    models = Models(tiny_weights, Choice(encoder=str(tiny_encoder)))
    known = Item("known", (Utterance("user", "do you like tea ?"),), Utterance("system", "i like tea"),
                 make_item("x", "", "tea is good", "the rain").references, ("your persona: i like the rain.",))
    bare = Item("bare", (), Utterance("system", "no context"))
    for requested in METRICS:
        metric = registry.choose(requested).metric
        for part in trainables.parts(requested):
            name = trainables.choose(requested, part).checkpoint_name
            weights = checkpoint.find(name, models.encoder().weights.identity, models.home)
            losses = weights.card["losses"]
            assert losses[-1] < losses[0], (requested, part)
        columns = metric.score([known, bare], models)
        assert tuple(columns) == metric.card.columns
        assert all(np.isfinite(column[0]) for column in columns.values()), requested
        assert {name for name, column in columns.items() if np.isfinite(column[1])} == response_only & set(columns)


def test_shipped_weights_stay_small() -> None:
    """Weights are under 2 MB except the language model's and a large encoder's adapters; the folder is under 25 MB."""
    sizes = {path: path.stat().st_size for path in checkpoint.SHIPPED.rglob("*") if path.is_file()}
    names = {folder.name for folder in checkpoint.SHIPPED.iterdir()}
    weights = {name for name in names if (checkpoint.SHIPPED / name / checkpoint.WEIGHTS).exists()}
    assert weights == {trainables.choose(name, part).checkpoint_name for name in trainables.shipped()
                       for part in trainables.parts(name)}
    assert all((checkpoint.SHIPPED / name / evidence.FILE).exists() for name in names - weights)
    large = {path.parent.name: size for path, size in sizes.items() if size >= 2_000_000}
    assert set(large) == {"lm", "dialogue"}
    assert large["dialogue"] < 6_000_000
    assert sum(sizes.values()) < 25_000_000


def test_the_distilled_judge_learns_ratings_as_shares() -> None:
    answers = dialogue("hello", "hi", positive_responses=["yes"], rated_responses=[["yes", 5.0], ["no", 2.0]])
    metric: Any = registry.choose("distilled").metric
    assert metric.examples(Mock(split=lambda examples: examples([answers, dialogue("bye")]))) == [
        (Pair(("hello", "hi"), "yes"), 1.0), (Pair(("hello", "hi"), "no"), 0.25)]


def test_shipped_weights_belong_to_available_encoders(tmp_path: Path) -> None:
    """The identity of an adapted encoder covers its checkpoint's configuration, which must never change."""
    encoder, body = "all-mpnet-base-v2", "model.safetensors"
    stock = Weights(encoder, tmp_path, catalogue.cards()[encoder].files[body], "bc9f6f", "hub")
    adapted = stock.tuned(checkpoint.find("dialogue", stock.identity, tmp_path))
    embedded = Models(tmp_path, Choice(device="cpu")).encoder().weights
    folders = [path.parent for path in checkpoint.SHIPPED.rglob(checkpoint.CONFIG)]
    encoders = {str((checkpoint.read("", folder).config["encoder"] or {}).get("identity", "")) for folder in folders}
    assert encoders == {"", embedded.identity, stock.identity, adapted.identity}
    identities = {checkpoint.read(path.relative_to(checkpoint.SHIPPED).parts[0], path).identity for path in folders}
    for path in checkpoint.SHIPPED.rglob(evidence.FILE):
        signatures = evidence.read(path).signatures.values()
        assert {signature.get("encoder", "") for signature in signatures} <= encoders
        assert {value for signature in signatures for name, value in signature.items()
                if name.startswith("weights ")} <= identities


def test_adem_needs_two_contexts_or_ratings(rng: np.random.Generator) -> None:
    single = dialogue("hi", positive_responses=["a", "b"])
    with pytest.raises(MetricError, match="contexts"):
        rated_replies([single], rng)
    assert rated_replies([dialogue("hi", positive_responses=["a"], rated_responses=[["b", 2]])], rng)


def test_options_name_their_weights_and_the_command_that_trains_them() -> None:
    names = {"deb[negatives=both]": "deb-both", "ruber[size=large]": "ruber-large",
             "mme-tcm[graph=conceptnet]": "mme-tcm-conceptnet", "s-dicoh[negatives=ss]": "s-dicoh-negatives-ss",
             "dynaeval[speakers=3]": "dynaeval-speakers-3", "grade[khop=false]": "grade-no-khop",
             "grade[first=3,second=0]": "grade-n3-0", "grade[weighted=false]": "grade-unweighted",
             "grade[tagger=nltk]": "grade-nltk-keywords"}
    assert {requested: trainables.choose(requested).checkpoint_name for requested in names} == names
    for requested in (*names, *trainables.shipped(), "deb[negatives=0.5%]", "deb[negatives=10%,recipe=paper]",
                      "ruber[size=large,recipe=paper]", "dynaeval[negatives=ss,pooling=both,likeness=false]",
                      "grade[negatives=lexical,branch=utterances,khop=false,weighted=false,first=3,second=0]",
                      "grade[graph=neighbours,nodes=,tagger=lists,recipe=paper]", "s-dicoh[words=,recipe=paper]",
                      "dynaeval[window=3,speakers=3]", "deb[recipe=original]"):
        for part in trainables.parts(requested):
            name = trainables.choose(requested, part).checkpoint_name
            _, _, metric, *recipe = shlex.split(checkpoint.command(name))
            named = trainables.with_recipe(metric, recipe[1] if recipe else "", "x" if recipe else "")
            assert trainables.choose(named, part).checkpoint_name == name
