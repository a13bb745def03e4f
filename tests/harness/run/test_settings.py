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


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    for content, part in (
        (None, "no such file"), ("[", "not TOML"), ("run = 3", "[run]"), ("[other]\n", "[run]"),
        ("[run]\nmetrics = []", "did you mean 'metric'"), ("[run]\nseed = 'x'", "a whole number"),
        ("[run]\nseed = true", "a whole number"), ("[run]\nsplit = 'train'", "one of dev, test"),
        ('[run]\naggregate = ["foo"]', "a list"), ("[run]\nmetric = [1]", "a list of texts"),
        ("[run]\nout = 1", "a path"),
    ):
        if content is not None:
            config.write_text(content)
        with pytest.raises(BadConfig) as caught:
            parsed("--config", str(config))
        assert part in str(caught.value)
