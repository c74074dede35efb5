"""ns-3.37's scenarios and outcomes (``tests/reference/ns3.json``), in our language.

ns-3's means are over five seeds. Its queue discipline stands before a device queue that holds one
packet besides the one in transmission, and neither sees nor counts it: here RED's thresholds and
limit are one packet higher, and one packet is taken from the mean queue. Packets are two bytes
longer on ns-3's wire, so that its full link reads 0.998.

With 64 flows ns-2 and ns-3 disagree with each other; that widens no tolerance. A part of the cause
is the retransmission timer (``recovery_dialect``): see docs/laboratory/validation.md.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ns2_reference import return_transmission_ms, truth
from reference_comparison import (
    Comparison,
    Deviation,
    Known,
    Sample,
    Where,
    compare_with,
    reference,
)

LINK = "bottleneck"
DEVICE_QUEUE = 1

NEWRENO, GENTLE, LINUX_RENO = (
    f"S1 {label}"
    for label in (
        "TcpNewReno SACK gentle=0 wait=1",
        "TcpNewReno SACK gentle=1 wait=1",
        "TcpLinuxReno SACK gentle=0 wait=1",
    )
)
CASES = {f"{case['scenario']} {case['label']}": case for case in reference("ns3")["cases"]}

FEW, MANY = (5, 20), (25, 80)

AT_THE_EDGE = (
    "outside the tolerance by a few hundredths of it. With the counting, the reduction and "
    "the recovery of ns-3 (`cumulative_counting`, `reduction_bound`, `recovery_dialect`) it is "
    "+5.2 %; with the counting alone it was +8.8 %, with none -23.7 %"
)
MANY_FLOWS = (
    "no cause has been found. The references do not agree with each other either: ns-2.35's Sack1 "
    "over the same queue drops 0.167, ns-3's senders 0.226 and 0.250. How far those two are apart "
    "widens no tolerance"
)

DEVIATIONS: list[Deviation] = [
    Deviation(Where(LINUX_RENO, LINK, FEW, "drop rate"), 1.04, 1.07, AT_THE_EDGE),
    Deviation(Where(NEWRENO, LINK, MANY, "drop rate"), 1.04, 1.07, MANY_FLOWS),
]


def sender_table(parameters: dict[str, Any]) -> str:
    """The sender of a case: RFC 6675 with ns-3's proportional rate reduction, a clock of 1 ms."""
    linux = parameters["tcp"] == "TcpLinuxReno"
    # By its source, ns-3's TcpNewReno halves what RFC 6675 calls the pipe.
    loss_window = "congestion-window" if linux else "pipe"
    return (
        '{ congestion_control = "sack", window_cap = "10000 packets", timestamps = true, '
        'clock_tick = "1 ms", linear_handshake_timeouts = 0, recovery_dialect = "ns3", '
        'proportional_rate_reduction = true, reduction_bound = "ns3", '
        f"byte_counting = {truth(value=linux)}, cumulative_counting = {truth(value=linux)}, "
        f'loss_window = "{loss_window}" }}'
    )


def scenario_text(case: dict[str, Any]) -> str:
    """The scenario of a case, in our language."""
    parameters = case["params"]
    text = f"""
        title = "ns-3"
        duration = "{parameters["dur"]} s"
        warm_up = "{case["phases"][0]["t0"]} s"
        [links.{LINK}]
        rate = "{parameters["bw"]} bit/s"
        delay = "{parameters["dbot"]} ms"
        [links.{LINK}.queue]
        discipline = "ns2-red"
        limit = "{parameters["buf"] + DEVICE_QUEUE} packets"
        min_threshold = "{parameters["minth"] + DEVICE_QUEUE} packets"
        max_threshold = "{parameters["maxth"] + DEVICE_QUEUE} packets"
        max_probability = {1 / parameters["lint"]}
        weight = {parameters["wq"]}
        gentle = {truth(value=parameters["gentle"])}
        wait = true
        mean_packet_size = "1000 bytes"
    """
    for number, group in enumerate(parameters["flows"].split(",")):
        count, start, jitter, rtt = (float(field) for field in group.split(":"))
        text += f"""
            [flows.group{number}]
            count = {int(count)}
            path = ["{LINK}"]
            rtt = "{rtt + return_transmission_ms(parameters):.6f} ms"
            access_rate = "100 Mbit/s"
            sender = {sender_table(parameters)}
            packet_size = "1000 bytes"
            start = "{start} s .. {start + jitter} s"
        """
    return text


def known(name: str) -> list[Known]:
    """What ns-3 found in a case."""
    case = CASES[name]
    runs = len(case["seeds"])
    found = []
    for phase in case["phases"]:
        span = (phase["t0"], phase["t1"])

        def add(metric: str, key: str, measure: Any, phase: Any = phase, span: Any = span) -> None:
            where = Where(name, LINK, span, metric)
            found.append(Known(where, Sample.of(phase[key], runs), measure))

        add("utilisation", "utilization", lambda window: window["utilization"])
        add(
            "mean queue",
            "mean_queue_pkts",
            lambda window: window["queue_packets"]["mean"] - DEVICE_QUEUE,
        )
        add("drop rate", "drop_rate", lambda window: window["drop_rate"])
    return found


@cache
def compare(case: str) -> list[Comparison]:
    """Every metric in every phase of a case."""
    return compare_with(scenario_text(CASES[case]), known(case))
