"""The page of the trained weights that metrics of the run read: how each was trained, and its loss curve."""

from __future__ import annotations

from harness.results.rows import Results, TrainingEntry
from leaderboard.blocks.pictures import curve
from leaderboard.blocks.tables import Block, Cell, Facts, Page, Picture, Section
from leaderboard.model.index import Index, make_index
from leaderboard.model.slugs import slugs


def build(results: Results) -> tuple[Page, ...]:
    """Build the page, where a metric of the run was trained."""
    if not results.trainings:
        return ()
    index = make_index(results)
    anchors = slugs(f"{entry.name}-{entry.digest[:8]}" for entry in results.trainings)
    sections = tuple(Section(anchors[f"{entry.name}-{entry.digest[:8]}"], entry.name, _blocks(index, entry))
                     for entry in results.trainings)
    return (Page(path="training.html", title="Trained weights", label="Training", sections=sections, order=8,
                 markdown=False, lead="Which weights the metrics of this run read, how they were trained, and "
                                      "their loss curves."),)


def _blocks(index: Index, entry: TrainingEntry) -> tuple[Block, ...]:
    facts = (
        ("Read by", Cell(", ".join(entry.metrics), link=index.metric_paths.get(entry.metrics[0], ""))),
        ("Encoder", Cell(entry.encoder or "none")), ("Corpora", Cell(", ".join(entry.corpora))),
        ("Seed", Cell(str(entry.seed))), ("Steps", Cell(f"{entry.steps}, the weights are of step {entry.kept}")),
        ("Device", Cell(f"{entry.device}, {entry.seconds:.0f} seconds")),
        ("Command", Cell(entry.command, code=True)), ("Commit", Cell(entry.commit or "not known", code=True)),
        ("Digest", Cell(entry.digest, code=True)))
    if not entry.curve:
        return (Facts(facts),)
    picture = Picture(curve.svg(entry.name, entry.curve, entry.kept).decode(), curve.described(entry.curve, entry.kept))
    return (Facts(facts), picture)
