"""The suite as ``suite.toml`` declares it: families of cases, and the scenario of each case."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
from string import Template
from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.fabric import Fabric, parse_fabric
from vermilion.scenario import parse_scenario
from vermilion.scenario.other_values import with_discipline, with_sender
from vermilion.scenario.own_congestion_control import answers_marks
from vermilion.scenario.quantities import TIME, Quantity
from vermilion.scenario.toml_text import parse_toml
from vermilion.scenario.wire import nominal_rate
from vermilion.simulate.sweeps import labelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario

    Kind = Literal["sender", "discipline"]

_PACKET_BYTES: Final = 1500
_FEWEST_PACKETS: Final = 4


@dataclass(frozen=True, slots=True)
class Family:
    """Cases that ask one question.

    Attributes:
        name: in names of files.
        title: for people.
        question: that it answers.
        kinds: of contestants for which it is held: "sender", "discipline".
        pairs: whether contestants meet each other, two at a time.
        fabric: whether it is a fabric, in which senders written in Python cannot be.
        flow_series: whether flows are read over time.
        joined_s: when the last flow has joined, if they join one by one.
        transfers: whether transfers are recorded.
    """

    name: str
    title: str
    question: str
    kinds: tuple[Kind, ...]
    pairs: bool = False
    fabric: bool = False
    flow_series: bool = False
    joined_s: float = 0.0
    transfers: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario of the suite, with the conditions that make it.

    Attributes:
        family: that it belongs to.
        name: in names of files.
        conditions: by axis, as texts.
        text: of the scenario, in TOML.
    """

    family: Family
    name: str
    conditions: Mapping[str, str]
    text: str = field(repr=False)

    def scenario(self, kind: Kind, contestant: str, against: str = "") -> Scenario:
        """The scenario with a contestant in its place, and another one beside it in a duel.

        Raises:
            ScenarioError: there is no such contestant, or it refuses the host.
        """
        scenario = parse_scenario(self.text, self.name)
        if kind == "discipline":
            return with_discipline(scenario, contestant)[0]
        own = [name for name in scenario.flows if name == "own" or name.startswith("own-")]
        scenario = with_sender(scenario, contestant, own)
        if not answers_marks(contestant.partition(":")[0]):
            off = {f"flows.{name}.sender.ecn": False for name in own}
            scenario = scenario.with_values(off)
        return with_sender(scenario, against, ["other"]) if against else scenario

    def fabric(self, contestant: str) -> Fabric:
        """The fabric with a contestant at its hosts; one that knows ECN uses it.

        Raises:
            ScenarioError: there is no such contestant.
        """
        fabric = parse_fabric(self.text, self.name)
        sender = {**fabric.document["fabric"]["sender"], "congestion_control": contestant}
        return fabric.with_settings(sender=sender)


@cache
def _document() -> dict[str, Any]:
    text = (resources.files("vermilion.bench") / "suite.toml").read_text(encoding="utf-8")
    return parse_toml(text)


def suite_version() -> str:
    """Version of the suite; outcomes of two versions are not comparable."""
    return str(_document()["version"])


def rivals(kind: Kind) -> list[str]:
    """Senders or disciplines beside which a contestant is held."""
    return list(_document()[f"{kind}s"])


def number_of_seeds(*, quick: bool) -> int:
    """Replications of each case."""
    return int(_document()["quick_seeds" if quick else "seeds"])


def cases(kind: Kind, *, quick: bool) -> list[Case]:
    """Every case for contestants of a kind, in the order of the suite."""
    found = []
    for table in _document()["family"]:
        only = table.get("for")
        kinds: tuple[Kind, ...] = ("sender", "discipline") if only is None else (only[:-1],)
        if kind not in kinds:
            continue
        family = Family(
            table["name"],
            table["title"],
            table["question"],
            kinds,
            pairs=table.get("pairs", False),
            fabric=table.get("fabric", False),
            flow_series=table.get("flow_series", False),
            joined_s=table.get("joined_s", 0.0),
            transfers=table.get("transfers", False),
        )
        axes = table["quick" if quick else "axes"]
        for values in product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            found.append(_case(family, table, chosen, quick=quick))
    return found


def _case(
    family: Family, table: Mapping[str, Any], chosen: Mapping[str, Any], *, quick: bool
) -> Case:
    duration = table["duration"][1 if quick else 0]
    names = {name: str(value) for name, value in chosen.items() if not isinstance(value, list)}
    if "network" in chosen:
        names["rate"], names["rtt"] = chosen["network"]
    if "line" in chosen:
        names["schedule"] = table["lines"][chosen["line"]]
    names |= {"duration": duration, "stop": _share_of(duration, 0.5)}
    template = Template(table["scenario"])
    if "$limit" in table["scenario"]:
        trial = parse_scenario(template.substitute(names, limit="10"), family.name)
        packets = float(chosen.get("buffer", 1)) * _delay_product(trial)
        names["limit"] = str(max(_FEWEST_PACKETS, math.ceil(packets)))
    conditions = {
        axis: ", ".join(value) if isinstance(value, list) else str(value)
        for axis, value in chosen.items()
    }
    words = "-".join(each.replace(" ", "").replace("/", "") for each in conditions.values())
    name = f"{family.name}-{words.replace(',', '-')}"
    return Case(family, name, conditions, template.substitute(names).lstrip())


def _share_of(duration: str, share: float) -> str:
    return f"{Quantity(TIME).parse(duration) * share:g} s"


def _delay_product(scenario: Scenario) -> float:
    """Bandwidth-delay product of the longest round trip, in packets."""
    longest = max(
        Quantity(TIME).parse(end.strip())
        for group in scenario.document["flows"].values()
        for end in str(group["rtt"]).split("..")
    )
    return nominal_rate(scenario, "line") * longest / 8 / _PACKET_BYTES


def contestants(own: str, others: Sequence[str]) -> dict[str, str]:
    """Algorithms by label, one's own first: "copa", or "copa:delta=0.1=gentle"."""
    return dict(labelled([own, *others], []))
