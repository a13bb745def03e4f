"""The sub-metrics of MME-CRS, by group."""

from __future__ import annotations

from typing import Literal, TypeAlias

GROUPS: dict[str, tuple[str, ...]] = {
    "fm": ("mme-fm",), "rm": ("mme-rm",), "tcm": ("mme-tcm",), "em": ("mme-em",), "sm": ("sm-ll", "sm-nce", "sm-ppl"),
}
Without: TypeAlias = Literal["none", "fm", "rm", "tcm", "em", "sm", "rm+tcm"]
"""The ablations of the paper's Table 5."""
DRAWN = 300
"""Dialogues of each dataset that correlations are taken over."""


def names(without: Without = "none") -> str:
    """The columns of the groups that are left, as inputs."""
    gone = without.split("+")
    return "+".join(column for group, columns in GROUPS.items() if group not in gone for column in columns)
