"""The command line: one file per command in harness/commands, imported only when the command is called.

Exit status 0: success; 1: a metric failed on a dataset, a judge's server did not answer or a check failed, and
everything else was completed; 2: an error that you can fix, described in one line; 130: stopped by Ctrl-C, and the same
command resumes; 141: the reader of a pipe closed it.

Every command accepts `--home DIR`, the folder of imported data (default: HARNESS_HOME, else the user's data folder).
`python -m harness` imports packages from the working directory first. If that contains a package called `metrics` or
`harness`, use `python -m dialogue_harness`, which is the same as `harness`.
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

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CONTINUE = "finished work is kept; repeat the command to continue"


class Command(Protocol):
    """A module in harness/commands; the first line of its docstring is its help."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags of the command."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the command and return its exit status."""


def helps() -> dict[str, str]:
    """Return the help of every command by name, read from the first lines of the files without importing them."""
    files = sorted(Path(__file__).with_name("commands").glob("[!_]*.py"))
    heads = {path.stem.rstrip("_"): path.read_text(encoding="utf-8").split('"""')[1] for path in files}
    return {name: " ".join(head.partition("\n\n")[0].partition("`: ")[2].split()).rstrip(".")
            for name, head in sorted(heads.items())}


def load(name: str) -> Command:
    """Import the module of a command; import_ and list_ are named after words of Python."""
    suffix = "_" if name in ("import", "list") else ""
    return cast("Command", importlib.import_module(f"harness.commands.{name}{suffix}"))


def parser(only: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands; with `only`, import that command alone and leave out the flags of others."""
    top = argparse.ArgumentParser(
        prog="harness",
        description="Find the automatic metric that agrees best with human ratings of open-domain dialogue.",
        epilog="`harness run --all` scores everything and writes the leaderboard to ./results/site.")
    top.add_argument("--version", action=_Version, nargs=0, help="print version and commit")
    top.add_argument("--print-completion", action=_Completion, choices=("bash", "zsh", "tcsh"),
                     help="print a script for this shell that completes commands and flags")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in helps().items():
        sub = subparsers.add_parser(name, help=text, description=text)
        sub.add_argument("--home", type=Path, metavar="DIR",
                         help="folder of imported data (default: HARNESS_HOME, else the user's data folder)")
        if only in ("", name):
            command = load(name)
            command.configure(sub)
            sub.set_defaults(execute=command.run, refuse=sub.error)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from harness.run.environment import commit

        print(" ".join(filter(None, ("harness", harness.__version__, commit()))))
        parser.exit()


class _Completion(argparse.Action):
    def __call__(self, _: object, __: object, shell: Any, ___: object = None) -> None:
        import shtab

        all_commands = parser()
        print(shtab.complete(all_commands, shell))
        all_commands.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    try:
        name = next((word for word in words if not word.startswith("-")), "none")
        args, unknown = parser(name).parse_known_args(words)
        if unknown:
            args.refuse(f"unrecognized arguments: {' '.join(unknown)}")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # replace characters that the terminal cannot show
                stream.reconfigure(errors="replace")
        if args.command != "run":  # its home may come from a config file
            args.home = home_folder(args.home)
            from benchmarks import registry  # imported here, since `run` and --help do not need it

            registry.know(args.home)
        return int(args.execute(args))
    except (BenchmarkError, MetricError, HarnessError) as error:
        return _refuse(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # 128 + SIGPIPE, as shells report it
    except OSError as error:
        message = ": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error))))
        return _refuse(f"{message}; free some space: {CONTINUE}" if error.errno in DISK_FULL else message)
    except MemoryError:
        return _refuse(f"out of memory; {CONTINUE}")
    except KeyboardInterrupt:
        print(f"harness: stopped; {CONTINUE}", file=sys.stderr)
        return 130


def _refuse(message: str) -> int:
    print("harness: " + " ".join(redacted(message).split()), file=sys.stderr)
    return 2
