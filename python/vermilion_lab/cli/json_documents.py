"""The documents of ``--json`` of the laboratory's commands: the types behind docs/schemas."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

# --- vermilion papers


class FigureDocument(TypedDict):
    """A figure of a paper."""

    id: str
    place: str
    title: str


class ClaimDocument(TypedDict):
    """A claim of a paper, and how it is measured."""

    id: str
    place: str
    says: str
    measured: str
    figures: list[str]


class PaperDocument(TypedDict):
    """A paper with what can be reproduced of it: ``papers --list``."""

    name: str
    title: str
    authors: str
    published: str
    figures: list[FigureDocument]
    claims: list[ClaimDocument]


class CheckDocument(TypedDict):
    """A measured quantity beside what the paper leads to expect."""

    quantity: str
    reading: str
    unit: str
    outcome: str
    expected_low: NotRequired[float]
    expected_high: NotRequired[float]
    mean: NotRequired[float]
    low: NotRequired[float]
    high: NotRequired[float]
    replications: NotRequired[int]


class JudgedClaimDocument(TypedDict):
    """A claim and its verdict."""

    id: str
    place: str
    says: str
    measured: str
    verdict: str
    why: str
    remark: str
    checks: list[CheckDocument]


class ReproducedFigureDocument(FigureDocument):
    """A figure and its numbers."""

    settings: str
    scenarios: list[str]
    numbers: Any


class ReproducedPaperDocument(TypedDict):
    """A paper and what became of it here."""

    name: str
    title: str
    authors: str
    published: str
    claims: list[JudgedClaimDocument]
    figures: list[ReproducedFigureDocument]


class PapersDocument(TypedDict):
    """Papers that were run."""

    version: str
    seeds: list[int]
    papers: list[ReproducedPaperDocument]


# --- vermilion atlas


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
    "papers": PapersDocument | list[PaperDocument],
}
"""The type of each command's document."""
