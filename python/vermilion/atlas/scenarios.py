"""The network of a cell: one link that long-lived flows share.

What a plan leaves open follows from the conditions alone:

1. The buffer holds a bandwidth-delay product, or four times the target if that is more.
2. Round trips are drawn from +-10 % around the mean: flows with equal ones fall into step with the
   queue (S. Floyd and V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
3. Measured are 20 s, or six sawtooths of a flow with its fair share if that is longer (a window W
   falls to W/2 and takes W/2 round trips to come back). The warm-up is two sawtooths and twenty
   round trips, at least 5 s.
4. A threshold in packets is searched from a tenth of the target to four times the target; other
   parameters in the boxes of their tables, unless the plan says otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import PACKETS, ScenarioError, disciplines, scenario_from_document
from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.scenario.overrides import apply_overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.atlas.plan import Condition, Plan
    from vermilion.scenario import Scenario

LINK: Final = "bottleneck"
FLOWS: Final = "bulk"
QUEUE: Final = f"links.{LINK}.queue"

_SPREAD: Final = 0.1
_LEAST_MEASURED_S: Final = 20.0
_LEAST_WARM_UP_S: Final = 5.0
_SAWTOOTHS: Final = 6.0


def packets_per_second(plan: Plan, condition: Condition) -> float:
    """What the link can send."""
    return condition.rate_bit_per_s / (8.0 * plan.packet_bytes)


def target_packets(plan: Plan, condition: Condition) -> float:
    """The queue that is wanted; at least two packets."""
    return max(2.0, plan.target_delay_s * packets_per_second(plan, condition))


def pipe_packets(plan: Plan, condition: Condition) -> float:
    """The bandwidth-delay product."""
    return condition.round_trip_s * packets_per_second(plan, condition)


def tuned_parameters(plan: Plan) -> tuple[str, ...]:
    """The names of what is tuned.

    Raises:
        ScenarioError: there is no such discipline or parameter, or nothing to tune.
    """
    name, _, fixed = plan.discipline.partition(":")
    known = disciplines()
    if name not in known:
        raise ScenarioError("discipline", name, did_you_mean(name, known), "atlas")
    set_already = {text.partition("=")[0].strip() for text in fixed.split(",")}
    searchable = [
        parameter.name
        for parameter in known[name].parameters.values()
        if parameter.kind == "number"
        and parameter.search is not None
        and parameter.name not in set_already
    ]
    for chosen in plan.parameters:
        if chosen not in searchable:
            raise ScenarioError("parameters", chosen, did_you_mean(chosen, searchable), "atlas")
    if not searchable:
        accepted = "a discipline with parameters to search (vermilion disciplines)"
        raise ScenarioError("discipline", plan.discipline, accepted, "atlas")
    return plan.parameters or tuple(searchable)


def cell_scenario(
    plan: Plan, condition: Condition, queue: Mapping[str, Any] | None = None
) -> Scenario:
    """The scenario of a cell.

    Args:
        plan: of the atlas.
        condition: of the cell.
        queue: another queue than the plan's: ``discipline``, and values of its parameters.

    Raises:
        ScenarioError: the plan's discipline, sender, objective or constraints are not accepted.
    """
    target = target_packets(plan, condition)
    pipe = pipe_packets(plan, condition)
    trip = condition.round_trip_s
    window = (pipe + target) / condition.flows
    sawtooth = 0.5 * window * (trip + plan.target_delay_s)
    warm_up = max(_LEAST_WARM_UP_S, 2.0 * sawtooth + 20.0 * trip)
    name, _, fixed = plan.discipline.partition(":")
    names = tuned_parameters(plan)
    table = disciplines()[name].parameters
    own: dict[str, Any] = {"discipline": name}
    if queue is not None:
        rows = disciplines()[queue["discipline"]].parameters
        own = {
            key: rows[key].exact_text(value) if isinstance(value, float) else value
            for key, value in queue.items()
        }
    buffer = math.ceil(max(4.0 * target, pipe, 8.0))
    if "limit" in disciplines()[own["discipline"]].parameters:
        own.setdefault("limit", f"{buffer} packets")
    if "mean_packet_size" in disciplines()[own["discipline"]].parameters:
        own.setdefault("mean_packet_size", f"{plan.packet_bytes} bytes")
    paths = [f"{QUEUE}.{parameter}" for parameter in names]
    space: dict[str, list[Any]] = {
        f"{QUEUE}.{parameter}": [
            f"{max(0.5, 0.1 * target)!r} packets",
            f"{4.0 * target!r} packets",
        ]
        for parameter in names
        if table[parameter].dimension is PACKETS
    }
    for parameter, low, high in plan.space:
        if parameter not in names:
            raise ScenarioError("space", parameter, did_you_mean(parameter, names), "atlas")
        space[f"{QUEUE}.{parameter}"] = [low, high]
    objective: Any = plan.objective or {
        "name": "queue-deviation",
        "link": LINK,
        "target": f"{target!r} packets",
    }
    tuning: dict[str, Any] = {"parameters": paths, "objective": objective, "space": space}
    if plan.constraints is not None:
        tuning["constraints"] = list(plan.constraints)
    document: dict[str, Any] = {
        "title": str(condition),
        "duration": f"{warm_up + max(_LEAST_MEASURED_S, _SAWTOOTHS * sawtooth)!r} s",
        "warm_up": f"{warm_up!r} s",
        "links": {
            LINK: {
                "rate": f"{condition.rate_bit_per_s!r} bit/s",
                "delay": f"{trip / 4.0!r} s",
                "queue": own,
            }
        },
        "flows": {
            FLOWS: {
                "count": condition.flows,
                "path": [LINK],
                "rtt": f"{(1.0 - _SPREAD) * trip!r} s .. {(1.0 + _SPREAD) * trip!r} s",
                "sender": {"congestion_control": plan.sender, "ecn": condition.ecn},
                "packet_size": f"{plan.packet_bytes} bytes",
                "start": "0 s .. 1 s",
            }
        },
    }
    if queue is None:
        document["tuning"] = tuning
    overrides = [
        f"{QUEUE}.{_in_packets(text.strip(), target)}" for text in fixed.split(",") if text.strip()
    ]
    try:
        apply_overrides(document, overrides if queue is None else [])
    except FieldError as error:
        raise error.at("atlas") from None
    return scenario_from_document(document, "atlas")


def _in_packets(text: str, target: float) -> str:
    """A setting "name=value" with "0.5 target" written in packets."""
    name, _, value = text.partition("=")
    parts = value.split()
    try:
        factor = float(parts[0]) if len(parts) == 2 and parts[1] == "target" else None  # noqa: PLR2004 - a number and a unit
    except ValueError:
        factor = None
    return text if factor is None else f"{name}={factor * target!r} packets"
