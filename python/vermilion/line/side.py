"""One direction of a line: its shaper is read and set, and what is done is written down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from vermilion.line.outcome import SideRun
from vermilion.line.probes import SECOND
from vermilion.online.entries import Decision, DecisionKind, LineSample, SettingInForce
from vermilion.online.events import Apply, Done, Propose, Refused
from vermilion.online.record.journal import JournalError
from vermilion.online.sense.sampler import Sample
from vermilion.routers.base import Observation, RouterError
from vermilion.routers.linux.shaper import PARAMETER, rate_command
from vermilion.scenario.quantities import RATE, format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vermilion._core import RateKeeper
    from vermilion.line.guardian import Guardian
    from vermilion.line.law import Law
    from vermilion.line.probes import Answer, Prober
    from vermilion.monitor.waits import Direction, Finding, WaitWindow
    from vermilion.online.policy import AtExit
    from vermilion.online.record.journal import Log
    from vermilion.routers.base import Reading
    from vermilion.routers.linux.shaper import ShaperState
    from vermilion.routers.linux.shaper_rate import LinuxShaper

_IDLE: Final = 0.2
_REFUSED_FOR: Final = 5 * SECOND
_FULL_SECOND: Final = SECOND - 50_000_000
_ETHERNET_BITS: Final = 8 * 1514
_PLACE_LASTS: Final = SECOND
_GUARDED_AFTER: Final = 4 * SECOND
_DAY_S: Final = 86_400

Traffic = tuple[int, int]
"""Bytes that the interface next to the line has received and sent."""


class Side:
    """One direction of the line while it is kept.

    Args:
        number: by which people mean it.
        direction: of the packets.
        shaper: that holds them back.
        law: that says how fast.
        keeper: that decides.
        log: where it is written down.
        window: where packets wait.
        guardian: that is there when all else dies.
        began: when the run began, nanoseconds of the monotonic clock.
        on_proposal: told of a proposal.

    Attributes:
        capacity: of the line, as far as the law knows.
        wanted: rate that the law wants.
        load: part of the rate that was used in the last second.
        changes: how often the rate was set.
    """

    def __init__(
        self,
        number: int,
        direction: Direction,
        shaper: LinuxShaper,
        law: Law,
        keeper: RateKeeper,
        log: Log,
        window: WaitWindow,
        guardian: Guardian | None,
        began: int,
        on_proposal: Callable[[Propose], object],
    ) -> None:
        self.number = number
        self.direction: Direction = direction
        self.shaper = shaper
        self.law = law
        self.keeper = keeper
        self.log = log
        self.capacity: float | None = None
        self.wanted = self.load = 0.0
        self.changes = 0
        self._window = window
        self._guardian = guardian
        self._began = began
        self._on_proposal = on_proposal
        self._sum, self._steps = 0.0, 0
        self._carries = False
        self._refused_until = 0
        self._written = 0.0
        self._before: Reading | None = None
        self._identity: tuple[int, int] | None = None
        self._finding: Finding | None = None
        self._place = ("nowhere", 0)
        self._told_place = "nowhere"
        self._told_safe, self._told_at = 0.0, 0
        self._told_choice: dict[str, float] | None = None
        self._backlog_s = 0.0

    def note(
        self, kind: DecisionKind, reason: str, details: dict[str, object] | None = None
    ) -> None:
        """Write down a decision of now."""
        now_s = (time.monotonic_ns() - self._began) / SECOND
        self.log.keep(Decision(now_s, kind, reason, details or {}))

    def bytes_of(self, traffic: Traffic) -> int:
        """Return the bytes that have crossed the interface in this direction."""
        return traffic[self.direction == "up"]

    def answered(self, answer: Answer, own_wait: int) -> None:
        """Tell the law of an answer: the delay of its direction, without the wait elsewhere."""
        one_way = answer.up if self.direction == "up" else answer.down
        self.law.answered(answer.reflector, answer.sent, answer.received, one_way, own_wait)
        seen = self.law.state().get("wait_behind_s")
        wait_s = max(0, answer.wait - own_wait) / SECOND if seen is None else seen
        self._window.probe(answer.received / SECOND, wait_s)

    def estimated_wait(self) -> int:
        """Wait in the shaper where departures are not heard, nanoseconds."""
        rate = max(self.keeper.in_force, 1.0)
        fair = self.shaper.configuration.discipline == "cake"
        return round((_ETHERNET_BITS / rate if fair else self._backlog_s) * SECOND)

    def step(
        self,
        now: int,
        traffic: Traffic,
        past: tuple[int, Traffic],
        prober: Prober,
        *,
        carries: bool,
    ) -> None:
        """Follow the law, as far as the keeper lets it.

        Args:
            now: nanoseconds of the monotonic clock.
            traffic: of the interface.
            past: what that was up to a second ago, and when.
            prober: of the line.
            carries: whether the line brings packets of others, so that it is not down.
        """
        since, before = past
        passed = 8.0 * (self.bytes_of(traffic) - self.bytes_of(before))
        self.wanted = self.law.rate(now, self.bytes_of(traffic))
        self._sum, self._steps = self._sum + self.wanted, self._steps + 1
        state = self.law.state()
        self.capacity = state.get("capacity_bit_per_s")
        self._tell_choice(state.get("choice"))
        self._carries = carries
        rate, events = self.keeper.step(
            now,
            self.wanted,
            self.capacity,
            answers=prober.answered,
            unanswered_ns=max(0, now - (prober.last_answer or self._began)),
            carries=carries,
            passed=passed,
            still_ns=max(0, now - prober.base_fell),
            trip_ns=prober.trip,
        )
        idle = now - since > _FULL_SECOND and passed < _IDLE * (
            self.capacity or self.keeper.in_force
        )
        self._window.knows_empty |= self.keeper.has_drained or idle
        self._tell(events)
        if rate is not None and now >= self._refused_until:
            self._set(rate, now)

    def _tell(self, events: Iterable[tuple[str, str, float | None, float | None]]) -> None:
        """Write down what the keeper tells."""
        for name, words, rate, capacity in events:
            reason = f"{self.direction}: {words}"
            details: dict[str, object] = {"parameters": {PARAMETER: rate}} if rate else {}
            match DecisionKind(name):
                case DecisionKind.PROPOSED:
                    finding = self._window.finding(time.monotonic_ns() / SECOND)
                    reason += f": {finding.words()}"
                    details["number"] = self.number
                case DecisionKind.APPLIED:
                    details["capacity_bit_per_s"] = capacity
                case DecisionKind.BLIND:
                    details["line_is_down"] = not self._carries
                case DecisionKind.HANDS_OFF:
                    reason += " until resume is said"
                    details = {"changed": {PARAMETER: rate}}
            self.note(DecisionKind(name), reason, details)
            if name == DecisionKind.PROPOSED and rate is not None:
                self._on_proposal(Propose(self.number, {PARAMETER: rate}, reason))

    def _tell_choice(self, choice: dict[str, float] | None) -> None:
        """Write down that a model of the line has chosen other constants of the law."""
        if choice == self._told_choice or choice is None:
            return
        self._told_choice = choice
        if not self.keeper.acts:
            return
        before, after = (1e3 * choice[name] for name in ("excess_before_s", "excess_s"))
        share, stands = 100 * choice["share"], 1e3 * choice["target_s"]
        words = (
            f"{self.direction}: while the line varies, {share:.0f} % of it are used and "
            f"{stands:.2g} ms stand on it. In a model of the last minutes 95 % wait less "
            f"than {after:.0f} ms then ({before:.0f} ms before), with "
            f"{choice['goodput']:.2f} of the goodput"
        )
        self.note(DecisionKind.TUNED, words, {"constants": choice})

    def _look(self) -> ShaperState:
        """Read the shaper; the keeper hears whether somebody else has set it.

        Raises:
            RouterError: it cannot be read.
        """
        state = self.shaper.state()
        rate, identity = state.rate_bit_per_s, (state.interface, state.handle)
        if self._identity not in {None, identity}:  # made anew, with a rate of its own
            self.keeper.in_force, self._before = rate, None
        self._identity = identity
        silent = self._told_safe and time.monotonic_ns() - self._told_at > _GUARDED_AFTER
        if silent and self.shaper.held.is_same(self._told_safe, rate):
            self.keeper.in_force = rate  # by the guardian, while this process could not run
        self._tell(self.keeper.was_read(rate))
        return state

    def _set(self, rate: float, now: int) -> None:
        """Set a rate, unless somebody else has; the first time it is written down before."""
        now_s = (now - self._began) / SECOND
        try:
            state = self._look()
            if not self.keeper.acts:
                return
            if not self.changes:
                self.log.intend(now_s, Apply(1, {PARAMETER: rate}))
            self.shaper.set_rate(rate, state)
        except (JournalError, RouterError) as error:
            self._refuse(str(error), now)
            if not self.changes:
                self.log.answered(now_s, Refused(1, str(error)))
            return
        if not self.changes:
            self.log.answered(now_s, Done(1, {PARAMETER: rate}))
            self._write_setting(rate)
        self.changes += 1
        self._tell(self.keeper.was_set(now, rate))

    def _refuse(self, reason: str, now: int) -> None:
        """Say why the shaper cannot be read or set, and leave it alone for a while."""
        if now >= self._refused_until:
            self._refused_until = now + _REFUSED_FOR
            self.note(DecisionKind.REFUSED, reason)

    def _write_setting(self, rate: float) -> None:
        if rate != self._written:
            self._written = rate
            now_s = (time.monotonic_ns() - self._began) / SECOND
            self.log.keep(SettingInForce(now_s, {PARAMETER: rate}))
            if len(self.log.settings) > _DAY_S:  # the journal has them all
                del self.log.settings[: _DAY_S // 2]

    def each_quarter(self, now: int) -> None:
        """Look at the shaper's own queue."""
        try:
            state = self.shaper.state()
        except RouterError:
            return  # said once a second
        rate = max(state.rate_bit_per_s or self.keeper.in_force, 1.0)
        self._backlog_s = 8.0 * (state.statistics.backlog_bytes or 0) / rate
        self._window.backlog(now / SECOND, self._backlog_s)

    def each_second(self, now: int) -> None:
        """Read the shaper, say where packets wait, and tell the guardian what is safe."""
        try:
            state = self._look()
            reading = self.shaper.reading_of(state)
        except RouterError as error:
            self._refuse(str(error), now)
            return
        self.keeper.each_second()
        self._finding = finding = self._window.finding(now / SECOND)
        self._write_setting(state.rate_bit_per_s)
        self._write_place(now, finding)
        self._write_sample(reading, finding)
        if self._guardian is None or not self.changes:
            return
        self._told_safe, self._told_at = self.keeper.safe if self.keeper.acts else 0.0, now
        if not self._guardian.tell(f"{self._told_safe:.0f}" if self.keeper.acts else "hold"):
            self._guardian = None
            why = "the guardian has died: nobody would set a safe rate if this process died"
            self.note(DecisionKind.REFUSED, why)

    def _write_place(self, now: int, finding: Finding) -> None:
        if finding.place not in {self._place[0], "unseen"}:
            self._place = (finding.place, now)
        place, since = self._place
        if place == self._told_place or now - since < _PLACE_LASTS:
            return
        was, self._told_place = self._told_place, place
        if {"behind", "before"} & {was, place} or self.keeper.mode == "observe":
            details = {"place": place, "here_s": finding.here_s, "line_s": finding.line_s}
            self.note(DecisionKind.BEHIND, f"{self.direction}: {finding.words()}", dict(details))

    def _write_sample(self, reading: Reading, finding: Finding) -> None:
        before, self._before = self._before, reading
        if before is None or before.forwarded_bytes > reading.forwarded_bytes:
            return
        sample = Sample.between(before, Observation(reading))
        rate = self.keeper.in_force
        self.load = 8.0 * sample.bytes / max(sample.interval_s, 1e-3) / max(rate, 1.0)
        self.log.keep(sample)
        line_s = finding.line_s if finding.probes else None
        self.log.keep(LineSample(sample.time_s, rate, self.capacity, finding.here_s, line_s))

    def say(self, verb: str) -> None:
        """Take in what a person says."""
        by: dict[str, object] = {"by": "a person"}
        if verb == "accept":
            self.keeper.accept()
        elif verb == "decline":
            self.note(DecisionKind.DECLINED, "the rate stays as it is")
        elif verb == "pause" and self.keeper.pause():
            self.note(DecisionKind.PAUSED, "a person wants no changes", by)
        elif verb == "resume" and self.keeper.resume():
            self.note(DecisionKind.RESUMED, "a person lets it go on", by)

    def end(self, at_exit: AtExit) -> None:
        """Leave the shaper at the safe rate, or as it was found."""
        details: dict[str, object] = {}
        restore = at_exit == "restore"
        rate = self.keeper.found if restore else self.keeper.safe
        shown = format_quantity(float(f"{rate:.3g}"), RATE)
        what = "as it was found" if restore else "the last safe one"
        why = "ended; the rate stays as it is" if self.changes else "ended; nothing was changed"
        try:
            if self.changes:
                self._look()
            if self.changes and self.keeper.acts:
                self.shaper.apply({PARAMETER: rate})
                self._write_setting(rate)
                why = f"ended; the rate is {shown}, {what}"
                details |= {"restored": True} if restore else {}
        except RouterError as error:
            details["reason"] = str(error)
            details |= {"restored": False} if restore else {}
            why = f"ended; the rate could not be set to {shown}: {error}"
        self.note(DecisionKind.END, why, details)

    def outcome(self) -> SideRun:
        """Return what has come of it."""
        state = self.shaper.state()
        found = self.keeper.found
        return SideRun(
            self.direction,
            str(self.shaper.address),
            state.kind,
            found,
            rate_command(self.shaper.address.interface, state, found),
            self._sum / self._steps if self._steps else None,
            self.capacity,
            self._finding or self._window.finding(0.0),
            self.changes,
            tuple(self.log.decisions),
            tuple(self.log.settings),
            self.log.lost,
        )
