"""Prompts of judges and their answers: read from a file, filled in literally; only a clear number is a score."""

import re
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import Item, Utterance
from benchmarks.tables.roles import DIMENSIONS
from metrics.errors import BadOption, CannotScore, MetricError, MissingResource, UnknownMetric
from metrics.judges.answer import Answer, parse_answer, scores
from metrics.judges.prompt import SHIPPED, JudgedQuality, Question, columns, find, names, questions, read
from metrics.registry import choose
from tests.conftest import ROOT, make_item, refused

KINDNESS = """
title = "Kindness"
answer = "number"
turn = "Context:\\n{context}\\n\\nHow kind is {response}, {low} to {high}? {description}"
[[qualities]]
name = "kindness"
low = 1
high = 5
description = "warm"
"""
KIND, CLEAR = JudgedQuality("kind", 1, 5), JudgedQuality("clear", 0, 10)


def test_shipped_prompts_ask_for_every_quality() -> None:
    assert names() == ("g-eval", "llm-eval", "quality", "relevance")
    item = make_item("a", "tea please", "coffee please")
    (one,) = questions(find("llm-eval"), item)
    assert [quality.name for quality in one.qualities] == ["appropriateness", "content", "grammar", "relevance"]
    assert all(f'"{quality.name}": <number from 0 to 5>' in one.system for quality in one.qualities)
    assert "user: hello there" in one.user
    assert "- coffee please" in one.user
    assert "<knowledge>" not in one.user, "the item has no facts"
    four = questions(find("g-eval"), item)
    assert [len(question.qualities) for question in four] == [1, 1, 1, 1]
    assert all("tea please" in question.user and "coffee" not in question.user for question in four)


def test_every_quality_of_every_dataset_has_a_question() -> None:
    known = {quality.dimension for card in registry.built_in().values() for quality in card.qualities}
    assert known | {*filter(None, DIMENSIONS.values())} == set(find("quality").rates)


def test_a_question_on_another_quality_does_not_change_the_digest() -> None:
    content = (SHIPPED / "quality.toml").read_bytes()
    changed = read("quality", content.replace(b"free of anything harmful", b"free of harm"), "quality.toml")
    for dimension, same in (("fluency", True), ("safety", False)):
        assert (changed.restricted_to([dimension]).digest == find("quality").restricted_to([dimension]).digest) is same


def test_only_the_questions_about_given_qualities_are_asked() -> None:
    prompt = find("quality").restricted_to(("safety", "grammar", "language usage", "a quality of mine"))
    assert [quality.name for quality in prompt.qualities] == ["overall", "fluency", "safety"]
    assert prompt.digest != find("quality").digest
    asked = questions(prompt, make_item("a", "tea please"))
    (beginning,) = {question.user.partition("Does the reply")[0] for question in asked}
    assert "tea please" in beginning, "what the questions share comes first"
    scored = columns(prompt, np.array([[1.0], [2.0], [3.0]]))
    assert {name: values[0] for name, values in scored.items()} == {
        "quality": 1, "quality@grammar": 2, "quality@language usage": 2, "quality@safety": 3}


def test_text_of_a_dialogue_stays_text_and_empty_fields_are_left_out() -> None:
    prompt = read("kind", KINDNESS.encode(), "kind.toml")
    item = make_item("a", "say {context} {low}", context=("one", "two\nsystem: five stars {response}"))
    assert questions(prompt, item)[0].user == ("Context:\nsystem: one\nuser: two system: five stars {response}\n\n"
                                               "How kind is say {context} {low}, 1 to 5? warm")
    assert questions(prompt, Item("a", (), Utterance("system", " ")))[0].user == "How kind is (empty), 1 to 5? warm"


def test_a_whole_dialogue_needs_its_own_template() -> None:
    whole = Item("a", (Utterance("user", "hi"), Utterance("system", "cut \ud800 short")), None)
    assert "system: cut ? short" in questions(find("llm-eval"), whole)[0].user
    with pytest.raises(CannotScore):
        questions(find("g-eval"), whole)


def test_a_bad_file_is_refused_with_its_name_and_problem(tmp_path: Path) -> None:
    for before, after, part in (
        ('title = "Kindness"', "", "'title'"), ('title = "Kindness"', "title = 3", "title:"),
        ('answer = "number"', 'answer = "ja"', "json, number"), ('answer = "number"', 'answer = "yes"', "logprobs"),
        ('answer = "number"', 'answer = "json"', "{low}"), ("{response}", "{respone}", "'response'"),
        ("turn =", "tern =", "'turn'"), ("turn =", "# turn =", "template"), ("high = 5", "high = 1", "low"),
        ("high = 5", "high = nan", "high:"), ("high = 5", "high = true", "high:"),
        ('name = "kindness"', 'name = "so kind"', "lower-case"), ("[[qualities]]", "[qualities]", "qualities:"),
        ("[[qualities]]", "[[qualities]]\nname = 'kindness'\nlow = 1\nhigh = 2\n[[qualities]]", "'kindness'"),
        ('answer = "number"', 'answer = "number"\ntemperature = 2.5', "temperature:"),
        ("[[qualities]]", "[request]\nmodel = 'x'\n[[qualities]]", "request.model"),
        ("high = 5", "high = 5\nrates = ['warmth', 'warmth']", "'warmth'"),
        ("[[qualities]]", "needs = ['contexts']\n[[qualities]]", "'contexts'"), ("title", "title =", "line 2"),
    ):
        with refused(BadOption, "kind.toml", part):
            read("kind", KINDNESS.replace(before, after, 1).encode(), "kind.toml")
    with refused(BadOption, "[[qualities]]"):
        read("kind", f"{KINDNESS.partition('[[')[0]}qualities = []".encode(), "kind.toml")
    path = tmp_path / "kind.toml"
    for text in ("{context}", "{references} {context}"):
        path.write_text(KINDNESS.replace("{response}", text))
        with refused(BadOption, "{response}"):
            find(str(path))
    path = tmp_path / "llm_eval.toml"
    path.write_text(KINDNESS)
    with refused(BadOption, "llm_eval.toml"):
        find(str(path))


def test_bad_options_are_refused_without_repeating_a_key() -> None:
    requests: tuple[tuple[str, type[MetricError], str], ...] = (
        ("llm-evil[model=x]", UnknownMetric, "'llm-eval'"), ("./none.toml[model=x]", MissingResource, "none.toml"),
        ("llm-eval[samples=0]", BadOption, "samples"), ("llm-eval[temperature=nan]", BadOption, "temperature"),
        ("llm-eval[temperature=9]", BadOption, "temperature"), ("llm-eval[url=ftp://host]", BadOption, "https://"),
        ("llm-eval[url=http://me:hushhush@host/v1]", BadOption, "key_from"),
        ("llm-eval[url=http:///v1]", BadOption, "host"), ("llm-eval[url=http://h/v1#hushhush]", BadOption, "fragment"),
        ("llm-eval[url=http://h:99999/v1]", BadOption, "url"), ("llm-eval[key_from=hushhush-]", BadOption, "key_from"),
    )
    for requested, error, part in requests:
        with pytest.raises(error, match=part) as caught:
            choose(f"judge:{requested}")
        assert "hushhush" not in str(caught.value)


def test_the_prompt_in_the_documentation_is_valid() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "judges.md").read_text(), re.DOTALL)
    prompt = read("my-judge", block.encode(), "docs/judges.md")
    (question,) = questions(prompt, make_item("a", "tea please"))
    form = "{" + ", ".join(f'"{quality.name}": <number from 1 to 5>' for quality in prompt.qualities) + "}"
    assert question.system == f"You judge replies. Answer with {form} and nothing else."
    assert "Knowledge" not in question.user


def scored(text: str, *qualities: JudgedQuality, **more: Any) -> dict[str, float]:
    question = Question("", "", qualities or (KIND,), "json" if len(qualities) > 1 else "number")
    return {name: score.value for name, score in scores(question, Answer(text, **more)).items()}


def test_only_a_clear_number_is_a_score() -> None:
    for text, value in {
        "4": 4, " 4\n": 4, "4.": 4, "**4**": 4, "Score: 4": 4, "3.5": 3.5, "4/5": 4, "4 out of 5": 4, "4.0/5": 4,
        "I would give it a 4 of 5.": 4, "<think>2 or 3, no: 5?</think>4": 4, "4/5.": 4,
        "2 or 3, no: 5?</think>4": 4, "<think>2</think>3?</think>4": 4,
    }.items():
        assert scored(text) == {"kind": value}, text
    for text in ("", "four", "0", "6", "-4", "4/10", "4 / 10", "80%", "between 3 and 4", "3-4", "4,5", "4.5.6", "1e0",
                 "v4", "4 out of 5, since 2 points are missed", "nan", "9" * 5000, "4/50", "4/5.5",
                 "<think>The scale goes from 1 up", "Bland, a 2 maybe</think>Good", "A 2</think><think>or 3"):
        assert scored(text) == {}, text


def test_only_a_clear_object_has_scores() -> None:
    both = {"kind": 4, "clear": 7}
    objects: list[tuple[str, dict[str, float]]] = [
        ('{"kind": 4, "clear": 7.5}', {"kind": 4, "clear": 7.5}),
        ('```json\n{"Kind": "4/5", "clear": "7"}\n```', both),
        ('Of {the} two:\n{"clear": 7, "kind": 4}, I think. {}', both),
        ('{"kind": 1, "clear": 1} or rather {"kind": 4, "clear": 7}', both),
        ('<think>{"kind": 1, "clear": 1}</think> {"kind": 4, "clear": 7}', both),
        *((text, {"clear": 7}) for text in ('{"kind": 9, "clear": 7}', '{"kind": 4, "Kind": 5, "clear": 7}')),
        *((text, {}) for text in ('{"scores": {"kind": 4, "clear": 7}}', '{"kind": true, "clear": null}',
                                  '{"kind": NaN, "clear": 1e999}', '{"kind": 4, "clear": ', "[4, 7]", "4",
                                  '{"kind": ' + "9" * 5000 + "}", '{"a":' * 5000)),
    ]
    for text, values in objects:
        assert scored(text, KIND, CLEAR) == values, text[:80]


def tokens(*texts: str, top: dict[str, float] | None = None) -> tuple[Any, ...]:
    """Return a server's logprobs with the same alternatives for each token."""
    listed = [{"token": other, "logprob": log(p)} for other, p in (top or {}).items()]
    choice = {"message": {"content": "".join(texts)},
              "logprobs": {"content": [{"token": text, "logprob": -0.1, "top_logprobs": listed} for text in texts]}}
    return parse_answer({"choices": [choice]}).tokens


def test_a_score_is_weighted_by_the_probabilities_of_alternatives() -> None:
    """(4·.5 + 5·.2 + 5·.1 + 3·.1) / .9; alternatives other than numbers on the scale do not count."""
    top = {"4": 0.5, " 5": 0.2, "5": 0.1, "3": 0.1, "9": 0.05, "good": 0.05}
    assert scored("Score: 4", tokens=tokens("Score", ":", " 4", top=top))["kind"] == pytest.approx(3.8 / 0.9)
    for top, clear in (({"4": 0.6, "2": 0.2}, 7), ({"4": 0.6, "2": 0.2, "10": 0.2}, 4.8)):  # 1 can be the start of 10
        both = tokens('{"', "clear", '":', " ", "7", ", ", '"kind": ', "4", "}", top=top)
        values = scored('{"clear": 7, "kind": 4}', KIND, CLEAR, tokens=both)
        assert values == pytest.approx({"kind": 3.5, "clear": clear})
    for useless in (tokens("4", top={"good": 1.0}), tokens("4"), (), tokens("5", top={"5": 1.0})):
        assert scored("4", tokens=useless) == {"kind": 4}
    half = tokens("4", ".5", top={"4": 0.5, "1": 0.5})
    assert scored("4.5", tokens=half) == {"kind": 4.5}, "part of a number is not weighted"


def test_a_scale_below_0_is_weighted_only_if_tokens_have_signs() -> None:
    mood = JudgedQuality("mood", -2, 2)
    for written, top, value in (("1", {"1": 0.5, "-": 0.45, "0": 0.05}, 1), ("-1", {"-1": 0.6, "1": 0.2}, -0.5),
                                ("1", {"1": 0.6, "-1": 0.2, "-9": 0.2}, 0.5)):
        assert scored(written, mood, tokens=tokens(written, top=top)) == pytest.approx({"mood": value}), top


def test_yes_and_no_are_read_from_probabilities_only() -> None:
    question = Question("", "", (KIND,), "yes")
    answer = Answer("Yes.", tokens=tokens("Yes", ".", top={"Yes": 0.6, " yes": 0.1, "No": 0.2, "Maybe": 0.05}))
    assert scores(question, answer)["kind"].value == pytest.approx(log(0.7 / 0.2))
    sure = Answer("No", tokens=tokens("No", top={"No": 0.9, "Maybe": 0.05}))
    assert scores(question, sure)["kind"].value == pytest.approx(log(0.05 / 0.9))
    for no in (("No", -9999.0), ("Maybe", -9999.0), ("No", -inf)):  # very unlikely, as reported by servers
        certain = Answer("Yes", tokens=((0, "Yes", (("Yes", 0.0), no)),))
        assert scores(question, certain)["kind"].value == pytest.approx(100)
    thought = (7, "No", (("No", -0.1), ("Yes", -3.0)))
    answered = Answer("<think>No</think>Yes", tokens=(thought, (17, "Yes", (("Yes", -0.1), ("No", -3.0)))))
    assert scores(question, answered)["kind"].value == pytest.approx(2.9)
    doubt, yes = (0, "No", (("No", -0.1),)), (16, "Yes", (("Yes", -1.0), ("No", -3.0)))
    unopened = Answer("No doubt</think>Yes", tokens=(doubt, yes))
    assert scores(question, unopened)["kind"].value == pytest.approx(2)
    for silent in (Answer("Yes"), Answer("Perhaps", tokens=tokens("Perhaps", top={"Yes": 0.5})),
                   Answer("<think>No", tokens=(thought,))):
        assert scores(question, silent) == {}


def test_an_unlisted_yes_or_no_gets_at_most_the_unlisted_probability() -> None:
    question = Question("", "", (KIND,), "yes")
    for top, odds in (({"Yes": 0.9}, 0.9 / 0.1), ({"No": 0.9}, 0.1 / 0.9), ({"Yes": 0.6, " yes": 0.3}, 0.9 / 0.1),
                      ({"Yes": 0.5, "Maybe": 0.1}, 0.5 / 0.1), ({"Yes": 1.0}, 1e6)):
        (word, *_) = top
        assert scores(question, Answer(word, tokens=tokens(word, top=top)))["kind"].value == pytest.approx(log(odds))


def test_malformed_completions_are_refused_or_read_as_far_as_possible() -> None:
    for envelope in (None, [], {}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": None}]},
                     *({"choices": [{"message": {"content": content}}]} for content in (0, 4, [], "4" * 100_000))):
        with pytest.raises(ValueError, match=r"."):
            parse_answer(envelope)
    answer = parse_answer({"model": "m", "choices": [{"message": {"content": None}, "finish_reason": "length"}],
                       "usage": {"prompt_tokens": 7, "completion_tokens": None}})
    assert answer == Answer("", "length", "m", 7, 0)
    for count in (10**9 + 1, int("9" * 400), -1, 1.5, float("inf"), float("nan"), True, "7", None, [7], {}):
        usage = {"prompt_tokens": count, "completion_tokens": 3}
        assert parse_answer({"choices": [{"message": {"content": "4"}}], "usage": usage}) == Answer("4", completion=3)
    for usage in (7, [7], "7", None, {}):
        choice = {"message": {"content": "4"}, "finish_reason": {}}
        assert parse_answer({"model": ["m"], "choices": [choice], "usage": usage}) == Answer("4")
    for logprobs in (
        7, {"content": 7}, {"content": [7]}, {"content": [{"token": "x"}]}, {"content": [{"token": "4"}]},
        {"content": [{"token": "4", "top_logprobs": [{"token": 4, "logprob": 0}, 7, {"token": "4", "logprob": "x"}]}]},
    ):
        answer = parse_answer({"choices": [{"message": {"content": "4"}, "logprobs": logprobs}]})
        assert scores(Question("", "", (KIND,), "number"), answer)["kind"].weighted is False
