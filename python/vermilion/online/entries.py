"""Catalogue of decisions, as log, journal, page and report show them.

What a controller leaves behind, for reports and for whoever asks "why?" afterwards.

A setting as the log and a person say it: "target 1.294 ms, alpha 0.125".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from vermilion.files.document import document
from vermilion.objectives.interface import NotMeasuredError
from vermilion.routers.queue_set import by_queue, joint_name
from vermilion.scenario import disciplines
from vermilion.scenario.quantities import RATE, RATIO, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vermilion.objectives import Objective
    from vermilion.online.sense.sampler import FlowShares, Sample
    from vermilion.routers import LinkConfiguration
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


class DecisionKind(StrEnum):
    """The kind of a decision; its value is what the journal and ``--json`` have."""

    FOUND = "found"
    """What stood on a real router before the first change, and how to put it back by hand."""
    UNREADABLE = "unreadable"
    """Of earlier versions: an entry of the journal that made no sense was left out."""
    START = "start"
    """The controller has taken charge of a queue."""
    CHANGE_DETECTED = "change-detected"
    """The network is no longer what the model in use was made for."""
    FLUCTUATING = "fluctuating"
    """Conditions change faster than they can be answered: one setting is sought for all of them; or
    they no longer do."""
    QUIET = "quiet"
    """Too little is known to tune anything."""
    MODEL_BUILT = "model-built"
    """A model of the traffic is about to be searched."""
    CALIBRATED = "calibrated"
    """Another kind of senders explains what is seen better than the one believed so far."""
    UNEXPLAINED = "unexplained"
    """No model reproduces what is seen, so none is asked for advice."""
    TUNED = "tuned"
    """A search has ended with a setting."""
    SEARCH_FAILED = "search-failed"
    """A search died or hung."""
    STALE = "stale"
    """A search's answer came after the conditions it was for."""
    KEPT = "kept"
    """The setting in force stays."""
    PROPOSED = "proposed"
    """A setting would be put in force, but that is a person's decision or nobody's."""
    DECLINED = "declined"
    """A person has said no to a proposal, or it was withdrawn."""
    HELD_BACK = "held-back"
    """The budget of changes does not allow one now."""
    RECALLED = "recalled"
    """Of earlier versions: a setting for conditions met before was put in force."""
    APPLIED = "applied"
    """A setting has been put in force and was read back."""
    REFUSED = "refused"
    """The router refused a change, or could not be told of it."""
    LOST = "lost"
    """A change was sent, and nobody knows what has become of it: it is read back."""
    VERIFIED = "verified"
    """A setting does better on the network than the one before did, measured."""
    UNPROVEN = "unproven"
    """A setting does no harm on the network; that it helps has not been measured."""
    UNVERIFIED = "unverified"
    """A verification could not be ended."""
    CONSTRAINT_BROKEN = "constraint-broken"
    """The network breaks what the operator asked for."""
    ROLLED_BACK = "rolled-back"
    """A setting was taken back."""
    CORRECTED = "corrected"
    """The model is tuned for another target than the operator's, to remove its bias."""
    PAUSED = "paused"
    """The queue tells nothing now: idle, cut off, or another link is the bottleneck."""
    RESUMED = "resumed"
    """What had paused goes on."""
    BEHIND = "behind"
    """Packets wait behind the queue under control, where it cannot help; or they no longer do."""
    BLACKOUT = "blackout"
    """A queue drops or marks every packet that comes, although none waits."""
    BLIND = "blind"
    """The router has been silent for too long."""
    SIGHTED = "sighted"
    """The router answers again."""
    FELL_BACK = "fell-back"
    """The setting for blind times was put in force."""
    HANDS_OFF = "hands-off"
    """Somebody else has changed the queue; nothing is touched until a person says so."""
    RESTORED = "restored"
    """The setting that stood before the first change is in force again."""
    END = "end"
    """The controller has ended."""


@document()
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


@document()
@dataclass(frozen=True)
class SettingInForce:
    """Parameters that the router has said are in force.

    Attributes:
        time_s: from when on, in the network's time.
        parameters: every parameter of the discipline.
    """

    time_s: float
    parameters: Mapping[str, ParameterValue]


@dataclass(frozen=True, slots=True)
class LineSample:
    """A line whose rate nobody knows, as seen with a sample of its shaper.

    Attributes:
        time_s: of that sample.
        rate_bit_per_s: of the shaper.
        capacity_bit_per_s: of the line; ``None``: not known.
        wait_here_s: in the shaper.
        wait_line_s: in the line's own queue; ``None``: not known.
    """

    time_s: float
    rate_bit_per_s: float
    capacity_bit_per_s: float | None
    wait_here_s: float
    wait_line_s: float | None


Entry: TypeAlias = "Decision | SettingInForce | Sample | FlowShares | LineSample"
"""All that is written down."""


@document("time_s parameters")
class SettingFrom(NamedTuple):
    """Every parameter in force from a time of the network on, seconds."""

    time_s: float
    parameters: dict[str, float]


@document(
    "scenario=scenario.origin seed link links?? target_packets objective=objective.label parameters"
    " decisions settings tuned=tuned.data untouched=reference.data"
)
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
    settings: tuple[SettingFrom, ...] = field(repr=False)
    tuned: Result = field(repr=False)
    reference: Result = field(repr=False)
    links: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the decisions in order of time, and the outcome."""
        widest = max((len(each.kind.value) for each in self.decisions), default=0)
        decided = [
            f"{each.time_s:8.1f} s  {each.kind.value:<{widest}}  {each.reason}"
            for each in self.decisions
        ]
        return "\n".join([self._title(), *decided, self._came_to()])

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
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
        """Describe the objective's value in both networks."""
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
                    SettingFrom(
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
        """Target of the queue, packets; ``None`` for other goals."""
        from vermilion.objectives.queue_deviation import QueueDeviation

        return self.objective.target if isinstance(self.objective, QueueDeviation) else None


def _of_queue(link: str, names: Iterable[str]) -> tuple[str, ...]:
    """A queue's own parameters among joint names, without its link's name."""
    prefix = joint_name(link, "")
    return tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))


_DIGITS: Final = 4
"""Significant ones: more than any link can tell apart, and few enough to be read."""


def format_setting(setting: Mapping[str, ParameterValue], configuration: LinkConfiguration) -> str:
    """Parameters with their units: "min_threshold 12.5 packets, weight 0.0021".

    Args:
        setting: some of a discipline's parameters in the units of its table, or of several queues'
            with each link's name before them.
        configuration: of the queue or the queues that they belong to.
    """
    names = setting
    if configuration.queues:
        names = {
            joint_name(link, name): value
            for link, part in by_queue(setting).items()
            for name, value in part.items()
        }
    return ", ".join(f"{each} {format_value(each, names[each], configuration)}" for each in names)


def format_value(
    name: str, value: ParameterValue, configuration: LinkConfiguration, *, exact: bool = False
) -> str:
    """The value of one parameter, with its unit: "12.5 packets".

    Args:
        name: the parameter's, with its link's name before it where there are several queues.
        value: in the unit of its table.
        configuration: of the queue or the queues that it belongs to.
        exact: whether all of its digits are wanted.
    """
    queues = {each.link: each.discipline for each in configuration.queues}
    if not queues:
        return _value(configuration.discipline, name, value, exact=exact)
    [(link, part)] = by_queue({name: value}).items()
    return _value(queues[link], *part.popitem(), exact=exact)


def _value(discipline: str, name: str, value: ParameterValue, *, exact: bool) -> str:
    text = f"{value:.{_DIGITS}g}" if isinstance(value, float) and not exact else str(value)
    known = disciplines().get(discipline)
    if known is None:  # a shaper, or a discipline of the user's own that is not loaded here
        is_rate = name == "bandwidth" and isinstance(value, float)
        return format_quantity(float(text), RATE) if is_rate else text
    parameter = known.parameters.get(name)
    if parameter is None:  # the switch of a law beside the queue
        return "on" if value is True else text
    if exact:
        return str(parameter.exact_text(value))
    if not isinstance(value, float):
        return parameter.readable(value)
    # A plain number keeps the notation of the other figures in the log.
    if parameter.dimension is RATIO:
        return text
    return format_quantity(float(text), parameter.dimension)
