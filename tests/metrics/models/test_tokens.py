"""Texts are tokenized as by the model's own tokenizer, whatever their length and characters."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import MissingResource
from metrics.models import weights
from metrics.models.tokens import Tokenizer, well_formed

transformers = pytest.importorskip("transformers")

FOLDERS = ("bert", "roberta", "minilm")
AWKWARD = (
    "", " ", ".", "?!", "a", "hello there", "Hello THERE, you like tea?", "日本語のテキスト です", "émigré naïve café",
    "🙂🙃 🙂", "👩‍👩‍👧‍👦 family", "a\u202eb\u0000c", "\x00", "\x01\x02 \x7f", "\u200f\u202bשלום עולם\u202c",
    "<b>&amp;</b> <skipped>", "3.5 % of $1,000-2,000", "don't can't won't", "-\nx\t\r\ny", "İstanbul ǅ ß", "ﬁ ﬀ ½",
    "\ufeffmark", "[SEP] </s> [CLS] <s>", "  two  spaces  ", "नमस्ते दुनिया", "\U0010ffff", "\u0301 alone",
)
HALVES = ("\ud800", "a\udfff", "\ud83d\ude42 joined", "\ude42\ud83d reversed", "hi \ud800there")
TEXTS = st.text(max_size=120) | st.sampled_from(AWKWARD + HALVES) | st.text("ab \ud800\udc00", max_size=40)


@pytest.fixture(scope="session")
def folders(tiny_encoder: Path, tiny_bytes: Path) -> dict[str, Path]:
    minilm = weights.find(weights.EMBEDDED, tiny_bytes).folder
    return {"bert": tiny_encoder, "roberta": tiny_bytes, "minilm": minilm}


@pytest.fixture(scope="session")
def made(folders: dict[str, Path]) -> dict[str, tuple[Tokenizer, Any]]:
    """Return our tokenizer and that of transformers by name."""
    return {name: (tokenizer(folder), transformers.AutoTokenizer.from_pretrained(str(folder)))
            for name, folder in folders.items()}


def tokenizer(folder: Path, longest: int = 256) -> Tokenizer:
    return Tokenizer(weights.find(str(folder), folder), longest)


def special_tokens(ours: Tokenizer) -> list[list[int]]:
    """Return the special tokens before, between and after the texts of a pair."""
    (before, after), [context] = ours.frame, ours.plain(["you"])
    [row] = ours.pairs([("you", "reply")])
    return [row.ids[:before], row.ids[before + len(context) : row.positions.start], row.ids[-after:]]


def test_texts_and_pairs_agree_with_transformers(made: dict[str, tuple[Tokenizer, Any]]) -> None:
    pairs = [(context, response) for context in AWKWARD for response in AWKWARD[:8]]
    long = "hello there you like tea " * 200
    for ours, theirs in made.values():
        for text in (*AWKWARD, *HALVES):
            assert ours.plain([text])[0] == theirs(well_formed(text), add_special_tokens=False)["input_ids"]
        fitting = [text for text in AWKWARD if len(theirs(text)["input_ids"]) <= ours.limit]
        assert [row.ids for row in ours.texts(fitting)] == [theirs(text)["input_ids"] for text in fitting]
        assert ours.texts([long])[0].ids == theirs(long, truncation=True, max_length=ours.limit)["input_ids"]
        expected = theirs(pairs)
        for index, (pair, row) in enumerate(zip(pairs, ours.pairs(pairs), strict=True)):
            if len(expected["input_ids"][index]) <= ours.limit:
                assert row.ids == expected["input_ids"][index], pair
                assert ("token_type_ids" in expected) == (row.types is not None)
                assert row.types is None or row.types == expected["token_type_ids"][index], pair


def test_a_long_context_keeps_its_end_and_long_pairs_are_halved(made: dict[str, tuple[Tokenizer, Any]]) -> None:
    long, short = "you like tea " * 200, "good reply"
    for ours, _ in made.values():
        context, response = ours.plain([long, short])
        before, between, after = special_tokens(ours)
        specials = len(before) + len(between) + len(after)
        [row], [halved] = ours.pairs([(long, short)]), ours.pairs([(long, long)], limit=24)
        kept = ours.limit - specials - len(response)
        assert row.ids == [*before, *context[-kept:], *between, *response, *after]
        assert [row.ids[index] for index in row.positions] == response
        half = (24 - specials) // 2
        assert halved.ids == [*before, *context[-half:], *between, *context[:24 - specials - half], *after]


def test_a_dialogue_is_one_sequence_that_keeps_its_end(made: dict[str, tuple[Tokenizer, Any]]) -> None:
    for ours, _ in made.values():
        before, _, after = special_tokens(ours)
        first, second = ours.plain(["hello there", "a good reply"])
        [row] = ours.dialogues([["hello there", "a good reply"]], 7)
        assert row.ids == [*before, *first, 7, *second, 7, *after]
        [cut] = ours.dialogues([["hello there", "a good reply"]], 7, limit=len(before) + len(second) + 2 + len(after))
        assert cut.ids == [*before, 7, *second, 7, *after]


@settings(max_examples=50)
@given(context=TEXTS, response=TEXTS, limit=st.integers(1, 40), name=st.sampled_from(FOLDERS))
def test_a_pair_fits_the_limit_and_keeps_both_parts(
        made: dict[str, tuple[Tokenizer, Any]], context: str, response: str, limit: int, name: str) -> None:
    ours = made[name][0]
    before_answer, answer = ours.plain([context * 3, response * 2])
    [row] = ours.pairs([(context * 3, response * 2)], limit=limit)
    before, between, after = special_tokens(ours)
    specials = len(before) + len(between) + len(after)
    assert len(row.ids) == max(specials, min(limit, specials + len(before_answer) + len(answer)))
    assert row.types is None or len(row.types) == len(row.ids)
    if limit >= specials + 2 and before_answer and answer:
        middle = row.ids[len(before): len(row.ids) - len(after)]
        assert any(middle == [*before_answer[-left:], *between, *answer[: len(middle) - left - len(between)]]
                   for left in range(1, len(middle)))


@pytest.mark.parametrize(("text", "expected"), [
    ("plain 🙂", "plain 🙂"), ("a\udfffb", "a\ufffdb"), ("\ud83d\ude42", "🙂"), ("\ude42\ud83d", "\ufffd\ufffd")])
def test_surrogates_are_joined_or_replaced(text: str, expected: str) -> None:
    assert well_formed(text) == expected


def test_the_smallest_limit_counts(folders: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folders["bert"], tmp_path / "bert"))
    assert tokenizer(copy, 64).limit == 64
    for longest, stated, limit in ((256, 20, 20), (8, 20, 8), (64, "many", 64), (64, [], 64)):
        (copy / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": stated}))
        assert tokenizer(copy, longest).limit == limit


def test_a_tokenizer_without_tokens_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folders["roberta"], tmp_path / "roberta"))
    content = json.loads((copy / "tokenizer.json").read_text())
    content["model"] |= {"vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4}, "merges": []}
    (copy / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(MissingResource):
        tokenizer(copy)
