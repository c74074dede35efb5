"""Laws beside the queue, told the operator's number: adapt inside, simulate outside.

PIE, CoDel, DualPI2, PI and Adaptive RED hold a queue by themselves at once, whatever comes. So the
device's own law is tried before anything is searched, and stays until a simulated setting is proven
better (:mod:`vermilion.tuning.rules_of_thumb` has the rules). The steep RED is no law, but what an
engineer would set where there is none.

The number is the goal's target, or the tightest bound on a delay: half of one on a percentile,
because laws hold a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.objectives.delay_bound import DelayBound
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.objectives.weighted_sum import WeightedSum
from vermilion.online.model.traffic import Traffic
from vermilion.routers.adaptive_red import (
    ADAPTIVE,
    GAIN,
    HIGHEST,
    INTERVAL_S,
    LOWEST,
    MOVED,
    PLAIN_RED,
    THRESHOLDS,
    WEIGHT,
    aim,
)
from vermilion.routers.queue_set import by_queue, joint_name
from vermilion.scenario import disciplines
from vermilion.tuning.rules_of_thumb import (
    MEAN_OF_P95,
    QUICK_ADAPTIVE_RED,
    STEEP_RED,
    codel_times,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vermilion.objectives import Objective
    from vermilion.online.policy import Policy
    from vermilion.routers.base import LinkConfiguration, ParameterValue

_AIMS: Final = {"pie": "PIE", "fq-pie": "FQ-PIE", "dualpi2": "DualPI2"}
_TIMES: Final = {"codel": "CoDel", "fq-codel": "FQ-CoDel", "cobalt": "COBALT"}
_CAKE: Final = "cake"
_TARGET_OF_RTT: Final = 0.05  # tc-cake
_LONGEST_RTT_S: Final = 100.0
_LENGTHS: Final = {"pi": "PI", "rem": "REM", "lred": "LRED", "pd-red": "PD-RED"}
_LINUX_RED: Final = "linux-red"
_STEEP: Final = frozenset({PLAIN_RED, "ns2-red", _LINUX_RED, "choke"})
_WEIGHT_LOG: Final = 3.0  # a weight of an eighth
_BESIDE: Final = {"low": THRESHOLDS[0], "high": THRESHOLDS[1], "weight": WEIGHT}
_INTERVAL_OF_TARGET: Final = 10.0  # RFC 8289, section 4.3: a target is a tenth of it at most
_SAME: Final = 0.15  # of a number: the measured rate strays
_ANY_RATE_BIT_PER_S: Final = 1e7
_ANY_PACKET_BYTES: Final = 1000.0  # a length in packets depends on neither
_OPTIONAL: Final = frozenset({"gentle", "interval"})


@dataclass(frozen=True, slots=True)
class Law:
    """A rule of thumb for one queue.

    Attributes:
        name: with its number: "PIE told 20.0 ms".
        setting: what it sets.
        adapts: False for a static setting.
    """

    name: str
    setting: Mapping[str, float]
    adapts: bool = True

    def stands(self, in_force: Mapping[str, ParameterValue]) -> bool:
        """Return True if the law is in force, told about this number."""
        return all(_is_about(value, in_force.get(name)) for name, value in self.setting.items())


def _is_about(asked: ParameterValue, found: ParameterValue) -> bool:
    numbers = [
        float(each)
        for each in (asked, found)
        if isinstance(each, int | float) and not isinstance(each, bool)
    ]
    if len(numbers) < 2:  # noqa: PLR2004 - both
        return asked == found
    return abs(numbers[0] - numbers[1]) <= _SAME * abs(numbers[0])


def told_delay_s(policy: Policy, traffic: Traffic) -> float | None:
    """Return the mean delay that the operator's goal asks for, s; ``None`` if it asks for none."""
    objective = policy.objective
    if isinstance(objective, QueueDeviation):
        return objective.target / traffic.packets_per_s
    wanted = [MEAN_OF_P95 * objective.at_most] if isinstance(objective, DelayBound) else []
    for bound in policy.bounds:
        path = bound.path
        if bound.at_least or bound.of_reference or path.room != "links" or bound.bound <= 0.0:
            continue
        metric, _, statistic = path.metric.partition(".")
        share = MEAN_OF_P95 if statistic.startswith("p") else 1.0
        if metric == "sojourn_ms":
            wanted.append(share * bound.bound / 1e3)
        elif metric == "queue_packets":
            wanted.append(share * bound.bound / traffic.packets_per_s)
    return min(wanted, default=None)


def laws_for(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    policy: Policy,
    traffic: Traffic,
) -> tuple[Law, ...]:
    """Rules of thumb for a queue that the operator lets be set, the device's own law first.

    Of several queues the only one is their own laws together.

    Args:
        configuration: of the queue.
        in_force: its parameters.
        policy: with the goal and what may be changed.
        traffic: over it.
    """
    if configuration.queues:
        return _of_set(configuration, in_force, policy, traffic)
    found = []
    for law in _laws(configuration, in_force, policy, traffic):
        allowed = {*policy.parameters, *policy.switches, *policy.law_parameters}
        if configuration.adaptive and MOVED in policy.parameters:
            allowed.add(ADAPTIVE)  # who may set the probability may have it moved
        asked = law.setting.keys() - _OPTIONAL
        if asked <= allowed:
            kept = {name: value for name, value in law.setting.items() if name in allowed}
            found.append(Law(law.name, kept, law.adapts))
    return tuple(found)


def as_first_set(
    configuration: LinkConfiguration, first: Mapping[str, ParameterValue]
) -> Law | None:
    """Return the queue's own law with its first setting; ``None`` for a queue that has none.

    What holds a delay by itself follows a line whose rate varies, and no setting does better in
    all of its moments.
    """
    name = {**_AIMS, **_TIMES, _CAKE: "CAKE"}.get(configuration.discipline)
    known = {key: value for key, value in first.items() if isinstance(value, float)}
    return None if name is None else Law(f"{name} as it was", known)


def _laws(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    policy: Policy,
    traffic: Traffic,
) -> Iterator[Law]:
    discipline, delay_s = configuration.discipline, told_delay_s(policy, traffic)
    packet_s = 1.0 / traffic.packets_per_s
    if discipline in {_CAKE, *_TIMES}:
        yield _timed(discipline, policy, traffic, delay_s)
    if delay_s is None:
        return
    packets = max(delay_s / packet_s, 1.0)
    if discipline in _AIMS:
        row = disciplines()[discipline].parameters["target"]
        target = min(max(delay_s, packet_s), row.maximum or math.inf)
        yield Law(f"{_AIMS[discipline]} told {1e3 * target:.3g} ms", {"target": target})
    elif discipline in _LENGTHS:
        name = f"{_LENGTHS[discipline]} told {packets:.3g} packets"
        yield Law(name, {"target_queue": packets})
    elif discipline == "adaptive-red":
        interval = QUICK_ADAPTIVE_RED["interval"]
        yield Law(
            f"quick Adaptive RED told {packets:.3g} packets",
            {**_red(QUICK_ADAPTIVE_RED, packets, discipline, traffic), "interval": interval},
        )
    elif configuration.adaptive:
        yield Law(
            f"Adaptive RED told {packets:.3g} packets",
            {**_red(_BESIDE, packets, discipline, traffic), ADAPTIVE: True, "gentle": True},
        )
    elif discipline == _LINUX_RED and ADAPTIVE in in_force:
        yield Law(
            f"Adaptive RED of Linux told {packets:.3g} packets",
            {**_red(QUICK_ADAPTIVE_RED, packets, discipline, traffic), ADAPTIVE: True},
        )
    if discipline in _STEEP:
        steep = _red(STEEP_RED, packets, discipline, traffic)
        yield Law(
            f"a steep RED at {packets:.3g} packets",
            {**steep, "max_probability": STEEP_RED["max_probability"]},
            adapts=False,
        )


def _timed(discipline: str, policy: Policy, traffic: Traffic, delay_s: float | None) -> Law:
    """CoDel and its kin: by the round trips, or by a target that is the goal itself."""
    packet_s = 1.0 / traffic.packets_per_s
    longest_s = max(base_s for _, base_s in traffic.classes)
    target, interval = codel_times(longest_s, packet_s, 10.0 * packet_s)
    if isinstance(policy.objective, QueueDeviation) and delay_s is not None:
        target, interval = delay_s, max(interval, _INTERVAL_OF_TARGET * delay_s)
    if discipline == _CAKE:  # whose target is a part of what it is told
        rtt = min(max(interval, target / _TARGET_OF_RTT), _LONGEST_RTT_S)
        return Law(f"CAKE told {1e3 * rtt:.3g} ms", {"rtt": rtt})
    setting = {"target": target, "interval": interval}
    return Law(f"{_TIMES[discipline]} told {1e3 * target:.3g} ms", setting)


def _red(
    rule: Mapping[str, float], packets: float, discipline: str, traffic: Traffic
) -> dict[str, float]:
    """Thresholds and weight of a RED, in the units of its table."""
    low = max(rule["low"] * packets, 1.0)
    high = max(rule["high"] * packets, low + 1.0)
    if discipline == _LINUX_RED:
        return {
            "min_threshold": round(low * traffic.packet_bytes),
            "max_threshold": round(high * traffic.packet_bytes),
            "weight_log": _WEIGHT_LOG,
        }
    return {"min_threshold": low, "max_threshold": high, "weight": rule["weight"]}


def _of_set(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    policy: Policy,
    traffic: Traffic,
) -> tuple[Law, ...]:
    """The own laws of several queues as one; none where a queue that can be modelled has none."""
    standing, names = by_queue(in_force), []
    setting: dict[str, float] = {}
    for queue in configuration.queues:
        link = queue.link
        seen = traffic.at(link)
        if seen is None:
            continue
        goals = [each for each in _parts(policy.objective) if each.links == (link,)]
        own = policy.of_queue(link)
        own = replace(
            own,
            objective=goals[0] if goals else own.objective,
            bounds=tuple(each for each in policy.bounds if each.path.name == link),
        )
        laws = laws_for(queue, standing.get(link, {}), own, seen)
        law = next((each for each in laws if each.adapts), None)
        if law is None:
            return ()
        setting |= {joint_name(link, name): value for name, value in law.setting.items()}
        names.append(f"{law.name} at {link}")
    return (Law(", ".join(names), setting),) if names else ()


def _parts(objective: Objective) -> list[Objective]:
    """The objectives that are summed."""
    if not isinstance(objective, WeightedSum):
        return [objective]
    return [each for part in objective.parts for each in _parts(part.objective)]


def law_of_length(
    configuration: LinkConfiguration, in_force: Mapping[str, ParameterValue], policy: Policy
) -> Law | None:
    """The law that the goal's own number is enough for, whatever the traffic is."""
    lengths = configuration.adaptive or configuration.discipline in {"adaptive-red", *_LENGTHS}
    if policy.target_packets is None or not lengths:
        return None
    packets_per_s = _ANY_RATE_BIT_PER_S / (8.0 * _ANY_PACKET_BYTES)
    traffic = Traffic(
        flows=1,
        classes=((1, 0.1),),
        rate_bit_per_s=_ANY_RATE_BIT_PER_S,
        packet_bytes=_ANY_PACKET_BYTES,
        queueing_s=policy.target_packets / packets_per_s,
        ecn_share=0.0,
    )
    laws = laws_for(configuration, in_force, policy, traffic)
    return next((each for each in laws if each.adapts), None)


def without_law(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    original: Mapping[str, ParameterValue],
) -> dict[str, ParameterValue]:
    """The parameters in force as a static setting: with the law off that a controller switched on.

    Args:
        configuration: of the queue.
        in_force: its parameters.
        original: what stood before the first change.
    """
    values = dict(in_force)
    if configuration.adaptive:
        values.pop(ADAPTIVE, None)
    elif values.get(ADAPTIVE) is True and original.get(ADAPTIVE) is not True:
        values[ADAPTIVE] = False
    return values


PROBABILITIES: Final = frozenset({"proportional_gain", "lowest_probability", "highest_probability"})
"""Parameters of the law beside a RED that shrink as its maximum probability does."""

_RED_TOO: Final = (
    "limit", "min_threshold", "max_threshold", "max_probability", "weight", "gentle", "byte_mode",
    "ecn", "mean_packet_size",
)  # fmt: skip


def as_modelled(
    configuration: LinkConfiguration, parameters: Mapping[str, ParameterValue]
) -> tuple[LinkConfiguration, dict[str, ParameterValue]]:
    """Return the discipline and parameters with which a model has a queue.

    A plain RED with the law beside it is PD-RED in the dialect of the plain one, with a step that
    is the law's about the probability in force.
    """
    values = dict(parameters)
    if configuration.queues:
        standing = by_queue(values)
        parts = {
            each.link: as_modelled(each, standing.get(each.link, {}))
            for each in configuration.queues
        }
        return replace(configuration, queues=tuple(queue for queue, _ in parts.values())), {
            joint_name(link, name): value
            for link, (_, own) in parts.items()
            for name, value in own.items()
        }
    if not configuration.adaptive or values.pop(ADAPTIVE, None) is not True:
        return configuration, values
    probability = min(max(float(values.get(MOVED) or 0.0), LOWEST), HIGHEST)
    target = max(aim(values), 1.0)
    return replace(configuration, discipline="pd-red"), {
        **{name: values[name] for name in _RED_TOO if name in values},
        MOVED: probability,
        "wait": False,
        "mark_probability": 1.0,
        "target_queue": target,
        "interval": INTERVAL_S,
        "proportional_gain": GAIN * probability * float(values.get("limit") or 100.0) / target,
        "derivative_gain": 0.0,
        "lowest_probability": LOWEST,
        "highest_probability": HIGHEST,
    }
