"""Margins: the price that a recommendation may have, by default and by the user's word.

The words are those of ``tune`` (:mod:`vermilion.objectives.harm`): a metric and by how much it may
get worse, "jain_index=0.1", or "none". What is not named keeps the margin of
:data:`vermilion.advise.harms.MARGINS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import CALL, LINK, WEB, condition, network
from vermilion.advise.question import QueueSetting
from vermilion.objectives.constraint import Constraint
from vermilion.objectives.harm import MARGINS as USUAL
from vermilion.objectives.harm import NOTHING, margins_of
from vermilion.scenario.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.advise.question import Question

OWN: Final = {
    "goodput": "goodput_bit_per_s",
    "jain_index": "jain_index",
    "starved": "starved_flows",
    "drop_rate": "drop_rate",
    "delay_p95": "delay_p95_ms",
}
"""The metrics here of the margins by name."""

SHORT_TRANSFER: Final = "short_transfer_s"
"""How long short transfers take on average."""

CALL_DELAY: Final = "call_delay_p95_ms"
"""How long 95 % of a call's packets wait at most."""

CALL_LOSS: Final = "call_loss_rate"
"""The part of a call's packets that are lost."""

OF_WEB: Final = {
    "short_transfer": (SHORT_TRANSFER, f"flows.{WEB}.completion_time_s.mean"),
    "call_delay": (CALL_DELAY, f"flows.{CALL}.delay_ms.p95"),
    "call_loss": (CALL_LOSS, f"flows.{CALL}.packet_loss_rate"),
}
"""The margins of the condition with web traffic by name: the metric here, and the path of one whose
unit it has."""

_OF_WEB: Final = frozenset(metric for metric, _ in OF_WEB.values())

_FAST_BIT_PER_S: Final = 1e8
"""A line on which there is a call in any case."""

_BEYOND_ALL: Final = 1e9
"""Margins: of what may not get worse at all, and does."""


def margin_name(metric: str) -> str:
    """Name of a margin in ``--harm``: its own, or the path of its metric."""
    names = {own: name for name, own in OWN.items()}
    names |= {own: name for name, (own, _) in OF_WEB.items()}
    return names.get(metric, metric)


@dataclass(frozen=True, slots=True)
class OwnMargin:
    """A margin that a user has given.

    Attributes:
        metric: its name in :class:`vermilion.advise.measuring.Measured`.
        bound: against the queue in force.
    """

    metric: str
    bound: Constraint

    def used(self, before: float, after: float) -> float:
        """Share of the margin that a change of the metric uses up; 1 is all of it."""
        allowed = abs((self.bound.bound - 1.0) * before + self.bound.offset)
        worse = before - after if self.bound.at_least else after - before
        if worse <= 0.0:
            return 0.0
        return min(worse / allowed, _BEYOND_ALL) if allowed > 0.0 else _BEYOND_ALL


@dataclass(frozen=True, slots=True)
class Margins:
    """Margins of a question.

    Attributes:
        usual: metrics of which the margin is the usual one.
        own: what the user has given instead, or besides.
    """

    usual: frozenset[str]
    own: tuple[OwnMargin, ...] = ()

    @property
    def measured_besides(self) -> tuple[OwnMargin, ...]:
        """Margins whose metric has to be asked of a run."""
        known = {*OWN.values(), *_OF_WEB}
        return tuple(each for each in self.own if each.metric not in known)


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


@lru_cache(maxsize=16)
def margins_for(question: Question) -> Margins:
    """The margins of a question.

    Raises:
        ScenarioError: a text that is not accepted.
    """
    usual = {*OWN.values(), *_OF_WEB}
    if not question.harm:
        return Margins(frozenset(usual))
    for text in question.harm:
        _check_name(text)
    names = {_name(text) for text in question.harm}
    others = tuple(text for text in question.harm if _name(text) not in OF_WEB)
    at = condition(question, question.flows[0], question.round_trip_s[0], "bulk", 0.0)
    scenario = network(question, at, QueueSetting("", "", "drop-tail"))
    own = []
    try:
        known = margins_of(scenario, [LINK], others)
        plain = {margin.name: margin for margin in USUAL}
        usual = {OWN[name] for name in known if plain.get(name) == known[name]}
        for name, margin in known.items():
            if plain.get(name) == margin:
                continue
            text = f"{margin.path.replace('{link}', LINK)} {margin.bound}"
            bound = Constraint.parse(text, scenario=scenario)
            _check_leaves_room(bound, name, others)
            own.append(OwnMargin(OWN.get(name, str(bound.path)), bound))
    except ScenarioError as error:
        raise ScenarioError("--harm", error.value, error.accepted) from None
    own += [each for text in question.harm for each in _web_margins(question, text)]
    if NOTHING not in names:
        usual |= {metric for name, (metric, _) in OF_WEB.items() if name not in names}
    return Margins(frozenset(usual), tuple(own))


def _name(text: str) -> str:
    """Name that a text is about."""
    return text.partition("=")[0].strip()


def _check_name(text: str) -> None:
    """Refuses a name that no margin has; the rest of the text is looked at later."""
    name = _name(text)
    known = [*OWN, *OF_WEB]
    if "=" in text and name not in known and not name.startswith(("links.", "flows.")):
        accepted = f"{did_you_mean(name, known)}, or the path of a metric"
        raise ScenarioError("--harm", text, accepted)


def _web_margins(question: Question, text: str) -> list[OwnMargin]:
    """The margin of a text, if it is about the condition with web traffic and gives one."""
    name, amount = _name(text), text.partition("=")[2].strip()
    if name not in OF_WEB or amount == NOTHING:
        return []
    metric, path = OF_WEB[name]
    fast = replace(question, rate_bit_per_s=_FAST_BIT_PER_S, harm=())
    at = condition(fast, fast.flows[0], fast.round_trip_s[0], WEB, 0.0)
    scenario = network(fast, at, QueueSetting("", "", "drop-tail"))
    try:
        [margin] = margins_of(scenario, [LINK], [NOTHING, f"{path}={amount}"]).values()
        bound = Constraint.parse(f"{margin.path} {margin.bound}", scenario=scenario)
    except ScenarioError as error:
        raise ScenarioError("--harm", text, error.accepted) from None
    _check_leaves_room(bound, name, [text])
    return [OwnMargin(metric, bound)]
