"""Make benchmarks/corpora/overlap.npz: the contexts of the public evaluation sets, as digests.

Run as `python -m tools.overlap human_evaluation_data corpora recent`, with the organisers' folder, the folder of
corpora and the folder of the recent datasets' published files; the same contexts give the same bytes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.corpora import files, overlap
from benchmarks.corpora.overlap import Contexts
from benchmarks.formats import official
from benchmarks.sources.fetch import convert
from benchmarks.sources.rows import file_name
from benchmarks.storage.files import write_atomically

FROM_CORPORA = ("begin-", "deco")
"""Recent datasets whose conversations come from dialogue corpora; of any other, a corpus has at most 1 %."""


def public_contexts(release: Path, corpora: Path, recent: Path) -> Contexts:
    """Return the contexts of the organisers' release, of DailyDialog++'s test part and of recent datasets."""
    contexts = Contexts()
    for name in registry.names():
        file = release / f"{name}_eval.json"
        if file.is_file():
            contexts.add(overlap.context_digests(official.parse(file, registry.card(name))))
    rows = files.read(corpora / "dailydialog_pp.jsonl.gz")
    contexts.add(overlap.digests(turn["text"] for turn in row["utterances"]) for row in rows if row["split"] == "test")
    for name in registry.names("recent"):
        card = registry.card(name)
        if name.startswith(FROM_CORPORA) and (file := next(recent.rglob(file_name(card.sources[-1].url)), None)):
            contexts.add(overlap.context_digests(convert(card.sources[-1].form, file, card)))
    return contexts


def save(contexts: Contexts, path: Path) -> None:
    """Write contexts in sorted order, so that the same contexts give the same bytes."""
    ordered = sorted(sorted(context) for context in contexts.known)
    known, members = np.unique(np.array([digest for context in ordered for digest in context], dtype=np.uint64),
                               return_inverse=True)
    stream = io.BytesIO()
    np.savez_compressed(stream, digests=known, members=members.astype(np.uint16),
                        sizes=np.array([len(context) for context in ordered], dtype=np.uint8))
    write_atomically(path, stream.getvalue())


if __name__ == "__main__":
    save(public_contexts(*map(Path, sys.argv[1:])), Path(overlap.__file__).with_name(overlap.SHIPPED))
