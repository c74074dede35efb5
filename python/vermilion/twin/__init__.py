"""Twin: a scenario fitted to a capture, with notes on everything that a capture cannot show.

:func:`read_evidence` takes from a capture what a twin needs, :func:`twin_of` makes the scenario and
the list of what it could not know, and :func:`compare_with` simulates it and puts the two side by
side.
"""

from __future__ import annotations

from vermilion.twin.comparison import ComparedFigure, compare_with
from vermilion.twin.evidence import Evidence, read_evidence
from vermilion.twin.scenario import Twin, TwinError, twin_of

__all__ = [
    "ComparedFigure",
    "Evidence",
    "Twin",
    "TwinError",
    "compare_with",
    "read_evidence",
    "twin_of",
]
