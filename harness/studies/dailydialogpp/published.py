"""What Sai et al. (2020) print of a metric on DailyDialog++, found by the names that metrics and columns have here."""

from __future__ import annotations

from decimal import Decimal

from benchmarks.corpora.dailydialogpp import Kind
from harness.published import table
from harness.studies.dailydialogpp.columns import ScoredColumn, Way

METRICS = {
    "bleu-1": "BLEU-1", "bleu-2": "BLEU-2", "bleu-3": "BLEU-3", "bleu-4": "BLEU-4", "meteor": "METEOR",
    "rouge-l": "ROUGE-L", "delta-bleu": "deltaBLEU", "embedding-average": "Embedding Average",
    "vector-extrema": "Vector Extrema", "greedy-matching": "Greedy Matching", "bert-score-f": "BERTScore",
    "adem": "ADEM", "bert-regressor": "BERT regressor", "bert-dnn": "BERT+DNN", "ruber-unreferenced": "RUBER",
    "ruber-unreferenced-large": "RUBER-Large", "deb": "DEB",
}
"""The paper's name of a column, with the size of a metric that has several; its RUBER is the unreferenced part."""

TRAINED = frozenset({"adem", "bert-regressor", "bert-dnn", "ruber-unreferenced", "ruber-unreferenced-large", "deb"})
"""The paper's trained metrics, of which it prints one row whatever the references."""

QUALITIES: dict[Kind, str] = {"random": "pos vs rand neg", "adversarial": "pos vs adv neg"}
WAYS: dict[Way, str] = {"single": "single reference", "avg": "multi reference, avg", "max": "multi reference, max",
                        "standard": "multi reference, standard", "none": "trained metric"}
TRAINING = {"random": "trained/finetuned on rand neg", "adversarial": "trained/finetuned on adv neg",
            "both": "trained/finetuned on rand + adv neg"}
"""What the paper says of the negatives of a training, by the option `negatives`."""

CHANGES = {"unchanged": "unmodified positives", "reverse": "reverse word order", "jumble": "jumble word order",
           "nouns only": "retain only nouns", "no punctuation": "remove punctuation",
           "no stop words": "remove stopwords", "synonyms": "replace with synonyms"}
"""What each change is called in Table 4."""


def key(label: str, column: str) -> str:
    """The name by which a column is looked up; the large form of a metric has its own."""
    return f"{column}-large" if "=large" in label and column in METRICS else column


def training(row: ScoredColumn) -> str:
    """The negatives to look a column up by; a metric without that option counts as trained with random ones."""
    return row.training or "random"


def figure(row: ScoredColumn, negatives: Kind, statistic: str) -> Decimal | None:
    """What Tables 3 and 7 print of a column: accuracy or point-biserial."""
    return in_tables_3_and_7(key(row.label, row.column), row.way, negatives, statistic, training(row))


def in_tables_3_and_7(column: str, way: Way, negatives: Kind, statistic: str, trained_with: str = "random",
                      ) -> Decimal | None:
    """Accuracy or point-biserial correlation in Table 3, or in Table 7 where the table before has none."""
    notes = {"Table 3": WAYS[way]}
    if column in TRAINED:
        notes = {"Table 7": TRAINING.get(trained_with, "?")}
        if trained_with == "random":
            notes["Table 3"] = WAYS["none"]
    values = {row.table: row.value for row in table("deb")
              if (row.metric, row.quality, row.statistic) == (METRICS.get(column), QUALITIES[negatives], statistic)
              and row.note.startswith(notes.get(row.table, "?"))}
    return values.get("Table 3", values.get("Table 7"))


def accuracy_trained(column: str, trained_with: str, negatives: Kind) -> Decimal | None:
    """The accuracy in Table 7 of a metric trained with some negatives: random, adversarial or both."""
    return next((row.value for row in table("deb") if row.table == "Table 7" and row.metric == METRICS.get(column)
                 and row.quality == QUALITIES[negatives] and row.note.partition(";")[0] == TRAINING[trained_with]),
                None)


def count(column: str, negatives: Kind, part: str) -> Decimal | None:
    """A number of the confusion matrix in Table 5: tp, fn, fp or tn."""
    return _value("Table 5", METRICS.get(column), QUALITIES[negatives], f"count-{part}")


def share(column: str, change: str) -> Decimal | None:
    """The share of changed replies that still count as relevant, in Table 4."""
    return _value("Table 4", METRICS.get(column), CHANGES[change], "fraction-classified-positive")


def conicity(sets: str) -> dict[str, Decimal]:
    """The conicity of P, P+R or P+A in the two spaces of Section 7.3."""
    return {row.metric: row.value for row in table("deb")
            if row.statistic == "conicity" and row.quality == f"set {sets.replace('+', ' u ')}"}


def _value(where: str, metric: str | None, quality: str, statistic: str) -> Decimal | None:
    return next((row.value for row in table("deb") if (row.table, row.metric, row.quality, row.statistic)
                 == (where, metric, quality, statistic)), None)
