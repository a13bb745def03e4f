"""The measurements of `make gpu` with tiny models on the CPU: without two packages, and resumed."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.corpora import files
from benchmarks.storage import resources
from metrics.models import conversions
from metrics.training.recipe import recipes_of
from tests import tiny
from tests.conftest import ROOT
from tools import gpu as measure

pytest.importorskip("torch")


def _corpora(home: Path) -> None:
    """Store the toy dialogues under the names of five corpora, and a ConceptNet of three edges."""
    edges = resources.path(home, "conceptnet")
    edges.parent.mkdir(parents=True, exist_ok=True)
    edges.write_bytes(gzip.compress(b"tea\tRelatedTo\train\t1\nrain\tRelatedTo\treply\t2\nreply\tIsA\tthing\t1\n"))
    for name in recipes_of("usr")["small"].corpora:
        files.write(files.corpus_path(name, home), ({
            "dialogue_id": f"{name}-{number}", "source": name, "split": files.CARDS[name].training[0],
            "utterances": [{"speaker": "AB"[turn % 2], "text": f"{name} {text} {number} {turn}"} for turn, text in
                           enumerate(("do you like tea", "yes i like the rain", "a good reply", "hello there"))],
        } for number in range(60)))


@pytest.mark.slow
def test_every_step_runs_without_datasets_and_is_not_done_twice(home: Path, tmp_path: Path) -> None:
    folder = home / "models" / "tiny"
    folder.mkdir(parents=True)
    conversions.convert("gguf", "tiny", tiny.gguf(tmp_path / "tiny.gguf", length=8192), folder)
    tiny.encoder(home / "models" / "tiny-encoder")
    data = tmp_path / "data"
    data.mkdir()
    records = [{"dialogue_id": f"dailydialog-zhao_{number:05d}", "model": "m", "context": "hi\nwhat do you like?",
                "response": text, "reference": ["tea"], "annotations": {"content": [number]}}
               for number, text in enumerate(("I like tea.", "no", "why not"), 1)]
    (data / "dailydialog-zhao_eval.json").write_text(json.dumps(records))
    _corpora(home)
    argv = ["--home", str(home), "--out", str(tmp_path / "out"), "--data", str(data), "--encoder", "tiny-encoder",
            "--lm", "tiny", "--judge", "tiny", "--train-seconds", "0"]
    code = ("import sys\nsys.modules['datasets'] = sys.modules['evaluate'] = None\n"
            "from tools import gpu as measure\nsys.exit(measure.main(sys.argv[1:]))")

    def measured(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, *argv, *more], cwd=ROOT, capture_output=True, text=True,
                              check=False)

    over = measured("--minutes", "0")
    assert (over.returncode, over.stdout) == (
        0, "time is up before matrix rate; run the same command again to resume\n"), over
    done = measured()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (tmp_path / "out" / "steps.jsonl").read_text().splitlines()]
    assert [line["step"].partition(" ")[0] for line in lines][:6] == ["matrix", "encoder", "causal", *["training"] * 3]
    assert all(line["share of the matrix rate"] > 0 for line in lines[1:6])
    assert all(line["steps"] == measure.VALIDATE_EVERY and line["bytes"] < 16 << 20 for line in lines[3:6])
    assert lines[7]["step"] == "pmi[lm=tiny] on dailydialog-zhao"
    assert (lines[7]["items"], set(lines[7]["spearman"])) == (3, {"appropriateness", "content", "grammar", "relevance"})
    again = measured()
    assert (again.returncode, again.stdout) == (0, "")
