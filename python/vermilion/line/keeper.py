"""Decisions about the rate of one shaper: when to follow the law, and when not. Pure.

The law knows the line. The keeper knows the operator: it proposes or acts, leaves a shaper alone
that somebody else sets, goes back to a safe rate when probes see nothing, and tells an outage from
that.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.online.entries import Decision, DecisionKind
from vermilion.scenario.quantities import RATE, format_quantity

if TYPE_CHECKING:
    from vermilion.monitor.waits import Direction, Finding
    from vermilion.online.policy import Mode

_STEP_UP: Final = 0.02
_STEP_DOWN: Final = 0.01
_BLIND_S: Final = 3.0
_SIGHT_S: Final = 1.0
_DRAIN_PART: Final = 0.25
_DRAIN_LEAST_S, _DRAIN_STILL_S, _DRAIN_MOST_S = 0.4, 0.3, 6.0
_LEAST_RATE: Final = 300e3
_FEWEST_ANSWERS: Final = 20
_SAID_AGAIN_S: Final = 10.0
_SAID_FACTOR: Final = 1.5
_SAFE_SPAN: Final = 300
_SAFE_QUANTILE: Final = 0.1
_SAFE_FEWEST: Final = 30
_PLACE_LASTS_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Sight:
    """Facts of one moment.

    Attributes:
        wanted: rate that the law wants, bits a second.
        capacity: of the line, as far as the law knows it.
        answers: probes answered so far.
        unanswered_s: since the last answer, seconds.
        carries: whether the line brings packets of others, so that it is not down.
        passed: bits a second that have passed lately.
        still_s: since a round trip was the shortest so far by far, seconds.
        trip_s: the latest round trip.
    """

    wanted: float
    capacity: float | None
    answers: int
    unanswered_s: float
    carries: bool
    passed: float = 0.0
    still_s: float = 0.0
    trip_s: float = 0.0


@dataclass(slots=True)
class Step:
    """Result of a step.

    Attributes:
        rate: to be set now; ``None``: as it is.
        proposal: rate to ask a person about; ``None``: nothing.
        decisions: to be written down.
    """

    rate: float | None = None
    proposal: float | None = None
    decisions: list[Decision] = field(default_factory=list)


class Keeper:
    """Keeper of one shaper's rate.

    Args:
        address: of the shaper.
        direction: of its packets.
        found: its rate before the first change.
        mode: whether anything is changed.
    """

    def __init__(self, address: str, direction: Direction, found: float, mode: Mode) -> None:
        self._address = address
        self._direction = direction
        self.found = found
        self.in_force = found
        self.mode = mode
        self.may_act = mode == "control"
        self.is_paused = False
        self._asked = False
        self._began_s: float | None = None
        self._hands_off = False
        self._blind_since: float | None = None
        self._fell_back = False
        self._drain_since: float | None = None
        self._drain_rate = self._drain_shows_s = 0.0
        self._said_rate = 0.0
        self._said_s = float("-inf")
        self._safe: deque[float] = deque(maxlen=_SAFE_SPAN)
        self._place = "nowhere"
        self._new_place: tuple[str, float] = ("nowhere", 0.0)

    @property
    def changes(self) -> bool:
        """True while the rate is kept."""
        return self.may_act and not self.is_paused and not self._hands_off

    @property
    def has_drained(self) -> bool:
        """True once the line has been emptied."""
        return self._drain_since is not None and not self._drain_rate

    @property
    def safe(self) -> float:
        """Rate to leave behind: what the line carried in all but the worst tenth of the time.

        Of a short time half, since the first seconds look for the rate.
        """
        if not self._safe:
            return self.found
        ranked = sorted(self._safe)
        quantile = _SAFE_QUANTILE if len(ranked) >= _SAFE_FEWEST else 0.5
        return ranked[int(quantile * len(ranked))]

    def step(self, now_s: float, sight: Sight) -> Step:
        """Decide what to do now; to be called each 20 to 50 ms."""
        done = Step()
        if self._began_s is None:
            self._began_s = now_s
        blind = sight.unanswered_s > _BLIND_S
        if blind:
            self._lose_sight(now_s, sight, done)
        elif self._blind_since is not None:
            since, self._blind_since, self._fell_back = self._blind_since, None, False
            lasted = f"{now_s - since:.0f} s"
            done.decisions.append(
                Decision(now_s, DecisionKind.SIGHTED, f"probes are answered again, after {lasted}")
            )
        ready = sight.answers >= _FEWEST_ANSWERS and now_s - self._began_s >= _SIGHT_S
        if self._fell_back or not ready:
            return done
        if not self.may_act:
            if self.mode == "propose" and not self._asked:
                self._asked = True
                done.proposal = sight.wanted
            return done
        wanted = self._drained(now_s, sight, done)
        if self.changes and self._differs(wanted):
            done.rate = wanted
        return done

    def _drained(self, now_s: float, sight: Sight, done: Step) -> float:
        """Return the rate wanted, which is little at the very beginning.

        The modem may be full by then, and nobody has seen the line empty: what the law takes for
        the way itself would be the queue.
        """
        if self._drain_since is None and self.changes:
            self._drain_since = now_s
            if sight.passed > _LEAST_RATE:
                self._drain_rate = max(_LEAST_RATE, _DRAIN_PART * sight.passed)
                self._drain_shows_s = now_s + sight.trip_s + _DRAIN_LEAST_S
                why = f"{self._direction}: little is let out for a moment, to see the line empty"
                done.decisions.append(Decision(now_s, DecisionKind.HELD_BACK, why))
        if not self._drain_rate or self._drain_since is None:
            return sight.wanted
        since_s = now_s - self._drain_since
        empty = now_s > self._drain_shows_s and sight.still_s > _DRAIN_STILL_S
        if empty or since_s > _DRAIN_MOST_S:
            self._drain_rate = 0.0
            return sight.wanted
        return min(self._drain_rate, sight.wanted)

    def _differs(self, wanted: float) -> bool:
        change = wanted / self.in_force - 1.0 if self.in_force else 1.0
        return change > _STEP_UP or change < -_STEP_DOWN

    def _lose_sight(self, now_s: float, sight: Sight, done: Step) -> None:
        if self._blind_since is None:
            self._blind_since = now_s
            why = (
                "no probe is answered, although the line brings packets"
                if sight.carries
                else "no probe is answered and nothing arrives: the line is down"
            )
            done.decisions.append(
                Decision(now_s, DecisionKind.BLIND, why, {"line_is_down": not sight.carries})
            )
        if sight.carries and not self._fell_back and sight.answers:
            self._fell_back = True
            if self.changes:
                done.rate = self.safe
                shown = format_quantity(float(f"{self.safe:.3g}"), RATE)
                why = f"probes see nothing, so the rate is the last safe one: {shown}"
                details: dict[str, object] = {"parameters": {"bandwidth": self.safe}}
                done.decisions.append(Decision(now_s, DecisionKind.FELL_BACK, why, details))

    def was_set(self, now_s: float, rate: float, sight: Sight) -> list[Decision]:
        """Take in that a rate is in force; what there is to say of it."""
        self.in_force = rate
        factor = rate / self._said_rate if self._said_rate else float("inf")
        far = factor > _SAID_FACTOR or factor < 1 / _SAID_FACTOR
        if not far or now_s - self._said_s < _SAID_AGAIN_S:
            return []
        self._said_rate, self._said_s = rate, now_s
        shown = format_quantity(float(f"{rate:.3g}"), RATE)
        line = (
            ""
            if sight.capacity is None
            else (
                f"; the line carries about {format_quantity(float(f'{sight.capacity:.3g}'), RATE)}"
            )
        )
        details: dict[str, object] = {
            "parameters": {"bandwidth": rate},
            "capacity_bit_per_s": sight.capacity,
        }
        return [Decision(now_s, DecisionKind.APPLIED, f"{self._direction}: {shown}{line}", details)]

    def each_second(
        self, now_s: float, sight: Sight, read: float, finding: Finding
    ) -> list[Decision]:
        """Take in the rate that was read back, and where packets wait."""
        decisions: list[Decision] = []
        if sight.capacity is not None and sight.unanswered_s < 1.0:
            self._safe.append(min(sight.capacity, sight.wanted))
        if abs(read / self.in_force - 1.0 if self.in_force else read) > 2e-3:  # noqa: PLR2004 - rounding of burst and rate
            if self.changes:
                self._hands_off = True
                shown = format_quantity(float(f"{read:.4g}"), RATE)
                why = f"somebody else has set {shown}; nothing is changed until resume is said"
                changed: dict[str, object] = {"changed": {"bandwidth": read}}
                decisions.append(Decision(now_s, DecisionKind.HANDS_OFF, why, changed))
            self.in_force = read
        if finding.place not in {self._new_place[0], "unseen"}:
            self._new_place = (finding.place, now_s)
        place, since = self._new_place
        if place != self._place and now_s - since >= _PLACE_LASTS_S:
            was, self._place = self._place, place
            if "behind" in {was, place} or "before" in {was, place} or self.mode == "observe":
                details = {"place": place, "here_s": finding.here_s, "line_s": finding.line_s}
                words = f"{self._direction}: {finding.words()}"
                decisions.append(Decision(now_s, DecisionKind.BEHIND, words, dict(details)))
        return decisions

    def say(self, now_s: float, verb: str) -> list[Decision]:
        """Take in what a person says."""
        if verb == "accept" and self.mode == "propose":
            self.may_act = True
            return []
        if verb == "decline":
            return [Decision(now_s, DecisionKind.DECLINED, "the rate stays as it is")]
        if verb == "pause" and not self.is_paused:
            self.is_paused = True
            return [
                Decision(
                    now_s, DecisionKind.PAUSED, "a person wants no changes", {"by": "a person"}
                )
            ]
        if verb == "resume" and (self.is_paused or self._hands_off):
            self.is_paused = self._hands_off = False
            why = "a person lets it go on"
            return [Decision(now_s, DecisionKind.RESUMED, why, {"by": "a person"})]
        return []
