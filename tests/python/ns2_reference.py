"""ns-2.35's scenarios and outcomes (``tests/reference/ns2.json``), in our language.

ns-2's means are over five seeds. What its network does besides what ours does: acknowledgements
are sent over the bottleneck's return link, where ours are pure delay.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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


def named(case: dict[str, Any]) -> str:
    """A case's name."""
    return f"{case['scenario']} {case['label']}"


CASES = {named(case): case for case in reference("ns2")["cases"]}

DEVIATIONS: list[Deviation] = []
"""None: every number of every case agrees."""


def return_transmission_ms(parameters: dict[str, Any]) -> float:
    """What the return link adds to a base round trip: the transmission of an acknowledgement."""
    return 1e3 * 40 * 8 / float(parameters["bw"])


def truth(*, value: object) -> str:
    """A switch in our language."""
    return "true" if value else "false"


def queue_table(parameters: dict[str, Any], readback: dict[str, Any]) -> str:
    """The queue of a case, in our language."""
    if parameters.get("q") == "DropTail":
        # ns-2's drop-tail queue of 100 holds 99 packets: see crates/aqm/src/drop_tail.rs.
        return f'discipline = "drop-tail"\nlimit = "{parameters["buf"] - 1} packets"'
    if parameters.get("q") == "REM":
        # So does its REM; and where it marks, all senders are ECN-capable.
        marks = truth(value=parameters.get("remmark"))
        return f'discipline = "rem"\nlimit = "{parameters["buf"] - 1} packets"\necn = {marks}'
    lines = [
        f'discipline = "{"adaptive-red" if readback["adaptive"] else "ns2-red"}"',
        f'limit = "{parameters["buf"]} packets"',
        f"max_probability = {1 / readback['linterm']}",
        f"gentle = {truth(value=readback['gentle'])}",
        f"wait = {truth(value=readback['wait'])}",
        f"byte_mode = {truth(value=readback['bytes'])}",
        f'mean_packet_size = "{readback["meanpkt"]} bytes"',
    ]
    # Where ns-2 was left to choose, so are we.
    if parameters.get("minth"):
        lines.append(f'min_threshold = "{parameters["minth"]} packets"')
        lines.append(f'max_threshold = "{parameters["maxth"]} packets"')
    if parameters.get("wq", -1) > 0:
        lines.append(f"weight = {parameters['wq']}")
    return "\n".join(lines)


def sender_table(parameters: dict[str, Any]) -> str:
    """The sender of a case, in our language."""
    selective = parameters["tcp"] == "Sack1"
    fields = {
        "congestion_control": '"sack"' if selective else f'"{parameters["tcp"].lower()}"',
        "window_cap": f'"{parameters.get("win", 10000)} packets"',
        "ecn": truth(value=parameters.get("ecn")),
    }
    if selective:
        fields["recovery"] = '"sack1"'
    if "tick" in parameters:  # ns-2 as it was before 2001
        fields["clock_tick"] = f'"{parameters["tick"]} s"'
        fields["minimum_timeout"] = f'"{parameters["minrto"]} s"'
        fields["initial_window"] = f'"{parameters["iw"]} packets"'
    return f"{{ {', '.join(f'{name} = {value}' for name, value in fields.items())} }}"


def scenario_text(case: dict[str, Any]) -> str:
    """The scenario of a case, in our language."""
    parameters = case["params"]
    text = f"""
        title = "ns-2"
        duration = "{parameters["dur"]} s"
        warm_up = "{case["phases"][0]["t0"]} s"
        [links.{LINK}]
        rate = "{parameters["bw"]} bit/s"
        delay = "{parameters["dbot_ms"]} ms"
        [links.{LINK}.queue]
        {queue_table(parameters, case["red_readback"])}
    """
    for number, group in enumerate(parameters["flows"].split(",")):
        count, start, jitter, rtt = (float(field) for field in group.split(":"))
        text += f"""
            [flows.group{number}]
            count = {int(count)}
            path = ["{LINK}"]
            rtt = "{rtt + return_transmission_ms(parameters):.6f} ms"
            access_rate = "{parameters.get("abw", 100e6)} bit/s"
            sender = {sender_table(parameters)}
            packet_size = "{parameters.get("pkt", 1000)} bytes"
            start = "{start} s .. {start + jitter} s"
        """
    return text


def known(case: dict[str, Any]) -> list[Known]:
    """What ns-2 found in a case."""
    runs = len(case["seeds"])
    found = []
    for phase in case["phases"]:
        span = (phase["t0"], phase["t1"])

        def add(metric: str, pair: list[float], measure: Any, span: Any = span) -> None:
            where = Where(named(case), LINK, span, metric)
            found.append(Known(where, Sample.of(pair, runs), measure))

        add("utilisation", phase["utilization"], lambda window: window["utilization"])
        add("mean queue", phase["mean_queue_pkts"], lambda window: window["queue_packets"]["mean"])
        add("drop rate", phase["drop_rate"], lambda window: window["drop_rate"])
        if case["params"].get("ecn"):
            marks = [number / phase["arrivals"][0] for number in phase["marks"]]
            add("mark rate", marks, lambda window: window["mark_rate"])
    return found


@cache
def compare(case: str) -> list[Comparison]:
    """Every metric in every phase of a case."""
    return compare_with(scenario_text(CASES[case]), known(CASES[case]))
