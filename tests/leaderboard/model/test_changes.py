"""What moved since an earlier report, and why: every kind of cause seen on a hand-made pair of reports."""

import csv
import io
from dataclasses import replace
from typing import Any

from harness.results.rows import Results, Run
from leaderboard.model.causes import parts, signature_causes
from leaderboard.model.changes import changes
from leaderboard.pages import changes as changes_page
from leaderboard.site import site

# As they stand in reports of runs on real data.
ENCODER = "all-MiniLM-L6-v2@53aa51172d14.a9d2b0"
DEB = f"deb|r1|encoder={ENCODER}|negatives=random|weights=deb@ac5ec123f754"
USR = f"usr|r1|encoder={ENCODER}|weights=usr@540fbe10cbdd|weights=mlm@61a5dcdfc9f5"
METEOR = "meteor|r1|references=standard|alpha=0.9|beta=3.0|gamma=0.5|wordnet=3568150222dc"
EXTREMA = f"vector-extrema|r1|vectors=input embeddings of {ENCODER}|references=standard"
AVERAGE = (f"rank-average|r1|inputs=deb+usr-dr-c|input=deb|{DEB}|input=usr-dr-c|{USR}"
           "|weights=rank-average@a26317a54dde")


def moved(results: Results, by: float = 0.2) -> Results:
    """The report with every value of the length control higher."""
    return replace(results, correlations=tuple(
        replace(row, value=row.value + by) if row.metric == "length" else row for row in results.correlations))


def signed(results: Results, signature: str) -> Results:
    return replace(results, metrics=tuple(
        replace(entry, signature=signature) if entry.name == "length" else entry for entry in results.metrics))


def ran(results: Results, **more: Any) -> Results:
    """The report of a run whose code is known, and what else."""
    return replace(results, run=replace(results.run, **{"commit": "a" * 40, **more}))


def dataset_of(results: Results, **more: Any) -> Results:
    return replace(results, datasets=tuple(
        replace(entry, **more) if entry.name == "fed-turn" else entry for entry in results.datasets))


def test_what_two_signatures_differ_in_has_a_kind() -> None:
    """A composition's inputs keep their names, and an option may hold a bar."""
    assert parts("evaluate|r1|asked=evaluate:a|b|evaluate=0.4.6")["remark"] == "b"
    for old, change, kind, name in (
            (DEB, ("|r1|", "|r2|"), "code", "revision"), (AVERAGE, ("usr@540", "usr@541"), "weights",
                                                          "usr-dr-c: weights usr"),
            ("mine|r1|code=0123456789ab", ("0123456789ab", "ba9876543210"), "code", "code"),
            (DEB, ("ac5ec123f754", "966471a081a0"), "weights", "weights deb"),
            (DEB, ("53aa51172d14", "53aa51172d15"), "weights", "encoder"),
            (METEOR, ("3568150222dc", "3568150222dd"), "weights", "wordnet"),
            (EXTREMA, (".a9d2b0", ".a9d2b1"), "weights", "vectors"),
            (DEB, ("all-MiniLM-L6-v2@53aa51172d14", "roberta-base@53aa51172d15"), "options", "encoder"),
            (DEB, (ENCODER, f"{ENCODER} bf16"), "options", "encoder"),
            (DEB, ("random", "adversarial"), "options", "negatives"),
            ("evaluate|r1|evaluate=0.4.6", ("0.4.6", "0.4.7"), "environment", "evaluate"),
            (AVERAGE, ("ac5ec123f754", "966471a081a0"), "weights", "deb: weights deb"),
            (AVERAGE, ("a26317a54dde", "966471a081a0"), "weights", "weights rank-average")):
        (cause,) = signature_causes(old, old.replace(*change))
        assert (cause.kind, cause.name) == (kind, name)
        assert not signature_causes(old, old)


def test_a_cell_that_moved_has_the_causes_that_are_its_own_else_those_of_the_whole_run(results: Results) -> None:
    before = signed(ran(results), "length|r1")
    for after, own in (
            (dataset_of(before, ratings_fingerprint="f"), [("data", "ratings")]),
            (ran(before, options={**results.run.options, "limit": 9}), [("options", "limit")]),
            (ran(before, options={**results.run.options, "ratings sha256": "f"}), [("data", "ratings sha256")]),
            (signed(dataset_of(before, fingerprint="f" * 64), "length|r2"),
             [("data", "items"), ("code", "revision")])):
        move = next(move for move in changes(before, moved(after)).changed if move.new.dataset == "fed-turn")
        assert [(cause.kind, cause.name) for cause in move.own] == own
        assert not move.unexplained
    for more, kind, name in (
            ({"version": "0.2.0"}, "code", "version of the harness"),
            ({"commit": "b" * 40}, "code", "commit of the harness"),
            ({"packages": {"scipy": "1.14.0", "numpy": "2.0.0"}}, "environment", "scipy"),
            ({"python": "3.12.0"}, "environment", "python"), ({"seed": 8}, "options", "seed")):
        both = changes(ran(results), moved(ran(results, **more)))
        (cause,) = both.causes.run
        assert (cause.kind, cause.name) == (kind, name)
        assert all(not move.own and move.kinds == (kind,) for move in both.changed)
        assert bool(both.unexplained) == (kind == "options"), "a seed moves no value"


def test_same_inputs_and_another_number_is_called_out_before_everything_else(results: Results) -> None:
    page = changes_page.compare(ran(results), moved(ran(results)))
    assert page.sections[0].title == "Same inputs, other number"
    assert "This must not happen" in str(page.sections)
    doubtful = changes_page.compare(results, moved(results))
    assert "the code may differ" in str(doubtful.sections), "no commit is known"
    same = changes_page.compare(ran(results), ran(results))
    assert [section.anchor for section in same.sections[:2]] == ["short", "why"]
    assert "Nothing: data, code, weights, options and environment are the same" in str(same.sections)


def test_beyond_the_earlier_interval_or_not(results: Results) -> None:
    def beyond(by: float) -> set[bool | None]:
        return {move.beyond for move in changes(results, moved(results, by=by)).changed}
    assert (beyond(0.04), beyond(0.06)) == ({False}, {True}), "the intervals reach 0.05 to either side"
    unknown = replace(results, correlations=tuple(replace(row, low=float("nan")) for row in results.correlations))
    assert {move.beyond for move in changes(unknown, moved(unknown)).changed} == {None}


def test_cells_that_are_new_or_gone_say_why_the_other_run_has_none(results: Results) -> None:
    less = replace(results, metrics=tuple(entry for entry in results.metrics if entry.name != "bleu"),
                   correlations=tuple(row for row in results.correlations if row.metric != "bleu"
                                      and not (row.metric == "length" and row.dataset == "fed-turn")))
    new, gone = changes(less, results), changes(results, less)
    assert (new.metrics, gone.metrics) == ((("bleu",), ()), ((), ("bleu",)))
    assert {gap.why for gap in gone.gone} == {"the metric is not in that run", "not scored in this run"}
    assert [(gap.row, gap.why) for gap in new.new] == [(gap.row, gap.why) for gap in gone.gone]
    empty = Results(Run("0", None, 0, "cpu", {}, "3.11", "Linux", {}), (), (), (), ())
    assert len(changes(empty, results).new) == len(new.new) + new.common
    assert changes_page.compare(results, empty).sections
    assert changes_page.compare(empty, empty).sections


def test_the_sample_is_never_held_against_real_data_of_the_same_name(mixed: Results) -> None:
    after = replace(mixed, datasets=tuple(replace(entry, origin="fetched") for entry in mixed.datasets))
    found = changes(mixed, moved(after))
    assert {move.new.dataset for move in found.changed}.isdisjoint({"Sample Chat", "sample chat"})
    assert {(gap.origin, gap.why) for gap in found.gone} == {("sample", "that run has real data under this name")}
    assert found.datasets == (("Sample Chat", "sample chat"), ("Sample Chat (sample)", "sample chat (sample)"))


def test_ranks_are_compared_among_the_columns_that_both_boards_rank(results: Results) -> None:
    """Of length, x|y, bleu1 and bleu2 the second goes: bleu1 has rank 2 instead of 3, and did not rise."""
    less = tuple(replace(row, rank=row.rank - 1) if row.rank and row.rank > 1 and row.board == "test" else row
                 for row in results.ranking if row.column != "x|y")
    swapped = tuple(replace(row, rank={1: 3, 3: 1}.get(row.rank or 0, row.rank)) for row in results.ranking)
    for ranking, ups, left in ((less, {"length": 0, "bleu1": 0, "bleu2": 0}, ["x|y"]),
                               (swapped, {"length": -2, "x|y": 0, "bleu1": 2, "bleu2": 0}, [])):
        found = next(one for one in changes(results, replace(results, ranking=ranking)).boards
                     if one.board.name == "test")
        assert {shift.column[1]: shift.up for shift in found.rows} == ups
        assert [key[1] for key, _ in found.left] == left


def test_the_page_stands_in_the_site_and_its_file_has_every_cell(results: Results) -> None:
    found = site(moved(results), results)
    assert b"changes.html" in found["index.html"]
    rows = list(csv.DictReader(io.StringIO(found["changes.csv"].decode())))
    assert len(rows) == sum(change.origin == "real" for change in changes(results, moved(results)).changed)
    assert all(float(row["new"]) - float(row["old"]) == float(row["difference"]) for row in rows)
