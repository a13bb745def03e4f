"""Everything that reads files which the harness has not just written: functions of a folder, a form and any bytes.

A reader may refuse its input with an error of ours, in one line; any other exception is a bug. Accepted input must be
sound: texts that can be written, votes and scores that are finite or missing. The names of stored files hold the digest
of their content; here the digest is always right, so that only content of another form is left to be noticed.
"""

import argparse
import contextlib
import functools
import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Quality, Utterance
from benchmarks.errors import BenchmarkError
from benchmarks.formats import official, private, scorefile
from benchmarks.storage.digested import digest
from harness import bundle
from harness.bundle import Bundle, ScoreTable, reading
from harness.errors import HarnessError
from harness.results.cache import Cache
from harness.run import prepare as run
from harness.run.settings import home_folder, settings
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore, _stem, _to_parquet
from metrics.errors import MetricError
from metrics.judges import archive as answers
from metrics.judges.answer import Answer
from tests.conftest import make_card
from tests.leaderboard import hostile


@dataclass(frozen=True)
class FileReader:
    """A reader: valid files by form, a function that reads any bytes of a form, and words of its files."""

    name: str
    make: Callable[[], Mapping[str, list[bytes]]]
    read: Callable[[Path, str, bytes], None]
    words: tuple[str, ...]

    @functools.cached_property
    def seeds(self) -> Mapping[str, list[bytes]]:
        return self.make()

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(self.seeds)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield valid files, each with its form."""
        return ((form, content) for form, contents in self.seeds.items() for content in contents)

    def __call__(self, folder: Path, form: str, content: bytes) -> bool:
        """Read anything; return True if it was accepted."""
        try:
            self.read(folder, form, content)
        except (BenchmarkError, MetricError, HarnessError) as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} has no message") from error
            return False
        return True


def sound(condition: object, what: str) -> None:
    """Raise AssertionError for input that should not have been accepted."""
    if not condition:
        raise AssertionError(f"accepted: {what}")


TWO = (Quality("overall", 1, 5), Quality("Natural", 1, 3))
CARDS = {"turn": make_card(qualities=TWO), "dialogue": make_card(level="dialogue", qualities=TWO),
         "contest": make_card(qualities=(Quality("overall", 0, 1),), rated_by="win_ratio")}


def _organisers() -> dict[str, list[bytes]]:
    votes: dict[str, Any] = {"overall": [1, "2", "N/A no vote", 4.5], "Natural": None}
    turn = {"dialogue_id": "toy_0", "context": "hello\nhow are you?", "response": "fine", "annotations": votes,
            "reference": ["well", "good"], "fact": "I have a dog.\nI like tea.", "model": "bot"}
    marked = {**turn, "dialogue_id": "toy_1", "context": "User: hello\nSystem: hi", "response": "System: é ☂",
              "reference": "one", "model": None, "model_name": "seq2seq"}
    dialogue = {"dialogue_id": "toy_0", "dialog": [{"speaker": "user", "text": "hi"}, {"speaker": "bot", "text": ""}],
                "annotations": {"overall": 3}}
    other = {"dialogue_id": "toy_1", "dialogue": [{"speaker": "Ann", "text": " hello "}], "annotations": None}
    contest = [{"dialogue_id": f"toy_{row}", "context": "", "response": None, "win_ratio": ratio}
               for row, ratio in enumerate((0.5, "0.25", "?", math.nan))]
    return {name: [json.dumps(rows).encode()] for name, rows in
            (("turn", [turn, marked]), ("dialogue", [dialogue, other]), ("contest", contest))}


def _read_organisers(folder: Path, form: str, content: bytes) -> None:
    path = folder / "toy.json"
    path.write_bytes(content)
    _check_dataset(official.parse(path, CARDS[form]))


def _check_dataset(dataset: Dataset) -> None:
    for item in dataset.items:
        json.dumps(asdict(item), ensure_ascii=False).encode()  # as it is written, half a surrogate pair fails
    known = {item.id for item in dataset.items}
    sound(len(known) == len(dataset.items), "two items of one id")
    for rating in dataset.ratings:
        sound(rating.item in known and dataset.card.quality(rating.quality), "a rating of nothing")
        sound(all(map(math.isfinite, rating.votes)), "a vote that is not finite")


ITEMS = tuple(Item(f"toy_{number}", (Utterance(USER, "hello"),), Utterance(SYSTEM, "hi")) for number in range(6))
WANTED = scorefile.Expected({"toy": tuple(item.id for item in ITEMS)}, {"toy": ("overall", "Natural")})


def _scores() -> dict[str, list[bytes]]:
    by_item = {item.id: number / 2 for number, item in enumerate(ITEMS)}
    pairs = {f"{name}|{quality}": value for name, value in by_item.items() for quality in ("overall", "Natural")}

    def table(sign: str, given: Mapping[str, float]) -> bytes:
        lines = (f"{name}{sign}{value}\n" for name, value in given.items())
        return f"dialogue_id{sign}score\n{''.join(lines)}".encode()

    quoted = b'\xef\xbb\xbfid;score;more\n"toy_0";"1e-3";"a\nb"\n'
    return {".csv": [table(",", by_item), table(",", pairs), quoted], ".tsv": [table("\t", by_item)]}


def _read_scores(folder: Path, form: str, content: bytes) -> None:
    path = folder / f"scores{form}"
    path.write_bytes(content)
    parsed = scorefile.read(path, WANTED)
    for line in scorefile.describe(parsed.problems):
        sound(line.isprintable(), f"a problem described as {line!r}")
    for scores in parsed.scores.values():
        sound(len(scores) == len(ITEMS) and not np.isinf(scores).any(), "scores that are not one a item, or infinite")


def _ratings() -> dict[str, list[bytes]]:
    rows = [(item.id, quality, vote) for item in ITEMS for quality, vote in (("overall", 5), ("Natural", "2.5"))]

    def table(sign: str, *head: str) -> bytes:
        return "".join(sign.join(map(str, row)) + "\n" for row in [head, *rows]).encode()

    records = [{"dialogue_id": name, "annotations": {quality: [vote, "N/A"]}} for name, quality, vote in rows[::2]]
    return {".json": [json.dumps(records).encode()], ".tsv": [table("\t", "dialogue_id", "quality", "score")],
            ".csv": [table(",", "item", "quality", "vote"), b'\xef\xbb\xbfvote,"quality",Item\n1,overall,"toy_0"\n']}


def _read_ratings(folder: Path, form: str, content: bytes) -> None:
    path = folder / f"ratings{form}"
    path.write_bytes(content)
    dataset = Dataset(CARDS["turn"], ITEMS, (), "imported")
    owners = private.Owners()
    owners.add(dataset)
    parsed = private.read(path, owners)
    sound(parsed.keys() == {"toy"}, "ratings of no dataset")
    joined, new = private.join(dataset, parsed["toy"])
    sound(len(new) == len(parsed["toy"]), "ratings of no item")
    _check_dataset(joined)


def _config() -> dict[str, list[bytes]]:
    full = """[run]
metric = ["bleu", "rouge-l[references=mean]"]
with = "length"
limit = 40
batch-tokens = 4096
timeout = 2.5
memory = "4GiB"
executor = "ray:2"
home = 'home'
"""
    return {".toml": [full.encode(), b"run.all = true\nrun.out = '../out'\n", b"[run]\nquality = ['\\u00e9']\n"]}


def _read_config(folder: Path, form: str, content: bytes) -> None:
    path = folder / f"config{form}"
    path.write_bytes(content)
    chosen = settings(argparse.Namespace(config=path))
    run.check(chosen)
    home_folder(chosen.home)
    run.command(chosen).encode()


ZIP = "zip"


@functools.cache
def _bundle() -> Mapping[str, bytes]:
    """Return the members of a bundle."""
    report = hostile.make("abcdef", 2, 2)
    scores = {points.dataset: ScoreTable(points.items, points.scores) for points in report.points[:1]}
    packed = bundle.packed(Bundle("toy", report.run, report.datasets, report.metrics, report.correlations,
                                  report.ranking, report.skips, report.failures, scores))
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        return {ZIP: packed, **{name: opened.read(name) for name in opened.namelist()}}


def _read_bundle(folder: Path, form: str, content: bytes) -> None:
    """Read a bundle, or a bundle with other content in a member and its digest in the manifest."""
    path = folder / "bundle.zip"
    if form == ZIP:
        path.write_bytes(content)
    else:
        members = {name: data for name, data in _bundle().items() if name != ZIP} | {form: content}
        if form != bundle.MANIFEST:
            manifest = json.loads(members[bundle.MANIFEST])
            manifest["files"][form] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            members[bundle.MANIFEST] = json.dumps(manifest).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    taken = reading.read(path)
    sound(taken.name.isprintable(), "a name that cannot be printed")
    bundle.packed(taken)  # what is taken can be written again


PRINT, SIGNATURE = "f" * 64, "toy|r1|references=max"
KEPT = Scores(("a", "b"), {"x": np.array([0.1, np.nan]), "y:sum": np.array([-0.0, 1e-300])}, 1.25)


def _cache() -> dict[str, list[bytes]]:
    answer = asdict(Answer("4", tokens=((0, "4", (("4", -0.5), ("5", -1.0))),)))
    cell = _to_parquet(KEPT, SIGNATURE)
    return {"cell": [cell], "part": [cell], "memo": [json.dumps({"p": [0.5, math.nan], "n": 3}).encode()],
            "answers": [json.dumps(answer).encode()]}


def _read_cache(folder: Path, form: str, content: bytes) -> None:
    with contextlib.ExitStack() as stack:
        read = {"cell": _read_cell, "part": _read_part, "memo": _read_memo, "answers": _read_answers}[form]
        read(folder, content, stack)


def _placed(path: Path, content: bytes, stack: contextlib.ExitStack) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    stack.callback(lambda: [file.unlink() for file in path.parent.iterdir()])
    return path


def _read_cell(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    store = ScoreStore(folder)
    _placed(folder / f"{_stem(PRINT, SIGNATURE)}-{digest(content)}.parquet", content, stack)
    parsed = store.get(PRINT, SIGNATURE)
    sound(parsed is not None or store.set_aside, "a cell that is neither read nor set aside")
    if parsed is not None:
        sound(all(column.dtype == np.float64 and column.shape == (len(parsed.items),)
                  for column in parsed.columns.values()), "a column that is no score of each item")
        sound(all(isinstance(item, str) for item in parsed.items) and math.isfinite(parsed.seconds), "items without id")
    store.put(PRINT, SIGNATURE, KEPT)
    sound(store.get(PRINT, SIGNATURE), "a store that cannot be written again")


def _read_part(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    store = ScoreStore(folder)
    _placed(folder / f"{_stem(PRINT, SIGNATURE)}.0000002-0000004-{digest(content)}.shard", content, stack)
    store.put_part(PRINT, SIGNATURE, (0, 2), KEPT)
    items = ("a", "b", "a", "b")
    parsed = store.joined(PRINT, SIGNATURE, items)
    if parsed is not None:
        sound(parsed.items == items, "joined scores that are not of the items")
    else:
        sound(store.set_aside, "a part that is neither joined nor set aside")


def _read_memo(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    memo = Cache(folder / "statistics")
    memo.get("kind", "key", lambda: 1)
    (path,) = (folder / "statistics").glob("kind-*.json")
    path.unlink()
    _placed(path.with_name(f"{path.stem.rpartition('-')[0]}-{digest(content)}.json"), content, stack)
    memo.get("kind", "key", lambda: 1)


def _read_answers(folder: Path, content: bytes, stack: contextlib.ExitStack) -> None:
    archive = answers.AnswerArchive(folder, "prompt", "model")
    _placed(archive.folder / "k" / f"k-{digest(content)}.json", content, stack)
    answer = archive.get("k/k.json")
    sound(answer is None or isinstance(answer.text, str), "an answer that is no text")


READERS: dict[str, FileReader] = {reader.name: reader for reader in (
    FileReader("organisers", _organisers, _read_organisers,
           ("dialogue_id", "context", "response", "annotations", "reference", "fact", "model", "model_name", "dialog",
            "dialogue", "speaker", "text", "win_ratio", "overall", "Natural", "N/A", "NaN", "Infinity", "null", "true",
            "1e999", "\\ud800", "System: ", "User: ", "toy_0")),
    FileReader("scores", _scores, _read_scores,
           ("dialogue_id", "id", "score", "toy_0", "toy_1|overall", "|Natural", "annotations.", "nan", "inf", "1e999",
            "null", "true", '"', "\\n", "\\t", ";", "\\u0000")),
    FileReader("ratings", _ratings, _read_ratings,
           ("item", "dialogue_id", "quality", "vote", "score", "annotations", "win_ratio", "overall", "Natural",
            "toy_0", "toy_5", "N/A", "nan", "inf", "1_0", '"', "\\n", "\\t", "null")),
    FileReader("config", _config, _read_config,
           ("[run]", "run.", *(f"{name} = " for name in settings(argparse.Namespace(config=None)).__slots__), "true",
            "[[", "{", "'", '\\"\\"\\"', "1979-05-27T07:32:00Z", "nan", "-inf", "0x10", "~", "ray:2", "4GiB", "~x/")),
    FileReader("bundle", lambda: {name: [content] for name, content in _bundle().items()}, _read_bundle,
               ("PK\\x03\\x04", "manifest.json", "sha256", "files", "form", "name", "item", "null", "NaN", "1e999",
                "true", "spearman", "value", "rank", "low", "high", "\\ud800", "../", "scores/")),
    FileReader("cache", _cache, _read_cache,
               ("PAR1", "ARROW1", "item", "score:x", "signature", "seconds", "key", "text", "finish",
                "served", "prompt", "completion", "tokens", "NaN", "null", "pandas", "nan")),
)}
