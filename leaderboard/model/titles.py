"""Short unique titles of columns for display; files and commands use the full names.

    rank-average[inputs=deb+judge:relevance[lm=qwen2.5]]     rank-average (deb + judge:relevance)
    cosine[encoder=all-mpnet-base-v2]                        cosine (all-mpnet-base-v2)
    the same, run as --metric "big cosine=cosine[...]"       big cosine
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from harness.results.entries import MetricEntry
from harness.results.rows import ColumnKey, Results

UNNAMED_OPTIONS = ("encoder", "lm", "model", "inputs", "url")
"""Options whose values are shown without the option's name."""
MAX_TITLE, MAX_INPUTS = 40, 3
"""Maximum length of a title, and maximum number of inputs that it lists in full."""


def names(results: Results) -> dict[ColumnKey, str]:
    """Return the full name of each column, preceded by its metric unless the column identifies it.

    Options appear once: `judge:relevance[lm=NAME]`, `deep-am-fm[lm=NAME] / am`.
    """
    columns = {(row.metric, row.column) for rows in (results.correlations, results.ranking) for row in rows}
    columns |= {(entry.name, name) for entry in results.metrics for name in entry.columns}
    shared = Counter(name for _, name in columns)
    return {(metric, name): _name(metric, name, unique=shared[name] == 1) for metric, name in sorted(columns)}


def _name(metric: str, name: str, *, unique: bool) -> str:
    base, bracket, options = metric.partition("[")
    source, colon, short = base.rpartition(":")
    if name == metric:
        return metric
    if source + colon + name == metric or (unique and name.startswith(short)):
        return source + colon + name
    return f"{metric} / {name.removesuffix(bracket + options)}"


def titles(names: Mapping[ColumnKey, str], metrics: Iterable[MetricEntry]) -> dict[ColumnKey, str]:
    """Return a title for each column: the title given to its metric in the run, else the shortest unique title."""
    requested = {(entry.name, column): entry.named + f" / {column.partition('[')[0]}" * bool(position)
                 for entry in metrics if entry.named for position, column in enumerate(entry.columns)}
    short_titles = {column: requested.get(column) or cut(short(name), MAX_TITLE) for column, name in names.items()}
    for longer in (short, str):
        counts = Counter(short_titles.values())
        short_titles = {column: title if counts[title] == 1 else longer(names[column])
                        for column, title in short_titles.items()}
    return short_titles


def short(name: str) -> str:
    """Shorten the options in a name."""
    head, bracket, options_and_tail = name.partition("[")
    options, closing, tail = options_and_tail.rpartition("]")
    values = [_value(*option.partition("=")[::2]) for option in re.split(r",(?![^\[]*\])", options)]
    return f"{head} ({', '.join(values)}){tail}" if bracket and closing else name


def _value(option: str, value: str) -> str:
    """Shorten the value of an option: drop nested options, the folders of models, and all of a URL but its host."""
    short_value = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"https?://([^/]*).*", r"\1", value))
    if option == "inputs":
        inputs = short_value.split("+")
        unlisted = [f"{len(inputs) - MAX_INPUTS + 1} more"]
        return " + ".join(inputs if len(inputs) <= MAX_INPUTS else inputs[:MAX_INPUTS - 1] + unlisted).strip()
    if option in ("encoder", "lm"):
        short_value = short_value.rpartition("/")[2].partition("@")[0]
    return short_value if option in UNNAMED_OPTIONS else f"{option}={short_value}"


def cut(text: str, width: int) -> str:
    """Shorten a string in the middle, since names of columns differ at both ends."""
    left, right = (width - 1) - (width - 1) // 2, (width - 1) // 2
    return text if len(text) <= width else f"{text[:left]}…{text[len(text) - right:]}"
