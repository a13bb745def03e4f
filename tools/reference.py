"""Write docs/reference from the parser, the cards and the row types: `python -m tools.reference`."""

import argparse
import dataclasses
import inspect
import re
import typing
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from benchmarks import registry as datasets
from benchmarks.corpora.files import CARDS
from benchmarks.dataset import DatasetCard, Quality
from harness import cli
from harness.results import decision_rows, entries, exhibits, files, rows
from harness.scoring.score import needs
from metrics import registry as metrics
from metrics.metric import MetricCard
from metrics.models import checkpoint
from tools import ROOT

FOLDER = ROOT / "docs" / "reference"
HEAD = "<!-- Written by `python -m tools.reference`; do not edit. -->\n\n"
COMMON_FLAGS = {"-h", "--home"}

METRICS = """# Metrics

Higher is better for every column; a score that cannot be computed is missing, never 0. Options follow the name in
brackets: `--metric "bleu[references=max,lowercase=true]"`; the first value listed is the default. `encoder`, `lm` and
`vectors` are the models of the run unless one is named. [metrics.md](../metrics.md) has formulas and departures.
"""

DATASETS = """# Datasets

[data.md](../data.md) explains how to get them. A quality shares a board with the same quality of other datasets under
the dimension in brackets, if that has a different name.

| name | title | split, level | items | qualities with their scales | licence |
| --- | --- | --- | --- | --- | --- |"""

TYPE_WORDS = ((r"npt\.NDArray\[np\.(\w+)\]", r"array of \1"),
         (r"(?:tuple|Sequence)\[(\w+)(?:, \.\.\.)?\]", r"list of \1"),
         (r"Mapping\[(.+), (.+)\]", r"\2 by \1"), (r"tuple\[(\w+), (\w+)\]", r"(\1, \2)"), (r" \| None", " or null"),
         (r"\bfloat\b", "number"), (r"\bint\b", "whole number"), (r"\bstr\b", "text"), (r"\bAny\b", "anything"))
"""Types and how the page on results describes them."""

LICENCES = """# Licences

Code, pages, prompts and the bundled sample: Apache-2.0. [Datasets](reference/datasets.md) are never shipped.

| shipped data | origin | terms |
| --- | --- | --- |
| `benchmarks/sample/data` | written for this project | Apache-2.0 |
| `benchmarks/corpora/overlap.npz` | digests of contexts of 17 evaluation sets | contains no text |
| `metrics/text/keyword_counts.tsv.gz` | number of utterances in five corpora that contain a word | contains no text |
| `metrics/text/wordnet.zip` | words and forms of WordNet 3.0 | its licence, in the file |
| `harness/published/*.csv` | numbers published in the cited papers | facts |
| `metrics/checkpoints/*/evidence.json` | correlations with the ratings of ten evaluation sets | facts |

## Trained weights

The weights in `metrics/checkpoints` are a separate package, `dialogue-harness-weights`, which Apache-2.0 does not
cover. Whether weights inherit the terms of their training corpora is not settled, so use them only for non-commercial
research. With `harness train` you can train weights on corpora that you are allowed to use.

| weights | corpora | their terms |
| --- | --- | --- |"""


def pages() -> dict[str, str]:
    writers = {"commands.md": commands, "metrics.md": metric_pages, "datasets.md": dataset_table, "results.md": results,
            "../licences.md": licences}
    return {name: HEAD + "\n".join(page()).rstrip() + "\n" for name, page in writers.items()}


def licences() -> Iterator[str]:
    weights: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(path.name for path in checkpoint.SHIPPED.iterdir() if (path / checkpoint.CARD).exists()):
        card = checkpoint.read(name, checkpoint.SHIPPED / name)
        weights[", ".join(sorted(corpus["name"] for corpus in card.card["corpora"])), card.licence_limits].append(name)
    yield LICENCES
    yield from (f"| {', '.join(names)} | {corpora} | {terms} |" for (corpora, terms), names in weights.items())
    yield from ("", "| terms | corpora |", "| --- | --- |")
    names = sorted({name for corpora, _ in weights for name in corpora.split(", ")})
    terms = {name: CARDS[name].licence for name in names}
    for licence in dict.fromkeys(terms.values()):
        yield f"| {licence} | {', '.join(name for name in names if terms[name] == licence)} |"


def commands() -> Iterator[str]:
    """Yield every command with its flags; those of `harness run` are described only there."""
    yield from ("# Commands", "", paragraphs(cli.__doc__, 1), "")
    parsers = subparsers(cli.parser())
    run_flags = {flag_row(action) for action in parsers["run"]._actions}
    for name, parser in parsers.items():
        text, examples = cli.help_texts()[name]
        texts = [sentence(text), f"```sh\n{examples}\n```"]
        yield from command(f"harness {name}", parser, texts, run_flags if name != "run" else set())


def command(name: str, parser: argparse.ArgumentParser, texts: list[str], run_flags: set[str]) -> Iterator[str]:
    yield from (f"## {name}", "")
    yield from (text + "\n" for text in texts if text)
    flags = [action for action in parser._actions if not COMMON_FLAGS & set(action.option_strings)
             and not isinstance(action, argparse._SubParsersAction)]
    rows = list(map(flag_row, flags))
    run_flags = run_flags | {row for row in rows if row.endswith("| as for `harness run` |")}
    if described := [row for row in rows if row not in run_flags]:
        yield from ("| flag | meaning |", "| --- | --- |", *described, "")
    if shared := [row.split("`")[1].split()[0] for row in rows if row in run_flags]:
        yield f"As for `harness run`: {', '.join(f'`{name}`' for name in shared)}.\n"
    for subcommand, inner in subparsers(parser).items():
        yield from command(f"{name} {subcommand}", inner, [sentence(inner.description or "")], run_flags)


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {name: inner for action in parser._actions if isinstance(action, argparse._SubParsersAction)
            for name, inner in action.choices.items()}


def flag_row(action: argparse.Action) -> str:
    """Return a table row: the flag with its choices or value, and its help text with the default."""
    metavar = action.metavar[0] if isinstance(action.metavar, tuple) else action.metavar
    value = "\\|".join(map(str, action.choices)) if action.choices and not metavar else metavar or action.dest.upper()
    if not action.option_strings:
        name = f"`{value}`" + (" ..." if action.nargs in {"*", "+"} else "")
    else:
        name = f"`{action.option_strings[-1]}{'' if action.nargs == 0 else f' {value}'}`"
    return f"| {name} | {cell((action.help or '') % {**vars(action), 'prog': 'harness'})} |"


def metric_pages() -> Iterator[str]:
    yield METRICS
    families = defaultdict(list)
    for name in metrics.names():
        families[metrics.card(name).family].append(name)
    for family, names in families.items():
        yield from (f"## {family.capitalize()}", "", "| metric | columns | takes | options |",
                    "| --- | --- | --- | --- |", *map(metric_row, names), "", *map(remarks, names), "")


def metric_row(name: str) -> str:
    card = metrics.card(name)
    title = f"[{card.title}]({card.paper})" if card.paper.startswith("http") else card.title
    takes = [*needs(metrics.choose(name).metric), *(f"weights {name}" for name in card.checkpoints)]
    levels = "" if card.levels == ("turn",) else f"; {' and '.join(card.levels)} level"
    kind: Any = metrics.metric_class(name)
    hints = typing.get_type_hints(kind)
    options = [option(field.name, field.default, hints[field.name]) for field in dataclasses.fields(kind)]
    columns = [f"`{column}`" for column in card.columns]
    shown = columns if len(columns) < 7 else [*columns[:2], "...", columns[-1]]
    return (f"| `{name}` {cell(title)} | {', '.join(shown)} "
            f"| {', '.join(takes) or 'nothing'}{levels} | {', '.join(options)} |")


def option(name: str, default: object, kind: Any) -> str:
    if get_origin(kind) is typing.Literal:
        alternatives = [value for value in get_args(kind) if value != default]
        return f"`{name}` ({', '.join(map(str, (default, *alternatives)))})"
    return f"`{name}`" + ("" if default in ("", None) else f" ({str(default).lower() or '...'})")


def remarks(name: str) -> str:
    """Return the metric's formula, notes, departures from the paper, and training corpora."""
    card: MetricCard = metrics.card(name)
    kind = metrics.metric_class(name)
    source = Path(inspect.getfile(kind)).relative_to(ROOT)
    formula = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    parts = [formula, sentence(card.notes), f"*{card.system.capitalize()}.*" if card.departures else "",
             *map(sentence, card.departures)]
    if card.trained_on:
        corpora = card.trained_on.count(",") + 1
        parts.append(f"Trained on {card.trained_on if corpora < 4 else f'{corpora} corpora'}.")
    return f"- [`{name}`](../../{source}): {' '.join(part for part in parts if part)}"


def dataset_table() -> Iterator[str]:
    yield DATASETS
    cards = list(datasets.built_in().values())
    for card in cards:
        qualities = ", ".join(map(quality, card.qualities))
        yield (f"| `{card.name}` | {card.title} | {card.split}, {card.level} | {card.size:,} | {qualities} "
               f"| {cell(card.licence)} |")
    yield ""
    groups: dict[tuple[str, str], list[DatasetCard]] = defaultdict(list)
    for card in cards:
        groups[card.citation, card.notes].append(card)
    for (citation, notes), group in groups.items():
        urls = dict.fromkeys(f"<{source.url}>" + (" (by hand)" if source.by_hand else "")
                             for card in group for source in card.sources)
        yield (f"- **{', '.join(card.name for card in group)}**: {sentence(citation)} {sentence(notes)} From "
               f"{', '.join(urls)}.")


def quality(quality: Quality) -> str:
    scale = "" if quality.low is None or quality.high is None else f" {quality.low:g}–{quality.high:g}"
    dimension = "" if quality.dimension == quality.name.casefold() else f" ({quality.dimension})"
    return f"{quality.name}{scale}{dimension}"


def results() -> Iterator[str]:
    yield from ("# Results", "", paragraphs(files.__doc__), "")
    kinds: list[type[Any]] = [kind for module in (decision_rows, entries, rows, exhibits)
                              for kind in vars(module).values() if isinstance(kind, type)
                              and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__]
    for kind in [rows.Results, *(kind for kind in kinds if kind is not rows.Results),
                 checkpoint.Evaluation]:
        fields = ", ".join(f"`{field.name}` {plain(str(field.type))}" for field in dataclasses.fields(kind))
        yield from (f"## {kind.__name__}", "", inspect.getdoc(kind) or "", "", f"{fields}.", "")


def plain(kind: str) -> str:
    for before, after in TYPE_WORDS:
        kind = re.sub(before, after, kind)
    return kind


def paragraphs(text: str | None, start: int = 0) -> str:
    """Return the paragraphs of a docstring from number `start` on."""
    return "\n\n".join(inspect.cleandoc(text or "").split("\n\n")[start:])


def sentence(text: str) -> str:
    """Add a full stop, and a capital letter unless the text begins with a name or a formula."""
    if not text:
        return ""
    first_word = text.split()[0]
    start = text[0].upper() if first_word.isascii() and first_word.isalpha() and first_word.islower() else text[0]
    return start + text[1:] + ("" if text[-1] in ".?!:" else ".")


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for page, content in pages().items():
        (FOLDER / page).write_text(content)
