"""A network of BERT's shape with random weights: as fast as the real one, and nothing to be fetched.

BERT-base (Devlin et al. 2019) as `BertConfig()` has it: 12 layers, width 768, 12 heads, 3,072 inside, 512 positions.
The tokenizer is the embedded encoder's, whose vocabulary of 30,522 pieces is that of BERT uncased.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from metrics.models import weights

NAME = "bert-base-shape"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


@contextlib.contextmanager
def encoder(name: str, home: Path) -> Iterator[str]:
    """What to ask the models for: the name itself, or the folder of a network made for the time of the bench."""
    if name != NAME:
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(made(Path(folder) / NAME, home))


def made(folder: Path, home: Path, **sizes: int) -> Path:
    """Write the network, in half precision to save room, with its tokenizer; `sizes` other than BERT-base's."""
    import torch
    from transformers import BertConfig, BertModel

    from metrics.models.networks import quiet

    with quiet():
        torch.manual_seed(0)
        BertModel(BertConfig(**sizes), add_pooling_layer=False).half().save_pretrained(folder)
    source = _tokenizer(home)
    for file in TOKENIZER:
        if (source / file).is_file():
            shutil.copyfile(source / file, folder / file)
    return folder


def _tokenizer(home: Path) -> Path:
    """A folder with the embedded encoder's tokenizer; its weights are not needed."""
    by_hand = weights.models_home(home) / weights.EMBEDDED
    return by_hand if (by_hand / "tokenizer.json").is_file() else weights.find(weights.EMBEDDED, home).folder
