"""Corpora from their sources: each upstream's layout, small and made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpora import corpora, sources
from benchmarks.corpora import files as corpus_files
from benchmarks.errors import BadRecord, FetchError
from benchmarks.storage import fetch as fetching
from harness.commands import fetch as command
from tests.benchmarks.made import archive, run

TOPICAL = ("train", "valid_freq", "valid_rare", "test_freq", "test_rare")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What the sources give, by file name."""
    contents: dict[str, bytes] = {}

    def download(url: str, target: Path, *_: object) -> Path:
        if target.name not in contents:
            raise FetchError(f"{url}: the server answers 404")
        target.write_bytes(contents[target.name])
        return target

    monkeypatch.setattr(fetching, "download", download)
    return contents


def fetched(name: str, home: Path) -> tuple[Any, ...]:
    """The rows of a corpus that was fetched; nothing of the download stays."""
    count = sources.fetch(name, home)
    rows = corpus_files.read(home / "corpora" / f"{name}.jsonl.gz").rows
    assert (len(rows), (home / "downloads").exists()) == (count, False)
    return rows


def said(row: Any) -> list[tuple[str, str]]:
    return [(turn["speaker"], turn["text"]) for turn in row["utterances"]]


def daily(files: dict[str, bytes]) -> None:
    for part in ("train", "validation", "test"):
        files[f"{part}.zip"] = archive({
            f"{part}/dialogues_{part}.txt": f"Shall we ? __eou__ Let us {part} . __eou__\nHm . __eou__\n",
            f"{part}/dialogues_act_{part}.txt": "2 4 \n1 1 \n", f"{part}/dialogues_emotion_{part}.txt": "0 4 \n0 0 \n"})


def test_dailydialog(files: dict[str, bytes], home: Path) -> None:
    """Acts and emotions go with the utterances, unless upstream has another number of them."""
    daily(files)
    rows = fetched("dailydialog", home)
    assert [row["dialogue_id"] for row in rows] == [f"dailydialog-{split}-0000{number}"
                                                    for split in ("train", "valid", "test") for number in (0, 1)]
    assert said(rows[0]) == [("A", "Shall we ?"), ("B", "Let us train .")]
    assert rows[0]["utterances"][1] == {
        "speaker": "B", "text": "Let us train .", "act": "commissive", "emotion": "happiness"}
    assert rows[1]["utterances"] == [{"speaker": "A", "text": "Hm ."}]


def test_dailydialog_pp(files: dict[str, bytes], home: Path) -> None:
    whole = {"id": 0, "context": ["Who ate it?", "Not me."], "positive_responses": ["Oh."],
             "adversarial_negative_responses": ["I ate."], "random_negative_responses": ["Rain."]}
    for name in ("train", "dev", "test"):
        files[f"{name}.json"] = f"{json.dumps({**whole, 'context': [f'Who ate the {name} cake?']})}\n\n".encode()
    files[sources.POSITIVE_ONLY] = json.dumps({"context": ["More?"], "positive_responses": ["Yes."]}).encode()
    rows = fetched("dailydialog_pp", home)
    assert [row["split"] for row in rows] == ["train", "train_positive_only", "dev", "test"]
    assert rows[0]["adversarial_negative_responses"] == ["I ate."]
    assert "random_negative_responses" not in rows[1]
    assert [one.id for one in corpora.load("dailydialog_pp", home).dialogues] == [
        "dailydialog++-train-0", "dailydialog++-train_positive_only-0", "dailydialog++-dev-0"]


def test_empatheticdialogues(files: dict[str, bytes], home: Path) -> None:
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


def test_personachat(files: dict[str, bytes], home: Path) -> None:
    """An episode starts at 1. Who only hears silence speaks first, and is A."""
    text = ("1 your persona: i paint .\n2 partner's persona: i ski .\n3 hello !\thi . what is your persona: or job ?\n"
            "4 i ski .\tnice .\n1 your persona: i ski .\n2 __SILENCE__\thello !\n3 hi .\ti ski .\n")
    members = {f"{split}_both_original_no_cands.txt": text for split in ("train", "valid")}
    files["convai2_fix_723.tgz"] = archive(members, "w:gz")
    rows = fetched("personachat", home)
    assert [row["dialogue_id"] for row in rows] == ["convai2-train-00000", "convai2-train-00001",
                                                    "convai2-valid-00000", "convai2-valid-00001"]
    assert said(rows[0]) == [("A", "hello !"), ("B", "hi . what is your persona: or job ?"), ("A", "i ski ."),
                             ("B", "nice .")]
    assert rows[0]["persona"] == {"B": ["i paint ."], "A": ["i ski ."]}
    assert said(rows[1]) == [("A", "hello !"), ("B", "hi ."), ("A", "i ski .")]
    assert rows[1]["persona"] == {"A": ["i ski ."]}


def test_topical_chat_and_wizard_of_wikipedia(files: dict[str, bytes], home: Path) -> None:
    record = {"content": [{"agent": "agent_1", "message": "Do you ski? ", "sentiment": "Happy", "turn_rating": "Good"},
                          {"agent": "agent_2", "message": "\u0007 ", "sentiment": "Sad"},
                          {"agent": "agent_2", "message": "No."}], "conversation_rating": {"agent_1": "Good"}}
    files.update({f"{split}.json": json.dumps({f"t_{split}": record}).encode() for split in TOPICAL})
    rows = fetched("topical_chat", home)
    assert [row["dialogue_id"] for row in rows][:2] == ["topicalchat-t_train", "topicalchat-t_valid_freq"]
    assert said(rows[0]) == [("A", "Do you ski?"), ("B", "No.")]
    assert rows[0]["utterances"][0]["emotion"] == "Happy"
    wizard = [{"chosen_topic": "Skiing", "dialog": [{"speaker": "1_Apprentice", "text": "Tell me of skis."},
                                                   {"speaker": "0_Wizard", "text": "They are long."}]}]
    stems = ("train", "valid_random_split", "valid_topic_split", "test_random_split", "test_topic_split")
    files["wizard_of_wikipedia.tgz"] = archive({f"{stem}.json": json.dumps(wizard) for stem in stems}, "w:gz")
    rows = fetched("wizard_of_wikipedia", home)
    assert [row["split"] for row in rows] == ["train", "valid", "valid_unseen", "test", "test_unseen"]
    assert (said(rows[0]), rows[0]["topic"]) == ([("A", "Tell me of skis."), ("B", "They are long.")], "Skiing")


def test_files_of_another_form_leave_nothing(files: dict[str, bytes], home: Path) -> None:
    for content, problem in [
        (b"[1, 2]", "not in the form expected"), (b"{", "is not JSON"), (b"{}", "hold no dialogue"),
        (b'{"t": {"content": [{"agent": "agent_1"}]}}', "not in the form expected of this source .KeyError: 'message'"),
    ]:
        files.update({f"{split}.json": content for split in TOPICAL})
        with pytest.raises(BadRecord, match=problem) as caught:
            sources.fetch("topical_chat", home)
        assert "\n" not in str(caught.value)
        assert not (home / "corpora").exists()


def test_the_command_fetches_what_is_not_there(files: dict[str, bytes], home: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, past a failure; what is there is only fetched again by its name."""
    daily(files)
    assert run(command, home, "--corpora") == 2
    printed = capsys.readouterr()
    assert "dailydialog                 6 dialogues  (licence: CC BY-NC-SA 4.0)" in printed.out
    assert "1 fetched" in printed.out
    assert printed.err.count("\n") == len(sources.SOURCES) - 1
    files.clear()
    assert run(command, home, "--corpora", "dailydialog") == 2
    assert len(corpora.load("dailydialog", home).dialogues) > 0
    with pytest.raises(FetchError, match="did you mean 'personachat'"):
        sources.fetch("personchat", home)
