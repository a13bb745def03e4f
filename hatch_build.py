"""Record in wheel and sdist the commit that they were built from, for `harness --version` and results."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Writer of harness/COMMIT; a wheel built from the sdist gets the file from there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the commit if this is a git checkout."""
        if version == "editable" or not Path(self.root, ".git").exists():
            return
        described = subprocess.run(
            ["git", "-C", self.root, "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"],
            capture_output=True, text=True, check=True)
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name, "COMMIT")
        path.write_text(described.stdout, encoding="ascii")
        path.chmod(0o644)
        build_data["force_include"][str(path)] = "harness/COMMIT"
