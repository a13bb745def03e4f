"""The papers' systems, trained end to end on a tiny encoder: their networks against transformers' own, and NaN."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from harness.cli import main  # noqa: E402
from metrics import registry  # noqa: E402
from metrics.metric import checkpoints  # noqa: E402
from metrics.models.service import Choice, Models  # noqa: E402
from metrics.training import checkpoint  # noqa: E402
from tests import tiny_weights  # noqa: E402
from tests.conftest import make_item  # noqa: E402

ITEMS = (make_item("a", "i like tea", "what is tea", context=("do you like tea", "what is it")),
         make_item("b", "the rain", context=()), make_item("c", " ", "hello", context=("hello there",)))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    """Nothing here is large enough for two cores, and on a busy machine they would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def trained(tmp_path: Path, tiny_encoder: Path) -> Callable[..., Any]:
    """Trains a metric's recipe `paper` for two steps of four rows, and gives the metric's columns for ITEMS."""
    labels = ("entailment", "neutral", "contradiction")
    path = tmp_path / "toy.jsonl"
    path.write_text("".join(json.dumps({
        "dialogue_id": one.id, "source": "toy", "split": "train",
        "utterances": [{"speaker": turn.speaker, "text": turn.text + "?" * (place % 2),
                        "emotion": one.labels["utterances"][place % 4]["emotion"]}
                       for place, turn in enumerate((*one.utterances, one.utterances[0]))],
        **{key: value for key, value in one.labels.items() if key != "utterances"}}) + "\n"
        for one in tiny_weights.corpus().dialogues) + "".join(json.dumps({
            "dialogue_id": f"pair-{number}", "source": "toy", "split": "train", "label": labels[number % 3],
            "utterances": [{"speaker": "A", "text": f"i like {number}"}, {"speaker": "B", "text": f"so {number}"}]})
            + "\n" for number in range(90)))

    def train(name: str, *settings: str) -> tuple[Models, Any, dict[str, Any]]:
        changes = [part for setting in ("batch=4", "every=1", "length=32", *settings) for part in ("--set", setting)]
        assert main(["train", name, "--recipe", "paper", "--steps", "2", *changes, "--encoder", str(tiny_encoder),
                     "--corpus", str(path), "--home", str(tmp_path), "--device", "cpu"]) == 0
        metric = registry.choose(f"{name}[recipe=paper,encoder={tiny_encoder}]").metric
        models = Models(tmp_path, Choice(device="cpu"))
        assert metric.card.system == "same method, smaller model"
        return models, metric, dict(metric.score(ITEMS, models))

    return train


def stored(models: Models, name: str, encoder: str) -> tuple[Any, dict[str, Any]]:
    """The transformer with the trained weights, and the head's, as transformers reads them."""
    import transformers

    weights = {key: value.float() for key, value in load_file(
        models.checkpoint(name, encoder).folder / checkpoint.WEIGHTS).items()}
    body = transformers.AutoModel.from_pretrained(encoder)
    table = "body.embeddings.word_embeddings.weight"
    body.resize_token_embeddings(len(weights[table]), mean_resizing=False)
    body.load_state_dict({key[5:]: value for key, value in weights.items() if key.startswith("body.")}, strict=False)
    return body.eval(), {key[5:]: value for key, value in weights.items() if key.startswith("head.")}


@pytest.mark.parametrize("name", ["fined-eval", "fined-eval-multitask"])
def test_fined_eval(name: str, trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """One sequence, </UTT> behind each utterance, the mean of the second-to-last layer, a linear layer, a sigmoid."""
    models, metric, columns = trained(name)
    parts = [columns[column] for column in metric.card.columns[1:]]
    assert np.isfinite(np.array(parts)).T.tolist() == [[True] * 3, [False] * 3, [False] * 3]
    np.testing.assert_allclose(columns[name], np.mean(parts, axis=0))
    outputs = []
    for weights in checkpoints(metric):
        body, head = stored(models, weights, str(tiny_encoder))
        texts = models.encoder(str(tiny_encoder)).tokenizer.whole
        last = body.config.vocab_size - 1
        middle = [number for turn in ITEMS[0].utterances for number in
                  (*texts(turn.text, add_special_tokens=False).input_ids, last)]
        ids = torch.tensor([[texts.cls_token_id, *middle, texts.sep_token_id]])
        with torch.no_grad():
            states = body(ids, output_hidden_states=True).hidden_states[-2][0]
        outputs += torch.sigmoid(states.mean(0) @ head["out.weight"].T + head["out.bias"]).tolist()
    np.testing.assert_allclose([part[0] for part in parts], outputs, rtol=1e-4)


@pytest.mark.parametrize(("name", "pooling"), [("mme-fm", "max"), ("mme-rm", "max"), ("mme-em", "mean")])
def test_mme_crs(name: str, pooling: str, trained: Callable[..., Any], tiny_encoder: Path) -> None:
    """The response, or context and response as one sequence; states pooled; a linear layer or two; P by a softmax."""
    models, metric, columns = trained(name, *(["hidden=6"] if name == "mme-em" else []))
    assert np.isfinite(columns[name]).tolist() == [True, name != "mme-rm", True]
    body, head = stored(models, *checkpoints(metric), str(tiny_encoder))
    whole = models.encoder(str(tiny_encoder)).tokenizer.whole
    said = " ".join(turn.text for turn in ITEMS[0].context)
    rows = whole(*((said, ITEMS[0].response.text) if name == "mme-rm" else (ITEMS[0].response.text,)),
                 return_tensors="pt")
    with torch.no_grad():
        states = body(**rows).last_hidden_state[0]
    vector = states.amax(0) if pooling == "max" else states.mean(0)
    if name == "mme-em":
        vector = torch.tanh(head["dense.weight"] @ vector + head["dense.bias"])
    logit = head["out.weight"] @ vector + head["out.bias"]
    assert columns[name][0] == pytest.approx(torch.sigmoid(logit).item(), rel=1e-4)
