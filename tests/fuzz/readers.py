"""Readers of files from elsewhere: functions of a folder, a format and any bytes.

A reader may refuse its input with an error of the project; any other exception is a bug. Accepted input must be sound:
texts can be written, votes and scores are finite or missing. Stored files are always named by their correct digest, so
that their content is read.
"""

import argparse
import contextlib
import functools
import hashlib
import io
import json
import math
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Quality, Utterance
from benchmarks.errors import BenchmarkError
from benchmarks.formats import official, scorefile
from benchmarks.storage.files import digest
from benchmarks.tables import private
from harness import bundle
from harness.bundle import reading
from harness.cli import main
from harness.errors import HarnessError
from harness.results import files
from harness.results.cache import Cache
from harness.run import prepare as run
from harness.run.settings import home_folder, settings
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore, _stem, _to_parquet
from metrics.errors import MetricError
from metrics.judges.answer import Answer, AnswerArchive
from tests.conftest import make_card


@dataclass(frozen=True)
class FileReader:
    """A reader: valid files by format, a function that reads any file in a format, its name, and words in it."""

    name: str
    make: Callable[[], Mapping[str, list[bytes]]]
    read: Callable[[Path, str], None]
    file: str
    words: str

    @functools.cached_property
    def seeds(self) -> Mapping[str, list[bytes]]:
        return self.make()

    @property
    def forms(self) -> tuple[str, ...]:
        return tuple(self.seeds)

    def files(self) -> Iterator[tuple[str, bytes]]:
        return ((form, content) for form, contents in self.seeds.items() for content in contents)

    def __call__(self, folder: Path, form: str, content: bytes) -> bool:
        """Read any input; return True if it was accepted."""
        path = folder / self.file.format(form)
        path.write_bytes(content)
        try:
            self.read(path, form)
        except (BenchmarkError, MetricError, HarnessError) as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} has no message") from error
            return False
        return True


def sound(condition: object, what: str) -> None:
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


def _check_dataset(dataset: Dataset) -> None:
    for item in dataset.items:
        json.dumps(asdict(item), ensure_ascii=False).encode()  # writing fails for half a surrogate pair
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


def _read_scores(path: Path, form: str) -> None:
    parsed = scorefile.read(path, WANTED)
    for line in scorefile.describe(parsed.problems):
        sound(line.isprintable(), f"a problem described as {line!r}")
    for scores in parsed.scores.values():
        sound(len(scores) == len(ITEMS) and not np.isinf(scores).any(), "infinite scores, or not one for each item")


def _ratings() -> dict[str, list[bytes]]:
    rows = [(item.id, quality, vote) for item in ITEMS for quality, vote in (("overall", 5), ("Natural", "2.5"))]

    def table(sign: str, *head: str) -> bytes:
        return "".join(sign.join(map(str, row)) + "\n" for row in [head, *rows]).encode()

    records = [{"dialogue_id": name, "annotations": {quality: [vote, "N/A"]}} for name, quality, vote in rows[::2]]
    return {".json": [json.dumps(records).encode()], ".tsv": [table("\t", "dialogue_id", "quality", "score")],
            ".csv": [table(",", "item", "quality", "vote"), b'\xef\xbb\xbfvote,"quality",Item\n1,overall,"toy_0"\n']}


def _read_ratings(path: Path, form: str) -> None:
    dataset, owners = Dataset(CARDS["turn"], ITEMS, (), "imported"), private.ItemIndex()
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


def _read_config(path: Path, form: str) -> None:
    chosen = settings(argparse.Namespace(config=path))
    run.check_settings(chosen)
    home_folder(chosen.home)
    run.command(chosen).encode()


ZIP = "zip"


@functools.cache
def _bundle() -> Mapping[str, bytes]:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        main(["run", "--dataset", "fed-turn", "--dataset", "persona-usr", "--metric", "length", "--metric", "bleu",
              "--limit", "3", "--draws", "0", "--home", f"{folder}/home", "--out", f"{folder}/out"])
        packed = bundle.zipped(bundle.bundle_of(files.read(Path(folder, "out")), (), "toy"))
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        return {ZIP: packed, **{name: opened.read(name) for name in opened.namelist()}}


def _read_bundle(path: Path, form: str) -> None:
    """Read a bundle, or a bundle in which one member and its digest in the manifest are replaced."""
    if form != ZIP:
        content = path.read_bytes()
        members = {name: data for name, data in _bundle().items() if name != ZIP} | {form: content}
        if form != bundle.MANIFEST:
            manifest = json.loads(members[bundle.MANIFEST])
            manifest["files"][form] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            members[bundle.MANIFEST] = json.dumps(manifest).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    accepted = reading.read(path)
    sound(accepted.name.isprintable(), "a name that cannot be printed")
    bundle.zipped(accepted)  # accepted input can be written again


PRINT, SIGNATURE = "f" * 64, "toy|r1|references=max"
KEPT = Scores(("a", "b"), {"x": np.array([0.1, np.nan]), "y:sum": np.array([-0.0, 1e-300])}, 1.25)


def _cache() -> dict[str, list[bytes]]:
    answer = asdict(Answer("4", tokens=((0, "4", (("4", -0.5), ("5", -1.0))),)))
    cell = _to_parquet(KEPT, SIGNATURE)
    return {"cell": [cell], "part": [cell], "memo": [json.dumps({"p": [0.5, math.nan], "n": 3}).encode()],
            "answers": [json.dumps(answer).encode()]}


def _read_cache(path: Path, form: str) -> None:
    read = {"cell": _read_cell, "part": _read_part, "memo": _read_memo, "answers": _read_answers}[form]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        read(Path(folder), path.read_bytes())


def _read_cell(folder: Path, content: bytes) -> None:
    store = ScoreStore(folder)
    path = folder / f"{_stem(PRINT, SIGNATURE)}-{digest(content)}.parquet"
    path.parent.mkdir()
    path.write_bytes(content)
    parsed = store.get(PRINT, SIGNATURE)
    sound(parsed is not None or store.set_aside, "a cell that is neither read nor set aside")
    if parsed is not None:
        sound(all(column.dtype == np.float64 and column.shape == (len(parsed.items),)
                  for column in parsed.columns.values()), "a column without a score for each item")
        sound(all(isinstance(item, str) for item in parsed.items) and math.isfinite(parsed.seconds), "items without id")
    store.put(PRINT, SIGNATURE, KEPT)
    sound(store.get(PRINT, SIGNATURE), "a store that cannot be written again")


def _read_part(folder: Path, content: bytes) -> None:
    store, items = ScoreStore(folder), ("a", "b", "a", "b")
    store.put_part(PRINT, SIGNATURE, (0, 2), KEPT)
    (folder / f"{_stem(PRINT, SIGNATURE)}.0000002-0000004-{digest(content)}.shard").write_bytes(content)
    parsed = store.join_parts(PRINT, SIGNATURE, items)
    sound(store.set_aside if parsed is None else parsed.items == items, "a part of other items, or one not set aside")


def _read_memo(folder: Path, content: bytes) -> None:
    memo = Cache(folder)
    memo.get("kind", "key", lambda: 1)
    (path,) = folder.glob("kind-*.json")
    path.unlink()
    path.with_name(f"{path.stem.rpartition('-')[0]}-{digest(content)}.json").write_bytes(content)
    memo.get("kind", "key", lambda: 1)


def _read_answers(folder: Path, content: bytes) -> None:
    archive = AnswerArchive(folder, "prompt", "model", "")
    (archive.folder / "k").mkdir(parents=True)
    (archive.folder / "k" / f"k-{digest(content)}.json").write_bytes(content)
    answer = archive.get("k/k.json")
    sound(answer is None or isinstance(answer.text, str), "an answer without text")


READERS: dict[str, FileReader] = {reader.name: reader for reader in (
    FileReader("organisers", _organisers, lambda path, form: _check_dataset(official.parse(path, CARDS[form])),
               "toy.json", "dialogue_id context response annotations reference fact model model_name dialog dialogue "
               "speaker text win_ratio overall Natural N/A NaN Infinity null true 1e999 \\ud800 System: User: toy_0"),
    FileReader("scores", _scores, _read_scores, "scores{}", (
        'dialogue_id id score toy_0 toy_1|overall |Natural annotations. nan inf 1e999 null true " \\n \\t ; \\u0000')),
    FileReader("ratings", _ratings, _read_ratings, "ratings{}", (
        "item dialogue_id quality vote score annotations win_ratio overall Natural toy_0 toy_5 N/A nan inf 1_0 null "
        '" \\n \\t')),
    FileReader("config", _config, _read_config, "config{}", " ".join((
        "[run] run. = true [[ { ' \\\"\\\"\\\" 1979-05-27T07:32:00Z nan -inf 0x10 ~ ray:2 4GiB ~x/",
        *settings(argparse.Namespace(config=None)).__slots__))),
    FileReader("bundle", lambda: {name: [content] for name, content in _bundle().items()}, _read_bundle, "bundle.zip", (
        "PK\\x03\\x04 manifest.json sha256 files form name item null NaN 1e999 true spearman value rank low high "
        "\\ud800 ../ scores/")),
    FileReader("cache", _cache, _read_cache, "cache", (
        "PAR1 ARROW1 item score:x signature seconds key text finish served prompt completion tokens NaN null pandas "
        "nan")),
)}
