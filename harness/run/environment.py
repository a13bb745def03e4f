"""The environment of a run: everything needed to repeat it, identical for identical runs."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harness
from harness.results.rows import Run

PACKAGES = (
    "datasets", "evaluate", "fsspec", "nltk", "numpy", "pandas", "pyarrow", "ray", "sacrebleu",
    "safetensors", "scipy", "tokenizers", "torch", "torch-geometric", "transformers",
)


def facts(seed: int, device: str, options: Mapping[str, Any], command: str) -> Run:
    return Run(version=harness.__version__, commit=commit(), seed=seed, device=device, options=options,
               python=platform.python_version(), platform=platform.platform(), packages=packages(), command=command)


@functools.cache
def packages() -> Mapping[str, str]:
    """Return the installed packages that affect scores, with their versions."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


@functools.cache
def commit() -> str | None:
    """Return the git commit of the checkout or of the wheel; None if unknown."""
    root = Path(harness.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        commit_file = root / "harness" / "COMMIT"
        return commit_file.read_text(encoding="ascii").strip() if commit_file.exists() else None
    try:
        description = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"],  # noqa: S607
            capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return description.stdout.strip() or None
