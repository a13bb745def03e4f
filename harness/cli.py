"""The command line: one file per command in harness/commands, imported only when the command is called.

Exit status 0: success; 1: a metric failed on a dataset, a judge's server did not answer or a check failed, and
everything else was completed; 2: an error that you can fix, described in one line; 130: stopped by Ctrl-C; the same
command resumes; 141: the reader of a pipe closed it.

Every command accepts `--home DIR`, the folder of imported data (default: HARNESS_HOME, else the user's data folder).
`python -m harness` imports packages from the working directory first. If that contains a package called `metrics` or
`harness`, use `python -m dialogue_harness`, which is the same as `harness`.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import functools
import importlib
import io
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import harness
from benchmarks.errors import BenchmarkError, nearest
from benchmarks.redaction import redacted
from harness.errors import BadConfig, HarnessError
from harness.run.settings import home_folder
from metrics.errors import MetricError

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CONTINUE = "finished work is kept; repeat the command to continue"


GROUPS = {
    "start here": ("run", "report", "publish"),
    "bring your own": ("new", "check", "leaderboard", "import"),
    "decide": ("estimate", "power"),
    "models and data": ("fetch", "list", "show", "doctor"),
    "share results": ("submit", "verify"),
    "challenges": ("challenge",)}
"""The commands of each group in the help; all others are advanced."""


@functools.cache
def help_texts() -> dict[str, tuple[str, str]]:
    """Return help and examples of every command, read from the files without importing them."""
    files = sorted(Path(__file__).with_name("commands").glob("[!_]*.py"))
    docstrings = {path.stem.rstrip("_"): path.read_text(encoding="utf-8").split('"""')[1] for path in files}
    parts = {name: head.partition("\n\n") for name, head in sorted(docstrings.items())}
    return {name: (" ".join(summary.partition("`: ")[2].split()).rstrip("."), textwrap.dedent(examples).strip())
            for name, (summary, _, examples) in parts.items()}


@functools.cache
def parser(only: str = "") -> argparse.ArgumentParser:
    """Return the parser of all commands; with `only`, import that command alone and leave out the flags of others."""
    root = _Parser(prog="harness", description="Find the automatic metric that agrees best with human ratings of "
                                               "open-domain dialogue.")
    root.add_argument("--version", action=_Version, nargs=0, help="print version and commit")
    root.add_argument("--print-completion", action=_Completion, choices=("bash", "zsh", "tcsh"),
                      help="print a script for this shell that completes commands and flags")
    subparsers = root.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_CommandParser)
    for name, (text, examples) in help_texts().items():
        sub = subparsers.add_parser(name, help=text, description=f"{text}\n\n{textwrap.indent(examples, '  ')}",
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
        sub.add_argument("--home", type=Path, metavar="DIR",
                         help="folder of imported data (default: HARNESS_HOME, else the user's data folder)")
        if only in ("", name):
            suffix = "_" if name in ("import", "list") else ""  # these names have a meaning in Python
            command = importlib.import_module(f"harness.commands.{name}{suffix}")
            command.configure(sub)
            sub.set_defaults(execute=command.run)
    return root


class _CommandParser(argparse.ArgumentParser):
    """The parser of one command; an error is one line that suggests the nearest flag or value."""

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Parse; report unknown flags as errors of this command."""
        parsed, unknown = super().parse_known_args(*args, **kwargs)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        if unknown := re.fullmatch(r"unrecognized arguments: (-\S+).*", message):
            close = difflib.get_close_matches(unknown[1], self._option_string_actions.keys() - {unknown[1]}, n=1)
            message += f"; did you mean {close[0]}?" if close else ""
        elif folder := re.fullmatch(r"unrecognized arguments: (\S+)", message):
            if "--out" in self._option_string_actions and Path(folder[1]).is_dir():
                message += f"; did you mean --out {folder[1]}?"
        elif choice := re.fullmatch(r"argument \S+: invalid choice: '(.*)' \(choose from (.*)\)", message):
            known = re.findall(r"[^', ]+", choice[2])
            message = f"unknown {choice[1]!r}; {nearest(choice[1], known)}"
        message = message.removeprefix("argument ")
        raise BadConfig(f"{self.prog.removeprefix('harness ')}: {message} (flags: `{self.prog} --help`)")


class _Parser(argparse.ArgumentParser):
    """The parser of all commands, with help by groups."""

    def format_help(self) -> str:
        texts = {name: text for name, (text, _) in help_texts().items()}
        grouped = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, "advanced": tuple(name for name in texts if name not in grouped)}
        lines = [f"{self.format_usage()}\n{self.description}\n"]
        for title, names in groups.items():
            lines += [f"{title}:", *(f"  {name:<12} {texts[name]}" for name in names), ""]
        return "\n".join((*lines, "`harness COMMAND --help` shows the flags of a command, and examples.\n"))


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


def _execute(words: Sequence[str]) -> int:
    try:
        args = _parsed(words)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # replace characters that the terminal cannot show
                stream.reconfigure(errors="replace")
        if args.command != "run":  # the home of `run` may be set in its config file
            args.home = home_folder(args.home)
            from benchmarks import registry  # imported here because `run` and --help do not need it

            registry.register_home(args.home)
        return int(args.execute(args))
    finally:
        sys.stdout.flush()  # raises BrokenPipeError here and not at exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    try:
        return _execute(sys.argv[1:] if argv is None else argv)
    except (BenchmarkError, MetricError, HarnessError) as error:
        return _print_error(str(error))
    except BrokenPipeError:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 141  # 128 + SIGPIPE, as shells report it
    except OSError as error:
        message = ": ".join(filter(None, (str(error.filename or ""), error.strerror or str(error))))
        return _print_error(f"{message}; free some space: {CONTINUE}" if error.errno in DISK_FULL else message)
    except MemoryError:
        return _print_error(f"out of memory; {CONTINUE}")
    except KeyboardInterrupt:
        print(f"harness: stopped; {CONTINUE}", file=sys.stderr)
        return 130


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; an empty command line is --help."""
    name = next((word for word in words if not word.startswith("-")), "none")
    if words and name == words[0] and name not in help_texts():
        raise BadConfig(f"unknown command {name!r}; {nearest(name, help_texts())}")
    return parser(name).parse_args(words or ["--help"])


def _print_error(message: str) -> int:
    print("harness: " + " ".join(redacted(message).split()), file=sys.stderr)
    return 2
