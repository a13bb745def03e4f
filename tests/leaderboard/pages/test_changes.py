"""Changes since an earlier run and their causes."""

from dataclasses import replace
from typing import Any

from harness.results.differences import causes, signature_causes, summary
from harness.results.rows import Results
from leaderboard.pages.changes import UNEXPLAINED, changes
from leaderboard.site import site
from tests.leaderboard.conftest import EMPTY, altered, read_csv

ENCODER = "all-MiniLM-L6-v2@53aa51172d14.a9d2b0"
DEB = {"metric": "deb", "revision": "1", "encoder": ENCODER, "negatives": "random", "weights deb": "deb@ac5ec123f754"}
AVERAGE = {"metric": "rank-average", "inputs": "deb+usr-dr-c", "deb: weights deb": "deb@ac5ec123f754",
           "weights rank-average": "rank-average@a26317a54dde"}


def moved(results: Results) -> Results:
    """Raise every value of the length control."""
    return replace(results, correlations=tuple(
        replace(row, value=row.value + 0.2) if row.metric == "length" else row for row in results.correlations))


def ran(results: Results, **fields: Any) -> Results:
    return replace(results, run=replace(results.run, **{"commit": "a" * 40, **fields}))


def why_on_fed_turn(before: Results, after: Results) -> str:
    return next(change.why for change in changes(before, after) if change.dataset == "fed-turn")


def test_signature_difference_has_kind_and_name() -> None:
    for old, change, kind in (
            (DEB, {"revision": "2"}, "code"),
            ({"code": "0123456789ab"}, {"code": "ba9876543210"}, "code"),
            (DEB, {"weights deb": "deb@966471a081a0"}, "weights"),
            (DEB, {"encoder": "all-MiniLM-L6-v2@53aa51172d15"}, "weights"),
            (DEB, {"encoder": "roberta-base@53aa51172d15"}, "options"),
            (DEB, {"encoder": f"{ENCODER} bf16"}, "options"),
            (DEB, {"negatives": "adversarial"}, "options"),
            ({"evaluate": "0.4.6"}, {"evaluate": "0.4.7"}, "environment"),
            ({"environment": "966471a081a0"}, {"environment": "b66471a081a0"}, "environment"),
            ({"prompt": "mine@966471a081a0"}, {"prompt": "mine@b66471a081a0"}, "options"),
            ({"sha256": "966471a081a0"}, {"sha256": "b66471a081a0"}, "data"),
            (AVERAGE, {"deb: weights deb": "deb@966471a081a0"}, "weights"),
            (AVERAGE, {"weights rank-average": "rank-average@966471a081a0"}, "weights")):
        (cause,) = signature_causes(old, {**old, **change})
        assert (cause.kind, [cause.name]) == (kind, [*change])
        assert not signature_causes(old, old)


def test_change_names_causes_of_its_dataset_and_metric(results: Results) -> None:
    before, options = altered(ran(results), "length", signature={"revision": "1"}), results.run.options
    items = altered(before, "fed-turn", fingerprint="f" * 64)
    for after, why in (
            (altered(before, "fed-turn", ratings_fingerprint="f"), "data: ratings"),
            (ran(before, options={**options, "limit": 9}), "options: limit"),
            (ran(before, options={**options, "ratings sha256": "f"}), "data: ratings sha256"),
            (altered(items, "length", signature={"revision": "2"}), "data: items; code: revision")):
        assert why_on_fed_turn(before, moved(after)) == why


def test_change_without_own_cause_names_those_of_the_run(results: Results) -> None:
    for fields, kind, name in (
            ({"version": "0.2.0"}, "code", "version of the harness"),
            ({"commit": "b" * 40}, "code", "commit of the harness"),
            ({"packages": {"scipy": "1.14.0", "numpy": "2.0.0"}}, "environment", "scipy"),
            ({"python": "3.12.0"}, "environment", "python")):
        after = moved(ran(results, **fields))
        (cause,) = causes(ran(results), after).run
        assert (cause.kind, cause.name) == (kind, name)
        assert why_on_fed_turn(ran(results), after).endswith(summary([cause]))


def test_unexplained_changes_come_first(results: Results) -> None:
    same_inputs = changes(ran(results), moved(ran(results, seed=8)))  # a seed changes no correlation
    assert {change.why for change in same_inputs} == {UNEXPLAINED}
    assert UNEXPLAINED not in {change.why for change in changes(results, moved(results))}, "the commit is unknown"
    partly = altered(moved(ran(results)), "fed-turn", ratings_fingerprint="f")
    reasons = [change.why == UNEXPLAINED for change in changes(ran(results), partly)]
    assert reasons == sorted(reasons, reverse=True)
    assert not changes(ran(results), ran(results))


def test_new_and_gone_correlations_are_listed(results: Results) -> None:
    less = replace(results, metrics=tuple(entry for entry in results.metrics if entry.name != "bleu"),
                   correlations=tuple(row for row in results.correlations if row.metric != "bleu"
                                      and not (row.metric == "length" and row.dataset == "fed-turn")))
    new, gone = changes(less, results), changes(results, less)
    assert [{change.why for change in listed} for listed in (new, gone)] == [{"new"}, {"gone"}]
    assert [change.new for change in new] == [change.old for change in gone]
    assert b"changes.html" in site(results, EMPTY)["index.html"]
    assert site(EMPTY, results)["changes.html"]


def test_sample_and_real_data_of_the_same_name_are_not_compared(mixed: Results) -> None:
    after = replace(mixed, datasets=tuple(replace(entry, origin="fetched") for entry in mixed.datasets))
    sample = [change for change in changes(mixed, moved(after)) if change.dataset.casefold() == "sample chat"]
    assert {change.origin for change in sample} == {"sample", "real"}
    assert {change.why for change in sample} == {"new", "gone"}


def test_changes_file_has_every_change(results: Results) -> None:
    rows = read_csv(site(moved(results), results)["changes.csv"])
    assert len(rows) == len(changes(results, moved(results)))
    assert all(float(row["new"]) - float(row["old"]) == float(row["difference"]) for row in rows)
