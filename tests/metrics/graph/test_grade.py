"""GRADE and TCM: equations and topic graphs by hand, ablations, the paper's recipe."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics import registry
from metrics.errors import BadOption, MetricError, MissingResource
from metrics.graph.grade import topics as grade_topics
from metrics.graph.grade.metric import Grade
from metrics.graph.grade.topics import TopicSource, file_vectors, topics
from metrics.metric import signature
from metrics.models.checkpoint import SHIPPED
from metrics.models.service import Choice, Models
from metrics.text import keywords
from metrics.text.topic_graph import Graph, write
from metrics.training.examples import Index, lexical_others
from metrics.training.recipe import TrainingData
from tests import tiny_weights as toys
from tests.conftest import make_item

torch = pytest.importorskip("torch")
grade = pytest.importorskip("metrics.graph.grade.network")

WORDS = ["tea", "cup", "kitchen", "house"]


@pytest.fixture
def source(tmp_path: Path) -> TopicSource:
    """Tea, cup, kitchen and house in a row; a word's vector is its position and its square; others have 9, 81."""
    write(tmp_path / "g", WORDS, np.array([0, 1, 2]), np.array([1, 2, 3]), np.ones(3, np.float32))

    def read(texts: Any) -> Any:
        numbers = [WORDS.index(text) + 1 if text in WORDS else 9 for text in texts]
        return np.array([[number, number ** 2] for number in numbers], np.float32).reshape(-1, 2)

    return TopicSource(Graph(tmp_path / "g"), read)


@pytest.fixture
def graphs(tiny_weights: Path, home: Path) -> Path:
    """Put the word graph of the tiny encoder, which takes seconds to make, into the home."""
    return shutil.copytree(tiny_weights / "graphs", home / "graphs")


def zeroed(network: Any) -> Any:
    """Set all weights of a network to 0."""
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    return network.eval()


def test_edges_and_features_of_topic_graphs(source: TopicSource) -> None:
    pairs: list[Any] = [(("tea", "cup"), ("kitchen", "tea")), ((), ("cup",)), ((), ()), (("moon",), ("moon", "tea"))]
    graphs = topics(source, pairs)
    batch = graphs.batch([0, 1, 2, 3])
    assert batch.ptr.tolist() == [0, 4, 5, 5, 8]
    assert batch.batch.tolist() == [0, 0, 0, 0, 1, 3, 3, 3]
    edges = dict(zip(map(tuple, batch.edge_index.T.tolist()), batch.edge_attr.tolist(), strict=True))
    # tea - kitchen 2 hops, tea - tea the same word, cup - kitchen 1, cup - tea 1; moon is not a term, but the same word
    assert edges == {(0, 2): 0.5, (0, 3): 1.0, (1, 2): 1.0, (1, 3): 1.0, (5, 6): 1.0}
    again = graphs.batch([3, 1])
    assert again.edge_index.tolist() == [[0], [1]]
    assert again.x[:, 0, 0].tolist() == [9, 9, 1, 2]
    features = source.features(["cup", "moon", "teas"])
    # tea and kitchen are next to cup, house is behind them; "teas" is aligned to tea, and keeps the vector of "teas"
    expected = np.array([[[2, 4], [2, 5], [4, 16]], [[9, 81], [0, 0], [0, 0]], [[9, 81], [2, 4], [3, 9]]])
    np.testing.assert_allclose(features, expected)
    none = TopicSource(source.graph, source.read, 0, 0).features(["cup"])
    np.testing.assert_allclose(none, [[[2, 4], [0, 0], [0, 0]]])


def test_file_vectors_of_multi_word_terms(home: Path, tmp_path: Path) -> None:
    (tmp_path / "numberbatch.txt").write_text("4 2\ntea 3 4\nblack 0 5\nblack_tea 0 2\ncup 8 6\n")
    read = file_vectors(Models(home), str(tmp_path / "numberbatch.txt"))
    vectors = read(["tea", "black tea", "tea cup", "moon"])  # (3, 4) and (8, 6) have the mean (5.5, 5)
    length = (5.5 ** 2 + 5 ** 2) ** 0.5
    np.testing.assert_allclose(vectors, np.array([[0.6, 0.8], [0, 1], [5.5 / length, 5 / length], [0, 0]]), rtol=1e-6)
    assert read([]).shape == (0, 2)


def test_normalised_adjacency_by_hand() -> None:
    """D + I = 2.5, 2, 1.5, 1."""
    adjacency = grade.normalised(torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]), torch.tensor([1.0, 0.5, 1.0, 0.5]), 4)
    np.testing.assert_allclose(adjacency, np.array([1 / 5 ** 0.5, 0.5 / 3.75 ** 0.5] * 2), rtol=1e-6)


def test_an_attention_layer_by_hand() -> None:
    layer = grade.TopicAttention(size=2, heads=2, slope=0.01).double()
    layer.lift.weight.data, layer.own.weight.data = torch.eye(2).double() * 2, torch.eye(2).double() * -1
    layer.target.data, layer.source.data = torch.tensor([[1.0], [0.0]]).double(), torch.tensor([[1.0], [-1.0]]).double()
    nodes = torch.tensor([[1.0, 1.0], [0.5, 2.0], [2.0, 3.0], [4.0, -4.0]]).double()
    states = layer(nodes, torch.tensor([[1, 2], [0, 0]]), torch.tensor([0.5, 0.25]).double()).detach()
    # W h = 2 h. First head: e_01 = 0.5 (2 + 1) = 1.5, e_02 = 0.25 (2 + 4) = 1.5, so each has half of the weight;
    # second: e_01 = leaky(0.5 · −4) = −0.02, e_02 = leaky(0.25 · −6) = −0.015
    share = float(1 / (1 + np.exp(-0.02 + 0.015)))
    attended: list[float] = [0.5 * 1 + 0.5 * 4, (1 - share) * 4 + share * 6]
    np.testing.assert_allclose(states[0], np.array(attended) - 1)
    # without an edge only V h acts: elu(−4) and elu(4)
    np.testing.assert_allclose(states[3], np.array([np.expm1(-4), 4]))


def test_the_graph_branch_by_hand(source: TopicSource) -> None:
    network = zeroed(grade.TopicGraph(width=2, size=4, layers=1, hops=2))
    network.first.weight.data[0] = torch.tensor([1.0, 0, 10, 0, 100, 0])  # P, W_1 and W_2 on the first of each vector
    network.first.bias.data[0] = 5
    network.layers[0].own.weight.data[0, 0] = network.last.weight.data[1, 0] = 1
    graphs = topics(source, [(("cup",), ()), ((), ()), (("moon",), ("cup",))]).batch(range(3))
    # cup: 2 + 10 · 2 + 100 · 4 + 5 = 427; moon: 9 + 5 = 14; their mean is 220.5; zeros without nodes
    expected = np.array([[0, 427, 0, 0], [0, 0, 0, 0], [0, 220.5, 0, 0]])
    np.testing.assert_allclose(network(graphs).detach(), expected)
    network.last.weight.data[2, 4] = 8  # weight of the nearest: moon has no edge to cup, tea is two hops from kitchen
    near = topics(source, [(("tea", "moon"), ("kitchen",))]).batch([0])
    np.testing.assert_allclose(network(near).detach()[0, 2], 8 * (0.5 + 0 + 0.5) / 3)
    network.last.bias.data[:] = 3
    assert network(graphs).detach()[1].tolist() == [0, 0, 0, 0]


def test_the_graph_branch_of_the_paper_by_hand(source: TopicSource) -> None:
    """With one layer and a single neighbour, h = x + Σ W_k x_k + b, then ELU(V h + W h_j)."""
    network = zeroed(grade.TopicGraph(width=2, heads=1, layers=1, out=3))
    network.first.weight.data[0] = torch.tensor([10.0, 0, 100, 0])
    network.first.bias.data[0] = 5
    network.layers[0].own.weight.data, network.layers[0].lift.weight.data = torch.eye(2), -0.5 * torch.eye(2)
    network.last.weight.data[1] = torch.tensor([1.0, 1.0])
    connected = dataclasses.replace(source, unconnected=20)
    graphs = topics(connected, [(("cup",), ("moon", "kitchen", "cup"))]).batch([0])
    assert graphs.edge_attr.tolist() == pytest.approx([1 / 20, 1 / 2, 1])
    # cup: 2 + 10 · 2 + 100 · 4 + 5 = 427 and 4, moon: 9 + 5 = 14 and 81; if they are connected, each loses half of the
    # other: cup 427 - 7 and 4 - 40.5, moon 14 - 213.5 and 81 - 2; ELU then bends values below 0
    for graph, total in ((source, 427 + 4 + 14 + 81),
                         (connected, 420 + np.expm1(-36.5) + np.expm1(-199.5) + 79)):
        graphs = topics(graph, [(("cup",), ("moon",))]).batch([0])
        assert network(graphs)[0, 1].item() == pytest.approx(total / 2)


def test_items_without_known_keywords_are_scored(tiny_weights: Path, tiny_encoder: Path, home: Path) -> None:
    service = Models(tiny_weights, Choice(encoder=str(tiny_encoder)))
    items = [make_item("none", "well, yes!", context=("oh really?",)), make_item("also", "", context=("is it so?",)),
             make_item("unknown", "zxqv", context=("wvuts zxqv",)), make_item("bare", "hello", context=())]
    scores = registry.choose("mme-tcm").metric.score(items, service)["mme-tcm"]
    assert scores[0] == scores[1] != scores[2]
    assert np.isnan(scores).tolist() == [False, False, False, True]
    assert np.isnan(registry.choose("grade").metric.score(items, service)["grade"]).tolist() == [False] * 3 + [True]
    assert signature(registry.choose("grade").metric, service)["topics"].startswith("neighbours-")
    with pytest.raises(MissingResource, match="harness fetch conceptnet"):
        Grade(graph="conceptnet").depends(Models(home))
    with pytest.raises(BadOption, match="0 or more"):
        grade_topics.source(service, "", "neighbours", -1, 10)
    with pytest.raises(MetricError, match="corpora"):
        Grade(branch="utterances").objective(TrainingData({}, service, seed=0, recipe=Grade.recipes["small"]))


def test_ablations_cut_the_graph(tiny_encoder: Path, home: Path, graphs: Path) -> None:
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    items = [make_item("one", "i like tea and football", context=("do you like tea",)),
             make_item("two", "yes", context=("really?",))]
    for options in ("branch=utterances", "khop=false", "weighted=false"):
        metric: Any = registry.choose(f"grade[{options}]").metric
        toys.train(f"grade[{options}]", models, steps=1, every=1)
        column = metric.score(items, models)["grade"]
        assert ((column > 0) & (column < 1)).all()
        network = models.trained(metric.weights_name, grade.GradeNetwork)
        assert (network.graph is None) == ("utterances" in options)
        assert network.graph is None or network.graph.hops == (0 if "khop" in options else 2)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("name", "kind", "inputs"), [("grade", "PublishedGrade", 8), ("mme-tcm", "TopicCoherence", 4)])
def test_the_recipe_of_the_paper(name: str, kind: str, inputs: int, home: Path, tiny_encoder: Path,
                                 graphs: Path) -> None:
    """With the encoder's word vectors and graph, since neither ConceptNet nor Numberbatch is available."""
    models, metric = toys.by_paper(f"{name}[graph=neighbours,nodes=,tagger=lists]", home, tiny_encoder,
                                   "heads=2", "layers=1", "branch=4", "batch=4", *["length=24"] * (name == "grade"))
    assert metric.weights_name == f"{name}-paper-neighbours-words-lists-keywords"
    network = models.trained(metric.weights_name, getattr(grade, kind), str(tiny_encoder))
    assert (network.score.layers[1].in_features, len(network.graph.layers)) == (inputs, 1)
    items = [make_item("a", "i like tea and football", context=("do you like tea", "yes")),
             make_item("b", "well yes", context=("oh really",)), make_item("c", "hello", context=()),
             make_item("d", "i like tea and football", context=("rain and trains", "do you like tea", "yes"))]
    column = metric.score(items, models)[name]
    assert ((column > 0) & (column < 1)).tolist() == [True, True, False, True]
    assert np.isnan(column[2])
    assert column[0] == column[3], "only the last two utterances count"
    alone = [metric.score([item], models)[name][0] for item in items[:2]]
    assert column[:2].tolist() == pytest.approx(alone, abs=1e-6)


def test_the_recipe_of_the_paper_names_its_encoder_and_vectors(home: Path) -> None:
    chosen = registry.choose("grade[recipe=paper,encoder=x]")
    assert chosen.suffix == "[encoder=x,recipe=paper]"
    assert chosen.metric.card.departures[0] == "Encoder x in place of bert-base-uncased."
    with pytest.raises(MissingResource, match="numberbatch"):
        registry.choose("grade[recipe=paper]").metric.score([], Models(home))


def test_false_replies_are_similar_in_words_or_meaning(tiny_encoder: Path, home: Path) -> None:
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    data = TrainingData({"toy": toys.corpus()}, models, 0, recipe=Grade.recipes["paper"])
    examples = Grade().contrasts(data, data.dialogues(), None, None)
    assert len(examples) == 4 * len(data.dialogues())
    (context, reply, _), (same, other, _) = (row.pair for row in examples[0][:2])
    assert context == same
    assert reply != other
    texts = ["tea time"] + [f"tea {letter}" for letter in "abcdefghijklmnopqrstuvwx"] + ["rain"]
    chosen = lexical_others(np.array([0, 25]), Index(texts), np.arange(26), np.random.default_rng(0),
                                      ranks={20: 11, 30: 1})
    assert texts[chosen[0]] == "tea k"  # the 11th of 24: "tea a" and "tea i" are shorter without their stop words


@pytest.mark.slow
def test_the_shipped_word_graph_is_that_of_the_embedded_encoder(tmp_path: Path) -> None:
    words = keywords.vocabulary()
    write(tmp_path / "made", *grade_topics.nearest(words, grade_topics.encoder_vectors(Models(tmp_path), "")(words)))
    (shipped,) = SHIPPED.glob(f"grade/{grade_topics.identity()}-*.npz")
    made, expected = Graph(tmp_path / "made").matrix.astype(bool), Graph(shipped).matrix.astype(bool)
    assert (made != expected).sum() < 0.001 * expected.sum(), "except ties"
