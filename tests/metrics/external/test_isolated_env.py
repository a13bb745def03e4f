"""`harness env`: an environment is made from the metric's own requirements, and only what was made here is removed."""

import shutil
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from harness import cli
from metrics.errors import BrokenPlugin
from metrics.external import isolation
from metrics.external.isolation import env
from metrics.external.isolation.settings import MARK
from tests.conftest import make_wheel

POINTS = "[project.entry-points.'harness.metrics']\nwords = 'words:Words'\n"


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_an_environment_is_made_used_and_removed(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capfd: pytest.CaptureFixture[str]) -> None:
    """By pip or uv itself, over wheels of this test: version 2 of a package, and a numpy that is ours by a path."""
    wheels, folder, ours = tmp_path / "wheels", tmp_path / "metric", tmp_path / "ours"
    for made in (wheels, folder, ours):
        made.mkdir()
    for found in Path(np.__file__).parent.parent.glob("numpy*"):
        (ours / found.name).symlink_to(found)
    for name, version, files in (("numpy", "99.0", {"numpy.pth": str(ours)}),
                                 ("clashing", "1.0", {"clashing.py": "VERSION = 1"}),
                                 ("clashing", "2.0", {"clashing.py": "VERSION = 2"})):
        make_wheel(wheels, name, version, files)
    for name in ("PIP", "UV"):
        monkeypatch.setenv(f"{name}_NO_INDEX", "1")
        monkeypatch.setenv(f"{name}_FIND_LINKS", str(wheels))
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    if tool == "uv" and uv is None:
        pytest.skip("no uv in this environment")
    monkeypatch.setattr(shutil, "which", lambda name: uv if tool == "uv" else None)
    (folder / "pyproject.toml").write_text(f"[project]\ndependencies = ['clashing>1', 'dialogue-harness']\n{POINTS}")
    (folder / "words.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\nimport clashing, numpy as np\n"
        "from metrics.metric import MetricCard\n@dataclass(frozen=True)\nclass Words:\n"
        "    card: ClassVar[MetricCard] = MetricCard('words', 'Words', ('words',), 'control')\n"
        "    def score(self, items, models):\n"
        "        return {'words': np.full(len(items), float(clashing.VERSION))}\n")
    assert cli.main(["env", "create", str(folder)]) == 0
    assert "words runs under" in capfd.readouterr().out
    out = tmp_path / "out"
    assert cli.main(["run", "--metric", str(folder), "--dataset", "fed-turn", "--limit", "5", "--out", str(out)]) == 0
    if tool == "uv":
        make_wheel(wheels, "clashing", "3.0", {"clashing.py": "VERSION = 3"})
        assert cli.main(["env", "create", str(folder)]) == 0, "in the versions of the lock"
        assert "--hash=sha256:" in (folder / env.LOCK).read_text()
    assert "clashing==2.0" in isolation.adapter_of(isolation.metric_class(folder)).description["environment"]
    isolation.adapter_of(isolation.metric_class(folder)).close()
    assert cli.main(["env", "remove", str(folder)]) == 0
    assert not (folder / ".venv").exists()


def test_half_an_environment_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    """A Python whose venv makes an interpreter that can do nothing."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    stub = tmp_path / "python"
    stub.write_text('#!/bin/sh\nmkdir -p "$3/bin"; printf "#!/bin/sh\\nexit 1" > "$3/bin/python"\n'
                    'chmod +x "$3/bin/python"')
    stub.chmod(0o755)
    for python, told in ((stub, "pip install --quiet --disable-pip-version-check numpy` ended with exit status 1"),
                         (tmp_path / "nowhere", "cannot be started: No such file")):
        assert cli.main(["env", "create", str(tmp_path), "--python", str(python)]) == 2
        assert told in capsys.readouterr().err
        assert not (tmp_path / ".venv").exists()


def test_what_pip_is_to_install(tmp_path: Path) -> None:
    own = tmp_path / "pyproject.toml"
    own.write_text("[project]\ndependencies = ['dialogue-harness>=1', 'dialogue_harness', 'dialogue-harness-extras', "
                   "'a<2']")
    assert list(env.requirements(tmp_path)) == ["numpy", "dialogue-harness-extras", "a<2"]
    own.write_text("[project]\ndependencies = ['dialogue-harness']")
    assert list(env.requirements(tmp_path)) == ["numpy"]
    listed = tmp_path / "requirements.txt"
    listed.write_text("b==1\n")
    assert list(env.requirements(tmp_path)) == ["numpy", "-r", str(listed)]
    listed.write_text("dialogue-harness\n")
    with pytest.raises(BrokenPlugin, match="take its line out"):
        list(env.requirements(tmp_path))


def test_what_was_not_made_here_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".venv").mkdir()
    assert cli.main(["env", "create", str(tmp_path)]) == 2
    assert cli.main(["env", "remove", str(tmp_path)]) == 2
    assert "was not made by `harness env create`, and stays" in capsys.readouterr().err
    assert (tmp_path / ".venv").is_dir()
    (tmp_path / ".venv" / MARK).touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".venv").symlink_to(tmp_path / ".venv")
    assert cli.main(["env", "remove", str(tmp_path / "other")]) == 2
    assert cli.main(["env", "remove", str(tmp_path)]) == 0
    assert not (tmp_path / ".venv").exists()


def test_plug_ins_that_are_installed_from_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, site = tmp_path / "my metric", tmp_path / "site"
    info = site / "words-1.dist-info"
    folder.mkdir()
    info.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.harness]\ncommand = ['perl', 'metric.pl']")
    (info / "METADATA").write_text("Name: words\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[harness.metrics]\nwords = words:Words\n")
    (info / "direct_url.json").write_text(f'{{"url": "{folder.as_uri()}", "dir_info": {{"editable": true}}}}')
    monkeypatch.syspath_prepend(site)
    (point,) = entry_points(group="harness.metrics", name="words")
    assert env.folder_of("words") == env.source(point) == folder
    (info / "direct_url.json").write_text(f'{{"url": "{folder.as_uri()}", "dir_info": {{}}}}')
    with pytest.raises(BrokenPlugin, match="neither a folder nor"):
        env.folder_of("words")
    assert isolation.plugged_in(point) is None
