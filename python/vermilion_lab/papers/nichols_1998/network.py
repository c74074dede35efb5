"""The networks of the talk: one transfer on a slow link, and loads at three rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario import load_scenario

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

LINK: Final = "bottleneck"
QUEUE: Final = f"links.{LINK}.queue"
PACKET_BITS: Final = 12_000
ROUND_TRIP_S: Final = 0.1
"""About which the loads' round trips lie."""

ONE: Final = "red-light-one-transfer"
TRANSFERS: Final = "papers/nichols-1998-transfers"
MICE: Final = "papers/nichols-1998-mice"

RED: Final = "RED of 1993"
LIGHT: Final = "RED Light"
QUEUES: Final = (RED, LIGHT)

LOADS: Final = {"long transfers": TRANSFERS, "with mice": MICE}
RATES: Final = (1.5, 10.0, 45.0)
"""In Mbit/s."""

TRANSFERS_AT: Final = {1.5: (1, 4, 16), 10.0: (5, 25, 100), 45.0: (20, 100, 400)}
"""Few, more, and many long transfers."""

_MICE_AT: Final = {1.5: 3, 10.0: 20, 45.0: 90}
"""Sources of mice that offer 30 % of the link."""


def one_transfer(queue: str, round_trip_ms: int, limit: int) -> Scenario:
    """The talk's example at a round trip and with a buffer in packets."""
    changes = [f"flows.transfer.rtt={round_trip_ms} ms", f"{QUEUE}.limit={limit} packets"]
    return load_scenario(ONE, changes + _red_light(queue, limit))


def pipe(rate: float) -> int:
    """The bandwidth-delay product in packets."""
    return round(rate * 1e6 * ROUND_TRIP_S / PACKET_BITS)


def load(kind: str, rate: float, transfers: int, queue: str, buffers: int = 1) -> Scenario:
    """Long transfers, alone or among mice; the buffer is so many bandwidth-delay products."""
    limit = buffers * pipe(rate)
    changes = [
        f"links.{LINK}.rate={rate} Mbit/s",
        f"{QUEUE}.limit={limit} packets",
        f"flows.long.count={transfers}",
    ]
    if LOADS[kind] == MICE:
        changes.append(f"flows.mice.count={_MICE_AT[rate]}")
    return load_scenario(LOADS[kind], changes + _red_light(queue, limit))


def _red_light(queue: str, limit: int) -> list[str]:
    if queue == RED:
        return []
    return [f'{QUEUE}={{ discipline = "red-light", limit = "{limit} packets" }}']
