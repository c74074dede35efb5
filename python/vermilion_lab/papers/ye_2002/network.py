"""The paper's network, in its readings, and what standard RED is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario import load_scenario

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

LOAD = "papers/ye-2002-varying-load"
ROUND_TRIP = "papers/ye-2002-varying-round-trip-time"
LINK = "bottleneck"
QUEUE = f"links.{LINK}.queue"
TARGET = 30.0
BUFFER = 100.0

STANDARD: Final[dict[str, object]] = {
    "limit": "100 packets",
    "min_threshold": "15 packets",
    "max_threshold": "45 packets",
    "max_probability": 0.1,
    "weight": 0.002,
}
REDS: Final[dict[str, dict[str, object]]] = {
    "RED of ns-2": {"discipline": "ns2-red", "gentle": True, "wait": True} | STANDARD,
    "RED of 1993": {"discipline": "red", "gentle": False} | STANDARD,
}
SENDERS = {"Reno": "reno", "NewReno": "newreno"}
RATES_MBIT = (10, 20, 45)
CHANGES_S = (20, 40)


def at_rate(scenario: Scenario, rate_mbit: int) -> Scenario:
    """The scenario with another bottleneck."""
    return scenario.with_values({f"links.{LINK}.rate": f"{rate_mbit} Mbit/s"})


def varying_load(rate_mbit: int, change_s: int) -> Scenario:
    """Figure 5’s network."""
    return at_rate(load_scenario(LOAD), rate_mbit).with_values(
        {"flows.late.start": f"{change_s} s .. {change_s + 1} s"}
    )


def steady(flows: int) -> Scenario:
    """The network of figure 5 with so many flows from the beginning."""
    return load_scenario(LOAD).with_values(
        {
            "duration": "25 s",
            "flows.early.count": flows,
            "flows.late.count": 1,
            "flows.late.start": "24.9 s",
        }
    )
