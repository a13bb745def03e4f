"""Corpora: upstream formats, training splits, exclusions, and import."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import registry
from benchmarks.corpora import corpora, overlap, sources
from benchmarks.corpora import files as corpus_files
from benchmarks.dataset import Dataset, Utterance
from benchmarks.errors import BadRecord, BenchmarkError, FetchError, UnknownDataset
from benchmarks.sources import fetch as fetching
from benchmarks.storage import store
from tests.benchmarks.made import archive
from tests.conftest import Invoke, make_dataset, refused
from tools import shipped

PRIVATE = ("Where did the seven grey herons go?", "Over the hill, towards Lower Fenwick.", "Oh.",
           "Will they be back for the winter fair?")
JUDGED = {"dialogue_id": "dstc10-task5.1_00000", "context": PRIVATE[0], "response": "hello"}


def row(name: str, *texts: str, split: str = "train", **more: object) -> dict[str, object]:
    turns = [{"speaker": "AB"[number % 2], "text": text} for number, text in enumerate(texts)]
    return {"dialogue_id": name, "split": split, "utterances": turns, **more}


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def keep(home: Path, name: str, *rows: object) -> None:
    write(home / "corpora" / f"{name}.jsonl.gz", *rows)


def ids(corpus: corpora.Corpus) -> list[str]:
    return [dialogue.id for dialogue in corpus.dialogues]


def test_labels_of_dialogues_and_of_pairs_are_read(home: Path) -> None:
    labelled = row("d-1", "hello", "hi there", topic="work", persona={"A": ["i paint ."]}, source="x")
    labelled["utterances"][0]["act"] = "inform"  # type: ignore[index]
    keep(home, "dailydialog", labelled)
    assert corpora.load("dailydialog", home).dialogues == (corpora.Dialogue(
        "d-1", "dailydialog", "train", (Utterance("A", "hello"), Utterance("B", "hi there")),
        {"topic": "work", "persona": {"A": ["i paint ."]}, "utterances": ({"act": "inform"}, {})}),)
    for name, pair, expected in (
        ("engagement_utterances", {"id": "e-1", "query": "what now?", "reply": "lunch!", "engaging": 1},
         ("e-1", ["what now?", "lunch!"], {"engaging": 1})),
        ("dialogue_nli_sample", {"sentence1": "i am a vet.", "sentence2": "i like dogs.", "label": "neutral"},
         ("line 1", ["i am a vet.", "i like dogs."], {"label": "neutral"})),
    ):
        keep(home, name, {"split": "train", **pair})
        (dialogue,) = corpora.load(name, home).dialogues
        assert (dialogue.id, [turn.text for turn in dialogue.utterances], dialogue.labels) == expected


def test_splits_named_after_an_evaluation_are_held_out(tmp_path: Path, home: Path) -> None:
    rows = [row(name, name, split=split)
            for name, split in (("a", "train"), ("b", "dev_small"), ("c", "valid"), ("d", "test"))]
    unsplit = {"dialogue_id": "e", "utterances": [{"speaker": "A", "text": "x"}]}
    for file in ("mine.jsonl", "mine.jsonl.gz"):
        corpus = corpora.load(str(write(tmp_path / file, *rows, unsplit)), home)
        assert (corpus.card.name, corpus.card.licence, ids(corpus)) == ("mine", "unknown", ["a", "e"])


def test_the_error_for_a_missing_corpus_says_where_to_get_it(home: Path) -> None:
    for name, error, problem in (("dailydialog", BenchmarkError, "harness fetch --corpora"),
                                 ("dailydialogs", UnknownDataset, "'dailydialog'"),
                                 ("nowhere/mine.jsonl", BenchmarkError, "mine.jsonl")):
        with refused(error, problem):
            corpora.load(name, home)


def test_a_malformed_line_or_damaged_file_is_named(tmp_path: Path, home: Path) -> None:
    turn = '{"dialogue_id": "x", "utterances": [{"speaker": "A", "text": %s}]}'
    labelled = turn.replace("%s", '"hi"')[:-1] + ", %s}"
    for line, problem in [
        ("{", "JSON"), ("[]", "object"), ("[" * 100_000, "JSON"), ('{"split": "train"}', "'dialogue_id'"),
        ('{"dialogue_id": "x", "split": 3}', "'split'"), ('{"dialogue_id": "x"}', "'utterances'"),
        ('{"dialogue_id": "x", "utterances": ["hi"]}', "'utterances'"), (turn % "null", "speaker and text"),
        (turn % '" "', "text"), (turn % '"\\ud800"', "surrogate"),
        (labelled % '"positive_responses": "fine"', "'positive_responses'"),
        (labelled % '"rated_responses": [["fine", 6]]', "'rated_responses'"),
        (labelled % '"persona": ["I like tea."]', "'persona'"), (labelled % '"engaging": "yes"', "'engaging'"),
    ]:
        path = write(tmp_path / "mine.jsonl", row("a", "one"), line)
        with refused(BenchmarkError, path, "line 2", problem):
            corpora.load(str(path), home)
    path = tmp_path / "mine.jsonl.gz"
    for content in (b"\x1f\x8b damaged", gzip.compress(b"{}\n" * 99, mtime=0)[:-9], b"\xff\xfe", b"", b"\n\n"):
        path.write_bytes(content)
        with pytest.raises(BenchmarkError, match=r"mine.jsonl.gz[^\n]*: [^\n]*$"):
            corpora.load(str(path), home)
    path.write_bytes(gzip.compress(bytes(4 << 20)))
    with refused(BenchmarkError, path, "more than"):
        corpora.load(str(path), home)


def test_listed_marked_and_repeated_dialogues_are_left_out(home: Path) -> None:
    keep(home, "dailydialog", row("a", "one"), row("b", "two"), row("c", "three", duplicate_of_split="test"))
    keep(home, "evaluation_overlap", {"dialogue_id": "b", "evaluation_sets": ["dailydialog-zhao"]})
    corpus = corpora.load("dailydialog", home)
    assert ids(corpus) == ["a"]
    assert corpus.left_out == {"in an evaluation set": 1, "also in another split": 1}
    keep(home, "dailydialog_pp", row("held", *PRIVATE, split="test"), row("short", "Oh, really?", split="test"),
         row("a", "Hm.", *(text.upper() for text in PRIVATE[:2]), split="train_positive_only"),
         row("e", PRIVATE[0]), row("c", "oh really"), row("d", "oh"))
    corpus = corpora.load("dailydialog_pp", home)
    assert ids(corpus) == ["e", "d"]
    assert corpus.left_out == {"also in another split": 2}


def test_dialogues_of_evaluation_sets_in_the_home_are_left_out(tmp_path: Path, home: Path) -> None:
    """A dialogue overlaps if it shares two utterances that are half of a context, or a context's only utterance."""
    dataset = make_dataset(["fine", "well"], [(1,), (2,)])
    contexts = (PRIVATE, ("Have you heard the news from the harbour?",))
    items = tuple(dataclasses.replace(item, context=tuple(Utterance("user", text) for text in context))
                  for item, context in zip(dataset.items, contexts, strict=True))
    store.save(Dataset(registry.card("jsalt"), items, (), "imported"), home)
    for texts, met in [
        (PRIVATE, True),
        (("so", PRIVATE[3].upper(), "over the hill towards lower fenwick"), True),
        (PRIVATE[:1], False),
        (("Oh.", "so"), False),
        (("where did the seven grey herons go now?", PRIVATE[1]), False),
        (("Have you heard the news from the harbour?", "No"), True),
    ]:
        path = write(tmp_path / "mine.jsonl", row("a", *texts), row("b", "something else altogether here"))
        corpus = corpora.load(str(path), home)
        assert ids(corpus) == (["b"] if met else ["a", "b"])
        assert corpus.left_out == ({"in an evaluation set": 1} if met else {})


@settings(max_examples=50)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=6), st.data())
def test_case_punctuation_and_order_do_not_hide_a_context(texts: list[str], data: st.DataObject) -> None:
    contexts = overlap.Contexts([overlap.digests(texts)])
    dressed = [f" {text.upper().casefold()} ..." for text in texts]
    upper = [text.upper() for text in texts]
    assert contexts.overlaps(overlap.digests(dressed)) == contexts.overlaps(overlap.digests(upper))
    long = [text for text in texts if len(overlap.IGNORED.sub("", text.casefold())) >= overlap.MIN_LETTERS]
    if long:
        assert contexts.overlaps(overlap.digests(data.draw(st.permutations(long))))


@pytest.mark.slow
def test_the_shipped_contexts_match_the_real_data(real_data: Path, tmp_path: Path) -> None:
    made = shipped.public_contexts(*(real_data / name for name in ("human_evaluation_data", "corpora", "recent")))
    assert made.known == overlap.shipped().known
    for name, contexts in (("made", made), ("shipped", overlap.shipped())):
        shipped.save(contexts, tmp_path / name)
    assert (tmp_path / "made").read_bytes() == (tmp_path / "shipped").read_bytes()


def test_contexts_come_from_the_release_and_dailydialogpp(tmp_path: Path) -> None:
    (tmp_path / "jsalt_eval.json").write_text(json.dumps([JUDGED]))
    write(tmp_path / "dailydialog_pp.jsonl.gz", row("a", *PRIVATE[1:], split="test"), row("b", "other", "texts"))
    known = shipped.public_contexts(tmp_path, tmp_path, tmp_path).known
    assert known == {overlap.digests(PRIVATE[:1]), overlap.digests(PRIVATE[1:])}


def test_a_folder_of_datasets_and_corpora_is_imported(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    invoke("import", tmp_path, status=2)
    path = write(tmp_path / "corpora" / "dailydialog.jsonl.gz", row("a", "one"))
    write(tmp_path / "corpora" / "mine.jsonl", row("b", "two"))
    write(tmp_path / "corpora" / "evaluation_overlap.jsonl", {"dialogue_id": "b"})
    write(tmp_path / "resources" / "pairs.jsonl", {"sentence1": "x"})
    (tmp_path / "jsalt_eval.json").write_text(json.dumps([JUDGED]))
    assert "pairs.jsonl, line 1: field 'dialogue_id'" in invoke("import", tmp_path).out
    assert (home / "corpora" / "dailydialog.jsonl.gz").read_bytes() == path.read_bytes()
    with pytest.raises(BenchmarkError, match="1 left out"):
        corpora.load("mine", home)
    assert len(registry.load("jsalt", home).items) == 1


def test_a_bad_corpus_leaves_the_home_unchanged(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    write(tmp_path / "dailydialog.jsonl.gz", row("a", "one"))
    write(tmp_path / "dream.jsonl.gz", row("a", "one"), "no json")
    assert "dream.jsonl.gz, line 2" in invoke("import", tmp_path, status=2).err
    assert not (home / "corpora").exists()


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}

    def download(url: str, target: Path, *_: object) -> Path:
        if target.name not in contents:
            raise FetchError(f"{url}: the server responded 404")
        target.write_bytes(contents[target.name])
        return target

    monkeypatch.setattr(fetching, "download", download)
    return contents


def fetched(name: str, home: Path) -> tuple[Any, ...]:
    """Fetch a corpus and return its rows; check that no download is left behind."""
    count = sources.fetch(name, home)
    rows = corpus_files.read(home / "corpora" / f"{name}.jsonl.gz")
    assert (len(rows), (home / "downloads").exists()) == (count, False)
    return rows


def said(row: Any) -> list[tuple[str, str]]:
    return [(turn["speaker"], turn["text"]) for turn in row["utterances"]]


def daily(files: dict[str, bytes]) -> None:
    for part in ("train", "validation", "test"):
        files[f"{part}.zip"] = archive({
            f"{part}/dialogues_{part}.txt": f"Shall we ? __eou__ Let us {part} . __eou__\nHm \x85 . __eou__\n",
            f"{part}/dialogues_act_{part}.txt": "2 4 \n1 1 \n", f"{part}/dialogues_emotion_{part}.txt": "0 4 \n0 0 \n"})


def test_acts_and_emotions_label_the_utterances_of_dailydialog(files: dict[str, bytes], home: Path) -> None:
    """Acts and emotions label the utterances, unless their counts differ."""
    daily(files)
    rows = fetched("dailydialog", home)
    assert [row["dialogue_id"] for row in rows] == [f"dailydialog-{split}-0000{number}"
                                                    for split in ("train", "valid", "test") for number in (0, 1)]
    assert said(rows[0]) == [("A", "Shall we ?"), ("B", "Let us train .")]
    assert rows[0]["utterances"][1] == {
        "speaker": "B", "text": "Let us train .", "act": "commissive", "emotion": "happiness"}
    assert rows[1]["utterances"] == [{"speaker": "A", "text": "Hm \x85 ."}]


def test_dailydialog_pp_has_replies_of_each_kind(files: dict[str, bytes], home: Path) -> None:
    whole = {"id": 0, "context": ["Who ate it?", "Not me."], "positive_responses": ["Oh."],
             "adversarial_negative_responses": ["I ate."], "random_negative_responses": ["Rain."]}
    for name in ("train", "dev", "test"):
        files[f"{name}.json"] = f"{json.dumps({**whole, 'context': [f'Who ate the {name} cake?']})}\n\n".encode()
    files[sources.POSITIVE_ONLY] = json.dumps({"context": ["More?"], "positive_responses": ["Yes."]}).encode()
    rows = fetched("dailydialog_pp", home)
    assert [row["split"] for row in rows] == ["train", "train_positive_only", "dev", "test"]
    assert rows[0]["adversarial_negative_responses"] == ["I ate."]
    assert "random_negative_responses" not in rows[1]
    assert ids(corpora.load("dailydialog_pp", home)) == [
        f"dailydialog++-{split}-0" for split in ("train", "train_positive_only", "dev")]


def test_commas_of_empatheticdialogues_are_restored(files: dict[str, bytes], home: Path) -> None:
    lines = ["conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags",
             "hit:0_conv:1,1,proud,I won_comma_ at last. ,7,I won_comma_ you know!,5|5|5_2|2|5,",
             "hit:0_conv:1,2,proud,I won_comma_ at last. ,3,You did \"it\"!,5|5|5_2|2|5,<p>",
             "hit:2_conv:3,1,sad,My cat left,9,My cat left,,", ""]
    members = {f"empatheticdialogues/{split}.csv": "\r\n".join(lines) for split in ("train", "valid", "test")}
    files["empatheticdialogues.tar.gz"] = archive(members, "w:gz")
    rows = fetched("empatheticdialogues", home)
    assert len(rows) == 6
    assert said(rows[0]) == [("A", "I won, you know!"), ("B", 'You did "it"!')]
    assert (rows[0]["dialogue_id"], rows[0]["emotion"], rows[0]["situation"]) == (
        "empatheticdialogues-hit:0_conv:1", "proud", "I won, at last.")


def test_an_episode_of_personachat_starts_at_line_one(files: dict[str, bytes], home: Path) -> None:
    """An episode starts at line 1; after a silence the other speaker begins and becomes A."""
    text = ("1 your persona: i paint .\n2 partner's persona: i ski .\n3 hello !\thi . what is your persona: or job ?\n"
            "4 i ski .\tnice .\n1 your persona: i ski .\n2 __SILENCE__\thello !\n3 hi .\ti ski .\n")
    members = {f"{split}_both_original_no_cands.txt": text for split in ("train", "valid")}
    files["convai2_fix_723.tgz"] = archive(members, "w:gz")
    rows = fetched("personachat", home)
    assert [row["dialogue_id"] for row in rows] == [f"convai2-{split}-0000{number}"
                                                    for split in ("train", "valid") for number in (0, 1)]
    assert said(rows[0]) == [("A", "hello !"), ("B", "hi . what is your persona: or job ?"), ("A", "i ski ."),
                             ("B", "nice .")]
    assert rows[0]["persona"] == {"B": ["i paint ."], "A": ["i ski ."]}
    assert said(rows[1]) == [("A", "hello !"), ("B", "hi ."), ("A", "i ski .")]
    assert rows[1]["persona"] == {"A": ["i ski ."]}


TOPICAL = ("train", "valid_freq", "valid_rare", "test_freq", "test_rare")


def test_turns_of_topical_chat_without_text_are_dropped(files: dict[str, bytes], home: Path) -> None:
    record = {"content": [{"agent": "agent_1", "message": "Do you ski? ", "sentiment": "Happy", "turn_rating": "Good"},
                          {"agent": "agent_2", "message": "\u0007 ", "sentiment": "Sad"},
                          {"agent": "agent_2", "message": "No."}], "conversation_rating": {"agent_1": "Good"}}
    files.update({f"{split}.json": json.dumps({f"t_{split}": record}).encode() for split in TOPICAL})
    rows = fetched("topical_chat", home)
    assert [row["dialogue_id"] for row in rows] == [f"topicalchat-t_{split}" for split in TOPICAL]
    assert said(rows[0]) == [("A", "Do you ski?"), ("B", "No.")]
    assert rows[0]["utterances"][0]["emotion"] == "Happy"


def test_wizard_of_wikipedia_has_seen_and_unseen_splits(files: dict[str, bytes], home: Path) -> None:
    wizard = [{"chosen_topic": "Skiing", "dialog": [{"speaker": "1_Apprentice", "text": "Tell me of skis."},
                                                   {"speaker": "0_Wizard", "text": "They are long."}]}]
    stems = ("train", "valid_random_split", "valid_topic_split", "test_random_split", "test_topic_split")
    files["wizard_of_wikipedia.tgz"] = archive({f"{stem}.json": json.dumps(wizard) for stem in stems}, "w:gz")
    rows = fetched("wizard_of_wikipedia", home)
    assert [row["split"] for row in rows] == ["train", "valid", "valid_unseen", "test", "test_unseen"]
    assert (said(rows[0]), rows[0]["topic"]) == ([("A", "Tell me of skis."), ("B", "They are long.")], "Skiing")


def test_files_in_another_format_leave_nothing_behind(files: dict[str, bytes], home: Path) -> None:
    for content, problem in [
        (b"[1, 2]", "format"), (b"{", "JSON"), (b"{}", "no dialogues"),
        (b'{"t": {"content": [{"agent": "agent_1"}]}}', "KeyError: 'message'"),
        (rb'{"t": {"content": [{"agent": "agent_1", "message": "\ud800"}]}}', "surrogates"),
    ]:
        files.update({f"{split}.json": content for split in TOPICAL})
        with refused(BadRecord, problem):
            sources.fetch("topical_chat", home)
        assert not (home / "corpora").exists()


def test_the_command_continues_past_corpora_that_fail(files: dict[str, bytes], home: Path, invoke: Invoke) -> None:
    daily(files)
    assert invoke("fetch", "--corpora", status=2).err.count("\n") == len(sources.SOURCES) - 1
    files.clear()
    invoke("fetch", "--corpora", "dailydialog", status=2)
    assert len(corpora.load("dailydialog", home).dialogues) > 0
    with pytest.raises(FetchError, match="'personachat'"):
        sources.fetch("personchat", home)
