"""The documentation's chapter about the papers, in Markdown, from the same run as the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from vermilion_lab.papers.page import command_for, verdict_counts
from vermilion_lab.papers.registry import paper_names
from vermilion_lab.papers.verdict import exceptions, how_many_hold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion_lab.papers.interface import Figure, JudgedClaim
    from vermilion_lab.papers.reproduction import PaperOutcome


_INTRODUCTION = """\
Figures of the source papers, and of later ones on queues and senders that are in use, re-run with
`vermilion papers`, and what became of what they say. A claim is broken down into quantities that
can be measured, each in every reading of what the paper leaves open. A check holds when the whole
95 % interval over {seeds} seeds lies in the range that is wanted, and fails when all of it lies
outside. A claim *holds* when all of its checks do, and *holds in part* when some do. It *does not
hold* when none does, and *cannot be judged* when all are open. No verdict is written by hand.
`vermilion papers --report papers.html` makes a page that has every check and all tables.
"""

_ROW: Final = re.compile(r"^\| \[.*\]\(#([a-z0-9-]+)\) \|.*$", re.MULTILINE)
_SECTION: Final = re.compile(r"^\((?=[a-z0-9-]+\)=$)", re.MULTILINE)


def chapter(
    outcomes: Sequence[PaperOutcome], figure_path: str, *, made: str = "", kept: str = ""
) -> str:
    """The chapter's text.

    Args:
        outcomes: what came out of each paper.
        figure_path: where the figures are, with ``{paper}`` and ``{figure}`` in it.
        made: by what and when the outcomes were measured, a line.
        kept: a chapter as it is; what it has of other papers stays.
    """
    rows = {found[1]: found[0] for found in _ROW.finditer(kept)}
    sections = {each.partition(")=")[0]: f"({each}".rstrip() for each in _SECTION.split(kept)[1:]}
    for outcome in outcomes:
        name = outcome.paper.name
        counts = " | ".join(str(count) for _, _, count in verdict_counts([outcome]))
        rows[name] = f"| [{_escaped(outcome.paper.title)}](#{name}) | {counts} |"
        sections[name] = "\n".join(_paper(outcome, figure_path, made))
    order = [*paper_names(), *rows]
    names = sorted(rows, key=order.index)
    head = (
        "# Papers\n",
        "<!-- Written by docs/figures/papers.py; changes by hand are lost. -->\n",
        _INTRODUCTION.format(seeds=len(outcomes[0].seeds)),
        f"| paper | {' | '.join(words for words, _, _ in verdict_counts(outcomes))} |",
        "| --- | --- | --- | --- | --- |",
    )
    table = "\n".join((*head, *(rows[name] for name in names)))
    return "\n\n".join((table, *(sections[name] for name in names))) + "\n"


def _paper(outcome: PaperOutcome, figure_path: str, made: str) -> Iterator[str]:
    paper = outcome.paper
    yield f"({paper.name})="
    yield ""
    yield f"## {paper.title}"
    yield ""
    yield f"{paper.authors}, {paper.published}. `vermilion papers {paper.name}`"
    if made:
        yield ""
        yield made
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
