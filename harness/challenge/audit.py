"""The audit log: what was decided about which file, and why, as JSON lines that are only ever added to.

Two runs of the same thing say the same, so the second adds nothing. The only times in it are the dates of submissions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.storage.store import ratings_fingerprint
from harness.challenge.outcome import Outcome
from harness.challenge.rulebook import FILE
from harness.run import environment

NAME = "audit.jsonl"


def lengthened(outcome: Outcome, folder: Path) -> bytes:
    """The log in a folder with what a ranking decided added, unless the last one there decided just the same."""
    path = folder / NAME
    before = path.read_bytes() if path.is_file() else b""
    block = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in _entries(outcome)).encode()
    return before if before.endswith(block) else before + block


def _entries(outcome: Outcome) -> Iterator[dict[str, object]]:
    rules, facts = outcome.rules, environment.facts(outcome.rules.seed, "cpu", {}, "")
    yield {"event": "challenge", "title": rules.title, "version": facts.version, "commit": facts.commit,
           "packages": dict(facts.packages), FILE: _sha256(rules.folder / FILE), "rule": rules.rule,
           "counts": rules.counts, "submissions per team": rules.submissions or "any number", "missing": rules.missing,
           "sign": rules.sign, "empty": rules.empty, "opens": _day(rules.opens), "closes": _day(rules.closes),
           "draws": rules.draws, "seed": rules.seed, "private ratings": outcome.ground.ratings}
    for field in outcome.ground.fields:
        yield {"event": "dataset", "dataset": field.name, "items": len(field.dataset.items),
               "origin": field.dataset.origin, "fingerprint": field.dataset.fingerprint,
               "ratings": ratings_fingerprint(field.dataset.ratings), "private votes": field.joined,
               "rated": {each.quality.name: each.rated for each in field.judged}}
        if rules.empty == "drop" and field.empty:
            yield {"event": "dropped", "dataset": field.name, "why": "the response is empty",
                   "items": [field.dataset.items[place].id for place in field.empty]}
    yield from _decided(outcome)


def _decided(outcome: Outcome) -> Iterator[dict[str, object]]:
    for refused in sorted(outcome.refused, key=lambda submission: submission.name):
        yield {"event": "refused", "submission": refused.name, "sha256": refused.sha256, "why": list(refused.reasons)}
    for entry, total in zip(outcome.entries.entries, outcome.ranking.totals, strict=True):
        yield {"event": "taken", "submission": entry.name, "file": entry.submission.path.name, "sha256": entry.sha256,
               "date": _day(entry.submission.about.date), "value": round(total, 9), "missing": dict(entry.missing),
               "told": list(entry.told)}
    best = f"its best by the rule {outcome.rules.rule}" if outcome.rules.counts == "best" else "its last"
    own = outcome.ranking.places[outcome.rules.rule]
    for entry, place in zip(outcome.ranking.counting.entries, own, strict=True):
        yield {"event": "counts", "team": entry.submission.team, "submission": entry.name, "why": best,
               "value": round(place.value, 9), "rank": place.rank}


def _day(date: object) -> str | None:
    return None if date is None else str(date)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
