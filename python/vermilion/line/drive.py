"""Loop of a line: clock and sockets, and what keeps the rate while the line changes."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from vermilion.line.guardian import Guardian
from vermilion.line.outcome import LineRun, Wish
from vermilion.line.probes import SECOND, Prober
from vermilion.line.side import Side, Traffic
from vermilion.line.sockets import ProbeSockets
from vermilion.monitor.waits import WaitWindow
from vermilion.online.drive.locks import only_controller, only_run
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.record.journal import Journal, JournalError, Log
from vermilion.routers.base import RouterError
from vermilion.routers.linux.shaper import PARAMETER, rate_command
from vermilion.scenario.quantities import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from vermilion._core import RateKeeper
    from vermilion.line.law import Law
    from vermilion.line.probes import Answer, Probe
    from vermilion.monitor.waits import Direction
    from vermilion.online.events import Command, Propose
    from vermilion.routers.linux.shaper_rate import LinuxShaper

_TICK: Final = 25_000_000
_BACKLOG: Final = 250_000_000
_CARRIES_BYTES: Final = 5_000
_LOADED: Final = 0.5
_BUSY: Final = 0.05
_LEAST_RATE: Final = 300e3


def service_curve(direction: Direction, excess_s: float, start_bit_per_s: float) -> Law:
    """Return the law that is used.

    Args:
        direction: of the packets that are held back.
        excess_s: 95th percentile of the wait in the line's own queue that is accepted.
        start_bit_per_s: rate found.
    """
    from vermilion import _core

    settings: dict[str, object] = {"direction": direction, "excess": excess_s}
    if start_bit_per_s:
        settings["start"] = start_bit_per_s
    law: Law = _core.RateLaw("tuned-service-curve", json.dumps(settings))
    return law


class LineDriver:
    """Loop of one line.

    Args:
        interface: next to the line.
        sides: of it.
        prober: that knows whom to ask.
        sockets: that ask.
        began: when the run began.

    Attributes:
        commands: what people say.
    """

    def __init__(
        self,
        interface: str,
        sides: Sequence[Side],
        prober: Prober,
        sockets: ProbeSockets,
        began: int,
    ) -> None:
        self.commands: SimpleQueue[Command] = SimpleQueue()
        self._interface = interface
        self._sides = sides
        self._prober = prober
        self._sockets = sockets
        self._began = began
        self._said = 0
        self._past: list[tuple[int, Traffic]] = []
        self._counted: Traffic = (0, 0)
        self._is_gone = False

    def run(self, for_s: float | None) -> None:
        """Keep the rates until somebody says stop, or so long."""
        end = None if for_s is None else self._began + round(for_s * SECOND)
        tick = backlog = second = self._began
        while True:
            now = time.monotonic_ns()
            if (end is not None and now >= end) or self._commanded():
                return
            probe = self._prober.due(now)
            if probe is not None:
                self._send(probe)
            self._post()
            wake = min(tick, self._prober.next)
            self._hear(max(0, wake - time.monotonic_ns()) / SECOND)
            now = time.monotonic_ns()
            if now >= tick:
                tick = max(tick + _TICK, now + _TICK // 2)
                self._tick(now)
            if now >= backlog:
                backlog = max(backlog + _BACKLOG, now + _BACKLOG // 2)
                for side in self._sides:
                    side.each_quarter(now)
            if now >= second:
                second = max(second + SECOND, now + SECOND // 2)
                self._each_second(now)

    def _traffic(self) -> Traffic:
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
        self._sides[0].note(DecisionKind.RESUMED, f"{self._interface} has come back")

    def _send(self, probe: Probe) -> None:
        self._sockets.send(probe)
        if not self._sockets.hears_departures:
            self._left(time.monotonic_ns(), self._traffic())

    def _post(self) -> None:
        for letter in self._prober.letters:
            self._sockets.post(*letter)
        self._prober.letters.clear()

    def close(self) -> None:
        """End what servers of IRTT have opened."""
        self._prober.close()
        self._post()

    def _left(self, at: int, traffic: Traffic) -> None:
        for side in self._sides:
            side.law.probe_sent(at, side.bytes_of(traffic))

    def _hear(self, seconds: float) -> None:
        events = self._sockets.wait(seconds)
        traffic = self._traffic() if events else self._counted
        for event in events:
            if event.heard.is_answer:
                answer = self._prober.take(event.heard, event.at, event.wall_offset)
                if answer is not None:
                    for side in self._sides:
                        side.answered(answer, self._wait_elsewhere(side, answer))
            else:
                left = self._prober.left(event.heard, event.at)
                if left is not None:
                    self._left(left, traffic)

    def _wait_elsewhere(self, side: Side, answer: Answer) -> int:
        """Part of a wait that is not the line's in this direction, nanoseconds."""
        own = 0
        if not self._sockets.hears_departures and side.direction == "up":
            own = side.estimated_wait()
        one_way = answer.up if side.direction == "up" else answer.down
        others = [each.load for each in self._sides if each is not side]
        if one_way is None and others and side.load < _LOADED <= max(others):
            own = max(own, answer.wait)  # the other direction is busy, and this one is not
        return own

    def _tick(self, now: int) -> None:
        for sent in self._prober.expire(now):
            for side in self._sides:
                side.law.lost(sent)
        traffic = self._traffic()
        self._past.append((now, traffic))
        while self._past[0][0] < now - SECOND:
            del self._past[0]
        past = self._past[0]
        carries = traffic[0] - past[1][0] > _CARRIES_BYTES
        for side in self._sides:
            side.step(now, traffic, past, self._prober, carries=carries)

    def _each_second(self, now: int) -> None:
        if self._is_gone:
            self._come_back()
        self._prober.check_reflectors(now)
        for words in self._prober.said[self._said :]:
            self._sides[0].note(DecisionKind.KEPT, words)
        self._said = len(self._prober.said)
        for side in self._sides:
            side.each_second(now)
        busy = any(each.load > _BUSY for each in self._sides)
        self._prober.pace(now, min(each.wanted for each in self._sides), busy=busy)

    def _commanded(self) -> bool:
        """Carry out what people say; whether it is "stop"."""
        while True:
            try:
                command = self.commands.get_nowait()
            except Empty:
                return False
            if command.verb == "stop":
                return True
            for side in self._sides:
                if command.number in {None, side.number}:
                    side.say(command.verb)


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
    began = time.monotonic_ns()
    with ExitStack() as opened:
        sockets = ProbeSockets(interface)
        opened.callback(sockets.close)
        guardians = [Guardian(name) if acts else None for name in names]
        for guardian in guardians:
            if guardian is not None:
                opened.callback(guardian.end)
        opened.enter_context(only_controller(names if acts else []))
        sides: list[Side] = []
        for (direction, shaper), guardian in zip(shapers, guardians, strict=True):
            log, keeper = _begin(direction, shaper, wish, journal_path, on_event, opened)
            follows = law(direction, wish.excess_s, keeper.in_force)
            window = WaitWindow(direction, wish.excess_s)
            parts = (direction, shaper, follows, keeper, log, window, guardian, began)
            sides.append(Side(1 + len(sides), *parts, on_proposal))
        prober = Prober(reflectors, hears_departures=sockets.hears_departures)
        driver = LineDriver(interface, sides, prober, sockets, began)
        cpu = time.process_time()
        with attended(driver):
            try:
                driver.run(for_s)
            finally:
                driver.close()
                for side in sides:
                    side.end(wish.at_exit)
        return LineRun(
            interface,
            wish,
            prober.sent,
            prober.answered,
            prober.asked,
            prober.said,
            time.process_time() - cpu,
            (time.monotonic_ns() - began) / SECOND,
            [side.outcome() for side in sides],
        )


def _begin(
    direction: Direction,
    shaper: LinuxShaper,
    wish: Wish,
    path: Path | None,
    on_event: Callable[[Decision], object] | None,
    opened: ExitStack,
) -> tuple[Log, RateKeeper]:
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
    keeper = _core.RateKeeper(first, wish.mode, _LEAST_RATE)
    keeper.in_force = found
    return log, keeper
