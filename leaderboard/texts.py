"""The longer explanations on the pages by page and name, read from texts.toml."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

TEXTS: dict[str, Any] = tomllib.loads((resources.files("leaderboard") / "texts.toml").read_text(encoding="utf-8"))
