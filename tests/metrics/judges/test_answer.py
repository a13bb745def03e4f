"""What a judge says, and the scores that stand in it: what is not one clear number on the scale is no score."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from metrics.judges.answer import Answer, received, scores
from metrics.judges.prompt import JudgedQuality, Question

KIND, CLEAR = JudgedQuality("kind", 1, 5), JudgedQuality("clear", 0, 10)


def read(text: str, *qualities: JudgedQuality, **more: Any) -> dict[str, float]:
    form = "json" if len(qualities) > 1 else "number"
    question = Question("", "", qualities or (KIND,), form)
    return {name: score.value for name, score in scores(question, Answer(text, **more)).items()}


NUMBERS: list[tuple[str, float | None]] = [
    ("4", 4), (" 4\n", 4), ("4.", 4), ("**4**", 4), ("Score: 4", 4), ("3.5", 3.5), ("4/5", 4), ("4 out of 5", 4),
    ("I would give it a 4 of 5.", 4), ("4.0/5", 4), ("<think>2 or 3, no: 5?</think>4", 4), ("4/5.", 4),
    ("", None), ("four", None), ("0", None), ("6", None), ("-4", None), ("4/10", None), ("4 / 10", None), ("80%", None),
    ("between 3 and 4", None), ("3-4", None), ("4,5", None), ("4.5.6", None), ("1e0", None), ("v4", None),
    ("4 out of 5, since 2 points are missed", None), ("nan", None), ("9" * 5000, None), ("4/50", None), ("4/5.5", None),
]


def test_one_number() -> None:
    for text, value in NUMBERS:
        assert read(text) == ({} if value is None else {"kind": value}), text


OBJECTS: list[tuple[str, dict[str, float]]] = [
    ('{"kind": 4, "clear": 7.5}', {"kind": 4, "clear": 7.5}),
    ('```json\n{"Kind": "4/5", "clear": "7"}\n```', {"kind": 4, "clear": 7}),
    ('Of {the} two:\n{"clear": 7, "kind": 4}, I think. {}', {"kind": 4, "clear": 7}),
    ('{"kind": 1, "clear": 1} or rather {"kind": 4, "clear": 7}', {"kind": 4, "clear": 7}),
    ('<think>{"kind": 1, "clear": 1}</think> {"kind": 4, "clear": 7}', {"kind": 4, "clear": 7}),
    ('{"scores": {"kind": 4, "clear": 7}}', {}),
    ('{"kind": 9, "clear": 7}', {"clear": 7}),
    ('{"kind": true, "clear": null}', {}),
    ('{"kind": NaN, "clear": 1e999}', {}),
    ('{"kind": 4, "clear": ', {}),
    ('{"kind": ' + "9" * 5000 + "}", {}),
    ('{"a":' * 5000, {}),
    ("[4, 7]", {}),
    ("4", {}),
]


def test_one_object() -> None:
    for text, values in OBJECTS:
        assert read(text, KIND, CLEAR) == values, text[:80]


def tokens(*texts: str, top: dict[str, float] | None = None) -> tuple[Any, ...]:
    """A server's logprobs: every token with the same alternatives."""
    listed = [{"token": other, "logprob": log(p)} for other, p in (top or {}).items()]
    choice = {"message": {"content": "".join(texts)},
              "logprobs": {"content": [{"token": text, "logprob": -0.1, "top_logprobs": listed} for text in texts]}}
    return received({"choices": [choice]}).tokens


def test_weighted_by_the_probabilities_of_what_could_have_stood_there() -> None:
    """(4·.5 + 5·.2 + 5·.1 + 3·.1) / .9: what is no number on the scale counts for nothing."""
    top = {"4": 0.5, " 5": 0.2, "5": 0.1, "3": 0.1, "9": 0.05, "good": 0.05}
    assert read("Score: 4", tokens=tokens("Score", ":", " 4", top=top))["kind"] == pytest.approx(3.8 / 0.9)
    several = read('{"clear": 7, "kind": 4}', KIND, CLEAR,
                   tokens=tokens('{"', "clear", '":', " ", "7", ", ", '"kind": ', "4", "}", top={"4": 0.6, "2": 0.2}))
    assert several == {"kind": pytest.approx(3.5), "clear": pytest.approx(3.5)}


def test_yes_and_no_are_read_off_probabilities_alone() -> None:
    question = Question("", "", (KIND,), "yes")
    answer = Answer("Yes.", tokens=tokens("Yes", ".", top={"Yes": 0.6, " yes": 0.1, "No": 0.2, "Maybe": 0.05}))
    assert scores(question, answer)["kind"].value == pytest.approx(log(0.7 / 0.2))
    sure = Answer("No", tokens=tokens("No", top={"No": 0.9, "Maybe": 0.05}))
    assert scores(question, sure)["kind"].value == pytest.approx(log(0.05 / 0.9))
    for silent in (Answer("Yes"), Answer("Perhaps", tokens=tokens("Perhaps", top={"Yes": 0.5}))):
        assert scores(question, silent) == {}


def test_without_fitting_probabilities_the_number_is_the_score() -> None:
    for probabilities in (tokens("4", top={"good": 1.0}), tokens("4"), (), tokens("5", top={"5": 1.0})):
        assert read("4", tokens=probabilities) == {"kind": 4}
    half = tokens("4", ".5", top={"4": 0.5, "1": 0.5})
    assert read("4.5", tokens=half) == {"kind": 4.5}, "half of a number is not weighted"


def test_what_is_no_chat_completion_is_refused() -> None:
    for envelope in (None, [], {}, {"choices": []}, {"choices": [None]}, {"choices": [{"message": None}]},
                     {"choices": [{"message": {"content": 4}}]},
                     {"choices": [{"message": {"content": "4" * 100_000}}]}):
        with pytest.raises(ValueError, match=r"."):
            received(envelope)


def test_a_count_of_tokens_is_a_whole_number_or_not_known() -> None:
    for count, taken in ((0, 0), (7, 7), (10**9, 10**9), (10**9 + 1, 0), (int("9" * 400), 0), (-1, 0), (1.5, 0),
                         (float("inf"), 0), (float("nan"), 0), (True, 0), ("7", 0), (None, 0), ([7], 0), ({}, 0)):
        usage = {"prompt_tokens": count, "completion_tokens": 3}
        answer = received({"choices": [{"message": {"content": "4"}}], "usage": usage})
        assert (answer.prompt, answer.completion) == (taken, 3)
    for usage in (7, [7], "7", None, {}):
        choice = {"message": {"content": "4"}, "finish_reason": {}}
        assert received({"model": ["m"], "choices": [choice], "usage": usage}) == Answer("4")


def test_malformed_probabilities_are_none() -> None:
    for logprobs in (
        7, {"content": 7}, {"content": [7]}, {"content": [{"token": "x"}]}, {"content": [{"token": "4"}]},
        {"content": [{"token": "4", "top_logprobs": [{"token": 4, "logprob": 0}, 7, {"token": "4", "logprob": "x"}]}]},
    ):
        answer = received({"choices": [{"message": {"content": "4"}, "logprobs": logprobs}]})
        assert scores(Question("", "", (KIND,), "number"), answer)["kind"].weighted is False


def test_an_answer_without_text_is_kept_as_empty() -> None:
    answer = received({"model": "m", "choices": [{"message": {"content": None}, "finish_reason": "length"}],
                       "usage": {"prompt_tokens": 7, "completion_tokens": None}})
    assert answer == Answer("", "length", "m", 7, 0)
