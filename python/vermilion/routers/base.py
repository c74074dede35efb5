"""The one interface to a managed queue.

Whatever is under control (a simulated network, a Linux queueing discipline reached by
netlink, a switch reached by SNMP) is a :class:`ManagedQueue`. The controller in
:mod:`vermilion.online` knows nothing else about it. The interface therefore holds only
what real equipment can export (cumulative counters and the current backlog), what a
passive monitor beside it can add (the number of flows, what each of them sends, round-trip
samples), what the operator configured (name, discipline, propagation delay), and two verbs:
``apply`` new parameters and ``wait`` until a moment of the network's own time.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.monitor import InterfaceWatch

ParameterValue: TypeAlias = float | bool | str | None
"""A discipline parameter: a number, a switch, a choice, or ``None`` for "automatic"."""

Knowledge: TypeAlias = Literal["full", "flow count", "counters"]
"""Knowledge of the traffic: the flows and their round trips; only how many there are; nothing
but the router's counters."""


class RouterError(Exception):
    """A router refused a request or gave an answer that makes no sense.

    The text is one message that names what was asked and what would be accepted. After a
    refused :meth:`ManagedQueue.apply` nothing has changed.
    """


class RouterSilent(RouterError):  # noqa: N818 - reads as what it says
    """A router did not answer, or not so that it is known what it did.

    After an ``apply`` the change may be in force, in part or not at all.
    """


@dataclass(frozen=True, slots=True)
class Reading:
    """A router's counters at one moment; all but the backlog are cumulative.

    Attributes:
        time_s: the network's own time of the reading, in seconds.
        backlog_packets: packets waiting, without the one in transmission.
        backlog_bytes: bytes waiting, likewise.
        forwarded_packets: packets sent since the router's counters began.
        forwarded_bytes: bytes sent, likewise.
        drops: packets dropped, for whatever reason.
        marks: packets marked (ECN congestion experienced).
    """

    time_s: float
    backlog_packets: int
    backlog_bytes: int
    forwarded_packets: int
    forwarded_bytes: int
    drops: int
    marks: int


@dataclass(frozen=True, slots=True)
class RttSamples:
    """Round-trip samples that a passive monitor took since it was last asked, in their order.

    Attributes:
        flows: which flow each sample belongs to; any stable integer (say, a hash of the
            connection's addresses and ports).
        seconds: the samples, in seconds, queueing included.
        timed_by_senders: whether these are the samples that the senders themselves take, as in a
            simulation: how many there are then tells of what kind a sender is. A monitor on the way
            takes its own, by its own rules.
    """

    flows: NDArray[np.int64]
    seconds: NDArray[np.float64]
    timed_by_senders: bool = False


@dataclass(frozen=True, slots=True)
class FlowTraffic:
    """Packets and bytes of each flow through the queue since the monitor was last asked.

    Attributes:
        flows: which flow, by the same integers as :attr:`RttSamples.flows`; each at most once.
        packets: packets of it that the queue forwarded.
        bytes: bytes of it that the queue forwarded.
        responsive: whether its sender slows down when packets are lost (TCP does, most UDP
            does not).
        selective: whether its receiver has been seen to acknowledge selectively (RFC 2018), or both
            ends to agree to that; ``None`` where nobody looks. One that has lost nothing yet and
            whose beginning was not seen may do so all the same.
        ecn_capable: whether packets of it can be marked instead of dropped (RFC 3168); ``None``
            where nobody looks. Of a flow that can, some cannot, such as those sent again.
        one_in: one flow in so many was looked at, and stands for as many. Where that becomes
            another, the numbers of flows have another meaning.
    """

    flows: NDArray[np.int64]
    packets: NDArray[np.int64]
    bytes: NDArray[np.int64]
    responsive: NDArray[np.bool_]
    selective: NDArray[np.bool_] | None = None
    ecn_capable: NDArray[np.bool_] | None = None
    one_in: int = 1


@dataclass(frozen=True, slots=True)
class Observation:
    """Observation at one moment; what this router or monitor cannot tell is ``None``.

    Attributes:
        reading: the router's counters.
        active_flows: flows that have begun and not ended.
        round_trips: round-trip samples since the last observation.
        traffic: what each flow sent since the last observation.
        queues: where several queues are managed together, what is seen of each, by its name; the
            reading is then the sum of theirs.
    """

    reading: Reading
    active_flows: int | None = None
    round_trips: RttSamples | None = None
    traffic: FlowTraffic | None = None
    queues: Mapping[str, Observation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PushPrice:
    """Price of changing a parameter of this kind of queue.

    Attributes:
        flushes_queue: whether the packets that wait are dropped.
        forgets_average: whether the discipline's average begins anew.
    """

    flushes_queue: bool = False
    forgets_average: bool = False


@dataclass(frozen=True, slots=True)
class HeldValues:
    """Values that a kind of queue holds when it is told others.

    A search walks over numbers, and a device has steps. So whoever finds a setting asks for the
    nearest that the device has, and judges that one. Some devices also move a parameter themselves.
    This one has every number and moves none.

    Attributes:
        tolerance: by how much a value in force may miss the one that was asked for, as a part of
            it, and still count as the same: of some steps nobody but the device knows.
    """

    tolerance: float = 0.0

    def nearest(self, setting: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The nearest values that the queue has; what it has stays as it is."""
        return dict(setting)

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:  # noqa: ARG002 - for those below
        """The names of what the queue moves by itself while these are in force."""
        return frozenset()

    def still(self, parameters: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The parameters without those that the queue moves by itself."""
        moving = self.moving(parameters)
        return {name: value for name, value in parameters.items() if name not in moving}

    def is_same(self, asked: ParameterValue, found: ParameterValue) -> bool:
        """Return whether a value is the one that was asked for, give or take the tolerance."""
        if _is_number(asked) and _is_number(found):
            one, other = float(asked or 0.0), float(found or 0.0)
            return abs(other - one) <= self.tolerance * abs(one)
        return asked == found

    def missed(
        self, asked: Mapping[str, ParameterValue], in_force: Mapping[str, ParameterValue]
    ) -> dict[str, ParameterValue]:
        """Values asked for, each the nearest that the queue has, that are not in force."""
        moving = self.moving(in_force)
        return {
            name: value
            for name, value in self.nearest(asked).items()
            if name not in moving and not self.is_same(value, in_force.get(name))
        }

    def holds(
        self, asked: Mapping[str, ParameterValue], in_force: Mapping[str, ParameterValue]
    ) -> bool:
        """Return whether a setting is in force, as far as the queue can hold it."""
        return not self.missed(asked, in_force)

    def is_unchanged(
        self, found: Mapping[str, ParameterValue], known: Mapping[str, ParameterValue]
    ) -> bool:
        """Return whether the queue says what it said before, but for what it moves by itself."""
        return self.still(found) == self.still(known)


def _is_number(value: ParameterValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class LinkConfiguration:
    """Configuration of a link by its operator; nothing about the traffic.

    Attributes:
        link: the link's name.
        discipline: the name of its queue discipline.
        delay_s: its one-way propagation delay after the queue, in seconds.
        queues: where several queues are managed together, those of each link.
        adaptive: True where Adaptive RED can be switched on beside a plain RED
            (:mod:`vermilion.routers.adaptive_red`).
    """

    link: str
    discipline: str
    delay_s: float
    queues: tuple[LinkConfiguration, ...] = ()
    adaptive: bool = False


class QueueName(Protocol):
    """Name of a queue of a real machine; its text is what a person writes."""

    @property
    def interface(self) -> str:
        """The name of the interface that the queue belongs to."""


class ManagedQueue(ABC):
    """One queue of one router, and the traffic monitor beside it.

    Life cycle: :meth:`wait` lets the network's time pass; between waits the state may be
    read any number of times and :meth:`apply` may change the parameters. Time never goes
    back. Counters may (a router restarts): the reader must cope.

    A router without a monitor beside it is complete with the abstract methods; whatever else it
    can tell makes the controller's model better. :mod:`vermilion.routers.conformance` has the
    tests that every kind must pass.
    """

    kind: ClassVar[str]
    """The kind's name in the registry."""

    push_price: PushPrice = PushPrice()
    """Price of any change of parameters."""

    held: HeldValues = HeldValues(tolerance=0.01)
    """Values that the queue has, and those that it moves."""

    reading_interval_s: float = 0.0
    """The least time between two observations, in seconds; more often it should not be asked."""

    _configuration: LinkConfiguration

    @property
    def configuration(self) -> LinkConfiguration:
        """The link's static configuration."""
        return self._configuration

    @abstractmethod
    def read(self) -> Reading:
        """The counters now."""

    def active_flows(self) -> int | None:
        """The number of flows that have begun and not ended (connection tracking).

        ``None`` where nobody counts them, which is different from 0.
        """
        return None

    def rtt_samples(self) -> RttSamples | None:
        """The round-trip samples since the last call; ``None`` where nobody takes any."""
        return None

    def flow_traffic(self) -> FlowTraffic | None:
        """Traffic of each flow since the last call; ``None`` where nobody looks at packets."""
        return None

    def observe(self) -> Observation:
        """Observe now: the counters, and what the monitor can add.

        A kind that gets all of it in one answer may do so; what it returns must be what the single
        methods would have.
        """
        reading = self.read()
        return Observation(
            reading=reading,
            active_flows=self.active_flows(),
            round_trips=self.rtt_samples(),
            traffic=self.flow_traffic(),
        )

    @abstractmethod
    def parameters(self) -> dict[str, ParameterValue]:
        """Discipline parameters in force, by their names in the parameter table."""

    @abstractmethod
    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, merged over the present ones: all of them or none.

        Raises:
            RouterError: the router refused; the parameters in force are what they were.
            RouterSilent: what is in force is not known, or a part of the change that could not be
                taken back.
        """

    @abstractmethod
    def wait(self, until_s: float) -> None:
        """Return when the network's time has reached ``until_s`` (at once if it has passed)."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Access to a real queue as configured by its operator, and facts about its link.

    Attributes:
        credentials: a file with a user of the machine's agent; ``None``: the usual one.
        environment: of the process.
        watch: what is heard of the queue's interface, where somebody listens.
        rate_bit_per_s: of the link; ``None``: not known.
        delay_s: the link's propagation delay.
    """

    credentials: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    watch: InterfaceWatch | None = None
    rate_bit_per_s: float | None = None
    delay_s: float = 0.0


class OperatedRouter(ManagedQueue):
    """A queue of a real machine, which an operator hands over and gets back.

    Attributes:
        example: what an address of the kind looks like, for a message.
        takes_credentials: whether a user has to be named.
    """

    example: ClassVar[str] = ""
    takes_credentials: ClassVar[bool] = False

    address: QueueName
    """Name of the queue."""

    @classmethod
    def reached(cls, address: str, reach: Reach) -> Self:
        """The queue of an address like :attr:`example`.

        Raises:
            RouterError: there is no such queue, or it cannot be controlled.
        """
        del reach
        message = f'"{address}" is not accepted: a queue of the kind "{cls.kind}" has no address'
        raise RouterError(message)

    def why_not_changed(self) -> str | None:
        """Reason why this process may not change the queue, and the cure; ``None``: it may."""
        return None

    @property
    @abstractmethod
    def settable(self) -> tuple[str, ...]:
        """The names of the parameters that can be changed."""

    @abstractmethod
    def now_s(self) -> float:
        """The time of a reading that is taken now, seconds."""

    _sleep: Callable[[float], None] = staticmethod(time.sleep)

    def wait(self, until_s: float) -> None:
        """Sleep."""
        remaining = until_s - self.now_s()
        if remaining > 0.0:
            self._sleep(remaining)

    @abstractmethod
    def undo_command(self) -> str | None:
        """The present setting as a command, to be kept before a change; ``None``: no such."""

    @classmethod
    def rebuild_undo_command(
        cls,
        address: str,
        parameters: Mapping[str, ParameterValue],
        recorded: str,
    ) -> str | None:
        """The undo command of a journal, made again; ``None`` where that is not possible.

        A journal may come from anybody. So nothing of the recorded command comes back but numbers
        that name the queue; it need not be one.

        Args:
            address: like :attr:`example`.
            parameters: the recorded setting.
            recorded: the recorded command.

        Raises:
            RouterError: there is no such address.
            ValueError: a parameter has no such value; other errors of :data:`~.NONSENSE` too.
        """
        del address, parameters, recorded
        return None

    @abstractmethod
    def close(self) -> None:
        """Ends the conversation with the machine."""
