"""Writes docs/laboratory/papers.md and its figures: all papers, ten seeds.

Takes some minutes. With a folder, what was measured is kept there, and an interrupted run goes on:

    .venv/bin/python docs/figures/papers.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vermilion_lab.papers import papers, reproduce
from vermilion_lab.papers.chapter import chapter
from vermilion_lab.papers.keeping import Keeper
from vermilion_lab.papers.page import figure_svg

if TYPE_CHECKING:
    from vermilion_lab.papers.reproduction import PaperOutcome

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

FIGURES = "../figures/papers/{paper}-{figure}.svg"


def write(outcomes: list[PaperOutcome]) -> None:
    """The chapter and its figures; figures that are no longer in it are removed."""
    folder = HERE / "papers"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    for outcome in outcomes:
        for figure in outcome.figures:
            # An image of its own needs a size, which on a page is the style sheet's business.
            drawn = figure_svg(outcome, figure)
            width, height = re.search(r'viewBox="0 0 (\S+) (\S+)"', drawn).groups()
            sized = drawn.replace("<svg", f'<svg width="{width}pt" height="{height}pt"', 1)
            path = (
                HERE.parent
                / "laboratory"
                / FIGURES.format(paper=outcome.paper.name, figure=figure.id)
            )
            path.write_text(sized + "\n", encoding="utf-8")
    made = f"All tables of this page: {made_by('docs/figures/papers.py')}"
    text = chapter(outcomes, FIGURES).replace("-->\n", f"-->\n\n{made}\n", 1)
    (HERE.parent / "laboratory" / "papers.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    keeper = Keeper(Path(sys.argv[1])) if len(sys.argv) > 1 else None
    write([reproduce(paper, keeper=keeper) for paper in papers()])
