"""A queue length that is given as a time: how long the link takes to send what waits.

The time becomes packets at the link's nominal rate (where it varies, its mean) and at the mean
packet size of the flows whose data crosses the link, each flow counting once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.scenario.errors import MISSING, FieldError
from vermilion.scenario.quantities import TIME, format_quantity, number_text
from vermilion.scenario.target import LARGEST_TARGET, TARGET_PACKETS
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    from vermilion.scenario.written_scenario import AnyScenario, WrittenScenario


def with_target_in_packets(scenario: AnyScenario) -> AnyScenario:
    """The scenario with the packets of its objective's target, where that was given as a time.

    Raises:
        FieldError: the link is not said, or what it sends in that time is not known.
    """
    tuning = scenario.tuning
    if tuning is None or tuning.objective.target_delay_s is None:
        return scenario
    objective, time_s = tuning.objective, tuning.objective.target_delay_s
    if objective.link is None:
        raise FieldError("tuning.objective.link", MISSING, "the link whose queue has the target")
    try:
        packets = packets_sent_in(scenario, objective.link, time_s)
    except FieldError as error:
        raise error.under("tuning.objective.target") from None
    objective = objective.model_copy(update={"target": packets})
    return scenario.model_copy(
        update={"tuning": tuning.model_copy(update={"objective": objective})}
    )


def mean_packet_bytes(scenario: WrittenScenario, link: str) -> float | None:
    """The mean packet size of the flows whose data crosses a link; ``None`` if none does."""
    crossing = [group for group in scenario.flows.values() if link in group.path]
    flows = sum(group.count for group in crossing)
    if not flows:
        return None
    return sum(group.count * group.packet_size for group in crossing) / flows


def packets_sent_in(scenario: WrittenScenario, link: str, time_s: float) -> float:
    """How many packets a link sends in a time.

    Args:
        scenario: of the link.
        link: its name.
        time_s: seconds.

    Raises:
        FieldError: no flow's data crosses the link, or it sends nothing, or more than is accepted.
    """
    size = mean_packet_bytes(scenario, link)
    rate = nominal_rate(scenario, link)
    shown = format_quantity(time_s, TIME)
    if size is None or rate <= 0.0:
        why = "no flow's data crosses the link" if size is None else "the link's rate is 0"
        raise FieldError("", shown, f"{TARGET_PACKETS.accepted()}, because {why}")
    packets = time_s * rate / (8.0 * size)
    if packets > LARGEST_TARGET:
        raise FieldError("", shown, f"a time in which {link} sends at most 10^9 packets")
    return packets


def in_both_units(time_s: float, packets: float) -> str:
    """A target that was given as a time, for people: "20 ms, about 25 packets"."""
    count = number_text(float(f"{packets:.2g}"))
    unit = "packet" if count == "1" else "packets"
    return f"{format_quantity(time_s, TIME)}, about {count} {unit}"
