"""Settings: defaults, then the config file, then flags; a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import parser
from harness.errors import BadConfig
from harness.run.settings import Settings, settings


def parsed(*argv: str) -> Settings:
    return settings(parser().parse_args(["run", *argv]))


def test_flags_stand_above_the_file_and_the_file_above_defaults(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[run]\nmetric = ["bleu", "length"]\nseed = 3\ndry-run = true\nsplit = "dev"\nout = "here"\n')
    found = parsed("--config", str(config), "--seed", "4")
    assert (found.metric, found.seed, found.dry_run, found.split) == (("bleu", "length"), 4, True, "dev")
    assert found.out == tmp_path / "here"
    assert (found.device, parsed().seed) == ("auto", 0)


@pytest.mark.parametrize(("content", "part"), [
    ("[run]\nmetrics = []", "did you mean 'metric'"), ("[run]\nseed = 'x'", "a whole number"), ("run = 3", "[run]"),
    ("[run]\nseed = true", "a whole number"), ("[run]\nsplit = 'train'", "one of dev, test"), ("[", "not TOML"),
    ('[run]\naggregate = ["foo"]', "a list"),
    ("[run]\nmetric = [1]", "a list of texts"), ("[other]\n", "[run]"), ("[run]\nout = 1", "a path"),
])
def test_a_wrong_setting_is_named(tmp_path: Path, content: str, part: str) -> None:
    (tmp_path / "c.toml").write_text(content)
    with pytest.raises(BadConfig) as caught:
        parsed("--config", str(tmp_path / "c.toml"))
    assert part in str(caught.value)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="no such file"):
        parsed("--config", str(tmp_path / "no.toml"))
