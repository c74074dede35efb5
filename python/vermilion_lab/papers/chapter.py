"""The documentation's chapter about the papers, in Markdown, from the same run as the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion_lab.papers.page import command_for, verdict_counts
from vermilion_lab.papers.verdict import exceptions, how_many_hold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion_lab.papers.interface import Figure, JudgedClaim
    from vermilion_lab.papers.reproduction import PaperOutcome


_INTRODUCTION = """\
Figures of the source papers, re-run with `vermilion papers`, and what became of what the papers
say about them. A claim is broken down into quantities that can be measured, each in every reading
of what the paper leaves open. A check holds when the whole 95 % interval over {seeds} seeds lies in
the range that is wanted, and fails when all of it lies outside. A claim *holds* when all of its
checks do, and *holds in part* when some do. It *does not hold* when none does, and *cannot be
judged* when all are open. No verdict is written by hand. `vermilion papers --report papers.html`
makes a page that has every check and all tables.
"""


def chapter(outcomes: Sequence[PaperOutcome], figure_path: str) -> str:
    """The chapter's text.

    Args:
        outcomes: what came out of each paper.
        figure_path: where the figures are, with ``{paper}`` and ``{figure}`` in it.
    """
    return "\n".join(_lines(outcomes, figure_path)).rstrip() + "\n"


def _lines(outcomes: Sequence[PaperOutcome], figure_path: str) -> Iterator[str]:
    seeds = len(outcomes[0].seeds)
    yield "# Papers"
    yield ""
    yield "<!-- Written by docs/figures/papers.py; changes by hand are lost. -->"
    yield ""
    yield _INTRODUCTION.format(seeds=seeds)
    yield f"| paper | {' | '.join(words for words, _, _ in verdict_counts(outcomes))} |"
    yield "| --- | --- | --- | --- | --- |"
    for outcome in outcomes:
        counts = " | ".join(str(count) for _, _, count in verdict_counts([outcome]))
        yield f"| [{_escaped(outcome.paper.title)}](#{outcome.paper.name}) | {counts} |"
    for outcome in outcomes:
        yield from _paper(outcome, figure_path)


def _paper(outcome: PaperOutcome, figure_path: str) -> Iterator[str]:
    paper = outcome.paper
    yield ""
    yield f"({paper.name})="
    yield ""
    yield f"## {paper.title}"
    yield ""
    yield f"{paper.authors}, {paper.published}. `vermilion papers {paper.name}`"
    for paragraph in paper.story:
        yield ""
        yield _escaped(paragraph)
    yield ""
    yield "Left open by the paper:"
    yield ""
    for question in paper.open_questions:
        yield f"- {_escaped(question)}"
    yield ""
    yield "| where | what the paper says | here |"
    yield "| --- | --- | --- |"
    for judged in outcome.claims:
        claim = judged.claim
        yield f"| {claim.place} | {_escaped(claim.says)} | **{judged.verdict.value}** |"
    for figure in outcome.figures:
        yield from _figure(outcome, figure, figure_path)


def _figure(outcome: PaperOutcome, figure: Figure, figure_path: str) -> Iterator[str]:
    yield ""
    yield f"### {figure.place[:1].upper()}{figure.place[1:]}: {figure.title}"
    yield ""
    yield f"```{{figure}} {figure_path.format(paper=outcome.paper.name, figure=figure.id)}"
    yield f":alt: {figure.title}"
    yield ""
    yield figure.caption
    yield "```"
    yield ""
    yield figure.settings
    yield ""
    yield "```text"
    yield command_for(outcome, figure)
    yield "```"
    for judged in outcome.claims_about(figure):
        yield from _claim(judged)


def _claim(judged: JudgedClaim) -> Iterator[str]:
    yield ""
    yield f"*{_escaped(judged.claim.says)}* **{_sentence(judged.verdict.value)}**"
    yield ""
    yield f"{_escaped(judged.claim.measured)} Here {how_many_hold(judged.checks)}."
    missed = exceptions(judged.checks)
    if missed:
        yield ""
        yield from (f"- {_escaped(each)}" for each in missed)
    if judged.remark:
        yield ""
        yield _escaped(judged.remark)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _escaped(text: str) -> str:
    """Text in which nothing means anything to Markdown."""
    for sign in ("\\", "*", "_", "|", "<"):
        text = text.replace(sign, f"\\{sign}")
    return text
