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


def said(*texts: str) -> list[dict[str, str]]:
    return [{"speaker": "AB"[place % 2], "text": text} for place, text in enumerate(texts)]


def corpora(folder: Path, adversarial: str) -> list[str]:
    """Dialogues, and contexts with good and adversarial replies."""
    talks = [{"dialogue_id": f"talk-{number}", "split": "train", "utterances": said(
        f"do you like {THINGS[number % 6]} {number}", f"i like {THINGS[number % 6]}", f"good {number}")}
        for number in range(120)]
    judged = [{"dialogue_id": f"judged-{number}", "split": "train",
               "utterances": said(f"is {THINGS[number % 6]} good {number}", "what is it to you"),
               "positive_responses": [f"{THINGS[number % 6]} is good", f"i like {THINGS[number % 6]}"],
               adversarial: [f"{THINGS[number % 6]} is not there {number}"]} for number in range(120)]
    flags = []
    for name, rows in (("talks", talks), ("judged", judged)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        flags += ["--corpus", str(folder / f"{name}.jsonl")]
    return flags


def test_a_few_steps(tmp_path: Path, home: Path, tiny_encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requested = "deb[negatives=both]"
    flags = [*corpora(tmp_path, "adversarial_negative_responses"), "--steps", "3", "--encoder", str(tiny_encoder)]
    assert main(["train", requested, *flags]) == 0
    assert "3 steps in" in capsys.readouterr().out
    models = Models(home, Choice(encoder=str(tiny_encoder)))
    items = [make_item("a", "i like tea", context=("do you like tea",)), make_item("b", "tea", context=())]
    column = registry.choose(requested).metric.score(items, models)["deb"]
    assert 0 < column[0] < 1
    assert np.isnan(column[1])


def test_adversarial_replies_must_be_in_a_corpus(tiny_encoder: Path, tmp_path: Path, home: Path,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    flags = [*corpora(tmp_path, "other"), "--steps", "3", "--encoder", str(tiny_encoder)]
    assert main(["train", "deb[negatives=both]", *flags]) == 2
    assert "none of the corpora has adversarial replies" in capsys.readouterr().err


def test_the_shipped_weights_are_for_the_embedded_encoder_alone(home: Path, tiny_encoder: Path) -> None:
    with pytest.raises(MissingResource, match="train your own with `harness train deb --encoder"):
        registry.choose("deb").metric.score([make_item("a", "i like tea")],
                                            Models(home, Choice(encoder=str(tiny_encoder))))
