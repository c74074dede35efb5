"""Schedulers in Python, and headers by which queues tell senders something."""
# ruff: noqa: ARG002 - methods look at a part of what they are shown

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import vermilion
from own_classes import numbers, registering
from vermilion import Verdict
from vermilion.scenario import disciplines, senders

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def register() -> Iterator:
    """Registers disciplines for one test."""
    yield from registering(
        vermilion.register_discipline, vermilion.unregister_discipline, disciplines
    )


@pytest.fixture
def register_sender() -> Iterator:
    """Registers senders for one test."""
    yield from registering(
        vermilion.register_congestion_control, vermilion.unregister_congestion_control, senders
    )


def two_classes(queue: str, traffic: str = "", duration: str = "20 s") -> vermilion.Scenario:
    """Four flows of each of two codepoints at one bottleneck."""
    groups = "".join(
        f"""
        [flows.{name}]
        count = 4
        path = ["l"]
        rtt = "20 ms"
        dscp = "{dscp}"
        {traffic or 'sender = "newreno"'}
        """
        for name, dscp in (("first", "ef"), ("second", "default"))
    )
    return vermilion.parse_scenario(f"""
        duration = "{duration}"
        warm_up = "2 s"
        [links.l]
        rate = "10 Mbit/s"
        delay = "2 ms"
        queue = {{ {queue} }}
        {groups}
    """)


def goodput(result: vermilion.Result, group: str) -> float:
    return result.flows(group).total["goodput_bit_per_s"]["total"]


@pytest.mark.parametrize("weight", [1, 3, 8])
def test_bytes_are_shared_by_weight(weight):
    vermilion.load_plugins([EXAMPLES / "two_weights.py"])
    scenario = two_classes(f'discipline = "two-weights", weight = {weight}')
    result = vermilion.run(scenario, seed=1)
    ratio = goodput(result, "first") / goodput(result, "second")
    assert ratio == pytest.approx(weight, rel=0.02)
    link = result.link("l").total
    assert link["utilization"] > 0.999
    assert link["drops"] > 0
    vermilion.unregister_discipline("two-weights")


class Strict(vermilion.Scheduler):
    """The first queue that has packets; each holds 50."""

    name = "own-strict"
    queue_count = 2

    def on_arrival(self, packet, queues, coin):
        queue = queues[int(packet.dscp != 46)]
        return queue.number if queue.packets < 50 else Verdict.OVERFLOW

    def choose(self, queues, coin):
        return int(queues[0].packets == 0)


STRICT = """discipline = "strict", classes = [
    { match = ["ef"], queue = { discipline = "drop-tail", limit = "50 packets" } },
    { queue = { discipline = "drop-tail", limit = "50 packets" } } ]""".replace("\n", " ")


@pytest.mark.parametrize(
    "traffic",
    ["", 'traffic = { kind = "poisson", rate = "1.3 Mbit/s", packet_size = "exponential" }'],
)
def test_strict_priority_in_python_is_that_of_the_core(register, traffic):
    register(Strict)
    own, core = (
        numbers(vermilion.run(two_classes(queue, traffic, "5 s"), seed=3))
        for queue in ('discipline = "own-strict"', STRICT)
    )
    for several in (own, core):
        several.pop("events", None)
    assert own["flows"] == core["flows"]
    for name in (
        "arrivals",
        "drops",
        "packets_forwarded",
        "utilization",
        "queue_packets",
        "sojourn_ms",
    ):
        assert own["links"]["l"]["total"][name] == core["links"]["l"]["total"][name], name


def test_a_scheduler_sees_its_queues(register):
    seen = []

    class Seeing(Strict):
        name = "seeing"

        def prepare(self):
            self.queue_count = 3

        def on_arrival(self, packet, queues, coin):
            assert [queue.number for queue in queues] == [0, 1, 2]
            assert all(queue.now == packet.arrived for queue in queues)
            assert queues[2].head_size is None
            assert queues[2].empty_since == 0
            return super().on_arrival(packet, queues, coin)

        def choose(self, queues, coin):
            chosen = super().choose(queues, coin)
            head = queues[chosen]
            assert head.head_size in {1000, 40}
            seen.append(head.now - head.head_arrived)
            return chosen

        def on_departure(self, packet, queue, coin):
            assert queue.now - packet.arrived == seen[-1]
            return Verdict.ACCEPT

    register(Seeing)
    result = vermilion.run(two_classes('discipline = "seeing"', duration="3 s"), seed=1)
    assert len(seen) >= result.link("l").total["packets_forwarded"] > 1000


def test_packets_can_be_marked_as_they_join_and_dropped_as_they_leave(register):
    class Noticing(Strict):
        name = "noticing"

        def on_arrival(self, packet, queues, coin):
            return (0, Verdict.MARK) if packet.ecn_capable and coin() < 0.02 else 1

        def on_departure(self, packet, queue, coin):
            return Verdict.DROP if queue.packets > 20 and not packet.ecn_capable else Verdict.ACCEPT

    register(Noticing)
    scenario = two_classes('discipline = "noticing"', duration="4 s").with_values(
        {"flows.first.sender.ecn": True}
    )
    total = vermilion.run(scenario, seed=1).link("l").total
    assert total["marks"] == pytest.approx(0.02 * total["arrivals"] / 2, rel=0.5)
    assert total["drops"] > 0


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"on_arrival": lambda *_: 2},
            "the queue 2 is not accepted; expected a whole number from 0 to 1",
        ),
        ({"on_arrival": lambda *_: Verdict.ACCEPT}, "expected the number of the queue"),
        ({"on_arrival": lambda *_: (0, "no")}, "the answer 'no' is not accepted"),
        ({"choose": lambda *_: None}, "the queue None is not accepted"),
        (
            {"on_arrival": lambda *_: 0, "choose": lambda *_: 1},
            "queue 1 is not accepted, which is empty",
        ),
        ({"queue_count": 0}, "queue_count: 0 is not accepted; expected 1 to 4096"),
    ],
)
def test_a_wrong_answer_is_told(register, members, message):
    register(Strict, **members)
    with pytest.raises((vermilion.DisciplineError, vermilion.ScenarioError), match=message):
        vermilion.run(two_classes('discipline = "own-strict"', duration="3 s"), seed=1)


def test_who_chooses_nothing_is_refused():
    class Missing(vermilion.Scheduler):
        name = "missing"

        def on_arrival(self, packet, queues, coin):
            return 0

    with pytest.raises(vermilion.ScenarioError, match="choose"):
        vermilion.register_discipline(Missing)


def test_a_kept_run_goes_on_after_it_was_looked_at(register):
    register(Strict)
    scenario = two_classes('discipline = "own-strict"', duration="4 s")
    whole = vermilion.run(scenario, seed=2)
    kept = vermilion.Simulation(scenario, seed=2).extend(1.5)
    fork = kept.fork()
    kept.extend(0.5).result()
    for network in (fork.extend(2.5), kept.extend(2)):
        assert numbers(network.result())["flows"] == numbers(whole)["flows"]


def abc(count: int, *, delayed: bool = False, back: str = "") -> vermilion.Scenario:
    """ABC over its queue at 12 Mbit/s, 1000 packets a second."""
    return vermilion.parse_scenario(f"""
        duration = "40 s"
        warm_up = "15 s"
        [links.l]
        rate = "12 Mbit/s"
        delay = "10 ms"
        queue = {{ discipline = "abc-queue" }}
        [links.back]
        rate = "100 Mbit/s"
        delay = "10 ms"
        queue = {{ discipline = "drop-tail" }}
        [flows.abc]
        count = {count}
        path = ["l"]
        return_path = [{back}]
        rtt = "100 ms"
        packet_size = "1500 bytes"
        start = "0 s .. 1 s"
        sender = {{ congestion_control = "abc", delayed_acknowledgements = {str(delayed).lower()} }}
    """)


@pytest.fixture
def _abc() -> Iterator:
    vermilion.load_plugins([EXAMPLES / "accel_brake.py"])
    yield
    vermilion.unregister_discipline("abc-queue")
    vermilion.unregister_congestion_control("abc")


@pytest.mark.usefixtures("_abc")
@pytest.mark.parametrize("back", ["", '"back"'])
@pytest.mark.parametrize("count", [4, 8])
def test_abc_settles_where_its_paper_says(count, back):
    # In the steady state queueing is target + drain time x (utilization - 1 + N / (mu l)), where l
    # is the time in which each flow adds one packet: a round trip.
    result = vermilion.run(abc(count, back=back), seed=1)
    link = result.link("l").total
    assert link["utilization"] > 0.995
    waits = link["sojourn_ms"]["mean"] / 1e3
    expected = 0.02 + 0.133 * (0.98 - 1 + count / (1000 * (0.1 + waits)))
    assert waits == pytest.approx(expected, rel=0.1)
    assert link["drops"] == 0


@pytest.mark.usefixtures("_abc")
def test_abc_leaves_a_little_of_the_link_to_be_without_a_queue():
    # N / (mu l) is 0.01, less than 1 - utilization: 0.99 of the link is used, and no queue.
    link = vermilion.run(abc(1), seed=1).link("l").total
    assert link["utilization"] == pytest.approx(0.99, abs=0.005)
    assert link["sojourn_ms"]["mean"] < 5


class Counting(vermilion.CongestionControl):
    """A window of ten whose packets carry their numbers."""

    name = "counting"
    headers = True

    def __init__(self):
        self.heard = []

    def on_sent(self, sent, window):
        assert sent.header == (0, 0, 0, 0)
        sent.header = (sent.number, sent.now)

    def on_ack(self, ack, window):
        window.size = 10.0
        if ack.header is None:
            return
        number, sent, first, second = ack.header
        assert number == ack.unacknowledged - 1
        assert ack.round_trip is None or sent + ack.round_trip == ack.now
        assert second == first + 1
        type(self).last = ack.header

    def on_loss(self, loss, window):
        return loss.base / 2


class Stamping(vermilion.Discipline):
    """Adds one to the third number at each queue, and to the fourth beyond that."""

    name = "stamping"
    headers = True

    def on_arrival(self, packet, queue, coin):
        if packet.header is not None:
            number, sent, first, _ = packet.header
            packet.header = (number, sent, first + 1)
        return Verdict.ACCEPT

    def on_departure(self, packet, queue, coin):
        if packet.header is not None:
            packet.header = (*packet.header[:3], packet.header[2] + 1)
        return Verdict.ACCEPT


def path_of_two(back: str, access: str = "") -> vermilion.Scenario:
    links = "".join(
        f"""
        [links.{name}]
        rate = "10 Mbit/s"
        delay = "2 ms"
        queue = {{ discipline = "stamping" }}
        """
        for name in ("a", "b", "c")
    )
    return vermilion.parse_scenario(f"""
        duration = "3 s"
        {links}
        [flows.counting]
        count = 2
        path = ["a", "b"]
        return_path = [{back}]
        rtt = "30 ms"
        {access}
        sender = "counting"
        [flows.reno]
        path = ["a", "b"]
        return_path = [{back}]
        rtt = "30 ms"
        sender = {{ congestion_control = "newreno", window_cap = "20 packets" }}
        [flows.udp]
        path = ["a"]
        rtt = "30 ms"
        traffic = {{ kind = "constant-rate", rate = "100 kbit/s" }}
    """)


@pytest.mark.parametrize("access", ["", 'access_rate = "20 Mbit/s"'])
@pytest.mark.parametrize("back", ["", '"c"'])
def test_headers_go_round_whole_and_through_every_queue(register, register_sender, back, access):
    register(Stamping)
    own = register_sender(Counting)
    result = vermilion.run(path_of_two(back, access), seed=1)
    assert own.last[2:] == (2, 3)  # two queues; the last one adds one more as the packet leaves
    assert result.flows("counting").total["goodput_bit_per_s"]["total"] > 1e6


def test_headers_do_not_change_a_run(register, register_sender):
    register(Stamping)
    register_sender(Counting)
    with_headers = numbers(vermilion.run(path_of_two(""), seed=1))
    register(
        Stamping,
        headers=False,
        on_arrival=lambda *_: Verdict.ACCEPT,
        on_departure=lambda *_: Verdict.ACCEPT,
    )

    class Plain(Counting):
        headers = False

        def on_sent(self, sent, window):
            assert sent.header is None

        def on_ack(self, ack, window):
            window.size = 10.0

    register_sender(Plain)
    assert numbers(vermilion.run(path_of_two(""), seed=1)) == with_headers


def test_a_header_is_refused_where_there_is_none(register, register_sender):
    register(Stamping, headers=False)
    register_sender(Counting)

    def on_arrival(_self, packet, _queue, _coin):
        packet.header = (1,)
        return Verdict.ACCEPT

    scenario = path_of_two("")
    register(Stamping, headers=False, on_arrival=on_arrival)
    with pytest.raises(vermilion.DisciplineError, match="no header here"):
        vermilion.run(scenario, seed=1)
    register(Stamping, on_arrival=on_arrival)
    with pytest.raises(vermilion.DisciplineError, match="no header here"):  # of the third group
        vermilion.run(scenario, seed=1)
    register(
        Stamping, on_arrival=lambda _self, packet, _queue, _coin: setattr(packet, "header", [1] * 5)
    )
    with pytest.raises(vermilion.DisciplineError, match="at most 4 finite numbers"):
        vermilion.run(scenario, seed=1)
