"""Page about a study: search, important parameters, recommendation and its reasons."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from vermilion.report import drawing, study_figures
from vermilion.report.drawing import milliseconds_per_packet
from vermilion.report.front import front_study
from vermilion.report.numbers import ABSENT
from vermilion.report.study_outcome import (
    FEWEST,
    decision,
    device_words,
    kept,
    neighbourhood,
    outcome_tables,
    shares,
    typical_distance,
)
from vermilion.report.study_parts import (
    MOST_LINKS,
    how_to_repeat,
    parameter_names,
    queue_figures,
    study_values,
    tuned_links,
    with_units,
)
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.quantities import how_many
from vermilion.scenario.toml_text import toml_text
from vermilion.tuning import StudyError
from vermilion.tuning.evaluation import Joining

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.report.drawing import Drawn
    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning import StudyRecord
    from vermilion.tuning.study_plan import StudyPlan

Values = dict[tuple[float | None, ...], list[float]]
"""Objective with each seed, by setting."""


def joined_values(record: StudyRecord, seeds: Sequence[int]) -> tuple[Values, list[float]]:
    """All scenarios in one number with each of these seeds that a setting has met in all of them.

    Returns:
        Of each setting but the incumbents, and of these, each in its own scenario.
    """
    joining = _aggregation(record)
    own = _incumbents(record)
    if joining is None:
        return {}, []
    values_by_setting: dict[tuple[float | None, ...], list[dict[int, float]]] = {}
    wanted = set(seeds)
    for each in record.simulations:
        if each.seed in wanted and each.length == 1.0:
            by_scenario = values_by_setting.setdefault(each.setting, [{} for _ in own])
            by_scenario[each.scenario][each.seed] = each.objective
    incumbents: list[dict[int, float]] = [
        values_by_setting.get(setting, [{} for _ in own])[scenario]
        for scenario, setting in enumerate(own)
    ]
    joined = {
        setting: _aggregate(joining, rows, seeds) for setting, rows in values_by_setting.items()
    }
    if len(set(own)) == 1:
        joined.pop(own[0], None)
    return {setting: row for setting, row in joined.items() if row}, _aggregate(
        joining, incumbents, seeds
    )


def incumbents_in_search(record: StudyRecord) -> float | None:
    """Aggregate objective of the incumbents: 1, or less where high values are wanted somewhere."""
    joining, means = _aggregation(record), _means(record)
    return None if joining is None else joining.joined([[mean] for mean in means])[0]


def _aggregate(
    joining: Joining, rows: Sequence[Mapping[int, float]], seeds: Sequence[int]
) -> list[float]:
    common = [seed for seed in seeds if all(seed in row for row in rows)]
    return joining.joined([[row[seed] for seed in common] for row in rows]) if common else []


def _incumbents(record: StudyRecord) -> list[tuple[float | None, ...]]:
    own: dict[int, tuple[float | None, ...]] = {}
    for each in record.simulations:
        if each.made_for == "incumbent":
            own.setdefault(each.scenario, each.setting)
    return [own.get(scenario, ()) for scenario in range(len(record.plan.aims))]


def _aggregation(record: StudyRecord) -> Joining | None:
    """Aggregation of the objectives in the tuning; ``None`` before the incumbents are simulated."""
    given, aims = record.plan.given, record.plan.aims
    means = _means(record)
    if not means:
        return None
    weights = given["weights"] or [1.0] * len(aims)
    return Joining(
        given["over"],
        [weight / math.fsum(weights) for weight in weights],
        [max(abs(mean), aim.least_size) or 1.0 for mean, aim in zip(means, aims, strict=True)],
    )


def _means(record: StudyRecord) -> list[float]:
    """Mean objective of each incumbent with the search's seeds; none if unknown."""
    seeds = set(record.plan.seeds.search)
    values = [
        [
            each.objective
            for each in record.simulations
            if (each.scenario, each.setting, each.length) == (scenario, setting, 1.0)
            and each.seed in seeds
        ]
        for scenario, setting in enumerate(_incumbents(record))
    ]
    return [math.fsum(row) / len(row) for row in values] if all(values) else []


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

    from vermilion.report.templates_of import render_page

    if not records:
        message = "there is no study; expected one of vermilion tune --study"
        raise StudyError(message)
    # A name with a dollar sign is a name and not a formula.
    with mpl.rc_context({"text.parse_math": False}):
        studies = [_study_values(number, record) for number, record in enumerate(records, start=1)]
    version = records[0].plan.version
    return render_page(
        "study.html.j2", studies=studies, absent=ABSENT, fewest=FEWEST, version=version
    )


def _study_values(number: int, record: StudyRecord) -> dict[str, object]:
    """Template values of one study.

    Raises:
        StudyError: the file holds what no study holds.
    """
    plan = record.plan
    of = plan.aims if plan.kind == "robust" else [plan]
    scenarios = [scenario_from_document(each.document, each.scenario) for each in of]
    try:
        if plan.kind == "front":
            return front_study(f"study-{number}", record, scenarios[0])
        return _study(f"study-{number}", record, scenarios)
    except (KeyError, TypeError, AttributeError, LookupError, ValueError) as error:
        message = f'"{record.path}" is damaged ({error!r}); expected the file of vermilion tune'
        raise StudyError(message) from None


def _study(anchor: str, record: StudyRecord, scenarios: Sequence[Scenario]) -> dict[str, object]:
    plan, outcome = record.plan, record.recommendation
    incumbents: list[dict[str, float | None]] = [
        {path: scenario.get(path) for path in plan.parameters} for scenario in scenarios
    ]
    # Where the scenarios' own settings differ there is not one line to draw.
    incumbent = {
        path: value if all(each[path] == value for each in incumbents) else None
        for path, value in incumbents[0].items()
    }
    names = parameter_names(plan.parameters)
    labels = with_units(names, plan.units)
    figures: dict[str, str] = {}
    settings = study_figures.shown_settings(record)

    def draw(name: str, make: Drawn, description: str) -> None:
        figures[name] = drawing.svg_for_both_widths(
            make, name=f"{anchor}-{name}", description=description
        )

    where = " and ".join(plan.scenarios)
    what = f"{plan.objective} of {where}"
    if settings:
        reference = (
            incumbents_in_search(record)
            if plan.kind == "robust"
            else _incumbent_in_search(record, incumbent)
        )
        draw(
            "convergence",
            partial(study_figures.convergence_figure, record, reference),
            f"The best {what} so far, against settings tried and simulations.",
        )
        draw(
            "slices",
            partial(study_figures.slices_figure, record, labels, incumbent),
            f"The {what} against each parameter.",
        )
    raced = _race_results(record)
    if raced:
        drawn = partial(study_figures.race_figure, record, raced)
        draw("race", drawn, f"Settings that raced for {what}.")
    complete = [each for each in record.evaluations if None not in each.setting.values()]
    columns = [[each.setting[path] or 0.0 for each in complete] for path in plan.parameters]
    found = shares(columns, [each.told for each in complete])
    if found is not None:
        drawn = partial(study_figures.importance_figure, names, found)
        draw("importance", drawn, "Parameter importance.")
    queues = [] if outcome is None else _queues(record, scenarios)
    for index, (link, figure) in enumerate(queues):
        draw(f"queue-{index}", figure, f"The queue of {link} before and after.")
    found_best = {} if outcome is None else outcome["parameters"]
    readable = _format_parameters(scenarios[0], incumbents, [found_best])
    return {
        **study_values(anchor, record, figures, queues),
        "title": plan.title or plan.scenario if plan.kind == "setting" else where,
        "scenario": where,
        "outcome": outcome,
        "objective": plan.objective,
        "goal": "maximised" if plan.maximised else "minimised",
        "hidden": len(record.evaluations) - len(settings),
        "length": record.evaluations[0].length if record.evaluations else 1.0,
        "fidelity": None if record.fidelity is None else str(record.fidelity),
        "seed": None if outcome is None else outcome["seeds"]["comparison"][0],
        "readable": readable,
        "columns": ["incumbent", "best found"],
        "fresh": 0 if outcome is None else len(outcome["seeds"]["comparison"]),
        **_recommendation(plan, outcome),
        "distance": _distance(record, scenarios),
        "importance": []
        if found is None
        else sorted(zip(names, found, strict=True), key=lambda entry: -entry[1].share),
        "repeat": how_to_repeat(record, scenarios),
        "texts": [(each.origin, toml_text(each.document)) for each in scenarios],
    }


def _recommendation(plan: StudyPlan, outcome: Mapping[str, Any] | None) -> dict[str, object]:
    """Sentences of the recommendation; nothing before there is one."""
    if outcome is None:
        nothing: tuple[str, ...] = ("decision", "neighbourhood", "device")
        return {"tables": [], "kept": [], **dict.fromkeys(nothing)}
    several = plan.kind == "robust"
    return {
        "decision": decision(outcome),
        "tables": outcome_tables(outcome, plan.objective, plan.unit, several=several),
        "kept": kept(outcome, several=several),
        "neighbourhood": neighbourhood(outcome),
        "device": device_words(outcome),
    }


def _distance(record: StudyRecord, scenarios: Sequence[Scenario]) -> str:
    """Objective in milliseconds, if it is of one queue of one scenario."""
    links = tuned_links(record.plan.parameters)
    if record.recommendation is None or len(scenarios) != 1 or len(links) != 1:
        return ""
    return typical_distance(record.recommendation, milliseconds_per_packet(scenarios[0], links[0]))


def _incumbent_in_search(
    record: StudyRecord, incumbent: Mapping[str, float | None]
) -> float | None:
    """The incumbent's value as the search measured it: with the same seeds and length."""
    setting = tuple(None if value is None else float(value) for value in incumbent.values())
    length = record.evaluations[0].length
    seeds = set(record.plan.seeds.search)
    interval = study_figures.interval_of(
        [
            each.objective
            for each in record.simulations
            if (each.setting, each.length) == (setting, length) and each.seed in seeds
        ]
    )
    return None if interval is None else record.shown(interval.mean)


def _race_results(record: StudyRecord) -> list[tuple[str, Interval]]:
    """Settings in the race, with their means on its seeds, the best first."""
    seeds = record.plan.seeds.re_evaluation
    if record.plan.kind == "robust":
        values, own = joined_values(record, seeds)
    else:
        values, wanted = {}, set(seeds)
        for each in record.simulations:
            if each.length == 1.0 and each.seed in wanted:
                values.setdefault(each.setting, []).append(record.shown(each.objective))
        own = values.pop(_incumbents(record)[0], [])
    known = {
        setting: interval
        for setting, row in values.items()
        if (interval := study_figures.interval_of(row)) is not None
    }
    order = sorted(known, key=lambda setting: known[setting].mean, reverse=record.plan.maximised)[
        :_MOST_RACED
    ]
    rows = [
        (f"no. {place}, {how_many(known[setting].count, 'seed')}", known[setting])
        for place, setting in enumerate(order, start=1)
    ]
    incumbent = study_figures.interval_of(own)
    if order and incumbent is not None:
        rows.append((f"incumbent, {how_many(incumbent.count, 'seed')}", incumbent))
    return rows


def _queues(record: StudyRecord, scenarios: Sequence[Scenario]) -> list[tuple[str, Drawn]]:
    """The tuned queues under both settings, on the first of the fresh seeds."""
    outcome = record.recommendation
    if outcome is None or not outcome["parameters"]:
        return []
    verdict = "recommended" if outcome["accepted"] else "not recommended"
    names = ("before: the incumbent", f"after: the best found ({verdict})")
    found: list[tuple[str, Drawn]] = []
    for scenario in scenarios:
        settings: tuple[Mapping[str, float | None], ...] = ({}, outcome["parameters"])
        seed = int(outcome["seeds"]["comparison"][0])
        where = scenario.origin if len(scenarios) > 1 else None
        found += queue_figures(record, scenario, seed, settings, names, where)
    return found[:MOST_LINKS]


def _format_parameters(
    scenario: Scenario,
    incumbents: Sequence[Mapping[str, float | None]],
    found: Sequence[Mapping[str, float | None]],
) -> list[tuple[str, list[str]]]:
    """Format each parameter: the incumbents' values, and those found."""
    rows = []
    for path in incumbents[0]:
        parameter = scenario.parameter(path)
        others = [parameter.readable(each[path]) if path in each else ABSENT for each in found]
        now = dict.fromkeys(parameter.readable(each[path]) for each in incumbents)
        rows.append((path, [" / ".join(now), *others]))
    return rows
