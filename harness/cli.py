"""The command line: one file per command in harness/commands, found by itself and imported when it is called.

Exit status: 0 done; 1 a metric crashed on a dataset, a judge's server gave no answer or a check failed, and all else
is done; 2 something you can mend, said in one line; 130 stopped by Ctrl-C, and the same command goes on; 141 the reader
of a pipe went away.

Every command takes `--home DIR`: where imported data is kept, by default HARNESS_HOME, else the user's data folder.
`python -m harness` imports packages of the working directory first; where one is called `metrics` or `harness`, use
`python -m dialogue_harness`, which is the same as `harness`.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import harness
from benchmarks.errors import BenchmarkError
from benchmarks.redaction import redacted
from harness.errors import HarnessError
from harness.run.settings import home_folder
from metrics.errors import MetricError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
GOES_ON = "what was done is kept, the same command goes on"


class Command(Protocol):
    """A module in harness/commands; the first line of its docstring is its help."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own flags."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; the exit status."""


def helps() -> dict[str, str]:
    """What every command does, by its name, from the first lines of the files; none of them is imported."""
    files = sorted(Path(__file__).with_name("commands").glob("[!_]*.py"))
    heads = {path.stem.rstrip("_"): path.read_text(encoding="utf-8").split('"""')[1] for path in files}
    return {name: " ".join(head.partition("\n\n")[0].partition("`: ")[2].split()).rstrip(".")
            for name, head in sorted(heads.items())}


def load(name: str) -> Command:
    """The module of a command."""
    keyword = "_" * (name in ("import", "list"))  # which no module can or should be called
    return cast("Command", importlib.import_module(f"harness.commands.{name}{keyword}"))


def parser(only: str = "") -> argparse.ArgumentParser:
    """The parser over all commands; with `only`, the flags of that command alone, and no other is imported."""
    top = argparse.ArgumentParser(
        prog="harness", description="Which automatic metric best agrees with people about open-domain dialogue.",
        epilog="`harness run --all` scores everything and makes the leaderboard under ./results/site.")
    top.add_argument("--version", action=_Version, nargs=0, help="print version and commit")
    top.add_argument("--print-completion", action=_Completion, choices=("bash", "zsh", "tcsh"),
                     help="print what completes commands and flags in this shell: source it there")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in helps().items():
        sub = subparsers.add_parser(name, help=text, description=text)
        sub.add_argument("--home", type=Path, metavar="DIR",
                         help="where imported data is kept (default: HARNESS_HOME, else the user's data folder)")
        if only in ("", name):
            command = load(name)
            command.configure(sub)
            sub.set_defaults(execute=command.run, refuse=sub.error)
    return top


class _Version(argparse.Action):
    """Prints the version and, where it is known, the commit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and leave."""
        from harness.run.environment import commit

        print(" ".join(filter(None, ("harness", harness.__version__, commit()))))
        parser.exit()


class _Completion(argparse.Action):
    """Prints a script of completions made from the parser over all commands."""

    def __call__(self, _: object, __: object, shell: Any, ___: object = None) -> None:
        """Print it and leave."""
        import shtab

        every = parser()
        print(shtab.complete(every, shell))
        every.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    words = sys.argv[1:] if argv is None else argv
    try:
        args, unknown = parser(
            next((word for word in words if not word.startswith("-")), "none")).parse_known_args(words)
        if unknown:
            args.refuse(f"unrecognized arguments: {' '.join(unknown)}")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show a sign shows another
                stream.reconfigure(errors="replace")
        if args.command != "run":  # which may have its home from a config file
            args.home = home_folder(args.home)
            from benchmarks import registry  # reads no more than a command needs

            registry.know(args.home)
        return int(args.execute(args))
    except (BenchmarkError, MetricError, HarnessError) as error:
        return _refuse(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # as a shell counts a process that SIGPIPE ended
    except OSError as error:
        message = ": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error))))
        return _refuse(f"{message}; make room: {GOES_ON}" if error.errno in FULL else message)
    except MemoryError:
        return _refuse(f"out of memory; {GOES_ON}")
    except KeyboardInterrupt:
        print("harness: stopped; what was scored is kept, the same command goes on", file=sys.stderr)
        return 130


def _refuse(message: str) -> int:
    print("harness: " + " ".join(redacted(message).split()), file=sys.stderr)
    return 2
