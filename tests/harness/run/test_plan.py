"""The plan of a run: settings, samples of whole contexts, one dataset at a time, and the models of its entries."""

import dataclasses
import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, Item, Quality, Rating
from benchmarks.storage import store
from harness.cli import parser
from harness.errors import BadConfig
from harness.results import files
from harness.run import plan
from harness.run.correlate import Judged
from harness.run.entries import metric_entry, untrained, warning
from harness.run.plan import draw_sample, load
from harness.run.prepare import open_workspace
from harness.run.run import run
from harness.run.settings import Settings, settings
from harness.statistics.reliability import vote_table
from metrics import registry as metrics
from metrics.metric import Columns, MetricCard
from metrics.models.service import Choice, Models
from metrics.registry import Chosen
from tests.conftest import Invoke, make_item
from tools.commands import enlarged


def items(contexts: int, *, shared: bool) -> list[Item]:
    """Return contexts with a reply of every system if `shared`, else with two replies of one system."""
    rows = ([(number, system) for number in range(contexts) for system in "abc"] if shared else
            [(number, "abc"[number * 3 // contexts]) for number in range(contexts) for _ in range(2)])
    return [dataclasses.replace(make_item(f"i_{index}", f"r{index}", context=(str(number),)), system=system)
            for index, (number, system) in enumerate(rows)]


def test_a_sample_holds_whole_contexts_of_all_systems() -> None:
    for shared in (True, False):
        population = items(30, shared=shared)
        chosen = draw_sample(population, 13, "0 toy")
        assert Counter(item.system for item in chosen) == {"a": 4, "b": 4, "c": 4}
        whole = Counter(item.context for item in population)
        assert all(whole[context] == size for context, size in Counter(item.context for item in chosen).items())
        assert list(chosen) == [item for item in population if item in chosen]
        assert chosen == draw_sample(population, 13, "0 toy") != draw_sample(population, 13, "1 toy")
        assert set(chosen) < set(draw_sample(population, 30, "0 toy"))
    assert len(draw_sample(items(5, shared=True), 1, "")) == 3, "one context at least"
    without_context = [dataclasses.replace(item, context=()) for item in items(5, shared=True)]
    assert len(draw_sample(without_context, 7, "")) == 7


def test_a_run_on_a_sample_can_be_repeated_and_extended(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    argv = ["run", "--dataset", "fed-turn", "--metric", "length", "--sample", "20", "--out", tmp_path]
    invoke(*argv, "--draws", "0")
    results = files.read(tmp_path / "report")
    assert results.run.options["sample"] == 20
    assert "--sample 20" in results.run.command
    dataset = load(registry.card("fed-turn"), home, Settings(sample=20))
    assert dataset is not None
    assert results.datasets[0].fingerprint == dataset.fingerprint
    invoke("leaderboard", "--out", tmp_path, "--with", "distinct")
    invoke(*argv, "--limit", "3", status=2)


def parsed(*argv: str) -> Settings:
    return settings(parser().parse_args(["run", *argv]))


def test_flags_override_the_file_and_the_file_defaults(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[run]\nmetric = ["bleu", "length"]\nseed = 3\ndry-run = true\nsplit = "dev"\nout = "here"\n')
    chosen = parsed("--config", str(config), "--seed", "4")
    assert (chosen.metric, chosen.seed, chosen.dry_run, chosen.split) == (("bleu", "length"), 4, True, "dev")
    assert (chosen.out, chosen.device, parsed().seed) == (tmp_path / "here", "auto", 0)


def test_paths_in_a_config_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("""
[run]
metric = ["./mine.py", "sub/other", "scores:s.csv", "cosine[encoder=./model]", "bleu", "mine"]
dataset = ["./green", "tea.csv", "fed-turn"]
store = "scores store"
encoder = "org/model"
vectors = "./glove.txt"
[names]
mine = "./mine.py"
""")
    chosen = parsed("--config", str(tmp_path / "c.toml"))
    mine = f"mine={tmp_path}/mine.py"
    assert set(chosen.metric) == {mine, f"{tmp_path}/sub/other", f"scores:{tmp_path}/s.csv",
                                  f"cosine[encoder={tmp_path}/model]", "bleu"}
    assert set(chosen.dataset) == {f"{tmp_path}/green", f"{tmp_path}/tea.csv", "fed-turn"}
    assert (chosen.store, chosen.encoder, chosen.vectors) == (
        f"{tmp_path}/scores store", "org/model", f"{tmp_path}/glove.txt")
    (tmp_path / "c.toml").write_text('[run]\nmetric = "bleu"\nstore = "s3://bucket/scores"\n')
    assert parsed("--config", str(tmp_path / "c.toml")).store == "s3://bucket/scores"


def test_an_invalid_setting_is_named(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    for content, part in (
        ("[", "TOML"), ("run = 3", "[run]"), ("[other]\n", "[run]"), ("[run]\nmetrics = []", "'metric'"),
        ("[run]\nseed = 'x'", "seed"), ("[run]\nseed = true", "seed"), ("[run]\nsplit = 'train'", "dev, test"),
        ('[run]\naggregate = ["foo"]', "aggregate"), ("[run]\nmetric = [1]", "metric"), ("[run]\nout = 1", "out"),
        ("[run]\nepsilon = 1", "below 1")):
        config.write_text(content)
        with pytest.raises(BadConfig, match=re.escape(part)):
            parsed("--config", str(config))


@pytest.fixture
def new_objects() -> Iterator[Callable[[], Counter[type]]]:
    """Return a function that counts the items and ratings in memory that were made during the test."""
    def alive() -> Counter[type]:
        gc.collect()
        return Counter(type(held) for held in gc.get_objects() if type(held) in {Item, Rating})

    gc.collect()
    gc.freeze()
    yield alive
    gc.unfreeze()


def test_one_dataset_is_in_memory_at_a_time(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                            new_objects: Callable[[], Counter[type]]) -> None:
    names = ("persona-zhao", "convai2-grade", "dailydialog-grade")
    for name in names:
        store.save(enlarged(registry.sample(registry.card(name)), 90), home)
    before, during = new_objects(), []

    def watched(*arguments: Any) -> Dataset | None:
        during.append(new_objects())
        return load(*arguments)

    monkeypatch.setattr(plan, "load", watched)
    planned = plan.make(Settings(metric=("length", "bleu"), dataset=names, data="real", draws=20))
    run(planned, open_workspace(planned, home, tmp_path))
    assert len(during) >= len(names)
    assert during == [before] * len(during)


@dataclass(frozen=True, slots=True)
class Likeness:
    """A metric over every kind of model."""

    card: ClassVar[MetricCard] = MetricCard(
        name="likeness", title="Likeness", columns=("likeness",), family="toy", models=("encoder", "lm", "vectors"))
    encoder: str = ""
    lm: str = ""
    vectors: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        return {"likeness": np.zeros(len(items))}


def test_models_of_options_precede_those_of_the_run(
        tiny_encoder: Path, tiny_lm: Path, tmp_path: Path, home: Path) -> None:
    """A metric whose models are absent is not run; the signature says why."""
    (tmp_path / "glove.txt").write_text("tea 1 2\n")
    models = Models(home, Choice(encoder=str(tiny_encoder), lm=str(tiny_lm)))
    for metric, names in (
        (Likeness(vectors=str(tmp_path / "glove.txt")), ("tiny-encoder", "tiny-lm", "glove.txt")),
        (Likeness(encoder=str(tiny_lm), lm=str(tiny_lm)), ("tiny-lm", "input embeddings of tiny-encoder")),
    ):
        assert metric_entry(Chosen(metric), models).models == names
    entry = metric_entry(Chosen(Likeness(vectors="absent.txt", encoder="./absent", lm="./absent")), Models(home))
    assert entry.models == ()
    assert "not run" in entry.signature


def test_metrics_without_weights_for_the_encoder_are_named(tiny_encoder: Path, tmp_path: Path) -> None:
    chosen = [metrics.choose(name) for name in ("deb", "length", "cosine", "mme-crs", "rank-average[inputs=length]")]
    assert untrained(chosen, Models(tmp_path, Choice(encoder=str(tiny_encoder)))) == ("deb", "mme-crs")
    assert untrained(chosen, Models(tmp_path)) == ()


def test_titles_come_from_config_and_command_line(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[run]\nmetric = ["mix", "bleu"]\n[names]\nmix = "rank-average[inputs=length+distinct]"\n')
    requested = parsed("--config", str(file), "--with", "short=length")
    assert requested.metric == ("bleu", "mix=rank-average[inputs=length+distinct]")
    made = plan.make(requested)
    assert {pick.label: pick.title for pick in made.chosen} == {
        "bleu": "", "length": "short", "rank-average[inputs=length+distinct]": "mix"}
    for names in (("bleu=length", "bleu"), ("a=length", "a=distinct")):
        with pytest.raises(BadConfig, match="title"):
            plan.make(Settings(metric=names))


def test_nearly_constant_votes_give_a_warning() -> None:
    def warned(*votes: tuple[float, ...]) -> str:
        return warning(Judged(Quality("kind"), vote_table(votes), np.array([float(np.mean(item)) for item in votes])))

    assert warned(*[(1.0, 1.0)] * 8, (1.0, 0.0), (1.0, 0.0)).startswith("90 %")
    for votes in ([(1.0,)] * 17 + [(0.0,)] * 3, [(1.0,)] * 9, []):
        assert warned(*votes) == ""
