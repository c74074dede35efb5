"""Which link is emulated: options and scenarios become a scenario with a link for each way."""

import pytest

from vermilion import ScenarioError, load_scenario, parse_scenario
from vermilion.cli import main
from vermilion.link.plan import Options, plan_of_options, plan_of_scenario
from vermilion_lab.emulator_plant import run_on_emulator


def links(**options):
    return plan_of_options(Options(**options)).core().links


def test_options_hold_for_both_ways():
    up, down = links(rate="10Mbit/s", delay="20ms", discipline="red", loss="0.01")
    assert [up.name, down.name] == ["uplink", "downlink"]
    for link in (up, down):
        assert (link.rate_bit_per_s, link.delay_ns) == (10_000_000, 20_000_000)
        assert link.queue.discipline == "red"
        assert link.loss == {"model": "bernoulli", "probability": 0.01}


def test_values_can_be_set_for_both_ways_and_for_one():
    up, down = links(
        rate="10Mbit/s",
        discipline="red",
        overrides=["queue.limit='50 packets'", "links.uplink.queue.max_probability=0.2"],
        downlink=["rate=50 Mbit/s", "delay=5ms"],
        uplink=["loss={ model = 'gilbert-elliott', good_to_bad = 0.01, bad_to_good = 0.3 }"],
    )
    assert (up.limit, down.limit) == (50, 50)
    assert up.queue.parameters["max_probability"] == 0.2
    assert "max_probability" not in down.queue.parameters
    assert (up.rate_bit_per_s, down.rate_bit_per_s) == (10_000_000, 50_000_000)
    assert (up.delay_ns, down.delay_ns) == (0, 5_000_000)
    assert up.loss["loss_in_bad"] == 1.0
    assert down.loss is None


def test_one_way_may_have_a_trace_and_the_other_a_rate(tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("1\n5\n10\n")
    up, down = links(rate="1Mbit/s", downlink=[f"trace={trace}"])
    assert up.trace is None
    assert down.trace == {"opportunities_ns": [1_000_000, 5_000_000, 10_000_000], "bytes": 1500}
    again, _ = links(trace=str(trace), uplink=["rate=2Mbit/s"])
    assert (again.rate_bit_per_s, again.trace) == (2_000_000, None)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "rate"),
        ({"rate": "ten"}, "links.uplink.rate"),
        ({"rate": "1Mbit/s", "delay": "soon"}, "links.uplink.delay"),
        ({"rate": "1Mbit/s", "discipline": "green"}, "discipline"),
        ({"rate": "1Mbit/s", "loss": "2"}, "links.uplink.loss"),
        ({"rate": "1Mbit/s", "overrides": ["queue.limit"]}, "--set"),
        ({"rate": "1Mbit/s", "overrides": ["links.middle.rate=1Mbit/s"]}, "--set"),
        ({"rate": "1Mbit/s", "downlink": ["queue.colour=2"]}, "links.downlink.queue"),
        ({"trace": "/no/such/file"}, "trace"),
    ],
)
def test_what_is_not_accepted_is_told_by_its_field(options, field):
    with pytest.raises(ScenarioError) as refused:
        links(**options)
    assert field in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_scenarios_link_comes_with_the_way_back_of_its_flows():
    scenario = load_scenario("varying-load")
    bottleneck = scenario.core().link("bottleneck")
    up, down = plan_of_scenario(scenario, None, Options(), reverse=False).core().links
    assert (up.rate_bit_per_s, up.delay_ns) == (bottleneck.rate_bit_per_s, bottleneck.delay_ns)
    assert up.queue == bottleneck.queue
    # Acknowledgements meet no queue: a wire takes what the round trip leaves.
    group = next(each for each in scenario.core().flows if each.crosses("bottleneck"))
    assert up.delay_ns + down.delay_ns == group.mean_rtt_ns
    assert down.rate_bit_per_s == 100_000_000_000


def test_reversed_data_come_to_the_command():
    scenario = load_scenario("varying-load")
    there = plan_of_scenario(scenario, None, Options(), reverse=False).core()
    back = plan_of_scenario(scenario, "bottleneck", Options(), reverse=True).core()
    assert back.link("downlink").queue == there.link("uplink").queue
    assert back.link("uplink").delay_ns == there.link("downlink").delay_ns


def test_a_scenarios_link_can_be_changed_and_must_be_there():
    scenario = load_scenario("varying-load")
    changed = Options(uplink=["rate=3Mbit/s"], warm_up="2 s")
    plan = plan_of_scenario(scenario, None, changed, reverse=False)
    assert (plan.links["uplink"].rate, plan.warm_up) == (3e6, 2.0)
    with pytest.raises(ScenarioError, match="bottleneck"):
        plan_of_scenario(scenario, "nowhere", Options(), reverse=False)


def test_a_plan_can_be_simulated():
    from vermilion import run

    plan = plan_of_options(
        Options(rate="10Mbit/s", delay="20ms", discipline="red", overrides=["queue.ecn=false"])
    )
    short = plan.with_values({"duration": "5 s"})
    assert run(short).link("uplink").total["utilization"] > 0.7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "1Mbit/s"], "COMMAND is missing"),
        (["--rate", "1Mbit/s", "--"], "COMMAND is missing"),
        (["--rate", "1Mbit/s", "--peer", "true", "--", "true"], "--isolated"),
        (["--rate", "1Mbit/s", "--reverse", "--", "true"], "--reverse"),
        (["varying-load", "--rate", "1Mbit/s", "--", "true"], "--rate is set by the scenario"),
        (["--rate", "1Mbit/s", "--jitter", "soon", "--", "true"], "--jitter"),
        (["--rate", "1Mbit/s", "--seed", "-1", "--", "true"], "seed: -1 is not accepted"),
        (["--", "true"], "rate"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(arguments, message, capsys):
    assert main(["link", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


CHANGING = """
duration = "9 s"
[links.there]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "red" }
[links.back]
rate = "1 Mbit/s"
delay = "10 ms"
queue = { discipline = "codel" }
[links.other]
rate = "1 Mbit/s"
delay = "10 ms"
queue = { discipline = "codel" }
[flows.all]
path = ["there"]
return_path = ["back"]
rtt = "60 ms"
sender = "sack"
[flows.others]
path = ["other"]
rtt = "60 ms"
sender = "sack"
[[changes]]
at = "3 s"
link = "there"
rate = "4 Mbit/s"
[[changes]]
at = "4 s"
link = "back"
queue = { target = "10 ms" }
[[changes]]
at = "5 s"
link = "other"
rate = "2 Mbit/s"
"""


@pytest.mark.parametrize(("reverse", "names"), [(False, [0, 1]), (True, [1, 0])])
def test_changes_of_the_links_that_are_emulated_are_kept(reverse, names):
    ways = ("uplink", "downlink")
    scenario = parse_scenario(CHANGING, "test_link_plan.py")
    plan = plan_of_scenario(scenario, "there", Options(), reverse=reverse)
    changes = plan.core().changes
    assert [each.link for each in changes] == [ways[name] for name in names]
    assert [each.at_ns for each in changes] == [3_000_000_000, 4_000_000_000]
    assert changes[0].rate_bit_per_s == 4_000_000
    assert changes[1].queue == {"target": 0.01}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (["flows.others.path=['there', 'back']"], "flows.others.path"),
        ([], "flows.others.path"),
        (["flows.others.path=['there']"], "flows.others.return_path"),
        (["flows.others.path=['there']", "flows.others.return_path=['back']"], "changes.2.link"),
        (["flows.*.sender.window_cap=8"], "flows.all.sender.window_cap"),
        (["flows.all.access_rate=1 Mbit/s"], "flows.all.access_rate"),
    ],
)
def test_what_one_link_cannot_carry_is_refused(tmp_path, changed, field):
    file = tmp_path / "changing.toml"
    file.write_text(CHANGING)
    with pytest.raises(ScenarioError) as refused:
        run_on_emulator(load_scenario(str(file), changed), 1)
    assert refused.value.field == field
