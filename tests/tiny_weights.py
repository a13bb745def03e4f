"""Trained weights for a tiny encoder, made in a few steps from a toy corpus."""

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpora.corpora import Corpus, CorpusCard, Dialogue
from benchmarks.dataset import Utterance
from benchmarks.storage import resources
from harness.cli import main
from metrics import registry
from metrics.models import checkpoint
from metrics.models.device import single_threaded
from metrics.models.service import Choice, Models
from metrics.trained.fined_eval import judges
from metrics.trained.fined_eval import metric as fined_eval
from metrics.training import trainables
from metrics.training.loop import Fitted, fit, seeded
from metrics.training.recipe import TrainingData

METRICS = tuple(name for name in trainables.shipped() if name not in trainables.BACKBONES)
"""Each trained metric of the project, and its variants."""
THINGS = ("tea", "a good reply", "the rain", "hello there", "what is not", "you and i", "what they like", "to be there")


def corpus() -> Corpus:
    """Return dialogues that keep to one topic, with all labels that objectives use."""
    dialogues = []
    for number in range(160):
        thing, other = THINGS[number % 8], f"{chr(97 + number // 26 % 26)} {chr(97 + number % 26)}"
        turns = tuple(Utterance("AB"[turn % 2], f"{start} {thing} {other}") for turn, start in enumerate(
            ("do you like", "yes i like", "what is it that", "i know that")))
        labels: dict[str, Any] = {"persona": {"A": [f"i like {thing}."], "B": [f"you like {thing}.", "i am here."]},
                  "positive_responses": [f"{start} {thing} {other}" for start in ("it is", "not you", "there is")],
                  "adversarial_negative_responses": [f"{thing} {thing} {other}"],
                  "eval_score": 1 + 4 * (number % 2),
                  "utterances": tuple({"emotion": emotion} for emotion in ("happiness", "anger", "no emotion", "joy"))}
        if number % 3 == 0:  # DEB takes pairs from dialogues without judged replies
            del labels["positive_responses"]
        elif number % 3 == 1:
            labels["rated_responses"] = [[f"it is {thing} {other}", 5.0], [f"{thing} {thing} {other}", 1.5]]
        dialogues.append(Dialogue(f"toy-{number}", "toy", "train", turns, labels))
    return Corpus(CorpusCard("toy", "Toy", ("train",), "CC0-1.0", "Nobody 2020"), "0" * 64, tuple(dialogues), {})


def corpus_file(folder: Path, inference: bool = False) -> Path:
    """Store the toy corpus as a file, with questions among its turns, and optionally pairs labelled by inference."""
    rows = []
    for dialogue in corpus().dialogues:
        emotions = [label["emotion"] for label in (*dialogue.labels["utterances"], dialogue.labels["utterances"][0])]
        turns = [{"speaker": turn.speaker, "text": turn.text + "?" * (index % 2), "emotion": emotions[index]}
                 for index, turn in enumerate((*dialogue.utterances, dialogue.utterances[0]))]
        rows.append({**dialogue.labels, "utterances": turns})
    rows += [{"label": ("entailment", "neutral", "contradiction")[number % 3],
              "utterances": [{"speaker": "A", "text": f"i like {number}"}, {"speaker": "B", "text": f"so {number}"}]}
             for number in range(90 * inference)]
    path = folder / "toy.jsonl"
    path.write_text("".join(json.dumps({"dialogue_id": str(number), "source": "toy", "split": "train", **row}) + "\n"
                            for number, row in enumerate(rows)))
    return path


def train_by_command(folder: Path, encoder: str | Path, *words: str, inference: bool = False) -> int:
    """Run `harness train` on the toy corpus, with the folder as the home; return its exit status."""
    return main(["train", *words, "--encoder", str(encoder), "--corpus", str(corpus_file(folder, inference)),
                 "--home", str(folder), "--device", "cpu"])


def by_paper(requested: str, folder: Path, encoder: str | Path, *settings: str, inference: bool = False,
             ) -> tuple[Models, Any]:
    name, _, options = requested.rstrip("]").partition("[")
    if "mlm" in registry.card(name).checkpoints:
        assert train_by_command(folder, encoder, "mlm", "--steps", "1", inference=inference) == 0
    changes = [part for setting in settings for part in ("--set", setting)]
    steps = [] if any(setting.startswith("epochs=") for setting in settings) else ["--steps", "2"]
    assert train_by_command(folder, encoder, requested, "--recipe", "paper", *changes, *steps, inference=inference) == 0
    metric = registry.choose(f"{name}[recipe=paper,encoder={encoder},{options}]").metric
    return Models(folder, Choice(device="cpu")), metric


def train(requested: str, models: Models, **changes: Any) -> list[Fitted]:
    """Train all parts on the toy corpus, and store the weights in the home of the models; one core is fastest."""
    fits = []
    for part in trainables.parts(requested):
        learner = trainables.choose(requested, part)
        trainable: Any = learner.trainable
        recipe = dataclasses.replace(trainable.training.of_part(part), **changes)
        with single_threaded():
            with seeded(0, models.machine):
                objective = trainable.objective(
                    TrainingData({"toy": corpus()}, models, seed=0, recipe=recipe, part=part))
            fitted = fit(objective, recipe, models.machine, seed=0)
        identity = models.encoder().weights.identity
        checkpoint.save(checkpoint.user_folder(learner.checkpoint_name, identity, models.home), fitted.weights,
                        {"architecture": recipe.architecture, "network": dict(objective.config),
                         "encoder": {"name": "tiny", "identity": identity}},
                        {"name": learner.checkpoint_name, "losses": [evaluation.loss for evaluation in fitted.curve]})
        fits.append(fitted)
    return fits


def with_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let FineD-Eval learn from a few pairs of dialogues, chosen by judges trained in a few steps."""
    for module, name, value in ((fined_eval, "PAIRS", 160), (fined_eval, "HELD_OUT_PAIRS", 40),
                                (judges, "MAX_STEPS", 12)):
        monkeypatch.setattr(module, name, value)


def everything(models: Models, steps: int) -> None:
    """Train the masked model, then each metric; ConceptNet has three edges."""
    edges = resources.path(models.home, "conceptnet")
    edges.parent.mkdir(parents=True, exist_ok=True)
    edges.write_bytes(gzip.compress(b"tea\tRelatedTo\train\t1\nrain\tRelatedTo\treply\t2\nreply\tIsA\tthing\t1\n"))
    train("mlm[rank=0]", models, steps=1, every=1)
    with pytest.MonkeyPatch.context() as monkeypatch:
        with_few_pairs(monkeypatch)
        for requested in METRICS:
            train(requested, models, steps=steps, every=max(1, steps // 2),
                  rate=3e-2 if requested.startswith(("dynaeval", "s-dicoh")) else 1e-2)
