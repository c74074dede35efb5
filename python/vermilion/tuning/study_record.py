"""Studies as they are read from a file, for lists and reports. The file may still be written."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.document import document, read_as
from vermilion.files.sqlite import NONSENSE, bounded
from vermilion.scenario.quantities import how_many
from vermilion.tuning.fidelity import FidelityReport
from vermilion.tuning.memory import Used
from vermilion.tuning.study_file import StudyError, damaged, open_to_read
from vermilion.tuning.study_plan import StudyPlan

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Mapping, Sequence

    from vermilion.tuning.plan import Kind


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulation of a study.

    Attributes:
        made_for: what it was made for first.
        scenario: which of several, in the plan's order from 0.
        length: the fraction of the scenario's measured time.
        setting: values in the order of the plan's parameters; ``None``: automatic.
        seed: of the simulation.
        objective: to be minimised; infinite if not measured. Of a front it is the first.
    """

    made_for: str
    scenario: int
    length: float
    setting: tuple[float | None, ...]
    seed: int
    objective: float


@document(
    "file=path study=name kind=plan.kind scenario=plan.scenario scenarios?=robust_scenarios"
    " objective=plan.objective parameters=plan.parameters search=plan.search version=plan.version"
    " begun changed state budget evaluations=evaluation_count simulations=simulation_count"
    " best_so_far?"
)
@dataclass(frozen=True, slots=True)
class StudyRecord:
    """A study, as far as it has come.

    Attributes:
        path: its file.
        name: in the file.
        begun: when, in UTC, ISO 8601.
        changed: when it was last begun, gone on with or concluded.
        plan: what it is of.
        budget: settings that the search may use, of the last session.
        evaluations: settings that the search has used, in that order.
        simulations: all of them, in the order in which they were made.
        fidelity: what was found about short simulations; ``None`` before that.
        recommendation: the last session's, as :meth:`Recommendation.to_json` has it, or that of a
            :class:`RobustRecommendation` or a :class:`Front`; ``None`` before there is one.
    """

    path: Path
    name: str
    begun: str
    changed: str
    plan: StudyPlan
    budget: int
    evaluations: Sequence[Used]
    simulations: Sequence[Simulated]
    fidelity: FidelityReport | None
    recommendation: Mapping[str, Any] | None

    @property
    def state(self) -> str:
        """State of the study, in a few words."""
        outcome = self.recommendation
        if outcome is None or outcome["evaluations"] < len(self.evaluations):
            return "unfinished"
        if outcome["end"] != "budget":
            return "ended by its deadline" if outcome["end"] == "deadline" else "interrupted"
        if self.plan.kind == "front":
            return f"front of {how_many(len(outcome['points']), 'setting')}"
        return "change recommended" if outcome["accepted"] else "no change recommended"

    @property
    def best(self) -> Used | None:
        """The best setting that the search has used and that keeps the constraints.

        ``None`` for a front too, where none is the best.
        """
        if self.plan.kind == "front":
            return None
        feasible = [each for each in self.evaluations if each.told < 1.0]
        return min(feasible, key=lambda each: (each.told, each.number), default=None)

    @property
    def best_so_far(self) -> float | None:
        """Its objective."""
        return None if self.best is None else self.shown(self.best.objective)

    @property
    def robust_scenarios(self) -> list[str] | None:
        """Scenarios of a robust tuning; ``None`` for another."""
        return self.plan.scenarios if self.plan.kind == "robust" else None

    @property
    def evaluation_count(self) -> int:
        """Number of settings that the search has used."""
        return len(self.evaluations)

    @property
    def simulation_count(self) -> int:
        """Number of simulations."""
        return len(self.simulations)

    def shown(self, objective: float) -> float:
        """A value of the objective in its own direction."""
        return -objective if self.plan.maximised else objective


def read_studies(path: str | os.PathLike[str]) -> list[StudyRecord]:
    """The studies of a file, in the order in which they were begun.

    Raises:
        StudyError: the file cannot be read, or holds something else.
    """
    file = Path(path)
    database = open_to_read(file)
    try:
        with bounded(database):
            database.execute("BEGIN")  # one moment of a file that another program may be writing
            rows = database.execute(
                "SELECT id, name, begun_utc, changed_utc, plan, budget, fidelity, recommendation "
                "FROM study ORDER BY id"
            ).fetchall()
            return [_record(database, file, *row) for row in rows]
    except NONSENSE as error:
        if isinstance(error, StudyError):
            raise
        raise damaged(file, error) from None
    finally:
        database.close()


def _record(
    database: sqlite3.Connection,
    path: Path,
    identity: int,
    name: str,
    begun: str,
    changed: str,
    plan_text: str,
    budget: int,
    fidelity: str | None,
    recommendation: str | None,
) -> StudyRecord:
    plan = StudyPlan.from_json(plan_text)
    used = database.execute(
        "SELECT number, setting, length, seeds, told, objective, violation, simulations "
        "FROM evaluation WHERE study = ? ORDER BY number",
        (identity,),
    )
    simulated = database.execute(
        "SELECT made_for, scenario, length, setting, seed, objective FROM simulation "
        "WHERE study = ? ORDER BY id",
        (identity,),
    )
    outcome = None if recommendation is None else json.loads(recommendation)
    if outcome is not None:
        _check_outcome(plan, outcome)
    return StudyRecord(
        path,
        str(name),
        str(begun),
        str(changed),
        plan,
        int(budget),
        [
            Used(
                int(number),
                dict(zip(plan.parameters, _setting(plan, text), strict=True)),
                _number(length),
                int(seeds),
                _number(told),
                _number(objective),
                _number(violation),
                int(simulations),
            )
            for number, text, length, seeds, told, objective, violation, simulations in used
        ],
        [
            Simulated(
                str(made_for),
                int(scenario),
                _number(length),
                _setting(plan, text),
                int(seed),
                _number(objective),
            )
            for made_for, scenario, length, text, seed, objective in simulated
        ],
        None if fidelity is None else read_as(FidelityReport, fidelity),
        outcome,
    )


def _setting(plan: StudyPlan, text: str) -> tuple[float | None, ...]:
    values = json.loads(text)
    if len(values) != len(plan.parameters):
        message = "a setting of other parameters"
        raise ValueError(message)
    return tuple(None if value is None else _number(value) for value in values)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or math.isnan(value):
        message = f"{value!r} where a number is expected"
        raise TypeError(message)
    return float(value)


_DECISION: Final[Mapping[str, type]] = {"accepted": bool, "reason": str, "parameters": dict}
_ANY: Final[Mapping[str, type]] = {"evaluations": int, "end": str, "seeds": dict}
_TYPES: Final[Mapping[Kind, Mapping[str, type]]] = {
    "setting": {**_ANY, **_DECISION, "incumbent": dict, "objective": dict, "metrics": dict},
    "robust": {**_ANY, **_DECISION, "scenarios": list},
    "front": {**_ANY, "objectives": list, "points": list, "tried": list},
}
"""What lists and reports rely on, of each kind of outcome."""


def _check_outcome(plan: StudyPlan, outcome: Mapping[str, Any]) -> None:
    """Refuse an outcome without the keys that lists and reports rely on."""
    for key, kind in _TYPES[plan.kind].items():
        if not isinstance(outcome[key], kind):
            message = f"a recommendation without its {key}"
            raise TypeError(message)
