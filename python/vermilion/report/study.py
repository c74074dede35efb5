"""The page about a study: how the search went, what mattered, what is recommended, and why."""

from __future__ import annotations

import shlex
import tomllib
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing, study_figures
from vermilion.report.importance import FEWEST, shares
from vermilion.report.numbers import ABSENT, significant, significant_decimals, with_interval
from vermilion.report.toml_text import toml_text
from vermilion.scenario.library import scenario_text
from vermilion.scenario.load import scenario_from_document
from vermilion.simulate.runs import run
from vermilion.simulate.statistics import Interval
from vermilion.tuning import StudyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from vermilion.scenario import Scenario
    from vermilion.tuning import StudyRecord

_SAMPLES: Final = 4000
"""Of a queue's time series; the figure keeps their extremes."""

_MOST_LINKS: Final = 4
"""Queues that are drawn before and after."""

_MOST_RACED: Final = 12


def study_report(records: Sequence[StudyRecord]) -> str:
    """One self-contained HTML page about studies.

    The incumbent and the best setting found are simulated once more, for their queues' time series.

    Returns:
        The page. The same studies give the same text, byte for byte.

    Raises:
        StudyError: there is none, or a file holds what no study holds.
        ScenarioError: a scenario names files that are not there any more.
    """
    import matplotlib as mpl
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    if not records:
        message = "there is no study to report on; expected one that vermilion tune --study began"
        raise StudyError(message)
    environment = Environment(
        loader=PackageLoader("vermilion.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A name with a dollar sign is a name and not a formula.
    with mpl.rc_context({"text.parse_math": False}):
        studies = [_checked(number, record) for number, record in enumerate(records, start=1)]
    return environment.get_template("study.html.j2").render(
        studies=studies, absent=ABSENT, fewest=FEWEST, version=records[0].plan.version
    )


def _checked(number: int, record: StudyRecord) -> dict[str, Any]:
    """What the template shows of one study.

    Raises:
        StudyError: the file holds what no study holds.
    """
    scenario = scenario_from_document(record.plan.document, record.plan.scenario)
    try:
        return _study(f"study-{number}", record, scenario)
    except (KeyError, TypeError, AttributeError, LookupError) as error:
        message = f'"{record.path}" is damaged ({error!r}); expected what vermilion tune wrote'
        raise StudyError(message) from None


def _study(anchor: str, record: StudyRecord, scenario: Scenario) -> dict[str, Any]:
    plan, outcome = record.plan, record.recommendation
    incumbent: Mapping[str, float | None] = {path: scenario.get(path) for path in plan.parameters}
    names = [
        path.removeprefix("links.") if len(tuned_links(plan.parameters)) > 1 else _short(path)
        for path in plan.parameters
    ]
    labels = [
        name if unit in {"1", "", "probability"} else f"{name} ({unit})"
        for name, unit in zip(names, plan.units, strict=True)
    ]
    figures: dict[str, str] = {}
    settings = study_figures.shown_settings(record)

    def draw(name: str, figure: Figure, description: str) -> None:
        figures[name] = drawing.svg(figure, name=f"{anchor}-{name}", description=description)

    what = f"{plan.objective} of {plan.scenario}"
    if settings:
        reference = _incumbent_in_search(record, incumbent)
        draw(
            "convergence",
            study_figures.convergence_figure(record, reference),
            f"The best {what} so far, against settings tried and against simulations.",
        )
        draw(
            "slices",
            study_figures.slices_figure(record, labels, incumbent),
            f"The {what} against each parameter.",
        )
    raced = _raced(record)
    if raced:
        draw("race", study_figures.race_figure(record, raced), f"Settings that raced for {what}.")
    complete = [each for each in record.evaluations if None not in each.setting.values()]
    columns = [[each.setting[path] or 0.0 for each in complete] for path in plan.parameters]
    found = shares(columns, [each.told for each in complete])
    if found is not None:
        draw("importance", study_figures.importance_figure(names, found), "Parameter importance.")
    queues = [] if outcome is None else _queues(record, scenario)
    for index, (link, figure) in enumerate(queues):
        draw(f"queue-{index}", figure, f"The queue of {link} before and after.")
    readable = _readable(scenario, incumbent, {} if outcome is None else outcome["parameters"])
    return {
        "anchor": anchor,
        "name": record.name,
        "file": str(record.path),
        "title": plan.title or plan.scenario,
        "scenario": plan.scenario,
        "state": record.state,
        "outcome": outcome,
        "objective": plan.objective,
        "goal": "maximised" if plan.maximised else "minimised",
        "constraints": list(plan.constraints),
        "search": plan.arguments["search"],
        "begun": record.begun,
        "changed": record.changed,
        "settings": len(record.evaluations),
        "budget": record.budget,
        "simulations": len(record.simulations),
        "hidden": len(record.evaluations) - len(settings),
        "length": record.evaluations[0].length if record.evaluations else 1.0,
        "fidelity": None if record.fidelity is None else str(record.fidelity),
        "figures": figures,
        "queues": [link for link, _ in queues],
        "seed": None if outcome is None else outcome["seeds"]["comparison"][0],
        "readable": readable,
        "fresh": 0 if outcome is None else len(outcome["seeds"]["comparison"]),
        "rows": [] if outcome is None else _rows(outcome),
        "improvement": None if outcome is None else _improvement(outcome),
        "verdicts": [] if outcome is None else _verdicts(outcome),
        "importance": []
        if found is None
        else sorted(zip(names, found, strict=True), key=lambda entry: -entry[1].share),
        "device": None if outcome is None else _device(outcome),
        "repeat": _how_to_repeat(record, scenario),
        "text": toml_text(plan.document),
    }


def tuned_links(paths: Sequence[str]) -> list[str]:
    """The links whose queues are tuned."""
    return list(dict.fromkeys(path.split(".")[1] for path in paths if path.startswith("links.")))


def _short(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


def _incumbent_in_search(
    record: StudyRecord, incumbent: Mapping[str, float | None]
) -> float | None:
    """The incumbent's value as the search measured it: with the same seeds and length."""
    setting = tuple(None if value is None else float(value) for value in incumbent.values())
    length = record.evaluations[0].length
    seeds = set(record.plan.arguments["seeds"]["search"])
    interval = study_figures.interval_of(
        [
            each.objective
            for each in record.simulations
            if (each.setting, each.length) == (setting, length) and each.seed in seeds
        ]
    )
    return None if interval is None else record.shown(interval.mean)


def _raced(record: StudyRecord) -> list[tuple[str, Interval]]:
    """The settings that raced, with their means on the seeds of the race, the best first."""
    seeds = set(record.plan.arguments["seeds"]["re_evaluation"])
    values: dict[tuple[float | None, ...], list[float]] = {}
    for each in record.simulations:
        if each.length == 1.0 and each.seed in seeds:
            values.setdefault(each.setting, []).append(record.shown(each.objective))
    known = {
        setting: interval
        for setting, row in values.items()
        if (interval := study_figures.interval_of(row)) is not None
    }
    own = _own(record)
    order = sorted(
        (setting for setting in known if setting != own),
        key=lambda setting: known[setting].mean,
        reverse=record.plan.maximised,
    )[:_MOST_RACED]
    rows = [
        (f"no. {place}, {known[setting].count} seeds", known[setting])
        for place, setting in enumerate(order, start=1)
    ]
    if order and own in known:
        rows.append((f"incumbent, {known[own].count} seeds", known[own]))
    return rows


def _own(record: StudyRecord) -> tuple[float | None, ...]:
    made = [each.setting for each in record.simulations if each.made_for == "incumbent"]
    return made[0] if made else ()


def _queues(record: StudyRecord, scenario: Scenario) -> list[tuple[str, Figure]]:
    """The tuned queues under both settings, on the first of the fresh seeds."""
    outcome = record.recommendation
    if outcome is None or not outcome["parameters"]:
        return []
    seed = int(outcome["seeds"]["comparison"][0])
    interval = scenario.duration / _SAMPLES
    before = run(scenario, seed, interval)
    after = run(scenario.with_values(outcome["parameters"]), seed, interval)
    tuning = scenario.tuning
    objective = None if tuning is None else tuning.objective
    verdict = "recommended" if outcome["accepted"] else "not recommended"
    links = tuned_links(record.plan.parameters) or list(scenario.links)
    return [
        (
            link,
            study_figures.before_after_figure(
                link,
                before,
                after,
                (
                    f"{link} before: the incumbent",
                    f"{link} after: the best found ({verdict})",
                ),
                objective.target
                if objective is not None
                and objective.link == link
                and record.plan.objective == objective.name
                else None,
            ),
        )
        for link in links[:_MOST_LINKS]
    ]


def _readable(
    scenario: Scenario,
    incumbent: Mapping[str, float | None],
    found: Mapping[str, float | None],
) -> list[tuple[str, str, str]]:
    """Both settings in the words of a scenario."""
    rows = []
    for path, value in incumbent.items():
        parameter = scenario.parameter(path)
        best = parameter.readable(found[path]) if path in found else ABSENT
        rows.append((path, parameter.readable(value), best))
    return rows


def _rows(outcome: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What both settings reach on fresh seeds: the objective, then the other metrics."""
    objective = outcome["objective"]
    rows = []
    if "best" in objective and "incumbent" in objective:
        rows.append(
            (str(objective["name"]), _text(objective["incumbent"]), _text(objective["best"]))
        )
    rows += [
        (name, _text(both["incumbent"]), _text(both["best"]))
        for name, both in outcome["metrics"].items()
    ]
    return rows


def _text(data: Mapping[str, Any]) -> str:
    half = None if data.get("high") is None else data["high"] - data["mean"]
    return with_interval(Interval(data["mean"], half, data["count"]))


def _improvement(outcome: Mapping[str, Any]) -> str | None:
    gain = outcome["objective"].get("improvement")
    if gain is None:
        return None
    mean, low, high = (
        None if gain.get(key) is None else f"{significant_decimals(100 * gain[key], 1)} %"
        for key in ("mean", "low", "high")
    )
    return f"{mean} [{low}, {high}]" if low is not None and high is not None else mean


def _device(outcome: Mapping[str, Any]) -> dict[str, Any] | None:
    """The chosen setting in a device's own words, if they are known."""
    device = outcome.get("device")
    if not device or not device.get("command"):
        return None
    return {
        "profile": str(device["profile"]),
        "command": str(device["command"]),
        "notes": [str(note) for note in device["notes"]],
    }


def _verdicts(outcome: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Each constraint, what the best found reaches, the bound, and whether it is kept."""
    return [
        (
            str(each["constraint"]),
            _text(each["value"]) if each.get("value") else ABSENT,
            significant(each["bound"]) if each.get("bound") is not None else ABSENT,
            str(each["holds"]),
        )
        for each in (outcome.get("constraints") or {}).get("best", ())
    ]


def _how_to_repeat(record: StudyRecord, scenario: Scenario) -> dict[str, Any]:
    """Commands that go on with it, make it anew, and show the best setting."""
    plan, outcome = record.plan, record.recommendation
    arguments = plan.arguments
    shipped = scenario_text(plan.scenario)
    as_shipped = shipped is not None and tomllib.loads(shipped) == plan.document
    file = plan.scenario if as_shipped else "scenario.toml"
    words = ["vermilion", "tune", file, "--budget", str(record.budget)]
    words += ["--search", arguments["search"], "--seed", str(arguments["seed"])]
    words += ["--fidelity", arguments["fidelity"]]
    for option in ("parameters", "constraints"):
        for value in arguments[option] or ():
            words += [f"--{option.removesuffix('s')}={value}"]
    if isinstance(arguments["objective"], str):
        words.append(f"--objective={arguments['objective']}")
    if arguments["profile"] is not None:
        words += ["--profile", arguments["profile"]]
    # What the command line has no words for: only the file itself, or Python, repeats these.
    special = plan.is_of_python or bool(
        arguments["boxes"]
        or arguments["search_settings"]
        or arguments["warm_starts"]
        or plan.earlier
        or arguments["race_budget"]
        or arguments["required_improvement"]
        or arguments["constraints"] == []
    )
    show = None
    if outcome is not None and outcome["parameters"]:
        settings = [
            f"--set={path}={scenario.parameter(path).exact_text(value)}"
            for path, value in outcome["parameters"].items()
        ]
        show = shlex.join(["vermilion", "run", file, *settings])
    named = ["--study-name", record.name]
    return {
        "go_on": shlex.join(["vermilion", "tune", "--study", str(record.path), *named]),
        "anew": None if special else shlex.join(words),
        "show": show,
        "save": not as_shipped,
    }
