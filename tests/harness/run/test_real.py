"""Real data, from import to report, against an independent computation with the reference packages and scipy."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from scipy import stats

from harness.cli import main
from harness.results import files
from metrics import registry
from tests.faults.runs import flags

REFERENCED = ("persona-usr", "topical-usr", "dailydialog-gupta", "dailydialog-zhao", "persona-zhao")


@pytest.fixture(scope="module")
def out(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of all metrics without a model on the imported folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("NLTK_DATA", str(real_data / "resources" / "nltk_data"))
        folder = tmp_path_factory.mktemp("out")
        assert main(["import", str(real_data / "human_evaluation_data")]) == 0
        names = [name for name in registry.names() if registry.card(name).family in {"control", "lexical"}]
        assert main(["run", *flags("--metric", names), "--out", str(folder)]) == 0
    return folder


def rows(real_data: Path, name: str) -> list[dict[str, Any]]:
    return list(json.loads((real_data / "human_evaluation_data" / f"{name}_eval.json").read_text()))


def test_each_row_and_rating_is_in_the_result(real_data: Path, out: Path) -> None:
    report = files.read(out / "report")
    real = {entry.name: entry for entry in report.datasets if entry.origin == "imported"}
    assert len(real) == 10
    assert Counter(entry.origin for entry in report.datasets) == {"imported": 10, "sample": 9}
    for name, entry in real.items():
        found = rows(real_data, name)
        rated = Counter(quality for row in found for quality, votes in row["annotations"].items() if votes)
        assert entry.items == len(found)
        assert {quality.name: quality.rated for quality in entry.qualities} == rated
        sizes = {row.quality: row.n for row in report.correlations if (row.dataset, row.column) == (name, "random")}
        assert sizes == rated, "the random control scores every item, so every rated item is in its panel"
    targets = {(row.board, row.origin): row.targets for row in report.ranking}
    assert targets == {**targets, ("dev", "real"): 6 + 6 + 9 + 11 + 1 + 4 + 1 + 1 + 1 + 1,
                       ("dev-references", "real"): 6 + 6 + 1 + 4 + 1}
    assert {board for board in targets if ":" not in board[0]} == {
        (f"dev{part}", origin) for part in ("", "-references") for origin in ("real", "sample")} | {("test", "sample")}


@pytest.mark.parametrize("name", REFERENCED)
def test_correlations_equal_an_independent_computation(real_data: Path, out: Path, name: str) -> None:
    data = rows(real_data, name)
    measured = {(row.column, row.quality, row.statistic): row for row in files.read(out / "report").correlations
                if row.dataset == name}
    for order in (1, 4):
        bleu = BLEU(max_ngram_order=order, effective_order=True).sentence_score
        scores = [bleu(row["response"].strip(), [text.strip() for text in row["reference"]]).score for row in data]
        for quality in data[0]["annotations"]:
            human = [np.mean(row["annotations"][quality]) for row in data]
            for statistic, oracle in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr),
                                      ("kendall", stats.kendalltau)):
                row, expected = measured[f"bleu-{order}", quality, statistic], oracle(human, scores)
                assert (row.n, row.value, row.p) == pytest.approx(
                    (len(data), float(expected.statistic), float(expected.pvalue)), abs=1e-9)
