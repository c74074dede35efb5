"""Losses on links, schedules of rates, and recorded traces."""

import json

import pytest

import vermilion
from vermilion import ScenarioError, load_scenario, parse_scenario
from vermilion.scenario.wire import nominal_rate


def text(link, extra=""):
    return f"""
        duration = "10 s"
        [links.only]
        delay = "10 ms"
        queue = {{ discipline = "drop-tail" }}
        {link}
        [flows.all]
        path = ["only"]
        traffic = {{ kind = "constant-rate", rate = "20 Mbit/s" }}
        {extra}
    """


def core(link, extra=""):
    return json.loads(parse_scenario(text(link, extra)).core_json())


def test_losses_reach_the_core_and_gilbert_is_the_default_of_elliott():
    assert core('rate = "10 Mbit/s"')["links"][0]["loss"] is None
    bernoulli = core('rate = "10 Mbit/s"\nloss = { model = "bernoulli", probability = "1 %" }')
    assert bernoulli["links"][0]["loss"] == {"model": "bernoulli", "probability": 0.01}
    gilbert = core(
        'rate = "10 Mbit/s"\n'
        'loss = { model = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.25 }'
    )
    assert gilbert["links"][0]["loss"] == {
        "model": "gilbert-elliott",
        "good_to_bad": 0.01,
        "bad_to_good": 0.25,
        "loss_in_good": 0.0,
        "loss_in_bad": 1.0,
    }


def test_a_change_replaces_the_losses_and_they_are_counted():
    scenario = parse_scenario(
        text(
            'rate = "10 Mbit/s"',
            '[[changes]]\nat = "5 s"\nlink = "only"\n'
            'loss = { model = "bernoulli", probability = 1 }',
        )
    )
    before, after = vermilion.run(scenario, seed=1).link("only").phases
    assert (before["losses"], before["loss_rate"]) == (0, 0)
    # What waited in the queue at 5 s had been accepted before.
    assert after["losses"] == after["packets_forwarded"] - after["queued_at_start"]


@pytest.mark.parametrize(
    ("link", "field", "accepted"),
    [
        ('loss = "some"', "loss", "a table, like"),
        ("loss = { probability = 0.1 }", "loss", "bernoulli"),
        ('loss = { model = "bursty" }', "loss.model", "one of"),
        ('loss = { model = "bernoulli" }', "loss.probability", "a number"),
        ('loss = { model = "bernoulli", probability = 1.1 }', "loss.probability", "a number"),
        (
            'loss = { model = "bernoulli", probability = 0.1, loss_in_bad = 1 }',
            "loss.loss_in_bad",
            "a key of bernoulli",
        ),
        ('repeat = "5 s"', "repeat", "no rate_schedule"),
        ('rate_schedule = [["0 s", "1 Mbit/s"]]', "rate_schedule", "one of them"),
        ('trace = "a.mahimahi"', "trace", "one of them"),
    ],
)
def test_what_a_link_of_one_rate_refuses(link, field, accepted):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text(f'rate = "10 Mbit/s"\n{link}'))
    assert refused.value.field == f"links.only.{field}"
    assert accepted in refused.value.accepted


def test_a_schedule_is_lowered_and_its_mean_is_the_nominal_rate():
    link = 'rate_schedule = [["0 s", "10 Mbit/s"], ["1 s", "100 Mbit/s"]]\nrepeat = "3 s"'
    lowered = core(link)["links"][0]
    assert lowered["rate_schedule"] == {
        "steps": [[0, 10_000_000], [1_000_000_000, 100_000_000]],
        "repeat_ns": 3_000_000_000,
    }
    assert lowered["rate_bit_per_s"] == 70_000_000
    # Without a repetition, over the duration of 10 s.
    once = parse_scenario(text(link.partition("\n")[0]))
    assert nominal_rate(once, "only") == pytest.approx(91e6)


@pytest.mark.parametrize(
    ("link", "field", "accepted"),
    [
        ("", "rate", "a rate_schedule, a trace or a line"),
        ("rate_schedule = []", "rate_schedule", "a list like"),
        ('rate_schedule = ["10 Mbit/s"]', "rate_schedule.0", "a time and a rate"),
        ('rate_schedule = [["1 s", "10 Mbit/s"]]', "rate_schedule.0", "a first step"),
        ('rate_schedule = [["0 s", "fast"]]', "rate_schedule.0", "a rate"),
        (
            'rate_schedule = [["0 s", "1 Mbit/s"], ["2 s", "2 Mbit/s"], ["1 s", "1 Mbit/s"]]',
            "rate_schedule.2",
            "a time after",
        ),
        (
            'rate_schedule = [["0 s", "1 Mbit/s"], ["2 s", "2 Mbit/s"]]\nrepeat = "2 s"',
            "repeat",
            "a time after the last step",
        ),
        ('trace = "no-such.mahimahi"', "trace", "a file that can be read"),
    ],
)
def test_what_is_no_schedule_is_refused_in_words(link, field, accepted):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text(link))
    assert refused.value.field == f"links.only.{field}"
    assert accepted in refused.value.accepted


def test_a_varying_link_has_no_rate_to_change():
    change = '[[changes]]\nat = "5 s"\nlink = "only"\nrate = "1 Mbit/s"'
    with pytest.raises(ScenarioError, match=r"changes\.0\.rate.*no rate for a link with"):
        parse_scenario(text('rate_schedule = [["0 s", "10 Mbit/s"]]', change))


def traced(tmp_path, content):
    (tmp_path / "cell.mahimahi").write_text(content, encoding="ascii")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(text('trace = "cell.mahimahi"'), encoding="utf-8")
    return load_scenario(scenario)


def test_a_trace_is_found_beside_its_scenario_and_filled(tmp_path):
    # Three opportunities of 1500 bytes in 10 ms: 3.6 Mbit/s.
    scenario = traced(tmp_path, "2\n2\n10\n")
    lowered = json.loads(scenario.core_json())["links"][0]
    assert lowered["trace"] == {
        "opportunities_ns": [2_000_000, 2_000_000, 10_000_000],
        "bytes": 1500,
    }
    assert lowered["rate_bit_per_s"] == 3_600_000
    total = vermilion.run(scenario, seed=1).link("only").total
    assert total["utilization"] == pytest.approx(1, abs=1e-3)
    assert total["packets_forwarded"] == pytest.approx(4500, abs=5)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("1\n2\nx\n4\n", "line 3"),
        ("1\n-2\n", "line 2"),
        ("1\n\n2\n", "line 2"),
        ("5\n9\n7\n", "line 3"),
        ("1\n99999999999\n", "line 2"),
        ("0\n0\n", "line 2"),
        ("", "cell.mahimahi"),
    ],
)
def test_an_error_in_a_trace_names_the_file_and_the_line(tmp_path, content, line):
    with pytest.raises(ScenarioError) as refused:
        traced(tmp_path, content)
    assert refused.value.field == "links.only.trace"
    assert "cell.mahimahi" in str(refused.value.value)
    assert line in str(refused.value.value)


def test_a_trace_that_was_changed_is_read_again(tmp_path):
    assert nominal_rate(traced(tmp_path, "10\n"), "only") == pytest.approx(1.2e6)
    assert nominal_rate(traced(tmp_path, "5\n10\n"), "only") == pytest.approx(2.4e6)
