"""`from harness import score`: the scores of a metric for items in memory.

An item is a `benchmarks.dataset.Item`, a dict, or a row of a pandas DataFrame or `datasets.Dataset`. Unknown fields are
ignored unless they look like a misspelled field of a dict:

    {"context": [...], "response": "...", "references": [...], "facts": [...]}
    {"dialogue": [...], ...}                                     a whole dialogue

A turn is a string, {"speaker", "text"} or {"role", "content"}. Missing speakers alternate, backwards from the response
as in the organisers' files; in a whole dialogue no speaker counts as the system, so every turn is scored. A system
prompt in front of the messages of a chat is left out.

The scores equal those of `harness run`. They are not stored; models stay in memory between calls.
"""

from __future__ import annotations

import difflib
import functools
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Reference, Utterance
from benchmarks.errors import nearest
from benchmarks.formats.official import SPEAKERS
from benchmarks.tables.cells import system_prompt_speakers
from harness.errors import BadConfig
from harness.run.settings import home_folder
from harness.scoring.scorer import Scorer, dataset_of
from metrics import registry
from metrics.errors import CannotScore
from metrics.metric import Column
from metrics.models.service import Choice, Models

FIELDS = ("id", "context", "response", "dialogue", "references", "facts", "system", "language")
SINGULAR = {"reference": "references", "fact": "facts"}
MIN_SIMILARITY = 0.75
"""The smallest difflib ratio at which a name counts as a misspelled field."""


def score(
    metric: str, items: Dataset | Sequence[Item | Mapping[str, Any]] | Mapping[str, Any] | Any, *, encoder: str = "",
    lm: str = "", vectors: str = "", device: str = "auto", precision: str = "auto", batch_tokens: int | None = None,
    seed: int = 0, home: Path | str | None = None, offline: bool = False,
) -> dict[str, Column]:
    """Return the columns of a metric, a score per item: higher is better, NaN is missing.

    `metric` and the keywords are those of `harness run`. An item whose response is None or NaN has no score. Raise
    CannotScore if no item has what the metric needs. On a Dataset, a composite uses the same weights as in a run;
    on other items, the weights fitted on all datasets.

    >>> score("length", [{"context": ["Do you like tea?"], "response": "Yes, green tea."}, {"response": None}])
    {'length': array([ 3., nan])}
    """
    if not isinstance(metric, str):
        raise BadConfig(f"metric: expected one name, got {type(metric).__name__}; {how_to_name(metric)}")
    chosen_metric = registry.choose(metric, seed=seed).metric
    if isinstance(items, Dataset):
        parsed: Sequence[Item | None] = items.items
    else:
        parsed = [_item(index, row) for index, row in enumerate(_rows(items))]
    scored = [index for index, item in enumerate(parsed) if item]
    if not scored:
        raise CannotScore("there are no items with a response")
    dataset = items if isinstance(items, Dataset) else dataset_of(list(filter(None, parsed)))
    folder = home_folder(Path(home) if home else None)
    models = _models(folder, Choice(encoder, lm, vectors, device, precision, batch_tokens, download=not offline))
    columns = Scorer(dataset, models).scores(chosen_metric).columns
    scores = np.full((len(chosen_metric.card.columns), len(parsed)), np.nan)
    scores[:, scored] = [columns[name] for name in chosen_metric.card.columns]
    return dict(zip(chosen_metric.card.columns, scores, strict=True))


def how_to_name(metric: Any) -> str:
    if hasattr(metric, "card"):
        return "save the metric in a file and pass its path, such as './overlap.py'"
    return "call score once per metric"


_models = functools.lru_cache(maxsize=2)(Models)
"""Models by choice, kept between calls."""


def rows_of(table: Any) -> Any:
    """Return the rows of a DataFrame (of pandas or polars) or datasets.Dataset as dicts; other objects unchanged."""
    if hasattr(table, "to_dicts"):
        return table.to_dicts()
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        return table.to_dict("records")
    return table.to_list() if hasattr(table, "column_names") else table


def _rows(items: Any) -> Iterable[Any]:
    """Return the items of a list or table; unknown columns of a table are dropped."""
    rows = rows_of(items)
    if not isinstance(rows, Iterable):
        raise BadConfig(f"items: expected a list of items or a table, got {type(items).__name__}")
    if rows is not items:
        return map(_of_table, rows)
    item_list: Iterable[Any] = [items] if isinstance(items, Mapping | str) or _is_row(items) else items
    return [_of_table(row.to_dict()) if _is_row(row) else row for row in item_list]


def _is_row(value: Any) -> bool:
    return hasattr(value, "to_dict") and not hasattr(value, "columns")


def _of_table(row: Mapping[str, Any]) -> dict[str, Any]:
    if not {"response", "dialogue"} & row.keys():
        raise BadConfig(f"a table needs a column response (with context) or dialogue; found {', '.join(map(str, row))}")
    if both := next((pair for pair in SINGULAR.items() if row.keys() >= set(pair)), None):
        raise BadConfig(f"a table has the columns {' and '.join(both)}; remove one")
    return {field: value for name, value in row.items() if (field := SINGULAR.get(name, name)) in FIELDS}


def plain(value: Any) -> Any:
    """Return a value with lists instead of tuples and of arrays, which pandas reads from Parquet, at any depth."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _item(index: int, record: Item | Mapping[str, Any]) -> Item | None:
    """Convert a dict to an item, None if its response is missing; raise BadConfig with its position."""
    where = f"items[{index}]"
    if isinstance(record, Item):
        return record
    if not isinstance(record, Mapping):
        raise BadConfig(f"{where}: expected an Item or a dict, got {type(record).__name__}")
    if misspelled := next((name for name in record if name not in FIELDS and difflib.get_close_matches(
            str(name), FIELDS, n=1, cutoff=MIN_SIMILARITY)), None):
        raise BadConfig(f"{where}: unknown field {str(misspelled)!r:.60}; {nearest(str(misspelled), FIELDS)}")
    content_fields = {"response", "dialogue"} & record.keys()
    record = {name: plain(value) for name, value in record.items() if not _missing(value)}
    given = content_fields & record.keys()
    if not content_fields or len(given) > 1:
        raise BadConfig(f"{where}: expected either a response (with a context) or a dialogue")
    if not given:
        return None
    if "dialogue" in record:
        context, response = _turns(where, "dialogue", record, ("first", "second")), None
    else:
        speakers = (USER, SYSTEM) if len(_list(where, "context", record)) % 2 else (SYSTEM, USER)
        context = _turns(where, "context", record, speakers)
        response = Utterance(SYSTEM, _text(f"{where}.response", record["response"]))
    weighted = (entry if isinstance(entry, Mapping) else {"text": entry}
                for entry in _list(where, "references", record))
    references = tuple(Reference(text, _weight(f"{where}.references", entry.get("weight"))) for entry in weighted
                       if (text := _text(f"{where}.references", entry.get("text"))))
    return Item(str(record.get("id", index)), context, response, references,
                tuple(_text(f"{where}.facts", fact) for fact in _list(where, "facts", record)), record.get("system"),
                _text(f"{where}.language", record.get("language") or "en"))


def _missing(value: Any) -> bool:
    """Return True for None and for the NaN, NaT and NA of pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and math.isnan(value))


def _turns(where: str, field: str, record: Mapping[str, Any], speakers: tuple[str, str]) -> tuple[Utterance, ...]:
    """Return the turns, alternating between two speakers where speakers are missing."""
    turns, turn_list = [], _list(where, field, record)
    roles = [str(turn.get("role", "")).casefold() if isinstance(turn, Mapping) else "" for turn in turn_list]
    prompt_speakers = system_prompt_speakers(roles, chat=all(roles))
    for index, turn in enumerate(turn_list):
        if roles[index] in prompt_speakers:
            continue
        at = f"{where}.{field}[{index}]"
        turn_fields = turn if isinstance(turn, Mapping) else {"text": turn}
        speaker = _text(f"{at}.speaker", turn_fields.get("speaker", turn_fields.get("role", speakers[index % 2])))
        speaker = SPEAKERS.get(speaker.casefold(), speaker) if "role" in turn_fields else speaker
        turns.append(Utterance(speaker, _text(at, turn_fields.get("text", turn_fields.get("content")))))
    return tuple(turns)


def _list(where: str, field: str, record: Mapping[str, Any]) -> Sequence[Any]:
    """Return a list field: empty if missing; a string is split into lines."""
    value = record.get(field) or ()
    if isinstance(value, str):
        return [line for line in value.split("\n") if line.strip()]
    if not isinstance(value, Sequence):
        raise BadConfig(f"{where}.{field}: expected a list, got {type(value).__name__}")
    return value


def _weight(where: str, value: Any) -> float:
    """Return the weight of a reference, 1 if missing."""
    if _missing(value):
        return 1.0
    if not isinstance(value, numbers.Real):
        raise BadConfig(f"{where}: expected a number as weight, got {type(value).__name__}")
    return float(value)


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadConfig(f"{where}: expected a string, got {type(value).__name__}")
    return value.strip()
