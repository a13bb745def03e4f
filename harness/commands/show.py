"""`harness show NAME`: Show the card of a dataset, metric or pretrained model.

    harness show deb
    harness show fed-turn
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import registry as datasets
from benchmarks.errors import nearest, plural
from harness.errors import BadConfig
from harness.run import entries
from harness.scoring.score import needs
from metrics import registry
from metrics.composition import Composite, learned_evidence, ranked_weights
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, encoder_of, line, options, signature
from metrics.models import catalogue, checkpoint
from metrics.models import weights as pretrained
from metrics.models.service import Models

Line = tuple[str, str]
"""A term and its value; it is not printed if the value is empty."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="dataset, metric or model")


def run(args: argparse.Namespace) -> int:
    if args.name in datasets.names():
        lines = _dataset(args.name, args.home)
    elif args.name in catalogue.cards():
        lines = _model(args.name, args.home)
    elif registry.is_known(args.name):
        lines = _metric(args.name, args.home)
    elif metric := registry.metric_of_column(args.name):
        raise BadConfig(f"{args.name!r} is a column of {metric!r}: use `harness show {metric}`")
    else:
        suggestion = nearest(args.name, (*datasets.names(), *registry.names(), *catalogue.cards()))
        raise BadConfig(f"unknown dataset, metric or model {args.name!r}; {suggestion}")
    width = max(len(name) for name, _ in lines)
    print(*(f"{name:<{width}}  {value}" for name, value in lines if value), sep="\n")
    return 0


def _fields(card: object, names: str) -> list[Line]:
    """Return the fields of a card with these names; several values are joined to one line."""
    values = ((name.replace("_", " "), getattr(card, name)) for name in names.split())
    return [(name, ", ".join(value) if isinstance(value, tuple) else str(value)) for name, value in values]


def _dataset(name: str, home: Path) -> list[Line]:
    card, dataset = datasets.card(name), datasets.load(name, home)
    lines = [*_fields(card, "name title split level language"), ("items", str(dataset.card.size)),
             ("available", f"{plural(len(dataset.items), 'item')}, {dataset.origin}"),
             ("fingerprint", dataset.fingerprint), *_fields(card, "licence citation homepage notes")]
    for quality in dataset.card.qualities:
        board = "" if quality.dimension == quality.name.casefold() else f", on the board {quality.dimension!r}"
        lines.append(("quality", f"{quality.name} ({quality.scale}{board})"))
    lines += [("published scores", f"--metric scores:{metric}") for metric in datasets.published_scores(name)]
    for source in card.sources:
        digest = f"  sha256 {source.sha256}" if source.sha256 else ""
        lines.append(("source", f"{source.url}{' (registration)' if source.by_hand else ''}{digest}"))
    return lines


def _model(name: str, home: Path) -> list[Line]:
    card = catalogue.cards()[name]
    try:
        location = str(catalogue.folder(card, home) if card.kind == "vectors" else pretrained.find(name, home).folder)
    except MissingResource as error:
        location = str(error)
    source = "the publisher's digest" if card.published else f"as distributed in {card.packages}"
    return [("name", card.name), ("title", card.title or card.name), ("kind", card.kind),
            ("parameters", f"{card.parameters:,}"), ("licence", f"{card.licence} {card.terms}".strip()),
            ("pretrained on", card.pretrained_on), ("location", location),
            ("fetched from", f"hub, {card.hub}" if card.hub else ""),
            ("fetched from", f"package index, {card.packages}, {card.size / 1e6:.0f} MB"),
            *(("sha256", f"{digest}  {file} ({source})") for file, digest in card.files.items())]


def _metric(name: str, home: Path) -> list[Line]:
    chosen, models = registry.choose(name), Models(home)
    card, entry = chosen.metric.card, entries.metric_entry(chosen, models)
    try:
        signature_line, missing = line(signature(chosen.metric, models)), ""
    except MissingResource as error:
        signature_line, missing = "", str(error)
    return [*_fields(card, "name title family columns levels"),
            ("needs", ", ".join(needs(chosen.metric)) or "nothing"),
            ("networks", f"{entry.parameters:,} parameters" if entry.parameters else ""),
            *(("pretrained", line) for line in entry.pretrained_on), *_fields(card, "scope paper system"),
            *(("differs", line) for line in card.departures), *_fields(card, "trained_on fitted_on notes"),
            ("signature", signature_line), ("missing", missing),
            *(("option", f"{key}={value}") for key, value in options(chosen.metric).items()),
            *_weights(chosen.metric, models, missing), *_composite(chosen.metric, models)]


def _weights(metric: Metric, models: Models, missing: str) -> list[Line]:
    lines = []
    for name in checkpoints(metric):
        try:
            weights = models.checkpoint(name, encoder_of(metric))
        except MissingResource as error:
            trained_by = f"not on this machine; train them with `{checkpoint.command(name)}`"
            lines.append(("weights", trained_by if str(error) in missing else str(error)))
            continue
        card = weights.card
        encoder = f", for {weights.encoder}" if weights.encoder else ""
        results = f"seed {card['seed']}, validation loss {card['held_out']:.4f} after {card['best_step']} steps"
        lines += [("weights", f"{weights.identity}{encoder}, {weights.size / 1e6:.2f} MB; {results}"),
                  ("location", "shipped with the project" if weights.folder.is_relative_to(checkpoint.SHIPPED)
                   else f"{weights.folder}, instead of shipped weights"),
                  ("trained by", f"{card['command']} ({card['device']}, {card['seconds']:.0f} s)")]
        if weights.licence_limits:
            lines.append(("terms", f"terms of the training corpora: {weights.licence_limits}"))
        lines += [("measured", f"{name}: {value}") for name, value in card["told"].items()]
        lines += [("corpus", (f"{corpus['title']} ({corpus['licence']}): {corpus['training']:,} dialogues, "
                              f"{corpus['held_out']:,} held out, {sum(corpus['left_out'].values()):,} excluded; "
                              f"sha256 {corpus['digest'][:12]}")) for corpus in card["corpora"]]
    return lines


def _composite(metric: Metric, models: Models) -> list[Line]:
    if not isinstance(metric, Composite):
        return []
    lines = [("input", entry.name) for entry in metric.made_of()]
    try:
        evidence = learned_evidence(metric, models)
    except MissingResource as error:
        return [*lines, ("weights", str(error))]
    if metric.learns:
        lines += [("fitted on", f"{', '.join(evidence.datasets)} ({evidence.identity})"),
                  ("fitted by", str(evidence.card.get("command", "unknown")))]
    return [*lines, *(("weights", f"{dimension}: " + ", ".join(f"{name} {weight:.2f}" for name, weight in weights))
                      for dimension, weights in ranked_weights(metric, evidence))]
