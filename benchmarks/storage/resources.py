"""Resources: data that metrics read and nobody ships, such as WordNet, in the home."""

from __future__ import annotations

import zipfile
from pathlib import Path

from benchmarks.errors import BadArchive


def resource_path(home: Path, name: str) -> Path:
    """Where a resource such as wordnet lies in the home, in the layout of NLTK."""
    return home / "resources" / "nltk_data" / "corpora" / f"{name}.zip"


def check_wordnet(file: Path, source: str) -> None:
    """Refuse what is not NLTK's wordnet.zip, whole."""
    try:
        with zipfile.ZipFile(file) as archive:
            broken = archive.testzip()
            archive.getinfo("wordnet/data.noun")
    except (zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError, EOFError) as error:
        raise BadArchive(f"{source}: is not WordNet in a zip ({' '.join(str(error).split())})") from error
    if broken:
        raise BadArchive(f"{source}: {broken} in it is damaged")
