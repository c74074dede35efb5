"""The conditions around those of a scenario, in which a recommendation must hold too.

Nobody knows the conditions of a network exactly, and they change. What is recommended for them is
therefore tried around them, one thing differing at a time:

- twice and half as many flows (:func:`vermilion.scenario.variation.with_flow_counts`);
- round trips twice and half as long;
- all senders CUBIC, Reno or BBR v3, as a Linux kernel has them (Reno with its selective
  acknowledgements, which is the sender ``sack``);
- a tenth of each tuned link's rate as web transfers in addition;
- ECN at all senders and at none, where a tuned queue marks. The queue's own switch stays as it
  is: it is part of what is recommended.

A neighbour that is the scenario itself is left out, and so is one that is no network (round trips
of more than an hour, more flows than a scenario may have).

How a recommended setting fares under one condition around those that it was made for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from vermilion.files.document import document
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.variation import (
    is_same_network,
    with_ecn,
    with_flow_counts,
    with_round_trips,
    with_senders,
    with_web_traffic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate.statistics import Interval
    from vermilion.tuning.certainty import BoundRuling
    from vermilion.tuning.verdict import ConstraintVerdict

WEB_SHARE: Final = 0.1
"""Of a tuned link's rate, as web transfers."""

_OPTION_SET: Final = "linux"
_SENDERS: Final = (("cubic", "CUBIC", "cubic"), ("reno", "Reno", "sack"), ("bbr", "BBR v3", "bbr"))
"""For each: the key, the name in prose, the sender."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One condition near those of a scenario.

    Attributes:
        key: a stable name for machines: "flows-doubled".
        label: in words, to follow "with": "twice as many flows".
        scenario: under that condition, the setting in force included.
        added: groups of flows that the scenario itself does not have.
    """

    key: str
    label: str
    scenario: Scenario
    added: tuple[str, ...] = ()


def neighbours(scenario: Scenario, links: Sequence[str] | None = None) -> tuple[Neighbour, ...]:
    """The stated neighbourhood of a scenario.

    Args:
        scenario: that something is recommended for.
        links: whose queues are tuned; ``None`` for all.

    Returns:
        In the order of the list at the head of this module.
    """
    tuned = tuple(scenario.links if links is None else links)
    made: list[tuple[str, str, Callable[[], Scenario]]] = [
        ("flows-doubled", "twice as many flows", partial(with_flow_counts, scenario, 2.0)),
        ("flows-halved", "half as many flows", partial(with_flow_counts, scenario, 0.5)),
        ("trips-doubled", "round trips twice as long", partial(with_round_trips, scenario, 2.0)),
        ("trips-halved", "round trips half as long", partial(with_round_trips, scenario, 0.5)),
    ]
    for key, title, sender in _SENDERS:
        make = partial(with_senders, scenario, sender, _OPTION_SET)
        made.append((f"senders-{key}", f"{title} senders alone", make))
    found = [_neighbour(scenario, *each) for each in made]
    found.append(_web_neighbour(scenario, tuned))
    if any(_marks_ecn(scenario, link) for link in tuned):
        on, off = (partial(with_ecn, scenario, on=switch) for switch in (True, False))
        found.append(_neighbour(scenario, "ecn-on", "ECN at all senders", on))
        found.append(_neighbour(scenario, "ecn-off", "ECN at no sender", off))
    return tuple(each for each in found if each is not None)


def _neighbour(
    scenario: Scenario, key: str, label: str, make: Callable[[], Scenario]
) -> Neighbour | None:
    try:
        other = make()
    except ScenarioError:
        return None  # no network any more, such as one with more flows than there may be
    return None if is_same_network(scenario, other) else Neighbour(key, label, other)


def _web_neighbour(scenario: Scenario, links: Sequence[str]) -> Neighbour | None:
    other, added = with_web_traffic(scenario, links, WEB_SHARE)
    label = "a tenth of the rate as web traffic"
    return Neighbour("web", label, other, added) if added else None


def _marks_ecn(scenario: Scenario, link: str) -> bool:
    """True if a queue marks packets of senders that know ECN."""
    queue = scenario.links[link].queue
    table = queue.algorithm.parameters
    if "ecn" in table:
        return bool(queue.algorithm.complete(queue.parameters)["ecn"])
    # Some disciplines always do; the tables of those that never do, do not speak of marks.
    return any("mark" in row.meaning for row in table.values())


BREAKS: Final = "breaks a bound"
"""What a table says in place of "worse", where that is why: the objective may well have gained."""

MAY_BREAK: Final = "may break a bound"
MAY_LOSE: Final = "may be worse"
"""What a table says in place of "undecided"."""

NeighbourVerdict = Literal["better", "no difference", "worse", "undecided", "not measured"]


@document(
    "key condition=label verdict reason gains seeds?? best? incumbent? difference?"
    " breaks.constraint? breaks.figures?"
    " may_break.constraint?=may_break.verdict.constraint"
    " may_break.figures?=may_break.verdict.figures may_break.seeds?"
    " may_break.seeds_needed?=may_break.needed"
)
@dataclass(frozen=True, slots=True)
class NeighbourOutcome:
    """Two settings under one neighbouring condition.

    Attributes:
        key: the condition's stable name.
        label: the condition in words, to follow "with".
        verdict: on the recommended setting.
        reason: of the verdict, in words, to follow the condition.
        best: the objective of the recommended setting; ``None`` where it is not measured.
        incumbent: the same of the setting in force.
        difference: recommended - in force, seed by seed, turned so that negative is better.
        constraints: the verdicts on the recommended setting.
        breaks: the one that it breaks and the setting in force keeps, if that is why it is worse.
        may_break: the one of which nobody can tell, if that is why it is undecided.
        seeds: how many both settings have met.
    """

    key: str
    label: str
    verdict: NeighbourVerdict
    reason: str
    best: Interval | None
    incumbent: Interval | None
    difference: Interval | None
    constraints: tuple[ConstraintVerdict, ...]
    breaks: ConstraintVerdict | None = None
    may_break: BoundRuling | None = None
    seeds: int = 0

    @property
    def shown_verdict(self) -> str:
        """The verdict as a table shows it."""
        return shown(
            self.verdict,
            breaks=self.breaks is not None,
            may_break=self.may_break is not None,
        )

    @property
    def gains(self) -> bool:
        """True if the objective is better, even if a bound is broken for it, or may be."""
        if self.breaks is None and self.may_break is None:
            return self.verdict == "better"
        high = None if self.difference is None else self.difference.high
        return high is not None and high < 0.0


def shown(verdict: str, *, breaks: bool, may_break: bool) -> str:
    """A verdict as a table shows it.

    Args:
        verdict: one of :data:`NeighbourVerdict`, or whatever stands for none.
        breaks: whether it is because of a bound that is broken.
        may_break: whether it is because of one that may be.
    """
    if breaks:
        return BREAKS
    if may_break:
        return MAY_BREAK
    return MAY_LOSE if verdict == "undecided" else verdict
