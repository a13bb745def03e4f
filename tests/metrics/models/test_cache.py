"""Embeddings cached on disk: read back bit for bit, noticed when damaged, safe with several writers."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import MetricError
from metrics.models import cache as module
from metrics.models import pooled as pooled_vectors
from metrics.models.cache import EmbeddingCache
from metrics.models.memory import Vectors
from metrics.models.pooled import PooledVectors
from metrics.models.service import Choice, Models
from tests import tiny
from tests.tiny import rows_read

WIDTH = 3
ADVICE = "run without --keep-embeddings"


def states(text: object) -> Vectors:
    """Numbers that differ from text to text, as many rows as the text has characters."""
    seed = [ord(sign) for sign in repr(text)]
    return np.random.default_rng(seed).normal(size=(len(str(text)), WIDTH)).astype(np.float32)


def read(texts: Sequence[object]) -> list[Vectors]:
    return [states(text) for text in texts]


def refuse(texts: Sequence[object]) -> list[Vectors]:
    pytest.fail(f"{texts} should have been cached")


def rounded(text: object) -> Vectors:
    return states(text).astype(np.float16).astype(np.float32)


def filled(folder: Path, *texts: object) -> EmbeddingCache:
    cache = EmbeddingCache(folder, ADVICE)
    cache.through("states", texts, read)
    return cache


TEXTS = (st.text(max_size=10) | st.text("\ud800\udfff\x00\\ud8'\"", max_size=6)
         | st.tuples(st.text(max_size=4), st.text(max_size=4)))


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(TEXTS, max_size=12))
def test_any_text_comes_back_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, texts: list[object]) -> None:
    folder = tmp_path_factory.mktemp("cache")
    first = EmbeddingCache(folder)
    fresh = first.through("states", texts, read)
    first.flush()
    cached = EmbeddingCache(folder).through("states", texts, refuse)
    for text, one, two in zip(texts, fresh, cached, strict=True):
        assert (one == rounded(text)).all()
        assert one.shape == two.shape
        assert one.dtype == two.dtype == np.float32
        assert (one == two).all()


def test_texts_and_kinds_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    for one, two in (("\ud800", "\\ud800"), ("\ud800", "\ufffd"), ("a", "a\x00"), (("a", "b"), ("ab", "")),
                     (("a, b",), ("a", "b")), ("('a',)", ("a",)), ("é", "e\u0301")):
        assert (filled(tmp_path, one).through("states", [two], read)[0] == rounded(two)).all()
    words = filled(tmp_path, "ab").through("words", ["ab"], lambda texts: [np.ones((1, WIDTH), np.float32)])
    assert len(words[0]) == 1


def test_only_what_is_missing_is_read(tmp_path: Path) -> None:
    filled(tmp_path, "a", "b").flush()
    missing: list[object] = []
    EmbeddingCache(tmp_path).through("states", ["b", "c", "a"], lambda texts: missing.extend(texts) or read(texts))  # type: ignore[func-returns-value]
    assert missing == ["c"]
    nothing = EmbeddingCache(tmp_path / "nothing")
    nothing.through("states", [], refuse)
    nothing.flush()
    assert not (tmp_path / "nothing").exists()


def test_many_embeddings_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 200)
    texts = [f"text {number}" for number in range(40)]
    cache = filled(tmp_path, *texts)
    assert len(list(tmp_path.glob("*.arrow"))) > 5
    cache.flush()
    assert len(EmbeddingCache(tmp_path).through("states", texts, refuse)) == 40


# damage


def part(folder: Path) -> Path:
    filled(folder, "one", "two").flush()
    only, = folder.glob("*.arrow")
    return only


@pytest.mark.parametrize("damage", ["cut off", "a byte", "emptied", "renamed", "something else"])
def test_a_damaged_part_is_read_anew(tmp_path: Path, damage: str) -> None:
    path = part(tmp_path)
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "renamed":
        path.rename(tmp_path / f"{'0' * 64}.arrow")
    else:
        path.write_bytes({"cut off": content[:-1], "emptied": b"", "something else": b"no Arrow",
                          "a byte": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]}[damage])
    again, missing = EmbeddingCache(tmp_path), list[object]()
    vectors = again.through("states", ["one", "two"], lambda texts: missing.extend(texts) or read(texts))  # type: ignore[func-returns-value]
    assert missing == ["one", "two"]
    assert (vectors[0] == rounded("one")).all()
    again.flush()
    assert len(EmbeddingCache(tmp_path).through("states", ["one", "two"], refuse)) == 2


def test_a_half_written_part_is_not_read_and_in_time_removed(tmp_path: Path) -> None:
    path = part(tmp_path)
    half = tmp_path / f".{path.name}.x.part"
    half.write_bytes(path.read_bytes()[:100])
    path.unlink()
    os.utime(half, (0, 0))
    assert len(EmbeddingCache(tmp_path).through("states", ["one"], read)) == 1
    assert not half.exists()


def test_a_part_that_another_process_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = part(tmp_path)
    monkeypatch.setattr(Path, "glob", lambda *_: [path, tmp_path / "gone.arrow"])
    assert len(EmbeddingCache(tmp_path).through("states", ["one"], refuse)) == 1


def test_two_writers_keep_what_both_have_read(tmp_path: Path) -> None:
    """Each writes parts of its own, one text in both; as processes they differ in nothing else."""
    one, two = filled(tmp_path, "a", "b"), filled(tmp_path, "b", "c")
    one.flush()
    two.flush()
    vectors = EmbeddingCache(tmp_path).through("states", ["a", "b", "c"], refuse)
    assert all((vector == rounded(text)).all() for vector, text in zip(vectors, "abc", strict=True))


def test_a_full_disk_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    cache = filled(tmp_path, "one")
    monkeypatch.setattr(module, "write_atomically", full)
    with pytest.raises(MetricError, match=f"make room there, or {ADVICE}") as caught:
        cache.flush()
    assert os.strerror(errno.ENOSPC) in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    cache.flush()
    assert len(EmbeddingCache(tmp_path).through("states", ["one"], refuse)) == 1, "nothing was lost"


def test_what_float16_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MetricError, match=rf"7e\+04 is more than float16 holds; {ADVICE}"):
        EmbeddingCache(tmp_path, ADVICE).through("states", ["one"], lambda texts: [np.full((1, 1), 70_000, np.float32)])


# within a run

SENTENCES = ["hello there", "you like tea", "", "what a good reply to you", "🙂", "\ud800", "a " * 90]


def run(home: Path, folder: Path, *, keep: bool = True) -> tuple[list[Vectors], int, str]:
    """All that an encoder makes of some texts, how many rows its network read, and its identity."""
    models = Models(home, Choice(device="cpu", keep_embeddings=keep))
    encoder = models.encoder(str(folder))
    count = rows_read(encoder)
    vectors = [encoder.sentences(SENTENCES, pooling) for pooling in ("mean", "max", "cls")]  # type: ignore[arg-type]
    vectors += encoder.states(SENTENCES)
    vectors += encoder.words([("hello", "cats"), ("a",), ()])
    vectors.append(encoder.pairs([("hello", "there"), ("", ""), ("\ud800", "a")]))
    models.close()
    return vectors, len(count), models.identity("encoder", str(folder))


def test_a_second_run_reads_nothing_anew_and_its_signature_says_so(home: Path, tiny_encoder: Path) -> None:
    first, rows, identity = run(home, tiny_encoder)
    second, again, same = run(home, tiny_encoder)
    plain, uncached, exact = run(home, tiny_encoder, keep=False)
    assert rows > 0
    assert again == 0
    assert uncached > 0, "a run that keeps nothing reads no cache"
    assert identity == same == f"{exact} kept as fp16"
    assert all(one.shape == two.shape and (one == two).all() for one, two in zip(first, second, strict=True))
    assert any((one != two).any() for one, two in zip(first, plain, strict=True))
    assert all(np.allclose(one, two, atol=5e-3) for one, two in zip(first, plain, strict=True))


def test_layers_and_models_have_folders_of_their_own(home: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    other = tiny.encoder(tmp_path / "other", hidden_size=8)
    models = Models(home, Choice(device="cpu", keep_embeddings=True))
    for folder, layer in ((tiny_encoder, 0), (tiny_encoder, 1), (other, 0)):
        models.encoder(str(folder), layer).sentences(["hello"])
    models.close()
    assert len(list((home / "embeddings").iterdir())) == 3


# pooled vectors of very many texts

MANY = ["hello there", "what", "", "you like tea", "a good reply to you", "what", "\ud800 not"]


def test_pooled_vectors_are_the_encoder_s_and_each_text_is_read_once(
    home: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks; a reading that is stopped keeps the blocks it has read."""
    monkeypatch.setattr(pooled_vectors, "BLOCK", 2)
    encoder = Models(home, Choice(encoder=str(tiny_encoder), device="cpu")).encoder()
    expected = np.hstack([encoder.sentences(MANY, "mean"), encoder.sentences(MANY, "max")])
    assert np.array_equal(encoder.means_and_maxima(MANY), expected)
    rows, progress = list[str](), list[tuple[int, int]]()
    means_and_maxima = encoder.means_and_maxima
    monkeypatch.setattr(encoder, "means_and_maxima", lambda texts: rows.extend(texts) or means_and_maxima(texts))

    def stop(done: int, total: int, seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PooledVectors(tmp_path, encoder, stop)(MANY)
    pooled = PooledVectors(tmp_path, encoder, lambda done, total, seconds: progress.append((done, total)))(MANY)
    assert sorted(rows) == sorted(set(MANY))
    assert progress == [(2, 4), (4, 4)]
    assert pooled.dtype == np.float16
    assert np.array_equal(pooled, expected.astype(np.float16))
    assert not pooled[2].any()
    assert PooledVectors(tmp_path, encoder)([]).shape == (0, 2 * encoder.width)
    other = Models(home, Choice(encoder=str(tiny.encoder(tmp_path / "other", hidden_size=8)), device="cpu")).encoder()
    assert PooledVectors(tmp_path, other)(MANY).shape[1] == 16, "another encoder reads for itself"
