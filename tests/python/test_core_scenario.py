"""What the core reads, as an object: the same in both directions, and asked instead of parsed."""

import json

import pytest

from vermilion import _core, load_scenario, parse_scenario
from vermilion.scenario import CoreScenario, scenario_names
from vermilion.scenario.core_scenario import CannotShortenError

WEIGHT = "links.bottleneck.queue.weight"

EVERYTHING = """
duration = "40 s"
warm_up = "10 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "80 packets", weight = 0.01 }
loss = { model = "bernoulli", probability = 0.001 }
[links.uneven]
rate_schedule = [["0 s", "8 Mbit/s"], ["10 s", "12 Mbit/s"]]
repeat = "20 s"
delay = "5 ms"
queue = { discipline = "drop-tail" }
[flows.early]
count = 3
path = ["bottleneck", "uneven"]
rtt = ["40 ms", "60 ms"]
sender = { congestion_control = "newreno", ecn = true }
[flows.late]
count = 6
path = ["bottleneck"]
return_path = ["uneven"]
rtt = { distribution = "exponential", min = "30 ms", mean = "80 ms", max = "200 ms" }
sender = "reno"
start = "20 s .. 30 s"
stop = "35 s"
[flows.steady]
path = ["uneven"]
traffic = { kind = "constant-rate", rate = "1 Mbit/s" }
[[changes]]
at = "25 s"
link = "bottleneck"
rate = "5 Mbit/s"
queue = { weight = 0.02 }
"""


@pytest.fixture(scope="module")
def core():
    return parse_scenario(EVERYTHING).core()


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_reads_back_as_itself(name):
    core = load_scenario(name).core(0.5)
    text = core.to_json()
    assert CoreScenario.from_json(text) == core
    assert CoreScenario.from_json(text).to_json() == text
    assert json.loads(text)["probe_interval_ns"] == 500_000_000


def test_the_text_is_json_that_the_core_accepts(core):
    document = json.loads(core.to_json())
    _core.check(core.to_json())
    assert [link["name"] for link in document["links"]] == ["bottleneck", "uneven"]
    assert [group["sender"] is None for group in document["flows"]] == [False, False, True]
    # No member of a link is written that the link does not have.
    assert "rate_schedule" not in document["links"][0]
    assert document["links"][1]["rate_schedule"]["repeat_ns"] == 20_000_000_000
    assert CoreScenario.from_json(core.to_json()) == core


def test_links_and_groups_go_by_name(core):
    link = core.link("bottleneck")
    assert (link.rate_bit_per_s, link.delay_ns) == (10_000_000, 10_000_000)
    assert (link.queue.discipline, link.limit) == ("red", 80)
    # 8 Mbit/s for 10 s and 12 Mbit/s for 10 s, and again.
    assert core.link("uneven").rate_bit_per_s == 10_000_000
    assert core.link("uneven").varies
    assert not link.varies
    assert core.group("late").count == 6
    with pytest.raises(KeyError):
        core.link("nowhere")


def test_a_parameter_that_is_not_set_has_the_default_of_its_table(core):
    table = parse_scenario(EVERYTHING).links["uneven"].queue.algorithm.parameters
    assert core.link("uneven").limit == table["limit"].default


def test_the_instants_are_those_at_which_conditions_change(core):
    # Of ranges their beginning; the beginning of the run is none.
    assert [instant / 1e9 for instant in core.instants()] == [20.0, 25.0, 35.0]


def test_the_mean_round_trip_counts_flows_by_the_time_they_are_there(core):
    # Measured are 30 s. Three flows of 50 ms on average are there for all of them, six of 80 ms
    # from 25 s to 35 s, which is a third: as much as two.
    assert core.mean_round_trip("bottleneck") == pytest.approx((3 * 0.05 + 2 * 0.08) / 5)


def test_a_link_that_nothing_crosses_has_no_mean_round_trip():
    idle = EVERYTHING.replace(
        "[flows.early]",
        '[links.idle]\nrate = "1 Mbit/s"\ndelay = "1 ms"\nqueue = { discipline = "drop-tail" }\n'
        "[flows.early]",
    )
    assert parse_scenario(idle).core().mean_round_trip("idle") is None


def test_only_senders_with_ecn_understand_marks(core):
    assert [group.understands_marks for group in core.flows] == [True, False, False]


def test_other_parameters_leave_the_scenario_and_all_other_parts_alone(core):
    before = core.to_json()
    changed = core.with_parameters({WEIGHT: 0.5, "flows.early.sender.ecn": False})
    assert changed.link("bottleneck").queue.parameters == {"limit": 80, "weight": 0.5}
    assert not changed.group("early").understands_marks
    assert changed.link("uneven") is core.link("uneven")
    assert changed.group("late") is core.group("late")
    assert core.to_json() == before
    assert core.text_with({WEIGHT: 0.5, "flows.early.sender.ecn": False}) == changed.to_json()
    assert CoreScenario.from_json(changed.to_json()) == changed


def test_a_copy_in_less_time_has_no_text_of_the_original(core):
    network = load_scenario("varying-load").core()
    network.to_json()
    short = network.shortened([(5.0, 20.0), (25.0, 80.0)], 0.25)
    assert CoreScenario.from_json(short.to_json()) == short != network
    with pytest.raises(CannotShortenError, match="link uneven follows a time table"):
        core.shortened([(10.0, 40.0)], 0.5)


@pytest.mark.parametrize(
    "path",
    [
        "links.nowhere.queue.weight",
        "links.bottleneck.rate",
        "links.bottleneck.sender.ecn",
        "flows.early.queue.weight",
        "flows.steady.sender.ecn",
        "changes.0.queue.weight",
        "weight",
        "",
    ],
)
def test_a_path_to_no_parameter_is_refused(core, path):
    with pytest.raises(ValueError, match="leads to no parameter of a queue or a sender"):
        core.with_parameters({path: 1.0})
    with pytest.raises(ValueError, match="leads to no parameter of a queue or a sender"):
        core.check_paths([path])


def test_what_is_no_number_is_not_written(core):
    with pytest.raises(ValueError, match="not JSON compliant"):
        core.with_parameters({WEIGHT: float("nan")}).to_json()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '"scenario"',
        '{"links": 1}',
        '{"links": [{}], "flows": [], "changes": []}',
        '{"links": [], "flows": [], "changes": [{"at": 1}], "duration_ns": 1}',
    ],
)
def test_another_text_is_refused_in_one_line(text):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        CoreScenario.from_json(text)
