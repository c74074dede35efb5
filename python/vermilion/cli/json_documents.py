"""The documents of ``--json``, command by command: the types behind the schemas of docs/json.md.

A key that is not required is absent where its number cannot be computed.
"""

from typing import TypedDict


class ObjectiveDocument(TypedDict):
    """An objective of ``vermilion objectives``."""

    name: str
    summary: str
    goal: str
    unit: str
    noticeable: float | None
    noticeable_share: float | None
    required: list[str]
    fields: dict[str, str]


class ScenarioDocument(TypedDict):
    """A shipped scenario of ``vermilion scenarios``."""

    name: str
    title: str
    description: str
