"""What the page about a study of a front shows: the front, and the settings that make it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vermilion.report import drawing
from vermilion.report.front_figure import front_figure, front_rows, hidden_settings
from vermilion.report.front_parameters_figure import front_parameters_figure
from vermilion.report.study_parts import how_to_repeat, queue_figures
from vermilion.scenario.toml_text import toml_text
from vermilion.tuning.front import Front

if TYPE_CHECKING:
    from vermilion.report.drawing import Drawn
    from vermilion.scenario import Scenario
    from vermilion.tuning import StudyRecord


def front_study(anchor: str, record: StudyRecord, scenario: Scenario) -> dict[str, object]:
    """What the template shows of one study.

    Args:
        anchor: for links within the page, and for identifiers.
        record: of the study.
        scenario: that it is of.

    Raises:
        KeyError: the file holds what no study holds; also ValueError or TypeError.
    """
    plan = record.plan
    data = record.recommendation
    front = None if data is None else Front.from_data(data).shown()
    figures: dict[str, str] = {}

    def draw(name: str, make: Drawn, description: str) -> None:
        figures[name] = drawing.svg_for_both_widths(
            make, name=f"{anchor}-{name}", description=description
        )

    queues = []
    if front is not None and front.incumbent is not None:
        draw(
            "front",
            partial(front_figure, front),
            f"The front of {plan.objective} of {plan.scenario}.",
        )
        if len(front.points) > 1:
            drawn = partial(front_parameters_figure, front)
            draw("parameters", drawn, "The parameters along the front.")
        if front.points:
            queues = _queues(record, scenario, front)
    for index, (link, figure) in enumerate(queues):
        draw(f"queue-{index}", figure, f"The queue of {link} at the ends of the front.")
    return {
        "kind": plan.kind,
        "anchor": anchor,
        "name": record.name,
        "file": str(record.path),
        "title": plan.title or plan.scenario,
        "scenario": plan.scenario,
        "state": record.state,
        "aims": [
            (aim.objective, "maximised" if aim.maximised else "minimised") for aim in plan.aims
        ],
        "constraints": list(plan.constraints),
        "search": plan.search,
        "begun": record.begun,
        "changed": record.changed,
        "settings": len(record.evaluations),
        "budget": record.budget,
        "simulations": len(record.simulations),
        "front": front,
        "hidden": 0 if front is None else hidden_settings(front),
        "rows": [] if front is None else front_rows(front),
        "figures": figures,
        "queues": [link for link, _ in queues],
        "seed": plan.seeds.comparison[0],
        "repeat": how_to_repeat(record, [scenario]),
        "texts": [(scenario.origin, toml_text(plan.document))],
    }


def _queues(record: StudyRecord, scenario: Scenario, front: Front) -> list[tuple[str, Drawn]]:
    """The tuned queues at both ends of the front; of a single setting, before and after."""
    seed = record.plan.seeds.comparison[0]
    first, last = front.points[0].parameters, front.points[-1].parameters
    settings = (first, last) if len(front.points) > 1 else ({}, last)
    names = (
        (
            f"with setting 1: the best in {front.objectives[0]}",
            f"with setting {len(front.points)}: the best in {front.objectives[1]}",
        )
        if len(front.points) > 1
        else ("now", "with setting 1")
    )
    return queue_figures(record, scenario, seed, settings, names)
