"""The page about the papers: as a story, figure by figure, with every verdict and its numbers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from vermilion.report import drawing
from vermilion.report.templates_of import templates_of
from vermilion_lab.papers.verdict import Ruling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion_lab.papers.interface import Figure, JudgedClaim
    from vermilion_lab.papers.reproduction import PaperOutcome

VERDICT_CLASSES = {
    Ruling.HOLDS: "holds",
    Ruling.IN_PART: "in-part",
    Ruling.FAILS: "fails",
    Ruling.OPEN: "open",
}
"""The style of each verdict on the page."""


def papers_page(outcomes: Sequence[PaperOutcome]) -> str:
    """Render one self-contained HTML page. The same outcomes give the same bytes.

    Raises:
        ValueError: there is no paper.
    """
    if not outcomes:
        message = "a page needs at least one paper"
        raise ValueError(message)
    from vermilion import _core

    template = templates_of("vermilion_lab.papers").get_template("papers.html.j2")
    return template.render(
        papers=[_paper(outcome) for outcome in outcomes],
        seeds=outcomes[0].seeds,
        commands=commands_for(outcomes),
        version=_core.VERSION,
        random_streams=_core.RANDOM_STREAMS,
        counts=verdict_counts(outcomes),
    )


def verdict_counts(outcomes: Sequence[PaperOutcome]) -> list[tuple[str, str, int]]:
    """Number of claims of each verdict: its words, its style, the number."""
    verdicts = [judged.verdict for outcome in outcomes for judged in outcome.claims]
    return [
        (verdict.value, VERDICT_CLASSES[verdict], verdicts.count(verdict)) for verdict in Ruling
    ]


def command_for(outcome: PaperOutcome, figure: Figure) -> str:
    """The command that repeats a figure."""
    return _command([outcome], [figure], "figure.html")


def commands_for(outcomes: Sequence[PaperOutcome]) -> list[str]:
    """Commands that reproduce a page: one, or one per paper if figures were selected."""
    if all(outcome.figures == outcome.paper.figures for outcome in outcomes):
        return [_command(outcomes, [], "papers.html")]
    alone = len(outcomes) == 1
    return [
        _command(
            [outcome],
            [] if outcome.figures == outcome.paper.figures else outcome.figures,
            "papers.html" if alone else f"{outcome.paper.name}.html",
        )
        for outcome in outcomes
    ]


def _command(outcomes: Sequence[PaperOutcome], figures: Sequence[Figure], page: str) -> str:
    words = ["vermilion", "papers", *(outcome.paper.name for outcome in outcomes)]
    words += [word for figure in figures for word in ("--figure", figure.id)]
    seeds = outcomes[0].seeds
    words += ["--seeds", str(len(seeds))]
    if seeds[0] != 1:
        words += ["--seed", str(seeds[0])]
    return shlex.join([*words, "--report", page])


def figure_svg(outcome: PaperOutcome, figure: Figure) -> str:
    """A figure as an SVG element."""
    with drawing.style():
        drawn = figure.draw(outcome.numbers[figure.id])
    return drawing.svg(
        drawn,
        name=f"{outcome.paper.name}-{figure.id}",
        description=f"{figure.place} of {outcome.paper.name}: {figure.title}. {figure.caption}",
    )


def _paper(outcome: PaperOutcome) -> dict[str, object]:
    return {
        "paper": outcome.paper,
        "claims": [_claim(judged) for judged in outcome.claims],
        "counts": verdict_counts([outcome]),
        "figures": [
            {
                "figure": figure,
                "svg": figure_svg(outcome, figure),
                "tables": list(figure.tables(outcome.numbers[figure.id])),
                "claims": [_claim(judged) for judged in outcome.claims_about(figure)],
                "command": command_for(outcome, figure),
            }
            for figure in outcome.figures
        ],
    }


def _claim(judged: JudgedClaim) -> dict[str, object]:
    return {
        "claim": judged.claim,
        "checks": [
            {"check": check, "style": VERDICT_CLASSES[check.verdict]} for check in judged.checks
        ],
        "verdict": judged.verdict.value,
        "style": VERDICT_CLASSES[judged.verdict],
        "why": judged.why,
        "remark": judged.remark,
    }
