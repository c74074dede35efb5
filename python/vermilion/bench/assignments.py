"""Assignments for teaching: a submission is graded by what it does, task by task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vermilion.bench.bench import BenchError
from vermilion.bench.suite import cases
from vermilion.scenario import load_scenario, parse_scenario, scenario_from_document
from vermilion.scenario.other_values import with_discipline
from vermilion.scenario.plugins import load_plugins
from vermilion.scenario.toml_text import TomlError, parse_toml
from vermilion.simulate.runs import run_many
from vermilion.simulate.sweeps import number_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.bench.suite import Kind
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


@dataclass(frozen=True, slots=True)
class Grade:
    """Outcome of a task.

    Attributes:
        words: what is asked for.
        value: mean over the seeds; ``None`` where it could not be measured.
        bound: that it has to keep, in words.
        points: for it, where it is kept.
        of: points that there are.
    """

    words: str
    value: float | None
    bound: str
    points: int
    of: int


@cache
def _table() -> dict[str, Any]:
    file = resources.files("vermilion.bench") / "assignments.toml"
    return parse_toml(file.read_text(encoding="utf-8"))


def assignments() -> dict[str, str]:
    """Titles of the assignments, by name."""
    return {name: table["title"] for name, table in _table().items()}


def check(submission: str | Path, assignment: str) -> list[Grade]:
    """Grade a submission.

    Args:
        submission: a file of Python with a discipline or a congestion control, or, where a queue is
            asked for, a file of TOML with a ``[queue]`` as in a scenario.
        assignment: its name.

    Raises:
        BenchError: no such assignment, or a file that is not what it asks for.
        ScenarioError: what the submission is refused for.
        PluginError: what it raised while it ran.
    """
    if assignment not in _table():
        message = f'"{assignment}" is not accepted; expected {", ".join(_table())}'
        raise BenchError(message)
    table, path = _table()[assignment], Path(submission)
    queue: dict[str, Any] | None = None
    name = ""
    if path.suffix == ".toml" and table["kind"] == "queue":
        queue = _queue_of(path)
    else:
        name = load_plugins([path])[0]
    seeds = range(1, table["seeds"] + 1)
    grades = []
    for task in table["tasks"]:
        scenario = _scenario(task, table["kind"], name, queue)
        [results] = run_many([scenario], list(seeds), flow_delays=True)
        grades.append(_grade(task, [each for each in results if each is not None]))
    return grades


def _queue_of(path: Path) -> dict[str, Any]:
    """The ``[queue]`` of a submission.

    Raises:
        BenchError: there is none.
    """
    try:
        queue = parse_toml(path.read_text(encoding="utf-8")).get("queue")
    except (OSError, ValueError, TomlError):
        queue = None
    if not isinstance(queue, dict):
        message = (
            f'"{path}" is not accepted; expected a file of TOML with a table [queue], or a .py'
        )
        raise BenchError(message)
    return queue


def _scenario(
    task: Mapping[str, Any], kind: str, name: str, queue: dict[str, Any] | None
) -> Scenario:
    if "case" in task:
        held: Kind = "sender" if kind == "sender" else "discipline"
        [case] = [each for each in cases(held, quick=True) if each.name == task["case"]]
        if kind == "sender":
            return case.scenario("sender", name, task.get("against", ""))
        scenario = parse_scenario(case.text, case.name)
    else:
        scenario = load_scenario(task["scenario"], task.get("set", ()))
    if queue is None:
        return with_discipline(scenario, name)[0]
    document = dict(scenario.document)
    document.pop("tuning", None)
    document["links"] = {
        link: {**table, "queue": queue} for link, table in document["links"].items()
    }
    return scenario_from_document(document, "submission")


def _grade(task: Mapping[str, Any], results: list[Result]) -> Grade:
    values = []
    for result in results:
        value = number_at(result, task["metric"])
        per = number_at(result, task["per"]) if "per" in task else 1.0
        if value is not None and per:
            values.append(task.get("factor", 1.0) * value / per)
    mean = sum(values) / len(values) if values and len(values) == len(results) else None
    least, most = task.get("at_least"), task.get("at_most")
    bounds = [f"at least {least:g}"] if least is not None else []
    bounds += [f"at most {most:g}"] if most is not None else []
    kept = mean is not None and (least is None or mean >= least) and (most is None or mean <= most)
    points = task["points"]
    return Grade(task["words"], mean, " and ".join(bounds), points if kept else 0, points)
