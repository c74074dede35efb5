"""Page about networks kept tuned: events, results, and the command to repeat it."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

from vermilion.report.drawing import svg_for_both_widths
from vermilion.report.numbers import (
    ABSENT,
    seconds,
    significant,
    significant_decimals,
    with_interval,
)
from vermilion.report.phases import (
    APPLIED,
    DETECTED,
    ROLLED_BACK,
    events_of,
    goal_of,
    metrics,
    phases_of,
    responses_of,
)
from vermilion.report.price_line import (
    KEPT_TUNED,
    LEFT_ALONE,
    ROWS,
    describe_price,
    format_span,
    in_unit,
    price_lines,
    priced_settings,
)
from vermilion.report.queue_figure import drawn_queues, parameter_figure
from vermilion.report.study_parts import is_as_shipped
from vermilion.scenario import RATE, format_quantity
from vermilion.scenario.library import scenario_text
from vermilion.scenario.quantities import how_many
from vermilion.scenario.toml_text import toml_text
from vermilion.scenario.wire import nominal_rate
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.objectives.price import PriceRow
    from vermilion.online.entries import OnlineRun
    from vermilion.report.phases import Phase
    from vermilion.report.price_line import OtherQueue, Priced, PriceLine
    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval, RatioInterval


def sentences(runs: Sequence[OnlineRun]) -> list[str]:
    """Describe the set-up and the controller, a sentence each.

    Args:
        runs: one scenario over several seeds; the first is the one that is drawn.
    """
    return [_set_up(runs[0]), _controller(runs)]


def format_gain(gain: RatioInterval | None) -> str:
    """Format the ratio of deviations: "7.1 times smaller (6.2 to 8)".

    An interval that contains 1 is said not to be significant.
    """
    if gain is None:
        return "not comparable"
    larger = gain.mean < 1
    times = 1 / gain.mean if larger else gain.mean
    words = f"{significant(times, 2)} times {'larger' if larger else 'smaller'}"
    if gain.low is None or gain.high is None:
        return words
    ends = sorted((1 / gain.low, 1 / gain.high) if larger else (gain.low, gain.high))
    caveat = ", not significant" if gain.low <= 1 <= gain.high else ""
    return f"{words} ({significant(ends[0], 2)} to {significant(ends[1], 2)}{caveat})"


def _set_up(run: OnlineRun) -> str:
    link = run.scenario.links[run.link]
    rate = nominal_rate(run.scenario, run.link)
    return (
        f"The queue before the link {run.link} ({format_quantity(rate, RATE)}) is managed "
        f"by {link.queue.discipline}. Two copies of the network carry the same traffic "
        "from the same seed. One keeps its setting. In the other Vermilion watches what "
        f"a router can export, and changes the setting where that {_aim(run)}."
    )


def _aim(run: OnlineRun) -> str:
    """Aim of a change: "brings the queue nearer to 30 packets"."""
    if run.target_packets is not None:
        return f"brings the queue nearer to {how_many(run.target_packets, 'packet')}"
    return f"{'raises' if run.objective.maximised else 'lowers'} {run.objective.label}"


def _controller(runs: Sequence[OnlineRun]) -> str:
    events = events_of(runs[0])
    words = (
        f"In the run drawn here (seed {runs[0].seed}) it noticed "
        f"{_count_of(len(events.detected), 'change of conditions', 'changes of conditions')} and "
        f"put {_count_of(len(events.applied), 'new setting', 'new settings')} in force"
    )
    if events.applied:
        words += f", the first at {seconds(events.applied[0])}"
    back = len(events.rolled_back)
    if back:
        return f"{words}; {_count_of(back, 'was', 'were')} rolled back."
    return f"{words}; none had to be rolled back." if events.applied else f"{words}."


def _count_of(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


_EMPHASISED = frozenset({DETECTED, APPLIED, ROLLED_BACK})

_KINDS = {LEFT_ALONE: "standard", KEPT_TUNED: "tuned"}
"""The style sheet's names of the settings; all others are baselines."""


def online_report(
    runs: Sequence[Sequence[OnlineRun]], rivals: Sequence[Sequence[OtherQueue]] = ()
) -> str:
    """One self-contained HTML page about scenarios run under on-line control.

    Args:
        runs: one entry per scenario, each the runs of that scenario under different seeds.
            The first of each is drawn; all of them enter the tables.
        rivals: for each scenario other ways of managing its queue, to stand beside; may be left
            out.

    Returns:
        The page. The same runs give the same text, byte for byte.

    Raises:
        ValueError: there is nothing to report.
    """
    if not runs or not all(runs):
        message = "a report needs at least one scenario, and at least one run of each"
        raise ValueError(message)
    from vermilion.report.templates_of import templates_of

    environment = templates_of("vermilion.report")
    environment.filters |= {
        "interval": with_interval,
        "seconds": seconds,
        "decimals": significant_decimals,
        "gain": format_gain,
        "span": format_span,
        "besides": describe_price,
        "settings": priced_settings,
        "in_unit": in_unit,
        "change": _change,
    }
    template = environment.get_template("online.html.j2")
    return template.render(
        scenarios=[
            _scenario(number, group, others)
            for number, (group, others) in enumerate(
                zip(runs, rivals or [()] * len(runs), strict=True), start=1
            )
        ],
        absent=ABSENT,
        kinds=_KINDS,
        repeat=_how_to_repeat(runs),
    )


def _scenario(
    number: int, runs: Sequence[OnlineRun], rivals: Sequence[OtherQueue]
) -> dict[str, object]:
    """Template values of one scenario."""
    drawn = runs[0]
    phases = phases_of(runs)
    lines = price_lines(runs, rivals)
    anchor = f"scenario-{number}"
    title = drawn.scenario.title or drawn.scenario.origin
    if len(drawn.scenario.links) > 1:
        title = f"{title}: link {drawn.link}"
    return {
        "anchor": anchor,
        "title": title,
        "description": drawn.scenario.description,
        "name": drawn.scenario.origin,
        "file": _file_to_repeat(number, drawn.scenario),
        "target": None if drawn.target_packets is None else f"{drawn.target_packets:g}",
        "goal": goal_of(drawn),
        "short_queue": rivals[0].name if rivals else None,
        "lines": lines,
        "headings": _headings(lines),
        "sentences": sentences(runs),
        "phases": [(phase, _deviations(phase, drawn, rivals)) for phase in phases],
        "columns": metrics(drawn),
        "seeds": [run.seed for run in runs],
        "drawn_seed": drawn.seed,
        "responses": responses_of(runs),
        "queue_figure": svg_for_both_widths(
            partial(drawn_queues, drawn, phases),
            name=f"{anchor}-queue",
            description=f"{title}: the queue left alone and kept tuned.",
        ),
        "parameter_figures": list(_parameter_figures(drawn, anchor)),
        "decisions": [
            {
                "time": f"{decision.time_s:.2f}",
                "kind": decision.kind if decision.kind in _EMPHASISED else "ordinary",
                "what": decision.kind.replace("-", " "),
                "reason": decision.reason,
            }
            for decision in drawn.decisions
        ],
        "text": _scenario_text(drawn.scenario),
    }


def _headings(lines: Sequence[PriceLine]) -> list[PriceRow]:
    """Columns of the price table: metrics known for some phase, in the order of its rows."""
    known = {row.metric: row for line in lines for row, _ in line.rows}
    return [row for row in ROWS if row.metric in known]


def _change(row: PriceRow, priced: Priced) -> str:
    """Significant difference from the network left alone; "" for none."""
    difference = priced.difference
    if difference is None or difference.half_width is None or not priced.changed:
        return ""
    # An interval too narrow to show is shown as one unit of the last digit, not as certainty.
    width = max(difference.half_width, 10.0**-row.decimals / row.factor)
    mean = in_unit(row, difference.mean, signed=True)
    return f"{mean} ±\N{NO-BREAK SPACE}{in_unit(row, width)}"


def _deviations(
    phase: Phase, run: OnlineRun, baselines: Sequence[OtherQueue]
) -> list[tuple[str, Interval]]:
    """Values of the goal with the baselines."""
    goal, place = goal_of(run), phase.number - 1
    return [
        (each.name, mean_interval(goal.values(result)[place] for result in each.results))
        for each in baselines
    ]


def _parameter_figures(run: OnlineRun, anchor: str) -> Iterator[str]:
    """One small figure per parameter under control, those that are numbers or switches."""
    table = run.scenario.links[run.link].queue.algorithm.parameters
    for path in run.parameters:
        name = path.rpartition(".")[2]
        steps = [(time, values[name]) for time, values in run.settings if name in values]
        if steps:
            yield parameter_figure(
                table[name], steps, run.scenario.duration, name=f"{anchor}-{name}"
            )


def _scenario_text(scenario: Scenario) -> str:
    """Text of the scenario: a shipped one with its comments, others as TOML."""
    shipped = scenario_text(scenario.origin)
    if shipped is not None and is_as_shipped(scenario):
        return shipped
    return toml_text(scenario.document)


def _file_to_repeat(number: int, scenario: Scenario) -> str:
    """Name or path to repeat the run with, if it is what was run."""
    if scenario_text(scenario.origin) is None or is_as_shipped(scenario):
        return scenario.origin
    return f"scenario-{number}.toml"  # a shipped one with changes has to be saved first


def _how_to_repeat(runs: Sequence[Sequence[OnlineRun]]) -> dict[str, str]:
    from vermilion import _core

    seeds = [run.seed for run in runs[0]]
    files = [
        _file_to_repeat(number, group[0].scenario) for number, group in enumerate(runs, start=1)
    ]
    options = ["--seeds", str(len(seeds)), "--report", "report.html"]
    if seeds[0] != 1:
        options = ["--seed", str(seeds[0]), *options]
    return {
        "command": shlex.join(["vermilion", "online", *files, *options]),
        "version": str(runs[0][0].tuned.data["version"]),
        "seeds": ", ".join(map(str, seeds)),
        "random_streams": _core.RANDOM_STREAMS,
    }
