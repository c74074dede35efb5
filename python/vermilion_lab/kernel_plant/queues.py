"""The queue of a scenario's link in the kernel: how it is made, and what it is then set to.

``tc`` makes the queue; its settings are told through the product's own netlink codecs, as on a real
router, and so are refused in the same words.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import FieldError
from vermilion_lab.kernel_plant.acceptance import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.scenario.core_network import CoreQueue

_CHOKE: Final = "limit 1000 min 83 max 250 avpkt 1000 burst 139 bandwidth 10mbit probability 0.02"
_TABLE_OF_DECAY: Final = frozenset(
    {"burst", "mean_packet_size", "idle_table", "shaped", "keep_packets"}
)


def made_by(queue: CoreQueue) -> str:
    """The words of ``tc`` that make such a queue, with what cannot be changed later."""
    kind = KINDS[queue.discipline][0]
    own = queue.complete()
    if kind == "red":
        return _red(own)
    if queue.discipline == "drop-tail":
        if own.get("drop") == "head":
            kind = "pfifo_head_drop"
        elif own.get("limit_bytes") is not None:
            kind = "bfifo"
        return f"{kind} limit {round(float(own.get('limit_bytes') or own.get('limit') or 1))}"
    if kind == "fq":
        return _fq(own)
    if kind in {"fq_codel", "fq_pie"}:
        return f"{kind} flows {round(float(own['flows'] or 1))}"
    return f"choke {_CHOKE}" if kind == "choke" else kind


def _fq(own: Mapping[str, ParameterValue]) -> str:
    flows = round(_number(own["flows"]))
    if flows & (flows - 1):
        raise FieldError("flows", flows, "a power of two on the kernel")
    delay = round(1e6 * _number(own["refill_delay"]))
    return f"fq orphan_mask {flows - 1} refill_delay {delay}us"


def _red(own: Mapping[str, ParameterValue]) -> str:
    """The words for RED; what is automatic follows from the rest, as in the simulator.

    ``tc`` makes no queue for whose burst it finds no weight: with thresholds close together, or a
    minimum below two packets. So it is given what it takes, and the queue is then set to what is
    meant.
    """
    limit, packet = _number(own["limit"]), _number(own["mean_packet_size"])
    low, high = own["min_threshold"], own["max_threshold"]
    maximum = _number(high) if high is not None else 3.0 * _number(low) if low else limit / 4.0
    minimum = _number(low) if low is not None else maximum / 3.0
    minimum = max(minimum, 2.0 * packet)
    maximum = max(maximum, minimum + packet)
    burst = own["burst"]
    packets = (2.0 * minimum + maximum) / (3.0 * packet) if burst is None else _number(burst)
    packets = max(packets, minimum / packet)
    return (
        f"red limit {round(limit)} min {round(minimum)} max {round(maximum)} avpkt {round(packet)}"
        f" burst {ceil(packets)} probability {min(_number(own['max_probability']), 0.99)}"
        " bandwidth 10mbit"
    )


def _number(value: ParameterValue) -> float:
    return float(value or 0.0)


def settings(
    queue: CoreQueue,
    in_force: Mapping[str, ParameterValue],
    settable: Sequence[str],
) -> dict[str, ParameterValue]:
    """Return the settings for the kernel's queue.

    Args:
        queue: of the scenario.
        in_force: every parameter as the simulator has it in force, derived ones included.
        settable: what of it the kernel's queue can be set to.
    """
    own = {
        name: in_force.get(name)
        for name in settable
        if in_force.get(name) is not None or name in queue.parameters
    }
    for name, value in queue.parameters.items():
        if name in settable or (queue.discipline == "linux-red" and name in _TABLE_OF_DECAY):
            continue
        if name == "perturbation":
            if value is None:
                continue
            raise FieldError(name, value, "nothing on the kernel, which draws its own")
        if name not in {"flows", "drop", "limit_bytes", "limit"}:
            own[name] = value
    return own
