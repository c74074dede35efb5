"""A shaper at the rate of its line: probes, where packets wait, decisions, netlink."""

from __future__ import annotations

import random
import struct
from types import SimpleNamespace

import pytest

from vermilion import _core
from vermilion.line.probes import SECOND, Heard, Prober, checksum, parse_packet, request
from vermilion.line.side import Side
from vermilion.monitor.waits import WaitWindow, waits_now, where_packets_wait
from vermilion.online.entries import SettingInForce
from vermilion.routers.base import HeldValues, LinkConfiguration, Reading, RouterError
from vermilion.routers.linux.connections import parse_connections
from vermilion.routers.linux.discovery import parse_address
from vermilion.routers.linux.message import (
    OPTIONS,
    ROOT,
    QueueMessage,
    attribute_bytes,
    by_type,
    parse_attributes,
    parse_queue,
    queue_settings,
)
from vermilion.routers.linux.shaper import (
    ShaperState,
    parse_shaper,
    rate_request,
    rebuilt_rate_command,
    redirect_target,
    shaper_at,
)

MS = 1_000_000
DAY = 86_400_000
LEFT, ANSWER = False, True


def packet_of(message, source="192.0.2.1", kind=0):
    """An answer to a message as it comes in: an IPv4 packet."""
    body = bytes([kind]) + message[1:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0)
    return header + bytes(map(int, source.split("."))) + bytes([10, 0, 0, 1]) + body


class World:
    """Reflectors behind a line whose queue is told."""

    def __init__(self, addresses, trip_ms=20):
        self.prober = Prober(addresses)
        self.now = SECOND
        self.trips = dict.fromkeys(addresses, trip_ms)
        self.queue_ms = 0.0
        self.deaf = set()
        self.first = set()
        self.stamps = False
        self.clock_ms = 12_345
        self.answers = []

    def go(self, seconds):
        pending = []
        end = self.now + round(seconds * SECOND)
        lost = []
        while self.now < end:
            self.now += 5 * MS
            probe = self.prober.due(self.now)
            if probe is not None:
                heard = Heard(probe.sequence, LEFT, probe.kind, probe.address)
                self.prober.left(heard, self.now)
                deaf = probe.address in self.deaf or (probe.kind == "timestamp" and not self.stamps)
                if not deaf:
                    wait = 0 if probe.address in self.first else self.queue_ms
                    there = self.now + round(wait * MS) + self.trips[probe.address] * MS // 2
                    back = there + self.trips[probe.address] * MS // 2
                    stamp = (there // MS + self.clock_ms) % DAY
                    stamps = (stamp * MS, stamp * MS) if probe.kind == "timestamp" else None
                    pending.append(
                        (back, Heard(probe.sequence, ANSWER, probe.kind, probe.address, stamps))
                    )
            for at, heard in sorted(pending, key=lambda each: each[0]):
                if at <= self.now:
                    pending.remove((at, heard))
                    answer = self.prober.take(heard, at, 0)
                    if answer is not None:
                        self.answers.append(answer)
            lost += self.prober.expire(self.now)
            if self.now % SECOND < 5 * MS:
                self.prober.check_reflectors(self.now)
        return lost


ADDRESSES = [f"192.0.2.{n}" for n in range(1, 9)]


def test_a_request_is_as_rfc_792_has_it():
    echo = request("echo", 0x1234, 7, 0)
    assert echo[:2] == b"\x08\x00"
    assert checksum(echo) == 0
    stamp = request("timestamp", 0x1234, 7, 5_000 * MS + DAY * MS)
    assert stamp[:2] == b"\x0d\x00"
    assert struct.unpack_from("!I", stamp, 8) == (5_000,)
    assert checksum(stamp) == 0


def test_answers_are_read_and_strange_packets_are_not():
    heard = parse_packet(packet_of(request("echo", 0x1234, 7, 0)), 0x1234)
    assert (heard.sequence, heard.is_answer, heard.source) == (7, True, "192.0.2.1")
    stamps = request("timestamp", 1, 2, 0)[:12] + struct.pack("!II", 11, 12)
    assert parse_packet(packet_of(stamps, kind=14), 1).stamps == (11 * MS, 12 * MS)
    assert parse_packet(packet_of(request("echo", 0x1234, 7, 0)), 0x1235) is None
    noise = random.Random(1)
    for _ in range(500):
        parse_packet(noise.randbytes(noise.randrange(60)), 1)
    for cut in range(48):
        parse_packet(packet_of(stamps, kind=14)[:cut], 1)


def test_probes_are_paced_and_cost_at_most_a_fiftieth_of_the_rate():
    world = World(ADDRESSES)
    world.go(10)
    assert world.prober.sent == pytest.approx(200, abs=3)
    world.prober.pace(world.now, 100e3, busy=True)
    assert 8 * 60 * SECOND / world.prober.interval <= 0.02 * 100e3
    world.prober.pace(world.now + 11 * SECOND, 10e6, busy=False)
    assert world.prober.interval >= 200 * MS


def test_a_wait_is_what_lies_above_the_least_round_trip():
    world = World(ADDRESSES)
    world.go(5)
    world.queue_ms = 40
    world.go(5)
    assert max(each.wait for each in world.answers[:80]) < 6 * MS
    assert world.answers[-1].wait == pytest.approx(40 * MS, abs=6 * MS)


def test_times_of_reflectors_tell_the_directions_apart():
    world = World(ADDRESSES)
    world.stamps = True
    world.go(5)
    before = world.answers[-1].up, world.answers[-1].down
    world.queue_ms = 40
    world.go(5)
    after = world.answers[-1]
    assert after.up - before[0] == pytest.approx(40 * MS, abs=2 * MS)
    assert after.down - before[1] == pytest.approx(0, abs=6 * MS)


def test_a_dead_reflector_is_replaced_and_its_probes_are_given_up_early():
    world = World(ADDRESSES)
    world.go(5)
    world.deaf.add(ADDRESSES[2])
    lost = world.go(5)
    assert ADDRESSES[2] not in world.prober.asked
    assert ADDRESSES[6] in world.prober.asked
    assert "does not answer" in world.prober.said[0]
    assert len(lost) >= 3
    world.deaf = set(ADDRESSES)
    world.go(10)
    assert len(world.prober.said) == 1  # an outage is nobody's fault


def test_answers_that_an_outage_has_kept_for_long_are_nobodys_fault():
    world = World(ADDRESSES)
    world.go(5)
    world.queue_ms = 8_000  # a modem keeps what it was given
    world.go(8)
    world.queue_ms = 0
    world.go(10)
    assert world.prober.said == []


def test_of_those_who_answer_nonsense_each_is_named_once():
    world = World(ADDRESSES[:2])
    world.go(2)
    for address in 3 * ADDRESSES[:2]:
        world.prober.take(Heard(40_000, ANSWER, "echo", address), world.now, 0)
    world.go(10)
    assert len(world.prober.said) == 2
    assert world.answers[-1].received > world.now - SECOND  # there is nobody else to ask


def test_a_line_that_loses_probes_is_not_the_reflectors_fault():
    world = World(ADDRESSES)
    chance = random.Random(3)
    for _ in range(300):
        world.deaf = set(ADDRESSES) if chance.random() < 0.3 else set()
        world.go(0.2)
    assert len(world.prober.said) <= 1


def test_a_prioritised_reflector_is_not_asked_any_more():
    world = World(ADDRESSES)
    world.first.add(ADDRESSES[0])
    world.go(20)
    world.queue_ms = 60
    world.go(20)
    assert ADDRESSES[0] not in world.prober.asked
    assert "sees no queue" in world.prober.said[0]
    assert len(world.prober.said) == 1


def test_answers_that_nobody_asked_for_drop_a_reflector():
    world = World(ADDRESSES)
    world.go(2)
    for number in range(5):
        assert (
            world.prober.take(Heard(40_000 + number, ANSWER, "echo", ADDRESSES[1]), world.now, 0)
            is None
        )
    world.go(2)
    assert ADDRESSES[1] not in world.prober.asked


def test_a_jump_of_a_reflectors_clock_is_not_a_wait():
    world = World(ADDRESSES)
    world.stamps = True
    world.go(5)
    world.clock_ms += 3_600_000
    world.go(0.3)
    assert world.answers[-1].up is None or abs(world.answers[-1].up) < SECOND * 60


@pytest.mark.parametrize(("direction", "place"), [("up", "behind"), ("down", "before")])
def test_where_packets_wait(direction, place):
    window = WaitWindow(direction)
    assert window.finding(0.0).place == "unseen"
    for each in range(40):
        window.probe(each / 20, 0.08)
    found = window.finding(2.0)
    assert (found.place, found.line_s) == (place, 0.08)
    assert "80 ms" in found.words()
    for each in range(40):
        window.probe(4 + each / 20, 0.001)
        window.backlog(4 + each / 20, 0.03)
    assert window.finding(6.0).place == "unseen"  # a queue that has stood from the beginning
    window.knows_empty = True
    assert window.finding(6.0).place == "here"
    for each in range(40):
        window.probe(8 + each / 20, 0.001)
    assert window.finding(10.0).place == "nowhere"


@pytest.mark.parametrize(
    ("here_s", "trips", "place", "line_s"),
    [
        (0.0, [(0.090, 0.020), (0.110, 0.020)], "behind", 0.080),
        (0.060, [(0.090, 0.020), (0.080, 0.020)], "here", 0.005),
        (0.060, [], "here", 0.0),
        (0.0, [(0.021, 0.020)], "nowhere", 0.001),
        (0.0, [], "unseen", 0.0),  # an empty queue alone says nothing of the line
        (None, [(0.090, 0.020)], "unseen", 0.070),  # of which queue's wait nobody can tell
    ],
)
def test_one_look_at_a_machine_says_where_packets_wait_if_it_can(here_s, trips, place, line_s):
    found = waits_now(here_s, trips)
    assert (found.place, found.probes) == (place, len(trips))
    assert found.line_s == pytest.approx(line_s)
    assert bool(found.why) == (place == "unseen")
    assert ("on the line" in found.words()) == (place in {"here", "nowhere"} and bool(trips))


def test_round_trips_are_those_of_connections_that_send_from_the_interface():
    shown = """\
0 4 10.0.0.2:5001 192.0.2.1:443 cubic rtt:89.5/2.1 cwnd:80 lastsnd:4 unacked:40 minrtt:20.25
0 0 10.0.0.2:5002 192.0.2.1:443 cubic rto:290 rtt:80/2 cwnd:80 lastsnd:4 minrtt:20
0 9 10.0.0.2:5003 192.0.2.1:443 cubic rto:290 rtt:80/2 cwnd:80 lastsnd:5000 unacked:4 minrtt:20
0 9 10.0.0.3:5004 192.0.2.1:443 cubic rto:290 rtt:80/2 cwnd:80 lastsnd:4 unacked:4 minrtt:20
0 9 [::ffff:10.0.0.2]:22 [::ffff:192.0.2.9]:80 rtt:30/2 lastsnd:4 unacked:1 minrtt:10
0 9 [2001:db8::2]:22 [2001:db8::9]:80 bbr rtt:31/2 lastsnd:4 unacked:1 minrtt:11
nonsense
0 0 x
"""
    found = parse_connections(shown, {"10.0.0.2", "2001:db8::2"})
    assert found == [(0.0895, 0.02025), (0.03, 0.01), (0.031, 0.011)]


class FakeShaper:
    """A ``cake`` that counts how often it is set."""

    held = HeldValues(tolerance=0.001)
    address = parse_address("linux:eth0")
    configuration = LinkConfiguration("linux:eth0", "cake", 0.0)

    def __init__(self):
        self.rate, self.handle, self.sets = 5e6, 0x80010000, 0

    def state(self):
        return ShaperState("cake", 2, self.handle, ROOT, self.rate)

    def reading_of(self, _):
        return Reading(0.0, 0, 0, 0, 0, 0, 0)

    def set_rate(self, rate, _=None):
        self.rate, self.sets = rate, self.sets + 1

    def apply(self, parameters):
        self.set_rate(parameters["bandwidth"])


class Noted(list):
    """A log that keeps decisions alone."""

    decisions = ()
    lost = 0

    def __init__(self):
        super().__init__()
        self.settings = []

    def keep(self, entry):
        if hasattr(entry, "kind"):
            self.append(entry)
        elif isinstance(entry, SettingInForce):
            self.settings.append(entry)

    def intend(self, now_s, effect): ...

    def answered(self, now_s, answer): ...

    @property
    def kinds(self):
        return [str(each.kind) for each in self]


class Kept:
    """A side of a line that carries 10 Mbit/s, and the time of its process."""

    def __init__(self, monkeypatch, mode="control"):
        self.now, self.wanted, self.choice = SECOND, 10e6, None
        monkeypatch.setattr("vermilion.line.side.time", self)
        self.shaper, self.log, self.proposals, self.told = FakeShaper(), Noted(), [], []
        self.prober = SimpleNamespace(answered=100, last_answer=SECOND, base_fell=0, trip=20 * MS)
        law = SimpleNamespace(
            rate=lambda _, __: self.wanted,
            state=lambda: {"capacity_bit_per_s": 10e6, "choice": self.choice},
        )
        keeper = _core.RateKeeper(5e6, mode, 300e3)
        guardian = SimpleNamespace(tell=lambda word: self.told.append(word) or True)
        self.side = Side(
            *(1, "up", self.shaper, law, keeper, self.log, WaitWindow("up"), guardian, 0),
            self.proposals.append,
        )
        self.passed = 0

    def monotonic_ns(self):
        return self.now

    def go(self, seconds, *, answers=True, carries=True):
        for _ in range(round(40 * seconds)):
            self.now += 25 * MS
            if answers:
                self.prober.last_answer = self.now
            past = (self.now - SECOND, (0, 0))
            self.side.step(self.now, (0, self.passed), past, self.prober, carries=carries)
            if self.now % SECOND == 0:
                self.side.each_second(self.now)


def test_the_rate_follows_the_law_and_is_left_safe(monkeypatch):
    kept = Kept(monkeypatch)
    kept.prober.answered = 3
    kept.go(3)
    assert kept.shaper.rate == 5e6
    kept.prober.answered = 100
    kept.go(20)
    assert (kept.shaper.rate, kept.shaper.sets, kept.told[-1]) == (10e6, 1, "10000000")
    kept.wanted = 8e6
    kept.go(2)
    assert kept.shaper.rate == 8e6
    kept.side.end("keep")
    assert kept.shaper.rate == 10e6
    assert kept.log.kinds == ["applied", "end"]
    assert kept.log[0].reason == "up: 10.0 Mbit/s; the line carries about 10.0 Mbit/s"


def test_constants_that_a_model_has_chosen_are_told_once_and_not_to_who_only_looks(monkeypatch):
    choice = {"target_s": 0.009, "share": 0.9, "gain": 1.0}
    choice |= {"excess_before_s": 0.038, "excess_s": 0.024, "goodput": 0.97}
    for mode, kinds in (("control", ["applied", "tuned"]), ("observe", [])):
        kept = Kept(monkeypatch, mode)
        kept.go(5)
        kept.choice = choice
        kept.go(5)
        assert kept.log.kinds == kinds


def test_rates_of_one_day_are_kept_in_memory(monkeypatch):
    kept = Kept(monkeypatch)
    kept.go(20)
    rates = [SettingInForce(0.0, {"bandwidth": float(each)}) for each in range(86_400)]
    kept.side.log.settings[:0] = rates
    kept.shaper.rate = 7e6
    kept.go(1)
    assert len(kept.log.settings) < 50_000
    assert kept.log.settings[-1].parameters == {"bandwidth": 7e6}


def test_a_full_modem_is_emptied_before_the_law_is_followed(monkeypatch):
    kept = Kept(monkeypatch)
    kept.passed = 1_500_000
    kept.go(0.5)
    kept.prober.base_fell = kept.now
    kept.go(0.6)
    kept.prober.base_fell = kept.now
    kept.go(0.2)
    assert kept.shaper.rate == 3e6
    assert kept.log.kinds[0] == "held-back"
    kept.go(0.2)
    assert kept.shaper.rate == 10e6


def test_nothing_is_changed_in_mode_observe_and_a_person_is_asked_in_propose(monkeypatch):
    kept = Kept(monkeypatch, "observe")
    kept.go(20)
    kept.side.end("restore")
    assert (kept.shaper.sets, kept.log.kinds) == (0, ["end"])
    kept = Kept(monkeypatch, "propose")
    kept.go(20)
    assert [each.parameters for each in kept.proposals] == [{"bandwidth": 10e6}]
    assert kept.shaper.sets == 0
    kept.side.say("accept")
    kept.go(1)
    assert kept.shaper.rate == 10e6
    kept.side.say("pause")
    kept.wanted = 8e6
    kept.go(1)
    assert (kept.shaper.rate, kept.told[-1]) == (10e6, "hold")
    with pytest.raises(ValueError, match="one of observe, propose, control"):
        _core.RateKeeper(5e6, "obey", 300e3)


def test_blind_probes_lead_to_a_safe_rate_and_an_outage_does_not(monkeypatch):
    kept = Kept(monkeypatch)
    kept.go(20)
    kept.wanted = 3e5
    kept.go(5, answers=False)
    assert kept.shaper.rate == 10e6
    assert [each for each in kept.log.kinds if each != "applied"] == ["blind", "fell-back"]
    assert kept.log[-2].details == {"line_is_down": False}
    kept.go(1)
    kept.go(5, answers=False, carries=False)
    assert kept.shaper.rate == 3e5
    assert [each for each in kept.log.kinds if each != "applied"][2:] == ["sighted", "blind"]


def test_a_rate_that_somebody_else_has_set_is_left_alone_until_resume(monkeypatch):
    kept = Kept(monkeypatch)
    kept.go(20.5)
    kept.shaper.rate, kept.wanted = 2e6, 8e6  # in between two seconds, while the law wants more
    kept.go(0.025)
    assert kept.shaper.rate == 2e6
    assert kept.log[-1].kind == "hands-off"
    assert kept.log[-1].details == {"changed": {"bandwidth": 2e6}}
    kept.go(5)
    kept.side.say("resume")
    assert kept.shaper.rate == 2e6
    kept.go(1)
    assert kept.shaper.rate == 8e6
    kept.shaper.rate = 3e6
    kept.side.end("restore")
    assert kept.shaper.rate == 3e6
    assert kept.log.kinds[-2:] == ["hands-off", "end"]


def test_what_the_guardian_has_set_meanwhile_is_nobody_elses(monkeypatch):
    kept = Kept(monkeypatch)
    kept.go(20)
    kept.wanted = 8e6
    kept.go(1)
    kept.now += 10 * SECOND  # it hung
    kept.shaper.rate = float(kept.told[-1])
    kept.go(2)
    assert kept.shaper.rate == 8e6
    assert "hands-off" not in kept.log.kinds


def test_a_shaper_that_is_made_anew_is_kept_with_its_own_rate(monkeypatch):
    kept = Kept(monkeypatch)
    kept.go(20)
    kept.shaper.rate, kept.shaper.handle = 7e6, 0x80020000
    kept.go(2)
    assert kept.shaper.rate == 10e6
    assert "hands-off" not in kept.log.kinds


CLASS = "parent 1:1 classid 1:10 htb"


def times(mean, least=20.0, count=100):
    return SimpleNamespace(mean=mean, min=least, count=count)


@pytest.mark.parametrize(
    ("far", "whole", "place", "behind", "before"),
    [
        (times(100.0), times(105.0), "behind", 80.0, 5.0),
        (times(22.0), times(90.0), "before", 2.0, 68.0),
        (times(21.0), None, "nowhere", 1.0, 0.0),
    ],
)
def test_a_monitor_says_on_which_side_packets_wait(far, whole, place, behind, before):
    one = SimpleNamespace(beyond_ms=far, whole_ms=whole)
    few = SimpleNamespace(beyond_ms=times(500.0, count=3), whole_ms=None)
    flow = SimpleNamespace(from_initiator=one, from_responder=few)
    waits = where_packets_wait(SimpleNamespace(flows=(flow,)))
    assert (waits.place, waits.behind_ms, waits.before_ms, waits.flows) == (
        place,
        behind,
        before,
        1,
    )
    assert where_packets_wait(SimpleNamespace(flows=())) is None


# Messages of a Linux 6.12 kernel.

TBF = struct.pack(
    "=12s12sIII", struct.pack("=BBHhHI", 0, 1, 0, 0, 0, 1_250_000), bytes(12), 60_000, 256_000, 0
)
HTB = struct.pack(
    "=12s12s5I",
    struct.pack("=BBHhHI", 0, 1, 0, 0, 0, 375_000),
    struct.pack("=BBHhHI", 0, 1, 0, 0, 0, 1_250_000),
    *(62_500, 18_750, 1000, 0, 3),
)
CAKE = attribute_bytes(2, struct.pack("=Q", 1_250_000))


def told(kind, options, handle=0x80010000, parent=ROOT):
    settings = by_type(parse_attributes(queue_settings(kind, options), "queue"))
    return QueueMessage(2, handle, parent, settings)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("cake", CAKE), ("tbf", attribute_bytes(1, TBF)), ("htb", attribute_bytes(1, HTB))],
    ids=["cake", "tbf", "htb"],
)
@pytest.mark.parametrize("rate", [1e6, 123_456_784.0, 80e9])
def test_a_rate_that_is_told_comes_back(kind, options, rate):
    shaper = parse_shaper(told(kind, options))
    assert shaper.rate_bit_per_s == 10e6
    _, body = rate_request(shaper, rate, shaper)
    back = parse_shaper(parse_queue(body))
    assert back.rate_bit_per_s == pytest.approx(rate, rel=1e-6)
    _, body = rate_request(back, 10e6, shaper)
    again = parse_shaper(parse_queue(body))
    assert again.rate_bit_per_s == 10e6
    least = 0 if kind == "cake" else 1600  # a packet always passes
    assert again.burst_bytes == pytest.approx(max(shaper.burst_bytes, least), rel=0.01)


def test_a_class_keeps_the_part_that_it_is_sure_of():
    shaper = parse_shaper(told("htb", attribute_bytes(1, HTB), 0x10010, 0x10001))
    _, body = rate_request(shaper, 20e6, shaper)
    block = by_type(parse_attributes(parse_queue(body).attributes[OPTIONS], "htb"))[1]
    assert struct.unpack_from("=I", block, 8) == (750_000,)


@pytest.mark.parametrize(
    ("recorded", "again"),
    [
        (
            "tc qdisc change dev x root handle 8001: cake bandwidth 1bit",
            "tc qdisc change dev eth0 root handle 8001: cake bandwidth 12000000bit",
        ),
        (
            f"tc class change dev x {CLASS} rate 3bit ceil 12bit burst 5b cburst 6b",
            f"tc class change dev eth0 {CLASS} rate 3000000bit ceil 12000000bit burst 5b cburst 6b",
        ),
        ("tc qdisc change dev x root handle 8001: cake bandwidth 1bit; reboot", None),
        ("rm -rf /", None),
    ],
)
def test_only_numbers_come_back_from_a_recorded_command(recorded, again):
    address = parse_address("linux:eth0")
    assert rebuilt_rate_command(address, {"bandwidth": 12e6}, recorded) == again
    assert rebuilt_rate_command(address, {"bandwidth": "x"}, recorded) is None


def test_shapers_are_found_by_their_address():
    root = told("htb", attribute_bytes(2, bytes(20)), 0x10000)
    top = told("htb", attribute_bytes(1, HTB), 0x10001)
    leaf = told("htb", attribute_bytes(1, HTB), 0x10010, 0x10001)
    assert shaper_at(parse_address("linux:eth0"), 2, [root], [top, leaf]).handle == 0x10001
    assert shaper_at(parse_address("linux:eth0/1:10"), 2, [root], [top, leaf]).handle == 0x10010
    cake = told("cake", CAKE)
    assert shaper_at(parse_address("linux:eth0"), 2, [cake], []).kind == "cake"
    for queues, classes in (
        ([], []),
        ([root], [top, told("htb", attribute_bytes(1, HTB), 0x10002)]),
    ):
        with pytest.raises(RouterError):
            shaper_at(parse_address("linux:eth0"), 2, queues, classes)


def test_nonsense_in_filters_redirects_nowhere():
    noise = random.Random(2)
    for _ in range(200):
        message = QueueMessage(2, 0, 0, {OPTIONS: noise.randbytes(noise.randrange(80))})
        redirect_target([message])
