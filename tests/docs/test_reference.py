"""The generated pages have every command, metric, dataset and type of the results, as they are now."""

from __future__ import annotations

from tests.docs import reference


def test_the_reference_is_current() -> None:
    """It is written anew by `python -m tests.docs.reference`."""
    pages = reference.pages()
    assert {path.name for path in reference.FOLDER.iterdir()} == set(pages)
    for name, text in pages.items():
        assert (reference.FOLDER / name).read_text() == text, f"{name}: run `python -m tests.docs.reference`"


def test_the_reference_is_short() -> None:
    assert len(reference.pages()["metrics.md"].split()) < 5000
    assert len(reference.pages()["commands.md"].split()) < 3500
