"""What a controller leaves behind, for reports and for whoever asks "why?" afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from vermilion.objectives.interface import NotMeasuredError
from vermilion.routers.queue_set import joint_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.objectives import Objective
    from vermilion.online.kinds import DecisionKind
    from vermilion.online.plan.regimes import Regime
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

    scenario: Scenario = field(repr=False)
    seed: int
    link: str
    objective: Objective
    parameters: tuple[str, ...]
    decisions: tuple[Decision, ...] = field(repr=False)
    settings: tuple[tuple[float, dict[str, float]], ...] = field(repr=False)
    tuned: Result = field(repr=False)
    reference: Result = field(repr=False)
    links: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What was decided, in order of time, and what it came to."""
        widest = max((len(each.kind.value) for each in self.decisions), default=0)
        decided = [
            f"{each.time_s:8.1f} s  {each.kind.value:<{widest}}  {each.reason}"
            for each in self.decisions
        ]
        return "\n".join([self._title(), *decided, self._came_to()])

    def _repr_html_(self) -> str:
        """What a notebook shows: the same."""
        decided = [
            f"<li>{each.time_s:.1f} s, <b>{escape(each.kind.value)}</b>: {escape(each.reason)}</li>"
            for each in self.decisions
        ]
        title, last = (f"<p>{escape(line)}</p>" for line in (self._title(), self._came_to()))
        return "\n".join(["<div>", title, "<ul>", *decided, "</ul>", last, "</div>"])

    def _title(self) -> str:
        of = f"{self.scenario.title}: " if self.scenario.title else ""
        return f"{of}{self.link} kept tuned, seed {self.seed}"

    def _came_to(self) -> str:
        """What the operator wants small, or large, in both networks."""
        measure = self.objective.measure
        try:
            alone, tuned = measure(self.reference), measure(self.tuned)
        except NotMeasuredError as absent:
            return f"{self.objective.label}: {absent}"
        unit = f" {self.objective.unit}" if self.objective.unit else ""
        return f"{self.objective.label}: {tuned:.4g}{unit} kept tuned, {alone:.4g}{unit} left alone"

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
