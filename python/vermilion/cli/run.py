"""``vermilion run``: one simulation, as tables for a person or JSON for a machine."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from vermilion.cli import completion, instruments, options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.laboratory import RegisteredPlant, registered_plant
from vermilion.cli.options import Plot
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    binary_output_file,
    check_outputs,
    note,
    output_file,
    series_output,
    show_panels,
)
from vermilion.cli.progress import ProgressBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.simulate.instruments.recorded import Instrument

_NOTHING_BEFORE_THE_END = (
    "real TCP has no results before the end; for a shorter run, --set duration=TIME"
)


def run(
    scenario: options.ScenarioName,
    *,
    seed: options.Seed = 1,
    overrides: options.Overrides = None,
    plugins: options.Plugins = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Discipline of every link. Parameters follow a colon: codel:target='10 ms'.",
            show_default=False,
            autocompletion=completion.discipline_names,
        ),
    ] = None,
    plant: options.Plant = "simulator",
    target: options.Json = None,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            "--trace",
            metavar="FILE",
            help="Write time series of every link: .csv or .parquet; - for CSV on standard output.",
            show_default=False,
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw goodput, queue, drops and more over time: .svg, .png, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    panels: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Panels of --figure, from above: throughput, round-trip, window, queue, drops.",
            show_default=False,
        ),
    ] = None,
    style: options.Style = "page",
    plot: Plot = False,
    everything: Annotated[bool, typer.Option("--all", help="Show all rows.")] = False,
    link: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Link for --figure and --flent (default: the objective's, or the most delayed).",
            show_default=False,
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Interval of the series, like 0.1s (default: 0.1 s, or duration/100).",
            show_default=False,
        ),
    ] = None,
    flow_series: instruments.FlowSeriesFile = None,
    flows: instruments.Flows = None,
    flow_probe: instruments.FlowProbe = None,
    packets: instruments.PacketsFile = None,
    packets_at: instruments.PacketsAt = None,
    packets_time: instruments.PacketsTime = None,
    most_packets: instruments.MostPackets = None,
    distributions: instruments.DistributionsFile = None,
    transfers: instruments.TransfersFile = None,
    windows: instruments.Windows = False,
    flent: instruments.FlentFile = None,
    seeds: Annotated[
        int, typer.Option(metavar="COUNT", min=1, max=10_000, help="Replications of a fabric.")
    ] = 1,
) -> int:
    """Run a scenario or a fabric once.

    Shows each link and each group of flows, over the whole run after its warm-up and over each
    phase. A phase begins where flows start or stop or something changes. Of a fabric (a file whose
    top table is [fabric]): slowdowns by size, marks, drops, pauses.
    """
    from vermilion.fabric.load import is_fabric

    if is_fabric(scenario):
        from vermilion.cli.fabric import run_fabric

        check_outputs(json=target, transfers=transfers)
        return run_fabric(
            scenario,
            seed=seed,
            seeds=seeds,
            overrides=overrides or (),
            target=target,
            transfers=transfers,
            everything=everything,
            refused={
                "--plugin": plugins,
                "--discipline": discipline,
                "--plant": plant != "simulator",
                "--series": series,
                "--figure": figure,
                "--panels": panels,
                "--plot": plot,
                "--link": link,
                "--probe": probe,
                "--flow-series": flow_series,
                "--record-flows": flows,
                "--flow-probe": flow_probe,
                "--packets": packets,
                "--packets-at": packets_at,
                "--packets-time": packets_time,
                "--most-packets": most_packets,
                "--distributions": distributions,
                "--windows": windows,
                "--flent": flent,
            },
        )
    _check_one_run(seeds)
    wanted = instruments.InstrumentOptions(
        flow_series,
        tuple(flows or ()),
        flow_probe,
        packets,
        tuple(packets_at or ()),
        packets_time,
        most_packets,
        distributions,
        transfers,
        windows,
        flent,
    )
    check_outputs(
        json=target,
        series=series,
        figure=figure,
        flow_series=flow_series,
        packets=packets,
        distributions=distributions,
        transfers=transfers,
        flent=flent,
    )
    wanted.check(figure=figure is not None, plant=plant)
    registered = None if plant == "simulator" else registered_plant(plant)
    kind = options.figure_options(figure, panels=panels, style=style)
    options.load_plugins(plugins)
    loaded = _loaded(scenario, overrides or (), discipline)
    if plot and STANDARD_OUTPUT in {target, series, figure}:
        message = "--plot goes to standard output; expected a file name"
        raise UserError(message)
    wanted.check_flent(loaded, link)
    _check_link(loaded, link, drawn=figure is not None or plot, flent=flent is not None)
    interval = _interval(loaded, series or flent, probe, drawn=figure is not None or plot)
    for remark in loaded.notes:
        note(remark)
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        drawing = figure and outputs.enter_context(binary_output_file("--figure", figure))
        write_series = series and outputs.enter_context(series_output("--series/--trace", series))
        with ProgressBar("simulating" if plant == "simulator" else "running", 1.0) as bar:
            if registered is None:
                chosen = wanted.instruments(loaded, outputs, drawn=figure is not None)
                result = _simulated(loaded, seed, interval, chosen, bar.callback)
            else:
                result = _run_on_plant(plant, registered, loaded, seed, interval, bar.callback)
        if json_file:
            json_file.write(f"{result.to_json()}\n")
        if write_series:
            write_series(result)
        wanted.write(result)
        wanted.write_flent(result, loaded, link)
        if drawing:
            from vermilion.report.run_figure import run_figure

            shown = [each.strip() for each in (panels or "").split(",") if each.strip()]
            drawn = run_figure(loaded, result, link, windows=windows, panels=shown, look=style)
            drawing.write(drawn.rendered(kind))
    if STANDARD_OUTPUT not in {target, series, figure, flow_series}:
        from vermilion.cli.run_tables import print_result

        print_result(loaded, result, everything=everything)
    if plot:
        from vermilion.report.run_figure import run_figure

        show_panels(run_figure(loaded, result, link).panels())
    return _exit_code(loaded, result)


def _check_one_run(seeds: int) -> None:
    """Refuses several seeds of a scenario.

    Raises:
        UserError: more than one.
    """
    if seeds != 1:
        message = "--seeds: a scenario runs once; several: vermilion compare SCENARIO --seeds 10"
        raise UserError(message)


def _exit_code(scenario: "Scenario", result: "Result") -> int:
    """Return the exit code, with a note if the run ended early."""
    at_s = result.data.get("interrupted_at_s")
    if at_s is None:
        return 0
    note(f"interrupted: results of the first {at_s:.4g} s of {scenario.duration:.4g} s")
    return EXIT_INTERRUPTED


def _simulated(
    scenario: "Scenario",
    seed: int,
    interval: float | None,
    instruments: "Sequence[Instrument]",
    progress: "Callable[[float], object] | None",
) -> "Result":
    """A run of the simulator."""
    from vermilion import simulate

    try:
        return simulate.run(
            scenario,
            seed,
            interval,
            flow_delays=True,
            instruments=instruments,
            progress=progress,
            keeps_at_interrupt=True,
        )
    except KeyboardInterrupt as reason:
        if reason.args:
            note(str(reason))
        raise


def _check_link(scenario: "Scenario", link: str | None, *, drawn: bool, flent: bool) -> None:
    """Refuses a link of nothing, and one that is not there.

    Raises:
        UserError: nothing is asked for that is of one link.
        ScenarioError: there is no such link.
    """
    if link is None:
        return
    if not drawn and not flent:
        message = "--link needs a figure; expected --figure FILE or --plot beside it"
        raise UserError(message)
    from vermilion.report.drawing import check_link

    check_link(scenario, link)


def _interval(
    scenario: "Scenario", series: str | None, probe: str | None, *, drawn: bool
) -> float | None:
    """Seconds between the points of the time series that are asked for; ``None`` for none.

    Raises:
        UserError: an interval of nothing, or one that does not fit the scenario.
    """
    if probe is not None and series is None:
        message = "--probe needs --series FILE or --flent FILE"
        raise UserError(message)
    if series is not None:
        from vermilion.scenario.lowering import shortest_interval_s, usual_interval_s

        duration = scenario.duration
        if probe is None:
            return usual_interval_s(duration)
        return options.interval("--probe", probe, shortest_interval_s(duration), duration)
    if drawn:
        from vermilion.report.run_figure import probe_interval_s

        return probe_interval_s(scenario)
    return None


def _loaded(scenario: str, overrides: "Sequence[str]", discipline: str | None) -> "Scenario":
    """The scenario that is meant, with remarks on what was carried over."""
    from vermilion.scenario import load_scenario
    from vermilion.scenario.other_values import with_discipline

    loaded = load_scenario(scenario, overrides)
    if discipline is not None:
        loaded, reports = with_discipline(loaded, discipline)
        for report in reports:
            note(str(report))
    return loaded


def _run_on_plant(
    name: str,
    plant: RegisteredPlant,
    scenario: "Scenario",
    seed: int,
    interval_s: float | None,
    progress: "Callable[[float], object] | None",
) -> "Result":
    """Run a scenario with real TCP.

    Raises:
        UserError: the plant cannot run here, or it failed.
    """
    try:
        return plant.run(scenario, seed, interval_s, progress)
    except KeyboardInterrupt:
        note(_NOTHING_BEFORE_THE_END)
        raise
    except plant.error as error:
        message = f"--plant {name}: {error}"
        raise UserError(message) from None
