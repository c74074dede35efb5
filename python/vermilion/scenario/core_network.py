"""The parts of a scenario as the core reads them: links, groups of flows, changes.

Times are integer nanoseconds, rates bit/s, sizes bytes; parameters are in the units of their
tables. A part knows its own JSON. A tuning wants thousands of texts in which nothing but the
parameters differ, so the text around them is written once.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from json import JSONEncoder
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import algorithms
from vermilion.scenario.ports import Class, Shape, algorithm_of, classes_from_data, classes_to_core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

encoded: Final[Callable[[object], str]] = JSONEncoder(allow_nan=False).encode
"""A value as JSON; NaN and infinities raise a ``ValueError``."""


_LATER: Final = ("dscp", "source_host", "destination_host")


def members(values: Mapping[str, object]) -> str:
    """Members of a JSON object, without the braces around them."""
    return encoded(values)[1:-1]


@dataclass(frozen=True, slots=True)
class DrawnRoundTrips:
    """A distribution cut off at two bounds: values outside are drawn again.

    Attributes:
        distribution: "uniform", "exponential" or "lognormal".
        min_ns: the smallest value.
        max_ns: the largest value.
        mean_ns: of an exponential distribution before it is cut off.
        median_ns: of a lognormal distribution before it is cut off.
        sigma: standard deviation of the logarithm of a lognormal distribution.
    """

    distribution: str
    min_ns: int
    max_ns: int
    mean_ns: int | None = None
    median_ns: int | None = None
    sigma: float | None = None


CoreRoundTrips = int | tuple[int, ...] | DrawnRoundTrips
"""Nanoseconds: for every flow the same, dealt to them in turn, or drawn by each."""


def mean_ns(trips: CoreRoundTrips) -> float:
    """About the mean of a group's round trips, in ns.

    Of a list it is exact. Of a distribution it is that before the cut: the mean of an exponential,
    the median of a lognormal, the middle of a uniform one.
    """
    if isinstance(trips, DrawnRoundTrips):
        for middle in (trips.mean_ns, trips.median_ns):
            if middle is not None:
                return float(middle)
        return (float(trips.min_ns) + float(trips.max_ns)) / 2.0
    if isinstance(trips, tuple):
        return math.fsum(trips) / len(trips)
    return float(trips)


def longest_ns(trips: CoreRoundTrips) -> int:
    """The longest round trip that a flow can have, in ns."""
    if isinstance(trips, DrawnRoundTrips):
        return trips.max_ns
    return max(trips) if isinstance(trips, tuple) else trips


def to_data(trips: CoreRoundTrips) -> object:
    """Return them for the core's JSON."""
    if isinstance(trips, DrawnRoundTrips):
        return {key: value for key, value in asdict(trips).items() if value is not None}
    return trips


def from_data(data: int | Sequence[int] | dict[str, Any]) -> CoreRoundTrips:
    """The inverse of :func:`to_data`.

    Raises:
        TypeError: a distribution lacks a key, or has one too many.
    """
    if isinstance(data, dict):
        return DrawnRoundTrips(**data)
    return data if isinstance(data, int) else tuple(data)


if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.algorithms import ParameterValue

    Values = Mapping[str, ParameterValue]
    Data = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CoreQueue:
    """A queue discipline.

    Attributes:
        discipline: its name.
        parameters: those that are set; the others have their defaults.
        classes: of a scheduler.
    """

    discipline: str
    parameters: Values
    classes: tuple[Class, ...] = ()

    def complete(self) -> dict[str, ParameterValue]:
        """Return every parameter, with defaults where none is set."""
        return algorithm_of(Shape(self.discipline, self.classes)).complete(self.parameters)

    def words(self) -> dict[str, object]:
        """Return what it is in the core's words, without its parameters."""
        classes = {"classes": classes_to_core(self.classes)} if self.classes else {}
        return {"discipline": self.discipline, **classes}


@dataclass(frozen=True, slots=True)
class CoreSender:
    """A sender.

    Attributes:
        congestion_control: its name.
        parameters: those that are set; the others have their defaults.
    """

    congestion_control: str
    parameters: Values

    def complete(self) -> dict[str, ParameterValue]:
        """Return every parameter, with defaults where none is set."""
        return algorithms.sender(self.congestion_control).complete(self.parameters)


@dataclass(frozen=True)
class CoreLink:
    """A link and the queue in front of it.

    Attributes:
        name: its name.
        rate_bit_per_s: its rate; where it varies, the mean, which disciplines are told.
        delay_ns: one way, after the queue.
        queue: the discipline.
        loss: how its wire loses packets; ``None`` if it loses none.
        air: jitter, reordering and aggregation behind it.
        rate_schedule: rates that follow a schedule.
        trace: recorded delivery opportunities.
        books: how much is written down: ``full``, ``counters`` or ``none``.
        line: a kind of access whose rate is drawn from the seed.
        rate_control: a law that sets its rate.
    """

    name: str
    rate_bit_per_s: int
    delay_ns: int
    queue: CoreQueue
    loss: Data | None = None
    rate_schedule: Data | None = None
    trace: Data | None = None
    books: str = "full"
    line: Data | None = None
    rate_control: Data | None = None
    air: Data | None = None

    @property
    def limit(self) -> ParameterValue:
        """Limit of its queue, in the unit of the discipline's table.

        ``None`` where the discipline has no such parameter, or decides it by itself.
        """
        return self.queue.complete().get("limit")

    @property
    def varies(self) -> bool:
        """True if its rate follows a time table."""
        ways = (self.rate_schedule, self.trace, self.line)
        return any(way is not None for way in ways)

    def with_parameters(self, values: Values) -> CoreLink:
        """The same link with other values of some parameters of its queue."""
        queue = replace(self.queue, parameters={**self.queue.parameters, **values})
        return replace(self, queue=queue)

    def text_with(self, values: Values) -> str:
        """Return the ``text`` of :meth:`with_parameters` with the same values."""
        before, after = self._around
        return before + encoded({**self.queue.parameters, **values}) + after

    @cached_property
    def text(self) -> str:
        """The link in the core's JSON."""
        return self.text_with({})

    @cached_property
    def _around(self) -> tuple[str, str]:
        """The text before and after the parameters of the queue."""
        rates: dict[str, object] = {"rate_bit_per_s": self.rate_bit_per_s}
        if self.rate_schedule is not None:
            rates["rate_schedule"] = self.rate_schedule
        if self.trace is not None:
            rates["trace"] = self.trace
        if self.line is not None:
            rates["line"] = self.line
        if self.rate_control is not None:
            rates["rate_control"] = self.rate_control
        before = members({"name": self.name, **rates, "delay_ns": self.delay_ns})
        queue = members(self.queue.words())
        books = {} if self.books == "full" else {"books": self.books}
        air = {} if self.air is None else {"air": self.air}
        after = members({"loss": self.loss, **air, **books})
        return f'{{{before}, "queue": {{{queue}, "parameters": ', f"}}, {after}}}"

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CoreLink:
        """Read it from the core's JSON.

        Raises:
            TypeError: it has other members.
        """
        rest = dict(data)
        queue = dict(rest.pop("queue"))
        classes = classes_from_data(queue.pop("classes", ()))
        return cls(queue=CoreQueue(**queue, classes=classes), **rest)


@dataclass(frozen=True)
class CoreFlowGroup:
    """Flows that are alike.

    Attributes:
        name: of the group.
        count: of its flows.
        path: the links that data crosses, in order.
        return_path: the links that acknowledgements cross, in order.
        rtt_ns: round trips without queueing and transmission.
        access_rate_bit_per_s: of each flow's own links; ``None`` if access takes no time but delay.
        sender: ``None`` for open-loop traffic.
        packet_size_bytes: of a data packet, headers included.
        header_size_bytes: the part of it that is no goodput.
        ack_size_bytes: of an acknowledgement.
        colour: the drop precedence of its packets.
        dscp: their differentiated services codepoint.
        source_host: that sends its data; ``None`` for one of its own.
        destination_host: that receives its data; ``None`` for one of its own.
        traffic: what it sends: a ``kind``, and what belongs to it.
        start_ns: the range over which starts are uniform.
        stop_ns: the range over which stops are uniform; ``None`` for never.
    """

    name: str
    count: int
    path: tuple[str, ...]
    return_path: tuple[str, ...]
    rtt_ns: CoreRoundTrips
    access_rate_bit_per_s: int | None
    sender: CoreSender | None
    packet_size_bytes: int
    header_size_bytes: int
    ack_size_bytes: int
    colour: str
    traffic: Data
    start_ns: tuple[int, int]
    stop_ns: tuple[int, int] | None
    dscp: int = 0
    source_host: str | None = None
    destination_host: str | None = None

    @property
    def mean_rtt_ns(self) -> float:
        """About the mean of its round trips; see :func:`.core_round_trips.mean_ns`."""
        return mean_ns(self.rtt_ns)

    @property
    def longest_rtt_ns(self) -> int:
        """The longest round trip that one of its flows can have."""
        return longest_ns(self.rtt_ns)

    @property
    def understands_marks(self) -> bool:
        """True if its sender negotiates ECN; open-loop traffic has none."""
        return self.sender is not None and bool(self.sender.complete().get("ecn"))

    def crosses(self, link: str) -> bool:
        """Return whether its data or its acknowledgements cross a link."""
        return link in self.path or link in self.return_path

    def share_of(self, begin_ns: int, end_ns: int) -> float:
        """The part of a time in which its flows are there, on average: 0 to 1."""
        start = sum(self.start_ns) / 2.0
        stop = end_ns if self.stop_ns is None else sum(self.stop_ns) / 2.0
        there = min(stop, end_ns) - max(start, begin_ns)
        return max(0.0, there) / max(1.0, end_ns - begin_ns)

    def with_parameters(self, values: Values) -> CoreFlowGroup:
        """The same group with other values of some parameters of its sender.

        Raises:
            ValueError: it has none.
        """
        if self.sender is None:
            message = f"flows {self.name} have no sender"
            raise ValueError(message)
        sender = CoreSender(self.sender.congestion_control, {**self.sender.parameters, **values})
        return replace(self, sender=sender)

    def text_with(self, values: Values) -> str:
        """Return the ``text`` of :meth:`with_parameters` with the same values."""
        before, after = self._around
        if self.sender is None:
            return before + after
        return before + encoded({**self.sender.parameters, **values}) + after

    @cached_property
    def text(self) -> str:
        """The group in the core's JSON."""
        return self.text_with({})

    @cached_property
    def _around(self) -> tuple[str, str]:
        """The text before and after the parameters of the sender."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data["rtt_ns"] = to_data(self.rtt_ns)
        for each in fields(self):  # what says nothing is left out, as before there were such keys
            if each.name in _LATER and data[each.name] == each.default:
                del data[each.name]
        names = [*data]
        place = names.index("sender")
        before = members({name: data[name] for name in names[:place]})
        after = members({name: data[name] for name in names[place + 1 :]})
        if self.sender is None:
            return f'{{{before}, "sender": null', f", {after}}}"
        sender = members({"congestion_control": self.sender.congestion_control})
        return f'{{{before}, "sender": {{{sender}, "parameters": ', f"}}, {after}}}"

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CoreFlowGroup:
        """Read it from the core's JSON.

        Raises:
            TypeError: it has other members.
        """
        rest = dict(data)
        sender = rest.pop("sender", None)
        for key in ("path", "return_path", "start_ns", "stop_ns"):
            if isinstance(rest.get(key), list):
                rest[key] = tuple(rest[key])
        return cls(
            sender=None if sender is None else CoreSender(**sender),
            rtt_ns=from_data(rest.pop("rtt_ns")),
            **rest,
        )


@dataclass(frozen=True, slots=True)
class CoreChange:
    """Something about a link that changes at a time; ``None`` stays as it is.

    Attributes:
        at_ns: when.
        link: whose.
        rate_bit_per_s: the new rate.
        delay_ns: the new propagation delay.
        queue: parameters of the queue that change.
        loss: how the wire loses packets from now on.
    """

    at_ns: int
    link: str
    rate_bit_per_s: int | None = None
    delay_ns: int | None = None
    queue: Values | None = None
    loss: Data | None = None
