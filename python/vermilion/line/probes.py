"""Probes of a line: when to send which, what their answers say, whom not to ask any more. Pure.

ICMP echo (RFC 792) gives round trips; ICMP timestamps give either direction alone, to a millisecond
and but for the difference of two clocks, which a minimum over time removes. A reflector is asked
for both first. A server of IRTT gives both at once, on clocks that do not jump. Times are
nanoseconds of one clock that never goes back.
"""

from __future__ import annotations

import ipaddress
import math
import struct
from collections import deque
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Final, Literal

from vermilion.line import irtt

if TYPE_CHECKING:
    from collections.abc import Sequence

REFLECTORS: Final = (
    *("1.1.1.1", "8.8.8.8", "9.9.9.9", "208.67.222.222", "94.140.14.14", "1.0.0.1"),
    *("8.8.4.4", "9.9.9.10", "208.67.220.220", "94.140.15.15", "149.112.112.10", "64.6.64.6"),
)
"""Public resolvers that many people ask already."""

Kind = Literal["echo", "timestamp", "irtt"]

_ECHO, _ECHO_REPLY, _STAMP, _STAMP_REPLY = 8, 0, 13, 14
_HEADER: Final = struct.Struct("!BBHHH")
_STAMPS: Final = struct.Struct("!III")
_PADDING: Final = b"vermilion line.."
_DAY_MS: Final = 86_400_000
_MS: Final = 1_000_000
SECOND: Final = 1_000_000_000
PROBE_BYTES: Final = 60
"""Bytes of one probe on the line, about."""

_INTERVAL: Final = 50 * _MS
_IDLE_INTERVAL: Final = 250 * _MS
_BUDGET: Final = 0.02
_ASKED_AT_ONCE: Final = 6
_TRIALS: Final = 4
_GIVEN_UP: Final = 1500 * _MS
_OVERTAKEN: Final = 15 * _MS
_DEAD_AFTER: Final = 3
_CHANCE: Final = 1e-4
_LOSS_WEIGHT: Final = 0.02
_FALLS: Final = 2 * _MS
_BASE_SPAN: Final = 30 * SECOND
_KEPT: Final = 40
_ENOUGH: Final = 20
_CLEAR_WAIT: Final = 20 * _MS
_OWN_TROUBLE: Final = 15 * _MS
_STRANGE: Final = 3
_SUSPECTED_S: Final = 5
_AGAIN_AFTER: Final = 600 * SECOND
_CLOCK_JUMP: Final = 60 * SECOND
_RESTARTED: Final = 2 * SECOND
"""More than delays of answers that count can differ by: the server's clock is another one."""

_ICMP, _UDP = 1, 17


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    words = struct.unpack(f"!{len(data) // 2}H", data)
    total = int(sum(words))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF ^ (total + (total >> 16) & 0xFFFF)


def request(kind: Kind, identifier: int, sequence: int, wall_ns: int) -> bytes:
    """Return an ICMP message that asks for an answer.

    Args:
        kind: for an echo, or for times.
        identifier: tells this process's probes from others.
        sequence: of the probe.
        wall_ns: the wall clock.
    """
    number, body = _ECHO, _PADDING
    if kind == "timestamp":
        number, body = _STAMP, _STAMPS.pack(wall_ns // _MS % _DAY_MS, 0, 0)
    text = _HEADER.pack(number, 0, 0, identifier, sequence) + body
    return text[:2] + struct.pack("!H", checksum(text)) + text[4:]


@dataclass(frozen=True, slots=True)
class Heard:
    """A probe or an answer that was seen on the wire.

    Attributes:
        sequence: of the probe.
        is_answer: whether it comes back.
        kind: of the probe.
        source: address of the sender.
        stamps: when it came to the reflector, and when it left there, in nanoseconds of the day.
        message: what a server of IRTT says.
    """

    sequence: int
    is_answer: bool
    kind: Kind
    source: str
    stamps: tuple[int, int] | None = None
    message: irtt.Message | None = None


def parse_packet(packet: bytes, identifier: int, port: int = 0) -> Heard | None:
    """Return the probe or answer in an IPv4 packet; ``None``: it is none of ours.

    Args:
        packet: from its IPv4 header on.
        identifier: of ICMP.
        port: of IRTT, here.
    """
    if len(packet) < 28 or packet[0] >> 4 != 4:  # noqa: PLR2004 - as RFC 791 has it
        return None
    body, source = packet[4 * (packet[0] & 15) :], packet[12:16]
    if packet[9] == _ICMP:
        return parse_icmp(body, identifier, source)
    if packet[9] != _UDP or len(body) < _HEADER.size:
        return None
    sender, receiver = struct.unpack_from("!HH", body)
    heard = parse_irtt(body[_HEADER.size :], source, sender)
    return heard if heard and (receiver if heard.is_answer else sender) == port else None


def parse_irtt(payload: bytes, source: bytes, port: int) -> Heard | None:
    """Return the echo, or what a server says, in a datagram of IRTT."""
    message = irtt.parse(payload)
    if message is None or not (message.is_reply or message.is_echo):
        return None
    address = f"{irtt.SCHEME}{ipaddress.IPv4Address(source)}:{port}"
    return Heard(message.sequence & 0xFFFF, message.is_reply, "irtt", address, message=message)


def parse_icmp(message: bytes, identifier: int, source: bytes) -> Heard | None:
    """Return the probe or answer in an ICMP message; ``None``: it is none of ours."""
    if len(message) < _HEADER.size:
        return None
    number, _, _, own, sequence = _HEADER.unpack_from(message)
    if own != identifier or number not in {_ECHO, _ECHO_REPLY, _STAMP, _STAMP_REPLY}:
        return None
    kind: Kind = "echo" if number in {_ECHO, _ECHO_REPLY} else "timestamp"
    stamps = None
    if number == _STAMP_REPLY and len(message) >= _HEADER.size + _STAMPS.size:
        _, came, went = _STAMPS.unpack_from(message, _HEADER.size)
        if came < _DAY_MS and went < _DAY_MS:  # else the reflector has no clock of that kind
            stamps = came * _MS, went * _MS
    address = str(ipaddress.IPv4Address(source))
    return Heard(sequence, number in {_ECHO_REPLY, _STAMP_REPLY}, kind, address, stamps)


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe to be sent now.

    Attributes:
        sequence: of it.
        address: of the reflector.
        kind: of it.
        payload: for a server of IRTT.
    """

    sequence: int
    address: str
    kind: Kind
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that makes sense.

    Attributes:
        reflector: number of the reflector and the kind of the probe.
        sent: when the probe left the interface.
        received: when the answer came to it.
        up: delay there, but for the difference of the clocks; ``None``: not known.
        down: delay back, likewise.
        wait: delay of the round trip above its least of the last half minute.
        here: the part of the delay before it left the interface.
    """

    reflector: int
    sent: int
    received: int
    up: int | None
    down: int | None
    wait: int
    here: int


@dataclass(slots=True)
class _Base:
    """Least of the last half minute to minute."""

    since: int = 0
    now: int | None = None
    before: int | None = None

    def take(self, at: int, value: int) -> int:
        if self.now is None or at - self.since > _BASE_SPAN:
            self.since, self.before, self.now = at, self.now, value
        self.now = min(self.now, value)
        return self.now if self.before is None else min(self.now, self.before)


@dataclass(slots=True)
class _Reflector:
    address: str
    kind: Kind | None = None
    sent: int = 0
    unanswered: int = 0
    answered_kinds: set[Kind] = field(default_factory=set)
    strange: int = 0
    suspected: int = 0
    waits: deque[int] = field(default_factory=lambda: deque(maxlen=_KEPT))
    base: _Base = field(default_factory=_Base)
    offset: int | None = None
    first: int | None = None
    dropped_at: int | None = None
    session: irtt.Session | None = None
    clocks: int = 0

    def __post_init__(self) -> None:
        if self.address.startswith(irtt.SCHEME):
            self.kind, self.session = "irtt", irtt.Session()

    def silence(self) -> str:
        """Return what its silence means."""
        if self.session is None or self.session.has_opened:
            return "does not answer"
        return "opens no session: no IRTT server is there, or it wants a key (not supported)"

    def one_way(self, up: int, down: int) -> tuple[int | None, int | None]:
        """Return delays there and back, but for the difference of the clocks; it does not jump."""
        up, down = _of_day(up), _of_day(down)
        jump = _CLOCK_JUMP if self.session is None else _RESTARTED
        if self.offset is not None and abs(up - self.offset) > jump:
            self.strange += 1
            if self.session is None:
                return None, None
            self.clocks += 1  # it has another one from now on
        self.offset = up
        return up, down

    def is_ready(self, now: int) -> bool:
        return self.session is None or self.session.is_ready(now)

    def next_kind(self) -> Kind:
        if self.kind is None and self.sent >= _TRIALS:
            self.kind = "timestamp" if "timestamp" in self.answered_kinds else "echo"
        return self.kind or ("timestamp" if self.sent % 2 else "echo")


@dataclass(slots=True)
class _Outstanding:
    reflector: int
    kind: Kind
    handed: int
    left: int | None = None
    given_up: bool = False


class Prober:
    """State of all probes and reflectors.

    Args:
        reflectors: addresses to ask, the first of them at once, the others in their place.
        hears_departures: whether it is seen when a probe leaves the interface. Else it is taken to
            leave when it is handed over.
    """

    def __init__(self, reflectors: Sequence[str], *, hears_departures: bool = True) -> None:
        self._all = [_Reflector(each) for each in reflectors]
        self._out: dict[int, _Outstanding] = {}
        self._late: dict[int, int] = {}  # reflectors of probes given up: an outage ends at last
        self._sequence = 0
        self._turn = 0
        self._next = 0
        self._hears = hears_departures
        self._last_busy: int | None = None
        self._loss = 0.0
        self.interval = _INTERVAL
        self.last_answer: int | None = None
        self.base_fell = self.trip = 0
        self._newest = (0, 0)  # when the latest probe that was answered had left, and its wait
        self.sent = self.answered = 0
        self.said: list[str] = []
        self.letters: list[tuple[str, bytes]] = []
        """Further packets for servers of IRTT. Whoever sends them takes them out."""

    @property
    def next(self) -> int:
        """When the next probe is due."""
        return self._next

    @property
    def asked(self) -> list[str]:
        """Addresses of the reflectors that are asked now."""
        return [self._all[each].address for each in self._active()]

    def pace(self, now: int, rate_bit_per_s: float, *, busy: bool) -> None:
        """Set the interval: seldom on an idle line, and never more than 2 % of the rate."""
        if busy or self._last_busy is None:
            self._last_busy = now
        idle = now - self._last_busy > 10 * SECOND
        least = 8 * PROBE_BYTES * SECOND / (_BUDGET * max(rate_bit_per_s, 1.0))
        self.interval = max(_IDLE_INTERVAL if idle else _INTERVAL, round(min(least, SECOND)))
        self._next = min(self._next, now + self.interval)

    def due(self, now: int) -> Probe | None:
        """Return the probe to be sent now; ``None``: none yet."""
        if now < self._next:
            return None
        self._next = max(self._next + self.interval, now + self.interval // 2)
        active = [n for n in self._active() if self._all[n].is_ready(now)]
        if not active:
            return None
        self._turn += 1
        index = active[self._turn % len(active)]
        own = self._all[index]
        if own.session is not None and own.session.wants_opening(now, own.unanswered):
            self._open(own, own.session, now)
            return None
        kind = own.next_kind()
        own.sent += 1
        self.sent += 1
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._late.pop(self._sequence, None)
        left = None if self._hears else now
        self._out[self._sequence] = _Outstanding(index, kind, now, left)
        payload = own.session.echo(self._sequence, now) if own.session is not None else b""
        return Probe(self._sequence, own.address, kind, payload)

    def _open(self, own: _Reflector, session: irtt.Session, now: int) -> None:
        own.unanswered += session.is_opening
        if own.unanswered == _DEAD_AFTER and not session.has_opened and self.last_answer is None:
            self.said.append(f"{own.address} {own.silence()}")  # it is not dropped: nobody answers
        self.letters.append((own.address, session.open(now)))

    def close(self) -> None:
        """End all sessions."""
        for each in self._all:
            self._end(each)

    def _end(self, own: _Reflector) -> None:
        if own.session is not None and own.session.token is not None:
            self.letters.append((own.address, irtt.end(own.session.token)))
            own.session.token = None

    def _of_session(self, heard: Heard, message: irtt.Message, now: int) -> Heard | None:
        """Return the answer to an echo with the server's times; ``None``: it is something else."""
        own = next((each for each in self._all if each.address == heard.source), None)
        if own is None or own.session is None:
            return None
        if message.is_opening:
            token, why = own.session.opened(message)
            if token is not None:
                self.letters.append((own.address, irtt.end(token)))
            if why or message.token == own.session.token:
                own.unanswered = 0
            if why:
                self._drop(own, why, now)
            return None
        if not own.session.knows(message):
            return None  # who does not know the token cannot speak for the server
        times = own.session.times(message)
        own.session.answered(message)
        return replace(heard, stamps=times)

    def _drop(self, own: _Reflector, why: str, now: int) -> None:
        if own.dropped_at is None:  # else it is asked since there is nobody else
            self.said.append(f"{own.address} {why}, and is not asked any more")
        own.dropped_at = now
        self._end(own)

    def left(self, heard: Heard, at: int) -> int | None:
        """Take in that a probe left the interface; when, or ``None`` if it is not known."""
        probe = self._out.get(heard.sequence)
        if probe is None or probe.left is not None:
            return None
        probe.left = max(at, probe.handed)
        return probe.left

    def take(self, heard: Heard, at: int, wall_offset: int) -> Answer | None:
        """Take in an answer; ``None`` if it makes no sense.

        Args:
            heard: what came.
            at: when.
            wall_offset: the wall clock less the clock of ``at``.
        """
        if heard.message is not None:
            answer = self._of_session(heard, heard.message, at)
            if answer is None:
                return None
            heard, wall_offset = answer, 0  # neither clock is one of the wall
        probe = self._out.get(heard.sequence)
        own = None if probe is None else self._all[probe.reflector]
        if probe is None or own is None or own.address != heard.source or probe.kind != heard.kind:
            late = self._late.get(heard.sequence)
            for index, each in enumerate(self._all):
                each.strange += each.address == heard.source and index != late
            return None
        del self._out[heard.sequence]
        sent = probe.handed if probe.left is None else probe.left
        trip = at - sent
        if trip <= 0:
            own.strange += 1
            return None
        own.unanswered = 0
        self._loss -= _LOSS_WEIGHT * self._loss
        own.first = at if own.first is None else own.first
        up = down = None
        if heard.stamps is not None:
            came, went = heard.stamps
            up, down = own.one_way(came - sent - wall_offset, at + wall_offset - went)
        if probe.kind == "echo" or up is not None:
            own.answered_kinds.add(probe.kind)
        self.trip = trip
        known = own.base.now
        base = own.base.take(at, trip)
        wait = trip - base
        if known is None or base < known - _FALLS:
            self.base_fell = at
        own.waits.append(wait)
        self._newest = max(self._newest, (sent, wait))
        self.last_answer = at
        self.answered += 1
        number = probe.reflector + own.clocks * len(self._all)
        number = 2 * number + (probe.kind == "timestamp" or (up is not None))
        return Answer(number, sent, at, up, down, wait, sent - probe.handed)

    def expire(self, now: int) -> list[int]:
        """Give up probes that will hardly be answered any more; when those had left.

        That is so once an answer has come to one that left later and had to wait in the same queue:
        only an outage keeps all of them. An answer that comes all the same still counts.
        """
        lost = []
        for sequence, probe in list(self._out.items()):
            since = probe.handed if probe.left is None else probe.left
            own = self._all[probe.reflector]
            if now - since > _GIVEN_UP:
                del self._out[sequence]
                self._late[sequence] = probe.reflector
                own.unanswered += own.session is None or not own.session.is_opening
                self._loss += _LOSS_WEIGHT * (1.0 - self._loss)
            if probe.given_up or probe.left is None:
                continue
            expected = since + (own.base.now or 0) + self._newest[1]
            overtaken = self._newest[0] > since and now > expected + _OVERTAKEN
            if overtaken or now - since > _GIVEN_UP:
                probe.given_up = True
                lost.append(probe.left)
        return lost

    def stuck_here(self, now: int) -> int:
        """Longest time that a probe has waited in one's own shaper up to now."""
        return max(
            (now - each.handed for each in self._out.values() if each.left is None), default=0
        )

    def check_reflectors(self, now: int) -> None:
        """Drop the dead, the lying, the prioritised and those with trouble of their own.

        Nobody is dropped while nobody answers: then it is the line.
        """
        active = self._active()
        fresh = self.last_answer is not None and now - self.last_answer < SECOND
        waits = {n: median(self._all[n].waits) for n in active if self._enough(n, now)}
        # Who is dropped already is asked only since there is nobody else.
        for each in [n for n in active if self._all[n].dropped_at is None]:
            own = self._all[each]
            others = [wait for index, wait in waits.items() if index != each]
            why = ""
            if fresh and own.unanswered >= self._dead_after():
                why = own.silence()
            elif own.strange >= _STRANGE:
                why = "answers what nobody asked"
            elif each in waits and len(others) >= 2:  # noqa: PLR2004 - one other may be wrong itself
                typical = median(others)
                if typical > _CLEAR_WAIT and waits[each] < typical / 4:
                    why = "is answered before everybody else, so that it sees no queue"
                elif waits[each] > typical + _OWN_TROUBLE and typical < _CLEAR_WAIT:
                    why = "waits elsewhere"
                # Not all medians move at once when a queue comes or goes.
                own.suspected = own.suspected + 1 if why else 0
                why = why if own.suspected > _SUSPECTED_S else ""
            if why:
                self._drop(own, why, now)

        for index, own in enumerate(self._all):
            if own.dropped_at is not None and now - own.dropped_at > _AGAIN_AFTER:
                self._all[index] = _Reflector(own.address)

    def _dead_after(self) -> int:
        """Probes without an answer in a row that chance alone does not explain on this line."""
        return max(_DEAD_AFTER, math.ceil(math.log(_CHANCE) / math.log(max(self._loss, 1e-3))))

    def _enough(self, index: int, now: int) -> bool:
        """Return whether a reflector can be judged: a new one may have known a queue alone."""
        own = self._all[index]
        known = own.first is not None and now - own.first > _BASE_SPAN / 3
        return known and len(own.waits) >= _ENOUGH

    def _active(self) -> list[int]:
        usable = [n for n, each in enumerate(self._all) if each.dropped_at is None]
        if not usable:  # better doubtful answers than none
            usable = list(range(len(self._all)))
        return usable[:_ASKED_AT_ONCE]


def _of_day(difference: int) -> int:
    """Return a difference of two times of day, at most half a day."""
    day = _DAY_MS * _MS
    return (difference + day // 2) % day - day // 2
