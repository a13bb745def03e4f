"""Embeddings kept on disk: read back bit for bit, noticed when damaged, safe with several writers."""

from __future__ import annotations

import errno
import multiprocessing
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.errors import MetricError
from metrics.models import kept as module
from metrics.models.kept import Kept
from metrics.models.memory import Vectors
from metrics.models.service import Choice, Models
from tests.tiny import rows_read

WIDTH = 3


def states(text: object) -> Vectors:
    """Numbers that differ from text to text, as many rows as the text has characters."""
    seed = [ord(sign) for sign in repr(text)]
    return np.random.default_rng(seed).normal(size=(len(str(text)), WIDTH)).astype(np.float32)


def read(texts: Sequence[object]) -> list[Vectors]:
    return [states(text) for text in texts]


def nothing(texts: Sequence[object]) -> list[Vectors]:
    pytest.fail(f"{texts} should have been kept")


def rounded(text: object) -> Vectors:
    return states(text).astype(np.float16).astype(np.float32)


TEXTS = (st.text(max_size=10) | st.text("\ud800\udfff\x00\\ud8'\"", max_size=6)
         | st.tuples(st.text(max_size=4), st.text(max_size=4)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)
@given(texts=st.lists(TEXTS, max_size=12))
def test_any_text_is_found_again_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, texts: list[object]) -> None:
    folder = tmp_path_factory.mktemp("kept")
    first = Kept(folder)
    now = first.through("states", texts, read)
    first.flush()
    then = Kept(folder).through("states", texts, nothing)
    for text, one, two in zip(texts, now, then, strict=True):
        assert (one == rounded(text)).all()
        assert one.shape == two.shape
        assert one.dtype == two.dtype == np.float32
        assert (one == two).all()


@pytest.mark.parametrize(("one", "two"), [
    ("\ud800", "\\ud800"), ("\ud800", "\ufffd"), ("a", "a\x00"), (("a", "b"), ("ab", "")), (("a, b",), ("a", "b")),
    ("('a',)", ("a",)), ("é", "e\u0301"),
])
def test_texts_that_look_alike_are_told_apart(tmp_path: Path, one: object, two: object) -> None:
    kept = Kept(tmp_path)
    kept.through("states", [one], read)
    assert (kept.through("states", [two], read)[0] == rounded(two)).all()


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.through("states", ["ab"], read)
    assert len(kept.through("words", ["ab"], lambda texts: [np.ones((1, WIDTH), np.float32)])[0]) == 1


def test_only_what_is_missing_is_read(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.through("states", ["a", "b"], read)
    kept.flush()
    asked: list[object] = []
    Kept(tmp_path).through("states", ["b", "c", "a"], lambda texts: asked.extend(texts) or read(texts))  # type: ignore[func-returns-value]
    assert asked == ["c"]


def test_nothing_leaves_no_file(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    kept.through("states", [], nothing)
    kept.flush()
    assert not (tmp_path / "kept").exists()


def test_much_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART", 200)
    kept = Kept(tmp_path)
    texts = [f"text {number}" for number in range(40)]
    kept.through("states", texts, read)
    assert len(list(tmp_path.glob("*.arrow"))) > 5
    kept.flush()
    assert len(Kept(tmp_path).through("states", texts, nothing)) == 40


# damage


def part(folder: Path) -> Path:
    kept = Kept(folder)
    kept.through("states", ["one", "two"], read)
    kept.flush()
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
    again = Kept(tmp_path)
    asked: list[object] = []
    found = again.through("states", ["one", "two"], lambda texts: asked.extend(texts) or read(texts))  # type: ignore[func-returns-value]
    assert asked == ["one", "two"]
    assert (found[0] == rounded("one")).all()
    again.flush()
    assert len(Kept(tmp_path).through("states", ["one", "two"], nothing)) == 2


def test_a_half_written_part_is_not_read_and_in_time_removed(tmp_path: Path) -> None:
    path = part(tmp_path)
    half = tmp_path / f".{path.name}.x.part"
    half.write_bytes(path.read_bytes()[:100])
    path.unlink()
    os.utime(half, (0, 0))
    assert len(Kept(tmp_path).through("states", ["one"], read)) == 1
    assert not half.exists()


def test_a_part_that_another_process_removes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = part(tmp_path)
    monkeypatch.setattr(Path, "glob", lambda *_: [path, tmp_path / "gone.arrow"])
    assert len(Kept(tmp_path).through("states", ["one"], nothing)) == 1


def write(folder: Path, texts: list[str], start: Any) -> None:
    kept = Kept(folder)
    start.wait(30)
    for text in texts:
        kept.through("states", [text], read)
        kept.flush()


def test_two_processes_may_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    texts = [f"text {number}" for number in range(30)]
    writers = [context.Process(target=write, args=(tmp_path, some, start)) for some in (texts[:20], texts[10:])]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    found = Kept(tmp_path).through("states", texts, nothing)
    assert all((one == rounded(text)).all() for one, text in zip(found, texts, strict=True))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_full_disk_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(number, os.strerror(number), str(path))

    kept = Kept(tmp_path)
    kept.through("states", ["one"], read)
    monkeypatch.setattr(module, "write_atomically", full)
    with pytest.raises(MetricError, match="make room there, or run without --keep-embeddings") as caught:
        kept.flush()
    assert os.strerror(number) in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    kept.flush()
    assert len(Kept(tmp_path).through("states", ["one"], nothing)) == 1, "nothing was lost"


def test_a_file_that_the_system_ends_is_said_as_well(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk that takes no more."""
    resource = pytest.importorskip("resource")
    kept = Kept(tmp_path)
    kept.through("states", ["one"], read)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(MetricError, match=f"cannot be kept in .*: {os.strerror(errno.EFBIG)};"):
            kept.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == [], "and leaves no half of it"


def test_a_file_in_the_folders_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    kept = Kept(tmp_path / "kept")
    kept.through("states", ["one"], read)
    with pytest.raises(MetricError, match="embeddings cannot be kept"):
        kept.flush()


def test_what_float16_cannot_hold_is_said_not_kept_as_infinite(tmp_path: Path) -> None:
    with pytest.raises(MetricError, match=r"7e\+04 is more than float16 holds"):
        Kept(tmp_path).through("states", ["one"], lambda texts: [np.full((1, 1), 70_000, np.float32)])


# within a run

SENTENCES = ["hello there", "you like tea", "", "what a good reply to you", "🙂", "\ud800", "a " * 90]
Pooling = Literal["mean", "max", "cls"]


def run(home: Path, folder: Path, *, keep: bool = True) -> tuple[list[Vectors], int, str]:
    """All that an encoder tells of some texts, how often its network was asked, and its identity."""
    models = Models(home, Choice(device="cpu", keep_embeddings=keep))
    encoder = models.encoder(str(folder))
    count = rows_read(encoder)
    poolings: tuple[Pooling, ...] = ("mean", "max", "cls")
    found = [encoder.sentences(SENTENCES, pooling) for pooling in poolings]
    found += encoder.states(SENTENCES)
    found += encoder.words([("hello", "cats"), ("a",), ()])
    found.append(encoder.pairs([("hello", "there"), ("", ""), ("\ud800", "a")]))
    models.close()
    return found, len(count), models.identity("encoder", str(folder))


def test_a_second_run_reads_nothing_anew_and_finds_the_same_bit_for_bit(home: Path, tiny_encoder: Path) -> None:
    first, asked, identity = run(home, tiny_encoder)
    second, again, same = run(home, tiny_encoder)
    assert asked > 0
    assert again == 0
    assert identity == same
    assert len(first) == len(second)
    assert all(one.shape == two.shape and (one == two).all() for one, two in zip(first, second, strict=True))


def test_a_run_that_keeps_says_so_in_its_signature(home: Path, tiny_encoder: Path) -> None:
    kept, _, rounded_identity = run(home, tiny_encoder)
    plain, asked, identity = run(home, tiny_encoder, keep=False)
    assert asked > 0, "a run that keeps nothing takes nothing that is kept"
    assert rounded_identity == f"{identity} kept as fp16"
    assert any((one != two).any() for one, two in zip(kept, plain, strict=True))
    assert all(np.allclose(one, two, atol=5e-3) for one, two in zip(kept, plain, strict=True))


def test_layers_and_models_have_folders_of_their_own(home: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    from tests import tiny

    other = tiny.encoder(tmp_path / "other", hidden_size=8)
    models = Models(home, Choice(device="cpu", keep_embeddings=True))
    for folder, layer in ((tiny_encoder, 0), (tiny_encoder, 1), (other, 0)):
        models.encoder(str(folder), layer).sentences(["hello"])
    models.close()
    assert len(list((home / "embeddings").iterdir())) == 3
