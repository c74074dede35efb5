"""What an atlas knows of conditions that the controller has never met: where its searches begin.

An atlas (``vermilion atlas --json``) has tuned a discipline for a grid of conditions beforehand.
Its settings for the most similar ones are tried first, in the model, like the controller's own
earlier answers; they are put in force only if they prove to be best there.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from vermilion.online.plan.memory import AnswerMemory
from vermilion.online.sense.picture import TrafficPicture
from vermilion.scenario.algorithms import disciplines
from vermilion.scenario.errors import MISSING, ScenarioError
from vermilion.tuning.recall.answers import EarlierAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIELDS: Final = ("rate_bit_per_s", "flows", "round_trip_s")
_MOST_FLOWS: Final = 1_000_000
_MOST_CELLS: Final = 100_000


def memory_of_atlas(
    document: object, discipline: str, parameters: Sequence[str], origin: str
) -> AnswerMemory:
    """A memory of an atlas's cells.

    Args:
        document: what ``vermilion atlas --json`` has written, as JSON is read.
        discipline: of the queue under control.
        parameters: those that may be changed.
        origin: the file's name, for messages.

    Raises:
        ScenarioError: it is no atlas, or one of another discipline or of none of the parameters.
    """
    plan = _part(document, "plan", dict, origin, "")
    cells = _part(document, "cells", list, origin, "")
    found = plan.get("discipline")
    # The name alone: what stands behind a colon are parameters that were not tuned.
    if not isinstance(found, str) or re.split(r"[:\s]", found, maxsplit=1)[0] != discipline:
        accepted = f'an atlas of the queue\'s own discipline, "{discipline}"'
        raise ScenarioError(
            "plan.discipline", MISSING if found is None else found, accepted, origin
        )
    known = _part(document, "parameters", list, origin, "")
    # What an atlas does not say of a switch is as it stands.
    table = disciplines()[discipline].parameters
    parameters = [name for name in parameters if table[name].kind == "number"]
    if not set(parameters) <= set(known):
        accepted = f"an atlas in which these were tuned: {', '.join(parameters)}"
        raise ScenarioError("parameters", known, accepted, origin)
    if len(cells) > _MOST_CELLS:
        raise ScenarioError("cells", len(cells), f"at most {_MOST_CELLS} cells", origin)
    prior = tuple(
        _answer(cell, parameters, origin, f"cells.{number}") for number, cell in enumerate(cells)
    )
    return AnswerMemory(prior=prior)


def _answer(
    cell: object, parameters: Sequence[str], origin: str, where: str
) -> EarlierAnswer[TrafficPicture]:
    condition = _part(cell, "condition", dict, origin, where)
    setting = _part(cell, "setting", dict, origin, where)
    rate, flows, trip_s = (
        _number(condition, name, origin, f"{where}.condition") for name in _FIELDS
    )
    if flows > _MOST_FLOWS:
        accepted = f"at most {_MOST_FLOWS} flows"
        raise ScenarioError(f"{where}.condition.flows", flows, accepted, origin)
    picture = TrafficPicture(
        time_s=0.0,
        flows=round(flows),
        base_rtts_s=(trip_s,),
        rate_bit_per_s=rate,
        packet_bytes=None,
        marked_share=None,
    )
    values = {name: _number(setting, name, origin, f"{where}.setting") for name in parameters}
    return EarlierAnswer(picture, values, origin)


def _part(of: object, name: str, kind: type, origin: str, where: str) -> Any:  # noqa: ANN401 - JSON
    path = f"{where}.{name}".lstrip(".")
    value = of.get(name, MISSING) if isinstance(of, dict) else MISSING
    if not isinstance(value, kind):
        accepted = "what vermilion atlas --json writes: a file with plan, parameters and cells"
        raise ScenarioError(path, value, accepted, origin)
    return value


def _number(of: Mapping[str, Any], name: str, origin: str, where: str) -> float:
    value = of.get(name, MISSING)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value < 0.0
    ):
        raise ScenarioError(f"{where}.{name}", value, "a number, 0 or more", origin)
    return float(value)
