"""One module per upstream family: the cards of its datasets, and `convert`, which reads the files of its own format.

The `form` of a source is the name of the module whose `convert` reads it; the two sources below need none.
"""

from benchmarks.dataset import Source

CHATEVAL = "https://chateval.org/dstc10"
MIRROR = Source("https://huggingface.co/datasets/mario-rc/dstc11.t4", form="mirror")
"""Made for DSTC11 Track 4, it holds the organisers' own files of the development sets but dstc6."""


def official(sha256: str | None = None) -> Source:
    """The organisers' own file, which stands behind a registration."""
    return Source(CHATEVAL, sha256, by_hand=True)
