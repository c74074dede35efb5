"""A change of one queue, planned before anything is sent. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.routers.base import RouterError
from vermilion.routers.linux.kernel_clock import TIMER_RATES_HZ
from vermilion.routers.linux.message import queue_body, queue_settings
from vermilion.scenario import disciplines
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.options import Price, QueueOptions, Surroundings
    from vermilion.routers.linux.state import QueueState


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What will be sent, what it costs, and what would undo it.

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
        """Where the kernel's answer is not what the request means, in words.

        How often the kernel's timer ticks is not told: whatever rate explains the answer is
        taken for it.
        """
        return _least_differences(self.before.options, self.request, found)

    def undo_disagreements(self, found: QueueOptions) -> list[str]:
        """Where the kernel's answer after the undoing is not what was there before."""
        return found.differences(self.before.options)


def plan_change(
    before: QueueState, parameters: Mapping[str, ParameterValue], around: Surroundings
) -> PlannedChange | None:
    """What has to be sent so that the parameters hold; ``None`` if they do already.

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


def _least_differences(
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
