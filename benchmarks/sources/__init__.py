"""One module per upstream family: the cards of its datasets, and `convert`, which reads the files of its own format.

The `form` of a source is the name of the module whose `convert` reads it; the two sources below need none.
"""

from dataclasses import replace

from benchmarks.dataset import DatasetCard, Source

CHATEVAL = "https://chateval.org/dstc10"
MIRROR = Source("https://huggingface.co/datasets/mario-rc/dstc11.t4", form="mirror")
"""Made for DSTC11 Track 4, it holds the organisers' own files of the development sets but dstc6."""


def official(sha256: str | None = None) -> Source:
    """The organisers' own file, which stands behind a registration."""
    return Source(CHATEVAL, sha256, by_hand=True)


LANGUAGES = {"arabic": "ar", "chinese": "zh", "english": "en", "french": "fr", "german": "de", "hindi": "hi",
             "japanese": "ja", "korean": "ko", "russian": "ru", "spanish": "es"}
"""The languages of translated datasets, with their codes."""


def renamed(item: str, original: str, name: str) -> str:
    """The id of an item of an original in a dataset of another name, so that no score is taken for both."""
    return f"{name}{item.removeprefix(original)}" if item.startswith(original) else f"{name}_{item}"


def translated(card: DatasetCard, name: str, language: str, how: str, citation: str) -> DatasetCard:
    """The card of a dataset in another language: of the split `more`, with the ratings of the original."""
    return replace(card, name=name, title=f"{card.title}, {how}", split="more", language=language, sources=(),
                   citation=f"{citation} {card.citation}", dialogues=card.dialogues or card.name,
                   notes="Ratings are those of the English original; no translation was rated again.")
