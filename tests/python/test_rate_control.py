"""A shaper that a law keeps at the rate of a line, in the scenario language."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.simulate import run

SHAPED = """
duration = "20 s"
warm_up = "8 s"
[links.shaper]
rate = "1 Gbit/s"
delay = "0 s"
queue = { discipline = "cake", bandwidth = "1 Gbit/s" }
rate_control = { law = "service-curve", probes = "pings" }
[links.modem]
rate = "12 Mbit/s"
delay = "0 s"
queue = { discipline = "drop-tail", limit = "700 packets" }
[flows.pings]
count = 6
path = ["shaper", "modem"]
rtt = ["38 ms", "40 ms", "42 ms", "44 ms", "46 ms", "50 ms"]
packet_size = "64 bytes"
traffic = { kind = "constant-rate", rate = "1.7 kbit/s" }
start = "0 s .. 0.3 s"
[flows.bulk]
count = 4
path = ["shaper", "modem"]
rtt = "50 ms"
packet_size = "1500 bytes"
sender = { congestion_control = "cubic", option_set = "linux" }
"""


def test_a_constant_line_is_used_and_its_queue_is_empty():
    result = run(parse_scenario(SHAPED), 1, 0.1)
    line = result.link("modem").total
    assert line["utilization"] > 0.95
    assert line["sojourn_ms"]["p95"] < 8.0
    rates = result.series("shaper")["rate_bit_per_s"][100:]
    assert np.median(rates) == pytest.approx(12e6, rel=0.03)
    assert (result.series("modem")["rate_bit_per_s"][1:] == 12e6).all()


def test_a_line_is_drawn_from_the_seed_and_its_mean_is_exact():
    text = SHAPED.replace(
        'rate = "12 Mbit/s"\ndelay', 'line = { kind = "lte", mean = "12 Mbit/s" }\ndelay'
    )
    one, same, other = (
        run(parse_scenario(text), seed, 0.1).series("modem")["rate_bit_per_s"][1:]
        for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()
    assert one.mean() == pytest.approx(12e6, rel=1e-6)


@pytest.mark.parametrize(
    ("before", "after", "field", "accepted"),
    [
        ('law = "service-curve"', 'law = "x"', "links.shaper.rate_control.law", "oracle"),
        ('"pings" }', '"bulk" }', "links.shaper.rate_control.probes", "open-loop flows"),
        ('"pings" }', '"pings", excess = 3 }', "links.shaper.rate_control.excess", "time"),
        ('"pings" }', '"pings", direction = "up" }', "links.shaper.rate_control.direction", "path"),
        ('rate = "12 Mbit/s"', "", "links.modem.rate", "a line"),
        (
            'rate = "12 Mbit/s"',
            'line = { kind = "isdn", mean = "1 Mbit/s" }',
            "links.modem.line.kind",
            "lte",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(before, after, field, accepted):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(SHAPED.replace(before, after))
    assert refused.value.field == field
    assert accepted in str(refused.value)


def test_the_core_reads_what_it_is_given_back():
    core = parse_scenario(SHAPED).core()
    control = json.loads(core.to_json())["links"][0]["rate_control"]
    assert control["law"] == "service-curve"
    assert type(core).from_json(core.to_json()) == core
    assert load_scenario("varying-load").core().links[0].rate_control is None
