"""Results in a notebook: their tables as pandas DataFrames, a board as HTML, the pages."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import nearest, plural
from harness.commands._comparisons import Selection, by_wmt25
from harness.commands._output import data_of
from harness.commands.publish import publish
from harness.commands.report import check_dataset
from harness.commands.report import targets as targets_of
from harness.errors import BadConfig, BadReport
from harness.results import decision_rows, files, rows
from harness.results.entries import BoardId, DatasetEntry
from harness.results.item_scores import labels
from harness.results.pooled import Pool
from harness.results.rows import RankingRow
from harness.run import plan
from harness.run.settings import Settings, expanded, home_folder
from harness.statistics.wmt25 import KINDS
from leaderboard.render.text import summary

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, repr=False)
class Results:
    """The results of a run in the folder `out`; methods return DataFrames, `rows` has the rows themselves.

    `print(results)` prints the output of `harness report`; a notebook shows the boards.

    >>> from harness.api import load
    >>> results = load("results")
    >>> results
    Results of 2 metrics on 1 dataset: 2 pairs scored, 0 skipped, 0 crashed
    >>> print(results)
    Demo data, not a result: a script made the texts and simulated the raters.
    ...
    >>> results.leads("length", "distinct-1", board="dev")[["board", "better", "worse", "targets"]]
      board  better       worse  targets
    0   dev  length  distinct-1        9
    """

    rows: rows.Results
    home: Path
    out: Path = Path("results")

    def __repr__(self) -> str:
        rows = self.rows
        return (f"Results of {plural(len(rows.metrics), 'metric')} on {plural(len(rows.datasets), 'dataset')}: "
                f"{plural(len(rows.timings), 'pair')} scored, {len(rows.skips)} skipped, {len(rows.failures)} crashed")

    def __str__(self) -> str:
        return summary(self.rows)

    def publish(self, site: Path | str | None = None, *, against: Path | str | None = None,
                bundle: Path | str | None = None) -> Path:
        """Draw the pages into a folder, by default `out`/site, and return the path of the first page.

        Raise BadConfig if nothing was scored.

        >>> from harness.api import load
        >>> load("results").publish("public").name
        'index.html'
        """
        if not (self.rows.correlations or self.rows.failures):
            raise BadConfig("nothing was scored: every pair was skipped, for the reasons that print(results) shows")
        folder, *paths = (expanded(Path(path)) if path else None for path in (site, against, bundle))
        return publish(self.rows, self.out, folder, *paths)

    def correlations(self) -> pandas.DataFrame:
        """Return the correlation of every column on every quality, with the properties of its dataset."""
        return self._with_properties(frame(self.rows.correlations, rows.Correlation))

    def comparisons(self) -> pandas.DataFrame:
        """Return the test of each pair of columns on each quality."""
        comparisons = [row for target in self.rows.comparisons for row in target]
        return self._with_properties(frame(comparisons, rows.Comparison))

    def rankings(self) -> pandas.DataFrame:
        """Return the mean and rank of every column on each board, by rule and statistic."""
        return frame(self.rows.ranking, RankingRow).astype({"rank": "Int64"})

    def reliability(self) -> pandas.DataFrame:
        return self._with_properties(frame(self.rows.reliability, rows.Reliability))

    def decisions(self) -> pandas.DataFrame:
        """Return whether each column may replace a rater on each quality, and how many ratings it is worth."""
        return self._with_properties(frame(self.rows.decisions, decision_rows.Decision))

    def firmness(self) -> pandas.DataFrame:
        """Return the fewest datasets, contexts and votes without which another metric leads a board."""
        return frame(self.rows.firmness, decision_rows.Firmness).astype({"removed": "Int64"})

    def disagreement(self) -> pandas.DataFrame:
        """Return the correlation of every column on items with high, medium and low agreement of the raters."""
        return self._with_properties(frame(self.rows.disagreement, decision_rows.Disagreement))

    def wmt25(self, datasets: Sequence[str] = ()) -> pandas.DataFrame:
        """Return the value and the cluster of every column on each split by WMT25's rule.

        The last two rows of a split are a constant and random numbers. A column that lacks a value has no cluster.
        """
        selection = Selection(self.rows, targets_of(self.rows, datasets, [], self.out))
        records = [row for _, board in by_wmt25(selection) for row in board]
        return library("pandas").DataFrame(records, columns=[
            "split", "origin", "rule", "tasks", "cluster", "metric", "column", "value", *KINDS,
        ]).astype({"cluster": "Int64"})

    def leads(self, first: str = "", second: str = "", *, board: str = "", dimension: str = "",
              datasets: Sequence[str] = ()) -> pandas.DataFrame:
        """Return the difference of two columns' means over a board or dimension, with its 95 % interval and p.

        Without `second`, compare a column with every other; `first` defaults to the leader. p is adjusted over all
        pairs of columns. `reached` is the share of the limit from rater noise that the better column reaches, over the
        `reached_on` targets with a reliability above 0. Only columns with a value on every target of a board are
        compared on it; raise BadConfig if `first` or `second` has them on no board.
        """
        pool, selected = Pool.of(self.rows), targets_of(self.rows, datasets, [dimension] if dimension else [], self.out)
        boards = dict.fromkeys(split for split, _ in self._boards())
        if board and board not in boards:
            raise BadConfig(f"the results have no board {board!r}; {nearest(board, boards)}")
        if first and first == second:
            raise BadConfig(f"leads compares two different columns, not {first!r} with itself")
        leads, compared, known_names = [], set(), dict[str, None]()
        for split, origin in self._boards():
            targets = tuple(target for target in pool.targets(split, origin) if target in selected)
            rule = "dev" if dimension else BoardId.parse(split).rule
            means = pool.means(targets, rule)
            name_of = dict(zip(means, labels(list(means)), strict=True))
            keys = {name: key for key, name in name_of.items()}
            if board not in ("", split) or (dimension and (origin, targets) in compared):
                continue  # a dimension is the same on every board that includes it
            compared.add((origin, targets))
            known_names |= dict.fromkeys(keys)
            if len(means) < 2 or not {first, second} <= keys.keys() | {""}:
                continue
            column = keys[first] if first else next(iter(means))
            opponents = [other for other in ([keys[second]] if second else means) if other != column]
            leads += [(split, origin, name_of[lead.better], name_of[lead.worse], len(targets),
                       *dataclasses.astuple(lead.difference), lead.difference.established,
                       *pool.reached(targets, lead.better, rule))
                      for lead in pool.leads(targets, [(column, other) for other in opponents], rule)]
        for name in (first, second):
            if name and name not in known_names:
                raise BadConfig(f"no column {name!r} with a value on every target of a board; "
                                f"{nearest(name, known_names)}")
        return library("pandas").DataFrame(leads, columns=[
            "board", "origin", "better", "worse", "targets", "difference", "low", "high", "p", "established",
            "reached", "reached_on"])

    def items(self, dataset: str, *, texts: bool = False) -> pandas.DataFrame:
        """Return ratings (`human:QUALITY`), scores (`score:COLUMN`) and optionally texts of a dataset, a row per item.

        Raise BadReport for texts if the dataset available here is not the one that was scored.
        """
        points = next(points for points in self.rows.points if points.dataset == self.entry(dataset).name)
        columns: dict[str, Any] = {"item": points.items, "system": points.systems}
        if texts:
            loaded = self._dataset(dataset)
            columns |= {"context": [[turn.text for turn in item.context] for item in loaded.items],
                        "response": [item.response and item.response.text for item in loaded.items],
                        "references": [[reference.text for reference in item.references] for item in loaded.items],
                        "facts": [list(item.facts) for item in loaded.items]}
        columns |= {"context_number": points.contexts, "words": points.words}
        columns |= {f"human:{name}": values for name, values in points.human.items()}
        columns |= {f"score:{name}": values
                    for name, values in zip(labels(list(points.scores)), points.scores.values(), strict=True)}
        return library("pandas").DataFrame(columns)

    def _repr_html_(self) -> str:
        """Show each board by Spearman under the rule of its split."""
        pieces = []
        rankings = self.rankings().query("statistic == 'spearman'").dropna(subset="rank")
        for split, origin in self._boards():
            rule = BoardId.parse(split).rule
            board_rows = rankings.query(f"board == @split and origin == @origin and rule == {rule!r}")
            table = board_rows[["rank", "metric", "column", "value", "low", "high", "letters"]].to_html(
                index=False, float_format="%.3f", na_rep="")
            pieces.append(f"<p><b>{split}</b> ({data_of(split, origin)})</p>{table}")
        return "".join(pieces) or "<p>No board: no column has a value on every quality.</p>"

    def _boards(self) -> Iterator[tuple[str, str]]:
        yield from dict.fromkeys((row.board, row.origin) for row in self.rows.ranking)

    def entry(self, dataset: str) -> DatasetEntry:
        """Return a dataset of the results; raise BadConfig with the nearest name for an unknown one."""
        entries = {entry.name: entry for entry in self.rows.datasets}
        check_dataset(dataset, list(entries), self.out)
        return entries[dataset]

    def _dataset(self, name: str) -> Dataset:
        entry, run = self.entry(name), self.rows.run
        registry.register_home(self.home)
        loaded = plan.load(registry.card(name), self.home, Settings(
            data=entry.kind, seed=run.seed, limit=run.options.get("limit"), sample=run.options.get("sample")))
        if loaded is None or loaded.fingerprint != entry.fingerprint:
            reason = "not available" if loaded is None else "its items have changed"
            raise BadReport(f"{name}: {reason}; texts need the dataset that was scored")
        return loaded

    def _with_properties(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        """Append the split, origin, level and dimension of each quality."""
        properties = library("pandas").DataFrame(
            [(entry.name, quality.name, entry.split, entry.kind, entry.level, quality.dimension)
             for entry in self.rows.datasets for quality in entry.qualities],
            columns=["dataset", "quality", "split", "origin", "level", "dimension"])
        return frame.merge(properties, on=["dataset", "quality"], how="left")


def load(folder: Path | str = "results", home: Path | str | None = None) -> Results:
    """Return the results that a run wrote into a folder."""
    check("folder", folder, str, Path)
    folder = expanded(Path(folder))
    return Results(files.read(folder), home_folder(Path(home) if home else None), folder)


def check(name: str, value: object, *kinds: type) -> None:
    if not isinstance(value, kinds):
        raise BadConfig(f"{name}: expected {' or '.join(kind.__name__ for kind in kinds)}, got {value!r:.60}")


def frame(table: Sequence[Any], kind: type[Any]) -> pandas.DataFrame:
    names = [field.name for field in dataclasses.fields(kind)]
    return library("pandas").DataFrame({name: [getattr(row, name) for row in table] for name in names})


def library(name: str) -> Any:
    """Import a library of the extra [all]."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadConfig(f"{name} is not installed; pip install 'dialogue-harness[all]'") from error
