"""Word vectors: every format against gensim, lookup by hand, and damaged, truncated or other files."""

import gzip
import hashlib
import pickle
import shutil
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from metrics.errors import MissingResource
from metrics.models.resources import Resource
from metrics.models.service import Choice, Models
from metrics.models.vectors import WordVectors, from_encoder, from_file
from tests.conftest import refused

PLAIN = "the 0.5 1 -2\ntea 1 0 0\nTea 0 1 0\ndo 0 2 4\nn't 2 4 0\nit 1 1 1\n's 3 1 5\n"


def resource(path: Path) -> Resource:
    return Resource(path.name, path, hashlib.sha256(path.read_bytes()).hexdigest())


def opened(path: Path, home: Path) -> WordVectors:
    return from_file(resource(path), home)


def placed(folder: Path, content: bytes | str, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def binary(entries: dict[str, list[float]], feed: bytes = b"") -> bytes:
    width = len(next(iter(entries.values())))
    return b"%d %d\n" % (len(entries), width) + b"".join(
        word.encode() + b" " + struct.pack(f"<{width}f", *numbers) + feed for word, numbers in entries.items())


def tables(home: Path) -> list[Path]:
    return sorted((home / "vectors").iterdir())


def test_every_format_agrees_with_gensim(tmp_path: Path, home: Path, rng: np.random.Generator) -> None:
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    words = ["the", ",", "0.5", "'s", "naïve", "日本", "🙂", "New_York", "</s>", *(f"word{n}" for n in range(500))]
    vectors = keyed(50)
    vectors.add_vectors(words, rng.normal(size=(len(words), 50)).astype(np.float32))
    for name in ("headed.txt", "headless.txt", "binary.bin"):
        path, kind = tmp_path / name, {"binary": name == "binary.bin"}
        vectors.save_word2vec_format(str(tmp_path / "twin"), **kind)  # gensim needs a header
        vectors.save_word2vec_format(str(path), write_header=name != "headless.txt", **kind)
        expected = keyed.load_word2vec_format(str(tmp_path / "twin"), **kind)[words]
        for file in (path, placed(tmp_path, gzip.compress(path.read_bytes(), mtime=0), f"{name}.gz")):
            ours = opened(file, home)
            assert (ours.name, ours.width, ours.of(words).dtype) == (file.name, 50, np.float32)
            np.testing.assert_array_equal(ours.of(words), expected)
    folder = tmp_path / "numpy"
    folder.mkdir()
    np.save(folder / "vectors.npy", vectors[words])
    for order in (words, words[::-1]):  # another index of the same vectors
        pyarrow.parquet.write_table(pyarrow.table({"index": order}), folder / "words.parquet")
        read = Models(home, Choice(vectors=str(folder / "vectors.npy"))).vectors()
        np.testing.assert_array_equal(read.of(order), vectors[words])
    pyarrow.parquet.write_table(pyarrow.table({"index": words[1:]}), folder / "words.parquet")
    with pytest.raises(MissingResource, match="508"):
        opened(folder / "vectors.npy", home)
    path = placed(tmp_path, "3 2\na 1 2\na 3 4\nb 5 6\n")  # if a word occurs twice, the first counts
    assert opened(path, home).of(["a"]).tolist() == [keyed.load_word2vec_format(str(path))["a"].tolist()] == [[1, 2]]


def test_variants_of_text_files_are_accepted(tmp_path: Path, home: Path) -> None:
    for content, words in (
        ("2 2\na 1 2 \nb 3 4 \n", "ab"),                      # a trailing space, as from word2vec and fastText
        ("a 1 2\r\nb 3 4\r\n", "ab"),
        ("a\t1\t2\nb\t3\t4", "ab"),                           # no final line feed
        ("a 1 2\n\nb 3 4\n\n", "ab"),                         # blank lines
        ("7 1 2\n8 3 4\n", "78"),                             # words that are numbers
        (b"\xff\xfe 9 9\na 1 2\nb 3 4\n", "ab"),              # a word that is not UTF-8
        ("\u0085 1 2\n\u00a0 3 4\n", "\u0085\u00a0"),         # Unicode spaces are words in GloVe
        ("2 2\na 1e0 +2\nb .3e1 4.\n", "ab"),
        (". . . 1 2\nto name@domain.com 3 4\n", (". . .", "to name@domain.com")),  # as in glove.840B.300d
    ):
        assert opened(placed(tmp_path, content), home).of(list(words)).tolist() == [[1, 2], [3, 4]]


def test_binary_files_with_and_without_line_feeds(tmp_path: Path, home: Path) -> None:
    entries = {"in": [1.0, -2.5, 0.0], "</s>": [0.1, 1e-3, 3.0], "naïve": [4.0, 0.0, 1.0]}
    for feed, name in ((b"", "vectors.bin"), (b"\n", "vectors.bin"), (b"", "vectors.w2v")):
        ours = opened(placed(tmp_path, binary(entries, feed), name), home)
        np.testing.assert_array_equal(ours.of(entries), np.array(list(entries.values()), np.float32))
    [number] = struct.unpack("<f", b" \n \n")
    found = opened(placed(tmp_path, binary({"a": [number] * 3, "b": [1, 2, 3]}), "vectors.bin"), home)
    assert found.of("ab").tolist() == [[number] * 3, [1, 2, 3]]


def test_a_word_is_looked_up_lower_cased_or_by_its_parts(tmp_path: Path, home: Path) -> None:
    found = opened(placed(tmp_path, PLAIN), home)
    assert found.of(["Tea", "tea", "TEA", "The"]).tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [0.5, 1, -2]]
    assert found.of(["don't", "Don’t", "it's"]).tolist() == [[1, 3, 2], [1, 3, 2], [2, 1, 3]]
    assert found.of(["tea's"]).tolist() == [[2, 0.5, 2.5]]
    assert found.of(["xyz's"]).tolist() == [[3, 1, 5]], "the mean of the known parts"
    path = placed(tmp_path, PLAIN)
    known = resource(path)
    first = from_file(known, home)
    path.unlink()
    for vectors in (first, from_file(known, home)):
        assert vectors.of(["coffee", "it", "x't", "", "'", "it", "\ud800"]).tolist() == [[1, 1, 1]] * 2
        assert vectors.of([]).shape == vectors.of(["coffee"]).shape == (0, 3)
        assert ("it" in vectors, "coffee" in vectors) == (True, False)


def test_files_are_found_by_path_and_in_the_home(tmp_path: Path, home: Path) -> None:
    path = placed(tmp_path, PLAIN, "toy.txt")
    (home / "vectors").mkdir()
    shutil.copy(path, home / "vectors" / "other.txt")
    for name, shown in ((str(path), "toy.txt"), ("other.txt", "other.txt")):
        models = Models(home, Choice(vectors=name))
        assert models.vectors().of(["it"]).tolist() == [[1, 1, 1]]
        assert models.vectors().name == shown
        assert models.identity("vectors") == f"{shown}@{resource(path).digest[:12]}"
    with pytest.raises(MissingResource, match="yours"):
        models.identity("vectors", "yours.txt")


def test_a_file_is_not_loaded_into_memory(tmp_path: Path, home: Path) -> None:
    """Converting a file of 24 MB takes buffers of one megabyte, and 16 bytes per word for the index."""
    path = tmp_path / "vectors.bin"
    with path.open("wb") as out:
        out.write(b"10000 600\n")
        for number in range(10_000):
            out.write(b"w%d " % number + struct.pack("<f", number) * 600)
    known = Resource(path.name, path, "0" * 64)
    tracemalloc.start()
    try:
        assert from_file(known, home).of(["w9999"])[0, 0] == 9999
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_full_disk_leaves_nothing(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez", full)
    with pytest.raises(MissingResource, match=r"vectors\.txt.* No space left"):
        opened(placed(tmp_path, PLAIN), home)
    assert tables(home) == []


GOOD = binary({"a": [1.0, 2.0], "b": [3.0, 4.0]})


REFUSED: list[tuple[str, bytes | str, str]] = [
    ("v.txt", "", "line 1"), ("v.txt", "just words here\n", "line 1"), ("v.bin", pickle.dumps({"a": [1.0]}), "line 1"),
    ("v.txt", "0 3\n", "line 1"), ("v.bin", "3 999999999999\n", "line 1: ...999999999999"),
    ("v.txt", "3 2\na 1 2\nb 3 4\n", "line 1: ...3...2"), ("v.txt", "a 1 2\nb 3\n", "line 2"),
    ("v.txt", "a 1 2\nb 3 4 5\n", "line 2: ...2"), ("v.txt", "a 1 2\n3 4\n", "line 2"),  # no word
    ("v.txt", "a 1 2\nb 3 x\n", "line 2"), ("v.txt", "a 1 2\nb 3 nan\n", "line 2"),
    ("v.bin", GOOD[:-1], "word 2 of 2"), ("v.bin", GOOD[:4], "word 1 of 2"), ("v.bin", GOOD + b"more", "word 2 of 2"),
    ("v.bin", binary({"a": [1.0, float("nan")]}), "word 1 of 1"),
    ("v.bin", binary({"New York": [1.0, 2.0], "b": [3.0, 4.0]}), "word 2 of 2: ...space"),
    ("v.txt.gz", gzip.compress(PLAIN.encode(), mtime=0)[:-12], "end-of-stream"),
    ("v.txt.gz", b"\x1f\x8bnothing of the kind", "v.txt.gz"),
]


def test_other_files_are_refused_with_file_and_line(tmp_path: Path, home: Path) -> None:
    for name, content, reason in REFUSED:
        path = placed(tmp_path, content, name)
        with refused(MissingResource, path, *reason.split("...")):
            opened(path, home)
        assert tables(home) == [], "no partial conversion is left"


def test_a_word_is_the_mean_of_its_tokens_after_a_space(tiny_encoder: Path, home: Path) -> None:
    models = Models(home, Choice(encoder=str(tiny_encoder), device="cpu"))
    encoder, found = models.encoder(), models.vectors()
    table = encoder.embeddings()
    numbers = dict(encoder.tokenizer.wrapped.get_vocab())
    assert found.width == 16
    np.testing.assert_array_equal(found.of(["hello", "a"]), table[[numbers["hello"], numbers["a"]]])
    np.testing.assert_array_equal(found.of(["cat"])[0], table[[numbers["c"], numbers["##a"], numbers["##t"]]].mean(0))
    assert found.of(["🙂", "", "日本"]).shape == (0, 16), "[UNK] does not count as a token"
    assert encoder.name in found.name
    for plain, number in ((lambda text: [100 + ord(text[1]) % 100] if text[0] == " " else [ord(text[0])], 198),
                          (lambda text: [ord(char) for char in text], 98)):  # the space joins the word, or does not
        assert from_encoder(fake(plain)).of(["b"]).tolist() == [[number, number]]


def fake(plain: Callable[[str], list[int]]) -> Any:
    """Return an encoder whose token n has the vector (n, n)."""
    tokenizer = SimpleNamespace(plain=lambda texts: [plain(text) for text in texts],
                                wrapped=SimpleNamespace(unk_token_id=None))
    return SimpleNamespace(name="fake", embeddings=lambda: np.arange(200.0, dtype=np.float32)[:, None].repeat(2, 1),
                           tokenizer=tokenizer)
