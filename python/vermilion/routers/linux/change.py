"""Changes of one queue: planned before anything is sent, priced, with the nearest values. Pure.

A search walks over numbers; the kernel has steps. What lies between two of them becomes the nearer,
so that a setting is not refused for its last digits. Rules between parameters are not looked at:
what breaks one is refused by :meth:`vermilion.routers.linux.router.LinuxRouter.apply`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.routers.base import HeldValues, PushPrice, RouterError
from vermilion.routers.linux.kinds import KINDS
from vermilion.routers.linux.message import queue_body, queue_settings
from vermilion.routers.linux.options import TIMER_RATES_HZ
from vermilion.scenario import disciplines
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.options import Price, QueueOptions, Surroundings
    from vermilion.routers.linux.state import QueueState


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """Request, price and rollback of a change.

    Attributes:
        before: the queue as it was when the change was planned.
        request: the options to send.
        undo: the options that bring back what was there.
        price: what it costs at that moment.
    """

    before: QueueState
    request: QueueOptions
    undo: QueueOptions
    price: Price

    def disagreements(self, found: QueueOptions) -> list[str]:
        """Differences of the kernel's answer from the request, in words.

        How often the kernel's timer ticks is not told: whatever rate explains the answer is
        taken for it.
        """
        return _fewest_differences(self.before.options, self.request, found)

    def undo_disagreements(self, found: QueueOptions) -> list[str]:
        """Differences of the kernel's answer after a rollback from the state before."""
        return found.differences(self.before.options)


def plan_change(
    before: QueueState, parameters: Mapping[str, ParameterValue], around: Surroundings
) -> PlannedChange | None:
    """Plan a change to these parameters; ``None`` if they hold already.

    Raises:
        RouterError: a parameter that is not accepted; the message names it.
    """
    options = before.options
    if options.discipline is None:
        message = f"{before.kind}: a queue of this kind is only read"
        raise RouterError(message)
    table = disciplines()[options.discipline]
    try:
        wanted = {}
        for name, value in parameters.items():
            parameter = table.parameters.get(name)
            known = value if parameter is None else parameter.exact_text(value)
            wanted[name] = table.parse_one(name, known)
        request = options.request(wanted, around)
    except FieldError as error:
        raise RouterError(str(error)) from None
    if request is None:
        return None
    waiting = before.statistics.backlog_packets or 0
    price = options.price(request, waiting)
    return PlannedChange(before, request, options.restoring(request), price)


def change_body(queue: QueueState, options: QueueOptions) -> bytes:
    """The body of a message that changes a queue: never one that makes another."""
    head = queue_body(queue.interface, queue.handle, queue.parent)
    settings = queue_settings(queue.kind, options.encode(), nested=options.attribute)
    return head + settings


def _fewest_differences(
    before: QueueOptions, request: QueueOptions, found: QueueOptions
) -> list[str]:
    least: list[str] | None = None
    for timer_hz in TIMER_RATES_HZ:
        different = found.differences(before.after(request, timer_hz))
        if least is None or len(different) < len(least):
            least = different
        if not least:
            break
    return least or []


_LIMITS = ("limit", "limit_bytes", "memory_limit")


def push_price(queue: QueueState, around: Surroundings) -> PushPrice:
    """Price of a change of anything but the limit."""
    waiting = replace(queue, statistics=replace(queue.statistics, backlog_packets=1))
    values = queue.options.parameters(around)
    for name in queue.options.settable:
        if name in _LIMITS or name not in values:
            continue
        for value in _substitutes(values[name]):
            try:
                planned = plan_change(waiting, {name: value}, around)
            except RouterError:
                continue  # the kernel does not have this value
            if planned is not None:
                price = planned.price
                return PushPrice(price.packets > 0, price.forgets is not None)
    return PushPrice()


def _substitutes(value: ParameterValue) -> Iterator[ParameterValue]:
    """Values that may be accepted in another's place."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield type(value)(value * 2)
        yield type(value)(value / 2)


_GAINS: Final = {"alpha", "beta"}
_GAIN_STEPS: Final = 16
"""Of PIE in one: RFC 8033's gains are told in sixteenths (tc-pie(8))."""
_MOST_GAIN_STEPS: Final = 32
"""The kernel refuses more (net/sched/sch_pie.c), and a search's box goes further."""

_WHOLE: Final = {
    "drop_batch",
    "limit",
    "limit_bytes",
    "max_threshold",
    "memory_limit",
    "min_threshold",
    "quantum",
    "weight_log",
}
_PROBABILITY_STEPS: Final = 2**32
"""In one: the kernel's probabilities are 32 bits, and 1 is not among them."""


def nearest_settable(
    discipline: str, parameters: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """The parameters with every number at the nearest that the kernel has.

    Args:
        discipline: by its name in Vermilion, like "choke".
        parameters: in the units of its table.
    """
    return {name: _nearest(discipline, name, value) for name, value in parameters.items()}


def _nearest(discipline: str, name: str, value: ParameterValue) -> ParameterValue:
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return value  # 0 is no number of steps: the kernel has it, or refuses it
    if name in _WHOLE:
        return round(value)
    if name in _GAINS:
        return min(max(1, round(_GAIN_STEPS * value)), _MOST_GAIN_STEPS) / _GAIN_STEPS
    if name == "max_probability":
        steps = min(max(1, round(_PROBABILITY_STEPS * value)), _PROBABILITY_STEPS - 1)
        return steps / _PROBABILITY_STEPS
    if discipline == "choke" and name == "weight" and value > 0.0:
        return 0.5 ** max(1, round(-math.log2(value)))
    return value


@dataclass(frozen=True, slots=True)
class LinuxValues(HeldValues):
    """Values of a kernel's queue: its steps, and what it moves by itself.

    Attributes:
        discipline: by its name in Vermilion, like "choke".
    """

    tolerance: float = 0.01
    discipline: str = ""

    def nearest(self, setting: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """Return each number rounded to the nearest that the kernel has."""
        return nearest_settable(self.discipline, setting)

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:
        """Parameters that the kernel moves while a switch is on."""
        return frozenset(
            name
            for kind in KINDS.values()
            if kind.discipline == self.discipline
            for name, switch in kind.moved.items()
            if parameters.get(switch) is True
        )
