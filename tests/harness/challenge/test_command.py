"""The commands as a new organiser uses them, from an empty folder to pages, and the shipped challenges."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from harness.challenge import rulebook
from harness.errors import BadConfig
from harness.results import files
from harness.results.exhibits import csv_of
from tests.conftest import ROOT, Invoke
from tests.harness.challenge.folders import challenge, edit, edit_items, git, submit, three_teams


def test_the_walk_through_of_the_tutorial_ends_in_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        invoke: Invoke) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    tutorial = (ROOT / "docs/tutorial-organiser.md").read_text()
    (block,) = re.findall(r"<!-- walk-through -->\n```sh\n(.*?)```", tutorial, re.DOTALL)
    printed = "".join(invoke(*shlex.split(line)[1:]).out for line in block.splitlines())
    assert not [line for line in printed.splitlines() if len(line) > 80 and str(tmp_path) not in line]
    assert "refused   team-e/refused-6\n         - when received" in printed
    root = tmp_path / "my-challenge"
    site = root / "site" / "development"
    page = (site / "challenge.html").read_text()
    assert page.index("Official table") < page.index("Similarity of") < page.index("under every rule")
    assert "team-e/refused-6" in page
    for text in (page, *((root / "ranking" / phase / "announcement.md").read_text()
                         for phase in ("development", "test"))):
        assert all(required in text for required in ("receipts.jsonl", "private/ratings.csv", "private/seed"))
    assert "harness challenge publish my-challenge --phase development" in (site / "methods.html").read_text()
    assert (site / "index.html").read_text() == page, "the official page is the entry page"
    assert "harness run --metric" not in (site / "metric" / "team-a.html").read_text()
    official = root / "ranking" / "development" / "official.csv"
    before = official.read_bytes()
    invoke("challenge", "rank", "my-challenge", "--phase", "development")
    assert official.read_bytes() == before


def test_private_ratings_and_texts_stay_off_the_pages(tmp_path: Path, invoke: Invoke) -> None:
    root = challenge(tmp_path / "own")
    three_teams(root)
    submit(root, "markup", 1, {}, 'name = "A"\ndescription = "<script>alert(1)</script>"\n')
    invoke("challenge", "publish", root, status=1)
    paths = [path for name in ("site", "ranking") for path in (root / name).rglob("*") if path.is_file()]
    content = "".join(path.read_text(errors="replace") for path in paths)
    assert "the secret of" not in content
    assert "<script>alert" not in content
    assert "private" not in {path.name for path in (root / "site").rglob("*")}


def test_the_shipped_challenge_has_boards_of_published_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                               invoke: Invoke) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    printed = invoke("challenge", "publish", "dstc10-track5").out
    assert "  test rule: " in printed
    report = files.read(tmp_path / "dstc10-track5" / "ranking" / "report")
    first = {(row.board, row.rule): (row.column, round(row.value, 4)) for row in report.ranking if row.rank == 1}
    assert first["test", "test"] == ("Team 5", 0.2964)
    assert (first["test", "dev"][0], first["dev", "dev"][0]) == ("Team 1", "Team 7")
    page = (tmp_path / "dstc10-track5" / "site" / "challenge.html").read_text()
    assert "0.1111" in page, "the value recomputed for Team 4, published as 0.1029"
    assert "**Team 5**" in (tmp_path / "dstc10-track5" / "site" / "LEADERBOARD.md").read_text()
    assert [(entry.ratings, entry.votes) for entry in report.datasets if entry.name == "convai2-grade"] == [(600, 3000)]
    invoke("challenge", "validate", "dstc10-track5")


@pytest.mark.parametrize(("name", "printed"), [("dstc11-track4", "Deep AM-FM"), ("dstc12-track1", "Llama-3-8B")])
def test_shipped_rules_rank_custom_tables_by_language_and_system(tmp_path: Path, invoke: Invoke, name: str,
                                                               printed: str) -> None:
    root = tmp_path / name
    assert printed in invoke("challenge", "publish", name, "--out", tmp_path / "print").out
    invoke("challenge", "init", root)
    edit(root, "draws = 200")
    missing = invoke("challenge", "validate", root, status=2).out
    files = sorted({f"data/{own.file.name}" for rules in rulebook.phases(root) for own in rules.custom})
    assert (root / ".gitignore").read_text().split() == ["private/", "ranking/", *files]
    for rules in rulebook.phases(root):
        (dataset,) = rules.custom
        assert dataset.file.name in missing
        qualities = [quality.name for quality in dataset.card.qualities]
        text = {"turn": {"context": "Well {}?", "response": "Yes."},
                "dialogue": {"dialogue": "user: Well {}?\nsystem: Yes."}}[dataset.card.level]
        rows = [{"item": f"{rules.phase}_{item}", "language": language,
                 **{name: words.format(item) for name, words in text.items()},
                 dataset.columns.get("system", "system"): ("one", "back-translation")[item % 2],
                 **dict.fromkeys(qualities, item // 6 % 2)}
                for item, language in enumerate(["en", "es", "zh"] * 8)]
        dataset.file.parent.mkdir(exist_ok=True)
        dataset.file.write_bytes(csv_of([tuple(rows[0]), *(tuple(row.values()) for row in rows)]))
        for team, sign in (("good", 1.0), ("bad", -1.0)):
            submit(root, f"{rules.phase}/{team}", 1, {row["item"]: sign * row[qualities[0]] for row in rows})
    (root / ".gitignore").unlink()
    for action in ("template", "validate"):
        notes = " ".join(invoke("challenge", action, root).out.split())
        assert all(f"{file} contains ratings" in notes for file in files)
    assert (root / ".gitignore").read_text().split() == ["private/", "ranking/", *files]
    assert (root / "README.md").read_text().count(" in `data/") == sum(
        {"": 1, "language": 3, "system": 2}[rules.by] for rules in rulebook.phases(root))
    assert invoke("challenge", "validate", root).out.count("2 accepted") == len(rulebook.phases(root))
    lead = invoke("challenge", "publish", root).out
    assert ("200 resamples" in lead) == (name == "dstc12-track1")
    for rules in rulebook.phases(root):
        head, first, second = csv.reader((root / "ranking" / rules.phase / "official.csv").read_text().splitlines())
        parts = {"": ("",), "language": ("-en", "-es", "-zh"), "system": ("-back-translation", "-one")}[rules.by]
        assert head[11:] == [f"{dataset.card.name}{part}|{quality.name}" for dataset in rules.custom
                             for part in parts for quality in dataset.card.qualities]
        assert [row[1] for row in (first, second)] == ["good", "bad"]
        assert {*map(float, first[11:])} == {1}
        assert {*map(float, second[11:])} == {0 if rules.statistic == "roc-auc" else -1}
        assert printed in (root / "site" / rules.phase / "challenge.html").read_text()


def test_impossible_commands_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    assert "'dstc10-track5'" in invoke("challenge", "rank", "dstc10-track6", status=2).err
    invoke("challenge", "template", "dstc10-track5", status=2)
    assert "harness challenge publish" in invoke("challenge", "init", tmp_path / "dstc10-track5").out
    root = challenge(tmp_path / "own")
    before = (root / "challenge.toml").read_bytes()
    invoke("challenge", "init", root, "--example", status=2)
    assert (root / "challenge.toml").read_bytes() == before


def test_a_new_challenge_has_two_phases_to_be_edited(tmp_path: Path, invoke: Invoke) -> None:
    root = tmp_path / "tea"
    invoke("challenge", "init", root)
    path = root / "challenge.toml"
    path.write_text(path.read_text().replace("# weights", "weights"))  # of a target of the second phase
    invoke("challenge", "validate", root)
    first, second = rulebook.phases(root)
    assert (first.submissions, second.submissions, second.per_day, second.public) == (20, 5, 3, 0.3)
    ignore = (root / ".gitignore").read_text()
    path.write_text(path.read_text().replace(f"opens = {second.opens}", "opens = 2999-01-01").replace(
        f"closes = {second.closes}", "closes = 2999-01-02").replace("ratings.csv", "votes.csv", 1).replace(
        "private/votes", "votes").replace("# blind", "statistic = 'pearson'\nblind"))
    (root / ".gitignore").write_text("mine\n" + ignore)
    invoke("challenge", "template", root)
    assert (root / ".gitignore").read_text().split() == [
        "mine", "private/", "ranking/", "data/talk-test.csv", "votes.csv"]
    assert all(words in (root / "README.md").read_text() for words in ("by Spearman", "by Pearson"))
    commented = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ") and " = " in line]
    path.write_text("\n".join(line for line in commented if "[[" not in line) + "\n" + path.read_text())
    assert rulebook.phases(root)[0].outliers == ("system-a",)
    path.write_text(path.read_text().replace('"test"', '"development"'))
    with pytest.raises(BadConfig, match="'development'"):
        rulebook.phases(root)


def test_template_covers_the_phases_whose_data_exist(tmp_path: Path, invoke: Invoke) -> None:
    root = tmp_path / "tea"
    invoke("challenge", "init", root)
    (root / "template-old.csv").touch()
    for flags, phases in (((), ("development", "test")), (("--phase", "development"), ("development",))):
        invoke("challenge", "template", root, *flags)
        assert tuple(re.findall(r"\*\*(\w+)\*\*", (root / "README.md").read_text())) == phases
        assert {path.name for path in root.glob("template*")} == {"template-development.csv", "template-test.csv"}
    (root / "data" / "talk-test.csv").unlink()
    assert "'talk-test'" in invoke("challenge", "template", root).out
    invoke("challenge", "template", root, "--phase", "test", status=2)
    assert "**development**" in (root / "README.md").read_text()


def test_private_files_with_special_characters_are_ignored(tmp_path: Path, invoke: Invoke) -> None:
    root = challenge(tmp_path / "own")
    git(root, "init", "--quiet")
    rules = (root / "challenge.toml").read_text()
    for name in ("votes [v2].csv", "#votes*.csv", "!votes?.csv", "a\\\\votes.csv", "votes.csv  "):
        (root / "challenge.toml").write_text(rules.replace("private/ratings.csv", name))
        invoke("challenge", "template", root)
        git(root, "check-ignore", "--quiet", "--", name.replace("\\\\", "\\"))


def test_validate_checks_rules_data_and_ratings(tmp_path: Path, invoke: Invoke) -> None:
    root = challenge(tmp_path / "own")
    with (root / "challenge.toml").open("a") as stream:
        stream.writelines(f'[[phase]]\nname = "{name}"\ndatasets = [{datasets}]\n'
                          for name, datasets in (("one", '"first"'), ("two", '"first", "second"')))
    ratings = root / "private" / "ratings.csv"
    before = ratings.read_text()

    def validated(status: int, *flags: str) -> str:
        return " ".join(invoke("challenge", "validate", root, *flags, status=status).out.split())

    for old, new, status, words in (
            ("item,", "item,", 0, ("first: 40 items", "80 votes on 40 items", "0 accepted, 0 refused", "first_000")),
            ("first_000,", "first_0x,", 2, ("line 2", "line 3", "'first_0x'", "and 1 more")),
            ("_007,overall", "_007,wot", 2, ("quality of first", "quality of second", "line 17")),
            ("first_001,overall", "first_001,overall,", 2, ("line 4 has 4 cells", "line 5 has 4 cells"))):
        ratings.write_text(before.replace(old, new))
        printed = validated(status)
        assert [word for word in words if word not in printed] == [], printed
    ratings.write_text(before)
    rules = (root / "challenge.toml").read_text()
    (root / "challenge.toml").write_text(rules.replace("second.json", "first.json"))
    assert validated(2).count("both first and second") == 1
    (root / "challenge.toml").write_text(rules)
    edit_items(root, lambda index, row: {"annotations": {"overall": [3]}}, "second")
    printed = validated(2, "--phase", "two")
    assert "'overall'" in printed
    assert "79 more" in printed
    edit(root, "blind = true")
    assert "data/second.json: contains ratings" in validated(2, "--phase", "two")
    edit_items(root, lambda index, row: {"context": "你有茶嗎", "response": "有茶", "annotations": {}}, "second")
    assert "second: 40 items are mostly in non-Latin letters" in validated(0, "--phase", "two")
