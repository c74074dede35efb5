"""Bytes of queues: what tc sends, what a kernel says."""

from __future__ import annotations

import pytest

from netlink_reference import ANSWERS, REQUESTS, answered
from vermilion.profiles.red_setting import weight_log_of_burst
from vermilion.routers.linux.choke import ChokeOptions
from vermilion.routers.linux.codel import CodelOptions, FqCodelOptions
from vermilion.routers.linux.kinds import KINDS, options_of
from vermilion.routers.linux.message import (
    ACKNOWLEDGE,
    CREATE,
    NEW_QUEUE,
    REPLACE,
    ROOT,
    Attribute,
    attribute_bytes,
    queue_body,
    queue_settings,
    request,
)
from vermilion.routers.linux.pie import FqPieOptions, PieOptions
from vermilion.routers.linux.red import RedOptions
from vermilion.routers.linux.red_family import (
    RedBlock,
    idle_table,
    implied_packet_time,
    packet_time,
    probability_log,
)

FLAGS = {"ecn": 1, "harddrop": 2, "adaptive": 4, "nodrop": 8}
MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}


def words_of(command):
    """A command of tc: verb, handle, kind, numbers by name, and switches."""
    _, _, verb, _, _, _, *rest = command.split()
    handle = 0
    if rest[0] == "handle":
        handle, rest = int(rest[1].rstrip(":"), 16) << 16, rest[2:]
    kind, *rest = rest
    numbers, switches = {}, set()
    while rest:
        if rest[0] in {*FLAGS, "bytemode"}:
            switches.add(rest.pop(0))
        else:
            numbers[rest[0]] = rest[1]
            rest = rest[2:]
    return verb, handle, kind, numbers, switches


def time_us(text):
    number = text.rstrip("mus")
    return int(number) * MICROSECONDS[text[len(number) :]]


def red_like(kind, numbers, switches):
    """What tc makes of the arguments of red and choke."""
    average, burst = int(numbers["avpkt"]), int(numbers["burst"])
    low, high = int(numbers["min"]), int(numbers["max"])
    probability = float(numbers["probability"])
    rate = float(numbers["bandwidth"].lower().removesuffix("mbit")) * 1e6
    span = (low * average, high * average) if kind == "choke" else (low, high)
    weight_log = weight_log_of_burst(span[0], burst, average)
    cell_log, table = idle_table(weight_log, packet_time(average, rate))
    flags = sum(FLAGS[each] for each in switches)
    block = RedBlock(
        limit=int(numbers["limit"]),
        low=low,
        high=high,
        weight_log=weight_log,
        probability_log=probability_log(*span, probability),
        cell_log=cell_log,
        flags=flags if kind == "choke" else 0,
    )
    max_p = int(probability * 2**32) & 0xFFFFFFFF
    if kind == "choke":
        return ChokeOptions(block=block, table=table, max_p=max_p)
    return RedOptions(block=block, table=table, max_p=max_p, flag_values=flags, flag_selector=15)


def options_for(kind, numbers, switches):
    if kind in {"red", "choke"}:
        return red_like(kind, numbers, switches)
    times = {"target": "target_us", "interval": "interval_us", "tupdate": "tupdate_us"}
    known = {
        times.get(name, name): time_us(value) if name in times else int(value)
        for name, value in numbers.items()
    }
    known |= dict.fromkeys(switches, 1)
    forms = {
        "pie": PieOptions,
        "fq_pie": FqPieOptions,
        "codel": CodelOptions,
        "fq_codel": FqCodelOptions,
    }
    return forms[kind](**known)


@pytest.mark.parametrize("captured", REQUESTS, ids=lambda each: each["command"])
def test_a_request_is_what_tc_sends_byte_by_byte(captured):
    verb, handle, kind, numbers, switches = words_of(captured["command"])
    options = options_for(kind, numbers, switches)
    flags = ACKNOWLEDGE | (CREATE | REPLACE if verb == "replace" else 0)
    body = queue_body(1, handle, ROOT) + queue_settings(
        kind, options.encode(), nested=options.attribute
    )
    expected = bytes.fromhex(captured["hex"])
    own = request(NEW_QUEUE, flags, 0, body)
    assert own[:8] == expected[:8]
    assert own[12:] == expected[12:]


@pytest.mark.parametrize("captured", REQUESTS, ids=lambda each: each["command"])
def test_a_captured_request_is_read_and_written_without_loss(captured):
    kind = words_of(captured["command"])[2]
    whole = bytes.fromhex(captured["hex"])
    kind_bytes = 4 + len(kind) + 1
    start = 16 + 20 + kind_bytes + -kind_bytes % 4 + 4
    payload = whole[start:]
    assert options_of(kind).decode(payload).encode() == payload


TC_NAMES = {
    "red": {"limit": "limit", "min": "min", "max": "max", "weight_log": "ewma"},
    "choke": {"limit": "limit", "min": "min", "max": "max", "weight_log": "ewma"},
    "pie": {
        "limit": "limit",
        "target_us": "target",
        "tupdate_us": "tupdate",
        "alpha": "alpha",
        "beta": "beta",
    },
    "codel": {"limit": "limit", "target_us": "target", "interval_us": "interval"},
    "pfifo": {"limit": "limit"},
    "bfifo": {"limit": "limit"},
    "pfifo_head_drop": {"limit": "limit"},
    "sfq": {
        "limit": "limit",
        "quantum": "quantum",
        "depth": "depth",
        "flows": "flows",
        "divisor": "divisor",
    },
    "cake": {"rtt_us": "rtt"},
    "fq": {
        "limit": "limit",
        "flow_limit": "flow_limit",
        "quantum": "quantum",
        "initial_quantum": "initial_quantum",
        "refill_delay_us": "refill_delay",
        "orphan_mask": "orphan_mask",
    },
    "htb": {},
    "tbf": {},
}
TC_NAMES["fq_pie"] = TC_NAMES["pie"] | {
    "flows": "flows",
    "quantum": "quantum",
    "memory_limit": "memory_limit",
    "ecn_prob": "ecn_prob",
}
TC_NAMES["fq_codel"] = TC_NAMES["codel"] | {
    "flows": "flows",
    "quantum": "quantum",
    "memory_limit": "memory_limit",
    "drop_batch": "drop_batch",
}


@pytest.mark.parametrize("captured", ANSWERS, ids=lambda each: each["queue"])
def test_an_answer_is_read_as_tc_reads_it(captured):
    state = answered(captured["queue"])
    shown, own = captured["tc"], state.options.numbers()
    assert state.kind == shown["kind"]
    assert state.handle == 1 << 16
    assert state.parent == ROOT
    names = TC_NAMES[state.kind]
    assert {name: own[name] for name in names} == {
        name: shown["options"][word] for name, word in names.items()
    }
    counted = state.statistics
    assert (counted.sent_bytes, counted.packets) == (shown["bytes"], shown["packets"])
    assert (counted.drops, counted.overlimits) == (shown["drops"], shown["overlimits"])
    assert (counted.backlog_packets, counted.backlog_bytes) == (shown["qlen"], shown["backlog"])


@pytest.mark.parametrize(
    "captured",
    [each for each in ANSWERS if "ce_threshold" in each["tc"]["options"]],
    ids=lambda each: each["queue"],
)
def test_a_threshold_that_is_on_is_read(captured):
    shown = captured["tc"]["options"]["ce_threshold"]
    assert answered(captured["queue"]).options.ce_threshold_us == shown


@pytest.mark.parametrize("queue", ["codel", "fq_codel"])
def test_a_threshold_that_is_off_is_absent_and_not_zero(queue):
    state = answered(queue)
    assert state.options.ce_threshold_us is None
    assert "ce_threshold_us" not in state.options.numbers()


@pytest.mark.parametrize(
    "captured",
    [each for each in ANSWERS if each["tc"]["kind"] in {"red", "choke"}],
    ids=lambda each: each["queue"],
)
def test_flags_and_probability_of_red_are_read_as_tc_reads_them(captured):
    shown, own = captured["tc"]["options"], answered(captured["queue"]).options.numbers()
    flags = {name: bool(own["flags"] & flag) for name, flag in FLAGS.items() if name in shown}
    assert flags == {name: shown[name] for name in flags}
    assert own["max_p"] / 2**32 == pytest.approx(shown["probability"], rel=1e-4)
    assert own["scell_log"] == shown["Scell_log"]


@pytest.mark.parametrize(
    ("queue", "names"),
    [
        ("fq_codel", {"largest_packet": "maxpacket", "new_flow_count": "new_flow_count"}),
        ("codel", {"largest_packet": "maxpacket", "ecn_mark": "ecn_mark", "count": "count"}),
        ("pie", {"packets_in": "pkts_in", "longest_queue": "maxq", "ecn_mark": "ecn_mark"}),
        ("fq_pie", {"packets_in": "pkts_in", "ecn_mark": "ecn_mark", "overlimit": "overlimit"}),
        (
            "cake diffserv4 wash ack-filter",
            {"memory_used": "memory_used", "memory_limit": "memory_limit"},
        ),
    ],
)
def test_a_kinds_own_counters_are_read_as_tc_reads_them(queue, names):
    [captured] = [each for each in ANSWERS if each["queue"] == queue]
    counters = answered(queue).counters
    assert {name: counters[name] for name in names} == {
        name: captured["tc"][word] for name, word in names.items()
    }


def test_the_tins_of_cake_are_added_up():
    queue = "cake diffserv4 wash ack-filter"
    [captured] = [each for each in ANSWERS if each["queue"] == queue]
    tins = captured["tc"]["tins"]
    counters = answered(queue).counters
    assert len(tins) == 4
    assert counters["sent_packets"] == sum(tin["sent_packets"] for tin in tins) > 0
    assert counters["dropped_packets"] == sum(tin["drops"] for tin in tins)
    assert counters["ecn_marked"] == sum(tin["ecn_mark"] for tin in tins)


def test_an_attribute_of_a_newer_kernel_is_kept():
    payload = attribute_bytes(1, b"\x88\x13\0\0") + attribute_bytes(99, b"new")
    options = CodelOptions.decode(payload)
    assert options.target_us == 5000
    assert options.unknown == (Attribute(99, b"new"),)
    assert options.encode() == payload


def test_a_kind_that_nobody_knows_is_named_and_kept():
    options = options_of("dualpi2").decode(b"whatever")
    assert options.discipline is None
    assert options.payload == b"whatever"
    assert options.marked({}) is None


def test_shorter_statistics_of_an_older_kernel_give_the_counters_that_are_there():
    assert RedOptions.counters(b"\1\0\0\0\2\0\0\0") == {"early": 1, "pdrop": 2}


@pytest.mark.parametrize("weight_log", [1, 5, 9, 15])
@pytest.mark.parametrize("rate", [1e6, 10e6, 1e9])
@pytest.mark.parametrize("unit", ["tc", "microseconds"])
def test_a_table_made_from_what_a_cell_says_has_the_same_cells(weight_log, rate, unit):
    cell_log, table = idle_table(weight_log, packet_time(1000.0, rate, unit=unit))
    again, other = idle_table(weight_log, implied_packet_time(weight_log, cell_log))
    assert again == cell_log
    if cell_log:  # the time was known within a factor of two, and the middle is taken
        assert all(a / 1.5 - 1 <= b <= a * 1.5 + 1 for a, b in zip(table, other, strict=True))


def test_a_table_never_has_a_cell_that_the_kernel_refuses():
    cell_log, table = idle_table(31, packet_time(1000.0, 1e3))
    assert cell_log == 31
    assert max(table) == 31


def test_every_kind_has_the_name_under_which_it_is_listed():
    assert {name: form.kind for name, form in KINDS.items()} == {name: name for name in KINDS}
