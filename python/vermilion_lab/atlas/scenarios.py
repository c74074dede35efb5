"""The network of a cell: one link that long-lived flows share.

What a plan leaves open follows from the conditions alone:

The *target* is the queue that the plan's delay allows, or asks to be held.

1. The buffer holds a bandwidth-delay product, or four times the target if that is more.
2. Round trips are drawn from +-10 % around the mean: flows with equal ones fall into step with the
   queue (S. Floyd and V. Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
3. Measured are 20 s, or six sawtooths of a flow with its fair share if that is longer (a window W
   falls to W/2 and takes W/2 round trips to come back). The warm-up is two sawtooths and twenty
   round trips, at least 5 s.
4. A threshold in packets or bytes is searched from a tenth of the target to four times the target;
   other parameters in the boxes of their tables, unless the plan says otherwise.
5. All packets are green, so of a discipline with thresholds for each colour the green ones are
   tuned, unless the plan names others. What does nothing as the discipline is set is not tuned.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.scenario import (
    PACKETS,
    SIZE,
    TIME,
    ScenarioError,
    disciplines,
    scenario_from_document,
)
from vermilion.scenario.errors import did_you_mean, errors_of
from vermilion.scenario.overrides import apply_overrides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Parameter, Scenario
    from vermilion_lab.atlas.plan import Condition, Plan

LINK: Final = "bottleneck"
FLOWS: Final = "bulk"
QUEUE: Final = f"links.{LINK}.queue"

_SPREAD: Final = 0.1
_LEAST_MEASURED_S: Final = 20.0
_LEAST_WARM_UP_S: Final = 5.0
_SAWTOOTHS: Final = 6.0


def packets_per_second(plan: Plan, condition: Condition) -> float:
    """Capacity of the link."""
    return condition.rate_bit_per_s / (8.0 * plan.packet_bytes)


def target_packets(plan: Plan, condition: Condition) -> float:
    """The queue that is allowed or wanted; at least two packets."""
    return max(2.0, plan.delay_s * packets_per_second(plan, condition))


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
    algorithm = known[name]
    pairs = [text.partition("=") for text in fixed.split(",")]
    given = {parameter.strip(): value.strip() for parameter, _, value in pairs}
    searchable = [
        parameter.name
        for parameter in algorithm.parameters.values()
        if parameter.kind == "number"
        and parameter.search is not None
        and parameter.name not in given
    ]
    for chosen in plan.parameters:
        if chosen not in searchable:
            raise ScenarioError("parameters", chosen, did_you_mean(chosen, searchable), "atlas")
    if not searchable:
        accepted = "a discipline with parameters to search (vermilion disciplines)"
        raise ScenarioError("discipline", plan.discipline, accepted, "atlas")
    return plan.parameters or tuple(
        name
        for name in searchable
        if algorithm.colour_of(name) in {None, "green"} and algorithm.is_read(name, given)
    )


def size_of_a_target(plan: Plan, condition: Condition, parameter: Parameter) -> float | None:
    """The target in the unit of a parameter; ``None`` where that is no length of a queue."""
    if parameter.dimension is PACKETS:
        return target_packets(plan, condition)
    if parameter.dimension is SIZE:
        return target_packets(plan, condition) * plan.packet_bytes
    return None


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
    sawtooth = 0.5 * window * (trip + plan.delay_s)
    warm_up = max(_LEAST_WARM_UP_S, 2.0 * sawtooth + 20.0 * trip)
    name, _, fixed = plan.discipline.partition(":")
    sender, _, options = plan.sender.partition(":")
    names = tuned_parameters(plan)
    table = disciplines()[name].parameters
    own = _queue(plan, {"discipline": name} if queue is None else queue, target, pipe)
    objective = plan.objective or _default_objective(plan, target)
    tuning: dict[str, object] = {
        "parameters": [f"{QUEUE}.{parameter}" for parameter in names],
        "objective": objective,
        "space": _space(plan, condition, names),
    }
    if plan.constraints is not None:
        tuning["constraints"] = list(plan.constraints)
    document: dict[str, object] = {
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
                "sender": {"congestion_control": sender, "ecn": condition.ecn},
                "packet_size": f"{plan.packet_bytes} bytes",
                "start": "0 s .. 1 s",
            }
        },
    }
    if queue is None:
        document["tuning"] = tuning
    overrides = [f"flows.{FLOWS}.sender.{text}" for text in _settings(options)]
    if queue is None:
        overrides += [
            f"{QUEUE}.{_resolve_targets(text, plan, condition, table)}" for text in _settings(fixed)
        ]
    with errors_of("atlas"):
        apply_overrides(document, overrides)
    return scenario_from_document(document, "atlas")


def _queue(plan: Plan, queue: Mapping[str, Any], target: float, pipe: float) -> dict[str, object]:
    """The table of a queue, with what the conditions say where it says nothing."""
    rows = disciplines()[queue["discipline"]].parameters
    own = {
        key: rows[key].exact_text(value) if isinstance(value, float) else value
        for key, value in queue.items()
    }
    buffer = math.ceil(max(4.0 * target, pipe, 8.0))
    if "limit" in rows:
        in_bytes = rows["limit"].dimension is SIZE
        size = f"{buffer * plan.packet_bytes} bytes" if in_bytes else f"{buffer} packets"
        own.setdefault("limit", size)
    if "mean_packet_size" in rows:
        own.setdefault("mean_packet_size", f"{plan.packet_bytes} bytes")
    return own


def _space(plan: Plan, condition: Condition, names: Sequence[str]) -> dict[str, list[Any]]:
    """The boxes of a cell that are not those of the parameter table."""
    table = disciplines()[plan.discipline.partition(":")[0]].parameters
    target = target_packets(plan, condition)
    space: dict[str, list[Any]] = {}
    for name in names:
        size = size_of_a_target(plan, condition, table[name])
        if size is not None:
            half_a_packet = 0.5 * size / target
            ends = (max(half_a_packet, 0.1 * size), 4.0 * size)
            space[f"{QUEUE}.{name}"] = [_length(table[name], end) for end in ends]
    for name, low, high in plan.space:
        if name not in names:
            raise ScenarioError("space", name, did_you_mean(name, names), "atlas")
        space[f"{QUEUE}.{name}"] = [low, high]
    return space


def _default_objective(plan: Plan, target: float) -> dict[str, object]:
    """Minimal deviation from the target, with the delay bounded or the queue held."""
    if plan.hold_at_s is not None:
        return {"name": "queue-deviation", "link": LINK, "target": f"{target!r} packets"}
    return {
        "name": "delay-bound",
        "link": LINK,
        "flows": FLOWS,
        "at_most": f"{plan.target_delay_s!r} s",
    }


def _settings(text: str) -> list[str]:
    """The settings after a colon, each "name=value"."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _resolve_targets(
    text: str, plan: Plan, condition: Condition, table: Mapping[str, Parameter]
) -> str:
    """A setting "name=value" with "0.5 target" written in the unit of its parameter."""
    name, _, value = text.partition("=")
    parts = value.split()
    try:
        factor = float(parts[0]) if len(parts) == 2 and parts[1] == "target" else None  # noqa: PLR2004 - a number and a unit
    except ValueError:
        return text
    parameter = table.get(name.strip())
    if factor is None or parameter is None:
        return text
    if parameter.dimension is TIME:
        return f"{name}={factor * plan.delay_s!r} s"
    size = size_of_a_target(plan, condition, parameter)
    return text if size is None else f"{name}={_length(parameter, factor * size)}"


def _length(parameter: Parameter, size: float) -> object:
    """A length of a queue as a scenario has it; whole where the parameter is."""
    return parameter.exact_text(round(size) if parameter.integer else size)
