"""What moved since an earlier report, and why: every kind of cause seen on a hand-made pair of reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.results import files
from harness.results.rows import Results, Run, TrainingEntry
from leaderboard.blocks.tables import Facts, Page, Prose, Table
from leaderboard.model.causes import causes, parts, signature_causes
from leaderboard.model.changes import Changes, changes
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


def moved(results: Results, metric: str = "length", by: float = 0.2) -> Results:
    """The report with every value of a metric higher."""
    return replace(results, correlations=tuple(
        replace(row, value=row.value + by) if row.metric == metric else row for row in results.correlations))


def signed(results: Results, metric: str, signature: str) -> Results:
    return replace(results, metrics=tuple(
        replace(entry, signature=signature) if entry.name == metric else entry for entry in results.metrics))


def ran(results: Results, **more: Any) -> Results:
    return replace(results, run=replace(results.run, **more))


def known(results: Results) -> Results:
    """The report of a run whose code is known."""
    return ran(results, commit="a" * 40)


def texts(page: Page) -> str:
    found: list[str] = [page.title, page.lead]
    for section in page.sections:
        found.append(section.title)
        for block in section.blocks:
            if isinstance(block, Prose):
                found.append(block.text)
            elif isinstance(block, Facts):
                found += [f"{term}: {cell.text}" for term, cell in block.pairs]
            elif isinstance(block, Table):
                found += [block.caption, *(" | ".join(cell.text for cell in row) for row in block.rows)]
    return "\n".join(found)


def test_a_signature_comes_apart() -> None:
    assert parts(DEB) == {"metric": "deb", "revision": "r1", "encoder": ENCODER, "negatives": "random",
                          "weights deb": "deb@ac5ec123f754"}
    assert parts(USR)["weights mlm"] == "mlm@61a5dcdfc9f5"
    assert parts(METEOR)["wordnet"] == "3568150222dc"
    assert parts("evaluate|r1|asked=evaluate:a|b|evaluate=0.4.6")["remark"] == "b"


def test_the_inputs_of_a_composition_keep_their_names() -> None:
    found = parts(AVERAGE)
    assert found["metric"] == "rank-average"
    assert found["deb: negatives"] == "random"
    assert found["usr-dr-c: metric"] == "usr"
    assert found["usr-dr-c: weights usr"] == "usr@540fbe10cbdd"
    assert found["weights rank-average"] == "rank-average@a26317a54dde"


@pytest.mark.parametrize(("old", "new", "kind", "name"), [
    (DEB, DEB.replace("|r1|", "|r2|"), "code", "revision"),
    ("mine|r1|code=0123456789ab", "mine|r1|code=ba9876543210", "code", "code"),
    (DEB, DEB.replace("ac5ec123f754", "966471a081a0"), "weights", "weights deb"),
    (DEB, DEB.replace("53aa51172d14", "53aa51172d15"), "weights", "encoder"),
    (METEOR, METEOR.replace("3568150222dc", "3568150222dd"), "weights", "wordnet"),
    (EXTREMA, EXTREMA.replace(".a9d2b0", ".a9d2b1"), "weights", "vectors"),
    (DEB, DEB.replace("all-MiniLM-L6-v2@53aa51172d14", "roberta-base@53aa51172d15"), "options", "encoder"),
    (DEB, DEB.replace(ENCODER, f"{ENCODER} bf16"), "options", "encoder"),
    (DEB, DEB.replace("random", "adversarial"), "options", "negatives"),
    ("st|r1|sentence-transformers=6.2.0", "st|r1|sentence-transformers=6.3.0", "environment",
     "sentence-transformers"),
    (AVERAGE, AVERAGE.replace("ac5ec123f754", "966471a081a0"), "weights", "deb: weights deb"),
    (AVERAGE, AVERAGE.replace("a26317a54dde", "966471a081a0"), "weights", "weights rank-average"),
])
def test_what_two_signatures_differ_in_has_a_kind(old: str, new: str, kind: str, name: str) -> None:
    (found,) = signature_causes(old, new)
    assert (found.kind, found.name) == (kind, name)
    assert not signature_causes(old, old)


def dataset_of(results: Results, **more: Any) -> Results:
    return replace(results, datasets=tuple(
        replace(entry, **more) if entry.name == "fed-turn" else entry for entry in results.datasets))


@pytest.mark.parametrize(("change", "own"), [
    (lambda results: dataset_of(results, fingerprint="f" * 64), [("data", "items")]),
    (lambda results: dataset_of(results, ratings=301), [("data", "ratings")]),
    (lambda results: signed(results, "length", "length|r2"), [("code", "revision")]),
    (lambda results: ran(results, options={**results.run.options, "limit": 9}), [("options", "limit")]),
    (lambda results: ran(results, options={**results.run.options, "ratings sha256": "f"}),
     [("data", "ratings sha256")]),
    (lambda results: signed(dataset_of(results, fingerprint="f" * 64), "length", "length|r2"),
     [("data", "items"), ("code", "revision")]),
])
def test_a_cell_that_moved_has_the_causes_that_are_its_own(
        results: Results, change: Callable[[Results], Results], own: list[tuple[str, str]]) -> None:
    before = signed(known(results), "length", "length|r1")
    found = changes(before, moved(change(before)))
    move = next(move for move in found.changed if move.new.dataset == "fed-turn")
    assert [(cause.kind, cause.name) for cause in move.own] == own
    assert not move.unexplained


def test_people_who_agree_otherwise_have_voted_otherwise(results: Results) -> None:
    after = replace(results, reliability=tuple(replace(row, value=row.value + 0.1) for row in results.reliability))
    (found,) = causes(results, after).datasets["fed-turn"]
    assert found.detail == "other reliability on Overall"


@pytest.mark.parametrize(("more", "kind", "name"), [
    ({"version": "0.2.0"}, "code", "version of the harness"), ({"commit": "b" * 40}, "code", "commit of the harness"),
    ({"packages": {"scipy": "1.14.0", "numpy": "2.0.0"}}, "environment", "scipy"),
    ({"python": "3.12.0"}, "environment", "python"), ({"platform": "Darwin"}, "environment", "platform"),
    ({"device": "cuda bf16"}, "environment", "device"), ({"seed": 8}, "options", "seed"),
])
def test_what_the_whole_run_has_is_named_where_a_cell_has_nothing_of_its_own(
        results: Results, more: dict[str, Any], kind: str, name: str) -> None:
    found = changes(known(results), moved(ran(known(results), **more)))
    (cause,) = found.causes.run
    assert (cause.kind, cause.name) == (kind, name)
    assert all(not move.own and move.kinds == (kind,) for move in found.changed)
    assert bool(found.unexplained) == (kind == "options"), "a seed moves no value"


def test_weights_say_how_their_training_differed(results: Results) -> None:
    entry = TrainingEntry("deb", ("length",), "e", "ac5ec123f754" + "0" * 52, ("c",), 0, 100, 90, "cpu", 1.0, "t", None,
                          ())
    old = replace(signed(results, "length", DEB), trainings=(entry,))
    new = replace(signed(results, "length", DEB.replace("ac5ec123f754", "966471a081a0")),
                  trainings=(replace(entry, digest="966471a081a0" + "0" * 52, seed=1, kept=80),))
    (cause,) = causes(old, new).metrics["length"]
    assert cause.detail == "trained with seed 0 → 1, best step 90 → 80"


def test_same_inputs_and_another_number_is_called_out_before_everything_else(results: Results) -> None:
    page = changes_page.compare(known(results), moved(known(results)))
    assert page.sections[0].title == "Same inputs, other number"
    assert "This must not happen" in texts(page)
    assert {block.sample for block in page.sections[0].blocks if isinstance(block, Table)} == {True, False}
    assert "the code may differ" in texts(changes_page.compare(results, moved(results))), "no commit is known"


def test_nothing_moved_says_so(results: Results) -> None:
    page = changes_page.compare(known(results), known(results))
    assert [section.anchor for section in page.sections[:2]] == ["short", "why"]
    assert "Nothing: data, code, weights, options and environment are the same" in texts(page)
    assert "Changed: 0, of them 0 beyond" in texts(page)
    assert "Same inputs, other number: 0" in texts(page)
    assert not changes(known(results), known(results)).changed


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
    assert gone.metrics == ((), ("bleu",))
    assert new.metrics == (("bleu",), ())
    assert {gap.why for gap in gone.gone} == {"the metric is not in that run", "not scored in this run"}
    assert [(gap.row, gap.why) for gap in new.new] == [(gap.row, gap.why) for gap in gone.gone]
    assert "bleu" in texts(changes_page.compare(results, less))


def test_the_sample_is_never_held_against_real_data_of_the_same_name(results: Results) -> None:
    after = replace(results, datasets=tuple(replace(entry, origin="fetched") for entry in results.datasets))
    found = changes(results, moved(after))
    assert {move.new.dataset for move in found.changed}.isdisjoint({"Sample Chat", "sample chat"})
    assert {(gap.origin, gap.why) for gap in found.gone} == {("sample", "that run has real data under this name")}
    assert found.datasets == (("Sample Chat", "sample chat"), ("Sample Chat (sample)", "sample chat (sample)"))


def test_ranks_are_compared_among_the_columns_that_both_boards_rank(results: Results) -> None:
    """Of length, x|y, bleu1 and bleu2 the second goes: bleu1 has rank 2 instead of 3, and did not rise."""
    def without(rows: Any) -> Any:
        kept = (row for row in rows if row.column != "x|y")
        return tuple(replace(row, rank=row.rank - 1) if row.rank and row.rank > 1 and row.board == "test"
                     and row.origin == "real" else row for row in kept)
    after = replace(results, ranking=without(results.ranking))
    ranking = next(one for one in changes(results, after).boards if (one.board.name, one.board.origin)
                   == ("test", "real"))
    assert [shift.up for shift in ranking.rows] == [0, 0, 0]
    assert [key[1] for key, _ in ranking.left] == ["x|y"]
    swapped = tuple(replace(row, rank={1: 3, 3: 1}.get(row.rank or 0, row.rank)) if row.board == "test" else row
                    for row in results.ranking)
    moves = {shift.column[1]: shift.up for one in changes(results, replace(results, ranking=swapped)).boards
             if (one.board.name, one.board.origin) == ("test", "real") for shift in one.rows}
    assert moves == {"length": -2, "x|y": 0, "bleu1": 2, "bleu2": 0}


def test_the_page_stands_in_the_site_and_its_file_has_every_cell(results: Results) -> None:
    found = site(moved(results), results)
    assert b"changes.html" in found["index.html"]
    rows = list(csv.DictReader(io.StringIO(found["changes.csv"].decode())))
    assert len(rows) == len(changes(results, moved(results)).changed)
    assert all(float(row["new"]) - float(row["old"]) == float(row["difference"]) for row in rows)
    assert "changes.html" not in site(results)
    assert site(moved(results), results) == found


def test_hostile_names_are_escaped_in_the_picture(results: Results) -> None:
    page = changes_page.compare(results, moved(results))
    pictures = [block for section in page.sections for block in section.blocks if hasattr(block, "svg")]
    assert pictures
    assert all("<script" not in picture.svg and "style=" not in picture.svg and 'role="img"' in picture.svg
               for picture in pictures)


def test_an_empty_report_can_be_held_against_another(results: Results) -> None:
    empty = Results(Run("0", None, 0, "cpu", {}, "3.11", "Linux", {}), (), (), (), ())
    found: Changes = changes(empty, results)
    assert len(found.new) == len({(row.dataset, row.quality, row.metric, row.column)
                                       for row in results.correlations
                                       if row.statistic == "spearman" and row.value == row.value})
    assert changes_page.compare(results, empty).sections
    assert changes_page.compare(empty, empty).sections


def folder(results: Results, place: Path) -> Path:
    """Write a report as a run does."""
    files.write(results, place / "report")
    return place


@pytest.mark.parametrize("inner", ["", "report"])
def test_the_terminal_tells_the_same_of_a_folder_of_results_or_of_a_report(
        results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str], inner: str) -> None:
    old, new = folder(known(results), tmp_path / "old"), folder(moved(known(results)), tmp_path / "new")
    assert main(["report", "--out", str(new), "--against", str(old / inner)]) == 0
    text = capsys.readouterr().out
    assert "SAME INPUTS, OTHER NUMBER" in text
    assert "This must not happen" in text
    assert max(map(len, text.splitlines())) <= 110
