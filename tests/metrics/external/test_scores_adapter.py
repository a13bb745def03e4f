"""`scores:FILE`: scores that were made elsewhere as a metric like any other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Quality, Rating
from harness.run import correlate
from harness.scoring import score
from metrics import registry
from metrics.errors import CannotScore, MetricError
from metrics.metric import signature
from metrics.models.service import Models
from tests.conftest import make_card, make_item

MODELS = Models(Path())
ITEMS = tuple(make_item(f"toy_{number}", "a reply") for number in range(4))
QUALITIES = (Quality("Relevant", dimension="relevance"), Quality("overall"))
RATINGS = tuple(Rating(item.id, quality.name, (float(place),))
                for quality in QUALITIES for place, item in enumerate(ITEMS))
DATASET = Dataset(make_card(size=4, qualities=QUALITIES), ITEMS, RATINGS, "imported")


def written(folder: Path, *rows: str, name: str = "mine.csv") -> str:
    (folder / name).write_text("\n".join(["dialogue_id,score", *rows]))
    return f"scores:{folder / name}"


def test_the_scores_of_the_file_are_those_of_the_items(tmp_path: Path) -> None:
    chosen = registry.choose(written(tmp_path, "toy_2,0.5", "toy_0,-1", "other,9"))
    assert chosen.label == "scores:mine.csv", "the folder is nobody's business"
    found = score.score(chosen.metric, DATASET, MODELS)
    np.testing.assert_array_equal(found.columns["scores:mine.csv"], [-1, np.nan, 0.5, np.nan])


def test_scores_for_a_quality_stand_in_its_cells_alone(tmp_path: Path) -> None:
    rows = [f"toy_{place},{place}" for place in range(4)] + [f"toy_{place}|Relevant,{-place}" for place in range(3)]
    chosen = registry.choose(written(tmp_path, *rows, "toy_0|nonsense,5"))
    found = score.score(chosen.metric, DATASET, MODELS)
    assert set(found.columns) == {"scores:mine.csv", "scores:mine.csv@relevance"}
    judged = correlate.judged(DATASET, QUALITIES)
    points = correlate.item_scores(DATASET, judged, {(chosen.label, ""): found})
    relevance, overall = correlate.targets(points, judged)
    assert relevance.names == overall.names == (("scores:mine.csv", "scores:mine.csv"),)
    np.testing.assert_array_equal(relevance.scores, [[0, -1, -2, 3]], "the one score for all where there is no other")
    np.testing.assert_array_equal(overall.scores, [[0, 1, 2, 3]])


def test_the_signature_holds_the_content_and_no_folder(tmp_path: Path) -> None:
    first = signature(registry.choose(written(tmp_path, "toy_0,1")).metric, MODELS)
    again = signature(registry.choose(written(tmp_path, "toy_0,2")).metric, MODELS)
    assert first.startswith("scores|r1|asked=scores:mine.csv|sha256=")
    assert first != again
    assert str(tmp_path) not in first


def test_a_file_that_cannot_be_taken_is_refused_whole(tmp_path: Path) -> None:
    with pytest.raises(CannotScore, match="no score of its items"):
        score.score(registry.choose(written(tmp_path, "other_0,1", "toy_1,")).metric, DATASET, MODELS)
    for rows, why in (
        (("toy_0,x",), "line 2: toy_0: its score 'x' is no number"),
        (("toy_0,1", "toy_1,1e400"), "line 3: toy_1: its score 1e400 is more than a number can hold"),
        (("toy_0,1", "toy_0,1"), "line 3: toy_0 stands on line 2 already"),
        (("toy_0,1,1",), "line 2: 3 values for 2 columns"),
    ):
        with pytest.raises(MetricError, match=f"^scores:mine.csv: .*{why}"):
            registry.choose(written(tmp_path, *rows))
    for name in ("none.csv", "mine.pkl", "mine"):
        with pytest.raises(MetricError, match=f"scores:{name}: "):
            registry.choose(f"scores:{tmp_path / name}")
