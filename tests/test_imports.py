"""Who may import whom: benchmarks <- metrics <- harness <- leaderboard, and no cycle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")
ALLOWED = {"benchmarks": set(), "metrics": {"benchmarks"}, "harness": {"benchmarks", "metrics"},
           "leaderboard": {"harness.results.rows"}}


def modules() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


NAMES = {name for name, _ in modules()}


def imported(path: Path, top_level_only: bool = False) -> set[str]:
    """The project's modules that a file imports; for `from a import b`, `a.b` where that is a module."""
    tree = ast.parse(path.read_text())
    typing_only = {id(node) for block in ast.walk(tree)
                   if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
                   for node in ast.walk(block)}
    found = set()
    for node in tree.body if top_level_only else ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in NAMES else node.module
                      for alias in node.names}
    return {name for name in found if name.partition(".")[0] in PACKAGES}


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_only_allowed_arrows(name: str, path: Path) -> None:
    package = name.partition(".")[0]
    if name == "harness.cli" or name.startswith("harness.commands"):
        return
    for target in imported(path):
        allowed = target.partition(".")[0] in {package, *ALLOWED[package]} or target in ALLOWED[package]
        assert allowed, f"{name} imports {target}"
        assert not target.startswith("harness.commands"), f"{name} imports a command"
        assert target != "harness.cli" or name == "harness.__main__"


def test_no_cycle() -> None:
    graph = {name: imported(path, top_level_only=True) - {name} for name, path in modules()}
    tuple(TopologicalSorter(graph).static_order())


HEAVY = {"torch", "transformers", "torch_geometric", "datasets", "evaluate", "sentence_transformers"}


def tops(path: Path) -> set[str]:
    """The packages that a file imports as soon as it is imported itself."""
    body = ast.parse(path.read_text()).body
    found = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in found}


NETWORKS = {name for name, path in modules() if tops(path) & HEAVY}
"""Modules of networks, which are classes of torch."""


def test_only_private_modules_of_networks_import_what_is_heavy() -> None:
    """torch, datasets and evaluate are imported where they are used, so that the rest works without them."""
    private = ("metrics.trained._", "metrics.graph._", "metrics.training.backbones._")
    assert {name for name in NETWORKS if not name.startswith(private)} == set()


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_networks_are_imported_where_they_are_used(name: str, path: Path) -> None:
    assert name in NETWORKS or not imported(path, top_level_only=True) & NETWORKS
