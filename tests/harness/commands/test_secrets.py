"""The harness neither writes nor prints secrets of its user.

Keys are placed in environment variables, in the URL of a store, and in answers of judges and metrics. Then every
written byte is searched: files, their packed members, and the strings in tables.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import openai._base_client
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from benchmarks.redaction import redacted
from harness.cli import main
from tests.faults.runs import metric
from tests.judge_server import serving

KEYS = {"OPENAI_API_KEY": "sk-planted-0a1b2c3d4e5f", "HF_TOKEN": "hf_PlantedTokenOfNobody",
        "AWS_ACCESS_KEY_ID": "AKIAPLANTED0", "AWS_SECRET_ACCESS_KEY": "planted/secret+of0nobody"}
PASSWORD = "planted-password-of-the-store"  # noqa: S105
STORE = f"memory://AKIAINTHEURL:{PASSWORD}@bucket/scores"
SECRETS = (*KEYS.values(), PASSWORD, "AKIAINTHEURL")


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.01)
    MemoryFileSystem.store.clear()


def texts(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the content of a file and of the files packed in it."""
    yield name, content
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for member in packed.namelist():
                yield from texts(f"{name}/{member}", packed.read(member))
    if content.startswith(b"PAR1"):
        table = pq.ParquetFile(io.BytesIO(content)).read()
        yield f"{name} (notes)", repr(table.schema.metadata).encode()
        for column in table.column_names:
            kind = table.schema.field(column).type
            if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
                yield f"{name}, {column}", "\n".join(map(str, table.column(column).unique().to_pylist())).encode()


def leaks(*folders: Path, printed: str) -> list[tuple[str, str]]:
    """Return every secret with its location."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    contents = [("printed", printed.encode()), *((str(path), path.read_bytes()) for path in files)]
    contents += [(path, file.getvalue()) for path, file in MemoryFileSystem.store.items()]
    return [(secret, where) for name, content in contents for where, text in texts(name, content)
            for secret in SECRETS if secret.encode() in text]


def test_no_output_contains_a_secret(
        tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The server of the judge repeats the key in errors and answers, and a metric in an exception."""
    out, replies = tmp_path / "out", iter(["status 500", "well", "status 429 0.05", *["well"] * 99])
    error = """raise RuntimeError(f"401 for https://example.org with {os.environ['HF_TOKEN']}")"""
    with serving(lambda times: next(replies), echo=True) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert main(["run", "--dataset", "fed-turn", "--data", "sample", "--limit", "12", "--draws", "0", "--metric",
                     "length", "--metric", "judge:llm-eval[model=toy,tries=2]", "--metric",
                     metric(tmp_path, "telltale", error), "--store", STORE, "--out", str(out)]) == 1
        assert server.headers[0]["Authorization"] == f"Bearer {KEYS['OPENAI_API_KEY']}"
    assert "401 for https://example.org with [HF_TOKEN]" in (out / "report" / "report.json").read_text()
    assert any(path.startswith("/AKIAINTHEURL") for path in MemoryFileSystem.store)
    MemoryFileSystem.store.clear()  # its paths hold the user name of the URL
    assert main(["submit", str(tmp_path / "bundle.zip"), "--out", str(out)]) == 0
    assert main(["verify", str(tmp_path / "bundle.zip")]) in {0, 1}
    assert main(["report", "--out", str(out)]) == 0
    assert main(["show", KEYS["HF_TOKEN"]]) == 2
    printed = "".join(capfd.readouterr())
    assert "'[HF_TOKEN]'" in printed
    assert leaks(tmp_path, home, printed=printed) == []


def test_unreachable_store_is_reported_without_password(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for url in (f"nowhere://AKIAINTHEURL:{PASSWORD}@bucket", f"s3://AKIAINTHEURL:{PASSWORD}@nowhere/x",
                f"ftp://AKIAINTHEURL:{PASSWORD}@127.0.0.1:9/x"):
        assert main(["run", "--metric", "length", "--dataset", "fed-turn", "--limit", "5", "--draws", "0", "--store",
                     url, "--out", str(tmp_path / "out")]) == 2
        printed = "".join(capfd.readouterr())
        assert "harness: " in printed
        assert leaks(tmp_path, printed=printed) == []


def test_secrets_are_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, text in (("SOME_TOKEN", "0123456789", "got [SOME_TOKEN]!"),
                              ("HTTPS_PROXY", "http://me:word@127.0.0.1:9", "got [HTTPS_PROXY]!"),
                              ("SOME_TOKEN", "true", "got true!"), ("MONKEY", "9876543210", "got 9876543210!")):
        monkeypatch.setenv(name, value)
        assert redacted(f"got {value}!") == text
