"""The small studies: numbers by hand, published numbers, and end to end on the sample."""

import csv
import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.dataset import Quality
from harness.results.entries import DatasetEntry
from harness.run.correlate import Judged, TargetData
from harness.run.settings import Settings
from harness.statistics import audit
from harness.studies import StudyRequest, judges, mme_crs
from harness.studies.mme_crs import COLUMNS, system_means
from metrics.models import conversions
from tests import tiny
from tests.conftest import Invoke, make_dataset
from tests.judge_server import serving


def audit_rows(out: Path, dataset: str = "convai2-grade") -> dict[str, dict[str, str]]:
    with (out / "studies" / "judges" / "check.csv").open() as stream:
        return {row["name"]: row for row in csv.DictReader(stream) if row["dataset"] in (dataset, "toy")}


def test_an_audit_finds_a_judge_that_prefers_the_first_reply(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    """The audit states what each of two datasets cost."""
    with serving(lambda times: "first") as server:
        printed = invoke("judge", "audit", "judge:g-eval[temperature=0.5]", "--model", "toy", "--url", server.url,
                         "--dataset", "convai2-grade,topical-usr", "--sample", "40", "--price", "1,1",
                         "--out", tmp_path)
    assert {body["temperature"] for body in server.bodies} == {0.5}
    out = " ".join(printed.out.split())
    for dataset in ("convai2-grade", "topical-usr"):
        rows = audit_rows(tmp_path, dataset)
        assert (rows["position"]["value"], rows["position"]["flagged"]) == ("0.5", "True")
        assert float(rows["retest"]["value"]) == pytest.approx(1)
        assert float(rows["paraphrase"]["value"]) < 0.9, "the toy answers by the text of the question"
        assert rows["unread"]["flagged"] == "False"
        assert f"{dataset}: look at this" in out
    counts = re.findall(r"([\d,]+) questions in \d+ s; ([\d,]+) requests", out)
    assert [questions for questions, _ in counts] == [requests for _, requests in counts]
    assert sum(int(requests.replace(",", "")) for _, requests in counts) == len(server.bodies)
    assert "requests, about" in printed.err


def test_a_failed_audit_keeps_an_earlier_one_and_others_replace_it(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = tmp_path / "studies" / "judges"
    folder.mkdir(parents=True)
    (folder / "earlier.csv").write_text("a table of an earlier study\n")
    with serving(lambda times: "status 401") as server:
        audit_of = ("judge", "audit", "g-eval", "--model", "toy", "--url", server.url, "--dataset", "convai2-grade",
                    "--sample", "10", "--out", tmp_path)
        invoke(*audit_of, status=1)
        assert [path.name for path in folder.iterdir()] == ["earlier.csv"]
        server.script = lambda times: "first"
        invoke(*audit_of)
    assert sorted(path.name for path in folder.iterdir()) == ["check.csv", "exhibit.json", "judges.md"]


def test_an_audit_counts_questions_and_no_missing_answers(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    """The judge refuses a single question at first, and all but four when asked again."""
    before, again = iter(["status 400"]), iter(["first"] * 4)
    with serving(lambda times: next(again, "status 400") if times else next(before, "first")) as server:
        invoke("judge", "audit", "g-eval", "--model", "toy", "--url", server.url,
               "--dataset", "convai2-grade", "--sample", "40", "--out", tmp_path)
    rows = audit_rows(tmp_path)
    assert float(rows["unread"]["value"]) == pytest.approx(1 / (4 * int(rows["unread"]["items"])))
    assert int(rows["retest"]["items"]) <= 1
    assert rows["retest"]["note"] == audit.TOO_FEW_ANSWERS


def test_an_audit_omits_items_without_what_the_prompt_needs(
        home: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = make_dataset([f"reply {number}" for number in range(12)], [(1.0, 2.0 + number % 3) for number in range(12)])
    items = tuple(dataclasses.replace(item, references=item.references[number % 2:])
                  for number, item in enumerate(toy.items))
    monkeypatch.setattr(StudyRequest, "datasets", lambda _: [dataclasses.replace(toy, items=items)])
    prompt = tmp_path / "close.toml"
    prompt.write_text('title = "Close"\nanswer = "number"\nneeds = ["references"]\nturn = "{references} {response}"\n'
                      '[[qualities]]\nname = "close"\nlow = 1\nhigh = 5\n')
    with serving(lambda times: "first") as server:
        invoke("judge", "audit", prompt, "--model", "toy", "--url", server.url, "--dataset", "convai2-grade",
               "--out", tmp_path)
    assert (audit_rows(tmp_path)["unread"]["value"], audit_rows(tmp_path)["unread"]["items"]) == ("0.0", "6")


@pytest.mark.parametrize(("name", "low", "high", "verdict"), [
    ("verbosity", -0.09, 0.09, "within"), ("verbosity", -0.09, 1.27, "inconclusive"), ("verbosity", 0.11, 0.2, "look"),
    ("verbosity", -0.2, -0.11, "look"), ("retest", 0.9, 1.0, "within"), ("retest", 0.8, 1.0, "inconclusive"),
    ("unread", 0.0, 0.02, "within"), ("unread", 0.03, 0.05, "look"), ("kappa", 0.01, 0.2, "within"),
    ("kappa", -0.01, 0.2, "look")])
def test_a_check_is_within_its_limit_only_with_its_whole_interval(
        name: str, low: float, high: float, verdict: str) -> None:
    check = audit.Check(name, (low + high) / 2, low, high, *audit.RULES[name], 100)
    assert judges._line(check)[-1].startswith(verdict)


@pytest.mark.parametrize(("name", "value", "words"), [
    ("position", -0.2, "0.20 below one half"), ("position", 0.2, "0.20 above one half"),
    ("offset", -0.32, "0.32 of the scale lower than the ratings"), ("verbosity", -0.54, "lowers scores by 0.54"),
    ("length", 0.3, "raises scores by 0.30"), ("kappa", -0.1, "kappa −0.10")])
def test_a_flagged_check_names_the_direction_of_its_value(name: str, value: float, words: str) -> None:
    assert words in judges._sentence(audit.Check(name, value, value, value, *audit.RULES[name], 100))


@pytest.mark.parametrize(("model", "related", "others"), [
    ("o3-mini", "GPT4", "gemini-pro"), ("openai/gpt-4o", "chatgpt", "dialoGPT gpt2"), ("gpt-oss-20b", "o1", "t5"),
    ("meta-llama/Meta-Llama-3-8B", "llama-3.1-405b-instruct", "meena"), ("claude-opus-4", "Sonnet", "GPT4"),
    ("smollm2-135m", "SmolLM2", "llama"), ("QwQ-32B", "qwen2.5", "t5"), ("Phi-4-mini", "Phi3", "dolphin gemini")])
def test_families_are_of_one_developer(model: str, related: str, others: str) -> None:
    names = judges.related_names(model)
    assert re.search(names, related.casefold())
    assert not any(re.search(names, other.casefold()) for other in others.split())


def test_a_local_judge_is_audited(home: Path, tmp_path: Path, invoke: Invoke) -> None:
    folder = home / "models" / "tiny"
    folder.mkdir(parents=True)
    conversions.convert("gguf", "tiny", tiny.gguf(tmp_path / "tiny.gguf", length=8192), folder)
    invoke("judge", "audit", "relevance", "--lm", "tiny", "--dataset", "convai2-grade", "--sample", "6",
           "--out", tmp_path)
    rows = audit_rows(tmp_path)
    assert {"options", "paraphrase", "verbosity", "length", "position", "agreement", "kappa"} <= rows.keys()
    assert "retest" not in rows, "it reads probabilities"


UP, DOWN = [0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]


def target(values: dict[str, list[float]], dataset: str = "toy") -> TargetData:
    """Return four rated items; the first column of a metric has another name, as in a run."""
    human, groups = np.array(UP), np.zeros(4, dtype=np.intp)
    names = (("mme-crs", "mme-crs"), *((column, column) for column in values))
    return TargetData(dataset, Judged(Quality("overall", 0, 3), human[:, None], human), names,
                      np.array([human, *values.values()]), groups, groups)


def test_means_are_over_targets_that_all_systems_can_score() -> None:
    best, worst = target(dict.fromkeys(COLUMNS, UP) | {"mme-avg": DOWN}), target(dict.fromkeys(COLUMNS, DOWN))
    incomplete = target({column: DOWN for column in COLUMNS if column != "mme-avg"})
    rows = list(system_means("real data", [best, worst, incomplete]))
    assert {(row["column"], row["here"], row["targets"]) for row in rows if row["table"] == "Table 6"} == {
        ("mme-crs-single[strength=0.0]", 0.0, 2), ("mme-avg", -1.0, 2)}
    printed = {row["system"]: row["printed"] for row in rows if row["table"] == "Table 5"}
    assert (printed["MME-CRS"], printed["MME-CRS w/o RM+TCM"]) == (0.3104, 0.1107)
    assert not list(system_means("real data", [incomplete]))


def test_real_and_sample_data_are_never_averaged(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [DatasetEntry(name, name, "dev", "turn", origin, "", 1, 1, (), "", "")
               for name, origin in (("a", "sample"), ("b", "imported"), ("c", "fetched"))]
    targets = [target(dict.fromkeys(COLUMNS, values), name) for name, values in (("a", DOWN), ("b", UP), ("c", UP))]
    monkeypatch.setattr(StudyRequest, "scored", lambda *_: (SimpleNamespace(datasets=entries), targets, ()))
    findings = mme_crs.study(StudyRequest(Settings(dataset=("fed-turn",)), home, tmp_path))
    assert {(row["data"], row["targets"], row["here"]) for row in findings.objects["table"]} == {
        (mme_crs.DATA["real"], 2, 1.0), (mme_crs.DATA["sample"], 1, -1.0)}
    assert [grid.data for grid in findings.tables[:2]] == [mme_crs.DATA["real"], mme_crs.DATA["sample"]]


def test_impossible_studies_are_refused_in_one_line(tmp_path: Path, invoke: Invoke) -> None:
    for line, message in (
        ("dimension", "'dimensions'"), ("dimensions --seed -1", "--seed: should be 0 or more"),
        ("dimensions --limit 0", "--limit: should be 1 or more"), ("dimensions --metric bleu", "--metric"),
        ("dimensions --data sample --dataset esl", "3 qualities"),
        ("dailydialogpp --metric length --from nowhere", "nowhere has no dev.json and test.json"),
        ("dailydialogpp --metric length", "`harness fetch --corpora dailydialog_pp`"),
        ("discrimination --metric dynaeval[window=6]", "window"), ("discrimination --metric bleu", "--metric"),
        ("discrimination --metric random", "corpora"), ("judges --metric length --dataset convai2-grade", ""),
        ("mme-crs --dataset fed-dial --limit 4", "turn-level"),
    ):
        error = invoke("study", *line.split(), "--out", tmp_path, status=2).err
        assert message in error.splitlines()[-1], line
        assert error.count("\n") == 1 or not message, line
    assert not (tmp_path / "studies").exists()
