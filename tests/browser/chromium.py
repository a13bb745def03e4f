"""Where the browser is, and how it is started: Chromium without a sandbox or any request of its own."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")
NONE = f"no Chromium: HARNESS_CHROMIUM names none, and none of {', '.join(NAMES)} is on the PATH"


def executable() -> str | None:
    """The browser that HARNESS_CHROMIUM names, or the first on the PATH; None where there is none."""
    named = os.environ.get("HARNESS_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)
