"""What a run ran on: enough to repeat it, nothing that differs between two runs of the same thing."""

from __future__ import annotations

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
    """The version, commit, packages and platform of this run."""
    return Run(
        version=harness.__version__,
        commit=commit(),
        seed=seed,
        device=device,
        options=options,
        python=platform.python_version(),
        platform=platform.platform(),
        packages=packages(),
        command=command,
    )


def packages() -> dict[str, str]:
    """The installed ones of the packages that matter, with their versions."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def commit() -> str | None:
    """The git commit of the checkout that this runs from, or that its wheel was built from; None where not known."""
    root = Path(harness.__file__).resolve().parent.parent
    if not (root / ".git").exists():
        built = root / "harness" / "COMMIT"
        return built.read_text(encoding="ascii").strip() if built.exists() else None
    try:
        described = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty"],  # noqa: S607
            capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
