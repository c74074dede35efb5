"""A real queue as an operator hands it over: perhaps only to look at.

Several queues of real machines, handed over together.

They may be on one machine or on many, and each kind of router is asked in its own way. What all
have in common is the controller's clock: each reading is put on it by the driver.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from vermilion.routers.base import ManagedQueue, OperatedRouter, RouterError
from vermilion.routers.queue_set import QueueSet, joint_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.routers.base import (
        FlowTraffic,
        LinkConfiguration,
        Observation,
        ParameterValue,
        QueueName,
        Reading,
        RttSamples,
    )


class OperatedQueue(ManagedQueue):
    """Another queue, with what a controller may not do to it refused.

    The controller itself changes nothing in mode "observe". This is the second lock: whatever
    mistake is made above, nothing reaches the router.
    """

    kind = "operated"

    def __init__(
        self,
        queue: ManagedQueue,
        configuration: LinkConfiguration,
        *,
        may_change: bool,
        on_observation: Callable[[Observation], object] = lambda _: None,
    ) -> None:
        """Prepare.

        Args:
            queue: the queue itself.
            configuration: the link as the operator knows it.
            may_change: whether anything may ever be changed.
            on_observation: told of everything that is seen.
        """
        self._queue = queue
        self._configuration = configuration
        self._may_change = may_change
        self._on_observation = on_observation
        self.push_price = queue.push_price
        self.held = queue.held
        self.reading_interval_s = queue.reading_interval_s

    @property
    def configuration(self) -> LinkConfiguration:
        """The link as the operator knows it."""
        return self._configuration

    def read(self) -> Reading:
        """The counters now."""
        return self._queue.read()

    def active_flows(self) -> int | None:
        """The number of flows, where somebody counts them."""
        return self._queue.active_flows()

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call, where somebody takes any."""
        return self._queue.rtt_samples()

    def flow_traffic(self) -> FlowTraffic | None:
        """Packets of each flow since the last call, where a monitor runs."""
        return self._queue.flow_traffic()

    def observe(self) -> Observation:
        """Everything that is seen now."""
        seen = self._queue.observe()
        self._on_observation(seen)
        return seen

    def parameters(self) -> dict[str, ParameterValue]:
        """Every discipline parameter now in force."""
        return self._queue.parameters()

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put parameters in force.

        Raises:
            RouterError: nothing may be changed, or the router refused.
        """
        if not self._may_change:
            message = "the queue is only observed; nothing is sent to it"
            raise RouterError(message)
        self._queue.apply(parameters)

    def wait(self, until_s: float) -> None:
        """Return when the network's time has reached ``until_s``."""
        self._queue.wait(until_s)


_BETWEEN = "+"


@dataclass(frozen=True, slots=True)
class SetAddress:
    """The names of all queues of a set.

    Attributes:
        queues: each queue's own.
    """

    queues: tuple[QueueName, ...]

    @property
    def interface(self) -> str:
        """The interfaces of all."""
        return _BETWEEN.join(each.interface for each in self.queues)

    def __str__(self) -> str:
        return _BETWEEN.join(str(each) for each in self.queues)


class OperatedSet(QueueSet, OperatedRouter):
    """Queues of real machines that are controlled together.

    Attributes:
        routers: each of them, by the name of its link.
    """

    kind: ClassVar[str] = "set"

    def __init__(self, routers: Sequence[OperatedRouter]) -> None:
        """Prepare.

        Args:
            routers: at least two, of different queues.

        Raises:
            RouterError: two are the same queue.
        """
        names = link_names([each.address for each in routers])
        if len(set(names)) < len(names):
            given = ", ".join(str(each.address) for each in routers)
            message = f"queues {given}: expected different ones"
            raise RouterError(message)
        self.routers = dict(zip(names, routers, strict=True))
        super().__init__(
            OperatedQueue(router, replace(router.configuration, link=link), may_change=True)
            for link, router in self.routers.items()
        )
        self.address = SetAddress(tuple(each.address for each in routers))
        self._first = routers[0]

    @property
    def settable(self) -> tuple[str, ...]:
        """The joint names of the parameters that can be changed."""
        return tuple(
            joint_name(link, name)
            for link, router in self.routers.items()
            for name in router.settable
        )

    def now_s(self) -> float:
        """The time of the first queue's clock, seconds; all of them go alike."""
        return self._first.now_s()

    def wait(self, until_s: float) -> None:
        """Return when that clock has reached ``until_s``."""
        self._first.wait(until_s)

    def undo_commands(self) -> dict[str, str | None]:
        """The present setting of each queue as a command; ``None`` where there is none."""
        return {link: router.undo_command() for link, router in self.routers.items()}

    def undo_command(self) -> str | None:
        """The commands of all queues, one after the other; ``None``: one has no such."""
        commands = list(self.undo_commands().values())
        known = [each for each in commands if each is not None]
        return " && ".join(known) if len(known) == len(commands) else None

    def close(self) -> None:
        """Ends the conversation with every machine."""
        for router in self.routers.values():
            router.close()


def link_names(addresses: Sequence[QueueName]) -> list[str]:
    """Name the links of queues after their interfaces, made unique.

    They are parts of paths like ``links.eth0.queue.limit``, which hold no dots.
    """
    interfaces = [_clean(each.interface) for each in addresses]
    count = Counter(interfaces)
    return [
        interface if count[interface] == 1 else _clean(str(address))
        for interface, address in zip(interfaces, addresses, strict=True)
    ]


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name)
