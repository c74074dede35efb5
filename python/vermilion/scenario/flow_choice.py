"""Some of a scenario's flows, chosen in a few words: by group, by number, or by share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import FieldError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ACCEPTED: Final = (
    'the name of a group ("early", "web-*"), one of its flows ("early:3"), some ("early:0..4", '
    '"early:every 10"), every so many of all ("every 10"), or a flow\'s number in the scenario (7)'
)
"""What a choice of flows may be."""

_LARGEST: Final = 2**32 - 1
_CHOICE: Final = re.compile(
    r"(?P<group>[A-Za-z0-9_*?\[\]-]+)?(?P<colon>:)?\s*"
    r"(?P<first>\d{1,10})?(?:\s*\.\.\s*(?P<last>\d{1,10}))?\s*(?:every\s+(?P<step>\d{1,10}))?"
)


@dataclass(frozen=True, slots=True)
class FlowChoice:
    """Some flows of one group: ``first``, and every ``step``-th from there to ``last``.

    Attributes:
        group: its name.
        first: number of the first among the group's flows, from 0 on.
        last: number of the last; ``None`` for the group's last one.
        step: from each to the next.
    """

    group: str
    first: int = 0
    last: int | None = None
    step: int = 1

    def to_core(self) -> dict[str, object]:
        """As the core reads it."""
        return {"group": self.group, "first": self.first, "last": self.last, "step": self.step}


def chosen_flows(
    choices: str | int | Iterable[str | int], counts: Mapping[str, int]
) -> list[FlowChoice]:
    """The flows that are meant.

    Args:
        choices: one choice or several; see :data:`ACCEPTED`.
        counts: the flows of each group, in the order of the scenario.

    Raises:
        FieldError: a choice that is none, or a group or a flow that there is not.
    """
    single = isinstance(choices, str | int) and not isinstance(choices, bool)
    listed: Iterable[object] = [choices] if single else _listed(choices)
    return [found for choice in listed for found in _chosen(choice, counts)]


def _listed(choices: object) -> list[object]:
    if isinstance(choices, bool) or not isinstance(choices, list | tuple):
        raise FieldError("", choices, ACCEPTED)
    return list(choices)


def _chosen(choice: object, counts: Mapping[str, int]) -> list[FlowChoice]:
    if isinstance(choice, int) and not isinstance(choice, bool):
        return [_of_number(choice, counts)]
    if not isinstance(choice, str):
        raise FieldError("", choice, ACCEPTED)
    text = choice.strip()
    if text.isdecimal() and text not in counts:
        return [_of_number(int(text), counts)]
    if text.startswith("every ") or text == "*":
        text = f"*:{text}" if text != "*" else text
    found = _CHOICE.fullmatch(text)
    if found is None or found["group"] is None or bool(found["colon"]) != _says_which(found):
        raise FieldError("", choice, ACCEPTED)
    groups = [name for name in counts if fnmatchcase(name, found["group"])]
    if not groups:
        raise FieldError(
            "", choice, f"a group of the scenario: {did_you_mean(found['group'], counts)}"
        )
    first = int(found["first"] or 0)
    last = None if found["last"] is None else int(found["last"])
    step = int(found["step"] or 1)
    if found["first"] and not found["last"] and not found["step"]:
        last = first
    if step < 1 or (last is not None and last < first) or max(first, last or 0, step) > _LARGEST:
        raise FieldError("", choice, ACCEPTED)
    return [FlowChoice(name, first, last, step) for name in groups]


def _says_which(found: re.Match[str]) -> bool:
    return any(found[part] is not None for part in ("first", "last", "step"))


def _of_number(number: int, counts: Mapping[str, int]) -> FlowChoice:
    left = number
    for name, count in counts.items():
        if 0 <= left < count:
            return FlowChoice(name, left, left)
        left -= count
    raise FieldError("", number, f"a flow's number from 0 to {sum(counts.values()) - 1}")
