"""Architectures: the networks named in the config.json of a checkpoint, as on Hugging Face."""

MODULES = ("metrics.models.architectures.base", "metrics.models.architectures.heads",
           "metrics.models.architectures.dialogue_heads", "metrics.graph.dynaeval.network",
           "metrics.graph.grade.network")
"""Modules that define architectures; the slowest to import come last."""
