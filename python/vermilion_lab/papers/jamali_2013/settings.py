"""Readings of what the paper leaves open: the version of ns-2, and VRED's algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario import load_scenario

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

SCENARIOS: Final = {
    "5, then 15, then 20 sources": "vred-staged-load",
    "5, then 20 sources": "vred-sudden-load",
}
"""The paper's two, by how many sources there are in turn."""

SLACK: Final = 0.005
"""By so much of the link the use of it may be lower and still be "no less"."""

LINK: Final = "bottleneck"
_QUEUE: Final = f"links.{LINK}.queue"

# RED as in ns-2.35: in byte mode with a mean packet of 500 bytes, automatic thresholds, gentle.
_RED_OF_2005: Final = (
    "flows.*.packet_size=1040 bytes",
    f"{_QUEUE}.byte_mode=true",
    f"{_QUEUE}.gentle=true",
    f"{_QUEUE}.min_threshold=automatic",
    f"{_QUEUE}.max_threshold=automatic",
    f"{_QUEUE}.weight=automatic",
)
_RENO: Final = (
    "flows.*.sender.congestion_control=reno",
    "flows.*.sender.initial_window=2 packets",
    "flows.*.sender.clock_tick=0.01 s",
    "flows.*.sender.minimum_timeout=0.2 s",
)

AS_PUBLISHED: Final = "old Tahoe, RED 5/15"
"""The settings under which RED drops what the paper's RED drops."""

SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    AS_PUBLISHED: (),
    "old Tahoe, RED of ns-2.35": _RED_OF_2005,
    "Reno of ns-2.35, RED 5/15": _RENO,
    "Reno and RED of ns-2.35": (*_RED_OF_2005, *_RENO),
}
"""Senders and RED that "ns-2 with its defaults" can have been."""


def _each_packet(*gains: float) -> tuple[str, ...]:
    """A velocity at every change of a packet: the paper's 5 packets are then without a meaning."""
    return (
        f"{_QUEUE}.threshold_role=trigger",
        f"{_QUEUE}.growth_threshold=0.9 packets",
        *(f"{_QUEUE}.gain_{level}={gain}" for level, gain in enumerate(gains, start=1)),
    )


_STRONG: Final = (0.25, 0.5, 0.75, 1)

RED: Final = "RED"
DEFAULT: Final = "VRED, each 0.1 s"
MILDEST: Final = "VRED, each packet, max_p"
DROP_TAIL: Final = "drop-tail"

READINGS: Final[dict[str, tuple[str, ...]]] = {
    DEFAULT: (),
    "VRED, each 5 packets": (f"{_QUEUE}.threshold_role=trigger",),
    "VRED, each packet, 5 to 40 %": _each_packet(0.05, 0.1, 0.2, 0.4),
    "VRED, each packet, 10 to 80 %": _each_packet(0.1, 0.2, 0.4, 0.8),
    "VRED, each packet, 25 to 100 %": _each_packet(*_STRONG),
    MILDEST: (*_each_packet(*_STRONG), f"{_QUEUE}.action=integrate"),
}
"""Readings of VRED's algorithm: when a velocity is taken, and what it changes."""


def queues() -> dict[str, tuple[str, ...]]:
    """All queues by name, RED first: what sets each."""
    return {
        RED: (),
        **{name: (f"{_QUEUE}.discipline=vred", *own) for name, own in READINGS.items()},
        DROP_TAIL: (f'{_QUEUE}={{ discipline = "drop-tail", limit = "50 packets" }}',),
    }


def scenario_of(load: str, settings: str, queue: str) -> Scenario:
    """One of the paper's scenarios under one of ns-2's settings with one of the queues."""
    return load_scenario(SCENARIOS[load], [*SETTINGS[settings], *queues()[queue]])
