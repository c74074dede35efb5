"""Packet traces tell what the metrics count, and captures hold the same numbers."""

from __future__ import annotations

import csv
import math
import shutil
import subprocess

import numpy as np
import pytest

import vermilion
from capture_parser import read_pcapng
from vermilion import PacketTrace, RawDistributions
from vermilion.monitor import read_capture
from vermilion.scenario import ScenarioError
from vermilion.simulate.instruments import packet_trace

NETWORK = """
duration = "5 s"
[links.bottleneck]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "DISCIPLINE", LIMIT }
[links.back]
rate = "400 kbit/s"
delay = "5 ms"
queue = { discipline = "drop-tail", limit = "50 packets" }
[flows.here]
count = 3
path = ["bottleneck"]
rtt = "40 ms"
ack_size = "100 bytes"
sender = { congestion_control = "sack", timestamps = true, ecn = ECN }
[flows.there]
count = 2
path = ["bottleneck"]
return_path = ["back"]
rtt = "60 ms"
ack_size = "100 bytes"
access_rate = "20 Mbit/s"
sender = { congestion_control = "cubic", option_set = "linux", ecn = ECN }
[flows.web]
path = ["bottleneck"]
rtt = "50 ms"
sender = "newreno"
traffic = { kind = "web", mean_gap = "300 ms", size = "20 kB" }
[flows.calls]
path = ["bottleneck"]
traffic = { kind = "constant-rate", rate = "200 kbit/s" }
"""

QUEUES = {
    "drop-tail": 'limit = "20 packets"',
    "red": 'limit = "60 packets", min_threshold = "5 packets", max_threshold = "15 packets"',
    "codel": 'limit = "60 packets"',
    "fq-codel": 'limit = "60 packets"',
    "choke": 'limit = "40 packets"',
}


def network(discipline="red", *, ecn=False):
    text = NETWORK.replace("DISCIPLINE", discipline).replace("LIMIT", QUEUES[discipline])
    return vermilion.parse_scenario(text.replace("ECN", str(ecn).lower()))


def without_times(result):
    return {key: value for key, value in result.data.items() if key not in {"wall_s", "cpu_s"}}


@pytest.mark.parametrize("discipline", QUEUES)
@pytest.mark.parametrize("ecn", [False, True])
def test_a_trace_tells_what_the_metrics_count_and_changes_nothing(discipline, ecn):
    scenario = network(discipline, ecn=ecn)
    bare = vermilion.run(scenario, seed=3, flow_delays=True)
    traced = vermilion.run(scenario, seed=3, flow_delays=True, instruments=[PacketTrace()])
    assert without_times(bare) == without_times(traced)
    packets = traced.packets
    assert packets.complete
    assert np.all(np.diff(packets["time_ns"]) >= 0)
    for link in ("bottleneck", "back"):
        ledger = bare.link(link).ledger

        def count(event, link=link):
            return len(packets.where(event=event, place=link)["time_ns"])

        assert count("arrive") == ledger["arrivals"]
        assert count("depart") == ledger["forwarded"]
        assert count("drop") == ledger["drops"]
        assert count("mark") == ledger["marks"]
        departed = packets.where(event="depart", place=link)
        total = bare.link(link).total
        # What departs at the last instant is in no window.
        waited = (departed["time_ns"] - departed["since_ns"])[: total["packets_forwarded"]] / 1e6
        assert waited.mean() == pytest.approx(total["sojourn_ms"]["mean"], rel=1e-12)
        assert waited.max() == pytest.approx(total["sojourn_ms"]["max"], rel=1e-12)
    dropped = packets.where(event="drop", place="bottleneck")
    reasons = [packets.names["reason"][code] for code in dropped["reason"]]
    assert reasons.count("overflow") == bare.link("bottleneck").total["overflow_drops"]
    assert reasons.count("forced") == bare.link("bottleneck").total["forced_drops"]
    for group in ("here", "there", "calls"):
        metrics = bare.flows(group).total
        sent = packets.where(place="sender", group=group, acknowledgement=False, opens=False)
        arrived = packets.where(
            event="deliver", place="receiver", group=group, acknowledgement=False, opens=False
        )
        # What is sent at the last instant is in no window.
        assert 0 <= len(sent["time_ns"]) - metrics["packets_sent"] <= 1
        assert abs(len(arrived["time_ns"]) - metrics["packets_delivered"]) <= 60  # at the end
        assert np.all(arrived["since_ns"] == arrived["sent_ns"])
        again = sent["retransmission"].sum()
        assert again == metrics.get("retransmissions", 0)


@pytest.mark.parametrize("discipline", ["red", "codel"])
def test_every_packet_goes_its_way(discipline):
    packets = vermilion.run(network(discipline), seed=2, instruments=[PacketTrace()]).packets
    events = packets.names["event"]
    ways = {}
    rows = zip(
        *(packets[name].tolist() for name in
          ("connection", "acknowledgement", "sequence", "sent_ns", "event", "place", "group")),
        strict=True,
    )  # fmt: skip
    for connection, acknowledgement, sequence, sent, event, place, group in rows:
        key = connection, acknowledgement, sequence, sent
        ways.setdefault(key, []).append((events[event], packets.names["place"][place], group))
    kinds = {tuple(event for event, _, _ in way) for way in ways.values()}
    assert ("send", "arrive", "depart", "deliver") in kinds
    assert ("send", "deliver") in kinds  # acknowledgements that cross no link
    for way in ways.values():
        names = [event for event, _, _ in way]
        assert names[0] in {"send", "retransmit"}
        assert names.count("deliver") + names.count("drop") <= 1
        if "drop" in names:
            assert names[-1] == "drop"
        if "deliver" in names:
            assert names[-1] == "deliver"


def test_choices_of_flows_places_and_times():
    scenario = network()
    everything = vermilion.run(scenario, instruments=[PacketTrace()]).packets
    some = PacketTrace(flows=["here:1", "there"], at="bottleneck", time_s=(1.0, 2.0))
    chosen = vermilion.run(scenario, instruments=[some]).packets
    names = everything.names
    groups = np.array(names["group"])[everything["group"]]
    wanted = (((groups == "here") & (everything["flow"] == 1)) | (groups == "there")) & (
        everything["place"] == names["place"].index("bottleneck")
    )
    wanted &= (everything["time_ns"] >= 1_000_000_000) & (everything["time_ns"] < 2_000_000_000)
    assert len(chosen) == wanted.sum() > 0
    for name in chosen.columns:
        if name != "connection":
            assert np.array_equal(chosen[name], everything[name][wanted]), name
    few = vermilion.run(scenario, instruments=[PacketTrace(most=100)]).packets
    assert (len(few), few.complete) == (100, False)


def test_csv_and_parquet_hold_what_memory_holds(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    scenario = network()
    kept = vermilion.run(scenario, instruments=[PacketTrace()]).packets
    for name in ("trace.csv", "trace.parquet"):
        written = vermilion.run(scenario, instruments=[PacketTrace(tmp_path / name)]).packets
        assert (written.records, written.complete) == (len(kept), True)
    table = pq.read_table(tmp_path / "trace.parquet")
    assert table.num_rows == len(kept)
    assert table["time_ns"].to_pylist() == kept["time_ns"].tolist()
    places = [kept.names["place"][code] for code in kept["place"]]
    assert table["place"].to_pylist() == places
    with (tmp_path / "trace.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["time_ns"]) for line in lines] == kept["time_ns"].tolist()
    assert [line["place"] for line in lines] == places
    assert [line["reason"] for line in lines] == [kept.names["reason"][c] for c in kept["reason"]]


@pytest.mark.parametrize("rows", [1, 1000])
def test_parquet_is_written_in_pieces(tmp_path, monkeypatch, rows):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    monkeypatch.setattr("vermilion.simulate.instruments.packet_trace._BATCH_ROWS", rows)
    scenario = vermilion.load_scenario("varying-load", ["duration=40 s"])
    trace = PacketTrace(tmp_path / "trace.parquet", at="links")
    written = vermilion.run(scenario, instruments=[trace]).packets
    assert written.records > 1 << 16  # the core hands out no more at once
    table = pq.read_table(tmp_path / "trace.parquet")
    assert table.num_rows == written.records
    times = table["time_ns"].to_numpy()
    assert np.all(np.diff(times) >= 0)


def captured(tmp_path, scenario, at, **more):
    file = tmp_path / "trace.pcapng"
    trace = PacketTrace(file, at=at, **more)
    vermilion.run(scenario, seed=5, instruments=[trace])
    kept = vermilion.run(scenario, seed=5, instruments=[PacketTrace(at=at, **more)]).packets
    return file, kept


def payload_of(size, *, timestamps):
    return max(1, size - 40 - 12 * timestamps)


@pytest.mark.parametrize("ecn", [False, True])
def test_a_capture_has_the_numbers_of_the_run(tmp_path, ecn):
    scenario = network(ecn=ecn)
    file, kept = captured(tmp_path, scenario, ("senders", "receivers"), most=3000)
    interfaces, seen = read_pcapng(file.read_bytes())
    assert {"here sender", "here receiver", "there sender", "calls receiver"} <= set(interfaces)
    assert len(seen) == len(kept) == 3000
    for index, packet in enumerate(seen):
        assert packet.time_ns == kept["time_ns"][index]
        group = kept.names["group"][kept["group"][index]]
        end = kept.names["place"][kept["place"][index]]
        assert packet.interface == f"{group} {end}"
        assert packet.ecn == kept["ecn"][index]
        size, sequence = int(kept["size_bytes"][index]), int(kept["sequence"][index])
        assert packet.comment == ("sent again" if kept["retransmission"][index] else "")
        if group == "calls":
            assert (packet.protocol, packet.ip_length) == (17, size)
            continue
        assert packet.protocol == 6
        timestamps = group != "web"
        full = payload_of(1000, timestamps=timestamps)
        first_byte = 0 if sequence == 0 else 1 + (sequence - 1) * full
        if kept["acknowledgement"][index]:
            assert packet.captured == packet.ip_length + 14  # headers alone
            assert packet.length == size + 14 or group == "web"
            if group != "web":  # the last segment of a transfer is shorter
                assert packet.acknowledgement == first_byte
            assert packet.payload == 0
        else:
            assert packet.sequence == first_byte
            if not kept["opens"][index]:
                assert packet.ip_length == size
        if timestamps:
            times = int(kept["sent_ns"][index]) // 1000, int(kept["echo_ns"][index]) // 1000
            assert packet.timestamps == times
        syn = bool(packet.flags & 2)
        assert syn == bool(kept["opens"][index])


def test_drops_and_marks_are_comments(tmp_path):
    scenario = network(ecn=True)
    file, kept = captured(tmp_path, scenario, "links")
    interfaces, seen = read_pcapng(file.read_bytes())
    assert {"bottleneck in", "bottleneck out", "back in", "back out"} == set(interfaces)
    at_queue = [packet for packet in seen if packet.interface == "bottleneck in"]
    assert len(at_queue) == len(kept.where(event="arrive", place="bottleneck")["time_ns"])
    for event, words in (("drop", "dropped by red: "), ("mark", "marked by red")):
        commented = [packet for packet in at_queue if words in packet.comment]
        events = kept.where(event=event, place="bottleneck")
        assert [packet.time_ns for packet in commented] == events["time_ns"].tolist()
        assert len(commented) > 0
    dropped = [packet.comment for packet in at_queue if "dropped" in packet.comment]
    assert any("early" in words for words in dropped)


def test_what_is_dropped_from_inside_has_an_interface_of_its_own(tmp_path):
    file, kept = captured(tmp_path, network("codel"), "links")
    _, seen = read_pcapng(file.read_bytes())
    inside = [packet for packet in seen if packet.interface == "bottleneck dropped"]
    dropped = kept.where(event="drop", place="bottleneck")
    waited = dropped["time_ns"] > dropped["since_ns"]
    assert len(inside) == waited.sum() > 0
    assert all("dropped by codel: forced, after it had waited for" in it.comment for it in inside)


TSHARK = shutil.which("tshark")


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed; the parser above has checked")
def test_tshark_reads_the_same_numbers(tmp_path):
    file, kept = captured(tmp_path, network(ecn=True), "senders", most=1000, payload=True)
    fields = [
        "frame.time_epoch", "frame.interface_name", "ip.len", "ip.dsfield.ecn", "tcp.seq_raw",
        "tcp.ack_raw", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
        "ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "tcp.flags.syn",
        "tcp.options.sack.count", "_ws.malformed",
    ]  # fmt: skip
    command = [TSHARK, "-r", file, "-T", "fields", "-E", "separator=|"]
    command += ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    command += ["-o", "udp.check_checksum:TRUE"]
    for name in fields:
        command += ["-e", name]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.split("|") for line in output.splitlines()]
    assert len(lines) == len(kept) == 1000
    _, seen = read_pcapng(file.read_bytes())
    for index, (line, packet) in enumerate(zip(lines, seen, strict=True)):
        seconds, _, fraction = line[0].partition(".")
        assert int(seconds) * 10**9 + int(fraction.ljust(9, "0")) == kept["time_ns"][index]
        assert line[1] == packet.interface
        assert int(line[2]) == packet.ip_length
        assert int(line[3]) == kept["ecn"][index]
        assert line[8] == "1"  # good
        assert "1" in {line[9], line[10]}
        assert "0" not in {line[9], line[10]}
        assert not line[13]
        if packet.protocol == 6:
            assert (int(line[4]), int(line[5])) == (packet.sequence, packet.acknowledgement)
            assert line[11] in ({"1", "True"} if kept["opens"][index] else {"0", "False"})
        if packet.timestamps:
            times = int(kept["sent_ns"][index]) // 1000, int(kept["echo_ns"][index]) // 1000
            assert (int(line[6]), int(line[7])) == times


@pytest.mark.parametrize(
    ("sender", "at"), [("sack", "senders"), ("cubic", "senders"), ("newreno", "senders")]
)
def test_the_monitor_finds_the_true_round_trips(tmp_path, sender, at):
    timestamps = sender != "newreno"
    text = f"""
    duration = "10 s"
    [links.bottleneck]
    rate = "8 Mbit/s"
    delay = "10 ms"
    queue = {{ discipline = "drop-tail", limit = "100 packets" }}
    [flows.bulk]
    count = 4
    path = ["bottleneck"]
    rtt = ["20 ms", "40 ms", "60 ms", "120 ms"]
    sender = {{ congestion_control = "{sender}", timestamps = {str(timestamps).lower()} }}
    """
    scenario = vermilion.parse_scenario(text)
    file, kept = captured(tmp_path, scenario, at)
    taken = []
    summary = read_capture(file, round_trips=taken.append)
    assert len(summary.flows) == 4
    assert summary.undecoded.get("unknown-link", 0) == 0
    heard = kept.where(event="deliver", place="sender")
    truth = {}
    for time, flow, echo in zip(
        *(heard[name].tolist() for name in ("time_ns", "flow", "echo_ns")), strict=True
    ):
        truth.setdefault((flow, time), set()).add(time - echo)
    # In a capture of the senders' ends the flows come up in the order of their first packets.
    first = kept.where(place="sender", acknowledgement=False)["flow"]
    order = list(dict.fromkeys(first.tolist()))
    true, found = [], []
    mine = [~each.whole & each.from_initiator for each in taken]
    columns = (
        np.concatenate([getattr(each, name)[rows] for each, rows in zip(taken, mine, strict=True)])
        for name in ("time_ns", "flow", "round_trip_ns")
    )
    for time, flow, took in zip(*(column.tolist() for column in columns), strict=True):
        candidates = truth[order[flow], time]
        true.append(min(candidates, key=lambda each, took=took: abs(each - took)))
        found.append(took)
    assert len(found) > 200
    assert np.mean(found) == pytest.approx(np.mean(true), rel=0.01)
    assert np.abs(np.array(found) / np.array(true) - 1.0).max() <= 0.01


def test_raw_distributions_are_exact():
    scenario = network("codel")
    wanted = RawDistributions(["bottleneck"], ["here", "calls"], width_s=1e-4, values=10**6)
    result = vermilion.run(scenario, instruments=[wanted, PacketTrace()])
    packets, raw = result.packets, result.raw_distributions
    departed = packets.where(event="depart", place="bottleneck")
    waited = departed["time_ns"] - departed["since_ns"]
    sojourn = raw.sojourn["bottleneck"]
    assert np.array_equal(np.sort(np.rint(sojourn.values_s * 1e9)), np.sort(waited))
    assert np.array_equal(sojourn.counts, np.bincount(waited // 100_000))
    assert sojourn.mean_s == pytest.approx(waited.mean() / 1e9)
    arrived = packets.where(
        event="deliver", place="receiver", group="here", acknowledgement=False, opens=False
    )
    delay = (arrived["time_ns"] - arrived["sent_ns"]) / 1e9
    assert raw.delay["here"].count >= len(delay) - 3
    assert raw.delay["here"].mean_s == pytest.approx(delay.mean(), rel=1e-3)
    gaps = np.diff(packets.where(event="drop", place="bottleneck")["time_ns"])
    assert np.array_equal(raw.drop_gap["links.bottleneck"].values_s, gaps / 1e9)


@pytest.mark.parametrize("share", [-1.0, 1.01, 2.0, math.nan])
def test_a_quantile_is_of_a_share_from_0_to_1(share):
    raw = RawDistributions(["bottleneck"], ["here"])
    waits = vermilion.run(network(), instruments=[raw]).raw_distributions.sojourn["bottleneck"]
    assert waits.quantile_s(0.0) <= waits.quantile_s(1.0)
    with pytest.raises(ValueError, match=r"share: .* is not accepted; expected a number from 0 to"):
        waits.quantile_s(share)


@pytest.mark.parametrize(
    ("instrument", "words"),
    [
        (PacketTrace("x.txt"), 'packets: "x.txt" is not accepted; expected a name ending in'),
        (PacketTrace(at="nowhere"), 'at: "nowhere" is not accepted; expected one of these: '),
        (PacketTrace(flows="her"), 'flows: "her" is not accepted; expected a group of the'),
        (PacketTrace(flows="here:3"), 'flows: "here:3" is not accepted; expected a flow of'),
        (PacketTrace(flows="here:x"), 'flows: "here:x" is not accepted; expected the name of'),
        (PacketTrace(most=0), "most: 0 is not accepted; expected from 1 to"),
        (PacketTrace(time_s=(2.0, 1.0)), "is not accepted; expected a range that ends after"),
        (PacketTrace(time_s=(20.0, 30.0)), 'time_s: "20 s .. 30 s" is not accepted; expected a'),
        (RawDistributions(links=["x"]), 'links: "x" is not accepted; expected a name of'),
        (RawDistributions(width_s=0.0), "width_s: 0.0 is not accepted; expected seconds"),
        (3, 'instruments: "int" is not accepted; expected FlowSeries'),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(instrument, words):
    with pytest.raises(ScenarioError) as refused:
        vermilion.run(network(), instruments=[instrument])
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


CAUSES = {
    ("drop-tail", "overflow"): {"tail"},
    ("red", "early"): {"probability"},
    ("red", "forced"): {"probability of 1"},
    ("red", "overflow"): {"limit"},
    ("codel", "forced"): {"control law"},
    ("codel", "overflow"): {"limit"},
    ("fq-codel", "forced"): {"control law"},
    ("fq-codel", "overflow"): {"fattest flow"},
    ("choke", "early"): {"match", "probability"},
}


@pytest.mark.parametrize("discipline", QUEUES)
def test_each_discipline_says_in_its_own_words_why_it_drops(discipline, tmp_path):
    scenario = network(discipline)
    if discipline == "fq-codel":
        scenario = scenario.with_values({"links.bottleneck.queue.limit": 15})
    if discipline == "choke":
        ranges = {"min_threshold": 5, "max_threshold": 25, "weight": 0.02, "limit": 100}
        ranges["max_probability"] = 1
        scenario = scenario.with_values(
            {f"links.bottleneck.queue.{name}": value for name, value in ranges.items()}
        )
    packets = vermilion.run(scenario, seed=3, instruments=[PacketTrace()]).packets
    dropped = packets.where(event="drop", place="bottleneck")
    assert len(dropped["time_ns"]) > 0
    found = {}
    for reason, cause in zip(dropped["reason"], dropped["cause"], strict=True):
        key = discipline, packets.names["reason"][reason]
        found.setdefault(key, set()).add(packets.names["cause"][cause])
    assert found == {key: words for key, words in CAUSES.items() if key[0] == discipline}
    others = packets["cause"][packets["event"] != packets.names["event"].index("drop")]
    assert not others.any()
    # The same in a table and, as comments, in a capture.
    for name in ("all.csv", "all.pcapng"):
        vermilion.run(scenario, seed=3, instruments=[PacketTrace(tmp_path / name, at="links")])
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        table = {(row["reason"], row["cause"]) for row in csv.DictReader(file) if row["reason"]}
    pairs = {(reason, cause) for (_, reason), causes in found.items() for cause in causes}
    assert table == pairs
    _, seen = read_pcapng((tmp_path / "all.pcapng").read_bytes())
    # Behind "sent again; ", where it was.
    comments = [it.comment for it in seen if f"dropped by {discipline}: " in it.comment]
    assert len(comments) == len(dropped["time_ns"])
    assert {it[it.rindex("(") + 1 : -1] for it in comments} == {cause for _, cause in pairs}


def test_parquet_has_the_causes_of_all_batches(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(packet_trace, "_BATCH_ROWS", 1)
    file = tmp_path / "all.parquet"
    scenario = network("choke")
    vermilion.run(scenario, seed=3, instruments=[PacketTrace(file, at="bottleneck")])
    kept = vermilion.run(scenario, seed=3, instruments=[PacketTrace(at="bottleneck")]).packets
    expected = [kept.names["cause"][number] for number in kept["cause"]]
    assert parquet.read_table(file)["cause"].to_pylist() == expected
