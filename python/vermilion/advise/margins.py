"""Harm of a recommendation: its margins, by default and by the user's word.

The table is that of ``tune`` and of the controller (:data:`vermilion.objectives.harm.MARGINS`). Of
the delay of all packets only twice as much and ten bounds more is harm: the goal itself tells how
long packets wait. Two more are of what only advice simulates: short transfers, and a sparse flow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import CALL, LINK, WEB, condition, network
from vermilion.advise.metrics import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER, SPARSE
from vermilion.advise.question import QueueSetting
from vermilion.objectives.constraint import Constraint
from vermilion.objectives.harm import FLOWS_FOR_A_STARVED_ONE, NOTHING, margins_of
from vermilion.objectives.harm import MARGINS as USUAL
from vermilion.scenario.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.question import Question

METRICS: Final = {
    "goodput": "goodput_bit_per_s",
    "jain_index": "jain_index",
    "starved": "starved_flows",
    "drop_rate": "drop_rate",
    "delay_p95": "delay_p95_ms",
    "short_transfer": SHORT_TRANSFER,
    "call_delay": CALL_DELAY,
    "call_loss": CALL_LOSS,
    "sparse": SPARSE,
}
"""Metric of each margin that has a name."""

SPARSE_POINTS: Final = 1.0
"""By how much a sparse flow may be worse off: a tenth of the bound, or 0.27 % of its packets."""

_SHORT_TRANSFERS: Final = 1.05
_GROSS: Final = 2.0
_GROSS_BOUNDS: Final = 10.0
_SPARSE_NONE: Final = "sparse=none"
_PATHS: Final = {
    "short_transfer": f"flows.{WEB}.completion_time_s.mean",
    "call_delay": f"flows.{CALL}.delay_ms.p95",
    "call_loss": f"flows.{CALL}.packet_loss_rate",
}
_ANY_BIT_PER_S: Final = 1e7
_BEYOND_ALL: Final = 1e9
"""Margins: of what may not get worse at all, and does."""


@dataclass(frozen=True, slots=True)
class Margin:
    """How much worse a metric may get.

    Attributes:
        metric: its name in :class:`vermilion.advise.measuring.Measured`.
        bound: against the queue in force; ``None`` of a sparse flow.
        own: whether a user has given it. It then holds against a broken queue too.
    """

    metric: str
    bound: Constraint | None
    own: bool = False

    def used(self, before: float, after: float, flows: int = 1) -> float:
        """Share of the margin that a change of the metric uses up; 1 is all of it."""
        bound = self.bound
        if bound is None:
            return (after - before) / SPARSE_POINTS
        allowed = abs((bound.bound - 1.0) * before + bound.offset)
        if self.metric == METRICS["starved"] and not self.own:
            allowed = max(allowed, flows / FLOWS_FOR_A_STARVED_ONE)
        worse = before - after if bound.at_least else after - before
        if worse <= 0.0:
            return 0.0
        return min(worse / allowed, _BEYOND_ALL) if allowed > 0.0 else _BEYOND_ALL


@lru_cache(maxsize=16)
def margins_for(question: Question) -> tuple[Margin, ...]:
    """The margins of a question.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    names = {_checked_name(text) for text in question.harm}
    texts = {_with_path(text): text for text in question.harm if "sparse" not in text}
    slow = replace(question, rate_bit_per_s=_ANY_BIT_PER_S, harm=())
    at = condition(slow, question.flows[0], question.round_trip_s[0], WEB, 0.0)
    scenario = network(slow, at, QueueSetting("", "", "drop-tail"))
    found = []
    try:
        for name, margin in margins_of(scenario, [LINK], texts).items():
            usual = margin in USUAL
            # The goal tells how long packets wait; grossly worse is harm all the same.
            gross = f"<= {_GROSS} of reference + {_GROSS_BOUNDS * question.bound_ms!r} ms"
            limit = gross if usual and name == "delay_p95" else margin.bound
            text = f"{margin.path.replace('{link}', LINK)} {limit}"
            bound = Constraint.parse(text, scenario=scenario)
            own = next((known for known, path in _PATHS.items() if path == name), name)
            if not usual:
                _check_leaves_room(bound, own, question.harm)
            found.append(Margin(METRICS.get(own, str(bound.path)), bound, own=not usual))
    except ScenarioError as error:
        text = texts.get(str(error.value), str(error.value))
        raise ScenarioError("--harm", text, error.accepted) from None
    if NOTHING not in names:
        if names.isdisjoint({"call_delay", "call_loss", "sparse"}):
            found.append(Margin(SPARSE, None))
        if "short_transfer" not in names:
            text = f"{_PATHS['short_transfer']} <= {_SHORT_TRANSFERS} of reference"
            found.append(Margin(SHORT_TRANSFER, Constraint.parse(text, scenario=scenario)))
    return tuple(found)


def _with_path(text: str) -> str:
    """A margin of what only advice simulates, by its path."""
    name, sign, amount = text.partition("=")
    return f"{_PATHS.get(name.strip(), name)}{sign}{amount}"


def _checked_name(text: str) -> str:
    """Name that a text is about, if there is such a margin."""
    name = text.partition("=")[0].strip()
    if "=" in text and name not in METRICS and not name.startswith(("links.", "flows.")):
        accepted = f"{did_you_mean(name, list(METRICS))}, or the path of a metric"
        raise ScenarioError("--harm", text, accepted)
    if name == "sparse" and text.partition("=")[2].strip() != NOTHING:
        accepted = f'{_SPARSE_NONE}, or "call_delay=5 ms", "call_loss=0.01"'
        raise ScenarioError("--harm", text, accepted)
    return name


def _check_leaves_room(bound: Constraint, name: str, texts: Sequence[str]) -> None:
    """A margin says how much worse something may get; less than nothing is no margin.

    Raises:
        ScenarioError: it asks for more than there was.
    """
    slack = -bound.offset if bound.at_least else bound.offset
    share = 1.0 - bound.bound if bound.at_least else bound.bound - 1.0
    if slack < 0.0 or share < 0.0:
        text = next((each for each in texts if each.partition("=")[0].strip() == name), name)
        raise ScenarioError("--harm", text, "a margin of 0 or more")
