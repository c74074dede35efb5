"""``vermilion compare``: disciplines and settings side by side, over many seeds."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import completion, options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.json_output import write_json
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    binary_output_file,
    note,
    output_file,
    say,
)
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.report import ComparisonReport
    from vermilion.scenario import Scenario


def compare(
    scenarios: Annotated[
        list[str],
        typer.Argument(
            metavar="SCENARIO...",
            help="Scenario files (TOML) or shipped names; several are compared one by one.",
            show_default=False,
            autocompletion=completion.scenario_names,
        ),
    ],
    *,
    senders: Annotated[
        list[str] | None,
        typer.Option(
            "--sender",
            metavar="NAME",
            help="Congestion control to compare, or all. Repeatable. Parameters follow a colon, "
            "a label an equals sign: cubic:hystart=false=plain.",
            show_default=False,
        ),
    ] = None,
    disciplines: Annotated[
        list[str] | None,
        typer.Option(
            "--discipline",
            metavar="NAME",
            help="Discipline to compare, or all. Repeatable; with senders, every combination. "
            "codel:target='10 ms',interval='50 ms'=tight.",
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
    """Compare disciplines, senders and settings over many seeds.

    Shows means over the same seeds with 95 % t intervals.

    The first variant is the reference. Where a variant differs from it significantly (the
    95 % interval of the differences, seed by seed, excludes zero), its figure has a star. Of
    figures that do not differ, one in twenty gets a star by chance.
    """
    from vermilion.report import comparison

    if figure is None and (link is not None or phase is not None):
        message = "--link and --phase need --figure FILE"
        raise UserError(message)
    kind = options.figure_options(figure, style=style)
    chosen = range(first_seed, first_seed + seeds)
    options.load_plugins(plugins)
    questions = [
        _question(each, disciplines, overrides, senders, link, flow_delays=flow_delays)
        for each in dict.fromkeys(scenarios)
    ]
    several = len(questions) > 1
    outcomes: list[ComparisonReport] = []
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        drawings = [
            outputs.enter_context(
                binary_output_file("--figure", _own_name(figure, scenario) if several else figure)
            )
            for scenario, _, _ in questions
            if figure is not None
        ]
        runs = sum(len(variants) for _, variants, _ in questions) * seeds
        with ProgressBar("simulating", runs) as bar:
            done = 0
            for scenario, variants, notes in questions:
                command = comparison.command_to_repeat(
                    scenario,
                    disciplines or (),
                    overrides or (),
                    chosen,
                    senders=senders or (),
                    plugins=plugins or (),
                    flow_delays=flow_delays,
                )
                outcome = comparison.compare_variants(
                    variants,
                    chosen,
                    notes=notes,
                    command=command,
                    flow_delays=flow_delays,
                    threads=threads,
                    progress=_counted_from(done, bar.callback),
                    keeps_at_interrupt=True,
                )
                outcomes.append(outcome)
                done += len(variants) * seeds
                if len(outcome.seeds) < seeds:
                    break
        if json_file:
            documents = [
                _document(outcome, scenario, flow_delays=flow_delays)
                for outcome, (scenario, _, _) in zip(outcomes, questions, strict=False)
            ]
            write_json(json_file, {"comparisons": documents} if several else documents[0])
        for outcome, drawing in zip(outcomes, drawings, strict=False):
            drawing.write(outcome.rendered(kind, link, phase, look=style))
    if target != STANDARD_OUTPUT:
        names = [scenario for scenario, _, _ in questions] if several else [""]
        _print(outcomes, names, at_length=everything or flow_delays)
    if len(outcomes[-1].seeds) < seeds:
        note(f"interrupted: these are {len(outcomes[-1].seeds)} of {seeds} seeds")
        return EXIT_INTERRUPTED
    return 0


def _print(
    outcomes: "Sequence[ComparisonReport]", names: "Sequence[str]", *, at_length: bool
) -> None:
    """Print the tables, each under the name of its scenario where there are several."""
    from vermilion.cli.compare_tables import print_comparison, print_summary

    for number, (outcome, name) in enumerate(zip(outcomes, names, strict=False)):
        if name:
            say(f"{chr(10) if number else ''}{name}")
        (print_comparison if at_length else print_summary)(outcome)


def _question(
    scenario: str,
    disciplines: "Sequence[str] | None",
    overrides: "Sequence[str] | None",
    senders: "Sequence[str] | None",
    link: str | None,
    *,
    flow_delays: bool,
) -> "tuple[str, dict[str, Scenario], list[str]]":
    """A scenario's name, its variants, and remarks, which are told."""
    from vermilion.report.drawing import check_link

    variants, notes = _variants(scenario, disciplines or (), overrides or (), senders or ())
    first = next(iter(variants.values()))
    if not flow_delays:
        notes += _what_calls_feel(first)
    for remark in notes:
        note(remark)
    if link is not None:
        check_link(first, link)
    return scenario, variants, notes


def _document(
    outcome: "ComparisonReport", scenario: str, *, flow_delays: bool
) -> "dict[str, object]":
    """Numbers of a comparison, and everything that it takes to make it again."""
    from vermilion.scenario.plugins import plugin_sources

    return {
        **outcome.to_dict(),
        "notes": list(outcome.notes),
        "origin": scenario,
        "command": outcome.command,
        "plugins": plugin_sources(),
        "flow_delays": flow_delays,
    }


def _own_name(figure: str, scenario: str) -> str:
    """File of one of several scenarios' figures: "figure-NAME.svg"."""
    path = Path(figure)
    return str(path.with_name(f"{path.stem}-{Path(scenario).stem}{path.suffix}"))


def _counted_from(
    done: int, progress: "Callable[[int], object] | None"
) -> "Callable[[int], object] | None":
    """Count on from the scenarios before."""
    return None if progress is None else lambda count: progress(done + count)


def _what_calls_feel(scenario: "Scenario") -> list[str]:
    """A remark where a queue's delay is not all that matters: flows that send, come what may."""
    calls = [name for name, group in scenario.flows.items() if group.traffic.is_open_loop]
    if not calls:
        return []
    return [f"--flow-delays adds delay, jitter and losses of {', '.join(calls)}"]


def _variants(
    scenario: str,
    disciplines: "Sequence[str]",
    overrides: "Sequence[str]",
    senders: "Sequence[str]",
) -> "tuple[dict[str, Scenario], list[str]]":
    """Variants to compare, with a hint on several values in one setting."""
    from vermilion.scenario.errors import ScenarioError
    from vermilion.simulate.sweeps import make_variants

    try:
        return make_variants(scenario, disciplines, overrides, senders)
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
