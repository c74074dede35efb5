"""Networks whose link changes, fails, fades, is very fast, or is not the bottleneck."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from online_networks.network import LINK, at, bulk, network, web

if TYPE_CHECKING:
    from collections.abc import Mapping

    from online_networks.network import Network

RADIO_SEED = 20261102
"""Of the rates of radio links."""
RADIO_S = 60.0
ALMOST_NOTHING = "1 kbit/s"
"""Of an outage: a packet takes 8 s."""
OUTAGE_S = 5.0
"""How long it lasts."""
USUAL_RATE = "10 Mbit/s"
"""Of the link, before and after it."""


def rates() -> list[Network]:
    """The rate is another one from some moment on."""
    return [
        network(
            "rate-halves",
            "rates",
            "10 Mbit/s become 5 at 30 s",
            {"all": bulk(16)},
            changes=[at(30, rate="5 Mbit/s")],
        ),
        network(
            "rate-doubles",
            "rates",
            "10 Mbit/s become 20 at 30 s",
            {"all": bulk(24)},
            changes=[at(30, rate="20 Mbit/s")],
        ),
        network(
            "rate-steps",
            "rates",
            "20, 12, 25 and 8 Mbit/s, 15 s each",
            {"all": bulk(24, "20 ms .. 60 ms")},
            mbit=20,
            changes=[at(15, rate="12 Mbit/s"), at(30, rate="25 Mbit/s"), at(45, rate="8 Mbit/s")],
        ),
    ]


def outages() -> list[Network]:
    """The link sends almost nothing for 5 s, which are not measured."""
    return [
        _outage(
            "at-start",
            3,
            "an outage from 3 to 8 s, while 16 flows still grow up",
            {"all": bulk(16, start="0 s .. 3 s")},
        ),
        _outage(
            "soon",
            5,
            "an outage from 5 to 10 s, just after the first answer",
            {"all": bulk(32, "60 ms")},
        ),
        _outage(
            "while-growing",
            22,
            "32 flows join 8 from 20 to 32 s, and the link fails from 22 to 27 s",
            {"early": bulk(8), "late": bulk(32, start="20 s .. 32 s")},
        ),
        _outage(
            "while-few-join",
            20.5,
            "6 flows join 8 one by one from 20 s on; the link fails from 20.5 to 25.5 s",
            {"early": bulk(8), "late": bulk(6, start="20 s .. 26 s")},
        ),
        _outage(
            "later", 30, "an outage from 30 to 35 s, 16 flows being settled", {"all": bulk(16)}
        ),
        _outage(
            "as-they-come",
            20,
            "60 flows join 4 from 15 to 35 s, and the link fails from 20 to 25 s",
            {"early": bulk(4), "late": bulk(60, start="15 s .. 35 s")},
        ),
        _outage(
            "one-by-one",
            40,
            "27 flows join 60 one by one, so that some are always young; an outage from 40 to 45 s",
            {"early": bulk(60), "late": bulk(27, start="5 s .. 59 s")},
        ),
        _outage(
            "over-web",
            30,
            "a transfer a second beside 40 flows; an outage from 30 to 35 s",
            {"bulk": bulk(40), "web": web(1.0)},
        ),
        _outage(
            "far",
            22,
            "12 flows of 700 ms, which grow up slowly; an outage from 22 to 27 s",
            {"all": bulk(12, "700 ms")},
        ),
        _outage(
            "flows-leave",
            20,
            "all 16 flows end during an outage from 20 to 25 s; 16 others begin at 35 s",
            {"first": bulk(16, stop="21 s .. 24 s"), "second": bulk(16, start="35 s .. 36 s")},
        ),
    ]


def _outage(name: str, begin_s: float, about: str, flows: Mapping[str, Any]) -> Network:
    """A network whose link fails once."""
    changes = [at(begin_s, rate=ALMOST_NOTHING), at(begin_s + OUTAGE_S, rate=USUAL_RATE)]
    return network(
        f"outage-{name}", "outage", about, flows, settle=f"{OUTAGE_S:g} s", changes=changes
    )


def radio() -> list[Network]:
    """The rate is another one every 0.5 to 2 s, between a quarter and twice the usual one."""
    found = []
    for name, shortest, longest, flows in (
        ("radio-half-second", 0.5, 0.5, 8),
        ("radio-two-seconds", 2.0, 2.0, 8),
        ("radio-mixed", 0.5, 2.0, 24),
    ):
        coin = random.Random(f"{RADIO_SEED} {name}")  # noqa: S311 - no secret
        steps, now = [], 0.0
        while now < RADIO_S:
            steps.append([f"{now:.3f} s", f"{10.0 * 2.0 ** coin.uniform(-2.0, 1.0):.3f} Mbit/s"])
            now += coin.uniform(shortest, longest)
        steps[0][0] = "0 s"
        every = f"{shortest:g}" if shortest == longest else f"{shortest:g} to {longest:g}"
        found.append(
            network(
                name,
                "radio",
                f"{flows} flows; 2.5 to 20 Mbit/s, another rate every {every} s",
                {"all": bulk(flows, "40 ms")},
                link={"rate_schedule": steps},
            )
        )
    return found


def elsewhere() -> list[Network]:
    """A second link in the row is the bottleneck, always or for a while."""

    def far(rate: str, limit: int = 100) -> dict[str, object]:
        queue = {"discipline": "drop-tail", "limit": f"{limit} packets"}
        return {"far": {"rate": rate, "delay": "5 ms", "queue": queue}}

    both = {"path": [LINK, "far"]}
    return [
        network(
            "elsewhere-first",
            "elsewhere",
            "the next link has 6 Mbit/s until 25 s, then 100: only then the controlled one fills",
            {"all": bulk(16, **both)},
            links=far("6 Mbit/s"),
            changes=[{"at": "25 s", "link": "far", "rate": "100 Mbit/s"}],
        ),
        network(
            "elsewhere-for-a-while",
            "elsewhere",
            "the next link falls from 100 to 6 Mbit/s from 20 to 40 s",
            {"all": bulk(16, **both)},
            links=far("100 Mbit/s"),
            changes=[
                {"at": "20 s", "link": "far", "rate": "6 Mbit/s"},
                {"at": "40 s", "link": "far", "rate": "100 Mbit/s"},
            ],
        ),
        network(
            "elsewhere-for-some",
            "elsewhere",
            "half of 24 flows also cross a link of 2 Mbit/s that keeps them small",
            {"near": bulk(12), "beyond": bulk(12, **both)},
            links=far("2 Mbit/s", 40),
        ),
    ]


def fast() -> list[Network]:
    """1 and 10 Gbit/s, short."""
    return [
        network(
            "1-gbit",
            "fast",
            "100 flows of 20 ms at 1 Gbit/s",
            {"all": bulk(100, "16 ms .. 24 ms", packet_size="1500 bytes")},
            mbit=1000,
            size=1500,
            wait_s=0.002,
            seconds=20,
        ),
        network(
            "10-gbit",
            "fast",
            "100 flows of 10 ms at 10 Gbit/s, packets of 9000 bytes",
            {"all": bulk(100, "8 ms .. 12 ms", packet_size="9000 bytes")},
            mbit=10000,
            size=9000,
            wait_s=0.002,
            seconds=15,
        ),
    ]


NETWORKS = [*rates(), *outages(), *radio(), *elsewhere(), *fast()]
