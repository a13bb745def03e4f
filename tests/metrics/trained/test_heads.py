"""The metrics trained on frozen features: networks, losses and blends by hand; what learns; the contract they keep."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.corpora.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Item, Utterance
from metrics import evidence, registry
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.models import checkpoint
from metrics.models.service import Choice, Models
from metrics.trained.heads.data import pairs, whole_or_broken
from metrics.trained.heads.table import Rows, TextTable, against_references, last_turns, stable
from metrics.trained.mme_em import _rated
from metrics.trained.ruber import blended, referenced
from metrics.trained.usl_h import composite, specificity
from metrics.trained.usr import sentences
from metrics.training import trainables
from metrics.training.recipe import TrainingData
from tests import tiny_weights
from tests.conftest import make_item
from tests.tiny_weights import METRICS

torch = pytest.importorskip("torch")
networks = pytest.importorskip("metrics.trained.heads.networks")
losses = pytest.importorskip("metrics.trained.heads.losses")

CONTEXT = torch.tensor([[[3.0, 4.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]], [[0.0, 5.0, 0.0, 6.0], [1.0, 0.0, 9.0, 0.0]]])
REPLY = torch.tensor([[1.0, 0.0, 2.0, 4.0], [0.0, 2.0, 1.0, 3.0]])


def still(network: Any) -> Any:
    """A network whose every weight is 0."""
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    return network.eval()


def dialogue(*texts: str, speakers: str = "AB", **labels: Any) -> Dialogue:
    turns = tuple(Utterance(speakers[place % len(speakers)], text) for place, text in enumerate(texts))
    return Dialogue("toy-0", "toy", "train", turns, labels)


def vectors(texts: Any) -> Any:
    """For a text its number of words and of letters, twice."""
    return np.array([[len(text.split()), len(text)] * 2 for text in texts], dtype=np.float32)


def test_the_diagonal_of_all_with_all_is_each_with_its_own() -> None:
    torch.manual_seed(0)
    for network in (networks.Match(2, 2).eval(), networks.FactMatch(2).eval()):
        np.testing.assert_allclose(network.matrix(CONTEXT, REPLY).diagonal().detach(),
                                   network(CONTEXT, REPLY).detach(), rtol=1e-4)


def test_facts_count_by_the_log_of_the_mean_of_their_exponentials() -> None:
    network = still(networks.FactMatch(width=2))
    network.alike.data = torch.tensor([1.0])
    both, one = torch.tensor([[[1.0, 0, 1, 2], [0, 1, 1, 2]]]), torch.tensor([[[1.0, 0, 1, 2], [0, 0, 0, 0]]])
    reply = torch.tensor([[1.0, 0, 1, 2]])
    np.testing.assert_allclose(network(both, reply).detach(), [np.log((np.e + 1) / 2)], rtol=1e-5)
    np.testing.assert_allclose(network(one, reply).detach(), [1.0], rtol=1e-5)
    np.testing.assert_allclose(network(torch.zeros(1, 2, 4), reply).detach(), [0.0])


def test_adem_by_hand() -> None:
    network = networks.Adem(width=2, size=2, alpha=0.5, beta=0.25).double()
    network.with_reference.data = torch.tensor([[0.0, 1.0], [0.0, 0.0]]).double()
    context, reference = torch.tensor([[[3.0, 4, 0, 0]]]).double(), torch.tensor([[2.0, 0, 0, 0]]).double()
    reply = torch.tensor([[0.0, 7, 0, 0]]).double()
    # c = (0.6, 0.8), g = (1, 0), r = (0, 1): c·r = 0.8, gᵀNr = 1
    np.testing.assert_allclose(network(context, reference, reply).detach(), [(1.8 - 0.5) / 0.25])


def test_a_recurrent_reading_does_not_see_the_padding() -> None:
    torch.manual_seed(0)
    network = networks.Recurrent(width=4, size=3, hidden=2, layers=2).eval()
    words, lengths = torch.randn(1, 3, 4), torch.tensor([3])
    longer = torch.cat([words, torch.full((1, 2, 4), 9.0)], dim=1)
    short, padded = (network.read(network.reply, one, lengths).detach() for one in (words, longer))
    np.testing.assert_allclose(short, padded, atol=1e-6)
    turned = network.read(network.reply, words.flip(1), lengths).detach()
    assert not np.allclose(short, turned)


def test_losses_by_hand() -> None:
    class Fixed:
        def matrix(self, left: Any, right: Any) -> Any:
            return torch.tensor([[0.0, np.log(3.0)], [0.0, 0.0]])

        def __call__(self, left: Any, right: Any) -> Any:
            return (left == right).float() * 2 - 1

    # rows: ln 4 and ln 2; columns: ln 2 and ln 4
    np.testing.assert_allclose(losses.contrastive(Fixed(), (None, None)), np.log(8) / 2, rtol=1e-6)
    both = torch.tensor([1.0, 2.0])
    np.testing.assert_allclose(losses.true_or_false(Fixed(), (both, both)), np.log1p(np.exp(-1)), rtol=1e-6)
    report = losses.accuracy(map(losses.with_false, [(both, both), (both, both)]))
    network = torch.nn.Linear(1, 1)
    network.forward = Fixed()
    assert report(network) == {"accuracy on held-out replies": 1.0, "accuracy on random replies": 1.0}


def test_a_judgement_over_references_is_their_best_or_mean_each_with_its_item() -> None:
    class Reader:
        def sentences(self, texts: Any, pooling: str) -> Any:
            return vectors(texts)[:, :2]

    items = [make_item("a", "x y", "one", "one two three"), make_item("b", "z", "one two"), make_item("c", "z"),
             make_item("d", "p q r", "one", "one two three")]

    def judge(table: TextTable, contexts: Any, references: Any, replies: Any) -> Any:
        return 10.0 * table.vectors[replies][:, 0] + table.vectors[references][:, 0]

    best, mean = (against_references(items, Reader(), how, judge) for how in ("standard", "mean"))  # type: ignore
    np.testing.assert_allclose(best, [23, 12, np.nan, 33])
    np.testing.assert_allclose(mean, [22, 12, np.nan, 32])


def test_usl_h_ruber_and_their_kin_by_hand() -> None:
    # USL-H of U = 0.5, S = 0.4, L = 0.2: without validity nothing counts, without what follows L does not
    scores = composite(np.array([0.5, 0, 0.5]), np.array([0.4, 0.4, 0]), np.array([0.2, 0.2, 0.9]))
    np.testing.assert_allclose(scores, [(0.5 + 0.2 + 0.04) / 3, 0, 0.5 / 3])
    # specificity is cut at the quartiles
    np.testing.assert_allclose(specificity(np.array([5, 10, 15, 20, 30, np.nan]), 10, 20), [0, 0, 0.5, 1, 1, np.nan])
    for blend, expected in (("min", 0.2), ("mean", 0.5), ("geometric", 0.4), ("max", 0.8)):
        both = blended(blend, np.array([0.2, np.nan]), np.array([0.8, 0.8]))  # type: ignore[arg-type]
        np.testing.assert_allclose(both, [expected, np.nan])
    # the referenced part of RUBER is the best cosine, from 0 to 1
    known = {"r": (1.0, 0.0), "same": (2.0, 0.0), "other": (0.0, 1.0), "turned": (-1.0, 0.0)}
    items = [make_item("a", "r", "other", "same"), make_item("b", "r", "turned"), make_item("c", "r", "other"),
             make_item("d", "r")]
    cosines = referenced(items, lambda texts: np.array([known[text] for text in texts], np.float32), "standard")
    np.testing.assert_allclose(cosines, [1, 0, 0.5, np.nan])


class FakeMasked:
    """A masked model that gives the first token of a text one in ten, the others a half."""

    def masked(self, encoder: str = "") -> FakeMasked:
        return self

    def log_likelihoods(self, pairs: Sequence[tuple[str, str]], copies: int) -> list[np.ndarray]:
        assert all(context == "" for context, _ in pairs)
        return [np.log([0.1, 0.5][: len(text.split())]).astype(np.float32) for _, text in pairs]


def test_the_three_forms_of_specificity_by_hand() -> None:
    items = [make_item(text, text) for text in ("quantum tea", "", "tea")]
    columns = registry.choose("sm").metric.score(items, FakeMasked())  # type: ignore[arg-type]
    np.testing.assert_allclose(columns["sm-ll"], [np.log(20), np.nan, np.log(10)], rtol=1e-6)
    np.testing.assert_allclose(columns["sm-nce"], [-np.log(20) / 2, np.nan, -np.log(10)], rtol=1e-6)
    np.testing.assert_allclose(columns["sm-ppl"], [20 ** 0.5, np.nan, 10], rtol=1e-6)


def test_what_the_objectives_read() -> None:
    """Facts by sentences, without whose they are; engagement of what bots said and of single judgements."""
    assert sentences(["your persona: i like tea.", "It rains. It pours!", " . "]) == ["i like tea.", "It rains.",
                                                                                    "It pours!"]
    roles: tuple[dict[str, str], ...] = ({"role": "human"}, {"role": "bot"}, {})
    engaging = list(_rated([dialogue("hi", "yo", "ah", eval_score=2, utterances=roles),
                            dialogue("q", "r", engaging=1), dialogue("no", "score"), dialogue("go", engagement=4)]))
    assert engaging == [("yo", 0.25), ("ah", 0.25), ("r", 1.0), ("go", 0.8)]


def test_pairs_are_rows_with_the_last_utterance_first() -> None:
    table = TextTable(["a", "b", "c", "d", "e"], vectors)
    found = pairs([dialogue("a", "b", " ", "c", "d", "e"), dialogue("e"), dialogue("b", "a")], table)
    assert found.contexts.tolist() == [[1, 0, 0], [2, 1, 0], [3, 2, 1], [4, 3, 2], [2, 0, 0]]
    assert found.replies.tolist() == [2, 3, 4, 5, 1]
    assert last_turns(["a", "b", " ", "c", "d"]) == ["d", "c", "b"]
    assert last_turns(["", "a"]) == ["a", "", ""]


def test_corrupted_replies_are_the_same_whatever_is_done_to_the_whole_ones() -> None:
    said = tuple(dialogue("hi", f"well i do like the number {number} so much") for number in range(80))
    corpus = Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020"), "0", said, {})
    data = TrainingData({"toy": corpus}, None, seed=3, read=vectors)  # type: ignore[arg-type]
    none, every = (whole_or_broken(data, 500, shortened)[0] for shortened in (0.0, 1.0))
    false, again = ({text for text, label in texts if label == 0} for texts in (none, every))
    assert false == again
    assert not false & {text for text, label in none if label == 1}
    assert all("number" in text and " i " not in text for text, label in every if label == 1)


def test_a_corpus_without_what_an_objective_reads_is_refused() -> None:
    card = CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020")
    data = TrainingData({"toy": Corpus(card, "0" * 64, (dialogue("hi"),), {})}, None, seed=0,  # type: ignore[arg-type]
                        read=vectors)
    for name in ("bert-dnn", "bert-regressor", "adem", "bert-ruber", "mme-em", "mme-fm", "usr"):
        metric: Any = registry.choose(name).metric
        with pytest.raises(MetricError, match="corpora"):
            metric.objective(data)
    toy = tiny_weights.corpus()
    for each in toy.dialogues:
        each.labels.pop("adversarial_negative_responses")  # type: ignore[attr-defined]
    data = TrainingData({"toy": toy}, None, seed=0, read=vectors)  # type: ignore[arg-type]
    adversarial: Any = registry.choose("deb[negatives=both]").metric
    with pytest.raises(MetricError, match="none of the corpora has adversarial replies"):
        adversarial.objective(data)
    rated = tuple(each for each in toy.dialogues if "positive_responses" in each.labels)
    data = TrainingData({"toy": dataclasses.replace(toy, dialogues=rated)}, None, seed=0,  # type: ignore[arg-type]
                        read=vectors)
    with pytest.raises(MetricError, match="none of the corpora has whole dialogues"):
        adversarial.objective(data)


def test_company_and_cores_never_decide_how_a_score_is_rounded() -> None:
    middle = (np.arange(1000) + 0.5) / 1e10  # each where a last bit decides
    noise = np.random.default_rng(0).uniform(-1, 1, 1000) * 1e-14
    calls: list[int] = []

    def compute(rows: Rows) -> Column:
        calls.append(len(rows))
        assert torch.get_num_threads() == 1 or len(rows) > 1, "alone, on one core"
        return middle[rows] + noise[rows] * (len(rows) > 1) * rng.choice([-1, 1], len(rows))

    cores = torch.get_num_threads()
    rng = np.random.default_rng(1)
    found = stable(np.arange(1000), compute)
    assert len(calls) == 1001
    assert torch.get_num_threads() == cores
    for rows in (np.arange(1000)[::-1], np.arange(0, 1000, 3)):
        np.testing.assert_array_equal(stable(rows, compute), found[rows])
    np.testing.assert_allclose(found, middle, atol=0.6e-10)
    calls.clear()
    table = rng.normal(size=(1000, 3))
    np.testing.assert_array_equal(stable(np.arange(1000), lambda rows: (calls.append(len(rows)), table[rows])[1]),
                                  table.round(10))
    assert 10 < len(calls) < 60, "few are computed twice"



ALONE = {"mme-fm", "mme-em", "usl-h-vup", "usl-h-mlm", "usr-mlm"}
"""The columns that read the response alone."""


def test_a_training_brings_the_loss_down_and_scores_what_can_be_scored(
        tiny_encoder: Path, tiny_weights: Path) -> None:
    models = Models(tiny_weights, Choice(encoder=str(tiny_encoder)))
    known = Item("known", (Utterance("user", "do you like tea ?"),), Utterance("system", "i like tea"),
                 make_item("x", "", "tea is good", "the rain").references, ("your persona: i like the rain.",))
    bare = Item("bare", (), Utterance("system", "no context"))
    for requested in METRICS:
        weights = checkpoint.find(trainables.choose(requested).weights, models.encoder().weights.identity, models.home)
        losses = weights.card["losses"]
        assert losses[-1] < losses[0], requested
        metric = registry.choose(requested).metric
        columns = metric.score([known, bare], models)
        assert tuple(columns) == metric.card.columns
        assert all(np.isfinite(column[0]) for column in columns.values()), requested
        assert {name for name, column in columns.items() if np.isfinite(column[1])} == ALONE & set(columns)


def test_what_is_shipped_stays_small() -> None:
    """All weights under 2 MB but the language model's and a large encoder's adapters, the whole folder under 25 MB."""
    sizes = {path: path.stat().st_size for path in checkpoint.SHIPPED.rglob("*") if path.is_file()}
    names = {folder.name for folder in checkpoint.SHIPPED.iterdir()}
    weights = {name for name in names if (checkpoint.SHIPPED / name / checkpoint.WEIGHTS).exists()}
    assert weights == {trainables.choose(name).weights for name in trainables.shipped()}
    assert all((checkpoint.SHIPPED / name / evidence.FILE).exists() for name in names - weights)
    large = {path.parent.name: size for path, size in sizes.items() if size >= 2_000_000}
    assert set(large) == {"lm", "dialogue"}
    assert large["dialogue"] < 6_000_000
    assert sum(sizes.values()) < 25_000_000


def test_what_is_trained_otherwise_has_weights_of_its_own() -> None:
    for requested, name in (
        ("deb[negatives=both]", "deb-both"), ("ruber[size=large]", "ruber-large"),
        ("mme-tcm[graph=conceptnet]", "mme-tcm-conceptnet"), ("s-dicoh[negatives=ss]", "s-dicoh-negatives-ss"),
        ("dynaeval[pooling=both]", "dynaeval-pooling-both"), ("dynaeval[speakers=3]", "dynaeval-speakers-3"),
        ("grade[branch=utterances]", "grade-utterances"), ("grade[khop=false]", "grade-no-khop"),
        ("grade[weighted=false]", "grade-unweighted"), ("grade[negatives=random]", "grade-random-negatives"),
        ("grade[first=3,second=0]", "grade-n3-0"), ("grade[graph=conceptnet]", "grade-conceptnet"),
    ):
        assert trainables.choose(requested).weights == name
