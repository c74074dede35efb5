"""Rows of SNMP tables, the MIB file that says what they are, and queues of Linux behind them."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fake_queues import FQ_CODEL, RED, FakeQueues, fact, fq_codel_queue, red_queue, setting
from netlink_reference import ANSWERS, FakeKernel, answered
from snmpd_process import program_or_skip
from vermilion.agentx.protocol import Binding, Status, ValueType
from vermilion.agentx.subagent import ChangeFailed, SetRefused
from vermilion.monitor import InterfaceError
from vermilion.routers import RouterError
from vermilion.routers.base import Reading, RouterSilent
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.linux.discovery import parse_address
from vermilion.routers.linux.message import Refusal
from vermilion.routers.snmp import mib
from vermilion.routers.snmp.linux_queues import LinuxQueues, QueuePlace, SeenTraffic, TrafficSeen
from vermilion.routers.snmp.mib import TABLE_OF, TABLES, TOP, Fact, encoded_value
from vermilion.routers.snmp.queue_objects import WALK_S, QueueObjects, diffserv_numbers, rows
from vermilion.scenario.errors import FieldError

FILE = Path(mib.__file__).with_name("VERMILION-QUEUE-MIB.txt")
MIB_FOLDERS = (
    *os.environ.get("VERMILION_MIBS", "").split(":"),
    "/usr/share/snmp/mibs",
    "/usr/share/mibs/ietf",
    "/var/lib/mibs/ietf",
    "/var/lib/snmp/mibs/ietf",
)
"""Where the modules may be that the file imports; Debian has them in snmp-mibs-downloader alone."""

RED_OF_TC = (
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02"
)
EINVAL = 22


def values(*queues):
    return {each.name: each.value for each in rows(queues)}


# --- the MIB file ------------------------------------------------------------------------


def objects_of_the_file():
    """Name -> (syntax, access, parent, number), of every object of the file."""
    text = re.sub(r"--[^\n]*", "", FILE.read_text(encoding="ascii"))
    pattern = (
        r"(\w+) OBJECT-TYPE\s+SYNTAX\s+(.+?)\s+(?:UNITS\s+\"[^\"]*\"\s+)?MAX-ACCESS\s+([a-z-]+)"
        r".*?::= \{ (\w+) (\d+) \}"
    )
    return {
        name: (syntax, access, parent, int(number))
        for name, syntax, access, parent, number in re.findall(pattern, text, re.DOTALL)
    }


SYNTAX = {
    ValueType.OCTET_STRING: "DisplayString",
    ValueType.COUNTER32: "Counter32",
    ValueType.COUNTER64: "Counter64",
}


def test_the_file_and_the_program_know_the_same_objects():
    told = objects_of_the_file()
    for each in Fact:
        syntax, access, parent, number = told.pop(each.title)
        assert (access, parent, number) == ("read-only", "vermilionQueueEntry", each.number)
        if each.type == ValueType.GAUGE32:
            assert syntax in {"Gauge32", "Unsigned32"}
        else:
            assert syntax == SYNTAX.get(each.type, "TruthValue")
    for number, table in enumerate(TABLES, 2):
        entry = table.name.replace("Table", "Entry")
        assert told.pop(table.name)[2:] == ("vermilionQueueObjects", number)
        assert told.pop(entry)[2:] == (table.name, 1)
        assert table.number == number
        for each in table.settings:
            syntax, access, parent, column = told.pop(each.name)
            assert (parent, column) == (entry, each.number)
            assert access == ("read-write" if each.writable else "read-only")
            if each.scale.type == ValueType.INTEGER:
                assert syntax == "TruthValue"
            else:
                ends = re.fullmatch(r"Unsigned32(?: \((\d+)\.\.(\d+)\))?", syntax)
                lowest, highest = ends.groups() if ends[1] else (0, 2**32 - 1)
                assert int(lowest) <= each.scale.lowest <= each.scale.highest <= int(highest)
    assert set(told) == {"vermilionQueueTable", "vermilionQueueEntry", "vermilionQueueParent"}
    text = FILE.read_text(encoding="ascii")
    assert f"{{ netSnmpPlaypen {TOP[-1]} }}" in text
    assert TOP[:-1] == (1, 3, 6, 1, 4, 1, 8072, 9999, 9999)  # NET-SNMP-MIB


def test_smilint_has_nothing_to_say_of_the_file():
    smilint = program_or_skip("smilint", "smitools")
    needed = ("SNMPv2-SMI", "SNMPv2-TC", "SNMPv2-CONF", "IF-MIB", "NET-SNMP-MIB")
    there = {
        each: found
        for each in needed
        for folder in filter(None, MIB_FOLDERS)
        for found in (Path(folder) / each, Path(folder) / f"{each}.txt")
        if found.is_file()
    }
    missing = [each for each in needed if each not in there]
    if missing:
        pytest.skip(f"no {', '.join(missing)} at hand for smilint (VERMILION_MIBS names a folder)")
    told = subprocess.run(
        [smilint, "-s", "-l", "6", *(f"-p{each}" for each in there.values()), str(FILE)],
        env={"PATH": "/usr/bin:/bin", "SMIPATH": ":".join(filter(None, MIB_FOLDERS))},
        capture_output=True,
        text=True,
        check=False,
    )
    of_ours = [each for each in (told.stdout + told.stderr).splitlines() if FILE.name in each]
    assert of_ours == []


# --- rows --------------------------------------------------------------------------------


def test_a_parameter_is_said_as_the_kernel_keeps_it():
    red, codel = red_queue(), fq_codel_queue()
    told = values(red, codel)
    at = red.place
    expected = {  # 0.02 * 2^32 = 85899345.92; microseconds; TruthValue 1 true, 2 false
        setting("red", 1, at): 400_000,
        setting("red", 4, at): 85_899_346,
        setting("red", 5, at): 5,
        setting("red", 6, at): 2,
        setting("red", 10, at): 1,
        setting("fq_codel", 2, codel.place): 5000,
        setting("fq_codel", 3, codel.place): 100_000,
        setting("fq_codel", 4, codel.place): 4_294_967_295,
        setting("fq_codel", 7, codel.place): 33_554_432,
        fact(2, at): b"wan0",
        fact(9, codel.place): 7_000_000_000_000,
        fact(12, at): 12_500_000,
        fact(16, codel.place): 12,
        fact(17, codel.place): 42_100,
        fact(18, codel.place): 28_000,
    }
    assert {name: told.get(name) for name in expected} == expected


def test_what_is_not_known_has_no_object():
    told = values(red_queue(early_drops=None, parameters={"limit": 5}))
    assert fact(16, red_queue().place) not in told
    assert setting("red", 2, red_queue().place) not in told
    drops = (1, 3, 6, 1, 2, 1, 97, 1, 6, 2, 1, 10)
    assert not [name for name in told if name[: len(drops)] == drops]


def test_gauges_stay_at_their_end_and_counters_go_round():
    huge = Reading(1.0, 2**33, 2**40, 2**64 + 5, 2**64 + 7, 2**70, 0)
    told = values(red_queue(reading=huge))
    at = red_queue().place
    assert (told[fact(6, at)], told[fact(7, at)]) == (2**32 - 1, 2**32 - 1)
    assert (told[fact(8, at)], told[fact(9, at)], told[fact(10, at)]) == (5, 7, 0)


def test_the_numbers_of_diffserv_stay_and_differ():
    places = [
        QueuePlace(3, 0x1_0010),
        QueuePlace(3, 0x2_0010),
        QueuePlace(3, 2**32 - 1),
        QueuePlace(70_000, 2**32 - 1),
    ]
    queues = [red_queue(place=each) for each in places]
    found = diffserv_numbers(queues)
    assert found == diffserv_numbers(queues[::-1])
    assert len(set(found.values())) == len(places)
    assert all(0 < each < 2**32 for each in found.values())
    assert found[places[0]] == 3 << 16 | 0x10


def test_walkers_are_told_of_a_moment_ago_and_askers_of_now():
    now_s = 0.0
    queues = FakeQueues()
    asked = []
    original = queues.queues
    queues.queues = lambda: asked.append(now_s) or original()
    objects = QueueObjects(queues, lambda: now_s)
    for _ in range(3):
        objects.snapshot(walking=True)
    assert len(asked) == 1
    objects.snapshot(walking=False)
    now_s = 2 * WALK_S
    objects.snapshot(walking=True)
    assert len(asked) == 3


# --- the queues of Linux -----------------------------------------------------------------


@pytest.mark.parametrize(
    "queue", [each["queue"] for each in ANSWERS if each["queue"].split()[0] in TABLE_OF]
)
def test_what_linux_says_can_be_said_and_meant_the_same(queue):
    kernel = FakeKernel(answered(queue))
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    [served] = LinuxQueues(kernel, ["all"]).queues()
    told = values(served)
    table = TABLE_OF[served.kind]
    meant = {
        each.parameter: each.scale.meant(told[setting(served.kind, each.number, served.place)])
        for each in table.settings
        if setting(served.kind, each.number, served.place) in told
    }
    parameters = router.parameters()
    assert set(router.settable) <= set(meant)
    assert {**mib.BUILT_INTO[served.kind], **meant} == pytest.approx(dict(parameters))


def test_each_kind_says_every_parameter_that_can_be_set():
    for name, own in {"red": RED, "fq_codel": FQ_CODEL}.items():
        said = {each.parameter for each in TABLE_OF[name].settings}
        assert said | set(mib.BUILT_INTO[name]) == set(own)


def red_of_linux(may_change=("linux:dummy0",), **more):
    kernel = FakeKernel(answered(RED_OF_TC), **more)
    said = []
    return kernel, LinuxQueues(kernel, may_change, say=said.append, clock=lambda: 1.0), said


def test_a_change_of_several_columns_is_one_message_to_the_kernel():
    kernel, queues, said = red_of_linux()
    [served] = queues.queues()
    objects = QueueObjects(queues, lambda: 0.0)
    change = objects.test(
        [
            Binding(setting("red", 2, served.place), ValueType.GAUGE32, 12_000),
            Binding(setting("red", 3, served.place), ValueType.GAUGE32, 36_000),
            Binding(setting("red", 5, served.place), ValueType.GAUGE32, 9),
        ]
    )
    assert kernel.told == []
    change.commit()
    assert len(kernel.told) == 1
    [now] = queues.queues()
    assert (now.parameters["min_threshold"], now.parameters["weight_log"]) == (12_000, 9)
    assert now.changes == 1
    assert said == ["linux:dummy0: changed: min_threshold 12000, max_threshold 36000, weight_log 9"]
    change.undo()
    assert len(kernel.told) == 2
    [back] = queues.queues()
    assert back.parameters == served.parameters


def test_choke_is_set_with_its_weight_as_a_power_of_two():
    [choke] = [each["queue"] for each in ANSWERS if each["queue"].startswith("choke ")]
    kernel = FakeKernel(answered(choke))
    queues = LinuxQueues(kernel, ("linux:dummy0",), clock=lambda: 1.0)
    [served] = queues.queues()
    told = values(served)
    assert told[setting("choke", 1, served.place)] == 1000
    assert told[setting("choke", 8, served.place)] == 1
    objects = QueueObjects(queues, lambda: 0.0)
    change = objects.test(
        [
            Binding(setting("choke", 2, served.place), ValueType.GAUGE32, 50),
            Binding(setting("choke", 5, served.place), ValueType.GAUGE32, 4),
        ]
    )
    change.commit()
    assert len(kernel.told) == 1
    [now] = queues.queues()
    assert (now.parameters["min_threshold"], now.parameters["weight"]) == (50, 1 / 16)
    for column, value in ((5, 0), (8, 1)):
        wrong = Binding(setting("choke", column, served.place), ValueType.GAUGE32, value)
        with pytest.raises(SetRefused):
            objects.test([wrong])


def test_without_a_monitor_the_traffic_is_said_to_be_unknown_and_not_none():
    red, watched = red_queue(), fq_codel_queue(traffic=TrafficSeen(flows=0))
    told = values(red, watched)
    known, unknown = 1, 2
    assert told[fact(19, red.place)] == unknown
    assert not [number for number in (16, 17, 18) if fact(number, red.place) in told]
    assert told[fact(19, watched.place)] == known
    assert told[fact(16, watched.place)] == 0
    assert not [number for number in (17, 18) if fact(number, watched.place) in told]


def test_what_the_kernel_would_refuse_is_refused_before_it_is_told():
    kernel, queues, _ = red_of_linux()
    [served] = queues.queues()
    wrong = Binding(setting("red", 2, served.place), ValueType.GAUGE32, 99_000)
    with pytest.raises(SetRefused) as refusal:
        QueueObjects(queues, lambda: 0.0).test([wrong])
    assert refusal.value.status == Status.INCONSISTENT_VALUE
    assert kernel.told == []
    [now] = queues.queues()
    assert now.last_refusal == str(refusal.value)


def test_a_kernel_that_refuses_all_the_same_has_nothing_changed():
    _, queues, _ = red_of_linux(refusal=Refusal(EINVAL, "no", None))
    [served] = queues.queues()
    binding = Binding(setting("red", 2, served.place), ValueType.GAUGE32, 12_000)
    change = QueueObjects(queues, lambda: 0.0).test([binding])
    with pytest.raises(ChangeFailed, match="the kernel refused: no"):
        change.commit()
    [now] = queues.queues()
    assert now.parameters == served.parameters
    assert "the kernel refused" in now.last_refusal


def test_a_change_after_which_the_kernel_is_silent_is_put_back():
    class SilentOnce(FakeKernel):
        silences = 1

        def queue(self, interface, parent):
            if self.told and self.silences:
                self.silences -= 1
                message = "the kernel has not answered within 5 s"
                raise RouterSilent(message)
            return super().queue(interface, parent)

    kernel = SilentOnce(answered(RED_OF_TC))
    queues = LinuxQueues(kernel, ("linux:dummy0",), clock=lambda: 1.0)
    [served] = queues.queues()
    binding = Binding(setting("red", 2, served.place), ValueType.GAUGE32, 12_000)
    change = QueueObjects(queues, lambda: 0.0).test([binding])
    with pytest.raises(ChangeFailed, match="has not answered"):
        change.commit()
    assert len(kernel.told) == 2
    assert queues.queues()[0].parameters == served.parameters
    change.undo()
    assert len(kernel.told) == 2


def test_only_the_queues_that_are_named_may_be_changed():
    for named, may in {
        ("linux:dummy0",): True,
        ("all",): True,
        (): False,
        ("linux:x",): False,
    }.items():
        _, queues, _ = red_of_linux(may_change=named)
        assert queues.queues()[0].may_change is may
    with pytest.raises(RouterError, match='expected "linux:INTERFACE"'):
        red_of_linux(may_change=("eth0",))


def test_a_queue_that_is_not_named_is_refused_under_each_of_its_names():
    """In the table of RED, and in the two tables of DIFFSERV-MIB that can be set (RFC 3289)."""
    kernel, queues, _ = red_of_linux(may_change=("linux:other0",))
    [served] = queues.queues()
    [number] = diffserv_numbers([served]).values()
    objects = QueueObjects(queues, lambda: 0.0)
    for name in (
        setting("red", 1, served.place),
        (1, 3, 6, 1, 2, 1, 97, 1, 6, 2, 1, 5, number),
        (1, 3, 6, 1, 2, 1, 97, 1, 6, 4, 1, 2, number),
    ):
        with pytest.raises(SetRefused, match="dummy0: this agent must not change it") as refusal:
            objects.test([Binding(name, ValueType.GAUGE32, 20_000)])
        assert refusal.value.status == Status.NOT_WRITABLE
    assert kernel.told == []


@pytest.mark.parametrize(("said", "meant"), [(1, 0.001), (20, 0.02), (1000, 1.0)])
def test_a_probability_of_diffserv_is_so_many_drops_of_a_thousand_packets(said, meant):
    """As RFC 3289 has it of diffServRandomDropProbMax."""
    [drops] = [each for each in mib.RANDOM_DROP_SETTINGS if each.number == 6]
    assert drops.scale.meant(said) == meant
    assert drops.scale.said(meant) == said
    assert drops.scale.highest == 1000


@pytest.mark.parametrize(
    ("kind", "parameter", "value", "nearest"),
    [
        ("pie", "alpha", 0.13, "0.125"),  # sixteenths: 2.08 of them
        ("choke", "weight", 0.3, "0.25"),  # powers of two
        ("fq_pie", "mark_probability", 0.123, "0.12"),  # percents
        ("red", "limit", 1000.5, "1000"),
    ],
)
def test_a_value_between_two_steps_is_refused_where_the_kernel_would_refuse_it(
    kind, parameter, value, nearest
):
    [own] = [each for each in TABLE_OF[kind].settings if each.parameter == parameter]
    with pytest.raises(FieldError, match=f"the nearest is {nearest}$"):
        encoded_value(own, value)


def test_a_time_or_a_probability_between_two_steps_is_the_nearer():
    for kind, parameter, value, said in (
        ("fq_codel", "target", 0.0051234, 5123),  # microseconds
        ("red", "max_probability", 0.1, 429_496_730),  # of 2^-32: 429496729.6
    ):
        [own] = [each for each in TABLE_OF[kind].settings if each.parameter == parameter]
        assert encoded_value(own, value) == said


def test_a_queue_that_is_gone_cannot_be_changed():
    _, queues, _ = red_of_linux()
    with pytest.raises(RouterError, match="gone"):
        queues.apply(QueuePlace(9, 9), {"limit": 1})


def test_a_monitor_is_asked_by_address():
    asked = []
    kernel = FakeKernel(answered(RED_OF_TC))
    queues = LinuxQueues(kernel, traffic=lambda at: asked.append(str(at)) or TrafficSeen(flows=4))
    [served] = queues.queues()
    assert (asked, served.traffic.flows) == (["linux:dummy0"], 4)


def test_what_is_known_of_a_queue_goes_with_it():
    kernel, queues, _ = red_of_linux()
    for index in range(3):
        kernel.state = replace(kernel.state, parent=0x1_0000 + index)
        queues.queues()
    assert len(queues._known) == 1


class FakeWatch:
    """A monitor of an interface that hears what it is given."""

    def __init__(self, interface, one_in=1):
        self.interface = interface
        self.one_in = one_in
        self.flows = 0
        self.trips = []
        self.is_gone = False

    def take_in(self):
        if self.is_gone:
            message = f'"{self.interface}" has been removed or put down'
            raise InterfaceError(message)

    def open_flows(self):
        return None if self.flows is None else self.flows * self.one_in

    def departing(self):
        return None

    def round_trips(self):
        heard, self.trips = self.trips, []
        return np.zeros(len(heard), np.int64), np.array(heard, np.int64)


def test_flows_that_a_monitor_cannot_tell_for_a_while_are_those_of_before():
    watch = FakeWatch("wan0")
    traffic, queue = SeenTraffic([watch], clock=lambda: 100.0), parse_address("linux:wan0/1:10")
    for flows, told in ((16, 16), (None, 16), (12, 12)):
        watch.flows = flows
        traffic.take_in()
        assert traffic.of(queue).flows == told


def test_monitors_tell_the_flows_and_the_round_trips_of_late():
    now_s, said = [100.0], []
    watch, other = FakeWatch("wan0", one_in=2), FakeWatch("lan0")
    traffic = SeenTraffic([watch, other], clock=lambda: now_s[0], say=said.append)
    queue = parse_address("linux:wan0/1:10")
    assert traffic.of(queue) == TrafficSeen()
    watch.flows, watch.trips = 3, [30_000_000, 50_000_000]
    traffic.take_in()
    assert traffic.of(queue) == TrafficSeen(6, pytest.approx(0.04), pytest.approx(0.03))
    assert traffic.of(parse_address("linux:lan0")) == TrafficSeen(0)
    assert traffic.of(parse_address("linux:eth7")) == TrafficSeen()
    now_s[0] += 5.0
    watch.trips = [70_000_000]
    traffic.take_in()
    assert traffic.of(queue).mean_round_trip_s == pytest.approx(0.05)
    now_s[0] += 6.0  # the first two are too old by now
    traffic.take_in()
    assert traffic.of(queue) == TrafficSeen(6, pytest.approx(0.07), pytest.approx(0.07))
    watch.is_gone = True
    traffic.take_in()
    traffic.take_in()
    assert traffic.of(queue) == TrafficSeen()
    gone = '"wan0" has been removed or put down: its traffic is not known until it is back'
    assert said == [gone]
    assert traffic.of(parse_address("linux:lan0")) == TrafficSeen(0)
    watch.is_gone, watch.flows, watch.trips = False, 1, [20_000_000]
    traffic.take_in()
    assert traffic.of(queue) == TrafficSeen(2, pytest.approx(0.02), pytest.approx(0.02))
    assert said == [gone, '"wan0" is back, and its traffic is known again']
