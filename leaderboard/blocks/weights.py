"""Trained weights that a metric reads: how they were trained, and what became of the loss."""

from __future__ import annotations

from collections.abc import Sequence

from harness.results.rows import Look, Results, TrainingEntry
from leaderboard.blocks.tables import Block, Cell, Facts, Section
from leaderboard.model.index import slugs


def training_sections(results: Results, metric: str) -> tuple[Section, ...]:
    """Tell of each weights that a metric reads how they were trained."""
    own = {f"weights-{entry.name}-{entry.digest[:8]}": entry for entry in results.trainings if metric in entry.metrics}
    anchors = slugs(own)
    return tuple(Section(anchors[name], f"Weights: {entry.name}", _blocks(entry)) for name, entry in own.items())


def _blocks(entry: TrainingEntry) -> tuple[Block, ...]:
    return (Facts((
        ("Encoder", Cell(entry.encoder or "none")), ("Corpora", Cell(", ".join(entry.corpora))),
        ("Seed", Cell(str(entry.seed))), ("Steps", Cell(f"{entry.steps}, the weights are of step {entry.kept}")),
        *((("Loss", Cell(_described(entry.curve, entry.kept))),) if entry.curve else ()),
        ("Device", Cell(f"{entry.device}, {entry.seconds:.0f} seconds")),
        ("Command", Cell(entry.command, code=True)), ("Commit", Cell(entry.commit or "not known", code=True)),
        ("Digest", Cell(entry.digest, code=True)))),)


def _described(looks: Sequence[Look], kept: int) -> str:
    """Say in words how the loss fell."""
    least = next((look.held_out for look in looks if look.step == kept), min(look.held_out for look in looks))
    return (f"{len(looks)} evaluations over {max(look.step for look in looks)} steps; the least held-out loss is "
            f"{least:.4f} at step {kept}.")
