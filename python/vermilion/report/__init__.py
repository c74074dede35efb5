"""Figures and self-contained HTML pages of runs, studies and on-line tuning.

A page is one file: its figures are inline SVG, its styles are in its head, and it fetches
nothing. The same runs give the same bytes. The drawing libraries are loaded when a page is
made, not when this package is imported.
"""

from __future__ import annotations

from vermilion.report.comparison import ComparisonReport, compare
from vermilion.report.online import online_report

__all__ = ["ComparisonReport", "compare", "online_report"]
