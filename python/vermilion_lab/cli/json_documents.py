"""The documents of ``--json`` of the laboratory's commands: the types behind docs/schemas."""

from typing import Any

from typing_extensions import TypedDict

from vermilion.files.document_types import json_type
from vermilion_lab.cli.papers import ReproducedPapers
from vermilion_lab.papers.interface import Paper


class AtlasDocument(TypedDict):
    """An atlas: a discipline tuned over a grid of conditions; docs/laboratory/atlas.md."""

    version: str
    plan: dict[str, Any]
    goal: str
    parameters: list[str]
    cells: list[dict[str, Any]]
    laws: list[dict[str, Any]]


DOCUMENTS: dict[str, Any] = {
    "atlas": AtlasDocument,
    "papers": json_type(ReproducedPapers | list[Paper]),
}
"""The type of each command's document."""
