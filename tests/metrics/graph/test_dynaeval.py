"""DynaEval and S-DiCoh: graphs and equations by hand, training dialogues, the papers' recipes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from benchmarks.corpora.corpora import Dialogue  # noqa: E402
from benchmarks.dataset import Item, Utterance  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.errors import BadOption, MetricError, MissingResource  # noqa: E402
from metrics.graph.dynaeval.dialogues import Turns, graphs, margin_loss, usable  # noqa: E402
from metrics.graph.dynaeval.network import DialogueGraph, DialogueSequence, DialogueWords, recurrent  # noqa: E402
from metrics.metric import signature  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.models.text_table import TextTable  # noqa: E402
from metrics.training.objectives import hit_rates  # noqa: E402
from metrics.training.recipe import TrainingData  # noqa: E402
from tests import tiny_weights  # noqa: E402

WIDTH = 4


def read(texts: Any) -> Any:
    """Return vectors made from the letters of texts."""
    return np.array([np.bincount([(ord(letter) + index) % (2 * WIDTH) for index, letter in enumerate(text)],
                                 [1 + ord(letter) % 7 for letter in text], 2 * WIDTH) for text in texts], np.float32)


def dialogue(turns: str) -> tuple[Utterance, ...]:
    """Return the dialogue of a string such as `A:hello B:you`."""
    return tuple(Utterance(*turn.split(":", 1)) for turn in turns.split())


def batch(*dialogues: str, window: int = 4, speakers: int = 2) -> Any:
    parsed = [dialogue(turns) for turns in dialogues]
    table = TextTable((turn.text for turns in parsed for turn in turns), read)
    return graphs([Turns(turns, window) for turns in parsed], table, speakers)


def relations(graph: Any) -> dict[tuple[int, int], int]:
    return {(j, i): theta for (j, i), theta in zip(graph.edge_index.T.tolist(), graph.edge_type.tolist(), strict=True)}


def test_edges_and_relations() -> None:
    # speaker at i (A 0, B 1) · 4 + speaker at j · 2 + (1 if j comes after i); 8 is i itself
    assert relations(batch("A:one B:two A:three", window=1)) == {
        (0, 0): 8, (1, 1): 8, (2, 2): 8, (1, 0): 3, (0, 1): 4, (2, 1): 5, (1, 2): 2}
    assert relations(batch("A:one B:two A:three", window=2)).items() >= {(2, 0): 1, (0, 2): 0}.items()
    # a third speaker counts as the second unless it has its own relations
    assert relations(batch("A:one C:two B:three")) == relations(batch("A:one B:two B:three"))
    three = relations(batch("A:one C:two B:three", speakers=3))
    assert (three[2, 0], three[0, 0], max(three.values())) == ((0 * 3 + 2) * 2 + 1, 18, 18)
    two = batch("A:a B:b", "A:c B:d", window=2)
    assert set(relations(two)) == {(0, 0), (1, 1), (0, 1), (1, 0), (2, 2), (3, 3), (2, 3), (3, 2)}


def test_pooling() -> None:
    g = torch.tensor([[0.0, 4.0], [3.0, 0.0], [7.0, 0.0]])
    for pooling, expected in (("unit", [[0.6, 0.8], [1, 0]]), ("mean", [[1.5, 2], [7, 0]]), ("max", [[3, 4], [7, 0]]),
                              ("both", [[1.5, 2, 3, 4], [7, 0, 7, 0]])):
        network = DialogueGraph(WIDTH, hidden=1, size=1, pooling=pooling)
        torch.testing.assert_close(network.pooled(g, torch.tensor([0, 0, 1]), 2), torch.tensor(expected).float())


@pytest.mark.parametrize("published", [False, True])
def test_dynaeval_against_its_formulas_as_loops(published: bool) -> None:
    torch.manual_seed(1)
    network: Any = DialogueGraph(WIDTH, 3, 5, **(
        {"lift": 7, "layers": 2, "pooling": "mean", "likeness": False} if published else {})).double().eval()
    graph = batch("A:hello B:there A:you B:and A:i", window=2)
    graph.x = graph.x.double()
    edges = relations(graph)
    e = recurrent(network.lstm, network.lift(graph.x[:, :WIDTH]) if published else
                  torch.nn.functional.layer_norm(graph.x[:, :WIDTH], (WIDTH,)), graph.batch)
    cosines = torch.nn.functional.normalize(graph.x[:, :WIDTH], dim=-1)
    matrices = network.relational.weight.weight.view(5, 9, 7 - published).detach()
    first = []
    for i in range(5):
        near = [j for j in range(5) if abs(i - j) <= 2]
        alike = torch.stack([e[i] @ network.alike.weight @ e[j] for j in near])
        a = dict(zip(near, torch.softmax(alike, 0), strict=True))
        total = network.relational.weight.bias.detach().clone()
        for theta in range(9):
            sources = [j for j in near if edges[j, i] == theta]
            for j in sources:
                message = torch.cat([a[j] * e[j], 10 * (cosines[i] @ cosines[j]).view(1)][: 2 - published])
                total = total + matrices[:, theta] @ message / (1 if published else len(sources))
        first.append(torch.relu(total))
    root, relation = ((network.convolution.lin_root, network.convolution.lin_rel) if published else
                      (network.convolution.own, network.convolution.neighbours))
    second = [torch.relu(root(first[i]) + relation(sum(
        first[j] for j in range(5) if 0 < abs(i - j) <= 2))) for i in range(5)]
    summed = sum(torch.cat([second[i], e[i]]) for i in range(5))
    torch.testing.assert_close(network(graph)[0], network.score(summed / (5 if published else summed.norm()))[0])


@pytest.mark.usefixtures("one_thread")
def test_s_dicoh_by_the_recipe_of_the_paper(tmp_path: Path, tiny_encoder: Path,
                                            capsys: pytest.CaptureFixture[str]) -> None:
    def trained() -> tuple[Models, Any]:
        return tiny_weights.by_paper(f"s-dicoh[words={tmp_path}/words.txt]", tmp_path, tiny_encoder, "batch=4",
                                     "hidden=3", "size=2")

    (tmp_path / "words.txt").write_text("4 2\ntea 3 4\nrain 0 5\nhello 1 2\nyou 8 6\n")
    models, metric = trained()
    network = models.trained("s-dicoh-paper", DialogueWords, str(tiny_encoder))
    two = (Utterance("A", "hello you"), Utterance("B", "Tea, moon"))
    items = [Item(str(number), turns, None) for number, turns in enumerate((
        two, dialogue("A:hello"), dialogue("A:moon B:sun"), dialogue("A:hello B:you A:moon")))]
    scores = metric.score(items, models)["s-dicoh"]
    assert np.isnan(scores).tolist() == [False, True, True, False]

    def summed(lstm: Any, weigh: Any, vectors: Any) -> Any:
        e = lstm(vectors[None])[0][0]
        return torch.softmax(e @ weigh.weight[0], 0) @ e

    words = [torch.tensor(vectors) for vectors in ([[1.0, 2], [8, 6]], [[3.0, 4]])]
    utterances = torch.stack([summed(network.words, network.weigh_words, vectors) for vectors in words])
    expected = network.score(summed(network.utterances, network.weigh_utterances, utterances))
    assert scores[0] == pytest.approx(expected.item(), abs=1e-5)
    assert signature(metric, models)["vectors"].startswith("words.txt@")
    (tmp_path / "words.txt").write_text("1 2\ntea 4 3\n")
    with pytest.raises(MissingResource, match=r"words\.txt@.* words\.txt@"):
        metric.score(items, Models(tmp_path, Choice(device="cpu")))
    trained()
    assert "already trained" not in capsys.readouterr().out


@pytest.mark.usefixtures("one_thread")
def test_dynaeval_by_the_recipe_of_the_paper(tmp_path: Path, tiny_encoder: Path) -> None:
    assert tiny_weights.train_by_command(tmp_path, tiny_encoder, "mlm", "--steps", "2") == 0
    adapted = f"{tiny_encoder}+mlm"
    models, metric = tiny_weights.by_paper("dynaeval", tmp_path, adapted, "batch=8", "lift=6", "hidden=3",
                                           "epochs=0.05", "every=500")
    network = models.trained(metric.weights_name, DialogueGraph, adapted)
    assert (network.lift.out_features, network.lstm.num_layers, network.pooling, network.likeness) == (
        6, 2, "mean", False)
    card = models.checkpoint("dynaeval-paper", adapted).card
    assert card["steps"] == round(0.05 * 2 * 20 * card["corpora"][0]["training"] / 8)
    plain, changed = (models.encoder(name).sentences(["tea"]) for name in (str(tiny_encoder), adapted))
    assert np.abs(changed - plain).max() > 1e-5
    items = [Item("two", dialogue("A:hello B:there"), None), Item("one", dialogue("A:hello"), None),
             *(Item(end, dialogue("A:hello"), Utterance("B", "tea " * 30 + end)) for end in ("rain", "what not"))]
    scores = metric.score(items, models)["dynaeval"]
    assert np.isnan(scores).tolist() == [False, True, False, False]
    assert scores[2] == scores[3] != scores[0]  # only the first 30 words count
    unadapted = registry.choose("dynaeval[recipe=paper]").metric
    assert unadapted.card.system == "same method, smaller model"
    with pytest.raises(MissingResource, match="roberta-base"):
        unadapted.score(items, models)


def test_the_sequence_network_by_hand() -> None:
    network = DialogueSequence(WIDTH, hidden=2).eval()
    graph = batch("A:hello B:hello A:you", "A:one B:two", window=0)
    states = recurrent(network.lstm, torch.cat([torch.nn.functional.layer_norm(
        graph.x[:, :WIDTH], (WIDTH,)), network.cosines(graph.x, graph.batch)], -1), graph.batch)
    weights = torch.softmax(network.weigh(states[:3]).squeeze(-1), 0)
    torch.testing.assert_close(network(graph)[0], network.score(weights @ states[:3])[0])
    units = torch.nn.functional.normalize(graph.x[:, :WIDTH], dim=-1)
    second, last = (10 * float(units[row - 1] @ units[row]) for row in (2, 4))
    assert network.cosines(graph.x, graph.batch).flatten().tolist() == pytest.approx([0, 10, second, 0, last])


def test_margin_loss_and_shares_by_hand() -> None:
    # 1 − 3 + 1 is below 0; 1 − 0.5 + 0.25 = 0.75, and with a margin of 0.5 half of that for each
    scores = torch.tensor([3.0, 0.5, 1.0, 0.25])
    assert [margin_loss(scores, margin).item() for margin in (1.0, 0.5)] == pytest.approx([0.375, 0.125])
    # 3 is above 1 and 0.5 above 0.25; 1 is below 2
    report = hit_rates([scores, torch.tensor([1.0, 2.0])], lambda _, batch: {
        "above": torch.gt(*batch.chunk(2)), "none": torch.zeros(0)})
    assert report(torch.nn.Linear(1, 1)) == {"above": 0.6667}


def test_unusable_dialogues_are_left_out() -> None:
    four, same = dialogue("A:one B:two A:three B:four"), dialogue("A:one B:two A:one B:two")
    for turns, kinds in ((four, "ur ss"), (four[:3], ""), (four * 8, ""), (same, "ur")):
        assert " ".join(kind for kind in ("ur", "ss") if usable(Dialogue("x", "toy", "train", turns), kind)) == kinds
    metric: Any = registry.choose("dynaeval").metric
    with pytest.raises(MetricError, match="corpora"):
        metric.objective(TrainingData({}, None, seed=0, read=read))  # type: ignore[arg-type]


def test_a_third_speaker_needs_relations(tiny_encoder: Path, home: Path) -> None:
    with pytest.raises(BadOption, match="window"):
        registry.choose("dynaeval[window=0]")
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    three, two = (Item(who, dialogue(f"A:tea B:hello {who}:reply A:you"), None) for who in "CB")
    for requested in ("dynaeval[speakers=3]", "dynaeval[likeness=false]"):
        metric: Any = registry.choose(requested).metric
        with pytest.raises(MissingResource, match=metric.weights_name):
            metric.score([], models)
        tiny_weights.train(requested, models, steps=1, every=1, batch=8)
        (scores,) = metric.score([three, two], models).values()
        assert np.isfinite(scores).all()
        assert (abs(scores[0] - scores[1]) > 1e-5) == ("speakers=3" in requested)


@pytest.mark.slow
def test_a_network_leaves_no_file_in_the_temporary_folder(tmp_path: Path) -> None:
    code = "from metrics.graph.dynaeval.network import DialogueGraph; DialogueGraph(4)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []
