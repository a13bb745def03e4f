"""The accuracies of the study of discrimination beside those that the paper prints: a table, a page, a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from harness.published import table as printed
from harness.results.rows import Grid
from harness.studies import Findings
from harness.studies._writing import csv_objects, markdown
from harness.studies.discrimination.trials import STRATEGIES, CorpusPart
from metrics.graph.dynaeval.metric import Negatives

PRINTED = {"random": "Random", "cosim": "CoSim", "s-dicoh": "S-DiCoh", "dynaeval": "DynaEval"}
"""The systems, by the name that the paper gives them."""


@dataclass(frozen=True, slots=True)
class Accuracies:
    """The accuracies of a system on a part and strategy, one for each seed, and what the paper prints."""

    label: str
    name: str
    part: CorpusPart
    kind: Negatives
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds, n − 1 below; 0 where all are the same."""
        return float(np.std(self.values, ddof=1)) if len(set(self.values)) > 1 else 0.0

    @property
    def paper(self) -> Decimal | None:
        """The figure of Table 2."""
        return next((row.value for row in printed("dynaeval") if (row.table, row.metric, row.dataset, row.quality)
                     == ("Table 2", PRINTED[self.name], self.part.printed, STRATEGIES[self.kind])), None)


def findings(title: str, seeds: int, accuracies: Sequence[Accuracies], absent: Sequence[str] = ()) -> Findings:
    """Everything that is printed and kept."""
    tables, remarks, objects = (_table(accuracies),), tuple(_remarks(seeds, absent)), tuple(_objects(accuracies))
    return Findings(tables, remarks, objects, {"discrimination.md": markdown(title, remarks, tables),
                                               "discrimination.csv": csv_objects(objects)})


def share_text(accuracies: Accuracies) -> str:
    """The mean in per cent, with its spread over the seeds."""
    spread = f" ± {100 * accuracies.spread:.2f}" if accuracies.spread else ""
    return f"{100 * accuracies.mean:.2f}{spread}"


def _table(accuracies: Sequence[Accuracies]) -> Grid:
    columns = list(dict.fromkeys((each.part, each.kind) for each in accuracies))
    head = ("system", *(text for part, kind in columns for text in (f"{part.title} {kind.upper()}", "paper")))
    known = {(each.label, each.part, each.kind): each for each in accuracies}
    rows = []
    for label in dict.fromkeys(each.label for each in accuracies):
        row = [label]
        for column in columns:
            own = known.get((label, *column))
            row += ["", ""] if own is None else [
                share_text(own), "" if own.paper is None else f"{100 * own.paper:.2f}"]
        rows.append(tuple(row))
    of = ", ".join(dict.fromkeys(f"{part.title} {part.split}" for part, _ in columns))
    return Grid("discrimination", "Dialogues scored above a worse one, in per cent", head, tuple(rows), of)


def _remarks(seeds: int, absent: Sequence[str]) -> Iterator[str]:
    yield ("UR: one utterance is that of another dialogue; SS: one speaker's utterances are in another order. Twenty "
           "worse dialogues of each, the same for all systems; a tie counts half. ± is the standard deviation over "
           f"{seeds} seeds of the training, or of the draw.")
    yield ("ConvAI2 is its validation part, as in the paper, and is trained on what the file of PersonaChat holds; the "
           "paper has 17,878 dialogues of it. What stands in an evaluation set is not trained on.")
    if absent:
        yield f"Not here, and left out: {', '.join(absent)} (`harness fetch --corpora`)."


def _objects(accuracies: Iterable[Accuracies]) -> Iterator[dict[str, object]]:
    for each in accuracies:
        yield {"system": each.label, "corpus": each.part.corpus, "split": each.part.split, "negatives": each.kind,
               "accuracy": round(each.mean, 6), "spread": round(each.spread, 6),
               "accuracies": [round(value, 6) for value in each.values],
               "paper": None if each.paper is None else float(each.paper)}
