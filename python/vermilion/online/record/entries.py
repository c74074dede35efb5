"""What an on-line run leaves behind, for reports and for whoever asks "why?" afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


@dataclass(frozen=True)
class Decision:
    """One thing the controller did or declined to do, with its reason.

    Attributes:
        time_s: when, in the network's time.
        kind: what: ``start``, ``change-detected``, ``waiting``, ``model-built``, ``tuned``,
            ``stale``, ``kept``, ``applied``, ``refused``, ``verified``, ``unverified``,
            ``rolled-back``, ``corrected``, ``quiet``, ``end``.
        reason: why, in one line of words and numbers.
        details: the numbers behind the reason, for machines (JSON types only).
    """

    time_s: float
    kind: str
    reason: str
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class OnlineRun:
    """A network kept tuned, next to the same network left alone.

    Attributes:
        scenario: what both networks ran.
        seed: their hidden seed.
        link: the link under control.
        target_packets: the operator's target for its instantaneous queue.
        parameters: the names of the parameters the controller may set.
        decisions: everything it did, in order of time.
        settings: (time in seconds, every parameter value in force from then on); the first
            entry, at time 0, is the scenario's own setting.
        tuned: the measured outcome under control, with time series.
        reference: the outcome of the network nobody touched, with time series.
    """

    scenario: Scenario
    seed: int
    link: str
    target_packets: float
    parameters: tuple[str, ...]
    decisions: tuple[Decision, ...]
    settings: tuple[tuple[float, dict[str, float]], ...]
    tuned: Result
    reference: Result
