"""What the generic compositions are made of where nobody names inputs: the reference-free columns of the harness."""

from __future__ import annotations

INPUTS = "+".join((
    "deb", "deb[negatives=adversarial]", "usr-dr-c", "usl-h-nup", "usl-h-vup", "bert-ruber-unreferenced",
    "ruber-unreferenced", "bert-dnn", "cosine", "cosim", "mme-rm", "mme-fm", "mme-em", "sm-ll", "sm-nce", "distinct-1",
    "context-overlap", "log(length)", "perplexity",
))
"""Each scores every response that has a context: none needs a reference, a fact or a second word."""

AVERAGED = "deb+usr-dr-c+usl-h-nup+mme-rm+cosine+distinct-1"
"""For equal weights: inputs of which a higher score is meant to be a better reply."""
