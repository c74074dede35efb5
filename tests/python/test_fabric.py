"""Fabrics: the language, what switches and NICs do."""

from __future__ import annotations

import json
import math

import pytest

from test_cli import refused, vermilion
from vermilion import fabric
from vermilion.scenario import ScenarioError

__all__ = ["vermilion"]

TEXT = """
title = "Web search and an incast"

[fabric]
duration = "100 ms"

[fabric.topology]
kind = "leaf-spine"

[fabric.sender]
congestion_control = "dcqcn-mellanox"
gain = 0.01

[[fabric.traffic]]
sizes = "websearch"
load = 0.3
stop = "0.5 ms"

[[fabric.traffic]]
senders = 20
size = "100 kB"
receiver = "host5"

[[fabric.watch]]
link = "leaf1-host5"
"""

NONE_MARKED = {"kmin": "1 GB", "kmax": "2 GB", "thresholds_at": "automatic"}


def incast(bytes_each="20 MB", **settings):
    rows = [(f"host{number}", "host17", bytes_each, "0 s") for number in range(1, 17)]
    return fabric.star(17, traffic=[fabric.transfers(rows)], **settings)


def test_the_same_seed_gives_the_same_result_and_another_one_another():
    network = fabric.parse_fabric(TEXT)
    first, again, other = fabric.run_many({"": network}, [1, 1, 2], threads=2)[""]
    timeless = [{**each.data, "cpu_s": 0} for each in (first, again, other)]
    assert timeless[0] == timeless[1] != timeless[2]
    assert list(first.transfers["bytes"]) != list(other.transfers["bytes"])


def test_every_byte_arrives_and_no_transfer_is_quicker_than_its_wire():
    result = fabric.run(fabric.parse_fabric(TEXT))
    assert result.data["not_done"] == 0
    assert result.data["drops"] == result.data["retransmissions"] == 0
    packets = -(-result.transfers["bytes"].astype(int) // 1000)
    arrived = sum(
        each["packets"] for each in result.data["links"].values() if each["to"].startswith("host")
    )
    assert arrived == packets.sum()
    wire_s = (result.transfers["bytes"].astype(int) + 48 * packets) * 8 / 100e9
    assert (result.transfers["completion_time_s"] >= wire_s).all()
    assert result.link("leaf1-host5")["queue_bytes"]["max"] > 100e3


def test_one_transfer_alone_takes_what_the_empty_network_takes():
    network = fabric.star(2, traffic=[fabric.transfers([("host1", "host2", "1 MB", "0 s")])])
    result = fabric.run(network)
    assert result.slowdown["mean"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("fabric.switch.kmin=5", "fabric.switch.kmin: 5 is not accepted; expected a size"),
        ("fabric.switch.kmn='5 kB'", 'did you mean "kmin"'),
        ("fabric.switch.kmax='1 kB'", "expected at least kmin"),
        ("fabric.switch.buffer='10 kB'", "more than reserves and headrooms"),
        ("fabric.topology.kind='ring'", 'one of "leaf-spine", "fat-tree", "star", "links"'),
        ("fabric.topology.leaves=0", "fabric.topology.leaves"),
        ("fabric.sender='dcqcn'", "fabric.sender.congestion_control"),
        ("fabric.sender.gain=3", "fabric.sender.gain: 3 is not accepted"),
        ("fabric.traffic.0.load=-1", "fabric.traffic.0.load"),
        ("fabric.traffic.0.sizes='mice'", 'one of "websearch", "hadoop", "alistorage"'),
        ("fabric.traffic.1.receiver='x'", "fabric.traffic.1.receiver"),
        ("fabric.traffic.1.senders=32", "fewer than 32 hosts"),
        ("fabric.watch.0.link='leaf1-host9'", "expected a link"),
        ("fabric.watch.0.link='host5-leaf1'", "the queue of a switch"),
        ("fabric.receiver.notification_interval='x'", '"none" or "automatic"'),
        ("fabric.x=1", "fabric.x: 1 is not accepted; expected a key of this table"),
    ],
)
def test_what_is_wrong_is_named(override, words):
    with pytest.raises(ScenarioError) as raised:
        fabric.parse_fabric(TEXT, "f.toml", [override])
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_command_runs_a_file_and_shows_one_screen(vermilion, tmp_path):
    path = tmp_path / "fabric.toml"
    path.write_text(TEXT)
    code, shown, _ = vermilion("run", path, "--seeds", "2")
    lines = shown.splitlines()
    assert code == 0
    assert len(lines) <= 20
    assert max(len(line) for line in lines) <= 100
    assert "transfers are done" in lines[1]
    rows = tmp_path / "rows.csv"
    _, told, _ = vermilion("run", path, "--json", "-", "--transfers", rows)
    assert json.loads(told)["transfers"] == len(rows.read_text().splitlines()) - 1
    assert "--plot is not for a fabric" in refused(vermilion("run", path, "--plot"))
    assert "kmin" in refused(vermilion("run", path, "--set", "fabric.switch.kmin=5"))
    several = vermilion("run", "varying-load", "--seeds", "2")
    assert "--seeds: a scenario runs once" in refused(several)


def test_transfers_come_from_a_file_beside_the_scenario(tmp_path):
    (tmp_path / "rows.csv").write_text(
        "source,destination,bytes,start_s\nhost1,host2,5000,0\nhost3,host2,7000,1e-6\n"
    )
    text = '[fabric]\ntopology = { kind = "star", hosts = 3 }\ntraffic = [{ file = "rows.csv" }]\n'
    (tmp_path / "fabric.toml").write_text(text)
    result = fabric.run(tmp_path / "fabric.toml")
    assert list(result.transfers["bytes"]) == [5000, 7000]
    with pytest.raises(ScenarioError, match="a CSV file with the columns"):
        fabric.parse_fabric(text.replace("rows", "none"), str(tmp_path / "x.toml"))


def test_pauses_keep_packets_and_without_them_packets_are_lost_and_sent_again():
    few = {"buffer": "2 MB", "headroom": "60 kB", **NONE_MARKED}
    lossless = fabric.run(incast("2 MB", **few))
    assert lossless.data["drops"] == lossless.data["retransmissions"] == 0
    assert lossless.data["pauses"] > 0
    assert lossless.data["paused_s"] > 0
    lossy = fabric.run(incast("2 MB", pauses=False, buffer="1 MB", alpha=1.0, **NONE_MARKED))
    assert lossy.data["pauses"] == 0
    assert lossy.data["drops"] > 0
    assert lossy.data["retransmissions"] > 0
    assert lossy.data["not_done"] == 0


def test_a_transfer_that_is_held_up_and_crosses_no_congested_port_is_a_victim():
    rows = [(f"host{number}", "host9", "5 MB", "0 s") for number in range(2, 5)]
    rows.append(("host1", "host10", "500 kB", "0.2 ms"))
    network = fabric.leaf_spine(
        2, 8, 1, buffer="2 MB", traffic=[fabric.transfers(rows)], **NONE_MARKED
    )
    result = fabric.run(network)
    assert result.data["victims"]["transfers"] == 1
    assert result.data["victims"]["mean_slowdown"] > 1.5
    assert result.data["drops"] == 0


def test_a_circle_of_paused_links_is_reported_and_no_hang():
    switches = 5
    hosts = [f"h{place}{number}" for place in range(switches) for number in range(3)]
    ends = [(host, f"s{host[1]}") for host in hosts]
    ends += [(f"s{place}", f"s{(place + 1) % switches}") for place in range(switches)]
    rows = [(host, f"h{(int(host[1]) + 2) % switches}{host[2]}", "20 MB", "0 s") for host in hosts]
    network = fabric.links(
        hosts,
        [f"s{place}" for place in range(switches)],
        [(*each, "100 Gbit/s", "1 us") for each in ends],
        traffic=[fabric.transfers(rows)],
        buffer="2 MB",
        headroom="60 kB",
        duration="100 ms",
        **NONE_MARKED,
    )
    result = fabric.run(network)
    assert sorted(result.data["deadlock"]["links"]) == ["s0-s1", "s1-s2", "s2-s3", "s3-s4", "s4-s0"]
    assert result.data["not_done"] == len(hosts)


def test_what_goes_before_data_is_not_held_up_by_it():
    queues = {}
    for way in ("first", "data"):
        # Acknowledgements of the third come through a queue of data.
        rows = [("host3", "host1", "5 MB", "0 s"), ("host2", "host1", "5 MB", "0 s")]
        rows.append(("host1", "host2", "10 kB", "200 us"))
        network = fabric.star(
            3, traffic=[fabric.transfers(rows)], receiver={"acknowledgements": way}, **NONE_MARKED
        )
        queues[way] = fabric.run(network).slowdown_by_size[0]["mean"]
    assert queues["first"] < queues["data"]


TCP = {
    "initial_window": "20 packets",
    "handshake": False,
    "minimum_timeout": "5 ms",
    "timer_tick": "1 us",
}


@pytest.mark.parametrize(
    "sender",
    [
        {"congestion_control": "dctcp", "ecn": True},
        {"congestion_control": "cubic", "recovery": "rack", "pacing": True, "timestamps": True},
        {"congestion_control": "reno", "delayed_acknowledgements": True, "handshake": True},
        {"congestion_control": "bbr"},
    ],
    ids=lambda sender: sender["congestion_control"],
)
def test_senders_of_tcp_send_all_they_have_over_a_fabric(sender):
    network = incast("1 MB", sender=TCP | sender, pauses=False, kmin="300 kB", kmax="300 kB")
    result = fabric.run(network)
    assert result.data["not_done"] == 0
    arrived = result.link("switch1-host17")["packets"]
    assert 16_000 <= arrived <= 16_000 + result.data["retransmissions"] + 16
    assert (result.data["drops"] > 0) == (result.data["retransmissions"] > 0)
    # 16 MB at 100 Gbit/s take 1.3 ms.
    assert result.transfers["completion_time_s"].max() < 0.1
    assert fabric.run(network).data["packet_hops"] == result.data["packet_hops"]
    alone = fabric.star(
        2, traffic=[fabric.transfers([("host1", "host2", "20 kB", "0 s")])], sender=TCP | sender
    )
    # A handshake takes a round trip of 4 us, and the transfer 6.
    assert fabric.run(alone).slowdown["mean"] == pytest.approx(
        1.68 if sender.get("handshake") else 1.0, abs=0.01
    )


def test_pacing_goes_by_a_round_trip_of_microseconds():
    rows = [("host1", "host2", "20 MB", "0 s")]
    sender = {"congestion_control": "cubic", "pacing": True}
    clocks = {"its own": {}, "coarse": {"clock_tick": "10 ms"}}
    slowdown = {
        name: fabric.run(
            fabric.star(2, traffic=[fabric.transfers(rows)], sender=TCP | sender | clock)
        ).slowdown["mean"]
        for name, clock in clocks.items()
    }
    assert slowdown["its own"] < 1.02
    # A round trip is never shorter than a tick.
    assert slowdown["coarse"] > 10


def test_a_fabric_mixes_rate_based_ends_and_tcp_and_says_what_it_will_drop():
    tcp = {"congestion_control": "reno", **TCP}
    rows = [(f"host{place}", "host17", "2 MB", "0 s") for place in range(1, 17)]
    parts = [fabric.transfers(rows[:8]), fabric.transfers(rows[8:], sender=tcp)]
    settings = {"kmin": "100 kB", "kmax": "100 kB", "pmax": 1.0}
    network = fabric.star(17, traffic=parts, **settings)
    drops = "fabric.switch will drop packets that are not ECN-capable where it marks others: "
    assert network.notes == [f"{drops}data of reno (without ECN)"]
    result = fabric.run(network)
    assert result.data["not_done"] == 0
    assert result.data["marks"] > 0
    assert result.data["drops"] > 0
    assert result.data["retransmissions"] >= result.data["drops"]
    capable = fabric.star(
        17, traffic=parts[:1], sender=tcp | {"ecn": True}, receiver={"acknowledgements": "data"}
    )
    assert capable.notes == [f"{drops}acknowledgements of reno"]
    with pytest.raises(ScenarioError, match="one rate-based sender in a fabric"):
        fabric.star(17, traffic=[parts[0], fabric.transfers(rows[8:], sender="hpcc")])


def fluid_marking(flows, increase):
    """Probability of a mark in the fixed point of DCQCN's fluid model (Zhu et al. 2015).

    All flows at 1/N of 100 Gbit/s, their rates, targets and alphas at rest, with the paper's
    constants. The model counts F steps of recovery where the algorithm, whose stage is counted
    before it is compared with 5, has 4.
    """
    gap, alpha_period, timer, counter, steps = 50e-6, 55e-6, 55e-6, 10e6 / 1048, 4
    rate, increase = 100e9 / 8 / 1048 / flows, increase / 8 / 1048

    def drift(p):
        """The rate's change by increases less that by cuts, with the target where it rests."""

        def unmarked(packets):
            return math.exp(packets * math.log1p(-p))

        def events(packets):
            return p * unmarked(packets) / (1 - unmarked(packets))

        by_time = timer * rate
        cuts = (1 - unmarked(gap * rate)) / gap
        additive = unmarked(steps * counter) * events(counter)
        additive += unmarked(steps * by_time) * events(by_time)
        to_target = increase * rate * additive / cuts
        alpha = 1 - unmarked(alpha_period * rate)
        return to_target / 2 * (events(counter) + events(by_time)) - alpha / 2 * cuts

    low, high = 1e-6, 0.5
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if drift(middle) > 0 else (low, middle)
    return low


@pytest.mark.parametrize(("flows", "increase"), [(64, 40e6), (64, 10e6), (128, 5e6)])
def test_many_flows_of_dcqcn_rest_where_the_fluid_model_does(flows, increase):
    kmin, kmax, pmax, receiver = 5e3, 8e6, 0.1, f"host{flows + 1}"
    rows = [(f"host{place}", receiver, "1 GB", f"{place} us") for place in range(1, flows + 1)]
    network = fabric.star(
        flows + 1, traffic=[fabric.transfers(rows)], duration="250 ms", pauses=False, alpha=1.0,
        buffer="100 MB", kmin="5 kB", kmax="8 MB", pmax=pmax, thresholds_at="100 Gbit/s",
        sender={
            "congestion_control": "dcqcn-paper", "additive_increase": f"{increase / 1e6} Mbit/s",
            "min_rate": "1 Mbit/s",
        },
        watch=[{"link": f"switch1-{receiver}", "start": "150 ms"}],
    )  # fmt: skip
    queue = fabric.run(network).link(f"switch1-{receiver}")["queue_bytes"]
    # Where the queue is between the thresholds, its mean and the marks' part are one figure.
    assert kmin < queue["p5"] < queue["p99"] < kmax
    marked = (queue["mean"] - kmin) / (kmax - kmin) * pmax
    assert marked == pytest.approx(fluid_marking(flows, increase), rel=0.1)


def test_classes_share_a_port_by_their_weights_or_the_highest_goes_first():
    # 3 MB each from two hosts to a third, none marked: 1048 bytes for 1000 at 100 Gbit/s.
    parts = [
        fabric.transfers([(f"host{number}", "host3", "3 MB", "0 s")], class_=class_)
        for number, class_ in ((1, 0), (2, 5))
    ]
    megabyte = 1.048e6 * 8 / 100e9

    def times(**settings):
        network = fabric.star(3, traffic=parts, buffer="1 MB", **settings, **NONE_MARKED)
        result = fabric.run(network)
        assert result.data["pauses"] > 0
        return result.transfers["completion_time_s"] / megabyte

    # With weights 1 and 3 the one has sent 1 MB when the other has sent 3.
    weighted = times(weights=[1, 1, 1, 1, 1, 3])
    assert weighted == pytest.approx([6.0, 4.0], rel=0.03)
    assert times() == pytest.approx([6.0, 6.0], rel=0.03)
    assert times(scheduler="strict") == pytest.approx([6.0, 3.0], rel=0.03)


@pytest.mark.parametrize("sender", ["dcqcn-mellanox", TCP | {"congestion_control": "reno"}])
def test_a_paused_class_does_not_hold_another_up(sender):
    crowd = [(f"host{number}", "host10", "2 MB", "0 s") for number in range(1, 9)]

    def other(class_):
        parts = [
            fabric.transfers(crowd),
            fabric.transfers([("host1", "host9", "1 MB", "100 us")], class_=class_),
        ]
        network = fabric.star(10, traffic=parts, sender=sender, buffer="2 MB", **NONE_MARKED)
        result = fabric.run(network)
        assert (result.data["not_done"], result.data["drops"]) == (0, 0)
        assert result.data["pauses"] > 0
        time = result.transfers["completion_time_s"][result.transfers["destination"] == 8][0]
        return time / (1.048e6 * 8 / 100e9), result.data["victims"]["transfers"]

    # Its host may send an eighth of the time, and takes turns with the crowd's transfer.
    slow, victims = other(0)
    assert slow > 4
    assert victims == 1
    quick, victims = other(1)
    # At the most the two classes of its host take turns.
    assert quick < 2.1
    assert victims == 0


def test_a_class_is_one_of_eight():
    rows = [["host1", "host2", "20 kB", "0 s"]]
    network = fabric.star(2, traffic=[{"transfers": rows, "class": 7}])
    # Alone it is as any other.
    plain = fabric.star(2, traffic=[{"transfers": rows}])
    assert fabric.run(network).slowdown == fabric.run(plain).slowdown
    assert fabric.parse_fabric(network.to_toml()).table == network.table
    with pytest.raises(ScenarioError, match=r"class.*7"):
        fabric.star(2, traffic=[{"transfers": rows, "class": 8}])
    with pytest.raises(ScenarioError, match='did you mean "class"'):
        fabric.star(2, traffic=[{"transfers": rows, "clas": 1}])
    with pytest.raises(ScenarioError, match="eight weights"):
        fabric.star(2, traffic=[{"transfers": rows}], weights=[])


def test_open_loop_sources_send_beside_transfers_and_have_figures_of_their_own(vermilion, tmp_path):
    parts = [
        fabric.transfers([("host1", "host3", "1 MB", "0 s")]),
        fabric.open_loop(
            "constant-rate", "60 Gbit/s", source="host2", destination="host3", stop="1 ms", class_=1
        ),
        fabric.open_loop("on-off", "1 Gbit/s", on="20 us", off="20 us", ecn=True, stop="1 ms"),
    ]
    network = fabric.star(3, traffic=parts, **NONE_MARKED)
    assert len(network.notes) == 1
    assert "open-loop packets (without ecn)" in network.notes[0]
    result = fabric.run(network)
    assert (result.data["transfers"], result.data["not_done"]) == (1, 0)
    constant, on_off = result.open_loop
    assert (constant["traffic"], constant["sources"], on_off["sources"]) == (1, 1, 3)
    # 1048 bytes each 139.7 ns.
    assert constant["packets_sent"] == constant["packets_received"] == 7157
    assert constant["delay_s"]["mean"] >= 2 * (1e-6 + 83.8e-9)
    assert constant["goodput_bit_per_s"] == pytest.approx(60e9 * 1000 / 1048, rel=0.01)
    assert fabric.parse_fabric(network.to_toml()).table == network.table
    path = tmp_path / "fabric.toml"
    path.write_text(network.to_toml())
    code, shown, _ = vermilion("run", path, "--seeds", "2")
    assert code == 0
    assert "All 2 transfers are done" in shown
    assert "constant-rate" in shown
    tables = [line for line in shown.splitlines() if str(path) not in line]
    assert max(map(len, tables)) <= 100
    alone = fabric.star(2, traffic=[fabric.open_loop("poisson", "1 Gbit/s", stop="0.1 ms")])
    path.write_text(alone.to_toml())
    assert "packets sent, nothing lost" in vermilion("run", path)[1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "bulk"}, "traffic.0.kind"),
        ({"rate": "0 bit/s"}, "traffic.0.rate"),
        ({"source": "host9"}, "traffic.0.source"),
        ({"source": "host1", "destination": "host1"}, "another host than the source"),
        ({"on": "1 us"}, "only there"),
        ({"kind": "on-off", "on": "1 us"}, "traffic.0.off"),
        ({"kind": "on-off", "on": "1 ns", "off": "1 us"}, "a thousandth of the time per packet"),
        ({"sender": "hpcc"}, "expected a key of this table"),
    ],
)
def test_what_is_wrong_with_an_open_loop_source_is_named(settings, words):
    part = {"kind": "poisson", "rate": "1 Mbit/s", **settings}
    with pytest.raises(ScenarioError) as raised:
        fabric.star(2, traffic=[part])
    assert words in str(raised.value)
