"""The option ``--atlas`` of ``vermilion online``: reading an atlas that was written before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from vermilion.cli.limited_file import read_limited
from vermilion.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from vermilion.online.plan.memory import AnswerMemory
    from vermilion.online.policy import SetPolicy

_MEGABYTES: Final = 64
_ACCEPTED: Final = "what vermilion atlas --json writes"


def read_atlas(path: Path, discipline: str, parameters: Sequence[str]) -> AnswerMemory:
    """What an atlas knows, as a memory for a controller of this discipline.

    Raises:
        ScenarioError: the file cannot be read, or is no atlas of the discipline.
    """
    from vermilion.online.plan.atlas_prior import memory_of_atlas

    return memory_of_atlas(_document(path), discipline, parameters, str(path))


def read_set_atlas(path: Path, disciplines: Mapping[str, str], policy: SetPolicy) -> AnswerMemory:
    """What an atlas knows of several queues: of each that has its discipline and parameters.

    Args:
        path: the file.
        disciplines: of the queues, by the names of their links.
        policy: what is wanted of them.

    Raises:
        ScenarioError: the file cannot be read, or is no atlas of any of the disciplines.
    """
    from vermilion.online.plan.set_atlas_prior import memory_of_set_atlas

    return memory_of_set_atlas(_document(path), disciplines, policy, str(path))


def _document(path: Path) -> object:
    origin = str(path)
    content = read_limited(path, "--atlas", _MEGABYTES, _ACCEPTED)
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        raise ScenarioError("", "--atlas: is not JSON", _ACCEPTED, origin) from None
    return document
