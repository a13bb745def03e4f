"""`harness new metric`: templates are found, satisfy the contract and pass their tests."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.cli import main
from harness.commands.new import KINDS
from metrics import registry
from metrics.metric import signature
from metrics.models.service import Models
from tests.conftest import Invoke


def new(folder: Path, kind: str = "plain", name: str = "green-tea") -> Path:
    assert main(["new", "metric", name, "--kind", kind, "--into", str(folder)]) == 0
    return folder / name


@pytest.fixture(autouse=True)
def _modules(look_anew: Callable[[], None]) -> Iterator[None]:
    yield
    sys.modules.pop("green_tea", None)


def test_templates_with_models_need_the_neural_extra(tmp_path: Path) -> None:
    for kind in KINDS:
        written = new(tmp_path / kind, kind)
        project = tomllib.loads((written / "pyproject.toml").read_text())["project"]
        assert (project["dependencies"] == ["dialogue-harness[neural]"]) == (kind in ("encoder", "trained"))
        (workflow,) = (written / ".github").rglob("*.yml")
        assert ("harness check green-tea" in workflow.read_text()) == (kind != "trained")


def test_installed_metric_is_listed_and_its_name_is_taken(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look_anew: Callable[[], None], invoke: Invoke) -> None:
    """Imitate an editable installation by pip."""
    written = new(tmp_path)
    project = tomllib.loads((written / "pyproject.toml").read_text())["project"]
    info = tmp_path / "site" / "green_tea-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [f"{name} = {value}" for name, value in project["entry-points"]["harness.metrics"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[harness.metrics]", *lines]))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(written / "src"))
    look_anew()
    (line,) = [line for line in invoke("list", "metrics").out.splitlines() if line.startswith("green-tea ")]
    assert line.endswith("Green tea  (green-tea 0.1.0)")
    assert registry.choose("green-tea[distinct=true]").label == "green-tea[distinct=True]"
    installed = signature(registry.choose("green-tea").metric, Models(tmp_path))
    sys.modules.pop("green_tea")
    assert signature(registry.choose(str(written)).metric, Models(tmp_path)) == installed
    assert "green-tea 0.1.0" in invoke("new", "metric", "green-tea", status=2).err


@pytest.mark.slow
def test_every_template_passes_its_own_test(tmp_path: Path) -> None:
    made = [new(tmp_path, kind, f"tea-{kind}") for kind in KINDS]
    path = os.pathsep.join([*(str(folder / "src") for folder in made), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, made)],
                          cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_invalid_name_or_existing_folder_is_refused(tmp_path: Path, invoke: Invoke) -> None:
    for name in ("bleu", "json", "harness", "Tea", "a--b", "../tea", "3-teas", "class", ""):
        assert f"'{name}'" in invoke("new", "metric", name, "--into", tmp_path / "into", status=2).err
        assert not [*tmp_path.iterdir()]
    readme = new(tmp_path) / "README.md"
    readme.write_text("mine")
    invoke("new", "metric", "green-tea", "--into", tmp_path, status=2)
    assert readme.read_text() == "mine"
