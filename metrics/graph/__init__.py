"""Metrics on graphs: of topics in context and response, or of the utterances of a dialogue."""

import warnings

# on import, torch-geometric calls torch.jit.script, which newer versions of torch deprecate
warnings.filterwarnings("ignore", r".*torch\.jit\.script", FutureWarning)
