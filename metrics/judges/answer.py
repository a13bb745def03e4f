"""A judge's answer: what an endpoint sent, and the scores that stand in it.

A number that is not on its quality's scale, or that is one of several, is no score: nothing is guessed or cut to fit.
Where the server gives the probabilities of tokens, a score is the mean over the whole numbers on the scale, weighted by
the probability of each where the answer's number stands (Liu et al., 2023); the rest of the probability is left out.
A question that is answered by Yes or No scores log p(Yes) − log p(No), and only from probabilities.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from metrics.judges.prompt import JudgedQuality, Question

Token: TypeAlias = tuple[int, str, tuple[tuple[str, float], ...]]
"""Where a token begins in the text, the token, and the log-probability of each that could have stood there."""

LONGEST = 65_536
"""Characters of an answer that are read."""
MOST_TOKENS = 10**9
"""The largest count of tokens that a server may send; more is no count."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_OF = r"(?:\s*(?:/|out of|of)\s*{high}(?!\d|\.\d))?"
_NUMBER = r"(?<![\w.,-])(-?\d+(?:\.\d+)?)"
_END = r"(?![\w%]|[.,]\d|\s%|\s*/\s*\d)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request; `served` is the model that the server says it was."""

    text: str
    finish: str = ""
    served: str = ""
    prompt: int = 0
    completion: int = 0
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadScore:
    """One score, and whether it is a mean weighted by probabilities."""

    value: float
    weighted: bool = False


def received(envelope: Any) -> Answer:
    """The answer in a server's JSON; ValueError where it is not of the form of chat completions."""
    try:
        choice = envelope["choices"][0]
        text = choice["message"].get("content")
        finish, served = choice.get("finish_reason"), envelope.get("model")
        usage = envelope.get("usage")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("no chat completion") from error
    if not isinstance(text, str | None) or len(text or "") > LONGEST:
        raise ValueError("an answer that is no text of a decent length")
    known = text or ""
    return Answer(known, _short(finish, 40), _short(served, 120), _count(usage, "prompt_tokens"),
                  _count(usage, "completion_tokens"), tuple(_tokens(known, choice.get("logprobs"))))


def _short(text: Any, longest: int) -> str:
    return text[:longest] if isinstance(text, str) else ""


def _count(usage: Any, name: str) -> int:
    """A count of tokens; 0, not known, where it is no whole number from 0 to MOST_TOKENS."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MOST_TOKENS else 0


def _tokens(text: str, logprobs: Any) -> Iterator[Token]:
    """The tokens that hold a digit, as far as they make up the text; what is malformed is no token."""
    listed = logprobs.get("content") if isinstance(logprobs, dict) else None
    start = 0
    for entry in listed if isinstance(listed, list) else ():
        token = entry.get("token") if isinstance(entry, dict) else None
        if not isinstance(token, str) or not text.startswith(token, start):
            return
        if any(sign.isdigit() for sign in token) or _word(token) in {"yes", "no"}:
            yield start, token, tuple(_alternatives(entry.get("top_logprobs")))
        start += len(token)


def _alternatives(listed: Any) -> Iterator[tuple[str, float]]:
    for entry in listed if isinstance(listed, list) else ():
        token, logprob = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        if isinstance(token, str) and isinstance(logprob, int | float) and logprob <= 0:
            yield token, float(logprob)


def scores(question: Question, answer: Answer) -> dict[str, ReadScore]:
    """The scores that an answer holds, by quality, without those that cannot be read."""
    if question.form == "yes":
        (asked,) = question.qualities
        odds = _log_odds(answer)
        return {} if odds is None else {asked.name: ReadScore(odds, weighted=True)}
    reading: dict[str, ReadScore] = {}
    text = _THOUGHT.sub(lambda thought: " " * len(thought[0]), answer.text)  # so that what follows keeps its place
    read = _of_object(question, text) if question.form == "json" else _of_number(question, text)
    for quality, written, start in read:
        value = float(written)
        if quality.takes(value):
            mean = _weighted(quality, written, start, answer)
            reading[quality.name] = ReadScore(value) if mean is None else ReadScore(mean, weighted=True)
    return reading


def _log_odds(answer: Answer) -> float | None:
    """log(p(Yes) / p(No)) at the first token that is either; one that is not listed is worth the least that is."""
    for _, token, alternatives in answer.tokens:
        if _word(token) in {"yes", "no"} and alternatives:
            least = min(logprob for _, logprob in alternatives)
            yes, no = (math.log(sum(math.exp(logprob) for text, logprob in alternatives if _word(text) == word) or
                                math.exp(least)) for word in ("yes", "no"))
            return yes - no
    return None


def _word(token: str) -> str:
    return token.strip().casefold()


Written: TypeAlias = tuple[JudgedQuality, str, int]
"""A quality, the number as it was written, and where."""


def _of_number(question: Question, text: str) -> Iterator[Written]:
    (quality,) = question.qualities
    if number := _number(text, quality):
        yield quality, number[1], number.start(1)


def _number(text: str, quality: JudgedQuality) -> re.Match[str] | None:
    """The one number of a text; `4/5` and `4 out of 5` are a 4 where 5 is the highest."""
    matches = list(re.finditer(_NUMBER + _OF.format(high=re.escape(f"{quality.high:g}")) + _END, text))
    marks = len(re.findall(r"\d+", re.sub(r"\d+\.\d+", "0", text)))
    spent = sum(len(re.findall(r"\d+", re.sub(r"\d+\.\d+", "0", match[0]))) for match in matches)
    return matches[0] if len(matches) == 1 and marks == spent else None


def _of_object(question: Question, text: str) -> Iterator[Written]:
    """The numbers of the last JSON object that names a quality, whatever stands around it."""
    decoder, start, answers, place = json.JSONDecoder(), text.find("{"), {}, 0
    while start >= 0:
        end = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            named = {str(key).casefold(): each for key, each in value.items()}
            if any(quality.name in named for quality in question.qualities):
                answers, place = named, start
        start = text.find("{", end)
    for quality in question.qualities:
        if (written := _value(answers.get(quality.name), quality)) is not None:
            key = re.compile(rf'"{re.escape(quality.name)}"\s*:\s*"?\s*(?={re.escape(written)})', re.IGNORECASE)
            match = key.search(text, place)
            yield quality, written, match.end() if match else -1


def _value(value: Any, quality: JudgedQuality) -> str | None:
    """A number as it is written, or the one in a text such as "4/5"."""
    if isinstance(value, str):
        number = _number(value, quality)
        return number[1] if number else None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _weighted(quality: JudgedQuality, written: str, start: int, answer: Answer) -> float | None:
    """Σ p·score / Σ p over the tokens that could have stood in place of the number; None where that is not known."""
    for place, token, alternatives in answer.tokens:
        if token.strip() == written and place <= start < place + len(token):
            return _mean(quality, dict(alternatives))
    return None


def _mean(quality: JudgedQuality, alternatives: Mapping[str, float]) -> float | None:
    weights: dict[int, float] = {}
    for token, logprob in alternatives.items():  # " 4" and "4" are both a four
        if re.fullmatch(r"\s*\d{1,4}\s*", token, re.ASCII) and quality.takes(int(token)):
            weights[int(token)] = weights.get(int(token), 0.0) + math.exp(logprob)
    total = sum(weights.values())
    return sum(value * weight for value, weight in weights.items()) / total if total > 0 else None
