"""Architectures: the networks whose names stand in the config.json of a checkpoint, as in Hugging Face's.

    base.py            the registry and the base class
    heads.py           heads on the vectors of a frozen encoder, for pairs of context and response
    dialogue_heads.py  the same for single utterances and whole dialogues
    cross_encoder.py   a classifier behind a transformer that reads context and response as one sequence
"""

MODULES = ("metrics.models.architectures.heads", "metrics.models.architectures.dialogue_heads",
           "metrics.models.architectures.cross_encoder", "metrics.graph.dynaeval.network",
           "metrics.graph.grade.network")
"""The modules that hold architectures, the slowest to import last."""
