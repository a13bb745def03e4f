"""Features: pooled vectors of many texts, read once, kept, and read anew where a part is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from metrics.errors import MetricError
from metrics.models.encoder import Encoder
from metrics.models.service import Choice, Models
from metrics.training.features import Features

TEXTS = ["hello there", "what", "", "you like tea", "a good reply to you", "what", "\ud800 not"]


@pytest.fixture
def encoder(tiny_encoder: Path, home: Path) -> Encoder:
    return Models(home, Choice(encoder=str(tiny_encoder), device="cpu")).encoder()


def reads(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    before = encoder.means_and_maxima

    def counted(texts: list[str]) -> object:
        seen.extend(texts)
        return before(texts)

    monkeypatch.setattr(encoder, "means_and_maxima", counted)
    return seen


def test_both_vectors_are_those_of_the_encoder(encoder: Encoder, tmp_path: Path) -> None:
    expected = np.hstack([encoder.sentences(TEXTS, "mean"), encoder.sentences(TEXTS, "max")])
    assert np.array_equal(encoder.means_and_maxima(TEXTS), expected)
    found = Features(tmp_path, encoder, part=2)(TEXTS)
    assert found.dtype == np.float16
    assert np.array_equal(found, expected.astype(np.float16))
    assert not found[2].any()
    assert Features(tmp_path, encoder)([]).shape == (0, 2 * encoder.width)


def test_each_text_is_read_once_and_progress_is_told(encoder: Encoder, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    seen, told = reads(encoder, monkeypatch), []
    first = Features(tmp_path, encoder, lambda done, total, seconds: told.append((done, total)), part=4)
    found = first(TEXTS)
    assert sorted(seen) == sorted(set(TEXTS))
    assert told == [(4, 6), (6, 6)]
    assert np.array_equal(Features(tmp_path, encoder)([*TEXTS[::-1], "new"])[: len(TEXTS)], found[::-1])
    assert seen[6:] == ["new"]


def test_a_damaged_part_is_removed_and_read_anew(encoder: Encoder, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Features(tmp_path, encoder, part=3)
    expected = whole(TEXTS)
    cut, changed = sorted(whole.folder.glob("*.npy"))
    cut.write_bytes(cut.read_bytes()[:-5])
    changed.write_bytes(changed.read_bytes().replace(b"\0", b"\1", 1))
    seen = reads(encoder, monkeypatch)
    assert np.array_equal(Features(tmp_path, encoder)(TEXTS), expected)
    assert sorted(seen) == sorted(set(TEXTS))


def test_a_killed_reading_keeps_its_whole_parts(encoder: Encoder, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(done: int, total: int, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Features(tmp_path, encoder, stop, part=2)(TEXTS)
    seen = reads(encoder, monkeypatch)
    Features(tmp_path, encoder)(TEXTS)
    assert len(seen) == 4


def test_another_encoder_reads_for_itself(encoder: Encoder, tmp_path: Path, home: Path) -> None:
    from tests import tiny

    other = Models(home, Choice(encoder=str(tiny.encoder(tmp_path / "other", hidden_size=8)), device="cpu")).encoder()
    assert Features(tmp_path, encoder)(TEXTS).shape[1] == 32
    assert Features(tmp_path, other)(TEXTS).shape[1] == 16


def test_vectors_that_float16_does_not_hold_are_told(encoder: Encoder, tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "means_and_maxima", lambda texts: np.full((len(texts), 32), 1e6, np.float32))
    with pytest.raises(MetricError, match=r"1e\+06 is more than float16 holds"):
        Features(tmp_path, encoder)(["a"])
