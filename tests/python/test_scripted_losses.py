"""Scripted losses: the packets that are meant, and no others."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import vermilion
from vermilion import PacketTrace
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
    ],
)
def test_what_cannot_be_is_refused_in_one_line(script, words):
    with pytest.raises(ScenarioError) as refused:
        vermilion.run(network(script))
    assert words in str(refused.value)
    assert not re.search(r"\n|Traceback", str(refused.value))
