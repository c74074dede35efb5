"""What any change costs the traffic of a queue, before anybody knows which change it will be.

A search has to know it when it weighs settings that are yet to be found. It is read from the price
of a small change: one that leaves the limit alone, made while a packet waits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.routers.base import PushPrice, RouterError
from vermilion.routers.linux.change import plan_change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.routers.base import ParameterValue
    from vermilion.routers.linux.options import Surroundings
    from vermilion.routers.linux.state import QueueState

_LIMITS = ("limit", "limit_bytes", "memory_limit")


def push_price(queue: QueueState, around: Surroundings) -> PushPrice:
    """What a change costs that is not of the limit; nothing where the queue has no other."""
    waiting = replace(queue, statistics=replace(queue.statistics, backlog_packets=1))
    values = queue.options.parameters(around)
    for name in queue.options.settable:
        if name in _LIMITS or name not in values:
            continue
        for value in _others(values[name]):
            try:
                planned = plan_change(waiting, {name: value}, around)
            except RouterError:
                continue  # the kernel does not have this value
            if planned is not None:
                price = planned.price
                return PushPrice(price.packets > 0, price.forgets is not None)
    return PushPrice()


def _others(value: ParameterValue) -> Iterator[ParameterValue]:
    """Values that may be accepted in another's place."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield type(value)(value * 2)
        yield type(value)(value / 2)
