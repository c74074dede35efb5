"""Bounds of harm: the largest cost of a change, whatever it gains.

A queue can be held at its target by starving some of the flows, and a link kept busy by dropping a
third of what arrives. A longer buffer drops less, but every packet waits for it. So nothing is
recommended that worsens one of these by more than its margin against the setting in force, with
the same traffic. The margins are the one table of this module.
They are wide enough for what a shorter queue cannot avoid: a smaller window means more drops, by
the square root law p ~ 1 / W^2 (M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The macroscopic behavior
of the TCP congestion avoidance algorithm", CCR 27(3), 1997).

Of very many flows a few more or fewer starve by chance: of 300 behind PIE with a target of 15.0 or
15.1 ms, 14.6 and 16.4 on the same five seeds. So where more than a hundred are there at a time, one
more of each full hundred may.

Where calls or short transfers are beside bulk flows, the fairness that is bounded is that of the
bulk flows: among thirty calls nobody would see one of two downloads starve.

The delay of a link is not bounded where the objective itself tells how long packets wait there, or
a constraint holds it below something: then the user has said what it may be. Where the shortest
round trip is below 10 ms, half of it stands in the place of the 5 ms.

A margin is kept if the mean over the fresh seeds keeps it, in every measured phase. What a user has
asked for as a constraint must be proven instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from vermilion.objectives.constraint import Constraint, path_in
from vermilion.objectives.metrics import MetricPath
from vermilion.objectives.noticeable import shortest_round_trip
from vermilion.scenario.errors import FieldError, ScenarioError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vermilion.objectives.interface import Objective
    from vermilion.scenario import Scenario

NOTHING: Final = "none"
"""In place of a margin, or of all: any price may be paid."""


@dataclass(frozen=True, slots=True)
class Margin:
    """Margin by which a change may worsen one metric.

    Attributes:
        name: of the metric, short.
        path: of the metric, with ``{link}`` for each tuned link where it is of links.
        bound: the right side of a constraint, like ">= 0.98 of reference".
        meaning: in words.
    """

    name: str
    path: str
    bound: str
    meaning: str


MARGINS: Final[tuple[Margin, ...]] = (
    Margin(
        "goodput",
        "flows.*.goodput_bit_per_s.total",
        ">= 0.98 of reference",
        "at most 2 % less goodput, all flows together",
    ),
    Margin(
        "jain_index",
        "flows.*.jain_index",
        ">= reference - 0.05",
        "Jain's fairness index at most 0.05 lower",
    ),
    Margin(
        "starved",
        "flows.*.starved",
        "<= reference + 1",
        "at most one further flow with less than 5 % of the mean goodput",
    ),
    Margin(
        "drop_rate",
        "links.{link}.drop_rate",
        "<= 1.25 of reference + 0.02",
        "at most 25 % more drops, plus 2 % of the packets",
    ),
    Margin(
        "delay_p95",
        "links.{link}.sojourn_ms.p95",
        "<= 1.25 of reference + 5 ms",
        "95 % of the packets wait at most 25 % longer, plus 5 ms",
    ),
)
"""Default margins."""

FLOWS_FOR_A_STARVED_ONE: Final = 100
"""For each full number of these at a time, one further flow may starve; one in any case."""

_PRESENT_SHARE: Final = 0.5
"""The part of a phase in which flows have to be there to belong to it."""

_STARVED: Final = "starved"
_DELAY: Final = "delay_p95"
_DELAY_MS: Final = 5.0
_ROUND_TRIPS: Final = 0.5
"""What packets may wait longer in any case, in milliseconds, and at most in round trips."""
_DELAY_METRICS: Final = frozenset({"queue_packets", "queue_bytes", "sojourn_ms"})
_FIELD: Final = "tuning.harm"
_ACCEPTED: Final = (
    '"none", or METRIC=MARGIN like "jain_index=0.1", "flows.*.goodput_bit_per_s.total=5 %" or '
    '"starved=none"'
)


def meaning_of(constraint: str) -> str:
    """A bound of harm in words; "" of one that a user has written.

    Args:
        constraint: as written, of whatever link or flows.
    """
    path = path_in(constraint)
    bound = constraint.strip().removeprefix(path).strip()
    ends = path.split(".", 2)[::2]
    return next(
        (
            margin.meaning
            for margin in MARGINS
            if margin.bound == bound and margin.path.split(".", 2)[::2] == ends
        ),
        "",
    )


def harm_bounds(
    scenario: Scenario,
    links: Sequence[str],
    texts: Iterable[str] | None = None,
    *,
    objectives: Iterable[Objective] = (),
    constraints: Iterable[Constraint] = (),
) -> tuple[Constraint, ...]:
    """List the bounds on what a change of these links' queues may cost.

    Args:
        scenario: to which they belong.
        links: whose queues are tuned.
        texts: changes of :data:`MARGINS`, each "METRIC=MARGIN" or "METRIC=none"; "none" alone
            drops them all. METRIC is a name of the table or any path of a metric. MARGIN is how
            much worse it may get, in the metric's unit; of what has a unit, "5 %" is of the value
            in force.
        objectives: what is wanted; whose delay one of them is about, is bounded by no margin.
        constraints: what a user has asked for, likewise.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    margins = margins_of(scenario, links, texts)
    delay_links: set[str] = set()
    if margins.get(_DELAY) in MARGINS:
        margins[_DELAY] = replace(margins[_DELAY], bound=_delay_bound(scenario))
        stated = [path for each in objectives for path in each.paths]
        stated += [each.path for each in constraints if not (each.at_least or each.of_harm)]
        delay_links = {link for link in links if any(_tells_delay(each, link) for each in stated)}
    if margins.get(_STARVED) in MARGINS:
        most = _flows_at_a_time(scenario) // FLOWS_FOR_A_STARVED_ONE
        if most > 1:
            margins[_STARVED] = replace(margins[_STARVED], bound=f"<= reference + {most}")
    return tuple(
        replace(Constraint.parse(text, field=_FIELD, scenario=scenario), of_harm=True)
        for margin in margins.values()
        for text in dict.fromkeys(
            f"{_with_link(margin.path, link)} {margin.bound}"
            for link in links
            if margin.name != _DELAY or link not in delay_links
        )
    )


def margins_of(
    scenario: Scenario, links: Sequence[str], texts: Iterable[str] | None = None
) -> dict[str, Margin]:
    """Margins by name: :data:`MARGINS` with the changes of :func:`harm_bounds`.

    One that a user has given is named by its path if the table does not have it, and has no
    meaning in words.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    margins = {margin.name: margin for margin in MARGINS}
    for text in texts or ():
        if text.strip() == NOTHING:
            margins = {}
            continue
        name, sign, amount = (part.strip() for part in text.partition("="))
        if not sign or not amount:
            raise ScenarioError(_FIELD, text, _ACCEPTED, scenario.origin)
        known = next((each for each in MARGINS if name in _accepted_names(each, links)), None)
        key, path = (name, name) if known is None else (known.name, known.path)
        if known is None and not name.startswith(("links.", "flows.")):
            listed = did_you_mean(name, [each.name for each in MARGINS])
            raise ScenarioError(_FIELD, text, f"{listed}, or the path of a metric", scenario.origin)
        if amount == NOTHING:
            margins.pop(key, None)
            continue
        bound = _bound(_with_link(path, links[0]) if links else path, amount, text, scenario)
        margins[key] = Margin(key, path, bound, "")
    return margins


def _accepted_names(margin: Margin, links: Sequence[str]) -> set[str]:
    """Names that a user may give to a margin; for a single link also the path with its name."""
    names = {margin.name, margin.path}
    return names | {_with_link(margin.path, links[0])} if len(links) == 1 else names


def _delay_bound(scenario: Scenario) -> str:
    """Default bound of the delay, in a scenario with these round trips."""
    usual = next(margin.bound for margin in MARGINS if margin.name == _DELAY)
    shortest = shortest_round_trip(scenario)
    if shortest is None or 1e3 * _ROUND_TRIPS * shortest >= _DELAY_MS:
        return usual
    return f"{usual.rpartition('+')[0]}+ {1e3 * _ROUND_TRIPS * shortest:.3g} ms"


def _tells_delay(path: MetricPath, link: str) -> bool:
    """Return whether a metric tells how long packets wait at a link, perhaps among other things."""
    kind, _, statistic = path.metric.partition(".")
    if path.room == "flows":
        return kind == "delay_ms"
    # A queue that does not swing may be a long one.
    return path.name == link and kind in _DELAY_METRICS and statistic != "sd"


def _flows_at_a_time(scenario: Scenario) -> int:
    """Number of bulk flows in the phase that has most."""
    core = scenario.core()
    ends = [0, *core.instants(), core.duration_ns]
    groups = [each for each in core.flows if each.traffic["kind"] == "bulk"]
    return max(
        sum(each.count for each in groups if each.share_of(begin, end) > _PRESENT_SHARE)
        for begin, end in pairwise(ends)
    )


def _with_link(path: str, link: str) -> str:
    """Insert the link's name into a path; other braces stay."""
    return path.replace("{link}", link)


def _bound(path: str, amount: str, text: str, scenario: Scenario) -> str:
    """Right side of a constraint that lets a metric get so much worse."""
    try:
        metric = MetricPath.parse(path, scenario)
    except FieldError as error:
        raise ScenarioError(_FIELD, text, error.accepted, scenario.origin) from None
    relation, sign = (">=", "-") if metric.higher_is_better else ("<=", "+")
    if amount.startswith("-"):
        raise ScenarioError(_FIELD, text, f"a margin from 0 up; {_ACCEPTED}", scenario.origin)
    if amount.endswith("%") and metric.dimension.unit:
        share = amount.removesuffix("%").strip()
        try:
            worse = float(share) / 100.0
        except ValueError:
            raise ScenarioError(_FIELD, text, _ACCEPTED, scenario.origin) from None
        if not math.isfinite(worse) or (metric.higher_is_better and worse >= 1.0):
            # Nothing loses more than all that there is.
            accepted = 'a margin below 100 %, or "none"'
            raise ScenarioError(_FIELD, text, accepted, scenario.origin)
        factor = 1.0 + float(f"{sign}1") * worse
        return f"{relation} {factor!r} of reference"
    return f"{relation} reference {sign} {amount}"
