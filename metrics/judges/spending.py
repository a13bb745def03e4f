"""Requests, tokens and money of a run's judges, limited before they are spent.

Tokens are estimated at four bytes each until the server reports them. The cost of a request is reserved at an upper
bound (two bytes per token of the prompt, an answer of `max_tokens`), so that a limit on money is not exceeded.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from metrics.errors import BadOption, NoAnswer
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
    return Estimate(1, round(_bytes(body) / 4) + TEMPLATE_TOKENS, body.get("max_tokens", 0))


def _bytes(body: Mapping[str, Any]) -> int:
    return sum(len(message["content"].encode()) for message in body["messages"])


def cost(choice: Choice, prompt: float, completion: float) -> float:
    return (choice.price[0] * prompt + choice.price[1] * completion) / 1e6


class Spending:
    """Requests, tokens and money of a run so far; shared by threads and judges."""

    def __init__(self, choice: Choice) -> None:
        self.choice, self.requests, self.tokens, self.cost = choice, 0, 0, 0.0
        self._reserved, self._settled = 0.0, threading.Condition()

    def reserve(self, body: Mapping[str, Any]) -> float:
        """Count a request and return the most it can cost; raise LimitReached if it would exceed a limit.

        Near the limit on money, wait until the cost of requests in flight is known.
        """
        choice = self.choice
        if choice.max_cost and not body.get("max_tokens"):
            raise BadOption("--max-cost requires answers of limited length: set the judge's option max_tokens")
        max_cost = cost(choice, _bytes(body) / 2 + TEMPLATE_TOKENS, body.get("max_tokens", 0))
        with self._settled:
            self._settled.wait_for(lambda: not self._reserved or not self._exceeded(max_cost + self._reserved))
            if flag := self._exceeded(max_cost):
                raise LimitReached(f"{flag} would be exceeded after {self.requests} requests"
                                   f"{f' at a cost of {self.cost:.4g}' * any(choice.price)}; answers so far are "
                                   "stored; run the same command with a higher limit to continue")
            self.requests += 1
            self._reserved += max_cost
        return max_cost

    def _exceeded(self, amount: float) -> str:
        """Return the limit that another request would exceed if it and the requests in flight cost `amount`, or ""."""
        if 0 < self.choice.max_requests <= self.requests:
            return f"--max-requests {self.choice.max_requests}"
        return f"--max-cost {self.choice.max_cost:g}" if 0 < self.choice.max_cost < self.cost + amount else ""

    @property
    def totals(self) -> tuple[int, int, float]:
        return self.requests, self.tokens, self.cost

    def line(self, before: tuple[int, int, float]) -> str:
        """Describe what was spent since the totals were `before`."""
        requests, tokens, cost = (now - then for now, then in zip(self.totals, before, strict=True))
        text = f"{requests:,} requests and {tokens:,} tokens were sent and received"
        return text + f" for {cost:,.4g}" * any(self.choice.price)

    def settle(self, reserved: float, spent: float, tokens: int = 0) -> None:
        """Replace a reservation with the actual cost."""
        with self._settled:
            self.tokens += tokens
            remaining = self._reserved - reserved
            self._reserved = remaining if remaining > 1e-9 * reserved else 0.0  # no rounding error stays reserved
            self.cost += spent
            self._settled.notify_all()


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
