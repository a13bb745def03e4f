"""Architectures: the networks named in the config.json of a checkpoint, as on Hugging Face.

    base.py            the registry and the base class
    heads.py           heads on a frozen encoder's vectors of context and response
    dialogue_heads.py  heads on single utterances and whole dialogues
    cross_encoder.py   a classifier on a transformer that encodes its input as one sequence
"""

MODULES = ("metrics.models.architectures.heads", "metrics.models.architectures.dialogue_heads",
           "metrics.models.architectures.cross_encoder", "metrics.graph.dynaeval.network",
           "metrics.graph.grade.network")
"""Modules that define architectures; the slowest to import come last."""
