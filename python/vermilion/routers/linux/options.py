"""Options of a queue as the kernel says and takes them, and the units of its times.

A file of this package for each kind, with a line in :data:`vermilion.routers.linux.kinds.KINDS`:
bytes to typed options and back, the *canonical form* (what the kernel will say back), and what they
mean as parameters of Vermilion's discipline. Every option may be absent, which is not zero: kernels
differ in what they say. A request holds only what is to be changed, where the kind allows that.

Times are told in microseconds and rounded:

- CoDel counts in units of 1024 ns (include/net/codel.h, ``CODEL_SHIFT``).
- PIE's target is in scheduler ticks of 64 ns (include/net/pkt_sched.h, ``PSCHED_SHIFT``).
- PIE's update interval is in ticks of the timer, rounded up; ``CONFIG_HZ`` was fixed when the
  kernel was built, and no call tells it.

What the kernel says, told again, may become less still (5000 us are said back as 4999, and those as
4998), so each unit has a way back: the number to tell for the kernel to say this one again.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from vermilion.routers.base import ParameterValue
from vermilion.routers.linux.message import (
    OPTIONS,
    AnswerError,
    Attribute,
    attribute_bytes,
    number_of,
    parse_attributes,
    u32_bytes,
)
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

TIMER_RATES_HZ: Final = (100, 250, 300, 1000, 128, 200, 256, 500, 512, 1024, 48, 24, 64)
"""Timer ticks a second that kernels are built with, the usual ones first."""

_CODEL_SHIFT: Final = 10
_TICK_SHIFT: Final = 6
_NS_PER_US: Final = 1000
_US_PER_S: Final = 1_000_000
_U32: Final = 2**32 - 1
_NEVER: Final = 0x7FFF_FFFF
"""``CODEL_DISABLED_THRESHOLD``, in units of 1024 ns."""

CODEL_OFF_US: Final = 2_199_023_255
"""The one number of microseconds that turns a CE threshold off again: it becomes ``_NEVER``."""


def codel_said_back(told_us: int) -> int | None:
    """Time that CoDel says back for one in microseconds; ``None`` for the threshold that is off."""
    units = (told_us * _NS_PER_US >> _CODEL_SHIFT) & _U32
    if units == _NEVER:
        return None
    return (units << _CODEL_SHIFT) // _NS_PER_US & _U32


def codel_to_tell(said_us: int) -> int:
    """The least number of microseconds for which CoDel says this back."""
    return _minimum(said_us, codel_said_back)


def target_said_back(told_us: int) -> int:
    """Target that PIE says back for one in microseconds; above 4.29 s the kernel says it wrong."""
    ticks = told_us * _NS_PER_US >> _TICK_SHIFT
    return (ticks << _TICK_SHIFT & _U32) // _NS_PER_US


def target_to_tell(said_us: int) -> int:
    """The least number of microseconds for which PIE says this target back."""
    return _minimum(said_us, target_said_back)


def interval_said_back(told_us: int, timer_hz: int) -> int:
    """Update interval that PIE says back, by the timer's ticks a second."""
    ticks = -(-told_us * timer_hz // _US_PER_S)
    return ticks * _US_PER_S // timer_hz


def _minimum(said_us: int, said_back: Callable[[int], int | None]) -> int:
    for told in (said_us, said_us + 1, said_us + 2):
        if said_back(told) == said_us:
            return told
    return said_us


Parameters = dict[str, ParameterValue]
"""By their names in the parameter table of Vermilion's discipline, in the table's units."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Facts about the place of a queue.

    Attributes:
        maximum_packet_bytes: of a packet with its link header; ``None`` where it is not known.
        shaped: whether a shaper (htb, tbf...) is above the queue.
        rate_bit_per_s: of the link, if the operator has said it.
    """

    maximum_packet_bytes: int | None = None
    shaped: bool = False
    rate_bit_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a change for the traffic at the moment it is made.

    Attributes:
        packets: that wait now and would be dropped by the change itself.
        forgets: what the queue forgets, in words; ``None`` for nothing.
    """

    packets: int = 0
    forgets: str | None = None

    def words(self) -> str:
        """Format as one sentence."""
        parts = []
        if self.packets:
            plural = "s" if self.packets > 1 else ""
            parts.append(f"drops {self.packets} waiting packet{plural}")
        if self.forgets:
            parts.append(f"forgets {self.forgets}")
        return f"The change {' and '.join(parts)}." if parts else "The change costs no packet."


@dataclass(frozen=True, kw_only=True)
class QueueOptions(ABC):
    """The options of one queue, or those of a request.

    Attributes:
        kind: the kernel's word, like "fq_codel".
        discipline: Vermilion's discipline that behaves so; ``None`` for a kind that is only read.
        settable: names of its parameters that can be changed.
        attribute: the type of the attribute that the options come in.
        moved: parameters that the kernel moves by itself, each with the switch that makes it.
        container: whether it passes packets on to queues below it.
        marks: names of the counters that count packets marked (ECN); ``None``: it is not known.
        counter_names: those that come as numbers of 32 bits, in their order.
        unknown: attributes that this version of Vermilion does not know.
    """

    kind: ClassVar[str]
    discipline: ClassVar[str | None] = None
    settable: ClassVar[Sequence[str]] = ()
    moved: ClassVar[Mapping[str, str]] = {}
    attribute: ClassVar[int] = OPTIONS
    container: ClassVar[bool] = False
    marks: ClassVar[Sequence[str] | None] = ()
    counter_names: ClassVar[Sequence[str]] = ()

    unknown: tuple[Attribute, ...] = field(default=(), compare=False)

    @classmethod
    @abstractmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said.

        Raises:
            AnswerError: they are not what the kernel is documented to say.
        """

    def encode(self) -> bytes:
        """The payload of the attribute that tells them to the kernel."""
        message = f"options of {self.kind} are only read"
        raise NotImplementedError(message)

    def words(self) -> str:
        """The settings in plain words; empty where there are none."""
        return ""

    def numbers(self) -> dict[str, Any]:
        """Options that the kernel has said, for a machine."""
        own = {
            each.name: getattr(self, each.name) for each in fields(self) if each.name != "unknown"
        }
        return {name: value for name, value in own.items() if value is not None}

    @classmethod
    def counters(cls, told: bytes) -> dict[str, int]:
        """The kind's own counters, from its part of the statistics.

        Raises:
            AnswerError: they are cut off.
        """
        return u32_counters(told, cls.counter_names, cls.kind) if cls.counter_names else {}

    def marked(self, counters: Mapping[str, int]) -> int | None:
        """Packets marked so far; ``None`` where that is not known."""
        if self.marks is None:
            return None
        return sum(counters.get(name, 0) for name in self.marks)

    def parameters(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - for those below
        """Parameters of Vermilion's discipline; what the kernel does not say is absent."""
        return {}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:  # noqa: ARG002 - for those that override it
        """Request that puts parameters in force; ``None`` if they are already.

        Raises:
            FieldError: a value that the kernel does not have.
        """
        for name, value in changes.items():
            raise FieldError(name, value, f"nothing: {self.kind} is only read")
        return None

    def restoring(self, changed: Self) -> Self:
        """Request that puts these options back after a change."""
        raise NotImplementedError(changed.kind)

    def after(self, request: Self, timer_hz: int) -> Self:
        """The canonical form: what the kernel says after it has obeyed a request.

        Args:
            request: to a queue that has these options now.
            timer_hz: ticks of the kernel's timer a second.
        """
        raise NotImplementedError(request.kind, timer_hz)

    def differences(self, expected: Self) -> list[str]:
        """Differences of the kernel's options from those expected, in words."""
        own, other = self.numbers(), expected.numbers()
        return [
            f"{name} is {own.get(name, 'absent')}, expected {other.get(name, 'absent')}"
            for name in {**own, **other}
            if own.get(name) != other.get(name)
        ]

    def price(self, request: Self, waiting: int) -> Price:  # noqa: ARG002 - for those below
        """Price of a request while so many packets wait."""
        return Price()


@dataclass(frozen=True, slots=True)
class Encoding:
    """Encoding of a parameter's values as an option's numbers.

    Attributes:
        told: the number for a value; ``None``: the option is to be off.
        meant: the value of a number that the kernel has said.
        said_back: the number that the kernel says when it was told one; ``None`` for none.
        to_tell: the number to tell for the kernel to say this one.
        off: the number that removes the option; ``None``: not possible.
    """

    told: Callable[[str, ParameterValue], int | None]
    meant: Callable[[int], ParameterValue]
    said_back: Callable[[int, int], int | None] = lambda told, _: told
    to_tell: Callable[[int], int] = lambda said: said
    off: int | None = None


@dataclass(frozen=True, slots=True)
class SentNumber:
    """One option: its attribute, and the parameter that it is; "" for none."""

    number: int
    parameter: str
    encoding: Encoding


def whole(name: str, value: ParameterValue) -> int:
    """A whole number, from a parameter."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != round(value):
        raise FieldError(name, value, "a whole number")
    return round(value)


COUNT: Final = Encoding(whole, lambda said: said)
SWITCH: Final = Encoding(lambda _, value: int(bool(value)), bool)


def sent(number: int, parameter: str = "", encoding: Encoding = COUNT) -> dict[str, SentNumber]:
    """Metadata of a field of :class:`NumberOptions`."""
    return {"sent": SentNumber(number, parameter, encoding)}


@cache
def _sent_numbers(form: type[NumberOptions]) -> Mapping[str, SentNumber]:
    return {each.name: each.metadata["sent"] for each in fields(form) if "sent" in each.metadata}


@dataclass(frozen=True, kw_only=True)
class NumberOptions(QueueOptions):
    """Options that are one attribute of 32 bits each, all of which may be left away.

    The fields have :func:`sent` as their metadata and the order in which tc writes them.

    Attributes:
        usual: parameters that the kernel has where it says nothing of them.
    """

    usual: ClassVar[Parameters] = {}

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The options that the kernel has said."""
        names = {each.number: name for name, each in _sent_numbers(cls).items()}
        known: dict[str, Any] = {}
        unknown = []
        for attribute in parse_attributes(payload, cls.kind):
            name = names.get(attribute.type)
            if name is None:
                unknown.append(attribute)
            else:
                known[name] = number_of(attribute.payload, f"{cls.kind} {name}")
        return cls(**known, unknown=tuple(unknown))

    def encode(self) -> bytes:
        """Encode the attributes in order."""
        told = b"".join(
            u32_bytes(each.number, value)
            for name, each in _sent_numbers(type(self)).items()
            if (value := getattr(self, name)) is not None
        )
        return told + b"".join(attribute_bytes(each.type, each.payload) for each in self.unknown)

    def fixed(self, around: Surroundings) -> Parameters:  # noqa: ARG002 - for those below
        """Parameters that the kernel, or the interface, decides."""
        return {}

    def refused(self, around: Surroundings) -> Iterator[tuple[Parameters, str]]:  # noqa: ARG002 - for those below
        """Values that cannot be changed, with the reason."""
        yield from ()

    def parameters(self, around: Surroundings) -> Parameters:
        """Parameters of Vermilion's discipline."""
        own = self.numbers()
        found = {
            each.parameter: each.encoding.meant(own[name])
            for name, each in _sent_numbers(type(self)).items()
            if each.parameter and name in own
        }
        return {**self.usual, **found, **self.fixed(around)}

    def request(self, changes: Parameters, around: Surroundings) -> Self | None:
        """The options that have to be told."""
        for values, why in self.refused(around):
            changes = refuse_fixed(changes, values, why)
        own = {each.parameter: (name, each) for name, each in _sent_numbers(type(self)).items()}
        wanted: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in own:
                raise FieldError(name, value, "nothing: the kernel has no such option")
            option, known = own[name]
            told, said = known.encoding.told(name, value), getattr(self, option)
            if told is None:
                if said is not None:
                    wanted[option] = known.encoding.off
            elif said is None or not _is_in_force(known.encoding, told, said):
                wanted[option] = told
        return type(self)(**wanted) if wanted else None

    def after(self, request: Self, timer_hz: int) -> Self:
        """The request, rounded as the kernel does, over the present options."""
        told: dict[str, Any] = {
            name: each.encoding.said_back(value, timer_hz)
            for name, each in _sent_numbers(type(self)).items()
            if (value := getattr(request, name)) is not None
        }
        return replace(self, **told)

    def restoring(self, changed: Self) -> Self:
        """Options that the change has touched, as they were."""
        back: dict[str, Any] = {}
        for name, each in _sent_numbers(type(self)).items():
            if getattr(changed, name) is not None:
                said = getattr(self, name)
                back[name] = each.encoding.off if said is None else each.encoding.to_tell(said)
        return type(self)(**back)

    def price(self, request: Self, waiting: int) -> Price:
        """A lower limit drops what it has no room for."""
        limit = getattr(request, "limit", None)
        return Price() if limit is None else Price(packets=max(waiting - limit, 0))


def _is_in_force(encoding: Encoding, told: int, said: int) -> bool:
    """Return whether telling a value would certainly change nothing.

    How fast the timer ticks is not known: where it matters, all that are usual have to agree.
    """
    if told == encoding.to_tell(said):
        return True
    return all(encoding.said_back(told, hz) == said for hz in TIMER_RATES_HZ)


def packet_size(around: Surroundings) -> Parameters:
    """The largest packet, which the kernel takes from the interface; empty if it is not known."""
    known = around.maximum_packet_bytes
    return {} if known is None else {"maximum_packet_size": known}


def u32_counters(told: bytes, names: Sequence[str], what: str) -> dict[str, int]:
    """Numbers of 32 bits one after another; older kernels have fewer, newer ones more.

    Raises:
        AnswerError: the last is cut off.
    """
    if len(told) % 4:
        whose, wrong = f"statistics of {what}", f"{len(told)} bytes, which is no multiple of 4"
        raise AnswerError(whose, wrong)
    count = min(len(told) // 4, len(names))
    return dict(zip(names, struct.unpack_from(f"={count}I", told), strict=False))


def microseconds(name: str, value: ParameterValue) -> int:
    """A parameter that is a time in seconds, in whole microseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(name, value, "a time in seconds")
    return round(1e6 * value)


def number(name: str, value: ParameterValue) -> float:
    """A parameter that is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError(name, value, "a number: this kernel has no rule of its own for it")
    return float(value)


def refuse_fixed(changes: Parameters, fixed: Mapping[str, ParameterValue], why: str) -> Parameters:
    """The changes without those parameters that the kernel has fixed to the value wanted.

    Raises:
        FieldError: another value is wanted, or one that cannot be compared.
    """
    for name, value in fixed.items():
        if name in changes and changes[name] != value:
            shown = str(value).lower() if isinstance(value, bool) else f"{value}"
            raise FieldError(name, changes[name], f"{shown}: {why}")
    return {name: value for name, value in changes.items() if name not in fixed}
