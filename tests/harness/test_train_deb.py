"""DEB from the command line: a few steps on small corpora, a checkpoint, a score; and weights that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from harness.cli import main  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.errors import MissingResource  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from tests.conftest import make_item  # noqa: E402

THINGS = ("tea", "hello", "the reply", "what is good", "to you", "not there")


def written(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"speaker": "AB"[place % 2], "text": text} for place, text in enumerate(texts)]


@pytest.fixture
def corpora(tmp_path: Path) -> list[str]:
    """Dialogues, and contexts with good and adversarial replies."""
    talks = [{"dialogue_id": f"talk-{number}", "split": "train", "utterances": said(
        f"do you like {THINGS[number % 6]} {number}", f"i like {THINGS[number % 6]}", f"good {number}")}
        for number in range(120)]
    judged = [{"dialogue_id": f"judged-{number}", "split": "train",
               "utterances": said(f"is {THINGS[number % 6]} good {number}", "what is it to you"),
               "positive_responses": [f"{THINGS[number % 6]} is good", f"i like {THINGS[number % 6]}"],
               "adversarial_negative_responses": [f"{THINGS[number % 6]} is not there {number}"]}
              for number in range(120)]
    files = (written(tmp_path / "talks.jsonl", talks), written(tmp_path / "judged.jsonl", judged))
    return ["--corpus", files[0], "--corpus", files[1]]


@pytest.mark.parametrize("asked", ["deb", "deb[negatives=both]"])
def test_twenty_steps(asked: str, corpora: list[str], home: Path, tiny_encoder: Path,
                      capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", asked, *corpora, "--steps", "20", "--encoder", str(tiny_encoder)]) == 0
    assert "20 steps in" in capsys.readouterr().out
    metric = registry.choose(asked).metric
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    items = [make_item("a", "i like tea", context=("do you like tea",)), make_item("b", "tea", context=())]
    column = metric.score(items, models)["deb"]
    assert 0 < column[0] < 1
    assert np.isnan(column[1])
    assert metric.hidden(items, models).shape == (2, 64)  # type: ignore[attr-defined]


def test_adversarial_replies_must_be_there(corpora: list[str], tiny_encoder: Path, tmp_path: Path, home: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(corpora[3])
    path.write_text(path.read_text().replace("adversarial_negative_responses", "other"))
    assert main(["train", "deb[negatives=both]", *corpora, "--steps", "20", "--encoder", str(tiny_encoder)]) == 2
    assert "none of the corpora has adversarial replies" in capsys.readouterr().err


def test_the_shipped_weights_are_for_the_embedded_encoder_alone(home: Path, tiny_encoder: Path) -> None:
    """Refused with what to do."""
    items = [make_item("a", "i like tea")]
    with pytest.raises(MissingResource, match="train your own with `harness train deb --encoder"):
        registry.choose("deb").metric.score(items, Models(home, Choice(encoder=str(tiny_encoder))))
