"""Importing the files of a plug-in as they are now, and telling what their import does by file and line."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import io
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from metrics.errors import BrokenPlugin

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Printed(Exception):
    """A plug-in prints as it is imported, where the output of a command belongs."""


class Source(InspectLoader):
    """A loader of what was read of a file; Python's own would take kept bytecode of the same size and second."""

    def __init__(self, path: Path, content: ReadableBuffer) -> None:
        self.path, self.content = path, content

    def spec(self, name: str) -> ModuleSpec:
        """What the import system has to know of the module."""
        inside = [str(self.path.parent)] if self.is_package(name) else None
        spec = spec_from_file_location(name, self.path, loader=self, submodule_search_locations=inside)
        if spec is None:
            raise BrokenPlugin(f"{self.path.name} cannot be imported")
        return spec

    def get_source(self, fullname: str) -> str:  # noqa: ARG002  (the import system's own signature)
        """The text of the file."""
        return decode_source(self.content)

    def get_code(self, fullname: str) -> Any:  # noqa: ARG002
        """The file compiled."""
        return self.source_to_code(self.content, str(self.path))

    def is_package(self, fullname: str) -> bool:  # noqa: ARG002
        """Whether the file stands for its folder."""
        return self.path.name == "__init__.py"


@dataclass(frozen=True, slots=True)
class Files(MetaPathFinder):
    """The files of one module or package below a root, by their path there, as they were when they were read."""

    root: Path
    sources: Mapping[str, bytes]
    digest: str

    @classmethod
    def under(cls, root: Path, top: str) -> Files:
        """Read a module, or a package with all that lies in it."""
        package = root / top
        paths = sorted(package.rglob("*")) if package.is_dir() else [root / f"{top}.py"]
        digest, sources = hashlib.sha256(), {}
        for path in paths:
            name = path.relative_to(root).as_posix()
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                content = path.read_bytes()
                digest.update(f"{name} {len(content)}\n".encode() + content)
                if path.suffix == ".py":
                    sources[name] = content
        return cls(root, sources, digest.hexdigest())

    def find_spec(self, fullname: str, path: Sequence[str] | None,  # noqa: ARG002  (the import system's own signature)
                  target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002
        """A module of these files, or None."""
        inside = fullname.replace(".", "/")
        for name in (f"{inside}/__init__.py", f"{inside}.py"):
            if name in self.sources:
                return Source(self.root / name, self.sources[name]).spec(fullname)
        return None

    @contextlib.contextmanager
    def importable(self) -> Iterator[None]:
        """Let these files come before all others."""
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path.remove(self)


def imported(name: str) -> ModuleType:
    """Import a module by name, forgetting what was found on the search path before."""
    importlib.invalidate_caches()
    return importlib.import_module(name)


class _Watch(io.TextIOBase):
    """Stands for standard output: refuses what the plug-in's own files print, passes on what others do to errors."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, text: str) -> int:
        """Refuse or pass on."""
        if _inside(sys._getframe(1).f_code.co_filename, self.root):
            raise Printed("it prints as it is imported; print nowhere but in a function")
        return sys.stderr.write(text)


@contextlib.contextmanager
def guarded(shown: str, root: Path) -> Iterator[None]:
    """Tell what an import raises as the fault of the plug-in, with the line of its file."""
    try:
        with contextlib.redirect_stdout(_Watch(root)):
            yield
    except (KeyboardInterrupt, BrokenPlugin):
        raise
    except BaseException as error:  # SystemExit as well
        message = str(error) if isinstance(error, Printed) else f"{type(error).__name__}: {_message(error)}"
        raise BrokenPlugin(f"{shown}{_place(error, root)}: {message}") from error


def classes(content: bytes) -> dict[str, int]:
    """The line of each class of a file."""
    return {node.name: node.lineno for node in ast.walk(ast.parse(content)) if isinstance(node, ast.ClassDef)}


def _message(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _place(error: BaseException, root: Path) -> str:
    """The last line of the plug-in on the way to an error, with the file where there are several."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    inside = [(name, line) for name, line in places if _inside(name, root)]
    if not inside:
        return ""
    name, line = inside[-1]
    file = "" if Path(name) == root else f": {Path(name).relative_to(root).as_posix()}"
    return f"{file}, line {line}"


def _inside(name: str, root: Path) -> bool:
    return Path(name) == root or root in Path(name).parents
