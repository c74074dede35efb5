"""The networks of which a Linux kernel's outcomes are known (``tests/reference/linux.json``).

The kernel's means are over three seeds, in virtual time. What its network is: htb lets a packet
leave the queue at the start of its slot, so that the transmission is no part of the round trip;
ours is, so that one transmission for each hop is taken from the base round trip. Timers move in
ticks of 10 ms (HZ=100). A full packet has 1514 bytes at the queue, 66 of them headers. RED stands
under htb, where its average does not decay while it is idle (``shaped``).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ns2_reference import truth
from reference_comparison import (
    Comparison,
    Deviation,
    Known,
    Sample,
    Where,
    compare_with,
    reference,
)

PACKET, HEADER = 1514, 66
METRICS = {
    "utilisation": ("utilization", lambda window: window["utilization"]),
    "mean queue": ("bytes_mean", lambda window: window["queue_bytes"]["mean"]),
    "drop rate": ("drop_rate", lambda window: window["drop_rate"]),
    "mark rate": ("mark_rate", lambda window: window["mark_rate"]),
}
"""Name, key in the reference, and how we measure it; queues in bytes."""


def named(case: dict[str, Any]) -> str:
    """A case's name."""
    return f"{case['case']}: {case['what']}"


CASES = {named(case): case for case in reference("linux")["cases"]}

LOCKED_OUT = (
    "two of the twelve seeds lock their queue again within the window, one of them until 37 s. "
    "Of 96 seeds here a third lose more than 2 % of the link so, and five more than a tenth; of 24 "
    "on the same kernel, five and none. The three of the reference do not"
)

DEVIATIONS: list[Deviation] = [
    Deviation(
        Where("X2: L1 without SACK (NewReno)", "r0", (10, 60), "drop rate"), 0.92, 0.96, LOCKED_OUT
    ),
]


def queue_table(settings: dict[str, Any]) -> str:
    """The queue of a case, in our language."""
    if "red" in settings:
        red = settings["red"]
        return f"""discipline = "linux-red"
            limit = "{red["limit"]} bytes"
            min_threshold = "{red["min"]} bytes"
            max_threshold = "{red["max"]} bytes"
            weight_log = {red["wlog"]}
            max_probability = {red["p"]}
            ecn = {truth(value=red.get("ecn"))}
            shaped = true"""
    return {
        "codel": 'discipline = "codel"\ndialect = "linux"\ntarget = "5 ms"\ninterval = "100 ms"',
        "pie": 'discipline = "pie"\ntarget = "15 ms"',
        "pfifo": 'discipline = "drop-tail"\nlimit = "100 packets"',
    }[settings["qdisc"].split()[0]]


def sender_table(case: dict[str, Any]) -> str:
    """The sender of a case, in our language."""
    sysctl = case["settings"].get("sysctl", {})
    control = "cubic" if "cubic" in case["what"] else "sack"
    if sysctl.get("tcp_sack") == 0:
        control = "newreno"
    fields = {
        "congestion_control": f'"{control}"',
        "option_set": '"linux"',
        "timer_tick": '"10 ms"',
        "shared_clock": "true",
        "window_cap": '"10000 packets"',
        "ecn": truth(value=sysctl.get("tcp_ecn")),
    }
    return f"{{ {', '.join(f'{name} = {value}' for name, value in fields.items())} }}"


def groups(case: dict[str, Any]) -> dict[str, tuple[int, list[str]]]:
    """The flow groups of a case: how many flows, and over which links."""
    hops = case["settings"]["K"]
    if hops == 1:
        first = case["what"].split()[0]
        return {"all": (int(first) if first.isdigit() else 16, ["r0"])}
    links = [f"r{hop}" for hop in range(hops)]
    return {"through": (8, links)} | {f"cross{hop}": (4, [f"r{hop}"]) for hop in range(hops)}


def scenario_text(case: dict[str, Any], *, warm_up_s: float | None = None) -> str:
    """The scenario of a case, in our language; ``warm_up_s``: another one than the case has."""
    settings = case["settings"]
    *_, (begin, _) = case["phases"].values()
    text = f"""
        title = "Linux"
        duration = "{settings["T"]} s"
        warm_up = "{begin if warm_up_s is None else warm_up_s} s"
    """
    for hop in range(settings["K"]):
        text += f"""
            [links.r{hop}]
            rate = "{settings["rate"]} Mbit/s"
            delay = "0 ms"
            [links.r{hop}.queue]
            {queue_table(settings)}
        """
    transmission_ms = PACKET * 8 / (settings["rate"] * 1e3)
    for name, (count, path) in groups(case).items():
        text += f"""
            [flows.{name}]
            count = {count}
            path = [{", ".join(f'"{link}"' for link in path)}]
            rtt = "{settings["rtt"] - transmission_ms * len(path):.6f} ms"
            sender = {sender_table(case)}
            packet_size = "{PACKET} bytes"
            header_size = "{HEADER} bytes"
            ack_size = "66 bytes"
            start = "0 s .. 1 s"
        """
    return text


def known(case: dict[str, Any]) -> list[Known]:
    """What the kernel did in a case, after the start."""
    name, span = list(case["phases"].items())[-1]
    found = []
    for hop, queue in enumerate(case["mean_sd"][name]["queues"]):
        for metric, (key, measure) in METRICS.items():
            if metric == "mark rate" and not case["settings"].get("red", {}).get("ecn"):
                continue
            where = Where(named(case), f"r{hop}", tuple(span), metric)
            found.append(Known(where, Sample.of(queue[key], len(case["seeds"])), measure))
    return found


@cache
def compare(case: str) -> list[Comparison]:
    """Every metric at every queue of a case."""
    return compare_with(scenario_text(CASES[case]), known(CASES[case]))
