"""Clock, sockets and shapers of a line: what keeps the rate while the line changes."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Protocol

from vermilion.files.document import document, package_version
from vermilion.line.guardian import Guardian
from vermilion.line.keeper import Keeper, Sight
from vermilion.line.probes import SECOND, Prober
from vermilion.line.sockets import ProbeSockets
from vermilion.monitor.waits import WaitWindow
from vermilion.online.drive.locks import only_controller, only_run
from vermilion.online.entries import Decision, DecisionKind, LineSample, SettingInForce
from vermilion.online.events import Apply, Command, Done, Propose, Refused
from vermilion.online.record.journal import Journal, JournalError, Log
from vermilion.online.sense.sampler import Sample
from vermilion.routers.base import Observation, RouterError
from vermilion.routers.linux.shaper import PARAMETER, rate_command
from vermilion.scenario.quantities import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from vermilion.line.probes import Answer
    from vermilion.monitor.waits import Direction, Finding
    from vermilion.online.policy import AtExit, Mode
    from vermilion.routers.base import Reading
    from vermilion.routers.linux.shaper_rate import LinuxShaper

_TICK: Final = 25_000_000
_BACKLOG: Final = 250_000_000
_CARRIES_BYTES: Final = 5_000
_LOADED: Final = 0.5
_IDLE: Final = 0.2
_MS: Final = 1_000_000
_REFUSED_FOR: Final = 5 * SECOND
_ETHERNET_BITS: Final = 8 * 1514


class Law(Protocol):
    """A law of ``_core.RateLaw``."""

    def probe_sent(self, sent_ns: int, bytes_out: int) -> None:
        """A probe has left the interface."""

    def answered(
        self,
        reflector: int,
        sent_ns: int,
        received_ns: int,
        one_way_ns: int | None = None,
        own_wait_ns: int = 0,
    ) -> None:
        """A probe is answered."""

    def lost(self, sent_ns: int) -> None:
        """A probe is given up."""

    def rate(self, now_ns: int, bytes_out: int) -> float:
        """The rate from now on."""

    def state(self) -> dict[str, Any]:
        """Facts as of the last rate."""


def service_curve(direction: Direction, excess_s: float, start_bit_per_s: float) -> Law:
    """Return the law that is used.

    Args:
        direction: of the packets that are held back.
        excess_s: wait in the line's own queue that is accepted.
        start_bit_per_s: rate found.
    """
    from vermilion import _core

    settings: dict[str, object] = {"direction": direction, "excess": excess_s}
    if start_bit_per_s:
        settings["start"] = start_bit_per_s
    law: Law = _core.RateLaw("service-curve", json.dumps(settings))
    return law


@dataclass(frozen=True, slots=True)
class Wish:
    """Wishes of the operator.

    Attributes:
        excess_s: wait in the line's own queue that is accepted.
        mode: whether anything is changed.
        at_exit: rate at the end: the last safe one, or that of the beginning.
    """

    excess_s: float = 0.010
    mode: Mode = "observe"
    at_exit: AtExit = "keep"


@document(
    "direction router discipline found.bandwidth=found found.command=command rate_bit_per_s?"
    " capacity_bit_per_s? finding finding_in_words=finding.words changes decisions settings"
)
@dataclass(slots=True)
class SideRun:
    """Outcome for one direction.

    Attributes:
        direction: of the packets.
        router: address of the shaper.
        discipline: its kind.
        found: rate at the beginning, bits a second.
        command: that puts it back.
        rate_bit_per_s: mean rate wanted.
        capacity_bit_per_s: of the line, as estimated last.
        finding: where packets waited at the end.
        changes: how often the rate was set.
        decisions: all, in order of time.
        settings: rates in force, likewise.
        unwritten: entries that the journal could not take.
    """

    direction: Direction
    router: str
    discipline: str
    found: float
    command: str
    rate_bit_per_s: float | None
    capacity_bit_per_s: float | None
    finding: Finding
    changes: int
    decisions: tuple[Decision, ...]
    settings: tuple[SettingInForce, ...]
    unwritten: int


@document(
    "version=package_version interface mode=wish.mode at_exit=wish.at_exit excess_s=wish.excess_s"
    " probes.sent=sent probes.answered=answered probes.reflectors=reflectors"
    " probes.said=said cpu_s for_s directions=sides",
    package_version,
)
@dataclass(frozen=True, slots=True)
class LineRun:
    """A line whose rate was kept."""

    interface: str
    wish: Wish
    sent: int
    answered: int
    reflectors: list[str]
    said: list[str]
    cpu_s: float
    for_s: float
    sides: list[SideRun]

    @property
    def is_not_restored(self) -> bool:
        """True where the first rate should have been restored and may not be."""
        return any(
            each.kind == DecisionKind.END and each.details.get("restored") is False
            for side in self.sides
            for each in side.decisions
        )


@dataclass(slots=True)
class Side:
    """One direction of the line while it is kept.

    Attributes:
        direction: of the packets.
        shaper: that holds them back.
        law: that says how fast.
        keeper: that decides.
        log: where it is written down.
        window: where packets wait.
        guardian: that is there when all else dies.
    """

    direction: Direction
    shaper: LinuxShaper
    law: Law
    keeper: Keeper
    log: Log
    window: WaitWindow
    guardian: Guardian | None = None
    bytes: int = 0
    load: float = 0.0
    changes: int = 0
    refused_until: int = 0
    written: float = 0.0
    wanted: list[float] = field(default_factory=list)
    before: Reading | None = None
    identity: tuple[int, int] | None = None
    finding: Finding | None = None
    sight: Sight = field(default_factory=lambda: Sight(0.0, None, 0, 0.0, carries=False))
    backlog_s: float = 0.0

    def take_traffic(self, traffic: tuple[int, int]) -> int:
        """Take in the bytes that have crossed the interface next to the line."""
        self.bytes = traffic[self.direction == "up"]
        return self.bytes


class LineDriver:
    """Loop of one line.

    Attributes:
        commands: what people say.
    """

    def __init__(
        self,
        interface: str,
        sides: Sequence[Side],
        prober: Prober,
        sockets: ProbeSockets,
        on_proposal: Callable[[Propose], object] = lambda _: None,
    ) -> None:
        self.commands: SimpleQueue[Command] = SimpleQueue()
        self._interface = interface
        self._sides = sides
        self._prober = prober
        self._sockets = sockets
        self._on_proposal = on_proposal
        self._began = time.monotonic_ns()
        self._said = 0
        self._past: list[tuple[int, tuple[int, int]]] = []
        self._counted = (0, 0)
        self._is_gone = False

    def now_s(self) -> float:
        """Seconds since the beginning."""
        return (time.monotonic_ns() - self._began) / SECOND

    def run(self, for_s: float | None) -> None:
        """Keep the rates until somebody says stop, or so long."""
        end = None if for_s is None else self._began + round(for_s * SECOND)
        tick = backlog = second = self._began
        for side in self._sides:
            side.take_traffic(self._traffic())
        while True:
            now = time.monotonic_ns()
            if (end is not None and now >= end) or self._commanded():
                return
            probe = self._prober.due(now)
            if probe is not None:
                self._send(probe)
            wake = min(tick, self._prober.next)
            self._hear(max(0, wake - time.monotonic_ns()) / SECOND)
            now = time.monotonic_ns()
            if now >= tick:
                tick = max(tick + _TICK, now + _TICK // 2)
                self._tick(now)
            if now >= backlog:
                backlog = max(backlog + _BACKLOG, now + _BACKLOG // 2)
                self._each_quarter(now)
            if now >= second:
                second = max(second + SECOND, now + SECOND // 2)
                self._each_second(now)

    def _traffic(self) -> tuple[int, int]:
        """Bytes received and sent; what was last known while the interface is gone (PPPoE)."""
        try:
            self._counted = self._sides[0].shaper.traffic(self._interface)
        except RouterError:
            self._is_gone = True
        return self._counted

    def _come_back(self) -> None:
        """Listen again where the interface has come back under another number."""
        try:
            self._sides[0].shaper.traffic(self._interface)
            self._sockets.reopen()
        except RouterError:
            return
        self._is_gone = False
        why = f"{self._interface} has come back"
        self._sides[0].log.keep(Decision(self.now_s(), DecisionKind.RESUMED, why))

    def _send(self, probe: Any) -> None:  # noqa: ANN401 - a Probe
        self._sockets.send(probe)
        if not self._sockets.hears_departures:
            traffic, now = self._traffic(), time.monotonic_ns()
            for side in self._sides:
                side.law.probe_sent(now, side.take_traffic(traffic))

    def _hear(self, seconds: float) -> None:
        events = self._sockets.wait(seconds)
        if not events:
            return
        traffic = self._traffic()
        for side in self._sides:
            side.take_traffic(traffic)
        for event in events:
            if not event.heard.is_answer:
                left = self._prober.left(event.heard, event.at)
                for side in self._sides if left is not None else ():
                    side.law.probe_sent(left or 0, side.bytes)
                continue
            answer = self._prober.take(event.heard, event.at, event.wall_offset)
            for side in self._sides if answer is not None else ():
                self._answered(side, answer)

    def _answered(self, side: Side, answer: Answer | None) -> None:
        """Tell a law of an answer: the delay of its direction, without the wait in the shaper."""
        if answer is None:
            return
        one_way = answer.up if side.direction == "up" else answer.down
        own = 0
        if not self._sockets.hears_departures and side.direction == "up":
            own = self._estimated_wait(side)
        others = [each.load for each in self._sides if each is not side]
        if one_way is None and others and side.load < _LOADED <= max(others):
            own = max(own, answer.wait)  # the other direction is busy, and this one is not
        wait = max(0, answer.wait - own)
        side.law.answered(answer.reflector, answer.sent, answer.received, one_way, own)
        seen = side.law.state().get("wait_behind_s")
        side.window.probe(answer.received / SECOND, wait / SECOND if seen is None else seen)

    def _estimated_wait(self, side: Side) -> int:
        """Wait in one's own shaper where departures are not heard."""
        rate = max(side.keeper.in_force, 1.0)
        fair = side.shaper.configuration.discipline == "cake"
        return round((_ETHERNET_BITS / rate if fair else side.backlog_s) * SECOND)

    def _tick(self, now: int) -> None:
        for sent in self._prober.expire(now):
            for side in self._sides:
                side.law.lost(sent)
        traffic = self._traffic()
        self._past.append((now, traffic))
        while self._past[0][0] < now - SECOND:
            del self._past[0]
        past = self._past[0][1]
        carries = traffic[0] - past[0] > _CARRIES_BYTES
        last = self._prober.last_answer
        unanswered = now - (self._began if last is None else last)
        for side in self._sides:
            wanted = side.law.rate(now, side.take_traffic(traffic))
            side.wanted.append(wanted)
            side.sight = Sight(
                wanted,
                side.law.state().get("capacity_bit_per_s"),
                self._prober.answered,
                unanswered / SECOND,
                carries=carries,
                passed=8.0 * (side.bytes - past[side.direction == "up"]),
                still_s=(now - self._prober.base_fell) / SECOND,
                trip_s=self._prober.trip / SECOND,
            )
            step = side.keeper.step(self.now_s(), side.sight)
            idle = side.sight.passed < _IDLE * (side.sight.capacity or side.keeper.in_force)
            full_second = now - self._past[0][0] > SECOND - 2 * _TICK
            side.window.knows_empty |= side.keeper.has_drained or (full_second and idle)
            for each in step.decisions:
                side.log.keep(each)
            if step.proposal is not None:
                self._propose(side, step.proposal)
            if step.rate is not None and now >= side.refused_until:
                self._set(side, step.rate, now)

    def _propose(self, side: Side, rate: float) -> None:
        number = 1 + self._sides.index(side)
        shown = format_quantity(float(f"{rate:.3g}"), RATE)
        finding = side.window.finding(time.monotonic_ns() / SECOND)
        why = (
            f"keep the rate {side.direction} from now on, beginning with {shown}: {finding.words()}"
        )
        details: dict[str, object] = {"number": number, "parameters": {PARAMETER: rate}}
        side.log.keep(Decision(self.now_s(), DecisionKind.PROPOSED, why, details))
        self._on_proposal(Propose(number, {PARAMETER: rate}, why))

    def _set(self, side: Side, rate: float, now: int) -> None:
        """Set a rate; the first time it is written down before."""
        now_s, number = self.now_s(), 1
        try:
            if not side.changes:
                side.log.intend(now_s, Apply(number, {PARAMETER: rate}))
            side.shaper.set_rate(rate)
        except (JournalError, RouterError) as error:
            side.refused_until = now + _REFUSED_FOR
            side.log.keep(Decision(now_s, DecisionKind.REFUSED, str(error)))
            if not side.changes:
                side.log.answered(now_s, Refused(number, str(error)))
            return
        if not side.changes:
            side.log.answered(now_s, Done(number, {PARAMETER: rate}))
            self._write_setting(side, rate)
        side.changes += 1
        for each in side.keeper.was_set(now_s, rate, side.sight):
            side.log.keep(each)

    def _write_setting(self, side: Side, rate: float) -> None:
        if rate != side.written:
            side.written = rate
            side.log.keep(SettingInForce(self.now_s(), {PARAMETER: rate}))

    def _each_quarter(self, now: int) -> None:
        for side in self._sides:
            try:
                state = side.shaper.state()
            except RouterError:
                continue  # said once a second
            rate = max(state.rate_bit_per_s or side.keeper.in_force, 1.0)
            side.backlog_s = 8.0 * (state.statistics.backlog_bytes or 0) / rate
            side.window.backlog(now / SECOND, side.backlog_s)

    def _each_second(self, now: int) -> None:
        if self._is_gone:
            self._come_back()
        self._prober.check_reflectors(now)
        for words in self._prober.said[self._said :]:
            self._sides[0].log.keep(Decision(self.now_s(), DecisionKind.KEPT, words))
        self._said = len(self._prober.said)
        for side in self._sides:
            try:
                state = side.shaper.state()
                reading = side.shaper.reading_of(state)
            except RouterError as error:
                if now >= side.refused_until:
                    side.refused_until = now + _REFUSED_FOR
                    side.log.keep(Decision(self.now_s(), DecisionKind.REFUSED, str(error)))
                continue
            side.finding = side.window.finding(now / SECOND)
            read = state.rate_bit_per_s
            identity = (state.interface, state.handle)
            if side.identity not in {None, identity}:  # made anew, with a rate of its own
                side.keeper.in_force, side.before = read, None
            side.identity = identity
            for each in side.keeper.each_second(self.now_s(), side.sight, read, side.finding):
                side.log.keep(each)
            self._write_setting(side, read)
            self._write_sample(side, reading)
            if side.guardian is None or not side.changes:
                continue
            if not side.guardian.tell(f"{side.keeper.safe:.0f}" if side.keeper.changes else "hold"):
                why = "the guardian has died: nobody would set a safe rate if this process died"
                side.log.keep(Decision(self.now_s(), DecisionKind.REFUSED, why))
                side.guardian = None
        busy = any(each.load > 0.05 for each in self._sides)  # noqa: PLR2004 - 5 %
        slowest = min(each.sight.wanted for each in self._sides)
        self._prober.pace(now, slowest, busy=busy)

    def _write_sample(self, side: Side, reading: Reading) -> None:
        before, side.before = side.before, reading
        if before is not None and before.forwarded_bytes <= reading.forwarded_bytes:
            sample = Sample.between(before, Observation(reading))
            rate = max(side.keeper.in_force, 1.0)
            side.load = 8.0 * sample.bytes / max(sample.interval_s, 1e-3) / rate
            side.log.keep(sample)
            sight, finding = side.sight, side.finding
            seen = finding is not None and finding.probes > 0
            waits = (finding.here_s, finding.line_s if seen else None) if finding else (0.0, None)
            side.log.keep(LineSample(sample.time_s, side.keeper.in_force, sight.capacity, *waits))

    def _commanded(self) -> bool:
        """Carry out what people say; whether it is "stop"."""
        while True:
            try:
                command = self.commands.get_nowait()
            except Empty:
                return False
            if command.verb == "stop":
                return True
            for number, side in enumerate(self._sides, 1):
                if command.number in {None, number}:
                    for each in side.keeper.say(self.now_s(), command.verb):
                        side.log.keep(each)

    def end(self, side: Side, at_exit: AtExit) -> None:
        """Leave a shaper at the safe rate, or as it was found."""
        details: dict[str, object] = {}
        if side.changes and side.keeper.changes:
            restore = at_exit == "restore"
            rate = side.keeper.found if restore else side.keeper.safe
            try:
                side.shaper.apply({PARAMETER: rate})
                self._write_setting(side, rate)
            except RouterError as error:
                details["reason"] = str(error)
            if restore:
                details["restored"] = "reason" not in details
            shown = format_quantity(float(f"{rate:.3g}"), RATE)
            what = "as it was found" if restore else "the last safe one"
            why = f"ended; the rate is {shown}, {what}"
            if "reason" in details:
                why = f"ended; the rate could not be set to {shown}: {details['reason']}"
        else:
            why = "ended; the rate stays as it is" if side.changes else "ended; nothing was changed"
        side.log.keep(Decision(self.now_s(), DecisionKind.END, why, details))


def keep_line(
    interface: str,
    shapers: Sequence[tuple[Direction, LinuxShaper]],
    wish: Wish,
    reflectors: Sequence[str],
    *,
    journal_path: Path | None = None,
    on_event: Callable[[Decision], object] | None = None,
    on_proposal: Callable[[Propose], object] = lambda _: None,
    attended: Callable[[LineDriver], AbstractContextManager[object]] = lambda _: nullcontext(),
    for_s: float | None = None,
    law: Callable[[Direction, float, float], Law] = service_curve,
) -> LineRun:
    """Keep the rate of shapers on a line of unknown rate, or say what it would be.

    Args:
        interface: next to the line, where probes are sent and heard.
        shapers: of each direction.
        wish: of the operator.
        reflectors: addresses of hosts to be probed.
        journal_path: where the journal is kept; ``None`` keeps none.
        on_event: told of every decision.
        on_proposal: told of every proposal; the answer comes as a command.
        attended: a context in which it runs: whoever may put commands into the driver.
        for_s: how long; ``None``: until somebody says stop.
        law: made for a direction, an excess and a rate to begin with.

    Raises:
        JournalError: the journal cannot be used.
        RouterError: no probe can be sent, or somebody else controls a shaper.
    """
    acts = wish.mode != "observe"
    names = [str(shaper.address) for _, shaper in shapers]
    with ExitStack() as opened:
        sockets = ProbeSockets(interface)
        opened.callback(sockets.close)
        guardians = [Guardian(name) if acts else None for name in names]
        for guardian in guardians:
            if guardian is not None:
                opened.callback(guardian.end)
        opened.enter_context(only_controller(names if acts else []))
        sides = []
        for (direction, shaper), guardian in zip(shapers, guardians, strict=True):
            log, keeper = _begin(direction, shaper, wish, journal_path, on_event, opened)
            follows = law(direction, wish.excess_s, keeper.in_force)
            window = WaitWindow(direction, wish.excess_s)
            sides.append(Side(direction, shaper, follows, keeper, log, window, guardian))
        prober = Prober(reflectors, hears_departures=sockets.hears_departures)
        driver = LineDriver(interface, sides, prober, sockets, on_proposal)
        cpu = time.process_time()
        with attended(driver):
            try:
                driver.run(for_s)
            finally:
                for side in sides:
                    driver.end(side, wish.at_exit)
        return LineRun(
            interface,
            wish,
            prober.sent,
            prober.answered,
            prober.asked,
            prober.said,
            time.process_time() - cpu,
            driver.now_s(),
            [_outcome(side) for side in sides],
        )


def _begin(
    direction: Direction,
    shaper: LinuxShaper,
    wish: Wish,
    path: Path | None,
    on_event: Callable[[Decision], object] | None,
    opened: ExitStack,
) -> tuple[Log, Keeper]:
    """Write down what stands, before anything is changed."""
    from vermilion import _core

    name, discipline = str(shaper.address), shaper.configuration.discipline
    opened.enter_context(only_run(path, name, shaper.kind, discipline))
    journal = opened.enter_context(
        Journal(
            path,
            version=_core.VERSION,
            title=name,
            router=shaper.kind,
            link=name,
            discipline=discipline,
            target_packets=None,
        )
    )
    log = Log(journal, on_event)
    state = shaper.state()
    found = state.rate_bit_per_s
    command = rate_command(shaper.address.interface, state, found)
    shown = format_quantity(float(f"{found:.4g}"), RATE)
    reason = f"{name}, {direction}: {discipline} at {shown}; to put it back: {command}"
    first = found
    left = journal.remembered()
    details: dict[str, object] = {
        "parameters": {PARAMETER: found},
        "command": command,
        "mode": wish.mode,
        "at_exit": wish.at_exit,
    }
    before = None if left is None else left.original.get(PARAMETER)
    if left is not None and isinstance(before, float):
        first = before
        shown = format_quantity(float(f"{first:.4g}"), RATE)
        reason += f". Run {left.run} of this journal did not end in order; it had found {shown}"
        details["left_behind_by_run"] = left.run
    log.keep(Decision(0.0, DecisionKind.FOUND, reason, details))
    log.keep(SettingInForce(0.0, {PARAMETER: found}))
    if log.lost and wish.mode != "observe":
        raise JournalError(log.obstacle)
    excess = f"{1e3 * wish.excess_s:g} ms"
    does = {
        "observe": "nothing is changed",
        "propose": "you are asked first",
        "control": "the rate follows the line",
    }[wish.mode]
    why = f"{direction}: at most {excess} in the line's own queue, then goodput; {does}"
    log.keep(Decision(0.0, DecisionKind.START, why, {"mode": wish.mode}))
    keeper = Keeper(name, direction, first, wish.mode)
    keeper.in_force = found
    return log, keeper


def _outcome(side: Side) -> SideRun:
    state = side.shaper.state()
    found = side.keeper.found
    return SideRun(
        side.direction,
        str(side.shaper.address),
        state.kind,
        found,
        rate_command(side.shaper.address.interface, state, found),
        fmean(side.wanted) if side.wanted else None,
        side.sight.capacity,
        side.finding or side.window.finding(0.0),
        side.changes,
        tuple(side.log.decisions),
        tuple(side.log.settings),
        side.log.lost,
    )
