"""Sources of corpora, and the conversion of their files to the common format.

A corpus has the addresses of its files and one small function over the folder they were put in, archives unpacked.
Splits are upstream's; ids are upstream's, or the number in the split.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpora import files as corpus_files
from benchmarks.dataset import Source
from benchmarks.errors import BadRecord, FetchError, nearest
from benchmarks.formats import official
from benchmarks.sources import find
from benchmarks.storage.fetch import downloaded

CorpusRow = Mapping[str, Any]
GITHUB = "https://raw.githubusercontent.com"
PARLAI = "http://parl.ai/downloads"
DAILYDIALOG = (f"{GITHUB}/Ls-Dai/Deep-Reinforcement-Learning-for-Dialogue-Generation-in-PyTorch/"
               "bae51b16e3e8c0ce4ffd70b75ecfc40fbeb8e7ee/data")
TOPICAL = f"{GITHUB}/alexa/Topical-Chat/7c939229cbcf6f55f6977b341a5a2f2fe982d53f/conversations"
PLUSPLUS = f"{GITHUB}/iitmnlp/DailyDialog-plusplus/master/dataset"
POSITIVES = f"{GITHUB}/iitmnlp/Dialogue-Evaluation-with-BERT/4ec8dc5c6669e56c7723e2b3b3e924e6ae380551/dataset"
POSITIVE_ONLY = "data_with_contexts_and_positive_responses_only.json"

ACTS = ("", "inform", "question", "directive", "commissive")
EMOTIONS = ("no emotion", "anger", "disgust", "fear", "happiness", "sadness", "surprise")
CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
REPLIES = ("positive_responses", "adversarial_negative_responses", "random_negative_responses")
UNEXPECTED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """The files of a corpus, and what reads them."""

    files: tuple[Source, ...]
    rows: Callable[[Path], Iterator[CorpusRow]]


def fetch(name: str, home: Path) -> int:
    """Fetch and convert a corpus into the home; return the number of dialogues."""
    if name not in SOURCES:
        raise FetchError(f"no corpus {name!r} that can be fetched; {nearest(name, SOURCES)}")
    try:
        with downloaded(home, f"corpus-{name}", SOURCES[name].files) as folder:
            rows = [row for row in SOURCES[name].rows(folder) if row["utterances"]]
    except UNEXPECTED as error:
        problem = f"its files are not in the form expected of this source ({type(error).__name__}: {error})"
        raise BadRecord(name, None, "", " ".join(problem.split())) from error
    if not rows:
        raise BadRecord(name, None, "", "the files of the source hold no dialogue")
    return corpus_files.write(corpus_files.stored(name, home), rows)


def _row(corpus: str, name: str, split: str, turns: Iterable[tuple[str, str, CorpusRow]], **labels: Any) -> CorpusRow:
    """Put a dialogue into the common form: whoever speaks first is A, and turns without text are dropped."""
    letters: dict[str, str] = {}
    utterances = []
    for speaker, text, more in turns:
        if bare := CONTROL.sub(" ", text).strip():
            letter = letters.setdefault(speaker, chr(ord("A") + len(letters)))
            utterances.append({"speaker": letter, "text": bare, **more})
    if "persona" in labels:
        labels["persona"] = {letters[who]: said for who, said in labels["persona"].items() if who in letters}
    return {"dialogue_id": name, "source": corpus, "split": split, "utterances": utterances, **labels}


def _alternating(texts: Iterable[str]) -> list[tuple[str, str, CorpusRow]]:
    return [("AB"[place % 2], text, {}) for place, text in enumerate(texts)]


def dailydialog(folder: Path) -> Iterator[CorpusRow]:
    """Three archives, of which each has texts, acts and emotions in files of parallel lines."""
    for part, split in (("train", "train"), ("validation", "valid"), ("test", "test")):
        texts, acts, emotions = (find(folder, f"dialogues_{kind}{part}.txt").read_text("utf-8").splitlines()
                                 for kind in ("", "act_", "emotion_"))
        for number, (text, act, emotion) in enumerate(zip(texts, acts, emotions, strict=True)):
            turns = _alternating(turn for turn in text.split("__eou__") if turn.strip())
            labels = [{"act": ACTS[int(number_of_act)], "emotion": EMOTIONS[int(number_of_emotion)]}
                      for number_of_act, number_of_emotion in zip(act.split(), emotion.split(), strict=False)]
            if len(labels) == len(turns):
                turns = [(who, said, label) for (who, said, _), label in zip(turns, labels, strict=True)]
            yield _row("dailydialog", f"dailydialog-{split}-{number:05d}", split, turns)


def dailydialog_pp(folder: Path) -> Iterator[CorpusRow]:
    """One JSON object a line: a context, and replies of each kind."""
    for split, pattern in (("train", "train.json"), ("train_positive_only", POSITIVE_ONLY), ("dev", "dev.json"),
                           ("test", "test.json")):
        lines = [line for line in find(folder, pattern).read_text("utf-8").split("\n") if line.strip()]
        for number, record in enumerate(map(json.loads, lines)):
            replies = {kind: record[kind] for kind in REPLIES if record.get(kind)}
            yield _row("dailydialog++", f"dailydialog++-{split}-{number}", split, _alternating(record["context"]),
                       **replies)


def empatheticdialogues(folder: Path) -> Iterator[CorpusRow]:
    """Unquoted columns, in which _comma_ stands for a comma; a conversation is a run of lines."""
    for split in ("train", "valid", "test"):
        lines = find(folder, f"{split}.csv").read_text("utf-8").split("\n")
        columns = lines[0].strip().split(",")
        records: dict[str, list[dict[str, str]]] = {}
        for line in filter(None, lines[1:]):
            record = dict(zip(columns, line.replace("\r", "").split(","), strict=False))
            records.setdefault(record["conv_id"], []).append(
                {key: value.replace("_comma_", ",") for key, value in record.items()})
        for name, turns in records.items():
            yield _row("empatheticdialogues", f"empatheticdialogues-{name}", split,
                       ((turn["speaker_idx"], turn["utterance"], {}) for turn in turns),
                       emotion=turns[0]["context"], situation=turns[0]["prompt"].strip())


def personachat(folder: Path) -> Iterator[CorpusRow]:
    """Numbered lines, of which the first starts an episode: personas, then what one says and the other replies."""
    for split in ("train", "valid"):
        file = find(folder, f"{split}_both_original_no_cands.txt", f"{split}_self_original_no_cands.txt")
        for number, episode in enumerate(_episodes(file.read_text("utf-8").split("\n"))):
            persona: dict[str, list[str]] = {}
            turns: list[tuple[str, str, CorpusRow]] = []
            for line in episode:
                whose, mark, said = line.partition(" persona: ")
                if mark and "\t" not in line:
                    persona.setdefault("you" if whose == "your" else "partner", []).append(said.strip())
                else:
                    said, reply = line.split("\t")[:2]
                    turns += [("partner", said.replace("__SILENCE__", ""), {}), ("you", reply, {})]
            yield _row("personachat", f"convai2-{split}-{number:05d}", split, turns, persona=persona)


def _episodes(lines: Iterable[str]) -> Iterator[list[str]]:
    episode: list[str] = []
    for line in filter(str.strip, lines):
        number, _, rest = line.partition(" ")
        if int(number) == 1 and episode:
            yield episode
            episode = []
        episode.append(rest)
    yield episode


def topical_chat(folder: Path) -> Iterator[CorpusRow]:
    """One JSON object a split, from the id of a conversation to its content."""
    for split in ("train", "valid_freq", "valid_rare", "test_freq", "test_rare"):
        for name, record in official.load_json(find(folder, f"{split}.json")).items():
            turns = ((turn["agent"], turn["message"], {"emotion": turn.get("sentiment"),
                                                      "turn_rating": turn.get("turn_rating")})
                     for turn in record["content"])
            yield _row("topical_chat", f"topicalchat-{name}", split, turns,
                       conversation_rating=record.get("conversation_rating"))


def wizard_of_wikipedia(folder: Path) -> Iterator[CorpusRow]:
    """One JSON list a split; the seen topics are called random split, the unseen ones topic split."""
    for split, stem in (("train", "train"), ("valid", "valid_random_split"), ("valid_unseen", "valid_topic_split"),
                        ("test", "test_random_split"), ("test_unseen", "test_topic_split")):
        for number, record in enumerate(official.load_json(find(folder, f"{stem}.json"))):
            turns: list[tuple[str, str, CorpusRow]] = [(turn["speaker"].partition("_")[2], turn["text"], {})
                                                 for turn in record["dialog"]]
            yield _row("wizard_of_wikipedia", f"wow-{split}-{number:05d}", split, turns, topic=record["chosen_topic"])


def _files(folder: str, *names: str) -> tuple[Source, ...]:
    return tuple(Source(f"{folder}/{name}") for name in names)


SOURCES = {
    "dailydialog": CorpusSource(_files(DAILYDIALOG, "train.zip", "validation.zip", "test.zip"), dailydialog),
    "dailydialog_pp": CorpusSource(
        _files(PLUSPLUS, "train.json", "dev.json", "test.json") + _files(POSITIVES, POSITIVE_ONLY), dailydialog_pp),
    "empatheticdialogues": CorpusSource(
        (Source(f"{PARLAI}/empatheticdialogues/empatheticdialogues.tar.gz",
                "240c492cb6199a315722f716bfcc14f13ea6605f1cec67349153b606be92f6f2"),), empatheticdialogues),
    "personachat": CorpusSource(
        (Source(f"{PARLAI}/convai2/convai2_fix_723.tgz",
                "d0ae89defe2fd0b0a4221eaa642a457d7d40cef475f54798119c7f3b8dd9361d"),), personachat),
    "topical_chat": CorpusSource(
        _files(TOPICAL, "train.json", "valid_freq.json", "valid_rare.json", "test_freq.json", "test_rare.json"),
        topical_chat),
    "wizard_of_wikipedia": CorpusSource(
        (Source(f"{PARLAI}/wizard_of_wikipedia/wizard_of_wikipedia.tgz",
                "2a549627a83fea745efa2076a41d1c0078ad002ab2b54eae6a4e3d3d66ae24b7"),), wizard_of_wikipedia),
}
"""Those that training takes by default. The digests are those that ParlAI checks."""
