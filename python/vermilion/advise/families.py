"""Queues of each device: kinds, defaults, rules of thumb and search spaces.

A kind is named as its device names it. Its profile moves a setting to the nearest that the device
has, so what is simulated is what the device will do.

- Defaults are those of Linux 6.12 (net/sched) and iproute2. RED and WRED have none that would do
  anywhere; tc-red(8) and the switches' manuals leave the thresholds to whoever knows rate and
  delay.
- Rules of thumb are those of :mod:`vermilion.tuning.rules_of_thumb`.
- Nothing is searched that could not serve the question, and CoDel's and PIE's constants stay
  within the ratios of their RFCs: of CoDel the interval is searched and of PIE the target. A queue
  for each flow is not searched at all: its rule is as good.
- A tuned value is one that a person would write: 5 ms, not 4.62.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from vermilion.advise.conditions import PACKET_BYTES, on_device, packet_time_s, plain_network
from vermilion.advise.question import ANY, QueueSetting
from vermilion.profiles import PROFILES
from vermilion.scenario import disciplines
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.search import Dimension, Space
from vermilion.tuning.rules_of_thumb import (
    INTERNET_INTERVAL_S,
    LOCAL_S,
    MEAN_OF_P95,
    STEEP_RED,
    codel_times,
    drop_tail_packets,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.advise.question import DeviceName, Question
    from vermilion.scenario.algorithms import ParameterValue

    Values = Mapping[str, float]

LINUX_FIFO_PACKETS: Final = 1000
"""The usual queue length of an interface (txqueuelen), which pfifo and pfifo_fast take."""

CISCO_QUEUE_PACKETS: Final = 64
"""The default queue-limit of a class: Cisco IOS, quality of service command reference."""

SONIC_QUEUE_BYTES: Final = 1_000_000
"""What a queue of a switch with shared memory gets, about: SONiC's dynamic threshold leaves it to
what other queues need."""

_MAX_THRESHOLD: Final = {"linux-red": "max_threshold", "wred": "green_max_threshold"}
"""The threshold that the buffer has to be larger than."""

_FINEST_INTERVAL_S: Final = 1e-4
"""No interval is shorter, however short the round trips. A network card gathers interrupts, and a
busy one has 4000 to 20,000 in a second (Linux, Documentation/networking/device_drivers/ethernet/
intel/e1000.rst). So packets come and leave in bursts 50 to 250 µs apart, and what waits for less
than that is no standing queue."""

_LONGEST_INTERVAL_S: Final = 1.0

_QUANTUM_BELOW_BIT_PER_S: Final = 1e8
_SMALL_QUANTUM: Final = {"quantum": 300.0}
"""Bytes of a turn below 100 Mbit/s, where small packets would wait for full ones: what OpenWrt's
sqm-scripts take there (RFC 8290, section 5.2.4)."""

_SLOW: Final = 40.0
"""Packets' times below which an rtt of cake is one where its rate tells its target."""

_QUEUE_OF_ROUND_TRIP: Final = 5.0
_MOST_TARGET: Final = 4.0
"""Times the bound: a bound that is out of reach without harm has something nearest to it."""

_LIVING_WINDOW: Final = 4.0
"""Packets of a window whose losses are told by duplicates and not by a timeout (RFC 5681)."""

_CODELS: Final = frozenset({"codel", "fq-codel"})
_KERNEL_BITS: Final = 31
_WRED_WEIGHT_LOG: Final = 9


def _no_box(_question: Question) -> list[Dimension]:
    return []


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of queue of a device.

    Attributes:
        kind: the device's word.
        discipline: the simulator's.
        profile: the name in :data:`vermilion.profiles.PROFILES`.
        fixed: parameters that are the device's own, and those of its defaults.
        rules: settings made of the bound, for a question.
        box: where to search, for a question.
        has_defaults: whether the fixed ones make a queue that somebody would use.
    """

    kind: str
    discipline: str
    profile: str
    fixed: Mapping[str, ParameterValue]
    rules: Callable[[Question], Sequence[Values]]
    box: Callable[[Question], Sequence[Dimension]] = _no_box
    has_defaults: bool = True

    @property
    def keeps_apart(self) -> bool:
        """True if each flow has a queue of its own."""
        return self.discipline == "cake" or self.discipline.startswith("fq-")

    def defaults(self, question: Question) -> QueueSetting | None:
        """The device's defaults; ``None`` where it has none."""
        if not self.has_defaults:
            return None
        return QueueSetting(
            f"{self.kind}, defaults", self.kind, self.discipline, self.own(question)
        )

    def candidates(self, question: Question) -> list[QueueSetting]:
        """The defaults and what the rules of thumb say."""
        defaults = self.defaults(question)
        found = [] if defaults is None else [defaults]
        settings = [self.setting_or_none(question, values) for values in self.rules(question)]
        rules = {each.same_as: each for each in settings if each is not None}
        found += [
            replace(each, label=f"{self.kind}, rule of thumb{'' if number == 1 else f' {number}'}")
            for number, each in enumerate(rules.values(), start=1)
        ]
        return list({each.same_as: each for each in reversed(found)}.values())[::-1]

    def setting_or_none(self, question: Question, values: Values) -> QueueSetting | None:
        """The same as :meth:`setting`; ``None`` where the device has nothing near."""
        try:
            return self.setting(question, values)
        except ScenarioError:
            return None

    def setting(self, question: Question, values: Values) -> QueueSetting:
        """The nearest setting that the device has, of numbers that a person would write.

        Raises:
            ScenarioError: the device has nothing near: a Linux kernel's red, for one, counts in 32
                bits, which are too few for the buffers of very fast lines.
        """
        table = disciplines()[self.discipline].parameters
        if self.discipline in _CODELS and "interval" in values and "target" not in values:
            target, interval = codel_times(values["interval"], packet_time_s(question), 0.0)
            values = {"target": target, "interval": max(interval, values["interval"])}
        values = {
            name: float(round(float(f"{value:.2g}"))) if table[name].integer else rounded(value)
            for name, value in values.items()
        }
        own = {**self.own(question), **values}
        if (highest := _MAX_THRESHOLD.get(self.discipline)) is not None:
            size = PACKET_BYTES if self.discipline == "wred" else 1
            drains = drained_bytes(question)
            most = max(4.0 * float(values[highest]), 2.0 * drains / size, 20.0)
            own["limit"] = float(math.ceil(most))
        if self.discipline == "linux-red":
            own["weight_log"] = values["weight_log"] = _kernel_weight_log(values)
        wanted = QueueSetting(f"{self.kind}, tuned", self.kind, self.discipline, own)
        profile = on_device(PROFILES[self.profile], question, wanted)
        names = [name for name in profile.settable[self.discipline] if name in values]
        moved = profile.nearest({name: values[name] for name in names})
        setting = replace(wanted, parameters={**own, **moved}, tuned=tuple(values))
        plain_network(question, setting)  # which refuses what cannot be simulated
        return setting

    def space(self, question: Question) -> Space:
        """Search space."""
        return Space(list(self.box(question)))

    def own(self, question: Question) -> dict[str, ParameterValue]:
        """Parameters that are the device's own."""
        own = dict(self.fixed)
        if self.kind == "cake":
            own = cake_at_rate(question, own)
        if question.ecn and "ecn" in own:
            own["ecn"] = True
        return own


def cake_at_rate(
    question: Question, parameters: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """A cake with its rate where that matters: on slow lines no target is below a packet's time."""
    slow = float(parameters["rtt"] or 0.0) < _SLOW * packet_time_s(question)
    own = {"bandwidth": question.packet_rate_bit_per_s} if slow else {}
    return {**parameters, **own}


def drained_bytes(question: Question) -> float:
    """Bytes that the link sends within the bound, at least three packets."""
    return max(question.packet_rate_bit_per_s * question.bound_s / 8.0, 3.0 * PACKET_BYTES)


def families(question: Question, *, shaped: bool = True, cake: bool = True) -> list[Family]:
    """Kinds of queues of the device that may be tried.

    Args:
        question: with the device and the discipline.
        shaped: whether they would stand below a shaper, which changes what a kernel's red does.
        cake: whether a cake may come, with its own shaper.

    Raises:
        ScenarioError: the device has no such discipline.
    """
    known = [
        replace(each, fixed={**each.fixed, "shaped": shaped})
        if each.discipline == "linux-red"
        else each
        for each in _FAMILIES[question.device]
        if cake or each.kind != "cake"
    ]
    wanted = question.discipline.lower().replace("_", "-")
    if wanted == ANY:
        return known
    found = [
        family
        for family in known
        if wanted in {family.kind.replace("_", "-"), family.discipline}
        or (wanted == "red" and family.discipline == "linux-red")
    ]
    if not found:
        names = [ANY, *(family.kind for family in known)]
        accepted = f"{did_you_mean(question.discipline, names)}, for the device {question.device}"
        raise ScenarioError("--discipline", question.discipline, accepted)
    return found


def device_default(question: Question) -> QueueSetting:
    """Queue of a device that nobody has configured."""
    if question.device == "linux":
        [own] = [each.own(question) for each in _FAMILIES["linux"] if each.kind == "fq_codel"]
        return QueueSetting("fq_codel, the kernel's defaults", "fq_codel", "fq-codel", own)
    if question.device == "cisco":
        limit: dict[str, ParameterValue] = {"limit": CISCO_QUEUE_PACKETS}
        return QueueSetting("tail drop, 64 packets", "tail-drop", "drop-tail", limit)
    limit = {"limit_bytes": SONIC_QUEUE_BYTES}
    return QueueSetting("tail drop, about 1 MB", "tail-drop", "drop-tail", limit)


def buffer_bytes(queue: QueueSetting, flows: int) -> float:
    """Buffer of a queue shared by so many flows, bytes."""
    queue = queue.among(flows)
    limit_bytes = queue.parameters.get("limit_bytes")
    if limit_bytes is not None:
        return float(limit_bytes)
    limit = float(queue.parameters.get("limit") or LINUX_FIFO_PACKETS)
    flow_limit = queue.parameters.get("flow_limit")
    if flow_limit is not None:
        limit = min(limit, float(flow_limit) * flows)
    return limit if queue.discipline == "linux-red" else limit * PACKET_BYTES


def _codel_rules(question: Question) -> list[Values]:
    longest = min(question.round_trip_s[1], _LONGEST_INTERVAL_S)
    # Within a building the queue is much of the round trip through it.
    longest += min(question.bound_s, _QUEUE_OF_ROUND_TRIP * longest) if longest < LOCAL_S else 0.0
    target, interval = codel_times(longest, packet_time_s(question), _FINEST_INTERVAL_S)
    return [{"target": target, "interval": interval}]


def _fq_codel_rules(question: Question) -> list[Values]:
    [times] = _codel_rules(question)
    if question.packet_rate_bit_per_s >= _QUANTUM_BELOW_BIT_PER_S:
        return [times]
    return [_SMALL_QUANTUM, {**times, **_SMALL_QUANTUM}]


def _cake_rules(question: Question) -> list[Values]:
    [times] = _codel_rules(question)
    return [{"rtt": times["interval"]}]


def _codel_box(question: Question) -> list[Dimension]:
    """Intervals from the shortest round trip to three of the longest.

    Senders need a round trip to answer a drop, and the next one would come before they have.
    """
    [rule] = _codel_rules(question)
    low = max(question.round_trip_s[0], _FINEST_INTERVAL_S, 2.0 * packet_time_s(question))
    low = min(low, rule["interval"])
    high = 3.0 * rule["interval"]
    return [Dimension("interval", low, high, log=True)]


def _pie_rules(question: Question) -> list[Values]:
    return [{"target": max(MEAN_OF_P95 * question.bound_s, packet_time_s(question))}]


def _pie_box(question: Question) -> list[Dimension]:
    low = max(question.bound_s / 10.0, packet_time_s(question))
    return [Dimension("target", low, max(_MOST_TARGET * question.bound_s, 2.0 * low), log=True)]


def _red_rules(question: Question) -> list[Values]:
    """Steep, and as published in the thresholds' ratio, for the mean that keeps the bound."""
    drains = drained_bytes(question)
    low, high = (MEAN_OF_P95 * STEEP_RED[name] * drains for name in ("low", "high"))
    steep = {
        "min_threshold": max(round(low), PACKET_BYTES),
        "max_threshold": max(round(high), 2 * PACKET_BYTES),
        "max_probability": STEEP_RED["max_probability"],
        "weight_log": float(round(-math.log2(STEEP_RED["weight"]))),
    }
    gentle = {
        "min_threshold": max(round(0.2 * drains), PACKET_BYTES),
        "max_threshold": max(round(0.6 * drains), 2 * PACKET_BYTES),
        "max_probability": 0.1,
        "weight_log": float(_WRED_WEIGHT_LOG),
    }
    return [steep, gentle]


def _most_threshold(question: Question) -> float:
    """Bytes beyond which none is tried: of the bound, or of windows that need no timeouts."""
    windows = _LIVING_WINDOW * question.flows[1] * PACKET_BYTES
    return max(_MOST_TARGET * drained_bytes(question), windows)


def _kernel_weight_log(values: Mapping[str, float]) -> float:
    """The weight nearest to the one meant for which the kernel's average has the bits."""
    bits = int(values["max_threshold"]).bit_length()
    return float(max(min(int(values["weight_log"]), _KERNEL_BITS - bits), 1))


def _thresholds(prefix: str, low: float, high: float, packet: float) -> list[Dimension]:
    below, above = f"{prefix}min_threshold", f"{prefix}max_threshold"
    return [
        Dimension(below, low, high, log=True),
        Dimension(above, low, 1.5 * high, log=True, above=below, gap=packet),
    ]


def _red_box(question: Question) -> list[Dimension]:
    low = max(0.02 * drained_bytes(question), PACKET_BYTES)
    return [
        *_thresholds("", low, _most_threshold(question), PACKET_BYTES),
        Dimension("max_probability", 0.005, 0.9, log=True),
        Dimension("weight_log", 1.0, 12.0, integer=True),
    ]


def _wred_rules(question: Question) -> list[Values]:
    return [_in_packets(rule) for rule in _red_rules(question)]


def _in_packets(values: Values) -> Values:
    """Thresholds in packets, of green ones as all are here, and no weight, which routers have."""
    return {
        "green_min_threshold": max(values["min_threshold"] / PACKET_BYTES, 1.0),
        "green_max_threshold": max(values["max_threshold"] / PACKET_BYTES, 2.0),
        "green_max_probability": values["max_probability"],
    }


def _wred_box(question: Question) -> list[Dimension]:
    return [
        *_thresholds("green_", 1.0, _most_threshold(question) / PACKET_BYTES, 1.0),
        Dimension("green_max_probability", 0.01, 0.9, log=True),
    ]


def _cisco_box(question: Question) -> list[Dimension]:
    return [*_wred_box(question), Dimension("weight", 0.5**12, 0.5, log=True)]


def _cisco_rules(question: Question) -> list[Values]:
    return [
        {**_in_packets(rule), "weight": 0.5 ** rule["weight_log"]} for rule in _red_rules(question)
    ]


def _fifo_rules(question: Question) -> list[Values]:
    packets = drained_bytes(question) / PACKET_BYTES
    product = question.round_trip_s[1] / packet_time_s(question)
    few = drop_tail_packets(product, question.flows[0])
    return [{"limit": max(round(each), 2)} for each in (few, 0.95 * packets)]


def _fifo_box(question: Question) -> list[Dimension]:
    most = float(round(max(_most_threshold(question) / PACKET_BYTES, 8.0)))
    return [Dimension("limit", 2.0, most, log=True, integer=True)]


SWITCH_RED: Final = {
    "ecn": False,
    "weight": 0.5**_WRED_WEIGHT_LOG,
    "drop_above_maximum": True,
    "mean_packet_size": float(PACKET_BYTES),
}
"""What WRED of switches and routers has of its own."""

_KERNEL: Final[Mapping[str, ParameterValue]] = {"dialect": "linux"}
_NO_ECN: Final = {"ecn": False}
_RED: Final = {**_NO_ECN, "mean_packet_size": float(PACKET_BYTES)}
_CAKE: Final[Mapping[str, ParameterValue]] = {
    "rtt": INTERNET_INTERVAL_S,
    "tins": "besteffort",
    "isolation": "flows",
}
_TXQUEUELEN: Final = {"limit": LINUX_FIFO_PACKETS}
_QUEUE_LIMIT: Final = {"limit": CISCO_QUEUE_PACKETS}

_WRED: Final = ("wred", "wred")
_FAMILIES: Final[Mapping[DeviceName, Sequence[Family]]] = {
    "linux": (
        Family("fq_codel", "fq-codel", "linux-fq-codel", {**_KERNEL, "ecn": True}, _fq_codel_rules),
        Family("cake", "cake", "linux-cake", _CAKE, _cake_rules),
        Family("fq_pie", "fq-pie", "linux-fq-pie", _NO_ECN, _pie_rules),
        Family("codel", "codel", "linux-codel", {**_KERNEL, **_NO_ECN}, _codel_rules, _codel_box),
        Family("pie", "pie", "linux-pie", _NO_ECN, _pie_rules, _pie_box),
        Family("red", "linux-red", "linux-red", _RED, _red_rules, _red_box, has_defaults=False),
        Family("pfifo", "drop-tail", "linux-fifo", _TXQUEUELEN, _fifo_rules, _fifo_box),
    ),
    "sonic": (Family(*_WRED, "sonic", SWITCH_RED, _wred_rules, _wred_box, has_defaults=False),),
    "cisco": (
        Family(*_WRED, "cisco", SWITCH_RED, _cisco_rules, _cisco_box, has_defaults=False),
        # Whole packets, as "queue-limit" has them.
        Family("tail-drop", "drop-tail", "linux-fifo", _QUEUE_LIMIT, _fifo_rules, _fifo_box),
    ),
}
"""What each device has. The buffer of a SONiC switch is shared, and no setting of a queue."""
