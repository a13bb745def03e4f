"""Sources of ratings up to 2021: one function per file format, which reads the file or folder its authors publish.

Formats were verified against a stored copy, except USR, DSTC6 and HUMOD (against published readers of the files) and
See et al. and Zhao et al. (against their authors' code).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, DatasetCard, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats.official import SPEAKERS, alternating, lines
from benchmarks.sources.rows import RatedRow, Rows, find, read_each, read_json, read_table

GRADE = {"dailydialog-grade": "dailydialog_EVAL", "empathetic-grade": "empatheticdialogues", "convai2-grade": "convai2"}
"""GRADE's name for the corpus of each dataset."""
TRUTH = "Original Ground Truth"  # USR's name for the author of the reference
ZHAO = {
    "dailydialog-zhao": ("dd_*.json", "*dailydialog*.json", "*DailyDialog*.json"),
    "persona-zhao": ("pc_*.json", "persona*.json", "*persona*.json", "*PersonaChat*.json"),
}
"""File name patterns of Zhao et al.'s datasets, best first; the name for PersonaChat is guessed from the other."""
REPLY = re.compile(r"(S_\d+):\s*(\[[^\]]*\])\s*(.*)")  # a reply of DSTC6 with its votes
HUMOD = {"dialogue": "dialogueid", "context": "dialoguecontext", "reply": "reply", "relevance": "userrelevance",
         "language_usage": "language", "reference": "userreply"}
"""The lower-case name of each column of HUMOD, or a part of it."""


def grade(path: Path, card: DatasetCard) -> Rows:
    """GRADE (Huang et al., EMNLP 2020): one list for three corpora, with turns joined by "|||".

    References are left out, as in the organisers' files, so that a dataset is the same wherever it came from.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        if record["Dataset"] == GRADE[card.name]:
            yield RatedRow(alternating(record["Context"].split("|||")), record["Response"],
                           {"relevance": json.loads(record["HumanScores"])}, system=record["DialogModel"])

    return read_json(path, read, "human_judgement.json")


def usr(path: Path, card: DatasetCard) -> Rows:
    """USR (Mehri and Eskenazi, ACL 2020): a list of {context, fact, responses: [{model, response, QUALITY: [votes]}]}.

    The ground truth is the reference of every response, including itself.
    """
    def read(record: Any) -> Iterator[RatedRow]:
        context, facts = alternating(record["context"].split("\n")), lines(record["fact"])
        truths = [response["response"] for response in record["responses"] if response["model"] == TRUTH]
        for response in record["responses"]:
            votes = {quality.name: response[quality.name] for quality in card.qualities}
            yield RatedRow(context, response["response"], votes, truths, facts, response["model"])

    return read_json(path, read, "*_usr_data.json")


def fed(path: Path, card: DatasetCard) -> Rows:
    """FED (Mehri and Eskenazi, SIGDIAL 2020): turns and whole dialogues, which have no `response`, in one list.

    Every line of `context` starts with "User: " or "System: ". Votes that are text, such as "N/A (...)", are
    ignored.
    """
    def turn(line: str) -> Utterance:
        prefix, _, text = line.partition(":")
        return {"System": Utterance(SYSTEM, text), "User": Utterance(USER, text)}.get(prefix, Utterance(USER, line))

    def read(record: Any) -> Iterator[RatedRow]:
        response = record.get("response")
        if ("response" in record) is (card.level == "turn"):
            votes = {name: [vote for vote in votes if not isinstance(vote, str)]
                     for name, votes in record["annotations"].items()}
            yield RatedRow(list(map(turn, lines(record["context"]))),
                           None if response is None else response.removeprefix("System: "), votes,
                           system=record["system"])

    return read_json(path, read, "fed_data.json")


def zhao(path: Path, card: DatasetCard) -> Rows:
    """Zhao et al. (ACL 2020): an object for each corpus, from dialogue id to its context, reference and responses.

    Upstream calls speakers "floors". Responses without scores were not judged. Upstream's `overall` is the organisers'
    appropriateness.
    """
    fields = {quality.name: "overall" if quality.name == "appropriateness" else quality.name
              for quality in card.qualities}

    def read(record: Any) -> Iterator[RatedRow]:
        floor, reference = record["reference"]
        context = [Utterance(SYSTEM if speaker == floor else USER, text) for speaker, text in record["context"]]
        for system, response in record["responses"].items():
            if "scores" in response:
                ratings = response["scores"].values()
                votes = {name: [rating[field] for rating in ratings if field in rating]
                         for name, field in fields.items()}
                yield RatedRow(context, response["uttr"], {name: values for name, values in votes.items() if values},
                               [reference], system=system)

    return read_json(path, read, *ZHAO[card.name])


def gupta(path: Path, _: DatasetCard) -> Rows:
    """Gupta et al. (SIGDIAL 2019): a CSV of mean ratings; turns are joined by "||||", references by tabs."""
    def read(record: Any) -> Iterator[RatedRow]:
        yield RatedRow(alternating(record["context"].split("||||")), record["response"],
                       {"overall": [record["human_average_rating"]]}, record["all_references"].split("\t"),
                       system=record["model"])

    return read_table(find(path, "mturk_rating_processed_output.csv"), read)


def see(path: Path, card: DatasetCard) -> Rows:
    """See et al. (NAACL 2019): logs of PersonaChat dialogues as JSON lines, one file per system, read in name order.

    A higher score is better, except for `inquisitive`, where 4 means too many questions. Items are numbered differently
    from the organisers'. Dialogues between two people have no scores and are left out.
    """
    def read(line: str) -> Iterator[RatedRow]:
        record: Any = json.loads(line)
        if any(turn["speaker"] == "model" for turn in record["dialog"]):
            yield RatedRow([Utterance(SPEAKERS.get(turn["speaker"], turn["speaker"]), turn["text"])
                            for turn in record["dialog"]], None,
                           {quality.name: [float(record["evaluation_results"][quality.name])]
                            for quality in card.qualities},
                           system=record["model_name"])

    log_file = find(path, "*.jsonl")
    for log in [log_file] if path.is_file() else sorted(path.rglob("*.jsonl")):
        yield from read_each(log, filter(str.strip, log.read_text(encoding="utf-8").split("\n")), read)


def dstc6(path: Path, _: DatasetCard) -> Rows:
    """DSTC6 Track 2 (Hori and Hori 2017): customer-service replies on Twitter, 20 systems, 10 raters each.

    A file of blocks separated by blank lines: "### ..." above the turns ("U: ", "S: ") and above the replies ("S_1:
    [5,4,...] text"). The last reply, S_21, is the company's own: a reference, not a system. Ten more references are in
    `references/refgen_result1.txt` to `...10.txt`, one line per dialogue, in the order of `original_refs.txt`. Systems
    keep their upstream names; the organisers' are S_00 to S_19.
    """
    file = find(path, "human_rating_scores.txt")
    blocks = [block.split("\n") for block in re.split(r"\n\s*\n", file.read_text(encoding="utf-8").strip())]
    columns = _references(path)
    if reference_count := next((len(column) for column in columns if len(column) != len(blocks)), None):
        problem = f"has {len(blocks)} dialogues, but a file of references has {reference_count}"
        raise BadRecord(file.name, None, "", problem)

    def read(record: tuple[list[str], tuple[str, ...]]) -> Iterator[RatedRow]:
        block, references = record
        context = [Utterance(USER if line[0] == "U" else SYSTEM, line[2:]) for line in block if re.match("[US]:", line)]
        *systems, (_, _, original) = [reply.groups() for line in block if (reply := REPLY.match(line))]
        if references and references[0].split() != original.split():
            raise ValueError(f"the original reply {original!r:.60} differs from its line in original_refs.txt")
        for system, votes, text in systems:
            yield RatedRow(context, text, {"overall": json.loads(votes)}, references or (original,), system=system)

    references = zip(*columns, strict=True) if columns else [()] * len(blocks)
    return read_each(file, zip(blocks, references, strict=True), read)


def _references(folder: Path) -> list[list[str]]:
    """Return the replies by dialogue: the original replies, then ten people's; empty if the files are missing."""
    names = ("original_refs.txt", *(f"refgen_result{number}.txt" for number in range(1, 11)))
    files = [file for name in names for file in folder.rglob(name)]
    if not files or files[0].name != names[0]:
        return []
    return [file.read_text(encoding="utf-8").removesuffix("\n").split("\n") for file in files]


def humod(path: Path, _: DatasetCard) -> Rows:
    """HUMOD (Merdivan et al. 2020): human and random replies to film dialogues, three raters each.

    A tab-separated table with a line per reply and rater; turns start with "Speaker 1:" or "Speaker 2:". Each rater
    also wrote a reply: these are the references. In a few lines a tab is missing before the last number. The column of
    language usage is recognised by part of its name.
    """
    file = find(path, "HUMOD_Dataset.TXT", "HUMOD*.[tT][xX][tT]")
    header, *body = file.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    names = header.split("\t")
    plain_names = [re.sub(r"[^a-z]", "", name.casefold()) for name in names]
    columns: dict[str, int] = {}
    for field, substring in HUMOD.items():
        if matches := sorted((name != substring, column)
                             for column, name in enumerate(plain_names) if substring in name):
            columns[field] = matches[0][1]
        elif field != "language_usage":
            raise BadRecord(file.name, 0, field, f"no such column among {', '.join(names)}")

    def read(raters: Iterable[list[str]]) -> Iterator[RatedRow]:
        rows = list(raters)
        cells = {name: [values[column] for values in rows] for name, column in columns.items()}
        yield RatedRow(alternating(re.split(r"Speaker \d+:", cells["context"][0])),
                       re.sub(r"^\s*Speaker \d+:", "", cells["reply"][0]),
                       {name: list(map(float, cells[name])) for name in ("language_usage", "relevance")
                        if name in cells}, cells["reference"])

    table = (_cells(line, len(names), columns["context"]) for line in body if line.strip())
    groups = itertools.groupby(table, key=lambda values: values[columns["dialogue"]])
    return read_each(file, (raters for _, raters in groups), read)


def _cells(line: str, width: int, context: int) -> list[str]:
    """Return the cells of a HUMOD line: surplus tabs belong to the context, a missing tab precedes the last number."""
    values = line.split("\t")
    if len(values) == width - 1 and (merged := re.fullmatch(r"(.*\S)\s+(\d+)\s*", values[-1])):
        values[-1:] = merged.groups()
    surplus = max(0, len(values) - width)
    values[context:context + surplus + 1] = [" ".join(values[context:context + surplus + 1])]
    return values
