"""Results in a notebook: their tables as pandas DataFrames, a board as HTML."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.errors import BadConfig, BadReport
from harness.results import files, rows
from harness.results.item_scores import ColumnKey, labels
from harness.results.pooled import Pool
from harness.results.rows import DatasetEntry, ItemScores, RankingRow
from harness.run import plan
from harness.run.settings import home_folder

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """What a run gave; every method makes a DataFrame of its rows. `rows` are the rows themselves."""

    rows: rows.Results
    home: Path

    def __repr__(self) -> str:
        own = self.rows
        return (f"Results of {len(own.metrics)} metrics on {len(own.datasets)} datasets: "
                f"{len(own.timings)} pairs scored, {len(own.skips)} skipped, {len(own.failures)} crashed")

    def correlations(self) -> pandas.DataFrame:
        """How well every column agrees with people on every quality, with what the quality is of."""
        return self._with_places(_frame(self.rows.correlations, rows.Correlation))

    def comparisons(self) -> pandas.DataFrame:
        """Every two columns on a quality: by how much one is better, and how sure that is."""
        return self._with_places(_frame([row for own in self.rows.comparisons for row in own], rows.Comparison))

    def rankings(self) -> pandas.DataFrame:
        """The boards: the mean and rank of every column under each rule and statistic."""
        return _frame(self.rows.ranking, RankingRow).astype({"rank": "Int64"})

    def reliability(self) -> pandas.DataFrame:
        """How far the people agree among themselves on every quality."""
        return self._with_places(_frame(self.rows.reliability, rows.Reliability))

    def leads(self, first: str = "", second: str = "", *, board: str = "", dimension: str = "",
              datasets: Sequence[str] = ()) -> pandas.DataFrame:
        """The difference of two columns' means over a board or dimension, with its 95 % interval, p and verdict.

        Without `second` a column against every other, p by Holm over them; without `first` the leader. `reached` is the
        share of what the raters' reliability allows that the better one reaches. Only columns with a value on every
        target take part.
        """
        pool, wanted = Pool.of(self.rows), self._of_dimension(dimension)
        boards = [split for split, _ in self._boards()]
        if board and board not in boards:
            raise BadConfig(f"the results have no board {board!r}; {nearest(board, boards)}")
        found, seen = [], set()
        for split, origin in self._boards():
            targets = tuple(target for target in pool.targets(split, origin, datasets=[*map(self._name, datasets)])
                            if target in wanted)
            rule = "test" if split.startswith("test") else "dev"
            means = pool.means(targets, rule)
            named = dict(zip(means, labels(list(means)), strict=True))
            if board not in ("", split) or len(means) < 2 or (dimension and (origin, targets) in seen):
                continue  # a dimension is the same on each board that has all of it
            seen.add((origin, targets))
            one = _column(first, named) if first else next(iter(means))
            others = [_column(second, named)] if second else [other for other in means if other != one]
            found += [(split, origin, named[lead.better], named[lead.worse], len(targets),
                       *dataclasses.astuple(lead.difference), lead.difference.established,
                       pool.reached(targets, lead.better, rule))
                      for lead in pool.leads(targets, [(one, other, *(rest for rest in others if rest != other))
                                                       for other in others], rule)]
        return _pandas().DataFrame(found, columns=["board", "origin", "better", "worse", "targets", "difference", "low",
                                                   "high", "p", "established", "reached"])

    def items(self, dataset: str, *, texts: bool = False) -> pandas.DataFrame:
        """Ratings (`human:QUALITY`) and scores (`score:COLUMN`) of a dataset, an item a row; also texts if asked for.

        The texts are read from the dataset as it is here, and refused where it is not the one of the results.
        """
        points = self._points(dataset)
        columns: dict[str, Any] = {"item": points.items, "system": points.systems}
        if texts:
            loaded = self._dataset(dataset)
            columns |= {"context": [[turn.text for turn in item.context] for item in loaded.items],
                        "response": [item.response and item.response.text for item in loaded.items],
                        "references": [[one.text for one in item.references] for item in loaded.items],
                        "facts": [list(item.facts) for item in loaded.items]}
        columns |= {"context_number": points.contexts, "words": points.words}
        columns |= {f"human:{name}": values for name, values in points.human.items()}
        columns |= {f"score:{name}": values
                    for name, values in zip(labels(list(points.scores)), points.scores.values(), strict=True)}
        return _pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        """The boards, by Spearman and the rule of their split, the best first."""
        pieces = []
        for split, origin in self._boards():
            found = [row for row in self.rows.ranking if (row.board, row.origin, row.statistic) == (
                split, origin, "spearman") and row.rank and row.rule == ("test" if split.startswith("test") else "dev")]
            names = labels([(row.metric, row.column) for row in found])
            lines = [(row.rank, name, row.value, f"{row.low:.0f}–{row.high:.0f}" if math.isfinite(row.low) else "",
                      row.letters) for row, name in zip(found, names, strict=True)]
            table = _pandas().DataFrame(lines, columns=["rank", "column", "mean Spearman", "95 % of ranks", "letters"])
            data = "bundled sample: simulated raters" if origin == "sample" else "real human judgements"
            pieces.append(f"<p><b>{split}</b> ({data})</p>" + table.to_html(index=False, float_format="%.3f"))
        return "".join(pieces) or "<p>No board: no column has a value on every quality.</p>"

    def _boards(self) -> Iterator[tuple[str, str]]:
        yield from dict.fromkeys((row.board, row.origin) for row in self.rows.ranking)

    def _entry(self, dataset: str) -> DatasetEntry:
        known = {entry.name: entry for entry in self.rows.datasets}
        if dataset not in known:
            raise BadConfig(f"the results have no dataset {dataset!r}; {nearest(dataset, known)}")
        return known[dataset]

    def _name(self, dataset: str) -> str:
        return self._entry(dataset).name

    def _of_dimension(self, name: str) -> set[tuple[str, str]]:
        """The qualities of a dimension, or where none has that name those called so themselves; all for none."""
        every = [(entry.name, one) for entry in self.rows.datasets for one in entry.qualities]
        for field in ("dimension", "name"):
            own = {(dataset, one.name) for dataset, one in every
                   if not name or getattr(one, field).casefold() == name.casefold()}
            if own:
                return own
        raise BadConfig(f"the results have no dimension {name!r}; {nearest(name, {one.dimension for _, one in every})}")

    def _points(self, dataset: str) -> ItemScores:
        name = self._name(dataset)
        return next(points for points in self.rows.points if points.dataset == name)

    def _dataset(self, name: str) -> Dataset:
        """The dataset of the results, from where it is kept here."""
        entry, run = self._entry(name), self.rows.run
        registry.know(self.home)
        selection = plan.Selection(data=entry.kind, seed=run.seed,
                                   limit=run.options.get("limit"), sample=run.options.get("sample"))
        loaded = plan.load(registry.card(name), self.home, selection)
        if loaded is None or loaded.fingerprint != entry.fingerprint:
            raise BadReport(f"{name}: {'is not here' if loaded is None else 'the items here are others'}; texts are "
                            "read from the dataset that was scored")
        return loaded

    def _with_places(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        """A table with the split, kind of data, level and dimension of each quality, behind its own columns."""
        about = [(entry.name, quality.name, entry.split, entry.kind, entry.level,
                  quality.dimension) for entry in self.rows.datasets for quality in entry.qualities]
        places = _pandas().DataFrame(about, columns=["dataset", "quality", "split", "origin", "level", "dimension"])
        return frame.merge(places, on=["dataset", "quality"], how="left")


def load(folder: Path | str = "results", home: Path | str | None = None) -> Results:
    """The results in a folder: that of a run, or its report."""
    return Results(files.read(folder), home_folder(Path(home) if home else None))


def _column(name: str, named: dict[ColumnKey, str]) -> ColumnKey:
    """The column of a label."""
    for key, label in named.items():
        if name == label:
            return key
    raise BadConfig(f"no column {name!r} with a value on every target; {nearest(name, list(named.values()))}")


def _frame(table: Sequence[Any], kind: type[Any]) -> pandas.DataFrame:
    names = [one.name for one in dataclasses.fields(kind)]
    return _pandas().DataFrame({name: [getattr(row, name) for row in table] for name in names})


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BadConfig("pandas is not installed; pip install 'dialogue-harness[all]' brings it") from error
    return pandas
