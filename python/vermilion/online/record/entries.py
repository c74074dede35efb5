"""What a controller leaves behind, for reports and for whoever asks "why?" afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.objectives import Objective
    from vermilion.online.decide.regimes import Regime
    from vermilion.online.record.kinds import DecisionKind
    from vermilion.online.sense.flow_shares import FlowShares
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


Entry: TypeAlias = "Decision | SettingInForce | Sample | FlowShares | Regime"
"""All that is written down."""


@dataclass(frozen=True)
class OnlineRun:
    """A network kept tuned, next to the same network left alone.

    Attributes:
        scenario: what both networks ran.
        seed: their hidden seed.
        link: the link under control.
        objective: what the operator wants minimised or maximised.
        parameters: the names of the parameters the controller may set.
        decisions: everything it did, in order of time.
        settings: (time in seconds, every parameter value in force from then on); the first
            entry, at time 0, is the scenario's own setting.
        tuned: the measured outcome under control, with time series.
        reference: the outcome of the network nobody touched, with time series.
        links: where several queues were controlled together, their links; ``link`` is then what
            the set is called.
    """

    scenario: Scenario
    seed: int
    link: str
    objective: Objective
    parameters: tuple[str, ...]
    decisions: tuple[Decision, ...]
    settings: tuple[tuple[float, dict[str, float]], ...]
    tuned: Result
    reference: Result
    links: tuple[str, ...] = ()

    @property
    def by_queue(self) -> tuple[OnlineRun, ...]:
        """The run as each of several queues has seen it; itself where there was one."""
        if not self.links:
            return (self,)
        return tuple(
            replace(
                self,
                link=link,
                links=(),
                parameters=_of_queue(link, self.parameters),
                settings=tuple(
                    (
                        time_s,
                        {name: values[joint_name(link, name)] for name in _of_queue(link, values)},
                    )
                    for time_s, values in self.settings
                ),
            )
            for link in self.links
        )

    @property
    def target_packets(self) -> float | None:
        """Where the queue is to be held, packets; ``None`` where the goal is not to hold it."""
        from vermilion.objectives.queue_deviation import QueueDeviation

        return self.objective.target if isinstance(self.objective, QueueDeviation) else None


def _of_queue(link: str, names: Iterable[str]) -> tuple[str, ...]:
    """A queue's own parameters among joint names, without its link's name."""
    prefix = joint_name(link, "")
    return tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))
