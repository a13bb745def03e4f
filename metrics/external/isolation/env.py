"""An environment for a metric of clashing requirements: a `.venv` in its folder, with what its pyproject.toml asks for.

Where uv is on the PATH it makes the environment, from `requirements.lock` in the folder: the versions and digests of
the first time, as long as they fit what is asked for. Else pip does, in the newest versions.

Besides those it gets numpy, which every metric needs. Of this project nothing is installed: the metric's process reads
it from where the harness is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from urllib.parse import unquote, urlsplit

from metrics.errors import BrokenPlugin
from metrics.external.isolation import settings
from metrics.external.isolation.settings import MARK
from metrics.metric import GROUP

LOCK = "requirements.lock"
STDERR = 2
"""Where the output of pip goes: a command prints only its result."""
_SELF = re.compile(r"\s*dialogue[-_.]harness(?![\w.-])", re.IGNORECASE)


def folder_of(target: str) -> Path:
    """The folder itself, or that of a plug-in which is installed from a folder (`pip install -e`)."""
    if Path(target).expanduser().is_dir():
        return Path(target).expanduser().absolute()
    for point in entry_points(group=GROUP, name=target):
        if folder := source(point):
            return folder
    raise BrokenPlugin(f"{target}: neither a folder nor a metric that was installed by `pip install -e FOLDER`")


def source(point: EntryPoint) -> Path | None:
    """The folder that a plug-in is installed from so that an edit of it counts; None where it was copied."""
    origin = json.loads((point.dist and point.dist.read_text("direct_url.json")) or "{}")
    return Path(unquote(urlsplit(origin["url"]).path)) if origin.get("dir_info", {}).get("editable") else None


def create(folder: Path, python: str = sys.executable) -> Path:
    """Make the environment anew; its interpreter. What stands in `.venv` and was not made here is left alone."""
    wanted = list(requirements(folder))
    made = remove(folder)
    try:
        if uv := shutil.which("uv"):
            _make_locked(uv, python, made, wanted)
        else:
            _run([python, "-m", "venv", str(made)], folder)
            pip = [str(made / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _run([*pip, *wanted], folder)
        (made / MARK).write_text("\n".join(wanted) + "\n", encoding="utf-8")
    except BaseException:  # half an environment is none
        shutil.rmtree(made, ignore_errors=True)
        raise
    return made / "bin" / "python"


def _make_locked(uv: str, python: str, made: Path, wanted: Sequence[str]) -> None:
    """By uv: lock what is wanted, keeping to the lock that is there, and install what it says."""
    folder, lock, listed = made.parent, str(made.parent / LOCK), made / "requirements.in"
    _run([uv, "venv", "--quiet", "--python", python, str(made)], folder)
    listed.write_text("\n".join(wanted).replace("-r\n", "-r "), encoding="utf-8")
    there = ["--quiet", "--python", str(made / "bin" / "python")]
    _run([uv, "pip", "compile", *there, "--generate-hashes", "--no-header", "--no-annotate", "--output-file", lock,
          str(listed)], folder)
    _run([uv, "pip", "sync", *there, lock], folder)


def remove(folder: Path) -> Path:
    """Take away the environment of a folder, if one was made; where it lies."""
    made = folder / ".venv"
    if made.is_symlink() or (made.exists() and not (made / MARK).is_file()):
        raise BrokenPlugin(f"{made} was not made by `harness env create`, and stays: name it in pyproject.toml, "
                           '[tool.harness] python = ".venv/bin/python", or remove it')
    if made.exists():
        shutil.rmtree(made)
    return made


def requirements(folder: Path) -> Iterator[str]:
    """What pip is to install: [project] dependencies, or requirements.txt, and numpy; not this project itself."""
    yield "numpy"
    named = settings.project(folder).get("project", {}).get("dependencies", [])
    if own := [word for word in named if not _SELF.match(word)]:
        yield from own
    elif (path := folder / "requirements.txt").is_file():
        if any(map(_SELF.match, path.read_text(encoding="utf-8").splitlines())):
            raise BrokenPlugin(f"{path}: dialogue-harness need not be installed where a metric runs; take its line out")
        yield from ("-r", str(path))


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        ended = subprocess.run(command, cwd=folder, stdout=STDERR, check=False).returncode  # noqa: S603
    except OSError as error:
        raise BrokenPlugin(f"{command[0]} cannot be started: {error.strerror}") from error
    if ended:
        raise BrokenPlugin(f"{folder}: `{' '.join(command[1:])}` ended with exit status {ended}; why stands above")
