"""Scripted losses: the packets that are meant, and no others."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import vermilion
from vermilion import PacketTrace, _core
from vermilion.cli import main
from vermilion.scenario import ScenarioError
from vermilion.scenario.core_scenario import CoreScenario

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fall_and_floyd.toml"

# crates/tcp/tests/fall_and_floyd.rs: timeouts and segments sent again after 1, 2, 3 and 4 losses.
FALL_AND_FLOYD = {
    "tahoe": [(0, 1), (0, 3), (0, 6), (0, 9)],
    "reno": [(0, 1), (1, 2), (1, 4), (1, 7)],
    "newreno": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "sack": [(0, 1), (0, 2), (0, 3), (0, 4)],
}

NETWORK = """
duration = "4 s"
[links.there]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "200 packets" }
[links.back]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "codel", limit = "200 packets" }
[flows.bulk]
count = 3
path = ["there"]
return_path = ["back"]
rtt = "40 ms"
sender = { congestion_control = "sack", ecn = true, window_cap = "20 packets" }
[flows.call]
path = ["there"]
traffic = { kind = "constant-rate", rate = "80 kbit/s" }
"""


def network(*scripts):
    text = NETWORK
    for script in scripts:
        text += f"[[scripted_losses]]\n{script}\n"
    return vermilion.parse_scenario(text)


def hit(scenario, event="drop"):
    """Group, flow, segment or packet, and time of what was hit."""
    result = vermilion.run(scenario, seed=2, flow_delays=True, instruments=[PacketTrace()])
    packets = result.packets
    found = packets.where(event=event)
    rows = zip(
        *(found[name].tolist() for name in ("group", "flow", "sequence", "time_ns", "reason")),
        strict=True,
    )
    return result, [
        (packets.names["group"][group], flow, sequence, time / 1e9)
        for group, flow, sequence, time, reason in rows
        if packets.names["reason"][reason] == "scripted"
    ]


@pytest.mark.parametrize("sender", FALL_AND_FLOYD)
@pytest.mark.parametrize("losses", [1, 2, 3, 4])
def test_the_cases_of_fall_and_floyd_end_as_in_the_crates_own_table(sender, losses):
    lost = [15 + 2 * index for index in range(losses)]
    scenario = vermilion.load_scenario(
        EXAMPLE,
        [f"flows.sender.sender.congestion_control={sender}", f"scripted_losses.0.segments={lost}"],
    )
    result = vermilion.run(scenario, instruments=[PacketTrace()])
    total = result.flows("sender").total
    expected = FALL_AND_FLOYD[sender][losses - 1]
    assert (total["timeouts"], total["retransmissions"]) == expected
    dropped = result.packets.where(event="drop")
    assert dropped["sequence"].tolist() == lost


def test_segments_are_hit_at_the_sendings_that_are_meant():
    result, found = hit(network('flows = "bulk:1"\nsegments = [30, "40..42"]'))
    assert [row[:3] for row in found] == [("bulk", 1, number) for number in (30, 40, 41, 42)]
    assert result.flows("bulk").total["packets_lost"] == 4
    _, found = hit(network('flows = "bulk:1"\nsegments = [30]\nsendings = [1, 2]'))
    assert [row[2] for row in found] == [30, 30]
    _, found = hit(network('flows = "bulk:1"\nsegments = [30]\nsendings = "all"\nmost = 3'))
    assert [row[2] for row in found] == [30, 30, 30]


def test_packets_are_counted_flow_by_flow():
    _, found = hit(network('flows = ["call", "bulk:every 2"]\npackets = [7]'))
    assert sorted((group, flow) for group, flow, *_ in found) == [
        ("bulk", 0),
        ("bulk", 2),
        ("call", 0),
    ]
    assert [sequence for group, _, sequence, _ in found if group == "call"] == [6]


def test_times_and_every_so_many_are_met():
    _, found = hit(network('flows = "call"\ntime = "1 s .. 2 s"\nevery = 3'))
    assert len(found) in {3, 4}
    assert all(1.0 <= time < 2.0 for *_, time in found)
    assert len({round(later[3] - earlier[3], 6) for earlier, later in pairwise(found)}) == 1


def test_marks_are_put_on_what_can_carry_them():
    result, found = hit(
        network('flows = ["bulk:0", "call"]\naction = "mark"\npackets = "20..22"'), "mark"
    )
    mine = [row for row in found if row[0] == "bulk"]
    assert len(mine) == 3
    assert not [row for row in found if row[0] == "call"]
    assert result.link("there").total["marks"] == 0  # the queue did nothing


def test_acknowledgements_can_be_dropped():
    script = 'flows = "bulk:2"\nacknowledgements = true\npackets = "10..12"\nlink = "back"'
    result, found = hit(network(script))
    assert [(group, flow) for group, flow, *_ in found] == [("bulk", 2)] * 3
    assert result.flows("bulk").total["packets_lost"] == 0


def test_a_script_changes_nothing_else_and_passes_to_the_core_and_back():
    scenario = network('flows = "bulk"\nsegments = [5]\nmost = 1')
    core = scenario.core()
    assert CoreScenario.from_json(core.to_json()).to_json() == core.to_json()
    assert "scripted_losses" not in network().core_json()
    bare = vermilion.run(network(), seed=9)
    never = vermilion.run(network('flows = "bulk"\npackets = [100000000]'), seed=9)
    drop = {"wall_s", "cpu_s"}
    assert {k: v for k, v in bare.data.items() if k not in drop} == {
        k: v for k, v in never.data.items() if k not in drop
    }


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("segments = [3]", "scripted_losses.0.flows is missing"),
        ('flows = "bulk"\nsegments = [0]', "scripted_losses.0.segments: 0 is not accepted"),
        ('flows = "bulk"\nsegments = ["5..2"]', "expected numbers from 1 on, or ranges of them"),
        ('flows = "no"\nsegments = [1]', 'scripted_losses.0.flows: "no" is not accepted'),
        ('flows = "bulk:3"\nsegments = [1]', "scripted_losses.0"),
        (
            'flows = "bulk"\nlink = "back"',
            'link: "back" is not accepted; expected a link of the path',
        ),
        ('flows = "bulk"\nlink = "x"', "scripted_losses.0.link"),
        ('flows = "call"\nacknowledgements = true', "a link of the return_path of call"),
        ('flows = "bulk"\nsendings = [1]', "scripted_losses.0.sendings"),
        ('flows = "bulk"\ntime = "2 s .. 1 s"', "scripted_losses.0.time"),
        ('flows = "bulk"\nevery = 0', "scripted_losses.0.every"),
        ('flows = "bulk"\naction = "lose"', "scripted_losses.0.action"),
        ('flows = "bulk"\nwhat = 1', "scripted_losses.0.what"),
        ('flows = "bulk"\nwhen = "no-such"', 'when: "no-such" is not accepted; expected the name'),
        ('flows = "bulk"\nwhen = 3', "scripted_losses.0.when: 3 is not accepted"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(script, words):
    with pytest.raises(ScenarioError) as refused:
        vermilion.run(network(script))
    assert words in str(refused.value)
    assert not re.search(r"\n|Traceback", str(refused.value))


@pytest.fixture
def predicate():
    """Registers functions for one test, and forgets them."""
    names = []

    def _register(function):
        vermilion.packet_predicate(function)
        names.append(function.__name__.replace("_", "-"))
        return function

    yield _register
    for name in set(names) & set(_core.predicates()):
        vermilion.unregister_packet_predicate(name)


def test_a_condition_in_python_is_asked_of_the_chosen_packets_alone(predicate):
    asked = []

    @predicate
    def powers_of_two(packet):
        asked.append(packet)
        return packet.number & (packet.number - 1) == 0

    script = 'flows = "bulk:1"\nwhen = "powers-of-two"\ntime = "1 s .. 3 s"'
    _, found = hit(network(script))
    assert {(packet.group, packet.flow, packet.acknowledgement) for packet in asked} == {
        ("bulk", 1, False)
    }
    assert all(1e9 <= packet.now < 3e9 for packet in asked)
    assert {(packet.size, packet.ecn) for packet in asked} <= {(1000, 2), (1000, 0)}
    meant = [packet for packet in asked if packet.number & (packet.number - 1) == 0]
    assert [row[2] for row in found] == [packet.segment for packet in meant]
    assert len(found) > 0
    assert [packet.number for packet in asked] == sorted({packet.number for packet in asked})


def test_a_condition_sees_what_is_sent_again(predicate):
    @predicate
    def second_sending(packet):
        return packet.retransmission

    scripts = ('flows = "bulk:0"\nsegments = [30]', 'flows = "bulk:0"\nwhen = "second-sending"')
    _, found = hit(network(*scripts))
    # The second, the third and so on until the timer has had its last word.
    assert found[0][2] == found[1][2] == 30
    assert {row[2] for row in found[1:]} >= {30}
    _, once = hit(network(scripts[0], scripts[1] + "\nmost = 1"))
    assert [row[2] for row in once] == [30, 30]


def test_the_same_condition_in_python_and_in_words_makes_the_same_run(predicate):
    @predicate
    def some_segments(packet):
        return packet.segment in {20, 30, 40} and not packet.retransmission

    words = network('flows = "bulk:0"\nsegments = [20, 30, 40]')
    python = network('flows = "bulk:0"\nwhen = "some-segments"')
    one, other = (vermilion.run(scenario, seed=3).data for scenario in (words, python))
    assert one["flows"] == other["flows"]
    assert one["links"] == other["links"]
    [in_words], [in_python] = vermilion.run_many([words, python], seeds=[3])
    assert in_words.data["flows"] == in_python.data["flows"]


def test_every_and_most_count_what_the_condition_lets_through(predicate):
    @predicate
    def even(packet):
        return packet.number % 2 == 0

    _, found = hit(network('flows = "call"\nwhen = "even"\nevery = 3\nmost = 2'))
    assert [row[2] + 1 for row in found] == [6, 12]


def test_a_function_can_be_given_as_it_is(predicate):
    def _broken(packet):
        return packet.number == 1

    network = vermilion.Network("One", duration="2 s")
    network.link("there", rate="4 Mbit/s", delay="10 ms")
    network.flows("bulk", path="there", rtt="40 ms", sender="sack")

    def tenth(packet):
        return packet.number == 10

    network.scripted_loss(flows="bulk", when=predicate(tenth))
    assert 'when = "tenth"' in network.to_toml()
    result = vermilion.run(network.scenario(), instruments=[PacketTrace()])
    assert len(result.packets.where(event="drop")["time_ns"]) == 1
    with pytest.raises(ScenarioError, match="expected a function of one packet that has a name"):
        network.scripted_loss(flows="bulk", when=_broken)
    with pytest.raises(ScenarioError, match="expected a function of one packet that has a name"):
        network.scripted_loss(flows="bulk", when=lambda packet: packet.number == 1)
    with pytest.raises(ScenarioError, match="scripted_losses"):
        vermilion.Network("Two", scripted_losses=[])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("1", "the answer 1 is not accepted; expected True or False"),
        ("None", "the answer None is not accepted; expected True or False"),
        ("packet.colour", "AttributeError"),
    ],
)
def test_what_goes_wrong_in_a_condition_is_said_in_one_line(tmp_path, capsys, body, words):
    plugin = tmp_path / "condition.py"
    plugin.write_text(
        "import vermilion\n\n@vermilion.packet_predicate\n"
        f"def goes_wrong(packet):\n    return {body}\n",
        encoding="utf-8",
    )
    scenario = tmp_path / "wrong.toml"
    script = '[[scripted_losses]]\nflows = "bulk:2"\nwhen = "goes-wrong"\npackets = [5]\n'
    scenario.write_text(NETWORK + script, encoding="utf-8")
    try:
        assert main(["run", str(scenario), "--plugin", str(plugin)]) == 2
    finally:
        vermilion.unregister_packet_predicate("goes-wrong")
    error = capsys.readouterr().err
    assert error.startswith("vermilion: packet predicate goes-wrong: packet 5 of bulk:2 at ")
    assert words in error
    assert f"{plugin}, line 5" in error or "is not accepted" in error
    assert error.count("\n") == 1


def test_a_condition_is_forgotten(predicate):
    @predicate
    def passing(_packet):
        return False

    vermilion.unregister_packet_predicate("passing")
    with pytest.raises(ScenarioError, match='when: "passing" is not accepted'):
        vermilion.unregister_packet_predicate("passing")
    with pytest.raises(ScenarioError, match="none is"):
        network('flows = "bulk"\nwhen = "passing"')
