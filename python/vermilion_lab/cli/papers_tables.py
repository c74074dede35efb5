"""The tables of ``vermilion papers``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.cli.output import console
from vermilion.scenario.quantities import how_many
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion_lab.papers.interface import Paper
    from vermilion_lab.papers.reproduction import PaperOutcome

_STYLES: Final = {
    Ruling.HOLDS: "green",
    Ruling.IN_PART: "yellow",
    Ruling.FAILS: "red",
    Ruling.OPEN: "dim",
}


def print_outcomes(outcomes: Sequence[PaperOutcome]) -> None:
    """Prints each paper's claims with their verdicts and the numbers that decide them."""
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    for outcome in outcomes:
        _print_title(outcome.paper)
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 1, 0))
        table.add_column(no_wrap=True)
        table.add_column(ratio=2)
        table.add_column(no_wrap=True)
        table.add_column(ratio=3)
        for judged in outcome.claims:
            style = _STYLES[judged.verdict]
            table.add_row(
                escape(judged.claim.place),
                escape(judged.claim.says),
                f"[{style}]{judged.verdict.value}[/{style}]",
                escape(judged.why),
            )
        screen.print(table)
    verdicts = [judged.verdict for outcome in outcomes for judged in outcome.claims]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict.value}" for verdict in Ruling)
    seeds = len(outcomes[0].seeds)
    screen.print(
        f"{how_many(len(verdicts), 'claim')}: {counts}. "
        f"Means over {seeds} seeds with 95 % t intervals.",
        markup=False,
    )


def print_list(papers: Sequence[Paper]) -> None:
    """Print papers with their figures and claims; of several, a line each."""
    from rich.markup import escape
    from rich.table import Table

    screen = console()
    if len(papers) > 1:
        table = Table(box=None, pad_edge=False, show_header=False)
        for paper in papers:
            counted = f"{len(paper.figures)} figures, {len(paper.claims)} claims"
            table.add_row(escape(paper.name), escape(paper.title), counted)
        screen.print(table)
        screen.print("Figures and claims of one: vermilion papers --list NAME", markup=False)
        return
    for paper in papers:
        _print_title(paper)
        table = Table(box=None, pad_edge=False, show_header=False)
        for figure in paper.figures:
            table.add_row("figure", escape(figure.id), escape(figure.place), escape(figure.title))
        for claim in paper.claims:
            table.add_row("claim", escape(claim.id), escape(claim.place), escape(claim.says))
        screen.print(table)
        screen.print()


def _print_title(paper: Paper) -> None:
    screen = console()
    screen.print(paper.name, style="bold", markup=False)
    screen.print(f"{paper.authors}: {paper.title}. {paper.published}.", markup=False)
