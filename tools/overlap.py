"""Make benchmarks/corpora/overlap.npz: the contexts of the public evaluation sets, as digests.

Run as `python -m tools.overlap human_evaluation_data corpora`, with the organisers' folder and the folder of corpora;
the same contexts give the same bytes.
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
from benchmarks.storage.files import write_atomically


def public_contexts(release: Path, corpora: Path) -> Contexts:
    """Return the contexts of the organisers' release and of DailyDialog++'s test part."""
    contexts = Contexts()
    for name in registry.names():
        file = release / f"{name}_eval.json"
        if file.is_file():
            contexts.add(overlap.context_digests(official.parse(file, registry.card(name))))
    rows = files.read(corpora / "dailydialog_pp.jsonl.gz")
    contexts.add(overlap.digests(turn["text"] for turn in row["utterances"]) for row in rows if row["split"] == "test")
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
    save(public_contexts(Path(sys.argv[1]), Path(sys.argv[2])), Path(overlap.__file__).with_name(overlap.SHIPPED))
