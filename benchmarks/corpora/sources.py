"""Sources of corpora, and the conversion of their files to the common format.

The URLs are in cards.toml, and each corpus has a function that reads the folder of its unpacked files.
Splits are upstream's; ids are upstream's, or the position in the split.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.corpora import files as corpus_files
from benchmarks.errors import BadRecord, FetchError, nearest
from benchmarks.formats import official
from benchmarks.sources.fetch import downloaded
from benchmarks.sources.rows import expected_format, find

CorpusRow = Mapping[str, Any]
POSITIVE_ONLY = "data_with_contexts_and_positive_responses_only.json"
ACTS = ("", "inform", "question", "directive", "commissive")
EMOTIONS = ("no emotion", "anger", "disgust", "fear", "happiness", "sadness", "surprise")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]+")
REPLY_FIELDS = ("positive_responses", "adversarial_negative_responses", "random_negative_responses")
SOURCES = {name: card.sources for name, card in corpus_files.CARDS.items() if card.sources}
"""The source files of each corpus that can be fetched."""


def fetch(name: str, home: Path) -> int:
    """Fetch and convert a corpus into the home; return the number of dialogues."""
    if name not in SOURCES:
        raise FetchError(f"corpus {name!r} cannot be fetched; {nearest(name, SOURCES)}")
    with expected_format(name), downloaded(home, f"corpus-{name}", SOURCES[name]) as folder:
        rows = [row for row in READERS[name](folder) if row["utterances"]]
        if not rows:
            raise BadRecord(name, None, "", "the files of the source contain no dialogues")
        return corpus_files.write(corpus_files.corpus_path(name, home), rows)


def _row(corpus: str, name: str, split: str, turns: Iterable[tuple[str, str, CorpusRow]], **labels: Any) -> CorpusRow:
    """Return a dialogue in the common format: the first speaker is A, and turns without text are dropped."""
    letters: dict[str, str] = {}
    utterances = [{"speaker": letters.setdefault(speaker, chr(ord("A") + len(letters))), "text": clean, **turn_labels}
                  for speaker, text, turn_labels in turns if (clean := CONTROL_CHARACTERS.sub(" ", text).strip())]
    if "persona" in labels:
        labels["persona"] = {letters[speaker]: sentences for speaker, sentences in labels["persona"].items()
                             if speaker in letters}
    return {"dialogue_id": name, "source": corpus, "split": split, "utterances": utterances, **labels}


def _alternating(texts: Iterable[str]) -> list[tuple[str, str, CorpusRow]]:
    return [("AB"[number % 2], text, {}) for number, text in enumerate(texts)]


def dailydialog(folder: Path) -> Iterator[CorpusRow]:
    """Read, for each split, files of texts, acts and emotions whose lines correspond."""
    for part, split in (("train", "train"), ("validation", "valid"), ("test", "test")):
        files = (find(folder, f"dialogues_{kind}{part}.txt") for kind in ("", "act_", "emotion_"))
        texts, acts, emotions = (file.read_text("utf-8").removesuffix("\n").split("\n") for file in files)
        for number, (text, act, emotion) in enumerate(zip(texts, acts, emotions, strict=True)):
            turns = _alternating(turn for turn in text.split("__eou__") if turn.strip())
            labels = [{"act": ACTS[int(turn_act)], "emotion": EMOTIONS[int(turn_emotion)]}
                      for turn_act, turn_emotion in zip(act.split(), emotion.split(), strict=False)]
            if len(labels) == len(turns):
                turns = [(who, utterance, label) for (who, utterance, _), label in zip(turns, labels, strict=True)]
            yield _row("dailydialog", f"dailydialog-{split}-{number:05d}", split, turns)


def dailydialog_pp(folder: Path) -> Iterator[CorpusRow]:
    """Read a JSON object per line: a context, and replies of each kind."""
    for split, pattern in (("train", "train.json"), ("train_positive_only", POSITIVE_ONLY), ("dev", "dev.json"),
                           ("test", "test.json")):
        for number, (_, record) in enumerate(corpus_files.objects(find(folder, pattern))):
            replies = {kind: record[kind] for kind in REPLY_FIELDS if record.get(kind)}
            yield _row("dailydialog++", f"dailydialog++-{split}-{number}", split, _alternating(record["context"]),
                       **replies)


def empatheticdialogues(folder: Path) -> Iterator[CorpusRow]:
    """Read unquoted CSV with one line per turn; commas in texts are written as _comma_."""
    for split in ("train", "valid", "test"):
        lines = find(folder, f"{split}.csv").read_text("utf-8").split("\n")
        columns = lines[0].strip().split(",")
        records: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
        for line in filter(None, lines[1:]):
            record = dict(zip(columns, line.replace("\r", "").split(","), strict=False))
            records[record["conv_id"]].append({key: value.replace("_comma_", ",") for key, value in record.items()})
        for name, turns in records.items():
            yield _row("empatheticdialogues", f"empatheticdialogues-{name}", split,
                       ((turn["speaker_idx"], turn["utterance"], {}) for turn in turns),
                       emotion=turns[0]["context"], situation=turns[0]["prompt"].strip())


def personachat(folder: Path) -> Iterator[CorpusRow]:
    """Read numbered lines; line 1 starts an episode: personas, then pairs of a turn and its reply."""
    for split in ("train", "valid"):
        file = find(folder, f"{split}_both_original_no_cands.txt", f"{split}_self_original_no_cands.txt")
        for number, episode in enumerate(_episodes(file.read_text("utf-8").split("\n"))):
            persona: dict[str, list[str]] = {}
            turns: list[tuple[str, str, CorpusRow]] = []
            for line in episode:
                whose, separator, utterance = line.partition(" persona: ")
                if separator and "\t" not in line:
                    persona.setdefault("you" if whose == "your" else "partner", []).append(utterance.strip())
                else:
                    utterance, reply = line.split("\t")[:2]
                    turns += [("partner", utterance.replace("__SILENCE__", ""), {}), ("you", reply, {})]
            yield _row("personachat", f"convai2-{split}-{number:05d}", split, turns, persona=persona)


def _episodes(lines: Iterable[str]) -> Iterator[list[str]]:
    episode: list[str] = []
    for line in filter(str.strip, lines):
        number, _, content = line.partition(" ")
        if int(number) == 1 and episode:
            yield episode
            episode = []
        episode.append(content)
    yield episode


def topical_chat(folder: Path) -> Iterator[CorpusRow]:
    """Read a JSON object per split that maps conversation ids to their content."""
    for split in ("train", "valid_freq", "valid_rare", "test_freq", "test_rare"):
        for name, record in official.load_json(find(folder, f"{split}.json")).items():
            turns = ((turn["agent"], turn["message"],
                      {"emotion": turn.get("sentiment"), "turn_rating": turn.get("turn_rating")})
                     for turn in record["content"])
            yield _row("topical_chat", f"topicalchat-{name}", split, turns,
                       conversation_rating=record.get("conversation_rating"))


def wizard_of_wikipedia(folder: Path) -> Iterator[CorpusRow]:
    """Read a JSON list per split; the topics of upstream's `topic_split` do not occur in training."""
    for split, stem in (("train", "train"), ("valid", "valid_random_split"), ("valid_unseen", "valid_topic_split"),
                        ("test", "test_random_split"), ("test_unseen", "test_topic_split")):
        for number, record in enumerate(official.load_json(find(folder, f"{stem}.json"))):
            yield _row("wizard_of_wikipedia", f"wow-{split}-{number:05d}", split,
                       ((turn["speaker"].partition("_")[2], turn["text"], {}) for turn in record["dialog"]),
                       topic=record["chosen_topic"])


READERS: dict[str, Callable[[Path], Iterator[CorpusRow]]] = {
    "dailydialog": dailydialog, "dailydialog_pp": dailydialog_pp, "empatheticdialogues": empatheticdialogues,
    "personachat": personachat, "topical_chat": topical_chat, "wizard_of_wikipedia": wizard_of_wikipedia}
