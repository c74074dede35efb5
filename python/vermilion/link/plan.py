"""Plan of an emulated link: a scenario with a link for each way, from options or a scenario.

Whatever is said about a link is a value of a scenario, so that it is checked by the same rules,
with the same words, and can be simulated as it stands.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import TIME, QuantityError
from vermilion.scenario.errors import FieldError, ScenarioError, errors_of, one_of
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.overrides import apply_overrides
from vermilion.scenario.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario

UPLINK: Final = "uplink"
DOWNLINK: Final = "downlink"
WAYS: Final = (UPLINK, DOWNLINK)
"""Directions from the command to the world, and back, in the core's order."""

ORIGIN: Final = "link"
"""Name of the scenario made of options, for messages."""

_RATES: Final = ("rate", "rate_schedule", "trace")
_NO_QUEUE: Final = {
    "rate": "100 Gbit/s",
    "queue": {"discipline": "drop-tail", "limit": "1000000 packets"},
}
_LONGEST_DELAY: Final = "1 h"
_ENDLESS: Final = "1000000 s"


@dataclass(frozen=True, slots=True)
class Options:
    """Link options of the command, as texts of the scenario language.

    Attributes:
        rate: of both ways; ``None`` with a trace.
        trace: a file of delivery opportunities, for both ways.
        delay: one way.
        discipline: of both queues.
        loss: the probability that a packet is lost on the wire.
        overrides: "PATH=VALUE" of a scenario, or of both links where it does not say of which.
        uplink: "PATH=VALUE" of the way from the command alone.
        downlink: and of the way back.
        warm_up: what is not measured at the beginning; ``None``: nothing, or as a scenario says.
    """

    rate: str | None = None
    trace: str | None = None
    delay: str = "0 ms"
    discipline: str = "drop-tail"
    loss: str | None = None
    overrides: Sequence[str] = ()
    uplink: Sequence[str] = ()
    downlink: Sequence[str] = ()
    warm_up: str | None = None


def plan_of_options(options: Options) -> Scenario:
    """The scenario of a link that options describe.

    Raises:
        ScenarioError: one of them is not accepted, or there is no rate.
    """
    link: dict[str, Any] = {"delay": options.delay, "queue": {"discipline": options.discipline}}
    if options.rate is not None:
        link["rate"] = options.rate
    if options.trace is not None:
        link["trace"] = str(Path(options.trace).absolute())
    if options.loss is not None:
        link["loss"] = {"model": "bernoulli", "probability": options.loss}
    document: dict[str, Any] = {
        "title": "an emulated link",
        "duration": _ENDLESS,
        "links": {name: deepcopy(link) for name in WAYS},
    }
    return _plan_scenario(document, ORIGIN, options)


def plan_of_scenario(
    scenario: Scenario, name: str | None, options: Options, *, reverse: bool
) -> Scenario:
    """The scenario of a link of another scenario, with the way back that its flows have.

    The uplink is the link that is named, or the first that data crosses; the downlink the first
    that acknowledgements cross, and without one a wire that takes what the round trip leaves.

    Args:
        scenario: whose link it is.
        name: of the link; ``None`` for the first on the path of the first group of flows.
        options: ``overrides``, ``uplink`` and ``downlink`` of which are used.
        reverse: data come to the command, so that uplink and downlink change places.

    Raises:
        ScenarioError: there is no such link, or a value that is not accepted.
    """
    groups = list(scenario.flows.values())
    if name is None:
        name = groups[0].path[0]
    if name not in scenario.links:
        raise ScenarioError("link", name, one_of(scenario.links), scenario.origin)
    group = next((each for each in groups if name in each.path), groups[0])
    tables = scenario.document["links"]
    there = deepcopy(dict(tables[name]))
    if group.return_path:
        back = deepcopy(dict(tables[group.return_path[0]]))
    else:
        core = scenario.core()
        round_trip_ns = next(each.mean_rtt_ns for each in core.flows if name in each.path)
        rest_ns = max(0, round(round_trip_ns) - core.link(name).delay_ns)
        back = {**deepcopy(_NO_QUEUE), "delay": f"{rest_ns} ns"}
    ways = (back, there) if reverse else (there, back)
    document: dict[str, Any] = {
        "title": scenario.title,
        "duration": f"{scenario.duration} s",
        "warm_up": f"{scenario.warm_up} s",
        "links": dict(zip(WAYS, ways, strict=True)),
    }
    if "settle" in scenario.document:
        document["settle"] = scenario.document["settle"]
    names = {name: UPLINK if not reverse else DOWNLINK}
    if group.return_path:
        names[group.return_path[0]] = DOWNLINK if not reverse else UPLINK
    changes = [
        {**deepcopy(dict(each)), "link": names[each["link"]]}
        for each in scenario.document.get("changes", ())
        if each["link"] in names
    ]
    if changes:
        document["changes"] = changes
    return _plan_scenario(document, scenario.origin, options)


def _plan_scenario(document: dict[str, Any], origin: str, options: Options) -> Scenario:
    if options.warm_up is not None:
        document["warm_up"] = options.warm_up
    with errors_of(origin):
        for override in options.overrides:
            apply_overrides(
                document, [override if _names_link(override) else f"links.*.{override}"]
            )
        for way, overrides in ((UPLINK, options.uplink), (DOWNLINK, options.downlink)):
            for override in overrides:
                _drop_other_rates(document["links"][way], override)
                apply_overrides(document, [f"links.{way}.{override}"])
    document["flows"] = {
        "command": {
            "count": 1,
            "path": [UPLINK],
            "return_path": [DOWNLINK],
            "rtt": _round_trip(document),
            "sender": "sack",
            "packet_size": "1500 bytes",
        }
    }
    return scenario_from_document(document, origin)


def _names_link(override: str) -> bool:
    return override.partition(".")[0].strip() == "links" or "=" not in override


def _drop_other_rates(link: dict[str, Any], override: str) -> None:
    """A way of its own kind of rate does not keep the one that both ways were given."""
    given = override.partition("=")[0].strip()
    if given in _RATES:
        for key in _RATES:
            link.pop(key, None)


def _round_trip(document: dict[str, Any]) -> str:
    """Sum of both delays; the longest accepted where one cannot be read."""
    try:
        delays = [float(Quantity(TIME).parse(link["delay"])) for link in document["links"].values()]
    except (QuantityError, FieldError, KeyError, TypeError):
        return _LONGEST_DELAY  # which is refused where it stands
    return f"{sum(delays):.9f} s"
