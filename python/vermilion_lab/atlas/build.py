"""Building an atlas: three rounds over all cells, each kept as soon as it is done.

A round depends on the one before it alone, never on the order in which cells are done, so an atlas
is the same on one machine, on a cluster, and after an interruption.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.whole_file import whole_file
from vermilion.scenario import ScenarioError
from vermilion.search import AUTOMATIC, SEARCHES
from vermilion_lab.atlas.cell import (
    DEFAULTS,
    FITTED,
    Cell,
    Judged,
    judge_cell,
    per_target,
    revise_cell,
    tune_cell,
)
from vermilion_lab.atlas.fitting import PowerLaw, fit_power_law
from vermilion_lab.atlas.plan import plan_table
from vermilion_lab.atlas.rules import RULES
from vermilion_lab.atlas.scenarios import cell_scenario, target_packets, tuned_parameters
from vermilion_lab.package_digest import package_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from vermilion.simulate.batches import BatchRunner
    from vermilion_lab.atlas.plan import Condition, Plan

_EFFORT: Final = {"tune": 1.0, "revise": 0.3, "judge": 0.2}
"""Of a cell in each round, about, in parts of the first."""

_NEARLY: Final = 0.99
"""Of a cell that is not over."""

TOTAL_EFFORT: Final = sum(_EFFORT.values())

_KEY_LETTERS: Final = 20


@dataclass(frozen=True, slots=True)
class Atlas:
    """A finished atlas.

    Attributes:
        plan: of what.
        parameters: the tuned ones.
        cells: in the plan's order.
        laws: fitted to the cells, apart for ECN off and on; none where there are too few cells.
        version: of the package.
    """

    plan: Plan
    parameters: tuple[str, ...]
    cells: tuple[Cell, ...]
    laws: Mapping[bool, tuple[PowerLaw, ...]]
    version: str

    def compared(self) -> list[str]:
        """Names of the settings compared with the tuned one in any cell, in a fixed order."""
        known = {name for cell in self.cells for name in cell.judged}
        order = (DEFAULTS, FITTED, *(rule.name for rule in RULES))
        return [name for name in order if name in known]

    def document(self) -> dict[str, Any]:
        """Return the JSON form; what could not be computed is absent."""
        data: dict[str, Any] = _present(
            {
                "version": self.version,
                "plan": plan_table(self.plan),
                "goal": self.plan.goal,
                "parameters": list(self.parameters),
                "cells": [asdict(cell) for cell in self.cells],
                "laws": [
                    {"ecn": ecn, **asdict(law)} for ecn, laws in self.laws.items() for law in laws
                ],
            }
        )
        return data


def build_atlas(
    plan: Plan,
    *,
    keep: Path | None = None,
    workers: BatchRunner | None = None,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Atlas:
    """Tunes every cell, fits laws, and judges all on fresh seeds.

    Args:
        plan: of what.
        keep: a folder where each cell's numbers are kept as soon as they are there; those that are
            there already are not computed again.
        workers: of a cluster, that compute the cells; ``None`` for this machine alone.
        threads: simulations at a time on this machine; ``None`` for one on each core.
        progress: called with the work done, in cells times :data:`TOTAL_EFFORT`.

    Raises:
        ScenarioError: a part of the plan that is not accepted.
        OSError: the folder cannot be written.
        KeyboardInterrupt: at Ctrl-C; what is in the folder is complete.
    """
    from vermilion import _core

    if plan.search not in (AUTOMATIC, *SEARCHES):
        accepted = f"{AUTOMATIC}, or one of: {', '.join(SEARCHES)}"
        raise ScenarioError("search", plan.search, accepted, "atlas")
    parameters = tuned_parameters(plan)
    conditions = plan.conditions()
    for condition in conditions:
        cell_scenario(plan, condition)  # what is wrong with it is said before anything is done
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    rounds = _Rounds(plan, keep, workers, threads, progress)
    first = rounds.run("tune", tune_cell, [(plan, each) for each in conditions])
    found = dict(zip(conditions, first, strict=True))
    parts = {
        each: per_target(plan, each, answer["setting"])
        for each, answer in found.items()
        if answer["accepted"]
    }
    second = rounds.run(
        "revise",
        revise_cell,
        [
            (
                plan,
                each,
                found[each]["setting"],
                [parts[near] for near in plan.neighbours(each) if near in parts],
            )
            for each in conditions
        ],
    )
    answers = dict(zip(conditions, second, strict=True))
    predictions = {each: _held_out_predictions(parameters, answers, each) for each in conditions}
    third = rounds.run(
        "judge",
        judge_cell,
        [(plan, each, answers[each]["setting"], predictions[each]) for each in conditions],
    )
    cells = [
        Cell(
            condition=each,
            target_packets=target_packets(plan, each),
            setting=answers[each]["setting"],
            accepted=answers[each]["accepted"],
            own=answers[each]["own"],
            at_an_end=tuple(answers[each]["at_an_end"]),
            reason=answers[each]["reason"],
            warnings=tuple(answers[each]["warnings"]),
            judged={name: Judged(**numbers) for name, numbers in judged.items()},
        )
        for each, judged in zip(conditions, third, strict=True)
    ]
    laws = {ecn: tuple(_laws(parameters, answers, ecn)) for ecn in plan.ecn}
    return Atlas(plan, parameters, tuple(cells), laws, _core.VERSION)


class _Rounds:
    """Runs the cells of a round wherever they can be run, and keeps them."""

    def __init__(
        self,
        plan: Plan,
        keep: Path | None,
        workers: BatchRunner | None,
        threads: int | None,
        progress: Callable[[float], object] | None,
    ) -> None:
        self._plan = plan
        self._keep = keep
        self._workers = workers
        self._threads = threads
        self._progress = progress or (lambda _: None)
        self._done = 0.0

    def run(
        self, name: str, task: Callable[..., dict[str, Any]], arguments: Sequence[Sequence[Any]]
    ) -> list[dict[str, Any]]:
        """The outcomes of a round, in order."""
        paths = [self._path(name, some) for some in arguments]
        found = [_stored_outcome(path) for path in paths]
        missing = [number for number, outcome in enumerate(found) if outcome is None]
        self._advance(name, len(arguments) - len(missing))
        left = [arguments[number] for number in missing]
        for place, outcome in self._run_each(name, task, left):
            number = missing[place]
            if outcome.get("end") == "interrupted":
                raise KeyboardInterrupt
            # As it would be read again, so that a run that goes on has the same numbers.
            text = json.dumps(outcome, allow_nan=False)
            found[number] = json.loads(text)
            path = paths[number]
            if path is not None:
                with whole_file(path) as file:
                    file.write(text)
            self._advance(name, 1)
        return [outcome for outcome in found if outcome is not None]

    def _run_each(
        self, name: str, task: Callable[..., dict[str, Any]], arguments: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        if self._workers is not None:
            yield from self._workers.each(task, arguments)
            return
        for number, some in enumerate(arguments):
            yield number, task(*some, threads=self._threads, progress=self._cell_progress(name))

    def _cell_progress(self, name: str) -> Callable[[float], object]:
        """Progress callback of a cell."""
        return lambda part: self._progress(self._done + _EFFORT[name] * min(part, _NEARLY))

    def _advance(self, name: str, cells: int) -> None:
        self._done += _EFFORT[name] * cells
        self._progress(self._done)

    def _path(self, name: str, arguments: Sequence[Any]) -> Path | None:
        """Path of a stored outcome: it names all that the outcome depends on."""
        if self._keep is None:
            return None
        _, condition, *inputs = arguments
        depends = [
            package_digest(),
            name,
            plan_table(_cell_plan(self._plan)),
            asdict(condition),
            inputs,
        ]
        text = json.dumps(depends, sort_keys=True)
        key = hashlib.sha256(text.encode()).hexdigest()[:_KEY_LETTERS]
        return self._keep / f"{name}-{key}.json"


def _cell_plan(plan: Plan) -> Plan:
    """The plan without its grid: a cell does not depend on which others there are."""
    from dataclasses import replace

    return replace(plan, rates=(), flows=(), round_trips=(), ecn=())


def _stored_outcome(path: Path | None) -> dict[str, Any] | None:
    """Read a stored outcome; ``None`` if there is none, or it cannot be read."""
    if path is None:
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) else None


def _laws(
    parameters: Sequence[str],
    answers: Mapping[Condition, Mapping[str, Any]],
    ecn: bool,  # noqa: FBT001 - one value of an axis
) -> Iterator[PowerLaw]:
    """A law for each parameter, of the cells that were worth tuning."""
    cells = [
        (each, answer["setting"])
        for each, answer in answers.items()
        if each.ecn == ecn and answer["accepted"]
    ]
    for name in parameters:
        law = fit_power_law(name, [each for each, _ in cells], [own[name] for _, own in cells])
        if law is not None:
            yield law


def _held_out_predictions(
    parameters: Sequence[str], answers: Mapping[Condition, Mapping[str, Any]], one: Condition
) -> dict[str, float] | None:
    """Predictions for a cell of laws fitted without it; ``None`` where there are none."""
    others = {each: answer for each, answer in answers.items() if each != one}
    laws = list(_laws(parameters, others, one.ecn))
    if len(laws) < len(parameters):
        return None
    return {law.parameter: law.at(one) for law in laws}


def _present(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _present(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_present(entry) for entry in value]
    return value
