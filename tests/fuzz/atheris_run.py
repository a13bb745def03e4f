"""libFuzzer on the readers, through atheris: `python -m tests.fuzz.atheris_run [READER ...] --seconds 300`.

Each reader runs in a process of its own, from a corpus of valid files that it makes itself. What a reader raises that
is not an error of ours is a find: told once for each place that raises it, and kept as a file that `--again FILE` reads
again. A process that dies (a crash of a library, --timeout, --memory) is a find too, and the rest of the time goes to
another one. A table of what was run ends it; the exit status is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("benchmarks", "harness", "metrics", "tests")


@dataclass(slots=True)
class Ran:
    """What was run of a reader."""

    reader: str
    seconds: float = 0.0
    executions: int = 0
    finds: dict[str, str] = field(default_factory=dict)
    """What was found, by the kind of error and the place that raises it."""

    def take(self, done: subprocess.CompletedProcess[str]) -> bool:
        """What a process told; whether it ran at all."""
        counted = re.findall(r"stat::number_of_executed_units: (\d+)|^#(\d+)\b", done.stderr, re.MULTILINE)
        self.executions += max((int(number or other) for number, other in counted), default=0)
        for key, told in re.findall(r"^FIND (.*?): (.*)$", done.stdout, re.MULTILINE):
            self.finds.setdefault(key, told)
        if done.returncode:
            said = re.search(r"libFuzzer: .*", done.stderr)
            kept = re.search(r"Test unit written to (\S+)", done.stderr)
            words = f"{said[0]} ({kept[1]})" if said and kept else done.stderr[-2000:]
            self.finds[f"a process that died, number {len(self.finds)}"] = f"status {done.returncode}: {words}"
        return bool(counted)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the readers one after the other."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.inside:
        return inside(args.reader[0], args)
    if args.again:
        return again(args.reader[0], args.again)
    from tests.fuzz.readers import READERS

    if unknown := set(args.reader) - set(READERS):
        parser.error(f"{', '.join(sorted(unknown))}: no reader; there are {', '.join(READERS)}")
    ran = [fuzz(name, args) for name in args.reader or READERS]
    print(f"\n{'reader':12} {'executions':>12} {'seconds':>8} {'finds':>6}")
    for one in ran:
        print(f"{one.reader:12} {one.executions:12,} {one.seconds:8.0f} {len(one.finds):6}")
    for one in ran:
        print("".join(f"{one.reader}: {key}: {told}\n" for key, told in one.finds.items()), end="")
    return 1 if any(one.finds for one in ran) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atheris_run", description="libFuzzer on the readers.")
    parser.add_argument("reader", nargs="*", help="its name in tests/fuzz (default: every one)")
    parser.add_argument("--seconds", type=int, default=300, help="for each reader (default: 300)")
    parser.add_argument("--out", type=Path, default=Path("fuzz"), help="keeps the corpora and the finds")
    parser.add_argument("--timeout", type=int, default=20, help="seconds that one input may take (default: 20)")
    parser.add_argument("--memory", type=int, default=2048, help="MiB that the process may hold (default: 2048)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="read one input, with its traceback")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


def fuzz(reader: str, args: argparse.Namespace) -> Ran:
    """Fuzz one reader until its time is over, in one process after another if they die."""
    ran, start = Ran(reader), time.monotonic()
    (args.out / reader / "finds").mkdir(parents=True, exist_ok=True)
    while (left := args.seconds - ran.seconds) >= 1:
        command = [sys.executable, "-m", "tests.fuzz.atheris_run", reader, "--inside", "--out", args.out.absolute(),
                   "--seconds", f"{left:.0f}", "--timeout", args.timeout, "--memory", args.memory]
        with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:  # libFuzzer leaves what it is at
            done = subprocess.run([*map(str, command)], cwd=ROOT, env={**os.environ, "TMPDIR": folder},
                                  capture_output=True, text=True, errors="replace")
        begun = ran.take(done)
        ran.seconds = time.monotonic() - start
        print(f"{reader}: {ran.executions:,} executions, {len(ran.finds)} finds", flush=True)
        if not begun:
            break
    return ran


def inside(name: str, args: argparse.Namespace) -> int:
    """Fuzz one reader in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=list(OURS)):
        from tests.fuzz.readers import READERS, corpus, split
    reader, home = READERS[name], args.out / name
    seeds, own = home / "seeds", home / "corpus"
    for folder in (seeds, own):
        folder.mkdir(parents=True, exist_ok=True)
    for content in corpus(reader):
        (seeds / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
    words = home / "words.txt"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in reader.words))
    warnings.simplefilter("ignore")  # what numpy says of a number that is too large
    os.fsync = lambda handle: None  # no power cut is waited for
    met: set[str] = set()
    folder = Path(tempfile.mkdtemp())

    def one(given: bytes) -> None:
        try:
            reader(folder, *split(reader, given))
        except Exception as error:  # whatever it is, it is a find
            _found(error, given, home / "finds", met)

    atheris.Setup([sys.argv[0], str(own), str(seeds), f"-dict={words}", f"-max_total_time={args.seconds}",
                   f"-timeout={args.timeout}", f"-rss_limit_mb={args.memory}", "-max_len=16384",
                   "-print_final_stats=1", f"-artifact_prefix={home}/finds/"], one)
    atheris.Fuzz()
    return 0


def _found(error: Exception, given: bytes, finds: Path, met: set[str]) -> None:
    """Tell a find, once for each line that raises it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT) and "/.venv/" not in frame.filename]
    place = f"{Path(own[-1].filename).relative_to(ROOT)}:{own[-1].lineno}" if own else "?"
    if (key := f"{type(error).__name__} at {place}") not in met:
        met.add(key)
        path = finds / hashlib.sha256(given).hexdigest()[:16]
        path.write_bytes(given)
        print(f"FIND {key}: {' '.join(str(error).split())[:200]} ({path})", flush=True)


def again(name: str, path: Path) -> int:
    """Read one input as the fuzzer did."""
    from tests.fuzz.readers import READERS, split

    reader = READERS[name]
    with tempfile.TemporaryDirectory(prefix="harness-fuzz-") as folder:
        print("taken" if reader(Path(folder), *split(reader, path.read_bytes())) else "refused")
    return 0


def _escaped(word: str) -> str:
    """A word as libFuzzer's dictionaries have it."""
    return "".join(sign if sign.isascii() and sign.isprintable() and sign not in '"\\' else f"\\x{byte:02x}"
                   for sign in word for byte in sign.encode())


if __name__ == "__main__":
    sys.exit(main())
