"""A judge's answers: received, stored, and read as scores.

They are stored as HOME/judge/answers/PROMPT-MODEL-SERVER/KEY-DIGEST.json. SERVER is a digest of the model's name and
the server's address, KEY a digest of the request, the sample and the attempt; neither contains an API key.

A number outside its quality's scale, or several numbers for one quality, give no score: nothing is guessed or clipped.
If the server returns token probabilities, the score is not the number in the answer but the mean of the integers on the
scale, weighted by their probabilities (Liu et al., 2023). The score of a yes-or-no question is log p(Yes) − log p(No),
which requires probabilities.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.formats.records import load, value_of
from benchmarks.storage.files import Store
from metrics.judges.prompt import JudgedQuality, Question

Token: TypeAlias = tuple[int, str, tuple[tuple[str, float], ...]]
"""A token's offset in the text, the token, and the log-probabilities of its alternatives."""
WrittenNumber: TypeAlias = tuple[JudgedQuality, str, int]
"""A quality, its number as written, and the number's offset in the text."""

MAX_CHARACTERS = 65_536
MAX_TOKENS = 10**9
"""Largest plausible token count."""
MIN_LOGPROB = -100.0
"""Lowest log-probability of Yes or No; OpenAI reports -9999 for very unlikely tokens."""
PRECISION = 1e-6
"""Rounding error of a sum of probabilities."""

_THOUGHT = re.compile(r"\A.*</think>|<think>.*", re.DOTALL)  # many chat templates open the block in the prompt
_NUMBER = r"(?<![\w.,-])(-?\d+(?:\.\d+)?)"
_OUT_OF = r"(?:\s*(?:/|out of|of)\s*{high}(?!\d|\.\d))?"
_END = r"(?![\w%]|[.,]\d|\s%|\s*/\s*\d)"


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer; `served` is the model that it reports, `prompt` and `completion` are token counts."""

    text: str
    finish: str = ""
    served: str = ""
    prompt: int = 0
    completion: int = 0
    tokens: tuple[Token, ...] = ()


class AnswerArchive:
    """The answers of a model on a server to a prompt; threads and runs may add to them concurrently."""

    def __init__(self, home: Path, prompt: str, model: str, url: str) -> None:
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
        digest = hashlib.sha256(f"{model} {url}".encode()).hexdigest()[:8]
        self.folder = home / "judge" / "answers" / f"{prompt}-{name}-{digest}"
        self._store = Store(self.folder)

    def get(self, key: str) -> Answer | None:
        return self._store.get(key, lambda content: value_of(Answer, load("an answer", content), "an answer"))

    def put(self, key: str, answer: Answer) -> None:
        self._store.put(key, json.dumps(dataclasses.asdict(answer), separators=(",", ":")).encode())


def answer_key(body: Mapping[str, Any], sample: int, attempt: int) -> str:
    """Return the key of an answer; its first two digits are a folder, which keeps listings short."""
    digest = hashlib.sha256(json.dumps([body, sample, attempt], sort_keys=True).encode()).hexdigest()
    return f"{digest[:2]}/{digest[2:]}.json"


def parse_answer(envelope: Any) -> Answer:
    """Return the answer in a server's JSON; raise ValueError if it is not a chat completion."""
    try:
        choice = envelope["choices"][0]
        content = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("not a chat completion") from error
    text = "" if content is None else content
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise ValueError("the content is not a string, or too long")
    counts = (_entry(envelope.get("usage"), name, int) for name in ("prompt_tokens", "completion_tokens"))
    prompt, completion = (count if count and 0 <= count <= MAX_TOKENS else 0 for count in counts)
    return Answer(text, (_entry(choice, "finish_reason", str) or "")[:40], (_entry(envelope, "model", str) or "")[:120],
                  prompt, completion, tuple(_tokens(text, choice.get("logprobs"))))


def _entry(value: Any, name: str, kind: type) -> Any:
    """Return an entry of a JSON object if its type is exactly `kind`, else None."""
    entry = value.get(name) if isinstance(value, dict) else None
    return entry if type(entry) is kind else None


def _tokens(text: str, logprobs: Any) -> Iterator[Token]:
    """Yield the tokens that are yes or no or contain a digit, up to the first that does not continue the text."""
    start = 0
    for entry in _entry(logprobs, "content", list) or ():
        token = _entry(entry, "token", str)
        if token is None or not text.startswith(token, start):
            return
        if any(character.isdigit() for character in token) or _word(token) in {"yes", "no"}:
            yield start, token, tuple(
                (other, float(logprob)) for alternative in _entry(entry, "top_logprobs", list) or ()
                if (other := _entry(alternative, "token", str)) is not None
                and isinstance(logprob := alternative.get("logprob"), int | float) and logprob <= 0)
        start += len(token)


@dataclass(frozen=True, slots=True)
class ReadScore:
    """A score, and whether it is weighted by probabilities."""

    value: float
    weighted: bool = False


def scores(question: Question, answer: Answer) -> dict[str, ReadScore]:
    """Return the readable scores of an answer by quality."""
    text = _THOUGHT.sub(lambda thought: " " * len(thought[0]), answer.text)  # keeps later offsets
    if question.answer_format == "yes":
        odds = _log_odds(text, answer)
        return {} if odds is None else {question.qualities[0].name: ReadScore(odds, weighted=True)}
    by_quality: dict[str, ReadScore] = {}
    if question.answer_format == "json":
        numbers = list(_numbers_in_object(question, text))
    else:
        (quality,) = question.qualities
        number = _number(text, quality)
        numbers = [(quality, number[1], number.start(1))] if number else []
    for quality, written, start in numbers:
        if quality.takes(float(written)):
            mean = _weighted_mean(quality, written, start, answer)
            by_quality[quality.name] = ReadScore(float(written) if mean is None else mean, weighted=mean is not None)
    return by_quality


def lacks_probabilities(question: Question, answer: Answer) -> bool:
    """Return True if an answer to a yes-or-no question says Yes or No but has no probabilities."""
    return (question.answer_format == "yes" and re.search(r"\b(yes|no)\b", answer.text, re.IGNORECASE) is not None
            and not any(alternatives for *_, alternatives in answer.tokens))


def _log_odds(text: str, answer: Answer) -> float | None:
    """Return log(p(Yes) / p(No)) at the text's first Yes or No.

    A word that is not listed gets an upper bound: the smallest listed probability or, if lower, the probability left
    for all unlisted tokens together.
    """
    for start, token, alternatives in answer.tokens:
        if _word(text[start : start + len(token)]) in {"yes", "no"} and alternatives:
            listed = [(_word(other), math.exp(max(logprob, MIN_LOGPROB))) for other, logprob in alternatives]
            probabilities = [probability for _, probability in listed]
            upper_bound = min(*probabilities, max(1 - sum(probabilities), PRECISION))
            yes, no = (sum(probability for other, probability in listed if other == word) or upper_bound
                       for word in ("yes", "no"))
            return math.log(yes) - math.log(no)
    return None


def _word(token: str) -> str:
    return token.strip().casefold()


def _number(text: str, quality: JudgedQuality) -> re.Match[str] | None:
    """Return the number in a text if it is the only one; `4/5` and `4 out of 5` are a 4 on a scale up to 5."""
    def count(text: str) -> int:
        return len(re.findall(r"\d+", re.sub(r"\d+\.\d+", "0", text)))

    matches = list(re.finditer(_NUMBER + _OUT_OF.format(high=re.escape(f"{quality.high:g}")) + _END, text))
    return matches[0] if len(matches) == 1 and count(text) == count(matches[0][0]) else None


def _numbers_in_object(question: Question, text: str) -> Iterator[WrittenNumber]:
    """Yield the numbers of the last JSON object that names a quality, ignoring the text around it."""
    decoder, start = json.JSONDecoder(object_pairs_hook=_entries), text.find("{")
    values: dict[str, Any] = {}
    offset = 0
    while start >= 0:
        end = start + 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = {}
        if any(quality.name in value for quality in question.qualities):
            values, offset = value, start
        start = text.find("{", end)
    for quality in question.qualities:
        if (written := _value(values.get(quality.name), quality)) is not None:
            key = re.compile(rf'"{re.escape(quality.name)}"\s*:\s*"?\s*(?={re.escape(written)})', re.IGNORECASE)
            match = key.search(text, offset)
            yield quality, written, match.end() if match else -1


def _entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the entries of a JSON object by lower-case key; None for a repeated key."""
    entries: dict[str, Any] = {}
    for key, value in pairs:
        entries[key.casefold()] = None if key.casefold() in entries else value
    return entries


def _value(value: Any, quality: JudgedQuality) -> str | None:
    """Return a number as written, or the number in a string such as "4/5"."""
    if isinstance(value, str):
        number = _number(value, quality)
        return number[1] if number else None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _weighted_mean(quality: JudgedQuality, written: str, start: int, answer: Answer) -> float | None:
    """Return Σ p·score / Σ p over the alternatives of the number's token; None if they are unknown or ambiguous."""
    alternatives = next((alternatives for offset, token, alternatives in answer.tokens
                         if token.strip() == written and offset <= start < offset + len(token)), ())
    weights: dict[int, float] = {}
    for token, logprob in dict(alternatives).items():  # " 4" and "4" are both a four
        if re.fullmatch(r"\s*-?\d{1,4}\s*", token, re.ASCII) and quality.takes(int(token)):
            weights[int(token)] = weights.get(int(token), 0.0) + math.exp(logprob)
    total = sum(weights.values())
    if total == 0 or (quality.high >= 10 and max(weights) < 10) or quality.low < 0 <= min(weights):
        return None  # if signs and digits are single tokens, `1` can begin `10`, and `-` the number `-1`
    return sum(value * weight for value, weight in weights.items()) / total
