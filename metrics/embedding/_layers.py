"""Which layer BERTScore reads, and what a score of chance is there: facts of the bert-score package."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from metrics.errors import BadOption
from metrics.metric import Column, File

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

LAYERS = {
    "albert-base-v2": 9, "albert-large-v2": 14, "albert-xlarge-v2": 13, "albert-xxlarge-v2": 8, "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9, "bert-base-uncased": 9, "bert-large-uncased": 18, "deberta-base": 9,
    "deberta-base-mnli": 9, "deberta-large": 16, "deberta-large-mnli": 18, "deberta-v3-base": 9, "deberta-v3-large": 12,
    "deberta-v3-small": 4, "deberta-xlarge": 18, "deberta-xlarge-mnli": 40, "distilbert-base-uncased": 5,
    "distilroberta-base": 5, "electra-base-discriminator": 9, "electra-large-discriminator": 14, "mpnet-base": 8,
    "roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19, "sup-simcse-bert-base-uncased": 10,
    "sup-simcse-bert-large-uncased": 18, "sup-simcse-roberta-base": 10, "sup-simcse-roberta-large": 16,
    "unsup-simcse-bert-base-uncased": 10, "unsup-simcse-bert-large-uncased": 18, "unsup-simcse-roberta-base": 8,
    "unsup-simcse-roberta-large": 13, "xlm-roberta-base": 9, "xlm-roberta-large": 17, "xlnet-base-cased": 5,
    "xlnet-large-cased": 7,
}
"""The layer that agrees best with the ratings of WMT16, by the name of the model without its owner."""


def recommended(encoder: Encoder) -> int:
    """The layer for a model that the table has; 0, its last, for any other."""
    return LAYERS.get(encoder.name.rpartition("/")[-1].casefold(), 0)


def layer_of(encoder: Encoder) -> int:
    """Which layer is read."""
    return encoder.layer or int(encoder.networks[0].config.num_hidden_layers)


def baseline(file: File, layer: int) -> Column:
    """P, R and F of a layer in a file of the package's kind, `LAYER,P,R,F`."""
    lines = csv.reader(file.content().decode(errors="replace").replace("\t", ",").splitlines())
    for line in lines:
        if line and line[0].strip() == str(layer):
            try:
                _, *values = map(float, line)
                precision, recall, f = values
            except ValueError:
                break
            return np.array([precision, recall, f])
    raise BadOption(f"bert-score: {file} holds no line LAYER,P,R,F for layer {layer}")
