"""Make shipped files that no other program makes: `python -m tools.shipped overlap|wordnet|notebook [FOLDER ...]`.

overlap RELEASE CORPORA RECENT  benchmarks/corpora/overlap.npz, the contexts of the public evaluation sets as digests,
                                from the organisers' folder, the folder of corpora and that of the recent datasets'
                                published files; the same contexts give the same bytes
wordnet FOLDER                  metrics/text/wordnet.zip, the part of WordNet 3.0 that METEOR uses, from the folder of
                                its files, such as /usr/share/wordnet from Debian's wordnet-base. The files keep their
                                layout, but index lines have only offsets, and synset lines only words; glosses,
                                relations and compounds are left out
notebook                        the output of the cells of docs/notebook.ipynb, run in an empty folder
"""

import argparse
import ast
import contextlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import registry
from benchmarks.corpora import files
from benchmarks.corpora import overlap as shipped
from benchmarks.corpora.overlap import Contexts
from benchmarks.formats import official
from benchmarks.sources.fetch import convert
from benchmarks.sources.rows import file_name
from benchmarks.storage.files import write_atomically
from metrics.lexical.meteor import ENDINGS
from metrics.models.resources import SHIPPED_WORDNET
from tools import ROOT

FROM_CORPORA = ("begin-", "deco")
"""Recent datasets with conversations from dialogue corpora; of any other, a corpus has at most 1 % of the contexts."""
LICENCE_LINES = slice(0, 29)  # the lines of a WordNet file that contain its licence; each begins with a line number
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def overlap(release: Path, corpora: Path, recent: Path) -> None:
    save(public_contexts(release, corpora, recent), Path(shipped.__file__).with_name(shipped.SHIPPED))


def public_contexts(release: Path, corpora: Path, recent: Path) -> Contexts:
    """Return the contexts of the organisers' release, of DailyDialog++'s test part and of recent datasets."""
    contexts = Contexts()
    for name in registry.names():
        file = release / f"{name}_eval.json"
        if file.is_file():
            contexts.add(shipped.context_digests(official.parse(file, registry.card(name))))
    rows = files.read(corpora / "dailydialog_pp.jsonl.gz")
    contexts.add(shipped.digests(turn["text"] for turn in row["utterances"]) for row in rows if row["split"] == "test")
    for name in registry.names("recent"):
        card = registry.card(name)
        if name.startswith(FROM_CORPORA) and (file := next(recent.rglob(file_name(card.sources[-1].url)), None)):
            contexts.add(shipped.context_digests(convert(card.sources[-1].form, file, card)))
    return contexts


def save(contexts: Contexts, path: Path) -> None:
    ordered = sorted(sorted(context) for context in contexts.known)
    known, members = np.unique(np.array([digest for context in ordered for digest in context], dtype=np.uint64),
                               return_inverse=True)
    stream = io.BytesIO()
    np.savez_compressed(stream, digests=known, members=members.astype(np.uint16),
                        sizes=np.array([len(context) for context in ordered], dtype=np.uint8))
    write_atomically(path, stream.getvalue())


def wordnet(folder: Path) -> None:
    licence = (folder / "data.noun").read_text().splitlines()[LICENCE_LINES]
    members = {"LICENSE": "".join(f"{line[4:].strip()}\n" for line in licence)}
    for part in ENDINGS:
        members[f"{part}.exc"] = (folder / f"{part}.exc").read_text()
        members[f"data.{part}"], members[f"index.{part}"] = reduced(folder, part)
    with zipfile.ZipFile(SHIPPED_WORDNET, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(f"wordnet/{name}"), content, zipfile.ZIP_DEFLATED, 9)
    print(f"{SHIPPED_WORDNET}: {SHIPPED_WORDNET.stat().st_size:,} bytes")


def reduced(folder: Path, part: str) -> tuple[str, str]:
    """Return the synsets of a part of speech and the index of its words, with new offsets."""
    data, offsets = "", dict[int, int]()
    for fields in map(str.split, _lines(folder / f"data.{part}")):
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        if simple_words := [word for word in words if "_" not in word]:  # no compounds
            offsets[int(fields[0])] = len(data)
            data += f"0 0 0 {len(simple_words):02x} {' '.join(f'{word} 0' for word in simple_words)}\n"
    index = ""
    for line in _lines(folder / f"index.{part}"):
        word, *fields = line.split()
        listed = [f"{offsets[offset]:08d}" for offset in map(int, fields[-int(fields[1]):]) if offset in offsets]
        index += f"{word}  {' '.join(listed)}\n" if listed else ""
    return data, index


def _lines(file: Path) -> Iterator[str]:
    return (line for line in file.read_text().splitlines() if not line.startswith(" "))


def notebook() -> None:
    content, names, count = json.loads(NOTEBOOK.read_text()), dict[str, Any](), 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in (cell for cell in content["cells"] if cell["cell_type"] == "code"):
            value, count = value_of("".join(cell["source"]), names), count + 1
            outputs = {"text/plain": repr(value)}
            if hasattr(value, "_repr_html_"):
                outputs["text/html"] = value._repr_html_()
            lines = {kind: text.splitlines(keepends=True) for kind, text in outputs.items()}
            cell |= {"execution_count": count, "outputs": [] if value is None else [
                {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": lines}]}
    NOTEBOOK.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def value_of(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line; None if that line is a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - our own notebook
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # noqa: S307


MAKERS: dict[str, Callable[..., None]] = {"overlap": overlap, "wordnet": wordnet, "notebook": notebook}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("maker", choices=MAKERS)
    parser.add_argument("folders", nargs="*", type=Path)
    args = parser.parse_args()
    MAKERS[args.maker](*args.folders)
