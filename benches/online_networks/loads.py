"""Networks that differ in how many flows there are, how far away, and when that changes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from online_networks.network import at, bulk, jump, network

if TYPE_CHECKING:
    from online_networks.network import Network

CHANGING_SEED = 20261101
"""Of the loads drawn at random."""


def steady() -> list[Network]:
    """Nothing changes: 4 to 128 flows at 2 to 100 Mbit/s."""
    found = []
    for flows, mbit, rtt in (
        (4, 2, "60 ms"),
        (4, 100, "40 ms"),
        (16, 10, "28 ms"),
        (64, 10, "28 ms"),
        (32, 50, "40 ms .. 60 ms"),
        (128, 20, "30 ms"),
        (128, 100, "50 ms"),
    ):
        found.append(
            network(
                f"steady-{flows}-flows-{mbit}-mbit",
                "steady",
                f"{flows} flows of {rtt} at {mbit} Mbit/s",
                {"all": bulk(flows, rtt)},
                mbit=mbit,
            )
        )
    return found


def steps() -> list[Network]:
    """The load jumps."""
    leaving = {"stop": "25 s .. 26 s"}
    return [
        network(
            "load-up",
            "steps",
            "16 flows become 64 at 25 s",
            jump(16, 48),
        ),
        network(
            "load-down",
            "steps",
            "64 flows become 16 at 25 s",
            {"staying": bulk(16), "leaving": bulk(48, **leaving)},
        ),
        network(
            "load-up-down",
            "steps",
            "8 flows become 40 at 20 s and 8 at 40 s",
            {"staying": bulk(8), "guests": bulk(32, start="20 s .. 21 s", stop="40 s .. 41 s")},
        ),
        network(
            "load-doubles",
            "steps",
            "4 flows become 8, 16 and 32, a doubling every 14 s",
            {
                "first": bulk(4, "50 ms"),
                "second": bulk(4, "50 ms", start="14 s .. 15 s"),
                "third": bulk(8, "50 ms", start="28 s .. 29 s"),
                "fourth": bulk(16, "50 ms", start="42 s .. 43 s"),
            },
            mbit=20,
        ),
    ]


def round_trips() -> list[Network]:
    """Near, far, mixed and moving."""
    replaced: dict[str, Any] = {}
    for number in range(8):
        when = 20 + 2 * number
        replaced[f"near-{number}"] = bulk(2, stop=f"{when} s .. {when + 1} s")
        replaced[f"far-{number}"] = bulk(2, "180 ms", start=f"{when} s .. {when + 1} s")
    return [
        network("near", "round trips", "16 flows of 12 ms", {"all": bulk(16, "12 ms")}),
        network("far", "round trips", "16 flows of 180 ms", {"all": bulk(16, "180 ms")}),
        network(
            "near-and-far",
            "round trips",
            "24 flows of 12 to 250 ms",
            {"all": bulk(24, "12 ms .. 250 ms")},
        ),
        network(
            "near-become-far",
            "round trips",
            "flows of 28 ms are replaced by flows of 180 ms, two every 2 s from 20 s on",
            replaced,
            seconds=70,
            settle="1 s",
        ),
        network(
            "path-grows",
            "round trips",
            "the link itself becomes 80 ms longer at 25 s and shorter again at 45 s",
            {"all": bulk(16)},
            changes=[at(25, delay="85 ms"), at(45, delay="5 ms")],
        ),
    ]


def growing() -> list[Network]:
    """Conditions that move slowly and always the same way."""
    rates = [20.0 * 0.955**step for step in range(31)]
    return [
        network(
            "load-grows",
            "growing",
            "56 flows join 8 one by one, from 10 to 90 s",
            {"early": bulk(8), "late": bulk(56, start="10 s .. 90 s")},
            seconds=100,
        ),
        network(
            "load-shrinks",
            "growing",
            "48 of 60 flows leave one by one, from 10 to 90 s",
            {"staying": bulk(12), "leaving": bulk(48, stop="10 s .. 90 s")},
            seconds=100,
        ),
        network(
            "rate-fades",
            "growing",
            "20 Mbit/s become 5, by a twentieth every 2.5 s from 10 s on",
            {"all": bulk(16)},
            mbit=20,
            seconds=100,
            settle="0 s",
            changes=[
                at(10.0 + 2.5 * step, rate=f"{rate:.3f} Mbit/s")
                for step, rate in enumerate(rates)
                if step > 0
            ],
        ),
    ]


def changing() -> list[Network]:
    """Another load every 3 s, sooner than a search and its verification end."""
    coin = random.Random(CHANGING_SEED)  # noqa: S311 - no secret
    found = []
    for name, base, most in (("load-each-3-s", 4, 40), ("load-each-3-s-light", 2, 8)):
        groups: dict[str, Any] = {"staying": bulk(base)}
        for number in range(19):
            begin = 3 + 3 * number
            groups[f"guests-{number}"] = bulk(
                coin.randint(1, most),
                start=f"{begin} s .. {begin + 0.3} s",
                stop=f"{begin + 3} s .. {begin + 3.3} s",
            )
        about = f"{base} flows, and 1 to {most} others that are replaced every 3 s"
        found.append(network(name, "changing", about, groups, settle="1 s"))
    return found


NETWORKS = [*steady(), *steps(), *round_trips(), *growing(), *changing()]
