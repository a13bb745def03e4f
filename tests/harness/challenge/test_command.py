"""The commands, as a new organiser types them: from nothing to pages; and the challenge that is shipped."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness import cli
from harness.challenge import rulebook
from harness.errors import BadConfig
from harness.results import files
from harness.results.exhibits import csv_of, markdown
from harness.results.rows import Exhibit, Grid
from tests.conftest import ROOT
from tests.harness.challenge.folders import challenge, items, submit, three_teams


def test_the_walk_through_ends_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/tutorial-organiser.md").read_text()
    (block,) = re.findall(r"<!-- walk-through -->\n```sh\n(.*?)```", page, re.DOTALL)
    assert [cli.main(shlex.split(line)[1:]) for line in block.splitlines()] == [0, 1, 1, 1], "one submission is refused"
    told = capsys.readouterr().out
    assert "5 taken, 1 refused" in told
    page = (tmp_path / "my-challenge" / "site" / "challenge.html").read_text()
    for words in ("Official table", "under every rule", "historic treatment", "team-e/1", "Spearman between"):
        assert words in page
    assert "<svg" in page
    board = (tmp_path / "my-challenge" / "site" / "index.html").read_text()
    assert board == page, "the official page is the entry page"
    team = (tmp_path / "my-challenge" / "site" / "metric" / "team-a.html").read_text()
    assert not any(words in team for words in ("harness run --metric", "nothing but the dialogue", "submit.html"))
    assert (tmp_path / "my-challenge" / ".gitignore").read_text() == "private/\n"
    first = (tmp_path / "my-challenge" / "ranking" / "official.csv").read_bytes()
    assert cli.main(["challenge", "rank", "my-challenge", "--allow-refused"]) == 0
    assert (tmp_path / "my-challenge" / "ranking" / "official.csv").read_bytes() == first


def test_private_ratings_and_texts_stay_off_the_pages(tmp_path: Path) -> None:
    root = challenge(tmp_path / "own")
    three_teams(root)
    submit(root, "markup", 1, {}, 'name = "A"\ndescription = "<script>alert(1)</script>"\n')
    assert cli.main(["challenge", "publish", str(root)]) == 1
    paths = [path for name in ("site", "ranking") for path in (root / name).rglob("*") if path.is_file()]
    everything = "".join(path.read_text(errors="replace") for path in paths)
    assert "the secret of" not in everything
    assert "<script>alert" not in everything
    assert "private" not in {path.name for path in (root / "site").rglob("*")}


def test_the_shipped_challenge_draws_its_boards_from_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["challenge", "publish", "dstc10-track5"]) == 0
    report = files.read(tmp_path / "dstc10-track5" / "ranking" / "report")
    first = {(row.board, row.rule): (row.column, round(row.value, 4)) for row in report.ranking if row.rank == 1}
    assert first["test", "test"] == ("Team 5", 0.2964)
    assert first["test", "dev"][0] == "Team 1"
    assert first["dev", "dev"][0] == "Team 7"
    page = (tmp_path / "dstc10-track5" / "site" / "challenge.html").read_text()
    assert "Who wins under which rule" in page
    assert cli.main(["challenge", "validate", "dstc10-track5"]) == 0


def test_what_cannot_be_done_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["challenge", "rank", "dstc10-track6"]) == 2
    assert "did you mean 'dstc10-track5'" in capsys.readouterr().err
    assert cli.main(["challenge", "template", "dstc10-track5"]) == 2
    root = challenge(tmp_path / "own")
    before = (root / "challenge.toml").read_bytes()
    assert cli.main(["challenge", "init", str(root), "--example"]) == 2
    assert (root / "challenge.toml").read_bytes() == before
    three_teams(root)
    (root / "challenge.toml").write_bytes(b'submissions = 1\ncounts = "last"\n' + before)
    capsys.readouterr()
    assert cli.main(["challenge", "validate", str(root)]) == 1
    assert "note: the last valid one of a team's first 1 counts" in capsys.readouterr().out


def test_the_template_is_written_anew_from_the_rules(tmp_path: Path) -> None:
    root = challenge(tmp_path / "own")
    edited = "\n".join(('submissions = 3', "public = 0.25", 'counts = "last"', 'missing = "leave-out"',
                        "closes = 2026-03-31"))
    (root / "challenge.toml").write_text(edited + "\n" + (root / "challenge.toml").read_text())
    (root / "private" / "ratings.csv").unlink()
    assert cli.main(["challenge", "template", str(root)]) == 0
    assert (root / "template.csv").read_text() == "".join(f"{one}\n" for one in (
        "dialogue_id,score", *(f"{name}," for name in items())))
    page = (root / "README.md").read_text()
    for words in ("first (overall), second (overall, wit)", "may hand in 3", "highest number", "is left out",
                  "up to 2026-03-31", "ranked on 25 % of the contexts", "mean over all qualities",
                  "a cluster is parted"):
        assert words in page


def test_the_two_phases_of_the_tutorial_are_read(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial-organiser.md").read_text()
    (block,) = re.findall(r"<!-- two-phases -->\n```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "challenge.toml").write_text(block)
    first, second = rulebook.phases(tmp_path)
    assert [[own.card.name for own in rules.own] for rules in (first, second)] == [["tea-dev"], ["tea-test"]]
    assert (first.submissions, second.submissions, second.per_day, second.public) == (20, 5, 3, 0.3)
    assert rulebook.opened(second) == ()
    (tmp_path / "challenge.toml").write_text(block.replace('datasets = ["tea-test"]', ""))
    assert [line[:43] for line in rulebook.opened(rulebook.read(tmp_path, "test"))] == [
        "tea-dev: the part that test hides is open in"[:43]]
    (tmp_path / "challenge.toml").write_text(block.replace('"test"', '"development"'))
    with pytest.raises(BadConfig, match="a name of its own"):
        rulebook.phases(tmp_path)


def test_tables_mark_nothing_up_and_calculate_nothing() -> None:
    assert csv_of([("=1+1", "@x", -1.5, "−0.5")]) == "'=1+1,'@x,-1.5,−0.5\n".encode()
    grid = Grid("refused", "Refused", ("who",), (("[a](b) <i> | *c*\nd",),), "x")
    lines = markdown(Exhibit("challenge", "challenge", "T", "L", "", (grid,))).decode().splitlines()
    assert r"| \[a\]\(b\) \<i\> \| \*c\* d |" in lines
