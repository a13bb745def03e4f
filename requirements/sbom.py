"""Completes the CycloneDX that `uv export` makes of the lock: licences as installed packages state them, a fixed time.

Digests are the lock's. Nothing is random: the same commit gives the same bytes. The parts of torch for CUDA have no
licence here, unless they are installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata


def licences(name: str) -> list[dict[str, object]]:
    """What a package says of its licence: an expression, a classifier or a line; nothing where it is not installed."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return []
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [one.rpartition(" :: ")[2] for one in about.get_all("Classifier", []) if one.startswith("License ::")]
    return [{"license": {"name": one}} for one in classifiers or about.get("License", "").splitlines()[:1]]


def main() -> None:
    """Read from standard input, write to standard output."""
    sbom = json.load(sys.stdin)
    del sbom["serialNumber"]
    commit = subprocess.run(["git", "log", "-1", "--format=%cI"], capture_output=True, text=True, check=True)
    sbom["metadata"]["timestamp"] = commit.stdout.strip()
    sbom["metadata"]["component"]["version"] = metadata.version(sbom["metadata"]["component"]["name"])
    for component in sbom["components"]:
        component["licenses"] = licences(component["name"])
    json.dump(sbom, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
