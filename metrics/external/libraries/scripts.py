"""Modules of Hugging Face evaluate: found and loaded, and what they take.

The library copies a script beside the files it imports into a folder of its own and runs it from there; the digest is
that of the code in that folder. Nothing is fetched from the hub: while a module is looked for the library is offline.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from metrics.errors import BrokenPlugin, MetricError, MissingResource

RESPONSES = ("predictions", "data")
"""What modules call the text that is scored: of measurements it is the data."""

PLAIN = (bool, int, float, str, type(None))


class Script:
    """A module of evaluate that scores texts, made ready when it is first called."""

    def __init__(self, requested: str, module: Any) -> None:
        self.names = (Path(requested).stem, str(module.name))
        self.response, self.takes_lists = _taken(requested, module.features)
        self._module = module

    @property
    def wants_references(self) -> bool:
        """Whether it compares the response with references."""
        return self.takes_lists is not None

    @cached_property
    def arguments(self) -> dict[str, tuple[Any, Any]]:
        """Its own arguments: their types, which is any where the default is None, and defaults."""
        arguments: dict[str, tuple[Any, Any]] = {}
        for parameter in inspect.signature(self._module._compute).parameters.values():
            default = None if parameter.default is parameter.empty else parameter.default
            by_name = parameter.kind in {parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD}
            if by_name and parameter.name not in {*RESPONSES, "references"} and isinstance(default, PLAIN):
                arguments[parameter.name] = (Any if default is None else type(default), default)
        return arguments

    @cached_property
    def digest(self) -> str:
        """The sha256 of the code that runs: the script and what was copied beside it."""
        folder = Path(inspect.getfile(type(self._module))).parent
        digest = hashlib.sha256()
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    @cached_property
    def library(self) -> str:
        """The version of the library."""
        return importlib.metadata.version("evaluate")

    def compute(self, response: str, references: Sequence[str], arguments: dict[str, Any]) -> Any:
        """What the module says of one response: all references as a list where it takes lists, else the first."""
        inputs: dict[str, Any] = {self.response: [response]}
        if self.wants_references:
            inputs["references"] = [list(references) if self.takes_lists else references[0]]
        return self._ready.compute(**inputs, **arguments)

    @cached_property
    def _ready(self) -> Any:
        """The module with what it loads for itself."""
        with contextlib.redirect_stdout(sys.stderr):
            self._module.download_and_prepare()
        return self._module


def find(name: str) -> tuple[Script, str]:
    """The module of `PATH`, `ID`, `PATH:FIELD` or `ID:FIELD`, and the field; a path may hold colons."""
    if importlib.util.find_spec("evaluate") is None:
        raise MissingResource("evaluate is not installed; the extra [all] brings it")
    script, field = name, ""
    if not _exists(name):
        head, _, last = name.rpartition(":")
        if head and last and not set(last) & set("/\\"):
            script, field = head, last
    return Script(script, _instance(script)), field


def _exists(name: str) -> bool:
    try:
        return Path(name).expanduser().exists()
    except (OSError, RuntimeError):  # too long, or the home of nobody
        return False


def _instance(requested: str) -> Any:
    """The module's object, seeded, so that it gives the same in every process."""
    here = _exists(requested)
    try:
        with _offline(), contextlib.redirect_stdout(sys.stderr):
            from evaluate import loading

            module_file = loading.evaluation_module_factory(str(Path(requested).expanduser()) if here else requested)
            kind = loading.import_main_class(module_file.module_path)
            module = kind(hash=module_file.hash, keep_in_memory=True) if kind else None
    except (Exception, SystemExit) as error:
        raise _refusal(requested, here, error) from error
    if module is None:
        raise BrokenPlugin(f"evaluate:{requested:.80}: holds no class that is an evaluate.Metric")
    module.seed = 0
    return module


def _refusal(requested: str, here: bool, error: BaseException) -> MetricError:
    """Why a module could not be loaded: it is foreign code, which can raise anything."""
    message = f"{type(error).__name__}: {' '.join(str(error).split()):.300}"
    if isinstance(error, ImportError):
        return MissingResource(f"evaluate:{requested:.80}: {message}")
    if isinstance(error, OSError) and not here:
        return MissingResource(f"evaluate:{requested:.80}: no script is there, and the cache of evaluate has no "
                               "module of that id; fetch it once with evaluate.load(ID) in Python, for it is code to "
                               "be run here")
    return BrokenPlugin(f"evaluate:{requested:.80}: cannot be loaded: {message}")


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Keep the library from asking the hub, and from remarking that it did not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import evaluate
        from evaluate import config

    before, level = config.HF_EVALUATE_OFFLINE, evaluate.logging.get_verbosity()
    config.HF_EVALUATE_OFFLINE = True
    evaluate.logging.set_verbosity_error()
    try:
        yield
    finally:
        config.HF_EVALUATE_OFFLINE = before
        evaluate.logging.set_verbosity(level)


def _taken(requested: str, features: Any) -> tuple[str, bool | None]:
    """What the response is called, and whether references are taken as lists; None where none are taken."""
    offered = features if isinstance(features, list) else [features]
    fitting = [form for form_ in offered if (form := _form(form_))]
    if not fitting:
        wanted = "; or ".join(" ".join(str(form_).split()) for form_ in offered)
        raise BrokenPlugin(f"evaluate:{requested:.80}: takes {wanted:.300}; what can be given is a response and its "
                           "references, as texts")
    return max(fitting, key=lambda form: form[1] is True)


def _form(features: Any) -> tuple[str, bool | None] | None:
    """One way in which a module takes its texts; None where it wants something else."""
    response = next((name for name in RESPONSES if name in features), "")
    if not response or set(features) - {response, "references"} or not _is_text(features[response]):
        return None
    if "references" not in features:
        return response, None
    wanted = features["references"]
    if _is_text(wanted):
        return response, False
    inner = wanted[0] if isinstance(wanted, list) and wanted else getattr(wanted, "feature", None)
    return (response, True) if _is_text(inner) else None


def _is_text(feature: Any) -> bool:
    return getattr(feature, "dtype", "") in {"string", "large_string"}
