"""My dataset: the card and its table, as the entry point of the package gives them to the harness."""

from pathlib import Path

from harness.own import read_card

dataset = read_card(Path(__file__).with_name("my-dataset.toml"))
