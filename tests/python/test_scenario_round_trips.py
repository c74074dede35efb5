"""Round trips of a group's flows and the rate of their access."""

import json

import pytest

import vermilion
from vermilion import ScenarioError, parse_scenario


def text(lines):
    return f"""
        duration = "5 s"
        [links.only]
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = {{ discipline = "drop-tail" }}
        [flows.all]
        count = 6
        path = ["only"]
        sender = "reno"
        {lines}
    """


def core(lines):
    return json.loads(parse_scenario(text(lines)).core_json())["flows"][0]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('"28 ms"', 28_000_000),
        ('["10 ms", "0.05 s"]', [10_000_000, 50_000_000]),
        (
            '"20 ms .. 200 ms"',
            {"distribution": "uniform", "min_ns": 20_000_000, "max_ns": 200_000_000},
        ),
        (
            (
                '{ distribution = "lognormal", median = "50 ms", sigma = 0.5, min = "10 ms", '
                'max = "1 s" }'
            ),
            {
                "distribution": "lognormal",
                "min_ns": 10_000_000,
                "max_ns": 1_000_000_000,
                "median_ns": 50_000_000,
                "sigma": 0.5,
            },
        ),
        (
            '{ distribution = "exponential", mean = "50 ms", min = "10 ms", max = "1 s" }',
            {
                "distribution": "exponential",
                "min_ns": 10_000_000,
                "max_ns": 1_000_000_000,
                "mean_ns": 50_000_000,
            },
        ),
    ],
)
def test_a_round_trip_may_be_one_or_a_range_or_a_list_or_a_distribution(written, read):
    assert core(f"rtt = {written}")["rtt_ns"] == read


@pytest.mark.parametrize(
    ("written", "field", "accepted"),
    [
        ("28", "rtt", "a range"),
        ('"28 Mbit/s"', "rtt", "a table"),
        ('"200 ms .. 20 ms"', "rtt", "a range"),
        ("[]", "rtt", "a list of 1 to"),
        ('["28 ms", "fast"]', "rtt.1", "a time"),
        ('["28 ms", "9 ms"]', "rtt", "at least the propagation delay"),
        ('"9 ms .. 28 ms"', "rtt", "at least the propagation delay"),
        ('{ min = "10 ms", max = "20 ms" }', "rtt.distribution", "uniform"),
        ('{ distribution = "cauchy", min = "10 ms", max = "20 ms" }', "rtt.distribution", "one of"),
        ('{ distribution = "uniform", min = "10 ms" }', "rtt.max", "a time"),
        ('{ distribution = "uniform", min = "20 ms", max = "10 ms" }', "rtt.max", "at least min"),
        (
            '{ distribution = "uniform", min = "10 ms", max = "20 ms", mean = "15 ms" }',
            "rtt.mean",
            "a key of uniform",
        ),
        (
            '{ distribution = "exponential", min = "10 ms", max = "20 ms", mean = "30 ms" }',
            "rtt.mean",
            "between min and max",
        ),
        (
            (
                '{ distribution = "lognormal", min = "10 ms", max = "20 ms", median = "15 ms", '
                "sigma = 0 }"
            ),
            "rtt.sigma",
            "a number",
        ),
    ],
)
def test_what_is_no_round_trip_is_refused_in_words(written, field, accepted):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text(f"rtt = {written}"))
    assert refused.value.field == f"flows.all.{field}"
    assert accepted in refused.value.accepted


def test_each_flow_draws_its_own_round_trip_and_start_times_do_not_move():
    def goodputs(rtt):
        # A window of four packets of 1000 bytes for each round trip, and nothing queues for long.
        lines = f'rtt = {rtt}\nsender = {{ congestion_control = "reno", window_cap = "4 packets" }}'
        scenario = parse_scenario(text(lines).replace('sender = "reno"\n', ""))
        each = vermilion.run(scenario, seed=3).flows("all").total["each"]
        return [flow["goodput_bit_per_s"] for flow in each]

    in_turn = goodputs('["50 ms", "100 ms"]')
    assert in_turn[0] == pytest.approx(2 * in_turn[1], rel=0.05)
    assert in_turn[::2] == pytest.approx([in_turn[0]] * 3, rel=0.02)
    drawn = goodputs('"20 ms .. 400 ms"')
    assert len({round(goodput, -3) for goodput in drawn}) == len(drawn)
    # 4 packets of 8000 bits in 20 .. 400 ms and the 0.8 ms of a transmission.
    assert all(4 * 8000 / 0.401 * 0.9 < goodput < 4 * 8000 / 0.0208 for goodput in drawn)


def test_an_access_rate_reaches_the_core():
    assert core('rtt = "28 ms"')["access_rate_bit_per_s"] is None
    fast = core('rtt = "28 ms"\naccess_rate = "100 Mbit/s"')
    assert fast["access_rate_bit_per_s"] == 100_000_000


def test_an_access_rate_below_the_rate_of_the_traffic_is_refused():
    slow = text('traffic = { kind = "poisson", rate = "2 Mbit/s" }\naccess_rate = "1 Mbit/s"')
    with pytest.raises(ScenarioError, match=r"flows\.all\.access_rate.*at least the rate of"):
        parse_scenario(slow.replace('sender = "reno"\n', ""))
