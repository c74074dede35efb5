"""Publishes the JSON Schema of each command's ``--json`` below ``schemas/``.

A page holds the line ``<!-- schemas -->``, which becomes the list of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from vermilion.cli.json_documents import DOCUMENTS
from vermilion_lab.cli.json_documents import DOCUMENTS as OF_LABORATORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_PLACE: Final = "<!-- schemas -->"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TYPES: Final = {**DOCUMENTS, **OF_LABORATORY}


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension with Sphinx."""
    app.connect("source-read", _fill_in)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def schema(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's document."""
    described = TypeAdapter(TYPES[command]).json_schema()
    return {"$schema": _DIALECT, **described, "title": f"vermilion {command} --json"}


def _fill_in(_app: Sphinx, _page: str, source: list[str]) -> None:
    if _PLACE in source[0]:
        source[0] = source[0].replace(_PLACE, "\n".join(_table()))


def _table() -> Iterator[str]:
    yield "| command | schema |"
    yield "| --- | --- |"
    for command in sorted(TYPES):
        file = f"schemas/{command}.json"
        yield f'| `vermilion {command}` | <a href="{file}">{file}</a> |'


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        folder = Path(app.outdir) / "schemas"
        folder.mkdir(exist_ok=True)
        for command in TYPES:
            text = json.dumps(schema(command), indent=2)
            (folder / f"{command}.json").write_text(f"{text}\n", encoding="utf-8")
