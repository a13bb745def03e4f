"""The harness: runs metrics over datasets, correlates scores with ratings, and reports.

    from harness import score
    score("grade", [{"context": ["Do you like tea?"], "response": "Yes, green tea."}])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api.scores import score

__version__ = "0.2.0"
__all__ = ["__version__", "score"]


def __getattr__(name: str) -> Any:
    """Import `score` on first use, so that the command line starts without numpy."""
    if name == "score":
        from harness.api.scores import score

        return score
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
