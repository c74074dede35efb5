"""Baselines: what an engineer would set without simulating, on the same seeds.

A tuned discipline is worth its trouble only beside them. Each follows from the objective's target,
or from a bound on a delay (:mod:`vermilion.tuning.rules_of_thumb`):

- drop-tail with the bandwidth-delay product over the square root of the flows;
- a steep RED and a quick Adaptive RED, where there is a target or a bound;
- PIE told the target or half the bound, at its default where nothing asks for a delay;
- CoDel and FQ-CoDel as their RFCs have them.

All but drop-tail keep the buffer that is in force. What a device does not have is left out. What
they cost is to be read off their results. A search begins with the one of the tuned discipline, and
unless the best is clearly better, that one is recommended (:mod:`vermilion.tuning.proof`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.profiles import PROFILES, Device
from vermilion.scenario.algorithms import discipline
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.scenario.quantities import PACKETS, SIZE, TIME, format_quantity
from vermilion.scenario.variation import with_queues
from vermilion.scenario.wire import nominal_rate
from vermilion.simulate.runs import run_many
from vermilion.tuning.earlier_answers import conditions_of
from vermilion.tuning.rules_of_thumb import (
    MEAN_OF_P95,
    QUICK_ADAPTIVE_RED,
    STEEP_RED,
    codel_times,
    drop_tail_packets,
)
from vermilion.tuning.simulations import needs_flow_delays

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from vermilion.objectives import Constraint, Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.memory import Runner


def told_delay(
    scenario: Scenario, link: str, objective: Objective, constraints: Sequence[Constraint]
) -> float | None:
    """Return the mean delay that is wanted at one link, in seconds.

    - An objective with a target in packets: as long as they take to send at the link's rate.
    - A bound on a link's queueing delay or queue ("links.bottleneck.sojourn_ms.p95 <= 20"), the
      tightest of several: half of it if it is on a percentile, since disciplines hold a mean.

    Args:
        scenario: gives the rate and the packets.
        link: whose queue it is.
        objective: whose target counts before any bound.
        constraints: among which there may be bounds.

    Returns:
        ``None`` where nothing asks for a delay.
    """
    for part in _summands(objective):
        target = getattr(part, "target", None)
        if link in part.links and isinstance(target, int | float) and target > 0.0:
            return float(target) * packet_seconds(scenario, link)
    return min(_bounds(scenario, link, constraints), default=None)


def packet_seconds(scenario: Scenario, link: str) -> float:
    """Transmission time of a data packet of mean size on a link, in seconds."""
    return 8.0 * mean_packet_bytes(scenario, link) / nominal_rate(scenario, link)


def mean_packet_bytes(scenario: Scenario, link: str) -> float:
    """The mean size of the data packets that cross a link, over its flows; 1000 if none does."""
    groups = [group for group in scenario.flows.values() if link in group.path]
    flows = sum(group.count for group in groups)
    return sum(group.count * group.packet_size for group in groups) / flows if flows else 1000.0


def _summands(objective: Objective) -> Iterator[Objective]:
    """The objective itself, or those that it is a sum of."""
    parts: Iterable[object] = getattr(objective, "parts", ())
    inner = [each for part in parts if (each := getattr(part, "objective", None)) is not None]
    if not inner:
        yield objective
    for each in inner:
        yield from _summands(each)


def _bounds(scenario: Scenario, link: str, constraints: Sequence[Constraint]) -> Iterator[float]:
    """Bounds on a link's delay or queue, in seconds."""
    for constraint in constraints:
        path = constraint.path
        upper = not (constraint.at_least or constraint.of_reference)
        if not upper or (path.room, path.name) != ("links", link) or constraint.bound <= 0.0:
            continue
        kind, _, statistic = path.metric.partition(".")
        part = MEAN_OF_P95 if statistic.startswith("p") else 1.0
        if kind == "sojourn_ms":
            yield part * constraint.bound / 1e3
        elif kind == "queue_packets":
            yield part * constraint.bound * packet_seconds(scenario, link)


_DROP_TAIL: Final = "drop-tail"
_NAMES: Final[Mapping[str, str]] = {
    _DROP_TAIL: "drop-tail,",
    "red": "steep RED,",
    "adaptive-red": "quick Adaptive RED,",
    "pie": "PIE,",
    "codel": "CoDel,",
    "fq-codel": "FQ-CoDel,",
}
"""Names of the baselines, before the value that tells one from others."""

_TOLD: Final[Mapping[str, str]] = {
    _DROP_TAIL: "limit",
    "red": "max_threshold",
    "adaptive-red": "max_threshold",
    "pie": "target",
    "codel": "target",
    "fq-codel": "target",
}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A queue set by a rule of thumb, with all its results on the seeds of the comparison.

    Attributes:
        name: label for a table: "drop-tail, 31 packets".
        parameters: its setting, by path.
        scenario: with it in place of what is tuned.
        results: one for each seed of the comparison, in order.
    """

    name: str
    parameters: Setting
    scenario: Scenario
    results: tuple[Result, ...] = ()


def expert_baselines(
    scenario: Scenario,
    objective: Objective,
    constraints: Sequence[Constraint] = (),
    *,
    links: Sequence[str],
    seeds: Sequence[int],
    device: str | None = None,
    threads: int | None = None,
    workers: Runner | None = None,
    deadline_s: float | None = None,
    besides: Sequence[Baseline] = (),
    flow_delays: bool = False,
) -> tuple[Baseline, ...]:
    """Baselines in place of what is tuned.

    Args:
        scenario: with the setting in force.
        objective: the one of the tuning.
        constraints: as the user gave them.
        links: whose queues are tuned; at least one.
        seeds: those of the comparison.
        device: a device profile ("linux-red") or a family of them ("linux"); ``None`` for a
            device that has everything.
        threads: simulations at a time; ``None`` for one on each core.
        workers: do the longer simulations; ``None`` for this machine.
        deadline_s: wall seconds for all of it.
        besides: others that are measured too.
        flow_delays: whether packets' delay and loss are measured, whatever the goal needs.

    Returns:
        Those for which there was time, the others first; those that the device does not have are
        left out.

    Raises:
        ScenarioError: there is no such device.
    """
    if deadline_s is not None and deadline_s <= 0.0:
        return ()
    rules = {link: _rules(scenario, link, objective, constraints) for link in links}
    kinds = [kind for kind in _NAMES if all(kind in each for each in rules.values())]
    found = [
        *besides,
        *(
            baseline
            for kind in kinds
            if (
                baseline := _baseline(
                    scenario, kind, {link: rules[link][kind] for link in links}, device
                )
            )
        ),
    ]
    needed = flow_delays or any(needs_flow_delays(each) for each in (objective, *constraints))
    run = run_many if workers is None else workers.run_many
    rows = run(
        [each.scenario.core_json() for each in found],
        seeds,
        threads=threads,
        deadline_s=deadline_s,
        flow_delays=needed,
    )
    return tuple(
        Baseline(each.name, each.parameters, each.scenario, tuple(results))
        for each, row in zip(found, rows, strict=True)
        if len(results := [result for result in row if result is not None]) == len(seeds)
    )


def rule_settings(
    scenario: Scenario, objective: Objective, constraints: Sequence[Constraint], incumbent: Setting
) -> list[dict[str, float]]:
    """Settings of the searched parameters by rules of thumb of the disciplines in force.

    Args:
        scenario: whose queues are tuned.
        objective: the one of the tuning.
        constraints: as the user gave them.
        incumbent: the setting in force; what no rule names stays as it is there.

    Returns:
        One, or none where parameters are automatic.
    """
    found = dict(incumbent)
    for link in dict.fromkeys(path.split(".")[1] for path in incumbent if path[:6] == "links."):
        rules = _rules(scenario, link, objective, constraints)
        own = rules.get(scenario.links[link].queue.discipline, {})
        for name, value in own.items():
            if (path := f"links.{link}.queue.{name}") in found:
                found[path] = value
    numbers = {path: value for path, value in found.items() if value is not None}
    known = found != dict(incumbent) and len(numbers) == len(found)
    return [numbers] if known else []


def _rules(
    scenario: Scenario, link: str, objective: Objective, constraints: Sequence[Constraint]
) -> dict[str, dict[str, float]]:
    """Values of each discipline at one link."""
    packet_s = packet_seconds(scenario, link)
    at_hand = conditions_of(scenario, [f"links.{link}.queue"], objective).links[link]
    wanted = told_delay(scenario, link, objective, constraints)
    target, interval = codel_times(at_hand.round_trip_s, packet_s, 10.0 * packet_s)
    product = at_hand.round_trip_s / packet_s
    found = {
        _DROP_TAIL: {"limit": float(round(drop_tail_packets(product, at_hand.flows)))},
        "pie": {},
        "codel": {"target": target, "interval": interval},
        "fq-codel": {"target": target, "interval": interval},
    }
    if wanted is None:
        return found
    most = discipline("pie").parameters["target"].maximum or math.inf
    found["pie"] = {"target": min(wanted, most)}
    for kind, rule in (("red", STEEP_RED), ("adaptive-red", QUICK_ADAPTIVE_RED)):
        packets = {name: max(rule[name] * wanted / packet_s, 1.0) for name in ("low", "high")}
        own = {name: value for name, value in rule.items() if name not in packets}
        thresholds = {
            "min_threshold": packets["low"],
            "max_threshold": max(packets["high"], packets["low"] + 1.0),
        }
        found[kind] = {**thresholds, **own}
    return found


def _baseline(
    scenario: Scenario,
    kind: str,
    values: Mapping[str, Mapping[str, float]],
    device: str | None,
) -> Baseline | None:
    """A discipline set at all links, as the device has it; ``None`` if it does not."""
    profile = None if device is None else _family_profile(kind, device)
    if device is not None and profile is None and kind != _DROP_TAIL:  # which everybody has
        return None
    table = discipline(kind).parameters

    def queue_of(link: str) -> dict[str, Any]:
        buffer = _buffer_in_force(scenario, link)
        own = {} if buffer is None or "limit" not in table else {"limit": f"{buffer} packets"}
        if "limit" in own and table["limit"].dimension is SIZE:
            own = {}
        texts = {name: table[name].exact_text(value) for name, value in values[link].items()}
        return {"discipline": kind, **own, **texts}

    queue = with_queues(scenario, {link: queue_of(link) for link in values})
    paths = [f"links.{link}.queue.{name}" for link, own in values.items() for name in own]
    setting = {path: float(queue.get(path)) for path in paths}
    if profile is not None and paths:
        settable = PROFILES[profile].settable[kind]
        paths = [path for path in paths if path.rpartition(".")[2] in settable]
        setting = Device(profile, queue, paths).nearest({path: setting[path] for path in paths})
        queue = queue.with_values(setting)
    told = [float(queue.get(f"links.{link}.queue.{_TOLD[kind]}")) for link in values]
    unit = TIME if _TOLD[kind] == "target" else PACKETS
    texts = [format_quantity(float(f"{value:.3g}"), unit) for value in sorted(told)]
    ends = texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"
    return Baseline(f"{_NAMES[kind]} {ends}", setting, queue)


def _buffer_in_force(scenario: Scenario, link: str) -> int | None:
    """The buffer in force in packets; ``None`` where the discipline has no limit."""
    queue = scenario.links[link].queue
    values = queue.algorithm.complete(queue.parameters)
    sizes = []
    for name in ("limit", "limit_bytes"):
        value = values.get(name)
        if isinstance(value, int | float):
            in_bytes = queue.algorithm.parameters[name].dimension is SIZE
            sizes.append(value / mean_packet_bytes(scenario, link) if in_bytes else value)
    return max(round(min(sizes)), 1) if sizes else None


def _family_profile(name: str, device: str) -> str | None:
    """The profile of a device's family that can set a discipline; ``None`` if it has none.

    Raises:
        ScenarioError: there is no such profile or family.
    """
    family = [each for each in PROFILES if _family(each) == _family(device)]
    if not family or device not in {*family, _family(device)}:
        known = did_you_mean(device, {*PROFILES, *map(_family, PROFILES)})
        raise ScenarioError("device", device, known)
    return next((each for each in family if name in PROFILES[each].settable), None)


def _family(profile: str) -> str:
    """The kind of device: "linux" of "linux-red"."""
    return profile.partition("-")[0]
