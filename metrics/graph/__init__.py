"""Metrics on graphs: of topics in context and response, or of the utterances of a dialogue."""

import warnings

# torch-geometric calls torch.jit.script when it is imported, which newer versions of torch deprecate
warnings.filterwarnings("ignore", r".*torch\.jit\.script", FutureWarning)
