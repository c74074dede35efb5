"""Writes docs/laboratory/papers.md and its figures: all papers or those named, ten seeds.

Takes a quarter of an hour. With a folder, what was measured is kept there, and an interrupted run
goes on. What the page has of papers that are not named stays as it is:

    .venv/bin/python docs/figures/papers.py [--keep FOLDER] [PAPER ...]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vermilion_lab.papers import paper_named, reproduce
from vermilion_lab.papers.chapter import chapter
from vermilion_lab.papers.keeping import Keeper
from vermilion_lab.papers.page import figure_svg
from vermilion_lab.papers.registry import paper_names

if TYPE_CHECKING:
    from vermilion_lab.papers.reproduction import PaperOutcome

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

FIGURES = "../figures/papers/{paper}-{figure}.svg"


PAGE = HERE.parent / "laboratory" / "papers.md"


def write(outcomes: list[PaperOutcome]) -> None:
    """The chapter and its figures; a paper's figures that are no longer in it are removed."""
    folder = HERE / "papers"
    folder.mkdir(exist_ok=True)
    for outcome in outcomes:
        for old in folder.glob(f"{outcome.paper.name}-*.svg"):
            old.unlink()
        for figure in outcome.figures:
            # An image of its own needs a size, which on a page is the style sheet's business.
            drawn = figure_svg(outcome, figure)
            width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups()
            sized = drawn.replace("<svg", f'<svg width="{width}pt" height="{height}pt"', 1)
            path = PAGE.parent / FIGURES.format(paper=outcome.paper.name, figure=figure.id)
            path.write_text(sized + "\n", encoding="utf-8")
    kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    text = chapter(outcomes, FIGURES, made=made_by("docs/figures/papers.py"), kept=kept)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The page about the papers, and its figures.")
    parser.add_argument("--keep", type=Path, help="a folder for what was measured")
    parser.add_argument("papers", nargs="*", help="names; all if none")
    given = parser.parse_args()
    keeper = Keeper(given.keep) if given.keep else None
    chosen = [paper_named(name) for name in given.papers or paper_names()]
    write([reproduce(paper, keeper=keeper) for paper in chosen])
