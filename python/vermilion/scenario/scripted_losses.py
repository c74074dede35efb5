"""``[[scripted_losses]]``: these packets of these flows are dropped or marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, model_validator

from vermilion.scenario.errors import FieldError, did_you_mean, errors_under
from vermilion.scenario.own_predicate import known_predicate
from vermilion.scenario.quantities import RATIO, TIME, Quantity, QuantityRange
from vermilion.scenario.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ACCEPTED: Final = (
    'the name of a group ("early", "web-*"), one of its flows ("early:3"), some ("early:0..4", '
    '"early:every 10"), every so many of all ("every 10"), or a flow\'s number in the scenario (7)'
)
"""Accepted choices of flows."""

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
        """Return it for the core."""
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
    listed: Iterable[object] = [choices] if single else _check_list(choices)
    return [found for choice in listed for found in _parse_choice(choice, counts)]


def _check_list(choices: object) -> list[object]:
    if isinstance(choices, bool) or not isinstance(choices, list | tuple):
        raise FieldError("", choices, ACCEPTED)
    return list(choices)


def _parse_choice(choice: object, counts: Mapping[str, int]) -> list[FlowChoice]:
    if isinstance(choice, int) and not isinstance(choice, bool):
        return [_choice_by_number(choice, counts)]
    if not isinstance(choice, str):
        raise FieldError("", choice, ACCEPTED)
    text = choice.strip()
    if text.isdecimal() and text not in counts:
        return [_choice_by_number(int(text), counts)]
    if text.startswith("every ") or text == "*":
        text = f"*:{text}" if text != "*" else text
    found = _CHOICE.fullmatch(text)
    if found is None or found["group"] is None or bool(found["colon"]) != _has_selection(found):
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


def _has_selection(found: re.Match[str]) -> bool:
    return any(found[part] is not None for part in ("first", "last", "step"))


def _choice_by_number(number: int, counts: Mapping[str, int]) -> FlowChoice:
    left = number
    for name, count in counts.items():
        if 0 <= left < count:
            return FlowChoice(name, left, left)
        left -= count
    raise FieldError("", number, f"a flow's number from 0 to {sum(counts.values()) - 1}")


_LARGEST_SEGMENT: Final = 2**32 - 1
_LARGEST_PACKET: Final = 2**53
_NANOSECONDS: Final = 1_000_000_000
_TIME: Final = Quantity(TIME, minimum=0.0, maximum=1e6)
_ACCEPTED: Final = 'numbers from 1 on, or ranges of them: [15, 17, "20..25"]'


def _ranges(value: object, largest: int) -> tuple[tuple[int, int], ...] | None:
    """Numbers and ranges of them, each as its first and its last."""
    if value is None:
        return None
    listed = [value] if isinstance(value, int | str) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise FieldError("", value, _ACCEPTED)
    return tuple(_range(each, largest) for each in listed)


def _range(value: object, largest: int) -> tuple[int, int]:
    ends: list[object] = list(value) if isinstance(value, list | tuple) else [value]
    if isinstance(value, str):
        ends = [int(end) if end.strip().isdecimal() else end for end in value.split("..")]
    numbers = [end for end in ends if isinstance(end, int) and not isinstance(end, bool)]
    if len(numbers) != len(ends) or len(numbers) not in {1, 2}:
        raise FieldError("", value, _ACCEPTED)
    first, last = numbers[0], numbers[-1]
    if not 1 <= first <= last <= largest:
        raise FieldError("", value, _ACCEPTED)
    return first, last


def _segments(value: object) -> tuple[tuple[int, int], ...] | None:
    return _ranges(value, _LARGEST_SEGMENT)


def _packets(value: object) -> tuple[tuple[int, int], ...] | None:
    return _ranges(value, _LARGEST_PACKET)


def _sendings(value: object) -> tuple[tuple[int, int], ...] | None:
    return ((1, _LARGEST_SEGMENT),) if value == "all" else _ranges(value, _LARGEST_SEGMENT)


def _flows(value: object) -> tuple[str | int, ...]:
    listed = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise FieldError("", value, ACCEPTED)
    return tuple(listed)


Count = Annotated[int, Quantity(RATIO, minimum=1.0, maximum=_LARGEST_PACKET, integer=True)]
Segments = Annotated[tuple[tuple[int, int], ...] | None, BeforeValidator(_segments)]
Sendings = Annotated[tuple[tuple[int, int], ...] | None, BeforeValidator(_sendings)]
Packets = Annotated[tuple[tuple[int, int], ...] | None, BeforeValidator(_packets)]


class ScriptedLoss(Table):
    """Packets selected by a script, and the action on them. All that is given has to fit.

    Attributes:
        flows: of which flows; each counts for itself.
        link: on their way to which link; to the first of the group's path unless it is given.
        action: what is done; what cannot be marked is let pass.
        acknowledgements: whether acknowledgements are meant instead of data.
        segments: data segments by number, the first being 1.
        sendings: at which of its arrivals a segment is meant: the first unless it is given.
        packets: packets of a flow in the order of their arrival, the first being 1.
        time: when they arrive, s: from the first on, before the second.
        when: name of a condition written in Python, asked last; see
            :func:`vermilion.packet_predicate`.
        every: of all that fit so far each so-many-th of a flow.
        most: at most so many of a flow.
    """

    flows: Annotated[tuple[str | int, ...], BeforeValidator(_flows)] = Field(description=ACCEPTED)
    link: StrictStr | None = None
    action: Literal["drop", "mark"] = "drop"
    acknowledgements: StrictBool = False
    segments: Segments = None
    sendings: Sendings = None
    packets: Packets = None
    time: Annotated[tuple[float, float], QuantityRange(_TIME)] | None = None
    when: Annotated[StrictStr | None, BeforeValidator(known_predicate)] = None
    every: Count | None = None
    most: Count | None = None

    @model_validator(mode="after")
    def _check_combination(self) -> ScriptedLoss:
        """Refuse sendings without segments, and segments of acknowledgements."""
        if self.sendings is not None and self.segments is None:
            raise FieldError("sendings", "sendings", "nothing without segments")
        if self.segments is not None and self.acknowledgements:
            accepted = "packets in place of it: acknowledgements are no segments"
            raise FieldError("segments", "segments", accepted)
        if self.time is not None and self.time[0] >= self.time[1]:
            accepted = 'a range that ends after it begins, like "1 s .. 2 s"'
            raise FieldError("time", f"{self.time[0]:g} s .. {self.time[1]:g} s", accepted)
        return self

    def chosen(self, counts: Mapping[str, int]) -> list[FlowChoice]:
        """The flows that are meant.

        Args:
            counts: the flows of each group, in the order of the scenario.

        Raises:
            FieldError: a group or a flow that there is not.
        """
        with errors_under("flows"):
            return chosen_flows(self.flows, counts)

    def to_core(self, counts: Mapping[str, int]) -> dict[str, object]:
        """The script as the core reads it.

        Args:
            counts: the flows of each group, in the order of the scenario.

        Raises:
            FieldError: a group or a flow that there is not.
        """
        written: dict[str, object] = self.model_dump(exclude={"time"}, exclude_none=True)
        written["flows"] = [choice.to_core() for choice in self.chosen(counts)]
        if self.time is not None:
            first, last = (round(end * _NANOSECONDS) for end in self.time)
            written |= {"from_ns": first, "until_ns": last}
        return written
