"""Write metrics/text/wordnet.zip, the part of WordNet that METEOR uses: `python -m tools.wordnet FOLDER`.

FOLDER contains the files of WordNet 3.0, such as /usr/share/wordnet from Debian's wordnet-base. The files keep their
layout, but index lines have only offsets, and synset lines only words; glosses, relations and compounds are left out.
"""

import argparse
import zipfile
from collections.abc import Iterator
from pathlib import Path

from metrics.lexical.meteor import ENDINGS
from metrics.models.resources import SHIPPED_WORDNET

LICENCE_LINES = slice(0, 29)
"""The lines of a WordNet file that contain its licence; each begins with a line number."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    licence = (folder / "data.noun").read_text().splitlines()[LICENCE_LINES]
    files = {"LICENSE": "".join(f"{line[4:].strip()}\n" for line in licence)}
    for part in ENDINGS:
        files[f"{part}.exc"] = (folder / f"{part}.exc").read_text()
        files[f"data.{part}"], files[f"index.{part}"] = reduced(folder, part)
    with zipfile.ZipFile(SHIPPED_WORDNET, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"wordnet/{name}"), content, zipfile.ZIP_DEFLATED, 9)
    print(f"{SHIPPED_WORDNET}: {SHIPPED_WORDNET.stat().st_size:,} bytes")


def reduced(folder: Path, part: str) -> tuple[str, str]:
    """Return the synsets of a part of speech and the index of its words, with new offsets."""
    synsets = dict(_synsets(folder / f"data.{part}"))
    data, offsets = "", dict[int, int]()
    for offset, words in synsets.items():
        offsets[offset] = len(data)
        data += f"0 0 0 {len(words):02x} {' '.join(f'{word} 0' for word in words)}\n"
    index = ""
    for line in _lines(folder / f"index.{part}"):
        word, *fields = line.split()
        listed = [f"{offsets[offset]:08d}" for offset in map(int, fields[-int(fields[1]):]) if offset in offsets]
        index += f"{word}  {' '.join(listed)}\n" if listed else ""
    return data, index


def _synsets(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the offset of each synset and its words, without compounds."""
    for line in _lines(file):
        fields = line.split()
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        if single := [word for word in words if "_" not in word]:
            yield int(fields[0]), single


def _lines(file: Path) -> Iterator[str]:
    return (line for line in file.read_text().splitlines() if not line.startswith(" "))


if __name__ == "__main__":
    main()
