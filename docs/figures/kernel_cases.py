"""The scenarios that run both in the simulator and on a Linux kernel, by name.

``validation_kernel.py`` runs and compares them.
"""

from __future__ import annotations

from typing import Final

RED: Final = """discipline = "linux-red"
limit = "100000 bytes"
min_threshold = "15000 bytes"
max_threshold = "45000 bytes"
max_probability = 0.1
weight_log = 9"""
PIE: Final = 'discipline = "pie"\ndialect = "linux"\ninterval = "20 ms"'
PIE_IS_UPDATED_EVERY: Final = {"links.link.queue.interval": "30 ms"}
"""Where the timer ticks a hundred times a second: a timer expires one tick later than asked for."""
CODEL: Final = 'discipline = "codel"\ndialect = "linux"'
FQ_CODEL: Final = 'discipline = "fq-codel"\ndialect = "linux"'
FQ: Final = 'discipline = "fq"'
SHORT_FQ: Final = f'{FQ}\nflow_limit = "20 packets"'
MARKING_FQ: Final = f'{FQ}\nce_threshold = "5 ms"'
PFIFO: Final = 'discipline = "drop-tail"\nlimit = "100 packets"'
WIDE_RED: Final = (
    RED.replace("100000", "1000000").replace("15000", "50000").replace("45000", "150000")
)


def sender(control: str = "sack", *, ecn: bool = False, paced: bool = False) -> str:
    """A sender as Linux has it; ``sack`` is the kernel's Reno."""
    more = (", ecn = true" if ecn else "") + (", pacing = true" if paced else "")
    return (
        f'{{ congestion_control = "{control}", option_set = "linux", timer_tick = "10 ms",'
        " shared_clock = true,"
        f' window_cap = "10000 packets"{more} }}'
    )


def bulk(
    count: int, rtt: str, of: str | None = None, path: str = '["link"]', name: str = "bulk"
) -> str:
    """A group of endless flows."""
    trips = rtt if rtt.startswith("[") else f'"{rtt}"'
    return f"""
[flows.{name}]
count = {count}
path = {path}
rtt = {trips}
sender = {of or sender()}
packet_size = "1514 bytes"
header_size = "66 bytes"
ack_size = "66 bytes"
start = "0 s .. 1 s"
"""


PAGES: Final = """
[flows.pages]
count = 4
path = ["link"]
rtt = "50 ms"
sender = {sender}
packet_size = "1514 bytes"
header_size = "66 bytes"
traffic = {{ kind = "web", mean_gap = "1 s", size = "100 kB" }}
"""
CALLS: Final = """
[flows.calls]
path = ["link"]
rtt = "28 ms"
packet_size = "1000 bytes"
traffic = { kind = "constant-rate", rate = "2 Mbit/s" }
"""
FLOOD: Final = """
[flows.flood]
path = ["link"]
rtt = "60 ms"
packet_size = "1514 bytes"
stop = "0.7 s"
traffic = { kind = "constant-rate", rate = "300 Mbit/s" }
"""
"""In which the SYNs of whoever begins are lost; those after a second are not."""


def network(
    queue: str, flows: str, *, links: int = 1, seconds: int = 30, rate: str = "10 Mbit/s"
) -> str:
    """A scenario; its first third is left out."""
    text = f'duration = "{seconds} s"\nwarm_up = "{seconds // 3} s"\nsettle = "0 s"\n'
    names = ["link"] if links == 1 else [f"link{number}" for number in range(links)]
    for name in names:
        text += f'\n[links.{name}]\nrate = "{rate}"\ndelay = "0 ms"\n'
        text += f"[links.{name}.queue]\n{queue}\n"
    return text + flows


def fast(queue: str) -> str:
    """A link on which windows are large and the share of the first flows falls quickly."""
    return network(queue, bulk(32, "34 ms", CUBIC), seconds=12, rate="400 Mbit/s")


def wide(queue: str, flows: str, seconds: int) -> str:
    """A link on which many windows have ten segments and more."""
    return network(queue, flows, seconds=seconds, rate="100 Mbit/s")


def slow(queue: str, flows: str) -> str:
    """A link that a packet takes six milliseconds to pass."""
    return network(queue, flows, seconds=60, rate="2 Mbit/s")


def pfifo(limit: int) -> str:
    """First in, first out, of so many packets."""
    return PFIFO.replace("100 ", f"{limit} ")


def hops() -> str:
    """Four links in a row, eight flows over all of them, four over each."""
    through = '["link0", "link1", "link2", "link3"]'
    flows = bulk(8, "28 ms", path=through, name="through")
    for number in range(4):
        flows += bulk(4, "28 ms", path=f'["link{number}"]', name=f"cross{number}")
    return network(RED.replace("100000", "45000"), flows, links=4)


CUBIC: Final = sender("cubic")
BBR: Final = sender("bbr1")
PACED: Final = sender("cubic", paced=True)
PACED_RENO: Final = sender(paced=True)
TRIPS: Final = '["20 ms", "40 ms", "80 ms", "160 ms"]'
CASES: Final[dict[str, str]] = {
    "RED, 4 Reno, 28 ms": network(RED, bulk(4, "28 ms")),
    "RED, 16 Reno, 28 ms": network(RED, bulk(16, "28 ms")),
    "RED, 64 Reno, 28 ms": network(RED, bulk(64, "28 ms")),
    "RED, 16 Reno, 10 ms": network(RED, bulk(16, "10 ms")),
    "RED, 16 Reno, 100 ms": network(RED, bulk(16, "100 ms")),
    "RED, 16 Reno, 200 ms": network(RED, bulk(16, "200 ms"), seconds=60),
    "RED, 16 CUBIC, 28 ms": network(RED, bulk(16, "28 ms", CUBIC)),
    "RED, 16 Reno with ECN, 28 ms": network(RED, bulk(16, "28 ms", sender(ecn=True))),
    "RED, 16 BBR, 28 ms": network(RED, bulk(16, "28 ms", BBR)),
    "PIE, 16 Reno, 28 ms": network(PIE, bulk(16, "28 ms")),
    "PIE, 64 Reno, 28 ms": network(PIE, bulk(64, "28 ms")),
    "PIE, 16 CUBIC, 100 ms": network(PIE, bulk(16, "100 ms", CUBIC)),
    "PIE, 16 Reno with ECN, 28 ms": network(PIE, bulk(16, "28 ms", sender(ecn=True))),
    "CoDel, 4 Reno, 28 ms": network(CODEL, bulk(4, "28 ms")),
    "CoDel, 16 Reno, 28 ms": network(CODEL, bulk(16, "28 ms")),
    "CoDel, 64 Reno, 28 ms": network(CODEL, bulk(64, "28 ms")),
    "CoDel, 16 CUBIC, 100 ms": network(CODEL, bulk(16, "100 ms", CUBIC)),
    "FQ-CoDel, 4 Reno, 28 ms": network(FQ_CODEL, bulk(4, "28 ms")),
    "FQ-CoDel, 16 Reno, 28 ms": network(FQ_CODEL, bulk(16, "28 ms")),
    "FQ-CoDel, 64 Reno, 28 ms": network(FQ_CODEL, bulk(64, "28 ms")),
    "FQ-CoDel, 16 CUBIC, 100 ms": network(FQ_CODEL, bulk(16, "100 ms", CUBIC)),
    "fq, 4 Reno, 28 ms": network(FQ, bulk(4, "28 ms")),
    "fq with 20 of a flow, 16 Reno, 28 ms": network(SHORT_FQ, bulk(16, "28 ms")),
    "fq with 20 of a flow, 16 CUBIC, 100 ms": network(SHORT_FQ, bulk(16, "100 ms", CUBIC)),
    "fq with 20 of a flow, 8 Reno beside UDP": network(SHORT_FQ, bulk(8, "28 ms") + CALLS),
    "fq, 8 CUBIC, 20 to 160 ms, 50 Mbit/s": network(FQ, bulk(8, TRIPS, CUBIC), rate="50 Mbit/s"),
    "fq with marks, 16 CUBIC with ECN, 28 ms": network(
        MARKING_FQ, bulk(16, "28 ms", sender("cubic", ecn=True))
    ),
    "fq, 4 BBR, 28 ms": network(FQ, bulk(4, "28 ms", BBR)),
    "pfifo, 4 Reno, 28 ms": network(PFIFO, bulk(4, "28 ms")),
    "pfifo, 16 CUBIC, 28 ms": network(PFIFO, bulk(16, "28 ms", CUBIC)),
    "pfifo, 16 BBR, 28 ms": network(PFIFO, bulk(16, "28 ms", BBR)),
    "FQ-CoDel, 8 BBR, 28 ms": network(FQ_CODEL, bulk(8, "28 ms", BBR)),
    "CoDel, 4 BBR, 40 ms, 20 Mbit/s": network(CODEL, bulk(4, "40 ms", BBR), rate="20 Mbit/s"),
    "pfifo of 200, 1 BBR, 20 ms, 100 Mbit/s": wide(pfifo(200), bulk(1, "20 ms", BBR), 30),
    "pfifo of 1000, 4 BBR, 20 to 160 ms, 20 Mbit/s": network(
        pfifo(1000), bulk(4, TRIPS, BBR), rate="20 Mbit/s"
    ),
    "pfifo, 8 Reno, 20 to 160 ms": network(PFIFO, bulk(8, TRIPS)),
    "FQ-CoDel, 8 Reno, 20 to 160 ms": network(FQ_CODEL, bulk(8, TRIPS)),
    "PIE, 4 Reno and short transfers": network(
        PIE, bulk(4, "28 ms") + PAGES.format(sender=sender()), seconds=60
    ),
    "pfifo, 4 Reno and short transfers": network(
        PFIFO, bulk(4, "28 ms") + PAGES.format(sender=sender()), seconds=60
    ),
    "RED, 8 Reno beside UDP": network(RED, bulk(8, "28 ms") + CALLS),
    "FQ-CoDel, 8 Reno beside UDP": network(FQ_CODEL, bulk(8, "28 ms") + CALLS),
    "RED, four links in a row": hops(),
    "FQ-CoDel, 32 CUBIC, 34 ms, 400 Mbit/s": fast(FQ_CODEL),
    "CoDel, 32 CUBIC, 34 ms, 400 Mbit/s": fast(CODEL),
    "PIE, 32 CUBIC, 34 ms, 400 Mbit/s": fast(PIE),
    "pfifo of 1000, 32 CUBIC, 34 ms, 400 Mbit/s": fast(pfifo(1000)),
    "FQ-CoDel, 8 Reno, 34 ms, 100 Mbit/s": network(
        FQ_CODEL, bulk(8, "34 ms"), seconds=15, rate="100 Mbit/s"
    ),
    "pfifo of 60, 1 Reno, 20 ms, 100 Mbit/s": wide(pfifo(60), bulk(1, "20 ms"), 30),
    "pfifo of 60, 20 Reno, 20 ms, 100 Mbit/s": wide(pfifo(60), bulk(20, "20 ms"), 30),
    "pfifo of 60, 20 CUBIC, 20 ms, 100 Mbit/s": wide(pfifo(60), bulk(20, "20 ms", CUBIC), 30),
    "pfifo of 250, 4 CUBIC, 100 ms, 100 Mbit/s": wide(pfifo(250), bulk(4, "100 ms", CUBIC), 30),
    "RED, 20 Reno, 20 ms, 100 Mbit/s": wide(WIDE_RED, bulk(20, "20 ms"), 15),
    "RED, 20 CUBIC, 20 ms, 100 Mbit/s": wide(WIDE_RED, bulk(20, "20 ms", CUBIC), 15),
    "FQ-CoDel, 20 CUBIC with ECN, 20 ms, 100 Mbit/s": wide(
        FQ_CODEL, bulk(20, "20 ms", sender("cubic", ecn=True)), 15
    ),
    "CoDel, 8 CUBIC, 20 to 160 ms, 50 Mbit/s": network(
        CODEL, bulk(8, TRIPS, CUBIC), rate="50 Mbit/s"
    ),
    "FQ-CoDel, 2 CUBIC, 150 ms, 200 Mbit/s": network(
        FQ_CODEL, bulk(2, "150 ms", CUBIC), rate="200 Mbit/s"
    ),
    "pfifo of 1000, 8 CUBIC, 30 ms, 2 Mbit/s": slow(pfifo(1000), bulk(8, "30 ms", CUBIC)),
    "pfifo, 16 CUBIC, 60 ms, 2 Mbit/s": slow(PFIFO, bulk(16, "60 ms", CUBIC)),
    "PIE, 16 CUBIC, 60 ms, 2 Mbit/s": slow(PIE, bulk(16, "60 ms", CUBIC)),
    "CoDel, 16 CUBIC, 60 ms, 2 Mbit/s": slow(CODEL, bulk(16, "60 ms", CUBIC)),
    "FQ-CoDel, 16 CUBIC, 60 ms, 2 Mbit/s": slow(FQ_CODEL, bulk(16, "60 ms", CUBIC)),
    "FQ-CoDel, 16 Reno, 60 ms, 2 Mbit/s": slow(FQ_CODEL, bulk(16, "60 ms")),
    "pfifo, 16 paced CUBIC, 28 ms": network(PFIFO, bulk(16, "28 ms", PACED)),
    "RED, 16 paced Reno, 28 ms": network(RED, bulk(16, "28 ms", PACED_RENO)),
    "CoDel, 16 paced CUBIC, 100 ms": network(CODEL, bulk(16, "100 ms", PACED)),
    "FQ-CoDel, 8 paced CUBIC, 40 ms, 20 Mbit/s": network(
        FQ_CODEL, bulk(8, "40 ms", PACED), rate="20 Mbit/s"
    ),
    "FQ-CoDel, 8 paced CUBIC, 3 ms, 100 Mbit/s": wide(FQ_CODEL, bulk(8, "3 ms", PACED), 15),
    "pfifo of 60, 20 paced CUBIC, 20 ms, 100 Mbit/s": wide(pfifo(60), bulk(20, "20 ms", PACED), 30),
    "pfifo of 100, 4 paced Reno, 40 ms, 100 Mbit/s": wide(
        pfifo(100), bulk(4, "40 ms", PACED_RENO), 30
    ),
    "pfifo of 1000, 4 Reno behind a flood, 60 ms, 100 Mbit/s": wide(
        pfifo(1000), bulk(4, "60 ms").replace("0 s .. 1 s", "0.3 s .. 0.6 s") + FLOOD, 9
    ),
}
