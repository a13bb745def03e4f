"""`from harness import score`: the scores of a metric for items that stand in Python, without a run.

An item is one of `benchmarks.dataset`, or a dict as it comes from JSON; a pandas DataFrame or a `datasets.Dataset` has
one a row. Other names mean nothing, but in a dict one that looks misspelled is refused:

    {"context": [...], "response": "...", "references": [...], "facts": [...]}
    {"dialogue": [...], ...}                                     a whole dialogue

A turn is a text, {"speaker", "text"} or {"role", "content"}. Speakers that are not told alternate: back from the
response, as in the organisers' files; in a whole dialogue nobody is known as the system then, so every turn is scored.

The scores are those of `harness run`. They are not kept on disk; models are, from call to call in memory.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Reference, Utterance
from benchmarks.errors import nearest
from benchmarks.formats.official import SPEAKERS
from harness.errors import BadConfig
from harness.run.settings import home_folder
from harness.scoring.scorer import Scorer, dataset_of
from metrics import registry
from metrics.errors import CannotScore
from metrics.metric import Column
from metrics.models.service import Choice, Models

FIELDS = ("id", "context", "response", "dialogue", "references", "facts", "system", "language")
SINGULAR = {"reference": "references", "fact": "facts"}
"""What columns of a table may be called as well."""
ALIKE = 0.75
"""How like a field's name another one is, by difflib's ratio, to be taken for it misspelled."""


def score(
    metric: str, items: Dataset | Sequence[Item | Mapping[str, Any]] | Any, *, encoder: str = "", lm: str = "",
    vectors: str = "", device: str = "auto", precision: str = "auto", batch_tokens: int | None = None, seed: int = 0,
    home: Path | str | None = None, offline: bool = False,
) -> dict[str, Column]:
    """The columns of a metric, one score per item in their order: higher is better, NaN where there is none.

    `metric` is what `harness run --metric` takes, and the keywords are its flags with their defaults. CannotScore says
    what the metric needs and no item has. On a Dataset a composition has the weights it has in a run, on other items
    those of all that it was learned on.
    """
    chosen = registry.choose(metric, seed=seed).metric
    dataset = items if isinstance(items, Dataset) else dataset_of(list(map(_item, range(len(items)), _rows(items))))
    if not dataset.items:
        raise CannotScore("there are no items")
    folder = home_folder(Path(home) if home else None)
    models = _models(folder, Choice(encoder, lm, vectors, device, precision, batch_tokens, download=not offline))
    columns = Scorer(dataset, models).scores(chosen).columns
    return {name: columns[name] for name in chosen.card.columns}


@functools.lru_cache(maxsize=2)
def _models(home: Path, choice: Choice) -> Models:
    """The models service of a choice, so that a second call finds its networks loaded."""
    return Models(home, choice)


def _rows(items: Any) -> Any:
    """The rows of a table as dicts of the fields that it has; anything else as it is."""
    known = [*map(str, getattr(items, "columns", getattr(items, "column_names", ("response",))))]
    if not {"response", "dialogue"} & {*known}:
        raise BadConfig(f"a table has a column response (with context) or dialogue; this one has {', '.join(known)}")
    if hasattr(items, "to_dict") and hasattr(items, "columns"):  # a DataFrame, whose empty cells are NaN
        rows = items[[name for name in items.columns if SINGULAR.get(name, name) in FIELDS]].to_dict("records")
    elif hasattr(items, "column_names"):
        rows = items.select_columns([name for name in items.column_names if SINGULAR.get(name, name) in FIELDS])
    else:
        return items
    return [{SINGULAR.get(name, name): _plain(value) for name, value in row.items()
             if not (isinstance(value, float) and math.isnan(value))} for row in rows]


def _plain(value: Any) -> Any:
    """A cell's list where it is an array, as tables read from Parquet have them."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def _item(place: int, given: Item | Mapping[str, Any]) -> Item:
    """The item of a dict; BadConfig with the item's place where it is none."""
    where = f"items[{place}]"
    if isinstance(given, Item):
        return given
    if not isinstance(given, Mapping):
        raise BadConfig(f"{where}: should be an Item or a dict, is {type(given).__name__}")
    if wrong := next((name for name in given if name not in FIELDS and difflib.get_close_matches(
            str(name), FIELDS, n=1, cutoff=ALIKE)), None):
        raise BadConfig(f"{where}: no field {str(wrong)!r:.60}; {nearest(str(wrong), FIELDS)}")
    if ("response" in given) == ("dialogue" in given):
        raise BadConfig(f"{where}: should have either a response (with a context) or a dialogue")
    if "dialogue" in given:
        context, response = _turns(where, "dialogue", given, ("first", "second")), None
    else:
        back = (USER, SYSTEM) if len(_list(where, "context", given)) % 2 else (SYSTEM, USER)
        context = _turns(where, "context", given, back)
        response = Utterance(SYSTEM, _text(f"{where}.response", given["response"] or ""))
    return Item(str(given.get("id", place)), context, response, tuple(_references(where, given)),
                tuple(_text(f"{where}.facts", fact) for fact in _list(where, "facts", given)), given.get("system"),
                _text(f"{where}.language", given.get("language") or "en"))


def _turns(where: str, field: str, given: Mapping[str, Any], sides: tuple[str, str]) -> tuple[Utterance, ...]:
    """The turns; those that do not name their speaker are of the two sides by turns."""
    turns = []
    for place, turn in enumerate(_list(where, field, given)):
        at, side = f"{where}.{field}[{place}]", sides[place % 2]
        named = turn if isinstance(turn, Mapping) else {"text": turn}
        speaker = _text(f"{at}.speaker", named.get("speaker", named.get("role", side)))
        turns.append(Utterance(SPEAKERS.get(speaker.casefold(), speaker) if "role" in named else speaker,
                               _text(at, named.get("text", named.get("content")))))
    return tuple(turns)


def _references(where: str, given: Mapping[str, Any]) -> Iterator[Reference]:
    for place, reference in enumerate(_list(where, "references", given)):
        weighted = reference if isinstance(reference, Mapping) else {"text": reference}
        text = _text(f"{where}.references[{place}]", weighted.get("text"))
        if text.strip():
            yield Reference(text, float(weighted.get("weight", 1.0)))


def _list(where: str, field: str, given: Mapping[str, Any]) -> Sequence[Any]:
    """A list of a dict; none at all is an empty one, a text its lines."""
    value = given.get(field)
    if value is None:
        return ()
    if isinstance(value, str):
        return [line for line in value.split("\n") if line.strip()]
    if not isinstance(value, Sequence):
        raise BadConfig(f"{where}.{field}: should be a list, is {type(value).__name__}")
    return value


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadConfig(f"{where}: should be text, is {type(value).__name__}")
    return value.strip()
