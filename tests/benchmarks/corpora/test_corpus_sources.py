"""Corpora from their sources: each upstream's layout, small and made up."""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchmarks.corpora import corpora, sources
from benchmarks.corpora import files as corpus_files
from benchmarks.errors import BadRecord, FetchError
from benchmarks.storage import fetch as fetching
from harness.commands import fetch as command


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


def zipped(**members: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__in__", "/") + ".txt", text)
    return stream.getvalue()


def tarred(members: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return stream.getvalue()


def come(name: str, home: Path) -> list[dict[str, object]]:
    count = sources.fetch(name, home)
    rows = corpus_files.read(home / "corpora" / f"{name}.jsonl.gz").rows
    assert len(rows) == count
    assert not (home / "downloads").exists()
    return list(rows)


def said(row: dict[str, object]) -> list[tuple[str, str]]:
    return [(turn["speaker"], turn["text"]) for turn in row["utterances"]]  # type: ignore[attr-defined]


def daily(files: dict[str, bytes]) -> None:
    for part in ("train", "validation", "test"):
        files[f"{part}.zip"] = zipped(**{
            f"{part}__in__dialogues_{part}": f"Shall we ? __eou__ Let us {part} . __eou__\nHm . __eou__\n",
            f"{part}__in__dialogues_act_{part}": "2 4 \n1 1 \n",
            f"{part}__in__dialogues_emotion_{part}": "0 4 \n0 0 \n",
        })


def test_dailydialog(files: dict[str, bytes], home: Path) -> None:
    """Acts and emotions go with the utterances, unless upstream has another number of them."""
    daily(files)
    rows = come("dailydialog", home)
    assert [row["dialogue_id"] for row in rows] == [f"dailydialog-{split}-0000{number}"
                                                    for split in ("train", "valid", "test") for number in (0, 1)]
    assert said(rows[0]) == [("A", "Shall we ?"), ("B", "Let us train .")]
    assert rows[0]["utterances"][1] == {  # type: ignore[index]
        "speaker": "B", "text": "Let us train .", "act": "commissive", "emotion": "happiness"}
    assert rows[1]["utterances"] == [{"speaker": "A", "text": "Hm ."}]


def test_dailydialog_pp(files: dict[str, bytes], home: Path) -> None:
    whole = {"id": 0, "context": ["Who ate it?", "Not me."], "positive_responses": ["Oh."],
             "adversarial_negative_responses": ["I ate."], "random_negative_responses": ["Rain."]}
    for name in ("train", "dev", "test"):
        files[f"{name}.json"] = f"{json.dumps({**whole, 'context': [f'Who ate the {name} cake?']})}\n\n".encode()
    files[sources.POSITIVE_ONLY] = json.dumps({"context": ["More?"], "positive_responses": ["Yes."]}).encode()
    rows = come("dailydialog_pp", home)
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
    files["empatheticdialogues.tar.gz"] = tarred(members)
    rows = come("empatheticdialogues", home)
    assert len(rows) == 6
    assert said(rows[0]) == [("A", "I won, you know!"), ("B", 'You did "it"!')]
    assert (rows[0]["dialogue_id"], rows[0]["emotion"], rows[0]["situation"]) == (
        "empatheticdialogues-hit:0_conv:1", "proud", "I won, at last.")


def test_personachat(files: dict[str, bytes], home: Path) -> None:
    """An episode starts at 1. Who only hears silence speaks first, and is A."""
    text = ("1 your persona: i paint .\n2 partner's persona: i ski .\n3 hello !\thi . what is your persona: or job ?\n"
            "4 i ski .\tnice .\n1 your persona: i ski .\n2 __SILENCE__\thello !\n3 hi .\ti ski .\n")
    files["convai2_fix_723.tgz"] = tarred({f"{split}_both_original_no_cands.txt": text for split in ("train", "valid")})
    rows = come("personachat", home)
    assert [row["dialogue_id"] for row in rows] == ["convai2-train-00000", "convai2-train-00001",
                                                    "convai2-valid-00000", "convai2-valid-00001"]
    assert said(rows[0]) == [("A", "hello !"), ("B", "hi . what is your persona: or job ?"), ("A", "i ski ."),
                             ("B", "nice .")]
    assert rows[0]["persona"] == {"B": ["i paint ."], "A": ["i ski ."]}
    assert said(rows[1]) == [("A", "hello !"), ("B", "hi ."), ("A", "i ski .")]
    assert rows[1]["persona"] == {"A": ["i ski ."]}


def test_topical_chat(files: dict[str, bytes], home: Path) -> None:
    record = {"content": [{"agent": "agent_1", "message": "Do you ski? ", "sentiment": "Happy", "turn_rating": "Good"},
                          {"agent": "agent_2", "message": "\u0007 ", "sentiment": "Sad"},
                          {"agent": "agent_2", "message": "No."}], "conversation_rating": {"agent_1": "Good"}}
    for split in ("train", "valid_freq", "valid_rare", "test_freq", "test_rare"):
        files[f"{split}.json"] = json.dumps({f"t_{split}": record}).encode()
    rows = come("topical_chat", home)
    assert [row["dialogue_id"] for row in rows][:2] == ["topicalchat-t_train", "topicalchat-t_valid_freq"]
    assert said(rows[0]) == [("A", "Do you ski?"), ("B", "No.")]
    assert rows[0]["utterances"][0]["emotion"] == "Happy"  # type: ignore[index]


def test_wizard_of_wikipedia(files: dict[str, bytes], home: Path) -> None:
    record = {"chosen_topic": "Skiing", "dialog": [{"speaker": "1_Apprentice", "text": "Tell me of skis."},
                                                  {"speaker": "0_Wizard", "text": "They are long."}]}
    stems = ("train", "valid_random_split", "valid_topic_split", "test_random_split", "test_topic_split")
    files["wizard_of_wikipedia.tgz"] = tarred({f"{stem}.json": json.dumps([record]) for stem in stems})
    rows = come("wizard_of_wikipedia", home)
    assert [row["split"] for row in rows] == ["train", "valid", "valid_unseen", "test", "test_unseen"]
    assert said(rows[0]) == [("A", "Tell me of skis."), ("B", "They are long.")]
    assert rows[0]["topic"] == "Skiing"


def test_files_of_another_form_leave_nothing(files: dict[str, bytes], home: Path) -> None:
    for content, problem in [
        (b"[1, 2]", "not in the form expected"), (b"{", "is not JSON"), (b"{}", "hold no dialogue"),
        (b'{"t": {"content": [{"agent": "agent_1"}]}}', "not in the form expected of this source .KeyError: 'message'"),
    ]:
        for split in ("train", "valid_freq", "valid_rare", "test_freq", "test_rare"):
            files[f"{split}.json"] = content
        with pytest.raises(BadRecord, match=problem) as caught:
            sources.fetch("topical_chat", home)
        assert "\n" not in str(caught.value)
        assert not (home / "corpora").exists()


def run(home: Path, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    args = parser.parse_args(arguments)
    args.home = home
    return command.run(args)


def test_the_command_fetches_what_is_not_there(files: dict[str, bytes], home: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, past a failure; what is there is only fetched again by its name."""
    daily(files)
    assert run(home, "--corpora") == 2
    said = capsys.readouterr()
    assert "dailydialog                 6 dialogues  (licence: CC BY-NC-SA 4.0)" in said.out
    assert "1 fetched" in said.out
    assert said.err.count("\n") == len(sources.SOURCES) - 1
    files.clear()
    assert run(home, "--corpora", "dailydialog") == 2
    assert len(corpora.load("dailydialog", home).dialogues) > 0
    with pytest.raises(FetchError, match="did you mean 'personachat'"):
        sources.fetch("personchat", home)
