"""Run libFuzzer on one reader, through atheris: `python -m tests.fuzz.atheris_run READER [OUT] [libFuzzer's options]`.

OUT (default: fuzz/READER) holds the corpus, which starts with valid files. The first byte of an input is the index of
its format. The first crash ends the run with its traceback and is stored next to the corpus; `python -m
tests.fuzz.atheris_run READER OUT FILE` reads one input again. Options: -max_total_time=300 -timeout=20.
"""

import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("benchmarks", "harness", "metrics", "tests")


def main(argv: Sequence[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES)):
        from tests.fuzz.readers import READERS
    if not argv or argv[0] not in READERS:
        sys.exit(f"name a reader: {', '.join(READERS)}")
    reader = READERS[argv[0]]
    out = Path(argv[1] if argv[1:] else f"fuzz/{reader.name}")
    (out / "corpus").mkdir(parents=True, exist_ok=True)
    for form, content in reader.files():
        seed = bytes([reader.forms.index(form)]) + content
        (out / "corpus" / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    words = out / "words.txt"
    words.write_text("".join(f'"{escaped(word)}"\n' for word in reader.words.split()))
    warnings.simplefilter("ignore")  # numpy warns about large numbers
    os.fsync = lambda handle: None  # for speed
    folder = Path(tempfile.mkdtemp())

    def read(data: bytes) -> None:
        reader(folder, reader.forms[data[0] % len(reader.forms)] if data else reader.forms[0], data[1:])

    files = [option for option in argv[2:] if not option.startswith("-")] or [str(out / "corpus")]
    options = [option for option in argv[2:] if option.startswith("-")]
    atheris.Setup([sys.argv[0], *files, f"-dict={words}", f"-artifact_prefix={out}/", *options], read)
    atheris.Fuzz()


def escaped(word: str) -> str:
    return "".join(sign if sign.isascii() and sign.isprintable() and sign not in '"\\' else f"\\x{byte:02x}"
                   for sign in word for byte in sign.encode())


if __name__ == "__main__":
    main(sys.argv[1:])
