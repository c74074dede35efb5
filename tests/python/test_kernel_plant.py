"""What of the kernel plant needs no kernel: refusals, phases, addresses, orders, the clock."""

from __future__ import annotations

import json
import socket
import struct
import threading
from contextlib import suppress

import pytest

from vermilion import parse_scenario, run
from vermilion.routers.base import RouterError, RouterSilent
from vermilion.scenario import load_scenario
from vermilion.scenario.core_scenario import windows
from vermilion.scenario.errors import FieldError
from vermilion_lab.kernel_plant.acceptance import check_scenario
from vermilion_lab.kernel_plant.agent import reply_to
from vermilion_lab.kernel_plant.calendar import Calendar
from vermilion_lab.kernel_plant.errors import GuestError, KernelPlantError
from vermilion_lab.kernel_plant.find_kernel import find_kernel
from vermilion_lab.kernel_plant.guest import Guest
from vermilion_lab.kernel_plant.hosts import hosts_of
from vermilion_lab.kernel_plant.queues import made_by
from vermilion_lab.kernel_plant.timetable import timetable
from vermilion_lab.kernel_plant.topology import commands
from vermilion_lab.kernel_plant.traffic_plan import planned_flows

ONE_LINK = """
duration = "10 s"
warm_up = "1 s"
[links.b]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "pie" }
[flows.a]
path = ["b"]
rtt = "28 ms"
sender = "reno"
"""


def core(changes=None):
    scenario = parse_scenario(ONE_LINK)
    return scenario.with_values(changes or {}).core()


REFUSED = [
    ({"links.b.queue.discipline": "red"}, "links.b.queue.discipline", "red"),
    ({"links.b.loss": {"model": "bernoulli", "probability": 0.1}}, "links.b.loss", "a table"),
    ({"flows.a.access_rate": "1 Mbit/s"}, "flows.a.access_rate", "1 Mbit/s"),
    ({"flows.a.return_path": ["b"]}, "flows.a.return_path", "b"),
    ({"flows.a.colour": "red"}, "flows.a.colour", "red"),
    ({"flows.a.packet_size": "9000 bytes"}, "flows.a.packet_size", "9000 bytes"),
    ({"flows.a.sender": "ledbat"}, "flows.a.sender", "ledbat"),
    (
        {"flows.a.sender": {"congestion_control": "sack", "tail_loss_probe": False}},
        "flows.a.sender.tail_loss_probe",
        False,
    ),
    (
        {"flows.a.sender": {"congestion_control": "bbr1", "pacing": False}},
        "flows.a.sender.pacing",
        False,
    ),
]


@pytest.mark.parametrize(("changes", "field", "value"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_a_kernel_does_not_have_is_refused_by_field_and_value(changes, field, value):
    with pytest.raises(FieldError) as refusal:
        check_scenario(core(changes))
    assert (refusal.value.field, refusal.value.value) == (field, value)


def test_what_linux_does_anyway_is_accepted():
    sender = {"congestion_control": "sack", "option_set": "linux", "timer_tick": "10 ms"}
    check_scenario(core({"flows.a.sender": sender}))
    check_scenario(core({"flows.a.sender": {**sender, "shared_clock": True}}))
    check_scenario(core({"flows.a.sender": {**sender, "pacing": True}}))


@pytest.mark.parametrize(
    "name",
    ["varying-load", "varying-round-trip-time", "rfc7928-varying-capacity", "vred-staged-load"],
)
def test_the_phases_are_those_of_the_simulator(name):
    scenario = load_scenario(name)
    total, phases = windows(scenario.core())
    measured = run(scenario).link(next(iter(scenario.links)))
    assert (measured.total["start_s"], measured.total["end_s"]) == tuple(
        each / 1e9 for each in total
    )
    assert [(each["start_s"], each["end_s"]) for each in measured.phases] == [
        (begin / 1e9, end / 1e9) for begin, end in phases
    ]


def test_the_way_back_takes_what_the_round_trip_has_beyond_waiting():
    [host], members = hosts_of(core(), seed=1)
    assert members == {"a": [0]}
    # 28 ms, and the 0.8 ms that 1000 bytes take at 10 Mbit/s: htb takes none.
    assert host.delay_ns({0: 10e6}) == 28_800_000
    assert host.delay_ns({0: 5e6}, {0: 7_000_000}) == 28_000_000 + 1_600_000 + 7_000_000
    assert host.there_ns == 10_000_000 + 9_000_000


def test_flows_with_their_own_round_trips_have_their_own_addresses():
    scenario = core({"flows.a.rtt": ["10 ms", "20 ms", "10 ms"], "flows.a.count": 3})
    hosts, members = hosts_of(scenario, seed=1)
    assert members == {"a": [0, 1, 0]}
    assert {each.source for each in hosts} == {"10.1.0.1", "10.1.0.2"}


def test_who_is_to_be_paced_is_told_so():
    def told(sender):
        scenario = core({"flows.a.sender": sender})
        [flow] = planned_flows(scenario, *hosts_of(scenario, 1), 1)
        return flow.orders["paced"]

    assert told({"congestion_control": "cubic", "option_set": "linux", "pacing": True})
    assert not told({"congestion_control": "cubic", "option_set": "linux"})
    assert not told("bbr1")  # it paces by itself


def test_what_is_drawn_follows_from_the_seed_alone():
    web = {
        "kind": "web",
        "mean_gap": "100 ms",
        "size": {"distribution": "exponential", "mean": "30 kB"},
    }
    scenario = core({"flows.a.traffic": web, "flows.a.start": "0 s .. 1 s"})

    def plan(seed):
        hosts, members = hosts_of(scenario, seed)
        return [flow.orders for flow in planned_flows(scenario, hosts, members, seed)]

    assert plan(3) == plan(3) != plan(4)
    transfers = plan(3)[0]["transfers"]
    sizes = [size for _, size in transfers]
    # 100 of them are expected in 10 s; each carries 66 bytes less in a packet of 1000.
    assert 70 < len(transfers) < 130
    assert 0.7 < sum(sizes) / len(sizes) / (30_000 * 934 / 1000) < 1.3


def test_a_change_of_the_link_changes_every_way_over_it():
    text = ONE_LINK + '[[changes]]\nat = "5 s"\nlink = "b"\nrate = "5 Mbit/s"\ndelay = "30 ms"\n'
    scenario = parse_scenario(text).core()
    hosts, _ = hosts_of(scenario, seed=1)
    [order] = timetable(scenario, hosts)
    assert order["at_ns"] == 5_000_000_000
    assert "rate 5000000bit" in order["tc"]["r0"][0]
    assert "delay 49600.000us" in order["tc"]["far"][0]


def test_a_rate_schedule_is_told_step_by_step():
    schedule = [["0 s", "10 Mbit/s"], ["1 s", "2 Mbit/s"]]
    text = ONE_LINK.replace('rate = "10 Mbit/s"', f"rate_schedule = {schedule}\nrepeat = '2 s'")
    scenario = parse_scenario(text).core()
    found = timetable(scenario, hosts_of(scenario, 1)[0])
    assert [each["at_ns"] / 1e9 for each in found] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert ["rate 2000000bit" in each["tc"]["r0"][0] for each in found] == [True, False] * 4 + [
        True
    ]


def test_a_path_of_two_links_leads_through_both_routers():
    text = (
        ONE_LINK
        + '[links.c]\nrate = "5 Mbit/s"\ndelay = "5 ms"\nqueue = { discipline = "codel" }\n'
    )
    scenario = parse_scenario(text).with_values({"flows.a.path": ["b", "c"]}).core()
    hosts, _ = hosts_of(scenario, 1)
    made = commands([1e7, 5e6], [made_by(link.queue) for link in scenario.links], hosts)
    assert made.namespaces == ["near", "far", "r0", "r1"]
    assert "route add 10.2.0.1 dev to1 table 100" in made.ip["far"]
    assert "route add 10.1.0.1 dev back0" in made.ip["r1"]
    assert "route add 10.1.0.1 dev near" in made.ip["r0"]


def test_a_kernel_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("VERMILION_KERNEL", str(tmp_path / "none"))
    with pytest.raises(KernelPlantError, match=r'VERMILION_KERNEL: ".*none" cannot be run'):
        find_kernel()
    monkeypatch.delenv("VERMILION_KERNEL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(KernelPlantError, match="make kernel"):
        find_kernel()


START, REQUEST, WAIT, BROADCAST = 1, 2, 3, 9
ACK, RUN, FREE_UNTIL = 0, 6, 7


def guest_of(path, script):
    """A kernel as its clock sees it: says what is in the script; what it hears is returned."""
    heard = []

    def live():
        with suppress(OSError, struct.error), socket.socket(socket.AF_UNIX) as end:
            end.connect(str(path))
            for number, (operation, time_ns) in enumerate(script):
                end.sendall(struct.pack("=IIQ", operation, number, time_ns))
                heard.append(struct.unpack("=IIQ", end.recv(16)))
                while operation == WAIT and heard[-1][0] != RUN:
                    told = struct.unpack("=IIQ", end.recv(16))
                    heard.append(told)
                    end.sendall(struct.pack("=IIQ", ACK, told[1], 0))

    thread = threading.Thread(target=live)
    thread.start()
    return thread, heard


def test_the_clock_wakes_a_guest_when_it_has_asked_and_answers_its_call(tmp_path):
    calendar = Calendar(tmp_path / "clock", 5.0)
    script = [(START, 0), (REQUEST, 7_000), (WAIT, 0), (BROADCAST, 0)]
    thread, heard = guest_of(tmp_path / "clock", script)
    calendar.accept()
    calendar.serve()
    calendar.answer()
    thread.join(5.0)
    calendar.close()
    operations = [operation for operation, _, _ in heard]
    assert operations == [ACK, ACK, ACK, FREE_UNTIL, RUN, ACK]
    assert heard[4][2] == 7_000


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([(START, 0)], "the kernel has ended"),
        (
            [(START, 0), (REQUEST, 2**63 - 1), (WAIT, 0)],
            "the kernel sleeps and nothing will wake it",
        ),
        ([(77, 0)], "unknown to its clock"),
    ],
)
def test_a_guest_that_goes_wrong_is_named(tmp_path, script, words):
    calendar = Calendar(tmp_path / "clock", 5.0)
    thread, _ = guest_of(tmp_path / "clock", script)
    calendar.accept()
    with pytest.raises(GuestError, match=words):
        calendar.serve()
    calendar.close()
    thread.join(5.0)


@pytest.mark.parametrize("kind", [RouterError, RouterSilent])
def test_a_queue_in_the_guest_that_is_silent_is_no_refusal_outside(tmp_path, kind):
    def apply(link, parameters):
        message = f"link {link} has another {next(iter(parameters))}"
        raise kind(message)

    class OneCall:
        """In place of the kernel's clock: lets the guest answer."""

        def answer(self):
            order = json.loads((tmp_path / "order").read_text())
            reply = reply_to(order, {"apply": apply})
            (tmp_path / "reply").write_text(json.dumps(reply))

        def serve(self):
            pass

    guest = Guest.__new__(Guest)  # one that has no kernel
    guest.job, guest._calendar = tmp_path, OneCall()
    with pytest.raises(RouterError, match="link 3 has another target") as error:
        guest.call("apply", link=3, parameters={"target": 0.02})
    assert type(error.value) is kind


def test_a_guest_that_is_silent_is_not_waited_for_without_end(tmp_path):
    calendar = Calendar(tmp_path / "clock", 0.05)
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(str(tmp_path / "clock"))
        calendar.accept()
        with pytest.raises(GuestError, match="it hangs"):
            calendar.serve()
    calendar.close()
