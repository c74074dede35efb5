"""The figures and tables of the source papers, re-run here and judged.

Each paper is one file: its figures (which simulations, and how they are drawn) and its claims
(what the paper says, and what to measure). What holds is worked out from the numbers and their
intervals; no verdict is written down. :func:`vermilion.papers.registry.papers` has the list,
:func:`vermilion.papers.reproduction.reproduce` runs one.
"""

from __future__ import annotations

from vermilion.papers.interface import Claim, Figure, FigureTable, Paper
from vermilion.papers.registry import paper_named, papers
from vermilion.papers.reproduction import PaperOutcome, reproduce
from vermilion.papers.verdict import Check, Expected, Ruling

__all__ = [
    "Check",
    "Claim",
    "Expected",
    "Figure",
    "FigureTable",
    "Paper",
    "PaperOutcome",
    "Ruling",
    "paper_named",
    "papers",
    "reproduce",
]
