"""Everything that reads what the harness did not just write; test_readers.py and atheris_run.py feed it."""

from tests.fuzz import kept, sent
from tests.fuzz.reading import FileReader

READERS: dict[str, FileReader] = {reader.name: reader for reader in (*sent.READERS, *kept.READERS)}
