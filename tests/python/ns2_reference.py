"""Runs the scenarios of which ns-2.35's outcomes are known, and sets the two beside each other.

The outcomes are in ``tests/reference/ns2.json``: mean and standard deviation over five seeds, with
every setting spelled out. ``python tests/python/ns2_reference.py`` prints the comparison as the
Markdown table of ``docs/validation.md``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import vermilion

REFERENCE = Path(__file__).parent.parent / "reference" / "ns2.json"

SEEDS = range(1, 13)
NS2_SEEDS = 5

METRICS = {
    "utilisation": ("utilization", lambda window: window["utilization"]),
    "mean queue": ("mean_queue_pkts", lambda window: window["queue_packets"]["mean"]),
    "drop rate": ("drop_rate", lambda window: window["drop_rate"]),
}
"""Name, key in the reference, and how we measure it."""

CASES = [
    "S1 Reno gentle=0 wait=1",
    "S1 Reno gentle=0 wait=0",
    "S1 Reno gentle=1 wait=1",
    "S1 Newreno gentle=0 wait=1",
    "S1 Newreno gentle=1 wait=0",
    "S1 Newreno DropTail100",
    "S1 Reno adaptive(Floyd) gentle=1",
    "S3 RTT20 RED gentle=0 wait=1",
    "S3 RTT20 RED gentle=0 wait=0",
    "S3 RTT20 RED gentle=0 Newreno",
    "S3 RTT20 DropTail",
    "S3 RTT20 REM drop",
    "S5 scen1 Reno wire=1040 defaults(2.35)",
    "S5 scen2 Reno wire=1040 defaults(2.35)",
    "S5 scen1 Reno wire=1000 5/15 pkts wq.002 gentle=0 wait=1",
    "S5 scen2 Reno wire=1000 5/15 pkts wq.002 gentle=0 wait=1",
    "S7 100M n=100 ARED auto",
    "S7 1000M n=1000 ARED auto",
]
"""The cases whose senders and disciplines exist here."""


MARKED = ["S3 RTT20 REM ECN"]
"""Cases that agree with few flows and not with many, whose windows are small: senders that are told
by marks then keep a longer queue here than in ns-2."""


@dataclass(frozen=True)
class Comparison:
    """One metric in one phase of one case."""

    case: str
    span: tuple[float, float]
    metric: str
    ours: float
    ours_sd: float
    theirs: float
    theirs_sd: float

    @property
    def tolerance(self) -> float:
        """The larger of 5 % and three standard errors of the difference."""
        error = math.hypot(
            self.ours_sd / math.sqrt(len(SEEDS)), self.theirs_sd / math.sqrt(NS2_SEEDS)
        )
        return max(0.05 * self.theirs, 3 * error)

    @property
    def agrees(self) -> bool:
        """Whether the two means are within the tolerance of each other."""
        return abs(self.ours - self.theirs) <= self.tolerance


def return_transmission_ms(parameters: dict[str, Any]) -> float:
    """What ns-2's network adds to a base round trip besides propagation and the access links.

    Acknowledgements are sent over the bottleneck's return link; ours is pure delay.
    """
    return 1e3 * 40 * 8 / float(parameters["bw"])


def queue_table(parameters: dict[str, Any], readback: dict[str, Any]) -> str:
    """The queue of a case, in our language."""
    if parameters.get("q") == "DropTail":
        # ns-2's drop-tail queue of 100 holds 99 packets: see crates/aqm/src/drop_tail.rs.
        return f'discipline = "drop-tail"\nlimit = "{parameters["buf"] - 1} packets"'
    if parameters.get("q") == "REM":
        # So does its REM; and where it marks, all senders are ECN-capable.
        ecn = "true" if parameters.get("remmark") else "false"
        return f'discipline = "rem"\nlimit = "{parameters["buf"] - 1} packets"\necn = {ecn}'
    lines = [
        f'discipline = "{"adaptive-red" if readback["adaptive"] else "ns2-red"}"',
        f'limit = "{parameters["buf"]} packets"',
        f"max_probability = {1 / readback['linterm']}",
        f"gentle = {'true' if readback['gentle'] else 'false'}",
        f"wait = {'true' if readback['wait'] else 'false'}",
        f"byte_mode = {'true' if readback['bytes'] else 'false'}",
        f'mean_packet_size = "{readback["meanpkt"]} bytes"',
    ]
    # Where ns-2 was left to choose, so are we.
    if parameters.get("minth"):
        lines.append(f'min_threshold = "{parameters["minth"]} packets"')
        lines.append(f'max_threshold = "{parameters["maxth"]} packets"')
    if parameters.get("wq", -1) > 0:
        lines.append(f"weight = {parameters['wq']}")
    return "\n".join(lines)


def scenario_text(case: dict[str, Any]) -> str:
    """The scenario of a case, in our language."""
    parameters = case["params"]
    text = f"""
        title = "ns-2"
        duration = "{parameters["dur"]} s"
        warm_up = "{case["phases"][0]["t0"]} s"
        [links.bottleneck]
        rate = "{parameters["bw"]} bit/s"
        delay = "{parameters["dbot_ms"]} ms"
        [links.bottleneck.queue]
        {queue_table(parameters, case["red_readback"])}
    """
    for number, group in enumerate(parameters["flows"].split(",")):
        count, start, jitter, rtt = (float(field) for field in group.split(":"))
        text += f"""
            [flows.group{number}]
            count = {int(count)}
            path = ["bottleneck"]
            rtt = "{rtt + return_transmission_ms(parameters):.6f} ms"
            access_rate = "{parameters.get("abw", 100e6)} bit/s"
            sender = {{ congestion_control = "{parameters["tcp"].lower()}",
                       window_cap = "{parameters.get("win", 10000)} packets",
                       ecn = {"true" if parameters.get("ecn") else "false"} }}
            packet_size = "{parameters.get("pkt", 1000)} bytes"
            start = "{start} s .. {start + jitter} s"
        """.replace(",\n                      ", ",")
    return text


@cache
def reference(case: str) -> dict[str, Any]:
    """What ns-2 found in a case."""
    cases = json.loads(REFERENCE.read_text())["cases"]
    found: dict[str, Any] = next(
        entry for entry in cases if f"{entry['scenario']} {entry['label']}" == case
    )
    return found


@cache
def compare(case: str) -> list[Comparison]:
    """Every metric in every phase of a case."""
    theirs = reference(case)
    scenario = vermilion.parse_scenario(scenario_text(theirs), origin=case)
    (results,) = vermilion.run_many([scenario], SEEDS)
    comparisons = []
    for phase in theirs["phases"]:
        span = (phase["t0"], phase["t1"])
        windows = [window_over(result.link("bottleneck"), span) for result in results]
        for metric, (key, measure) in METRICS.items():
            values = [measure(window) for window in windows]
            comparisons.append(
                Comparison(case, span, metric, fmean(values), stdev(values), *phase[key])
            )
    return comparisons


def window_over(link: Any, span: tuple[float, float]) -> dict[str, Any]:
    """The window of a link's results that covers ``span``, in seconds."""
    windows: list[dict[str, Any]] = [*link.phases, link.total]
    return next(window for window in windows if (window["start_s"], window["end_s"]) == span)


def table() -> str:
    """The comparison of all cases as a Markdown table."""
    lines = [
        "| case | seconds | metric | Vermilion | ns-2.35 | difference |",
        "|---|---|---|---|---|---|",
    ]
    for case in CASES + MARKED:
        for row in compare(case):
            span = f"{row.span[0]:g} .. {row.span[1]:g}"
            difference = f"{100 * (row.ours / row.theirs - 1):+.1f} %" if row.theirs else "n/a"
            ours, theirs = (
                f"{mean:.4g} ± {deviation:.2g}"
                for mean, deviation in ((row.ours, row.ours_sd), (row.theirs, row.theirs_sd))
            )
            verdict = difference if row.agrees else f"**{difference}**"
            lines.append(f"| {case} | {span} | {row.metric} | {ours} | {theirs} | {verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201
