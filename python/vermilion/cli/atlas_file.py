"""The option ``--atlas`` of ``vermilion online``: reading an atlas that was written before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vermilion.online.plan.memory import AnswerMemory

_LARGEST: Final = 64_000_000
_ACCEPTED: Final = "what vermilion atlas --json writes"


def read_atlas(path: Path, discipline: str, parameters: Sequence[str]) -> AnswerMemory:
    """What an atlas knows, as a memory for a controller of this discipline.

    Raises:
        ScenarioError: the file cannot be read, or is no atlas of the discipline.
    """
    from vermilion.online.plan.atlas_prior import memory_of_atlas

    origin = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        problem = f"--atlas: cannot be read ({reason})"
        raise ScenarioError("", problem, _ACCEPTED, origin) from None
    if len(content) > _LARGEST:
        problem = f"--atlas: is larger than {_LARGEST // 1_000_000} MB"
        raise ScenarioError("", problem, _ACCEPTED, origin)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ScenarioError("", "--atlas: is not JSON", _ACCEPTED, origin) from None
    return memory_of_atlas(document, discipline, parameters, origin)
