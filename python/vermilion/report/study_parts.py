"""Parts common to the pages of all kinds of studies: queues, commands, the names of parameters."""

from __future__ import annotations

import shlex
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Final

from vermilion.objectives.queue_deviation import QueueTargetObjective
from vermilion.objectives.registry import objective_from_text, objective_of
from vermilion.report import study_figures
from vermilion.report.drawing import milliseconds_per_packet
from vermilion.scenario.library import scenario_text
from vermilion.scenario.toml_text import parse_toml
from vermilion.simulate.runs import run
from vermilion.tuning import TuningPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.report.drawing import Drawn
    from vermilion.scenario import Scenario
    from vermilion.tuning import StudyRecord

_SAMPLES: Final = 4000
"""Samples of a queue's time series; the figure keeps their extremes."""

MOST_LINKS: Final = 4
"""Queues that are drawn before and after."""


def queue_figures(
    record: StudyRecord,
    scenario: Scenario,
    seed: int,
    settings: Sequence[Mapping[str, float | None]],
    names: Sequence[str],
    where: str | None = None,
) -> list[tuple[str, Drawn]]:
    """The tuned queues of a scenario under two settings.

    Args:
        record: of the study.
        scenario: that is simulated.
        seed: of both runs.
        settings: the two; an empty one stands for the scenario's own.
        names: what they are called.
        where: the scenario's name, if the figures are to say it.
    """
    interval = scenario.duration / _SAMPLES
    before, after = (
        run(scenario.with_values(setting) if setting else scenario, seed, interval)
        for setting in settings
    )
    targets = _targets(record, scenario)
    links = tuned_links(record.plan.parameters) or list(scenario.links)
    return [
        (
            link if where is None else f"{link} of {where}",
            partial(
                study_figures.before_after_figure,
                link,
                before,
                after,
                (f"{link} {names[0]}", f"{link} {names[1]}"),
                targets.get(link),
                milliseconds_per_packet(scenario, link),
            ),
        )
        for link in links[:MOST_LINKS]
    ]


def _targets(record: StudyRecord, scenario: Scenario) -> dict[str, QueueTargetObjective]:
    """Target queue length by link, as the stored plan means it."""
    plan = record.plan
    texts = [] if plan.is_of_python else plan.given["objectives"]
    wanted = [objective_from_text(text, scenario)[0] for text in texts]
    if not wanted and plan.kind != "front" and not plan.is_of_python:
        wanted = [objective_of(scenario)]
    return {each.link: each for each in wanted if isinstance(each, QueueTargetObjective)}


def study_values(
    anchor: str,
    record: StudyRecord,
    figures: Mapping[str, str],
    queues: Sequence[tuple[str, Drawn]],
) -> dict[str, object]:
    """Template values that studies of all kinds have.

    Args:
        anchor: for links within the page.
        record: of the study.
        figures: by name, as SVG.
        queues: the figures of queues among them, after their names.
    """
    plan = record.plan
    return {
        **{name: getattr(plan, name) for name in ("kind", "constraints", "search")},
        **{name: getattr(record, name) for name in ("name", "state", "begun", "changed", "budget")},
        "anchor": anchor,
        "file": str(record.path),
        "title": plan.title or plan.scenario,
        "scenario": plan.scenario,
        "settings": len(record.evaluations),
        "simulations": len(record.simulations),
        "figures": figures,
        "queues": [link for link, _ in queues],
    }


def how_to_repeat(record: StudyRecord, scenarios: Sequence[Scenario]) -> dict[str, object]:
    """Commands that go on with it, make it anew, and show the best setting."""
    plan, outcome = record.plan, record.recommendation
    files = _files(scenarios)
    show = []
    if outcome is not None and plan.kind != "front":
        for file, scenario in zip(files, scenarios, strict=True):
            settings = [
                f"--set={path}={scenario.parameter(path).exact_text(value)}"
                for path, value in outcome["parameters"].items()
            ]
            show += [shlex.join(["vermilion", "run", file, *settings])] if settings else []
    named = ["--study-name", record.name]
    written = [file for file, each in zip(files, scenarios, strict=True) if file != each.origin]
    return {
        "go_on": shlex.join(["vermilion", "tune", "--study", str(record.path), *named]),
        "anew": None
        if _is_beyond_command_line(record)
        else shlex.join(_command_to_repeat(record, files)),
        "show": "\n".join(show),
        "save": " and ".join(written),
    }


def _files(scenarios: Sequence[Scenario]) -> list[str]:
    """Names by which a command finds each scenario: its own, if it is as shipped."""
    files = []
    for number, scenario in enumerate(scenarios, start=1):
        alone = f"scenario{number if len(scenarios) > 1 else ''}.toml"
        files.append(scenario.origin if is_as_shipped(scenario) else alone)
    return files


def is_as_shipped(scenario: Scenario) -> bool:
    """True if a scenario is the shipped one of its name, without changes."""
    shipped = scenario_text(scenario.origin)
    return shipped is not None and parse_toml(shipped) == scenario.document


def _command_to_repeat(record: StudyRecord, files: Sequence[str]) -> list[str]:
    """Command that repeats the study from the beginning."""
    plan, given = record.plan, record.plan.given
    words = ["vermilion", "tune", *files, "--budget", str(record.budget)]
    words += ["--search", plan.search, "--seed", str(given["seed"])]
    if plan.kind == "front":
        words += ["--pareto"]
    else:
        words += ["--fidelity", given["fidelity"]]
    if plan.kind == "robust":
        words += ["--robust", given["over"]]
        weights = given["weights"]
        words += ["--weights", ",".join(map(str, weights))] if weights else []
    for option in ("parameters", "constraints", "objectives", "harm"):
        for value in given[option] or ():
            words += [f"--{option.removesuffix('s')}={value}"]
    if given["minimum_improvement"] is not None:
        words += ["--minimum-improvement", str(given["minimum_improvement"])]
    words += ["--exactly"] if given["exactly"] else []
    words += [] if given["rivals"] else ["--no-baselines"]
    if given["profile"] is not None:
        words += ["--profile", given["profile"]]
    return words


def _is_beyond_command_line(record: StudyRecord) -> bool:
    """Return whether the command line cannot repeat it."""
    plan = record.plan
    unsaid = (
        "boxes",
        "search_settings",
        "seeds",
        "warm_starts",
        "shortlist",
        "race_budget",
        "required_improvement",
        "points",
    )
    usual = {each.name: each.default for each in fields(TuningPlan)}
    return (
        plan.is_of_python
        or bool(plan.earlier)
        or any((plan.given[name] or None) != (usual[name] or None) for name in unsaid)
        # Without --constraint the scenario's own hold.
        or (plan.kind != "front" and plan.given["constraints"] == [])
    )


def parameter_names(paths: Sequence[str]) -> list[str]:
    """Names of parameters for figures: without the part that all share."""
    several = len(tuned_links(paths)) > 1
    return [path.removeprefix("links.") if several else _short_name(path) for path in paths]


def with_units(names: Sequence[str], units: Sequence[str]) -> list[str]:
    """The same names with their units, as axes have them."""
    return [
        name if unit in {"1", "", "probability"} else f"{name} ({unit})"
        for name, unit in zip(names, units, strict=True)
    ]


def tuned_links(paths: Sequence[str]) -> list[str]:
    """The links whose queues are tuned."""
    return list(dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links.")))


def _short_name(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")
