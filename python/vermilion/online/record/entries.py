"""What a controller leaves behind, for reports and for whoever asks "why?" afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.decide.regimes import Regime
    from vermilion.online.record.kinds import DecisionKind
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


@dataclass(frozen=True)
class Decision:
    """One thing the controller did or declined to do, with its reason.

    Attributes:
        time_s: when, in the network's time.
        kind: what.
        reason: why, in one line of words and numbers.
        details: the numbers behind the reason, for machines (JSON types only).
    """

    time_s: float
    kind: DecisionKind
    reason: str
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class SettingInForce:
    """Parameters that the router has said are in force.

    Attributes:
        time_s: from when on, in the network's time.
        parameters: every parameter of the discipline.
    """

    time_s: float
    parameters: Mapping[str, ParameterValue]


Entry: TypeAlias = "Decision | SettingInForce | Sample | Regime"
"""All that is written down."""


@dataclass(frozen=True)
class OnlineRun:
    """A network kept tuned, next to the same network left alone.

    Attributes:
        scenario: what both networks ran.
        seed: their hidden seed.
        link: the link under control.
        target_packets: the operator's target for its instantaneous queue; ``None`` where the goal
            is not to hold it.
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
    target_packets: float | None
    parameters: tuple[str, ...]
    decisions: tuple[Decision, ...]
    settings: tuple[tuple[float, dict[str, float]], ...]
    tuned: Result
    reference: Result
