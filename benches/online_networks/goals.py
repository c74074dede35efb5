"""Other disciplines than RED, and other wishes than a queue at a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from online_networks.network import LINK, QUEUE, bulk, jump, network, red

if TYPE_CHECKING:
    from collections.abc import Callable

    from online_networks.network import Network


def _ns2_red(target: float) -> dict[str, Any]:
    return red(target, "ns2-red")


def _linux_red(target: float) -> dict[str, Any]:
    return {
        "discipline": "linux-red",
        "limit": f"{4000 * target:.0f} bytes",
        "min_threshold": f"{500 * target:.0f} bytes",
        "max_threshold": f"{1500 * target:.0f} bytes",
        "max_probability": 0.1,
        "weight_log": 9,
        "ecn": False,
        "shaped": False,
    }


def _linux_red_that_keeps(target: float) -> dict[str, Any]:
    return {**_linux_red(target), "keep_packets": True}


def _linux_red_locked(target: float) -> dict[str, Any]:
    """Behind a shaper the average does not decay while nothing is let in."""
    return {**_linux_red(target), "shaped": True}


def _pie(_: float) -> dict[str, Any]:
    return {"discipline": "pie"}


def _codel(_: float) -> dict[str, Any]:
    return {"discipline": "codel"}


DISCIPLINES: tuple[tuple[str, Callable[[float], dict[str, Any]], tuple[str, ...]], ...] = (
    ("ns2-red", _ns2_red, ("min_threshold", "max_threshold", "max_probability", "weight")),
    (
        "linux-red",
        _linux_red,
        ("min_threshold", "max_threshold", "max_probability", "weight_log"),
    ),
    ("pie", _pie, ("target", "alpha", "beta")),
    ("codel", _codel, ("target", "interval")),
)


def disciplines() -> list[Network]:
    """The same jump of the load, under other queues."""
    found = []
    for name, queue, parameters in DISCIPLINES:
        found.append(
            network(
                f"{name}-load-up",
                "disciplines",
                f"{name}: 16 flows become 48 at 25 s",
                jump(16, 32),
                queue=queue,
                parameters=parameters,
            )
        )
    _, _, parameters = DISCIPLINES[1]
    found.append(
        network(
            "linux-red-locked",
            "disciplines",
            "linux-red behind a shaper, which a burst locks: it lets nothing in for many seconds",
            {"all": bulk(16)},
            queue=_linux_red_locked,
            parameters=parameters,
        )
    )
    found.append(
        network(
            "linux-red-rate-halves",
            "disciplines",
            "linux-red that keeps its packets when it is changed; 10 Mbit/s become 5 at 30 s",
            {"all": bulk(16)},
            queue=_linux_red_that_keeps,
            parameters=parameters,
            changes=[{"at": "30 s", "link": LINK, "rate": "5 Mbit/s"}],
        )
    )
    return found


def constraints() -> list[Network]:
    """A queue at a target, and conditions on what that may cost."""
    return [
        network(
            "drops-at-most-10",
            "constraints",
            "16 flows become 48 at 25 s; at most 10 % may be dropped",
            jump(16, 32),
            tuning={"constraints": [f"links.{LINK}.drop_rate <= 10 %"]},
        ),
        network(
            "utilisation-at-least-95",
            "constraints",
            "4 flows of 150 ms, target 10 packets; utilisation at least 95 %",
            {"all": bulk(4, "150 ms")},
            wait_s=0.008,
            tuning={"constraints": [f"links.{LINK}.utilization >= 95 %"]},
        ),
        network(
            "both-constraints",
            "constraints",
            "24 flows of 20 to 100 ms, 10 and then 5 Mbit/s; both constraints",
            {"all": bulk(24, "20 ms .. 100 ms")},
            changes=[{"at": "30 s", "link": LINK, "rate": "5 Mbit/s"}],
            tuning={
                "constraints": [
                    f"links.{LINK}.drop_rate <= 10 %",
                    f"links.{LINK}.utilization >= 95 %",
                ]
            },
        ),
        network(
            "nobody-starves",
            "constraints",
            "64 flows; the slowest must get a tenth of the mean",
            {"all": bulk(64)},
            tuning={"constraints": ["flows.*.slowest_share >= 0.1"]},
        ),
    ]


def wishes() -> list[Network]:
    """Other objectives."""
    flows = {"early": bulk(16, "40 ms"), "late": bulk(32, "40 ms", start="25 s .. 26 s")}
    both = [f"links.{LINK}.drop_rate <= 10 %", f"links.{LINK}.utilization >= 95 %"]
    return [
        network(
            "knee",
            "wishes",
            "16 flows become 48; the least wait for nearly all goodput",
            flows,
            tuning={"objective": {"name": "knee", "link": LINK}},
        ),
        network(
            "knee-constrained",
            "wishes",
            "the same with both constraints",
            flows,
            tuning={"objective": {"name": "knee", "link": LINK}, "constraints": both},
        ),
        network(
            "delay-bound",
            "wishes",
            "16 flows become 48; nobody is to wait more than 20 ms",
            flows,
            tuning={"objective": {"name": "delay-bound", "link": LINK, "at_most": "20 ms"}},
        ),
        network(
            "delay-bound-constrained",
            "wishes",
            "the same with both constraints",
            flows,
            tuning={
                "objective": {"name": "delay-bound", "link": LINK, "at_most": "20 ms"},
                "constraints": both,
            },
        ),
        network(
            "pie-delay-bound",
            "wishes",
            "PIE's target, 16 flows become 48; nobody is to wait more than 20 ms",
            flows,
            queue=_pie,
            parameters=("target", "alpha", "beta"),
            tuning={
                "parameters": [f"{QUEUE}.target", f"{QUEUE}.alpha", f"{QUEUE}.beta"],
                "objective": {"name": "delay-bound", "link": LINK, "at_most": "20 ms"},
            },
        ),
    ]


NETWORKS = [*disciplines(), *constraints(), *wishes()]
