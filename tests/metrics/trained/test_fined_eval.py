"""FineD-Eval: loss, training pairs and scores, worked out by hand."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.corpora.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Item, Utterance
from metrics import registry
from metrics.errors import MetricError
from metrics.models.service import Choice, Models
from metrics.models.text_table import TextTable
from metrics.trained.fined_eval import strategies as fined_data
from metrics.trained.fined_eval.metric import FinedEvaluation
from metrics.training.recipe import TrainingData

torch = pytest.importorskip("torch")

judges = pytest.importorskip("metrics.trained.fined_eval.judges")
pytestmark = pytest.mark.usefixtures("one_thread")


def corpus(*dialogues: Dialogue) -> Corpus:
    return Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020"), "0", dialogues, {})


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.intp)


def turns(*texts: str) -> tuple[Utterance, ...]:
    return tuple(Utterance("AB"[index % 2], text) for index, text in enumerate(texts))


def test_shipped_weights_prefer_order_to_shuffles(home: Path) -> None:
    said = ("Hi, how was your weekend?", "Great, I went hiking with my brother.", "Oh nice, where did you go?",
            "To the lake in the north. We camped there for a night.", "Wasn't it too cold to sleep in a tent?",
            "A bit, but we had good sleeping bags.", "I should try that some day. Bye!", "Bye, see you on Monday.")
    shuffles = [[said[index] for index in order] for order in ((3, 7, 0, 5, 1, 6, 4, 2), (2, 5, 1, 7, 4, 0, 6, 3))]
    items = [Item("one", turns(*texts), None) for texts in (said, *shuffles)]
    column = registry.choose("fined-eval").metric.score(items, Models(home))["fined-eval-coherence"]
    assert column[0] > column[1:].max()


def test_signals_by_hand() -> None:
    """Tea occurs in four texts, the most of any word; kettle occurs in two and samovar in one."""
    asks = np.array([False, True, False, True, True, False])
    assert fined_data.questions(rows(1, 2, 3, 4, 5, 0), asks).tolist() == [[1, 2], [4, 5]]
    assert fined_data.questions(rows(2, 5), asks).shape == (0, 2)
    assert sorted(fined_data.earlier_pairs(rows(7, 8, 9), 4).tolist()) == [[7, 8], [7, 9], [8, 9]]
    assert fined_data.earlier_pairs(rows(7, 8, 9), 1).tolist() == [[7, 8], [8, 9]]
    means = fined_data.mean_of((rows(1, 2, 3), rows(4), rows(5, 6)), lambda said: fined_data.earlier_pairs(said, 1),
                               lambda first, second: second.astype(float))
    np.testing.assert_array_equal(means, [2.5, np.nan, 6.0])  # a dialogue without pairs has no value
    rarity = fined_data.specificity(["", "tea", "tea kettle", "the tea kettle", "tea samovar", "it is"])
    np.testing.assert_allclose(rarity, [0, 0, 0.25, 0.25, 0.5, 0])


def test_signals_of_both_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P(entailment) is a / 10 and P(contradiction) is b / 10 for rows a and b."""
    judge = Mock(side_effect=lambda a, b: np.stack([a, 0 * a, b], -1) / 10, accuracy=1.0)
    monkeypatch.setattr(judges, "train_inference_judge", lambda data, table: judge)
    table = TextTable([f"t{number}" for number in range(1, 4)], lambda texts: np.ones((len(texts), 4)))
    for recipe, agreement, entailment in (("paper", (3 + 1) / 2, -(2 + 3) / 2), ("small", (3 + 1 + 1) / 3, 7 / 3)):
        data = TrainingData({}, Models(tmp_path), seed=0, recipe=FinedEvaluation.recipes[recipe])
        rates = fined_data.rating_functions(data, table, ((rows(2, 3, 1),),), ((rows(2, 3, 1),),))
        assert rates["likability:agreement"]((rows(2, 3, 1),)) == pytest.approx(1 - agreement / 10)
        assert rates["topic-depth:entailment"]((rows(2, 3, 1),)) == pytest.approx(entailment / 10)
        assert ("topic-depth:specificity" in rates) == (recipe == "small")


def test_the_highest_third_is_better_than_the_lowest() -> None:
    training = (tuple(rows(number) for number in range(9)), (rows(50), rows(50)))
    held = (tuple(rows(number) for number in (0, 4, 8)), (rows(50),))

    def rate(dialogues: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(dialogues).astype(float)

    split = fined_data.sides(training, held, rate)
    assert split is not None
    # a signal that is constant over a corpus gives no pairs
    assert [[[row.tolist() for row in corpus] for (corpus,) in (sides.better, sides.worse)] for sides in split] == [
        [[[6], [7], [8]], [[0], [1], [2]]], [[[8]], [[0]]]]
    assert fined_data.sides(training[1:], held[1:], rate) is None


def test_a_judge_of_inference_learns(tmp_path: Path, rng: np.random.Generator) -> None:
    """Sentence pairs have vectors that are equal, opposite or unrelated."""
    known: dict[str, np.ndarray] = {"": np.zeros(16)}

    def read(texts: Sequence[str]) -> np.ndarray:
        return np.array([known[text] for text in texts], np.float32)

    labelled = []
    for number in range(450):
        vector, label = rng.normal(size=16), judges.INFERENCES[number % 3]
        other = {"entailment": vector, "contradiction": -vector}.get(label, rng.normal(size=16))
        known |= {f"p{number}": vector, f"h{number}": other}
        labelled.append(Dialogue(str(number), "toy", "train", turns(f"p{number}", f"h{number}"), {"label": label}))
    data = TrainingData({"toy": corpus(*labelled)}, Models(tmp_path), seed=0, read=read)
    judge = judges.train_inference_judge(data, TextTable(known, read))
    assert judge is not None
    assert judge.accuracy > 0.8


def test_corpora_without_labels_are_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    dialogues = [Dialogue(str(number), "toy", "train", turns("tea", "rain", "hello", "what is it", f"tea {number}"))
                 for number in range(80)]
    data = TrainingData({"toy": corpus(*dialogues)}, Models(tmp_path, Choice(encoder=str(tiny_encoder))), seed=0,
                        recipe=FinedEvaluation.recipes["small"])
    with pytest.raises(MetricError, match="likability"):
        fined_data.prepare(data)
