"""Checkpoints: trained weights with the encoder they belong to and a card of how they were made.

A folder holds `model.safetensors`, `config.json` (the network's arguments, and name and digest of the encoder it reads)
and `card.json` (corpora, command, seed, steps, device, time, losses, correlations, and the sha256 of the other two).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Trained weights on this machine."""

    name: str
    folder: Path
    digest: str
    config: Mapping[str, Any]
    card: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """NAME@DIGEST, as it stands in a signature."""
        return f"{self.name}@{self.digest[:12]}"


def find(name: str, encoder: str, home: Path) -> Checkpoint:
    """Give the weights of that name for that encoder (its digest): the user's own in the home, else the shipped ones.

    MissingResource where there are none, where they belong to another encoder, or where a file was changed.
    """
    raise NotImplementedError


def save(folder: Path, weights: Mapping[str, Any], config: Mapping[str, Any], card: Mapping[str, Any]) -> Checkpoint:
    """Write a checkpoint, all of it or nothing."""
    raise NotImplementedError
