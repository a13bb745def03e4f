"""`harness study dailydialogpp`: numbers by hand, replies and changes, published numbers, and end to end."""

import csv
import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from zipfile import ZipFile

import numpy as np
import pytest

from benchmarks.corpora import corpora
from benchmarks.corpora import dailydialogpp as data
from benchmarks.dataset import Item, Reference
from benchmarks.errors import BadRecord
from harness.results.cache import Cache
from harness.scoring.progress import Progress
from harness.scoring.store import ScoreStore
from harness.studies import dailydialogpp
from harness.studies.dailydialogpp import conicities, conicity, page
from harness.studies.dailydialogpp.accuracy import compare_pairs, confusion, threshold
from harness.studies.dailydialogpp.columns import ReplyScores, uses
from harness.studies.dailydialogpp.replies import Lexicon, Replies, changes, lexicon, make_replies
from metrics import registry
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from tests.conftest import Invoke

RECORDS = [
    {"context": ["hello", "how are you today"],
     "positive_responses": ["fine thanks", "very fine thanks", "i am fine thanks"],
     "random_negative_responses": ["the bus is late", "two tickets please", "it was red"],
     "adversarial_negative_responses": ["today is monday", "how to fix cars", "you are fine art"]},
    {"context": ["where is my book"],
     "positive_responses": ["on the table", "there on the table", "maybe on the big table"],
     "random_negative_responses": ["fine thanks", "i am so hungry", "call me later"],
     "adversarial_negative_responses": ["book a table", "my favourite book is long", "where he works"]},
]

SENSES = """dog%1:05:00:: 0001 1 42
domestic_dog%1:05:00:: 0001 1 0
hound%1:05:00:: 0001 2 3
cur%1:05:01:: 0001 1 9
dog%2:38:00:: 0007 1 2
chase%2:38:00:: 0007 1 30
run%1:04:00:: 0002 1 5
run%2:38:00:: 0003 1 50
bolt%2:38:01:: 0003 1 1
child%1:18:00:: 0004 1 20
kid%1:18:00:: 0004 1 8
good%3:00:00:: 0005 1 90
fine%5:00:00:good:00 0005 2 7
i%1:27:00:: 0006 1 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pp"
    made.mkdir()
    for part in data.PARTS:
        (made / f"{part}.json").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return made


@pytest.fixture
def replies(folder: Path) -> Replies:
    return make_replies("toy", data.read(folder, "test"), "none", 0)


@pytest.fixture
def words(tmp_path: Path) -> Lexicon:
    path = tmp_path / "wordnet.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("wordnet/index.sense", SENSES)
        for name in ("noun", "verb", "adj", "adv"):
            archive.writestr(f"wordnet/{name}.exc", "children child\n" if name == "noun" else "")
    return lexicon(path)


def test_the_threshold_has_the_fewest_errors_on_the_development_part() -> None:
    for scores, trained, value, rule in (
        ([0.105, 0.4, 0.355, 0.8], False, 0.11, "grid"),  # one error up to 0.35, then two, one from 0.41
        ([0.105, 0.4, 0.355, 0.8], True, 0.5, "fixed"),
        ([-90.0, -60.0, -65.0, -20.0], False, -89.25, "quantiles"),  # 0.01 of the way to the next score, 25 above
        ([-90.0, -60.0, -65.0, -20.0], True, -89.25, "quantiles"),  # no probability: 0.5 would mean nothing
        ([0.2, math.nan, 0.9, math.nan], False, 0.21, "grid"),
        ([math.nan] * 4, True, math.nan, "none"),
    ):
        result = threshold(np.array(scores), np.array([False, False, True, True]), trained)
        assert (result.value, result.rule) == (pytest.approx(value, nan_ok=True), rule)


def test_confusion_by_hand(replies: Replies) -> None:
    scores = np.where(replies.kinds == "positive", 0.9, 0.1)
    rows = {kind: np.flatnonzero(replies.kinds == kind) for kind in data.FIELDS}
    scores[rows["positive"][0]], scores[rows["random"][:2]], scores[rows["random"][5]] = 0.2, (0.7, 0.5), math.nan
    for kind, counts, accuracy in (("random", (5, 1, 2, 3, 1), 8 / 11), ("adversarial", (5, 1, 0, 6, 0), 11 / 12)):
        matrix = confusion(scores, replies, kind, 0.5)
        assert (matrix.tp, matrix.fn, matrix.fp, matrix.tn, matrix.missing) == counts
        assert matrix.accuracy == pytest.approx(accuracy)


def test_columns_are_tested_against_each_other(replies: Replies) -> None:
    right = np.where(replies.kinds == "positive", 0.9, 0.1)
    wrong = np.where(replies.kinds == "random", 0.8, right)  # six errors, of which the first makes none
    (pair,) = compare_pairs([right, wrong], [0.5, 0.5], replies, "random")
    assert (pair["accuracy"], pair["accuracy_second"]) == (1.0, 0.5)
    assert pair["mcnemar_p"] == pytest.approx(2 * 0.5**6)
    assert pair["chi_squared"] == pytest.approx(24 * (12 * 6) ** 2 / (12 * 12 * 18 * 6))
    assert pair["r_difference"] == pytest.approx(0.0)  # both correlations are 1: another scale, the same order
    assert compare_pairs([right], [0.5], replies, "random") == []


def test_conicity_by_hand_and_its_mean_over_contexts(replies: Replies) -> None:
    for rows, value in (([(1, 0), (3, 0)], 1.0), ([(7, 0), (0, 7)], math.sqrt(0.5)), ([(1, 0), (-1, 0)], 0.0),
                        ([(2, 0), (0, 0)], 0.5)):
        assert conicity(np.array(rows, dtype=np.float32)) == pytest.approx(value)
    vectors = np.zeros((len(replies.kinds), 2), np.float32)
    vectors[replies.kinds == "positive", 0] = 1
    vectors[(replies.kinds == "random") & (replies.contexts == 0), 1] = 1  # orthogonal
    vectors[(replies.kinds == "random") & (replies.contexts == 1), 0] = 1  # the same direction
    vectors[replies.kinds == "adversarial", 0] = -1
    assert conicities(vectors, replies) == pytest.approx({"P": 1.0, "P+R": (math.sqrt(0.5) + 1) / 2, "P+A": 0.0})


def test_the_kth_reply_is_compared_with_the_others(folder: Path) -> None:
    contexts = data.read(folder, "test")
    several, single, weighted = (make_replies("toy", contexts, way, 0) for way in ("several", "single", "weighted"))
    assert several.kinds.tolist() == 2 * (["positive"] * 3 + ["random"] * 3 + ["adversarial"] * 3)
    assert [turn.speaker for turn in several.dataset.items[0].context] == ["system", "user"]
    drawn: dict[tuple[int, int], Reference] = {}
    for index, (item, with_one) in enumerate(zip(several.dataset.items, single.dataset.items, strict=True)):
        relevant = RECORDS[index // 9]["positive_responses"]
        assert [reference.text for reference in item.references] == [
            text for k, text in enumerate(relevant) if k != index % 3]
        (reference,) = with_one.references
        assert reference in item.references
        assert drawn.setdefault((index // 9, index % 3), reference) == reference, "the same for all kinds"
    assert [(reference.text, reference.weight) for reference in weighted.dataset.items[3].references] == [
        ("very fine thanks", 1), ("i am fine thanks", 1), ("two tickets please", -1), ("it was red", -1)]


@pytest.mark.parametrize(("name", "modes"), [
    ("rouge-l", "single max avg standard"), ("rouge-l[references=max]", "single max"),
    ("rouge-l[references=first]", "single"), ("delta-bleu", "standard"), ("length", "none"), ("cosine", "none"),
    ("cosine[against=references]", "single max avg standard")])
def test_each_metric_is_scored_with_all_its_uses_of_references(name: str, modes: str) -> None:
    assert [use.mode for use in uses(registry.choose(name))] == modes.split()


def test_changes_by_hand(words: Lexicon) -> None:
    for change, text, result in (
        ("reverse", "Well, I run.", "run. I Well,"),
        ("no punctuation", "Well, I don't know (yet)!", "Well I don't know yet"),
        ("no punctuation", "'Tis well-known...", "Tis well known"),
        ("no stop words", "I don't like the Dog, it's big.", "like Dog, big."),
        ("nouns only", "I run to the dogs and the children.", "dogs children"),
        ("nouns only", "run!", ""),
        ("synonyms", "I run to the Dogs, child.", "I bolt to the Cur, kid."),
        ("synonyms", "Good qwerty", "Fine qwerty"),
    ):
        assert changes(0, words)[change](text) == result
    assert set(page.CHANGES) - set(changes(0, None)) == {"nouns only", "synonyms"}
    text = " ".join(map(str, range(30)))
    jumbled = [changes(seed, None)["jumble"](text) for seed in (0, 1, 1)]
    assert len({text, *jumbled}) == 3
    assert all(sorted(words_.split()) == sorted(text.split()) for words_ in jumbled)


def test_published_numbers_are_found() -> None:
    def row(column: str, mode: str = "none", negatives: str | None = None, label: str = "") -> Any:
        return SimpleNamespace(column=column, mode=mode, negatives=negatives, label=label or column)

    for column, kind, statistic, value in (
        (row("rouge-l", "standard"), "random", "point-biserial", "0.37"),
        (row("bleu-1", "single"), "adversarial", "accuracy", None),
        (row("deb", negatives="both"), "adversarial", "accuracy", "0.9265"),
        (row("ruber-unreferenced", label="ruber[size=large]"), "random", "accuracy", "0.8236"),
    ):
        found = page.printed(column, kind, statistic)
        assert (found and found.value) == (None if value is None else Decimal(value))
    count = page.printed_with(row("deb"), "Table 5", quality="pos vs adv neg", statistic="count-tp")
    assert count is not None
    assert count.value == 5011
    assert page.key(row("bert-dnn", label="bert-dnn[encoder=roberta-large]")) == "bert-dnn"
    assert set(page.METRICS.values()) <= {row.metric for row in page.PAPER.rows}


def test_end_to_end(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    command = ["study", "dailydialogpp", "--from", folder, "--out", tmp_path / "out", "--metric", "rouge-l",
               "--metric", "length", "--metric", "meteor"]
    out = invoke(*command).out
    study = tmp_path / "out" / "studies" / "dailydialogpp"
    assert {path.name for path in study.iterdir()} == {
        "dailydialogpp.md", "accuracy.csv", "contest.csv", "change.csv", "exhibit.json"}
    assert "left out, nouns only, synonyms" in " ".join(out.split())
    rows = {(row["metric"], row["references"], row["negatives"]): row
            for row in csv.DictReader((study / "accuracy.csv").read_text().splitlines())}
    best = rows["rouge-l", "max", "random"]  # every relevant reply shares words with another, no random one does
    assert (best["accuracy"], best["tp"], best["tn"], best["rule"]) == ("1.0", "6", "6", "grid")
    assert best["accuracy_paper"] == "0.6789"
    assert "uncertain" in best["accuracy_paper_note"]
    assert "67.9 % ?" in (study / "dailydialogpp.md").read_text()
    monkeypatch.setattr("harness.scoring.score.score", None)  # a second study scores nothing
    assert invoke(*command).out == out


@dataclass(frozen=True, slots=True)
class Knows:
    """A trained metric that knows the first context's relevant replies."""

    card: ClassVar[MetricCard] = MetricCard(name="deb", title="DEB", columns=("deb",), family="trained")
    negatives: str = "both"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        if self.negatives == "none":
            raise ZeroDivisionError("by nothing")
        return {"deb": np.array([0.5 if "fine thanks" in item.utterances[-1].text else 0.4 for item in items])}


def test_trained_metrics_have_threshold_one_half_and_fail_singly(folder: Path, tmp_path: Path, home: Path) -> None:
    chosen = (registry.Chosen(Knows(), "[negatives=both]"), registry.Chosen(Knows("none"), "[negatives=none]"))
    contexts = {part: data.read(folder, part) for part in data.PARTS}
    scores = ReplyScores(contexts, changes(0, None), 0, Models(home), ScoreStore(tmp_path / "scores"), Progress())
    findings = dailydialogpp.compare(chosen, scores, Cache(tmp_path / "cache"))
    tables = {table.name: table.rows for table in findings.tables}
    assert tables["accuracy"] == (("deb[negatives=both]", "none", "0.500", "66.7 %", "88.7 %", "0.35", "", "75.0 %",
                                   "92.7 %", "0.58", ""),)
    assert "conicity" not in tables, "no metric uses an encoder"
    (changed,) = tables["changes"]
    assert changed[:3] + changed[4:] == ("deb[negatives=both]", "50.0 %", "0.0 %", "–", "50.0 %", "50.0 %", "–")
    (failure,) = findings.failures
    assert failure.startswith("deb[negatives=none]: ZeroDivisionError: by nothing in line ")


def test_conicity_of_the_encoder_stands_beside_the_papers(folder: Path, tmp_path: Path) -> None:
    encoder = SimpleNamespace(sentences=lambda texts, pooling: np.ones((len(texts), 2)))
    models: Any = SimpleNamespace(identity=lambda kind: "ones", encoder=lambda: encoder)
    contexts = {part: data.read(folder, part) for part in data.PARTS}
    scores = ReplyScores(contexts, changes(0, None), 0, models, ScoreStore(tmp_path / "scores"), Progress())
    by_set = dailydialogpp.encoder_conicities([registry.choose("cosine")], scores, Cache(tmp_path / "cache"))
    rows = list(page.conicity_rows(by_set))
    assert rows[0] == ("replies alone", "1.00", "1.00", "1.00")
    assert {row[2] for row in rows[1:]} == {"0.59", "0.37"}, "of the paper"


def test_the_fetched_corpus_is_read_and_bad_records_are_refused(folder: Path, home: Path, tmp_path: Path) -> None:
    rows = [{"split": split, "utterances": [{"speaker": "A", "text": text} for text in record["context"]], **record}
            for split in ("train", "dev", "test") for record in RECORDS]
    corpus = corpora.path(data.CORPUS, home)
    corpus.parent.mkdir(parents=True)
    corpus.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert [data.read(corpus, part) for part in data.PARTS] == [data.read(folder, part) for part in data.PARTS]
    for record, part in (("nonsense", "JSON"), ("{}", "'context'"),
                         (json.dumps(RECORDS[0] | {"positive_responses": ["one"]}), "two")):
        (tmp_path / "dev.json").write_text(json.dumps(RECORDS[0]) + "\n\n" + record + "\n")
        with pytest.raises(BadRecord, match=f"dev.json, line 3.*{part}"):
            data.read(tmp_path, "dev")
    (tmp_path / "dev.json").write_text("\n")
    with pytest.raises(BadRecord, match="dev"):
        data.read(tmp_path, "dev")
