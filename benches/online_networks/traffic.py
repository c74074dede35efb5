"""Networks whose traffic is of other kinds than endless NewReno flows of one packet size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from online_networks.network import at, bulk, jump, network, unresponsive, web

if TYPE_CHECKING:
    from online_networks.network import Network

CUBIC = {"congestion_control": "cubic", "option_set": "linux"}
DCTCP = {"congestion_control": "dctcp", "ecn": True}


def short() -> list[Network]:
    """Web traffic, alone and over bulk flows."""
    return [
        network("web-60", "web", "web traffic alone, 60 % of 10 Mbit/s", {"web": web(25)}),
        network("web-90", "web", "web traffic alone, 90 % of 10 Mbit/s", {"web": web(37.5)}),
        network(
            "web-over-bulk",
            "web",
            "web traffic of 20 % over 8 bulk flows",
            {"bulk": bulk(8), "web": web(8.3)},
        ),
        network(
            "web-over-many",
            "web",
            "web traffic of 10 % over 32 bulk flows",
            {"bulk": bulk(32), "web": web(4.2)},
        ),
        network(
            "web-comes",
            "web",
            "16 bulk flows; web traffic of 30 % begins at 25 s",
            {"bulk": bulk(16), "web": web(12.5, start="25 s")},
        ),
    ]


def senders() -> list[Network]:
    """Other senders than the loop's first guess."""
    return [
        network(
            "dctcp",
            "senders",
            "8 DCTCP flows of 10 ms, ECN, 100 Mbit/s",
            {"all": bulk(8, "10 ms", sender=DCTCP)},
            mbit=100,
            wait_s=0.004,
        ),
        network(
            "dctcp-and-newreno",
            "senders",
            "8 DCTCP and 8 NewReno flows, 20 Mbit/s",
            {"marked": bulk(8, "20 ms", sender=DCTCP), "plain": bulk(8, "20 ms")},
            mbit=20,
        ),
        network(
            "ecn",
            "senders",
            "16 NewReno flows with ECN",
            {"all": bulk(16, sender={"congestion_control": "newreno", "ecn": True})},
        ),
        network("cubic", "senders", "16 CUBIC flows as in Linux", {"all": bulk(16, sender=CUBIC)}),
        network(
            "cubic-far",
            "senders",
            "12 CUBIC flows of 100 ms at 50 Mbit/s",
            {"all": bulk(12, "100 ms", sender=CUBIC)},
            mbit=50,
        ),
        network("bbr", "senders", "8 BBR flows", {"all": bulk(8, "40 ms", sender="bbr")}),
        network(
            "mixed-senders",
            "senders",
            "6 CUBIC, 6 NewReno, 4 BBR and 2 SACK flows",
            {
                "cubic": bulk(6, "30 ms", sender=CUBIC),
                "newreno": bulk(6, "30 ms"),
                "bbr": bulk(4, "30 ms", sender="bbr"),
                "sack": bulk(2, "30 ms", sender="sack"),
            },
            mbit=20,
        ),
        network(
            "senders-change",
            "senders",
            "16 NewReno flows are followed by 16 BBR flows at 30 s",
            {
                "first": bulk(16, stop="30 s .. 31 s"),
                "second": bulk(16, sender="bbr", start="30 s .. 31 s"),
            },
        ),
    ]


def sizes() -> list[Network]:
    """Two packet sizes in one queue."""
    return [
        network(
            "two-sizes",
            "sizes",
            "8 flows with packets of 1500 bytes and 8 with 200",
            {
                "large": bulk(8, packet_size="1500 bytes"),
                "small": bulk(8, packet_size="200 bytes"),
            },
        ),
        network(
            "small-come",
            "sizes",
            "12 flows with 1500 bytes; 24 with 120 bytes join at 25 s",
            {
                "large": bulk(12, packet_size="1500 bytes"),
                "small": bulk(24, packet_size="120 bytes", start="25 s .. 26 s"),
            },
        ),
    ]


def datagrams() -> list[Network]:
    """Traffic that does not answer to losses."""
    return [
        network(
            "udp-30",
            "udp",
            "UDP of 30 % beside 12 flows",
            {"tcp": bulk(12), "udp": unresponsive(3, 1.0)},
        ),
        network(
            "udp-70",
            "udp",
            "UDP of 70 % beside 12 flows",
            {"tcp": bulk(12), "udp": unresponsive(7, 1.0)},
        ),
        network(
            "udp-70-comes",
            "udp",
            "UDP of 70 % beside 12 flows, from 25 to 45 s",
            {
                "tcp": bulk(12),
                "udp": unresponsive(7, 1.0, start="25 s .. 26 s", stop="45 s .. 46 s"),
            },
        ),
        network(
            "udp-alone",
            "udp",
            "UDP alone, 97 % in Poisson processes: no round trip is ever seen",
            {"udp": unresponsive(4, 2.425)},
        ),
    ]


def quiet() -> list[Network]:
    """Hardly anything to do, or flows that are there and silent."""
    silence = {"model": "bernoulli", "probability": 1.0}
    heard = {"model": "bernoulli", "probability": 0.0}
    return [
        network(
            "back-off-then-twenty",
            "silent",
            "all is lost from 3 to 16 s, so that one flow backs off; twenty others come at 18 s",
            {"one": bulk(1, start="0 s"), "twenty": bulk(20, start="18 s .. 19 s")},
            changes=[at(3, loss=silence), at(16, loss=heard)],
        ),
        network(
            "back-off-of-all",
            "silent",
            "all is lost from 20 to 28 s, so that 16 flows back off",
            {"all": bulk(16)},
            settle="8 s",
            changes=[at(20, loss=silence), at(28, loss=heard)],
        ),
        network(
            "idle-udp",
            "idle",
            "one UDP flow of 5 %",
            {"udp": unresponsive(1, 0.5)},
        ),
        network("idle-web", "idle", "web traffic of 8 %", {"web": web(3.3)}),
        network(
            "idle-pauses",
            "idle",
            "4 senders with pauses of 3 s on average between transfers of 200 kB",
            {
                "pausing": bulk(
                    4,
                    traffic={
                        "kind": "on-off",
                        "size": {"distribution": "exponential", "mean": "200 kB"},
                        "off": {"distribution": "exponential", "mean": "3 s"},
                    },
                )
            },
        ),
    ]


def unseen() -> list[Network]:
    """An ordinary network whose monitor cannot tell everything."""
    return [
        network(
            "no-flow-count",
            "unseen",
            "16 flows become 64, and nothing but the router's counters is known",
            jump(16, 48),
            knowledge="counters",
        ),
        network(
            "no-round-trips",
            "unseen",
            "16 flows become 64, and nothing measures round trips",
            jump(16, 48),
            knowledge="flow count",
        ),
    ]


NETWORKS = [*short(), *senders(), *sizes(), *datagrams(), *quiet(), *unseen()]
