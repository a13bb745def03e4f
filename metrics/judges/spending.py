"""Requests, tokens and money of a run's judges, limited before they are spent.

Tokens are estimated at four bytes each until the server reports them. Until its answer arrives, a request counts at an
upper bound of its cost (two bytes per token of the prompt, an answer of `max_tokens`), so that a limit on money is not
exceeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metrics.errors import BadOption, NoAnswer
from metrics.judges.answer import Answer
from metrics.models.service import Choice, Models

TEMPLATE_TOKENS = 10
"""Tokens that a chat template adds to a request."""


class LimitReached(NoAnswer):
    """Another request would exceed a limit of the run."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests without a stored answer, with their tokens: about `prompt`, at most `completion`."""

    requests: int = 0
    prompt: int = 0
    completion: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.requests + other.requests, self.prompt + other.prompt, self.completion + other.completion)

    def line(self, choice: Choice) -> str:
        """Describe the requests, their cost if prices are known, and the limits that they may exceed."""
        low, high = (cost(choice, self.prompt, tokens) for tokens in (0, self.completion))
        text = (f"{self.requests:,} requests, about {self.prompt:,} prompt tokens and at most {self.completion:,} "
                "answer tokens, not counting retries")
        if any(choice.price):
            text += (f", costing {low:,.4g} to {high:,.4g} at {choice.price[0]:g} per million prompt tokens and "
                     f"{choice.price[1]:g} per million answer tokens")
        exceeded = [flag for flag, limit, value in (("--max-requests", choice.max_requests, self.requests),
                                                    ("--max-cost", choice.max_cost, high)) if 0 < limit < value]
        return text + f"; may exceed {' and '.join(exceeded)}" * bool(exceeded)


def estimate(body: Mapping[str, Any]) -> Estimate:
    return Estimate(1, round(_bytes(body) / 4) + TEMPLATE_TOKENS, _answer_tokens(body))


def _answer_tokens(body: Mapping[str, Any]) -> int:
    """Return the maximum tokens of an answer; 0 for no maximum."""
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def _bytes(body: Mapping[str, Any]) -> int:
    return sum(len(message["content"].encode()) for message in body["messages"])


def cost(choice: Choice, prompt: float, completion: float) -> float:
    return (choice.price[0] * prompt + choice.price[1] * completion) / 1e6


class Spending:
    """Requests, tokens and money of a run so far; shared by its judges."""

    def __init__(self, choice: Choice) -> None:
        self.choice, self.requests, self.tokens, self.cost = choice, 0, 0, 0.0

    def begin(self, body: Mapping[str, Any]) -> float:
        """Count a request at the most it can cost, and return that cost; raise LimitReached if it exceeds a limit."""
        choice = self.choice
        if choice.max_cost and not _answer_tokens(body):
            raise BadOption("--max-cost requires answers of limited length: set the judge's option max_tokens")
        highest = cost(choice, _bytes(body) / 2 + TEMPLATE_TOKENS, _answer_tokens(body))
        exceeded = (f"--max-requests {choice.max_requests}" if 0 < choice.max_requests <= self.requests else
                    f"--max-cost {choice.max_cost:g}" if 0 < choice.max_cost < self.cost + highest else "")
        if exceeded:
            spent = f" at a cost of {self.cost:.4g}" if any(choice.price) else ""
            raise LimitReached(f"{exceeded} would be exceeded after {self.requests} requests{spent}; answers so far "
                               "are stored; run the same command with a higher limit to continue")
        self.requests += 1
        self.cost += highest
        return highest

    def settle(self, highest: float, body: Mapping[str, Any], answer: Answer | None) -> None:
        """Replace the highest cost of a request by the cost of its answer, or by 0 if the server refused it."""
        self.cost -= highest
        if answer:
            estimated = estimate(body)
            self.tokens += answer.prompt + answer.completion
            self.cost += cost(self.choice, answer.prompt or estimated.prompt, answer.completion or estimated.completion)

    @property
    def totals(self) -> tuple[int, int, float]:
        return self.requests, self.tokens, self.cost

    def line(self, before: tuple[int, int, float]) -> str:
        """Describe what was spent since the totals were `before`."""
        requests, tokens, cost = (now - then for now, then in zip(self.totals, before, strict=True))
        text = f"{requests:,} request{'s' * (requests != 1)} and {tokens:,} tokens"
        return text + f" for {cost:,.4g}" * any(self.choice.price)


def of_run(models: Models) -> Spending:
    return models.load_once(("spending",), lambda: Spending(models.choice))


def prices(text: str) -> tuple[float, float]:
    """Parse prices such as `0.15,0.6`."""
    try:
        prompt, completion = (float(price) for price in text.split(","))
    except ValueError:
        raise BadOption(f"--price {text!r:.40}: expected two numbers, the price of a million prompt tokens and of a "
                        "million answer tokens, such as 0.15,0.6") from None
    return prompt, completion
