"""The networks of which a Linux kernel's CAKE is known (a file outside of the repository).

``VERMILION_CAKE_REFERENCE`` names the file: a case for each key, with its settings, and the means
and standard deviations over its seeds in virtual time. CAKE stands alone before a line without a
rate of its own; the call is a UDP flow of 80 kbit/s, whose delay is its wait.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import vermilion
from reference_comparison import Comparison, Deviation, Sample, Where

if TYPE_CHECKING:
    from collections.abc import Callable

PACKET, HEADER = 1514, 66
SEEDS = range(1, 13)
RATES = {"kbit": "kbit/s", "mbit": "Mbit/s"}
FILE = os.environ.get("VERMILION_CAKE_REFERENCE", "")
CASES: dict[str, Any] = json.loads(Path(FILE).read_text()) if FILE else {}

SPAN = (10, 30)
CALL = "mean delay of call 0 (ms)"
FEW_FLOWS = (
    "0.02 to 0.03 ms, a twentieth of a packet's time at 20 Mbit/s: with so few flows as here, ours "
    "are new ones a little more often, before which the call does not go"
)
DEVIATIONS = [
    Deviation(Where("K01-20M-8", "", SPAN, CALL), 1.04, 1.13, FEW_FLOWS),
    Deviation(Where("K06-hosts-flows", "", SPAN, CALL), 1.03, 1.12, FEW_FLOWS),
    Deviation(Where("K09-ecn", "", SPAN, CALL), 1.02, 1.11, FEW_FLOWS),
    Deviation(
        Where("K11-atm-overhead44", "", SPAN, "backlog (bytes)"),
        1.03,
        1.07,
        "5.1 %: the drops and the goodput agree",
    ),
]


def queue_table(words: str) -> str:
    """A queue as tc's words describe it, in our language."""
    given = words.split()
    fields = {"discipline": '"cake"', "network_offset": '"14 bytes"'}
    while given:
        word = given.pop(0)
        if word == "bandwidth":
            rate = given.pop(0)
            fields["bandwidth"] = f'"{rate[:-4]} {RATES[rate[-4:]]}"'
        elif word == "rtt":
            fields["rtt"] = f'"{given.pop(0)[:-2]} ms"'
        elif word in {"overhead", "mpu"}:
            fields[word] = f'"{given.pop(0)} bytes"'
        elif word in {"atm", "ptm", "noatm"}:
            fields["atm"] = f'"{word}"'
        elif word == "besteffort" or word.startswith(("diffserv", "precedence")):
            fields["tins"] = f'"{word}"'
        elif "ack-filter" in word:
            fields["ack_filter"] = f'"{word}"'
        elif word == "ingress":
            fields["ingress"] = "true"
        elif word != "raw":
            fields["isolation"] = f'"{word}"'
    return f"{{ {', '.join(f'{name} = {value}' for name, value in fields.items())} }}"


def scenario_text(settings: dict[str, Any]) -> str:
    """The scenario of a case, in our language."""
    text = f"""
        title = "CAKE"
        duration = "{settings["duration"]} s"
        warm_up = "{settings["warm_up"]} s"
        [links.wan]
        rate = "10 Gbit/s"
        delay = "0 ms"
        queue = {queue_table(settings["cake"])}
    """
    back = ""
    if "cake_reverse" in settings:
        back = 'return_path = ["lan"]'
        text += f"""
            [links.lan]
            rate = "10 Gbit/s"
            delay = "0 ms"
            queue = {queue_table(settings["cake_reverse"])}
        """
    ecn = "true" if settings.get("tcp_ecn") else "false"
    for number, group in enumerate(settings["flows"]):
        control = {"reno": "sack"}.get(group["cc"], group["cc"])
        text += f"""
            [flows.tcp{number}]
            count = {group["n"]}
            path = ["wan"]
            {back}
            rtt = "{settings["rtt_ms"]} ms"
            sender = {{ congestion_control = "{control}", option_set = "linux", ecn = {ecn}, \
                timer_tick = "10 ms", shared_clock = true, window_cap = "10000 packets" }}
            packet_size = "{PACKET} bytes"
            header_size = "{HEADER} bytes"
            ack_size = "66 bytes"
            start = "0 s .. 1 s"
            dscp = {group["dscp"]}
            source_host = "host {group["src"]}"
            destination_host = "server {group["dst"]}"
        """
    for number, call in enumerate(settings["udp"]):
        text += f"""
            [flows.udp{number}]
            path = ["wan"]
            traffic = {{ kind = "constant-rate", rate = "{call["kbps"]} kbit/s" }}
            packet_size = "{call["size"]} bytes"
            start = "0 s .. 1 s"
            dscp = {call["dscp"]}
            source_host = "host {call["src"]}"
            destination_host = "server {call["dst"]}"
        """
    return text


def known(case: dict[str, Any]) -> dict[str, tuple[Sample, Callable[[Any], float]]]:
    """What the kernel did in a case, and how we measure the same."""
    seeds = len(case["seeds"])
    (span,) = case["spans"]

    def sample(given: dict[str, float]) -> Sample:
        return Sample(given["mean"], given["sd"], seeds)

    found = {
        "backlog (bytes)": (
            sample(span["backlog_bytes"]["mean"]),
            lambda result: result.link("wan").total["queue_bytes"]["mean"],
        )
    }
    for number, group in enumerate(span["groups"]):
        found[f"goodput of group {number} (kbit/s)"] = (
            sample(group["total_kbps"]),
            lambda result, name=f"tcp{number}": (
                result.flows(name).total["goodput_bit_per_s"]["total"] / 1e3
            ),
        )
    for number, call in enumerate(span["udp"]):
        found[f"mean delay of call {number} (ms)"] = (
            sample(call["owd_ms_mean"]),
            lambda result, name=f"udp{number}": result.flows(name).total["delay_ms"]["mean"],
        )
    for link in case["cake"]:
        drops = sample(case["cake"][link]["drop_rate_percent"])
        found[f"drops at {link} (%)"] = (
            drops,
            lambda result, name=link: 100 * result.link(name).total["drop_rate"],
        )
    if case["settings"].get("tcp_ecn"):
        (tin,) = case["cake"]["wan"]["tins"]
        found["marks (1/s)"] = (
            sample(tin["ecn_mark_per_s"]),
            lambda result: (
                result.link("wan").total["marks"]
                / (case["settings"]["duration"] - case["settings"]["warm_up"])
            ),
        )
    return found


@cache
def compare(name: str) -> list[Comparison]:
    """Every metric of a case."""
    case = CASES[name]
    scenario = vermilion.parse_scenario(scenario_text(case["settings"]), origin=name)
    (results,) = vermilion.run_many([scenario], SEEDS, flow_delays=True)
    rows = []
    for metric, (theirs, measure) in known(case).items():
        values = [measure(result) for result in results]
        ours = Sample(fmean(values), stdev(values), len(values))
        rows.append(Comparison(Where(name, "", SPAN, metric), ours, theirs))
    return rows
