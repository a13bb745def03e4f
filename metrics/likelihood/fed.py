"""FED (Mehri and Eskenazi, 2020): the likelihood of follow-ups with praise minus that of follow-ups with complaints.

Each of a quality's follow-ups (followups.toml) is appended to the conversation, which ends with the judged response. A
quality's score is the mean log-likelihood of the follow-ups that speak for it minus that of the follow-ups against it,
or only minus the latter if none speak for it. The paper's model is DialoGPT. The model's end-of-text token precedes
the conversation and follows each turn, without the spaces of the released code, which tokenizers dropped at the time.

Departure: only the follow-up's tokens count, given the conversation. In the released code (`tokens=all`), the score of
a quality with both kinds of follow-up shrinks as the conversation grows, and with one kind it is mainly the likelihood
of the conversation. If a conversation is too long for the model, `tokens=all` uses its beginning, whereas the released
code fails. `speakers=true` prefixes the turns by `A:` and `B:`, which neither the paper nor the code does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.likelihood._context import LONGEST, prefixes
from metrics.metric import Column, Columns, MetricCard
from metrics.models.causal import Before, LanguageModel
from metrics.models.service import Models

Likelihoods: TypeAlias = npt.NDArray[np.float64]
"""One row per conversation, one column per follow-up."""

_LEVELS = tomllib.loads((files(__package__) / "followups.toml").read_text("utf-8"))
TURN: dict[str, dict[str, list[str]]] = _LEVELS["turn"]
DIALOGUE: dict[str, dict[str, list[str]]] = _LEVELS["dialogue"]
QUALITIES = TURN | DIALOGUE
"""The follow-ups that speak for each quality (`speak_for`, possibly none) and against it (`against`)."""
UTTERANCES = tuple(dict.fromkeys(text for sides in QUALITIES.values()
                                 for text in (*sides["speak_for"], *sides["against"])))


@dataclass(frozen=True, slots=True)
class Fed:
    """1/|P| · Σ_{f ∈ P} m(f) − 1/|N| · Σ_{f ∈ N} m(f),  m(f) = 1/|f| · Σ_t log p(f_t | dialogue, f_<t).

    P are the follow-ups for the quality, N the follow-ups against it. The column `fed` is the mean over the eight
    qualities of a turn, or over the ten of a whole dialogue.
    """

    card: ClassVar[MetricCard] = MetricCard(
        name="fed", title="FED", columns=("fed", *(f"fed-{quality}" for quality in QUALITIES)), family="likelihood",
        levels=("turn", "dialogue"), models=("lm",), revision=2, paper="https://aclanthology.org/2020.sigdial-1.28",
        notes="Likelihood of follow-ups that praise the dialogue, minus that of follow-ups that complain.",
        system="same method, smaller model", later=("longest",),
        departures=(
            "A small causal model by default, in place of DialoGPT.",
            ("Only the likelihood of the follow-up's tokens counts; tokens=all includes the conversation, as the "
             "released code does."),
            "The conversation is truncated to 1,024 tokens, in whole turns (longest).",
        ),
    )
    lm: str = ""
    tokens: Literal["follow-up", "all"] = "follow-up"
    speakers: bool = False
    longest: int = LONGEST

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return differences of log-likelihoods, unbounded; NaN for a conversation without text."""
        model = models.lm(self.lm)
        turns = [self._turns(item) for item in items]
        with_text = [row for row, texts in enumerate(turns) if any(texts)]
        likelihoods = np.full((len(items), len(UTTERANCES)), np.nan)
        likelihoods[with_text] = self._likelihoods([turns[row] for row in with_text], model)
        columns = {f"fed-{quality}": _quality_scores(quality, likelihoods) for quality in QUALITIES}
        turn, dialogue = (_mean([columns[f"fed-{quality}"] for quality in level]) for level in (TURN, DIALOGUE))
        is_dialogue = np.array([item.response is None for item in items], dtype=bool)
        return {"fed": np.where(is_dialogue, dialogue, turn), **columns}

    def _turns(self, item: Item) -> list[str]:
        if not self.speakers:
            return [turn.text.strip() for turn in item.utterances]
        by_speaker = prefixes(item)
        return [f"{by_speaker[turn.speaker]} {turn.text.strip()}" for turn in item.utterances if turn.text.strip()]

    def _likelihoods(self, turns: Sequence[Sequence[str]], model: LanguageModel) -> Likelihoods:
        """Return the mean log p per token of every follow-up after every conversation, or of both texts together."""
        conversations: list[Before] = [
            (*(model.end + text for text in texts[:-1]), model.end + texts[-1] + model.end) for texts in turns]
        means = model.after_each(conversations, UTTERANCES, self.longest).astype(np.float64)
        if self.tokens == "follow-up":
            return means
        conversation = model.log_likelihoods([(model.end, model.end.join(texts) + model.end) for texts in turns])
        sums = np.array([values.sum(dtype=np.float64) for values in conversation])[:, None]
        counts = np.array([values.size for values in conversation])[:, None]
        sizes = model.sizes(UTTERANCES)
        return (sums + means * sizes) / (counts + sizes)


def _quality_scores(quality: str, likelihoods: Likelihoods) -> Column:
    """Return the likelihood of praise for a quality minus that of complaints: (items,)."""
    praise, complaint = ([likelihoods[:, UTTERANCES.index(text)] for text in QUALITIES[quality][side]]
                         for side in ("speak_for", "against"))
    return _mean(praise) - _mean(complaint) if praise else -_mean(complaint)


def _mean(columns: Sequence[Column]) -> Column:
    return np.asarray(np.mean(columns, axis=0))
