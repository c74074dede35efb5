"""Puts the keys of a decision's details into the documentation, where a page asks for them.

The line ``<!-- decision details -->`` becomes a table of the code's own catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.online.record.detail_keys import DETAIL_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PLACE: Final = "<!-- decision details -->"


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    if PLACE in source[0]:
        source[0] = source[0].replace(PLACE, "\n".join(details_table()))


def details_table() -> Iterator[str]:
    """A row for each key: its unit, and what it is."""
    yield "| key | unit | what it is |"
    yield "| --- | --- | --- |"
    for key, (unit, meaning) in DETAIL_KEYS.items():
        yield f"| `{key}` | {unit} | {meaning} |"
