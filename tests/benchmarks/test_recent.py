"""Sources of ratings from 2022 on: small records in each upstream's form, and the published files themselves."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Utterance
from benchmarks.sources.convert import convert as converted
from benchmarks.sources.recent import CONTROL
from benchmarks.storage import store
from benchmarks.storage.fetch import file_name
from harness.api.hub import export
from harness.errors import BadConfig
from metrics.models.service import Models
from metrics.registry import choose
from tests.conftest import ROOT, Invoke

DATA = Path(os.environ.get("HARNESS_REAL_DATA") or ROOT.parent / "shared" / "data") / "recent"
NAMES = registry.names("recent")
RATERS = {"dices-350": 123, "dices-expert": 1, "dialogue-eval-1": 173, "dialogue-eval-2": 138, "dialogue-eval-ice": 169,
          "mtrag": 7}


def convert(path: Path, name: str) -> Dataset:
    card = registry.card(name)
    return converted(card.sources[0].form, path, card)


def written(folder: Path, name: str, content: Any) -> Dataset:
    path = folder / file_name(registry.card(name).sources[0].url)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return convert(path, name)


def votes(dataset: Dataset, number: int = 0) -> dict[str, tuple[float, ...]]:
    return {rating.quality: rating.votes for rating in dataset.ratings if rating.item == dataset.items[number].id}


def test_dices_knows_raters_by_position(tmp_path: Path) -> None:
    record = {"id": "1", "instance": {"user_prompt": "USER: Hi\nthere\nLAMDA: Yo\nUSER: Tea?", "response": "No."},
              "annotations": {"safety": {"individual_human_scores": ["Yes", "Unsure", "No"]}}}
    dataset = written(tmp_path, "dices-350", {"instances": [record]})
    assert dataset.items[0].context == (Utterance(USER, "Hi\nthere"), Utterance(SYSTEM, "Yo"), Utterance(USER, "Tea?"))
    assert dataset.ratings[0].votes == (1.0, 0.5, 0.0)
    assert dataset.ratings[0].raters == ("r1", "r2", "r3")
    assert written(tmp_path, "dices-990", {"instances": [record]}).ratings[0].raters == ()


def test_dialogue_eval_leaves_out_the_control_and_hides_workers(tmp_path: Path) -> None:
    scores = dict.fromkeys(("robotic", "interesting", "fun", "consistent", "fluent", "repetitive", "topic"), "30")
    entry = {"dialogue": [{"round": "1", "user": "Hi", "bot": "Yo"}], "raw scores": scores}
    task = {"WorkerId": "A32TIY", "data": [{**entry, "model": "A"}, {**entry, "model": "QualityControl"}]}
    dataset = written(tmp_path, "dialogue-eval-1", [task, task])
    assert [item.system for item in dataset.items] == ["A", "A"]
    assert votes(dataset)["not robotic"] == (30.0,)
    assert {rating.raters for rating in dataset.ratings} == {("r1",)}
    assert "A32TIY" not in repr(dataset)


@pytest.mark.parametrize(("name", "workers", "below", "rho"), [
    ("dialogue-eval-1", 173, 170, 0.17), ("dialogue-eval-2", 138, 138, 0.17), ("dialogue-eval-ice", 169, 168, 0.0)])
def test_rating_the_control_low_hardly_goes_with_agreement(name: str, workers: int, below: int, rho: float) -> None:
    """Correlate each worker's distance of the control from the real bots with agreement on the real bots."""
    if not DATA.is_dir():
        pytest.skip("the recent data are absent")
    path = next(DATA.rglob(file_name(registry.card(name).sources[0].url)))
    scores: dict[str, dict[str, list[float]]] = {}
    for task in json.loads(path.read_text(encoding="utf-8")):
        for entry in task["data"]:
            mean = np.mean([float(score) for score in entry["z scores"].values()])
            scores.setdefault(task["WorkerId"], {}).setdefault(entry["model"], []).append(mean)
    gaps, agreement = [], []
    for worker, bots in scores.items():
        control = np.mean(bots.pop(CONTROL))
        gaps.append(np.mean([score for own in bots.values() for score in own]) - control)
        others = [np.mean([score for other in scores.keys() - {worker} for score in scores[other].get(bot, ())])
                  for bot in bots]
        agreement.append(np.corrcoef([np.mean(own) for own in bots.values()], others)[0, 1])
    assert (len(gaps), sum(gap > 0 for gap in gaps)) == (workers, below)
    assert spearmanr(gaps, agreement).statistic == pytest.approx(rho, abs=0.01)


def test_mrbench_turns_revealing_the_answer(tmp_path: Path) -> None:
    annotation = {"Mistake_Identification": "Yes", "Mistake_Location": "No", "Providing_Guidance": "To some extent",
                  "Revealing_of_the_Answer": "Yes (and the answer is correct)", "Actionability": "No",
                  "humanlikeness": "Yes", "Coherence": "Yes", "Tutor_Tone": "Neutral"}
    history = "Tutor: 2+2?\xa0\n\xa0Student: 5\nor 6\xa0\n\xa0Tutor: Sure?\xa0\n\xa0Student: Yes"
    record = {"conversation_history": history,
              "anno_llm_responses": {"GPT4": {"response": "It is 4.", "annotation": annotation}}}
    dataset = written(tmp_path, "mrbench", [record])
    assert [turn.speaker for turn in dataset.items[0].context] == [SYSTEM, USER, SYSTEM, USER]
    assert votes(dataset)["not revealing the answer"] == (0.0,)
    assert votes(dataset)["providing guidance"] == (1.0,)


def test_begin_has_no_vote_on_attribution_of_generic_replies(tmp_path: Path) -> None:
    rows = ["model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label",
            't5\twow\tTea is "hot\tHi\tYes\tFully attributable', "t5\twow\tTea\tHi\tOk\tGeneric"]
    dataset = written(tmp_path, "begin-wow", "\n".join(rows))
    assert dataset.items[0].facts == ('Tea is "hot',)
    assert votes(dataset) == {"attributable": (1.0,), "not generic": (1.0,)}
    assert votes(dataset, 1) == {"not generic": (0.0,)}


def test_gpt_abceval_turns_faults(tmp_path: Path, home: Path) -> None:
    names = ("self contradiction", "empathetic", "lack of empathy", "irrelevant", "ignore", "incorrect fact",
             "commonsense contradiction", "partner contradiction", "redundant")
    turn = {"user": "Hi", "system": "Yo", "behaviors": {name: {"human": [0, 1], "gpt": 1} for name in names}}
    dataset = written(tmp_path, "gpt-abceval", {"(1,2)_bot_a": [turn, turn]})
    assert [len(item.context) for item in dataset.items] == [1, 3]
    assert dataset.items[0].system == "bot_a"
    assert votes(dataset)["empathetic"] == (0.0, 1.0)
    assert votes(dataset)["not redundant"] == (1.0, 0.0)
    assert dataset.scores["gpt"]["gpt-abceval_00001|empathetic"] == 1.0
    assert dataset.scores["gpt"]["gpt-abceval_00001|not redundant"] == 0.0
    store.save(dataset, home)
    registry.know(home)
    columns = choose("scores:gpt-abceval.gpt").metric.score(dataset.items, Models(home))
    assert columns["scores:gpt-abceval.gpt@not redundant"].tolist() == [0.0, 0.0]


def test_published_judges_of_mtrag_are_metrics(tmp_path: Path, invoke: Invoke) -> None:
    if not DATA.is_dir():
        pytest.skip("the recent data are absent")
    assert "scores:mtrag.rl_f" in invoke("import", DATA / "mtrag").out
    assert "--metric scores:mtrag.rb_llm" in invoke("show", "mtrag").out
    run = ("run", "--dataset", "mtrag", "--metric", "scores:mtrag.rl_f", "--draws", "0", "--out", tmp_path / "out")
    rows = [json.loads(line) for line in invoke(*run, "--json").out.splitlines()]
    values = {row["quality"]: row["value"] for row in rows if row["statistic"] == "spearman"}
    assert (values["faithfulness"], values["appropriateness"]) == pytest.approx((0.582, 0.222), abs=0.0005)
    assert "rl_f" in invoke("run", "--dataset", "mtrag", "--metric", "scores:mtrag.rl", status=2).err
    invoke("verify", tmp_path / "out", "--out", tmp_path / "again")


@pytest.mark.parametrize("name", NAMES)
def test_published_files_are_read(name: str) -> None:
    if not DATA.is_dir():
        pytest.skip("the recent data are absent")
    card = registry.card(name)
    path = next(DATA.rglob(file_name(card.sources[0].url)))
    assert hashlib.sha256(path.read_bytes()).hexdigest() == card.sources[0].sha256
    dataset = convert(path, name)
    assert len(dataset.items) == card.size
    assert {rating.quality for rating in dataset.ratings} == {quality.name for quality in card.qualities}
    scales = {quality.name: quality for quality in card.qualities}
    assert all(scales[rating.quality].takes(vote) for rating in dataset.ratings for vote in rating.votes)
    assert len({rater for rating in dataset.ratings for rater in rating.raters}) == RATERS.get(name, 0)


def test_texts_without_a_licence_are_not_passed_on(tmp_path: Path) -> None:
    assert {name for name in NAMES if not registry.card(name).shareable} == {"deco", "deco-train", "gpt-abceval"}
    record = {"history": "Hi </UTT> Yo", "response": "Tea?", "system": "bot", "general_cs_raw": [1, 2, 3],
              "event_cs_raw": [3, 3, 3]}
    with pytest.raises(BadConfig, match="deco states no licence"):
        export(written(tmp_path, "deco", [record]), tmp_path / "out")
    assert not (tmp_path / "out").exists()
