"""The page about networks that were kept tuned: what happened, how well, and how to repeat it."""

from __future__ import annotations

import shlex
import tomllib
from typing import TYPE_CHECKING, Any

from vermilion.report.events import APPLIED, DETECTED, ROLLED_BACK
from vermilion.report.narrative import gain_in_words, sentences
from vermilion.report.numbers import ABSENT, seconds, significant_decimals, with_interval
from vermilion.report.parameter_figure import parameter_figure
from vermilion.report.phases import metrics, phases_of
from vermilion.report.queue_figure import queue_figure
from vermilion.report.response import responses_of
from vermilion.report.toml_text import toml_text
from vermilion.scenario.library import scenario_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vermilion.online.record import OnlineRun
    from vermilion.report.phases import Phase
    from vermilion.scenario import Scenario

_EMPHASISED = frozenset({DETECTED, APPLIED, ROLLED_BACK})


def online_report(runs: Sequence[Sequence[OnlineRun]]) -> str:
    """One self-contained HTML page about scenarios run under on-line control.

    Args:
        runs: one entry per scenario, each the runs of that scenario under different seeds.
            The first of each is drawn; all of them enter the tables.

    Returns:
        The page. The same runs give the same text, byte for byte.

    Raises:
        ValueError: there is nothing to report.
    """
    if not runs or not all(runs):
        message = "a report needs at least one scenario, and at least one run of each"
        raise ValueError(message)
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("vermilion.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "interval": with_interval,
        "seconds": seconds,
        "decimals": significant_decimals,
        "gain": gain_in_words,
    }
    template = environment.get_template("online.html.j2")
    return template.render(
        scenarios=[_scenario(number, group) for number, group in enumerate(runs, start=1)],
        absent=ABSENT,
        repeat=_how_to_repeat(runs),
    )


def _scenario(number: int, runs: Sequence[OnlineRun]) -> dict[str, Any]:
    """What the template shows of one scenario."""
    drawn = runs[0]
    phases = phases_of(runs)
    anchor = f"scenario-{number}"
    title = drawn.scenario.title or drawn.scenario.origin
    return {
        "anchor": anchor,
        "title": title,
        "description": drawn.scenario.description,
        "name": drawn.scenario.origin,
        "file": _file_to_repeat(number, drawn.scenario),
        "sentences": sentences(runs, phases),
        "phases": [_phase(phase) for phase in phases],
        "columns": metrics(drawn.link, drawn.target_packets),
        "seeds": [run.seed for run in runs],
        "drawn_seed": drawn.seed,
        "responses": responses_of(runs),
        "queue_figure": queue_figure(
            drawn,
            phases,
            name=f"{anchor}-queue",
            description=f"{title}: the queue of the standard and of the tuned network over time.",
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


def _phase(phase: Phase) -> dict[str, Any]:
    if phase.gain is None:
        headline = {"number": ABSENT, "words": "the deviations cannot be compared"}
    else:
        number, _, words = gain_in_words(phase.gain).partition(" times ")
        comparison, _, interval = words.partition(" ")
        words = f"{comparison} deviation from the target {interval}".rstrip()
        headline = {"number": f"{number}×", "words": words}
    return {
        "number": phase.number,
        "start_s": phase.start_s,
        "end_s": phase.end_s,
        "traffic": phase.traffic,
        "standard": phase.standard,
        "tuned": phase.tuned,
        "gain": phase.gain,
        "headline": headline,
    }


def _parameter_figures(run: OnlineRun, anchor: str) -> Iterator[str]:
    """One small figure per parameter under control, those that are numbers."""
    table = run.scenario.links[run.link].queue.algorithm.parameters
    for path in run.parameters:
        name = path.rpartition(".")[2]
        steps = [(time, values[name]) for time, values in run.settings if name in values]
        if steps:
            yield parameter_figure(
                table[name], steps, run.scenario.duration, name=f"{anchor}-{name}"
            )


def _is_as_shipped(scenario: Scenario) -> bool:
    shipped = scenario_text(scenario.origin)
    return shipped is not None and tomllib.loads(shipped) == scenario.document


def _scenario_text(scenario: Scenario) -> str:
    """What was run: a shipped scenario with its comments, anything else as TOML of its own."""
    shipped = scenario_text(scenario.origin)
    if shipped is not None and _is_as_shipped(scenario):
        return shipped
    return toml_text(scenario.document)


def _file_to_repeat(number: int, scenario: Scenario) -> str:
    """What to give to the command: a name or a path, if that is really what was run."""
    if scenario_text(scenario.origin) is None or _is_as_shipped(scenario):
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
