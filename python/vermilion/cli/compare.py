"""``vermilion compare``: disciplines and settings side by side, over many seeds."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    binary_output_file,
    note,
    output_file,
)
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario


def compare(
    scenario: options.ScenarioName,
    *,
    disciplines: Annotated[
        list[str] | None,
        typer.Option(
            "--discipline",
            metavar="NAME",
            help="Discipline to compare, or all. Repeatable. Parameters follow a colon: "
            "codel:target='10 ms',interval='50 ms'.",
            show_default=False,
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a value; the same path repeated makes variants. Repeatable.",
            show_default=False,
        ),
    ] = None,
    plugins: options.Plugins = None,
    seeds: options.Seeds = 10,
    first_seed: options.FirstSeed = 1,
    flow_delays: Annotated[
        bool,
        typer.Option(
            "--flow-delays",
            help="Compare one-way delay, jitter and losses of each group too (half as long again).",
        ),
    ] = False,
    threads: options.Threads = None,
    target: options.Json = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw delay against goodput, and delay distributions: .svg, .png, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Link to draw (default: the objective's, or the first).",
            show_default=False,
        ),
    ] = None,
    phase: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Phase to draw; 0 is the whole run (default: all, up to six).",
            show_default=False,
        ),
    ] = None,
    style: options.Style = "page",
    everything: Annotated[
        bool, typer.Option("--all", help="Show phases, groups of flows, and intervals.")
    ] = False,
) -> int:
    """Compare disciplines and settings over many seeds.

    Shows means over the same seeds with 95 % t intervals.

    The first variant is the reference. Where a variant differs from it significantly (the
    95 % interval of the differences, seed by seed, excludes zero), its figure has a star. Of
    figures that do not differ, one in twenty gets a star by chance.
    """
    from vermilion.report import comparison
    from vermilion.report.drawing import check_link

    if figure is None and (link is not None or phase is not None):
        message = "--link and --phase need --figure FILE"
        raise UserError(message)
    kind = options.figure_options(figure, style=style)
    chosen = range(first_seed, first_seed + seeds)
    options.load_plugins(plugins)
    variants, notes = _variants(scenario, disciplines or (), overrides or ())
    if not flow_delays:
        notes += _what_calls_feel(next(iter(variants.values())))
    for remark in notes:
        note(remark)
    if link is not None:
        check_link(next(iter(variants.values())), link)
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        drawing = figure and outputs.enter_context(binary_output_file("--figure", figure))
        with ProgressBar("simulating", len(variants) * seeds) as bar:
            outcome = comparison.compare_variants(
                variants,
                chosen,
                notes=notes,
                command=comparison.command_to_repeat(
                    scenario,
                    disciplines or (),
                    overrides or (),
                    chosen,
                    flow_delays=flow_delays,
                ),
                flow_delays=flow_delays,
                threads=threads,
                progress=bar.callback,
                keeps_at_interrupt=True,
            )
        if json_file:
            document = {**outcome.to_dict(), "notes": notes}
            write_json(json_file, document)
        if drawing:
            drawing.write(outcome.rendered(kind, link, phase, look=style))
    if target != STANDARD_OUTPUT:
        from vermilion.cli.compare_tables import print_comparison, print_summary

        (print_comparison if everything or flow_delays else print_summary)(outcome)
    if len(outcome.seeds) < seeds:
        note(f"interrupted: these are {len(outcome.seeds)} of {seeds} seeds")
        return EXIT_INTERRUPTED
    return 0


def _what_calls_feel(scenario: "Scenario") -> list[str]:
    """A remark where a queue's delay is not all that matters: flows that send, come what may."""
    calls = [name for name, group in scenario.flows.items() if group.traffic.is_open_loop]
    if not calls:
        return []
    return [f"--flow-delays adds delay, jitter and losses of {', '.join(calls)}"]


def _variants(
    scenario: str, disciplines: "Sequence[str]", overrides: "Sequence[str]"
) -> "tuple[dict[str, Scenario], list[str]]":
    """Variants to compare, with a hint on several values in one setting."""
    from vermilion.scenario.errors import ScenarioError
    from vermilion.simulate.sweeps import make_variants

    try:
        return make_variants(scenario, disciplines, overrides)
    except ScenarioError as error:
        wrong = [each for each in overrides if each.partition("=")[0].strip() == error.field]
        meant = _repeated_option(wrong[0]) if wrong else ""
        if not meant:
            raise
        message = f"{error}; to compare several values: {meant}"
        raise UserError(message) from None


def _repeated_option(setting: str) -> str:
    """Return "--set a=1 --set a=2" for the setting "a=1,2"; "" for a single value."""
    path, _, values = setting.partition("=")
    given = [value.strip() for value in values.split(",")]
    if len(given) == 1 or not all(given):
        return ""
    return " ".join(f"--set {path}={value}" for value in given[:3])
