"""Captures of real traffic, read from Python and from the command line."""

import gzip
import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from vermilion.cli import main
from vermilion.monitor import CaptureFileError, End, read_capture

CAPTURES = Path(__file__).parents[1] / "reference" / "captures"
EXPECTED = json.loads((CAPTURES / "expected.json").read_text(encoding="utf-8"))
PROGRAM = [sys.executable, "-c", "import sys; from vermilion.cli import main; sys.exit(main())"]


@pytest.fixture
def vermilion(capsys):
    """Runs a command within this process: exit code, standard output, standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_summary_says_what_was_done_to_the_packets():
    summary = read_capture(CAPTURES / "bulk.pcap")
    tshark = EXPECTED["bulk.pcap"]["connections"][0]
    assert summary.packets == tshark["packets"]
    assert summary.traffic["tcp"].bytes == tshark["ip_bytes"]
    assert list(summary.ecn.values()) == tshark["ecn"]
    assert summary.order["sent-again-lost-before-monitor"] == EXPECTED["dropped"]["before_router"]
    assert summary.order["sent-again"] == EXPECTED["dropped"]["behind_router"]
    assert summary.handshake_ms.max == pytest.approx(tshark["handshake_ms"], abs=0.001)
    assert summary.whole_ms.min >= EXPECTED["near_ms"] + EXPECTED["far_ms"]
    assert summary.unresponsive_share == 0
    assert sum(each.packets for each in summary.sizes) == summary.packets
    [flow] = summary.flows
    assert (str(flow.responder), flow.ended, flow.ecn) == ("10.2.0.2:5001", "closed", "classic")
    assert flow.bytes == tshark["ip_bytes"]
    assert flow.from_initiator.beyond_ms.min >= EXPECTED["far_ms"]
    assert flow.from_responder.beyond_ms.min >= EXPECTED["near_ms"]
    assert flow.from_responder.whole_ms is None
    assert flow.from_initiator.first_flight == "at-once"


def test_an_end_is_written_as_in_a_url():
    assert str(End("10.0.0.1", 80)) == "10.0.0.1:80"
    assert str(End("fd01::2", 80)) == "[fd01::2]:80"


def test_a_file_that_is_open_gives_what_its_name_gives():
    compressed = CAPTURES / "cooked.pcap.gz"
    by_name = read_capture(compressed)
    with compressed.open("rb") as file:
        assert read_capture(file) == by_name
    plain = io.BytesIO(gzip.decompress(compressed.read_bytes()))
    assert read_capture(plain) == by_name


def test_round_trips_come_one_by_one_if_asked_for():
    pieces = []
    summary = read_capture(CAPTURES / "nanoseconds.pcap", round_trips=pieces.append)
    [trips] = pieces
    beyond = trips.round_trip_ns[~trips.whole]
    assert len(beyond) == summary.beyond_ms.count
    assert beyond.sum() / 1e6 == pytest.approx(summary.beyond_ms.mean * summary.beyond_ms.count)
    towards_the_responder = beyond[trips.from_initiator[~trips.whole]]
    assert towards_the_responder.min() / 1e6 >= EXPECTED["far_ms"]
    assert (trips.time_ns[1:] >= trips.time_ns[:-1]).all()


def test_a_summary_keeps_the_largest_flows():
    every = read_capture(CAPTURES / "nanoseconds.pcap")
    one = read_capture(CAPTURES / "nanoseconds.pcap", kept_flows=1)
    assert [flow.protocol for flow in every.flows] == ["tcp", "udp"]
    assert one.flows == every.flows[:1]
    assert one.flows_left_out == 1


def test_a_full_table_says_so():
    summary = read_capture(CAPTURES / "nanoseconds.pcap", flows=1)
    assert summary.flows_seen == 1
    assert summary.not_tracked["table-full"] == 10


def test_a_capture_that_ends_early_is_read_only_if_that_is_allowed():
    short = (CAPTURES / "bulk.pcap").read_bytes()[:3000]
    with pytest.raises(CaptureFileError, match=r"byte 2962: .*only its end is missing"):
        read_capture(io.BytesIO(short))
    assert read_capture(io.BytesIO(short), cut_short=True).packets == 29
    # Damage is another matter.
    damaged = short[:8] + b"\xff" * 30 + short[38:]
    with pytest.raises(CaptureFileError, match=r"^\"capture\": byte 32: a packet of"):
        read_capture(io.BytesIO(damaged), cut_short=True)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"flows": 0}, "flows: 0 cannot be used; expected 1 to 16777216"),
        ({"largest_packet": 20}, "largest_packet: 20 cannot be used; expected at least 68 bytes"),
        ({"flows": -1}, "flows -1"),
        ({"kept_flows": 1 << 70}, "one of them cannot be used"),
    ],
)
def test_a_number_that_cannot_be_used_is_refused_by_name(numbers, message):
    with pytest.raises(CaptureFileError, match=message):
        read_capture(CAPTURES / "bulk.pcap", **numbers)


def test_a_capture_without_packets_has_no_numbers_that_cannot_be_computed():
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    summary = read_capture(io.BytesIO(header))
    assert summary.packets == 0
    for name in ("first_ns", "duration_s", "unresponsive_share", "mean_packet_bytes", "whole_ms"):
        assert getattr(summary, name) is None


def test_the_command_shows_a_capture(vermilion):
    code, out, err = vermilion("monitor", CAPTURES / "nanoseconds.pcap")
    assert (code, err) == (0, "")
    for words in ("udp 5,280", "[fd02::2]:5002", "10.2.0.2:5003", "unresponsive 9.92 %"):
        assert words in out


def test_the_command_writes_json_without_nulls(vermilion):
    code, out, err = vermilion("monitor", CAPTURES / "bulk.pcap", "--json", "-")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert "null" not in out
    assert document["packets"] == 125
    assert document["flows"][0]["from_initiator"]["order"]["sent-again"] == 2


def test_the_command_reads_standard_input():
    with (CAPTURES / "cooked.pcap.gz").open("rb") as file:
        outcome = subprocess.run(
            [*PROGRAM, "monitor", "-"], stdin=file, capture_output=True, text=True, check=True
        )
    assert "10.2.0.2:5004" in outcome.stdout


@pytest.mark.parametrize(
    ("capture", "says"),
    [
        ("missing", "cannot be read (No such file or directory)"),
        ("", "cannot be read (Is a directory)"),
        ("README.md", "a file that begins with the bytes 23 20 43 61; expected a capture file"),
    ],
)
def test_the_command_refuses_what_is_no_capture_in_one_line(vermilion, capture, says):
    code, out, err = vermilion("monitor", os.fspath(CAPTURES / capture))
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_the_captures_stay_small():
    for file in CAPTURES.iterdir():
        if file.is_file():
            assert file.stat().st_size < 50_000, file.name
