"""The paper's link, RED and REM in their readings, and how a scenario is given them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario import Scenario

SOURCES = "papers/athuraliya-2000-sources"
DELAYS = "papers/athuraliya-2000-delays"
LINK = "bottleneck"
COUNTS = (10, 20, 30, 40)
JOINS_S = (50.0, 100.0, 150.0)
GROUPS = ("first", "second", "third", "fourth")
BUFFER = 100.0
PACKETS_PER_MS = 4.0

ROUND_TRIPS = {"20 ms round trip": "20 ms", "20 ms one way": "40 ms"}
PHIS = (1.01, 1.03, 1.04, 1.05, 1.1)
MIDDLE_PHIS = (1.03, 1.04, 1.05)
REM_SOURCES = (*((phi, "immediate") for phi in PHIS), (1.04, "smoothed"))
PROBE_S = 0.01
SPIKE_S = 5.0
DELAYS_MS = (10, 20, 30, 40, 50, 60)
DELAY_READINGS = {"round trip": 1, "one way": 2}

REDS: Final[dict[str, dict[str, object]]] = {
    "RED of 1993": {"discipline": "red"},
    "RED of ns-2": {"discipline": "ns2-red", "gentle": False, "wait": True},
}
SIGNALS = {"drops": False, "marks": True}


def red(dialect: str) -> dict[str, object]:
    """RED of a dialect, with the paper’s settings."""
    return REDS[dialect] | {
        "limit": "100 packets",
        "min_threshold": "20 packets",
        "max_threshold": "80 packets",
        "max_probability": 0.1,
        "weight": 0.002,
        "mean_packet_size": "1000 bytes",
    }


def rem(phi: float) -> dict[str, object]:
    """The paper's link: backlog without a target, averaged arrivals, prices each millisecond."""
    return {
        "discipline": "rem",
        "limit": "100 packets",
        "target_queue": "0 packets",
        "gain": 0.001,
        "base": phi,
        "rate_weight": 0.02,
        "queue_weight": 0.1,
        "interval": "1 ms",
    }


def rem_sender(phi: float, adjustment: str) -> dict[str, object]:
    """A REM source with this base and adjustment."""
    return {
        "congestion_control": "rem",
        "phi": phi,
        "utility_weight": "4000 packets",
        "adjustment": adjustment,
    }


def replaced(
    scenario: Scenario, queue: Mapping[str, object], sender: Mapping[str, object]
) -> Scenario:
    """The scenario with another queue and another kind of sender in all groups."""
    values: dict[str, object] = {f"links.{LINK}.queue": dict(queue)}
    values |= {f"flows.{group}.sender": dict(sender) for group in scenario.flows}
    return scenario.with_values(values)


def at_distance(scenario: Scenario, round_trip: str) -> Scenario:
    """The scenario with another round trip for all."""
    return scenario.with_values({f"flows.{group}.rtt": round_trip for group in scenario.flows})
