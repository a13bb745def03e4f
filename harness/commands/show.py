"""`harness show NAME`: show the card of a dataset, a metric or a pretrained model."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.run import entries
from metrics import registry
from metrics.composition import Composite, learned, weights_shown
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, options
from metrics.models import catalogue
from metrics.models import weights as pretrained
from metrics.models.service import Models
from metrics.training import checkpoint


def configure(parser: argparse.ArgumentParser) -> None:
    """A name."""
    parser.add_argument("name")


def run(args: argparse.Namespace) -> int:
    """Print the card."""
    if args.name in datasets.names():
        lines = _dataset(args.name, args.home)
    elif args.name in catalogue.cards():
        lines = _model(args.name, args.home)
    elif registry.is_known(args.name):
        lines = _metric(args.name, args.home)
    else:
        known = nearest(args.name, (*datasets.names(), *registry.names(), *catalogue.cards()))
        raise BadConfig(f"no dataset, metric or model {args.name!r}; {known}")
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        if value:
            print(f"{name:<{width}}  {value}")
    return 0


def _dataset(name: str, home: Path) -> list[tuple[str, str]]:
    card, here = datasets.card(name), datasets.load(name, home)
    lines = [("name", card.name), ("title", card.title), ("split", card.split), ("level", card.level),
             ("language", card.language),
             ("rows", str(here.card.size)), ("here", f"{len(here.items)} items, {here.origin}"),
             ("fingerprint", here.fingerprint), ("licence", card.licence), ("citation", card.citation),
             ("homepage", card.homepage), ("notes", card.notes)]
    for quality in here.card.qualities:
        board = "" if quality.dimension == quality.name.casefold() else f", on the board {quality.dimension!r}"
        lines.append(("quality", f"{quality.name} ({quality.scale}{board})"))
    for source in card.sources:
        digest = f"  sha256 {source.sha256}" if source.sha256 else ""
        lines.append(("source", f"{source.url}{' (registration)' if source.by_hand else ''}{digest}"))
    return lines


def _model(name: str, home: Path) -> list[tuple[str, str]]:
    card = catalogue.cards()[name]
    try:
        here = str(catalogue.folder(card, home) if card.kind == "vectors" else pretrained.find(name, home).folder)
    except MissingResource as error:
        here = str(error)
    whose = "the publisher's own digest" if card.published else f"as carried by {card.carried_by}"
    lines = [("name", card.name), ("title", card.title or card.name), ("kind", card.kind),
             ("parameters", f"{card.parameters:,}"), ("licence", " ".join((card.licence, card.terms)).strip()),
             ("pretrained on", card.pretrained_on), ("here", here),
             ("fetched from", f"hub, {card.hub}" if card.hub else ""),
             ("fetched from", f"package index, {card.carried_by}, {card.size / 1e6:.0f} MB")]
    return lines + [("sha256", f"{digest}  {file} ({whose})") for file, digest in card.files.items()]


def _metric(name: str, home: Path) -> list[tuple[str, str]]:
    chosen = registry.choose(name)
    card = chosen.metric.card
    models = Models(home)
    entry = entries.metric_entry(chosen, models)
    signed, _, lacking = entry.signature.partition("|not run: ")
    lines = [("name", card.name), ("title", card.title), ("family", card.family), ("columns", ", ".join(card.columns)),
             ("levels", ", ".join(card.levels)), ("needs", ", ".join((*card.needs, *card.resources)) or "nothing"),
             ("models", ", ".join(card.models) or "none"),
             ("networks", f"{entry.parameters:,} parameters" if entry.parameters else ""),
             *(("pretrained", line) for line in entry.pretrained_on),
             ("scope", card.scope), ("paper", card.paper), ("system", card.system),
             *(("departs", line) for line in card.departures), ("trained on", card.trained_on),
             ("fitted on", card.fitted_on), ("notes", card.notes),
             ("signature", "" if lacking else signed), ("lacks", lacking)]
    lines += [("option", f"{key}={value}") for key, value in options(chosen.metric).items()]
    return lines + _weights(chosen.metric, models, lacking) + _composition(chosen.metric, models)


def _weights(metric: Metric, models: Models, lacking: str) -> list[tuple[str, str]]:
    """How the weights that a metric reads were made, or what is wrong with them."""
    lines = []
    for name in checkpoints(metric):
        try:
            weights = models.checkpoint(name, getattr(metric, "encoder", ""))
        except MissingResource as error:
            trained_by = f"not on this machine; `{checkpoint.command(name)}` trains them"
            lines.append(("weights", trained_by if str(error) in lacking else str(error)))
            continue
        card = weights.card
        encoder = f", for {weights.encoder}" if weights.encoder else ""
        measured = f"seed {card['seed']}, held-out loss {card['held_out']:.4f} after {card['best_step']} steps"
        lines += [("weights", f"{weights.identity}{encoder}, {weights.size / 1e6:.2f} MB; {measured}"),
                  ("where", "shipped with the project" if weights.folder.is_relative_to(checkpoint.SHIPPED)
                   else f"{weights.folder}, in place of what is shipped"),
                  ("trained by", f"{card['command']} ({card['device']}, {card['seconds']:.0f} s)")]
        if weights.terms:
            lines.append(("terms", f"trained on corpora whose terms are {weights.terms}"))
        lines += [("told", f"{what}: {value}") for what, value in card["told"].items()]
        lines += [("corpus", _used(corpus)) for corpus in card["corpora"]]
    return lines


def _composition(metric: Metric, models: Models) -> list[tuple[str, str]]:
    """What a composition is made of, and its weights for each quality with what they were learned on."""
    if not isinstance(metric, Composite):
        return []
    lines = [("input", one.name) for one in metric.made_of()]
    try:
        evidence = learned(metric, models)
    except MissingResource as error:
        return [*lines, ("weights", str(error))]
    if metric.learns:
        lines += [("learned on", f"{', '.join(evidence.datasets)} ({evidence.identity})"),
                  ("learned by", str(evidence.card.get("command", "not known")))]
    for dimension, weights in weights_shown(metric, evidence):
        lines.append(("weights", f"{dimension}: " + ", ".join(f"{name} {weight:.2f}" for name, weight in weights)))
    return lines


def _used(corpus: Mapping[str, Any]) -> str:
    """What of a corpus was trained on, under which licence."""
    return (f"{corpus['title']} ({corpus['licence']}): {corpus['training']:,} dialogues, {corpus['held_out']:,} held "
            f"out, {sum(corpus['left_out'].values()):,} left out; sha256 {corpus['digest'][:12]}")
