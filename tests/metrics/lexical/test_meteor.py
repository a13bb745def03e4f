"""METEOR against NLTK to the last digit, with a WordNet of a few words and with the real one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.errors import BadOption, MissingResource
from metrics.lexical.meteor import Meteor, WordNet
from metrics.models.resources import SHIPPED_WORDNET
from metrics.models.service import Models
from metrics.text.words import tokens
from tests.conftest import make_item

SYNSETS = {"noun": [["car", "auto", "motor_car"], ["machine", "car"], ["ox"], ["dog", "cat"], ["cat", "a"]],
           "verb": [], "adj": [["big", "grand(p)"]], "adv": []}
WORDS = ["a", "b", "car", "cars", "auto", "machine", "machines", "oxen", "ox", "dog", "cats", "cat", "running", "runs"]
RESPONSE = st.lists(st.sampled_from([*WORDS, "A", "Running", "."]), max_size=14).map(" ".join)


def data_and_index(synsets: list[list[str]], kind: str) -> tuple[str, str]:
    """Return the files of a part of speech: each synset at the offset that it states, each word with its synsets."""
    data = "  1 a licence would stand here  \n"
    offsets: dict[str, list[int]] = {}
    for names in synsets:
        for name in names:
            offsets.setdefault(name.partition("(")[0], []).append(len(data))
        words = " ".join(f"{name} 0" for name in names)
        data += f"{len(data):08d} 00 {kind} {len(names):02x} {words} 000 | no gloss  \n"
    lines = [f"{word} {kind} {len(places)} 1 @ {len(places)} 0 {' '.join(f'{place:08d}' for place in places)}  \n"
             for word, places in sorted(offsets.items())]
    return data, "  1 a licence would stand here  \n" + "".join(lines)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Models:
    home = tmp_path_factory.mktemp("small-wordnet")
    path = home / "resources" / "nltk_data" / "corpora" / "wordnet.zip"
    path.parent.mkdir(parents=True)
    with ZipFile(path, "w") as archive:
        for name, synsets in SYNSETS.items():
            data, index = data_and_index(synsets, name[0])
            archive.writestr(f"wordnet/data.{name}", data)
            archive.writestr(f"wordnet/index.{name}", index)
            archive.writestr(f"wordnet/{name}.exc", "oxen ox\n" if name == "noun" else "")
    return Models(home)


def thesaurus(models: Models) -> Any:
    """Return our WordNet with the methods that NLTK's METEOR calls, to test only the alignment."""
    wordnet = WordNet(models.resource("wordnet").path)

    def synset(name: str) -> Any:
        return SimpleNamespace(lemmas=lambda: [SimpleNamespace(name=lambda: name)])

    return SimpleNamespace(synsets=lambda word: [synset(name) for name in wordnet.synonyms(word)])


def meteor(metric: Meteor, models: Models, response: str, *references: str, language: str = "en") -> float:
    return float(metric.score([make_item("1", response, *references, language=language)], models)["meteor"][0])


def test_outside_english_only_identical_words_match(small: Models) -> None:
    for language, response, reference, expected in (
            ("zh", "我喝茶", "我喝茶", 1 - 0.5 / 27), ("de", "running", "runs", 0), ("de", "auto", "car", 0),
            ("en-GB", "running", "runs", 0.5), ("en-GB", "auto", "car", 0.5)):
        assert meteor(Meteor(), small, response, reference, language=language) == pytest.approx(expected)


def test_synonyms_of_a_small_wordnet(small: Models) -> None:
    wordnet = WordNet(small.resource("wordnet").path)
    for word, expected in (("car", "car auto machine"), ("Cars", "car auto machine"), ("oxen", "ox"), ("oxes", "ox"),
                           ("boxes", ""), ("bigger", ""), ("grand", "big grand"), ("motor_car", "car auto"), ("", ""),
                           ("\ud800", "")):
        assert wordnet.synonyms(word) == set(expected.split())


@settings(max_examples=50, deadline=None)
@given(RESPONSE, st.lists(RESPONSE.filter(str.strip), min_size=1, max_size=3))
def test_equals_nltk(small: Models, response: str, references: list[str]) -> None:
    from nltk.translate.meteor_score import meteor_score

    wordnet = thesaurus(small)
    each = [meteor_score([tokens(reference)], tokens(response), wordnet=wordnet) for reference in references]
    ways: dict[Any, float] = {"standard": max(each), "max": max(each), "first": each[0]}
    for how, expected in ways.items():
        assert meteor(Meteor(how), small, response, *references) == expected
    assert meteor(Meteor("mean"), small, response, *references) == pytest.approx(np.mean(each))


def test_bad_options_and_a_broken_wordnet_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="alpha"):
        Meteor(alpha=1.5)
    with ZipFile(tmp_path / "empty.zip", "w"):
        pass
    (tmp_path / "text.zip").write_text("not a zip")
    for name in ("empty.zip", "text.zip"):
        with pytest.raises(MissingResource, match="harness fetch wordnet"):
            WordNet(tmp_path / name)


def test_shipped_synonyms_are_those_of_nltk(nltks: Any) -> None:
    ours = WordNet(SHIPPED_WORDNET)
    lemmas = list(nltks.all_lemma_names())[::150]
    irregular = ["geese", "better", "ran", "were", "axes", "aardwolves", "best", "more", "less", "fastest"]
    endings = ("", "s", "es", "ed", "ing", "er", "est", "men", "ies")
    for word in [*irregular, *(lemma + ending for lemma in lemmas for ending in endings)]:
        expected = {lemma.name() for synset in nltks.synsets(word) for lemma in synset.lemmas()}
        assert ours.synonyms(word) == {name for name in expected if "_" not in name}, word
