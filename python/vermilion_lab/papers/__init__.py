"""The figures and tables of the source papers, re-run here and judged.

Each paper is one file: its figures (which simulations, and how they are drawn) and its claims
(what the paper says, and what to measure). What holds is worked out from the numbers and their
intervals; no verdict is written down. :func:`vermilion_lab.papers.registry.papers` has the list,
:func:`vermilion_lab.papers.reproduction.reproduce` runs one.
"""

from __future__ import annotations

from vermilion_lab.papers.interface import Claim, Figure, FigureTable, Paper
from vermilion_lab.papers.registry import paper_named, papers
from vermilion_lab.papers.reproduction import PaperOutcome, reproduce
from vermilion_lab.papers.verdict import Check, Expected, Ruling

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
