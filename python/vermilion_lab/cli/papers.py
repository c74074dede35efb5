"""``vermilion papers``: re-runs the figures of the source papers and judges what they claim."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import save_json, write_json
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, note, output_file
from vermilion.files.document import document, package_version
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion_lab.papers import Paper, PaperOutcome
    from vermilion_lab.papers.keeping import Keeper


@document("version=package_version seeds papers", package_version)
@dataclass(frozen=True, slots=True)
class ReproducedPapers:
    """Papers that were run."""

    seeds: tuple[int, ...]
    papers: "Sequence[PaperOutcome]"


def papers(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER...]",
            help="Which papers (default: all); see: vermilion papers --list",
            show_default=False,
        ),
    ] = None,
    *,
    listed: Annotated[
        bool, typer.Option("--list", help="Show the papers, their figures and claims; run nothing.")
    ] = False,
    figures: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="ID",
            help="Only this figure of one paper. May be repeated.",
            show_default=False,
        ),
    ] = None,
    seeds: options.Seeds = 10,
    first_seed: options.FirstSeed = 1,
    threads: options.Threads = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep each figure's numbers there as soon as it is done, and take from there what "
            "is already known.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a page (HTML) with every figure, claim and verdict.",
            show_default=False,
        ),
    ] = None,
    target: options.Json = None,
) -> int:
    """Re-run the figures of the source papers.

    Says of each claim whether it holds here, with the numbers that decide it.
    """
    from vermilion_lab.papers.registry import paper_named, paper_names
    from vermilion_lab.papers.reproduction import chosen_figures, seeds_from

    check_outputs(json=target, report=report)
    chosen = [paper_named(name) for name in dict.fromkeys(names or paper_names())]
    if figures and len(chosen) != 1:
        message = f"--figure: {len(chosen)} papers are meant; expected the name of one"
        raise UserError(message)
    for paper in chosen:
        chosen_figures(paper, figures or ())
    if listed:
        _list(chosen, target)
        return 0
    all_seeds = seeds_from(first_seed, seeds)
    shown = STANDARD_OUTPUT not in {target, report}
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        report_file = report and outputs.enter_context(output_file("--report", report))
        outcomes = _reproduce(chosen, all_seeds, figures or (), threads, _keeper(keep))
        interrupted = len(outcomes) < len(chosen)
        if interrupted:
            _report_stored(outcomes, chosen, keep)
        if shown:
            from vermilion_lab.cli.papers_tables import print_outcomes

            print_outcomes(outcomes)
        if json_file:
            write_json(json_file, ReproducedPapers(all_seeds, outcomes))
        if report_file:
            from vermilion_lab.papers.page import papers_page

            report_file.write(papers_page(outcomes))
    return EXIT_INTERRUPTED if interrupted else 0


def _report_stored(
    outcomes: "Sequence[PaperOutcome]", chosen: "Sequence[Paper]", keep: Path | None
) -> None:
    """Report the stored results after Ctrl-C.

    Raises:
        KeyboardInterrupt: nothing to be shown.
    """
    if keep is not None:
        note(f'the figures that are done are in "{keep}"; the same command goes on')
    if not outcomes:
        raise KeyboardInterrupt
    note(f"interrupted: these are {len(outcomes)} of {how_many(len(chosen), 'paper')}")


def _keeper(folder: Path | None) -> "Keeper | None":
    from vermilion_lab.papers.keeping import Keeper

    if folder is None:
        return None
    try:
        return Keeper(folder)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f'--keep: "{folder}" cannot be used ({reason}); expected a folder'
        raise UserError(message) from None


def _reproduce(
    chosen: "Sequence[Paper]",
    seeds: "Sequence[int]",
    figures: "Sequence[str]",
    threads: int | None,
    keeper: "Keeper | None",
) -> "list[PaperOutcome]":
    from vermilion.cli.progress import ProgressBar
    from vermilion_lab.papers.reproduction import ENOUGH_SEEDS, chosen_figures, reproduce

    if len(seeds) < ENOUGH_SEEDS:
        note(f"{len(seeds)} seeds are few; intervals are wide, and verdicts may be open")
    efforts = [sum(figure.effort for figure in chosen_figures(p, figures)) for p in chosen]
    outcomes = []
    with ProgressBar("papers", sum(efforts)) as bar:
        before = 0.0
        for paper, effort in zip(chosen, efforts, strict=True):
            bar.describe(paper.name, sum(efforts))
            try:
                outcome = reproduce(
                    paper,
                    seeds,
                    figures=figures,
                    threads=threads,
                    keeper=keeper,
                    progress=_paper_progress(bar.callback, before, effort),
                )
            except KeyboardInterrupt:
                break
            outcomes.append(outcome)
            before += effort
    return outcomes


def _paper_progress(
    tell: "Callable[[float], object] | None", before: float, effort: float
) -> "Callable[[float], object] | None":
    """Progress within one paper as progress of all of them."""
    if tell is None:
        return None
    return lambda done: tell(before + done * effort)


def _list(chosen: "Sequence[Paper]", target: str | None) -> None:
    if target:
        save_json(target, chosen)
        if target == STANDARD_OUTPUT:
            return
    from vermilion_lab.cli.papers_tables import print_list

    print_list(chosen)
