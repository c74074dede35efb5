"""Networks that are kept: forks, extensions, changes and records of them."""

from __future__ import annotations

import pytest

import vermilion
from vermilion.scenario.errors import ScenarioError

TEXT = """
duration = "4 s"
warm_up = "1 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "100 packets" }
[links.back]
rate = "1 Mbit/s"
delay = "10 ms"
queue = { discipline = "codel" }
[flows.bulk]
count = 8
path = ["bottleneck"]
return_path = ["back"]
rtt = "60 ms"
sender = "sack"
start = "0 s .. 1 s"
[flows.web]
path = ["bottleneck"]
rtt = "60 ms"
sender = "newreno"
start = "0 s"
traffic = { kind = "web", mean_gap = "100 ms", size = "20 kB" }
"""


@pytest.fixture
def scenario() -> vermilion.Scenario:
    return vermilion.parse_scenario(TEXT)


def measured(result: vermilion.Result) -> dict[str, object]:
    return {key: value for key, value in result.data.items() if key not in {"wall_s", "cpu_s"}}


def test_pieces_add_up_to_a_run_and_a_fork_without_a_change_goes_on_alike(scenario):
    whole = measured(vermilion.run(scenario, seed=3))
    network = vermilion.Simulation(scenario, seed=3).extend(1.5)
    fork = network.fork()
    assert measured(network.extend("2.5 s").result()) == whole
    assert fork.now_s == 1.5
    assert measured(fork.extend(0.5).extend(2).result()) == whole
    assert fork.now_s == 4.0


def test_a_run_goes_on_after_its_duration(scenario):
    network = vermilion.Simulation(scenario, seed=1).extend(4)
    longer = vermilion.parse_scenario(TEXT.replace('"4 s"', '"6 s"'))
    assert measured(network.extend(2).result()) == measured(vermilion.run(longer, seed=1))


def test_forks_under_other_settings_differ_and_leave_the_network_alone(scenario):
    network = vermilion.Simulation(scenario).extend(2)
    short = network.fork().set_queue("bottleneck", limit="10 packets").extend(2).record()
    fast = network.fork().set_rate("bottleneck", "20 Mbit/s").extend(2).record()
    same = network.fork().extend(2).record()
    mean = "links.bottleneck.queue_packets.mean"
    goodput = "flows.bulk.goodput_bit_per_s.total"
    assert short[mean] < same[mean]
    assert fast[goodput] > 1.5 * same[goodput]
    assert network.queue("bottleneck")["limit"] == 100
    assert short == network.fork().set_queue("bottleneck", limit=10).extend(2).record()
    assert network.record() == {}
    assert network.mark().extend(2).record() == same


def test_a_record_says_what_results_say(scenario):
    network = vermilion.Simulation(scenario).extend(1).mark().extend(3)
    record, result = network.record(), network.result()
    assert (record.pop("start_s"), record.pop("end_s")) == (1.0, 4.0)
    for path, value in record.items():
        room, name, metric = path.split(".", 2)
        place = result.link(name) if room == "links" else result.flows(name)
        assert value == pytest.approx(vermilion.simulate.metric_of(place.total, metric)), path
    assert "links.back.sojourn_ms.p99" in record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda network: network.extend(-1), "duration: -1"),
        (lambda network: network.extend("2 kB"), 'duration: "2 kB"'),
        (lambda network: network.extend(2e6), "duration: 2000000.0"),
        (lambda network: network.set_rate("bottleneck", 0), "links.bottleneck.rate: 0"),
        (lambda network: network.set_rate("nowhere", 1e6), 'link: "nowhere"'),
        (
            lambda network: network.set_queue("bottleneck", max_probability=2),
            "links.bottleneck.queue.max_probability: 2",
        ),
        (
            lambda network: network.set_queue("bottleneck", min_threshold=90),
            "links.bottleneck.queue.",
        ),
        (
            lambda network: network.set_queue("bottleneck", target="5 ms"),
            'links.bottleneck.queue.target: "5 ms"',
        ),
    ],
)
def test_what_is_out_of_range_is_refused_and_changes_nothing(scenario, change, message):
    network = vermilion.Simulation(scenario).extend(1)
    before = network.queue("bottleneck")
    with pytest.raises(ScenarioError, match="expected") as refused:
        change(network)
    assert message in str(refused.value)
    assert (network.queue("bottleneck"), network.now_s) == (before, 1.0)


def test_a_rate_that_follows_a_schedule_stays():
    varying = TEXT.replace('rate = "1 Mbit/s"', 'rate_schedule = [["0 s", "1 Mbit/s"]]')
    network = vermilion.Simulation(vermilion.parse_scenario(varying))
    with pytest.raises(ScenarioError, match="rate_schedule, a trace or a line"):
        network.set_rate("back", "2 Mbit/s")


class EachTenth(vermilion.Discipline):
    """Drops each tenth packet."""

    name = "each-tenth"

    def __init__(self) -> None:
        self.count = 0

    def on_arrival(self, *_: object) -> vermilion.Verdict:
        self.count += 1
        return vermilion.Verdict.DROP if self.count % 10 == 0 else vermilion.Verdict.ACCEPT


def test_a_discipline_in_python_is_copied_with_its_network():
    vermilion.register_discipline(EachTenth)
    try:
        text = TEXT.replace(
            'discipline = "red", limit = "100 packets"', 'discipline = "each-tenth"'
        )
        network = vermilion.Simulation(vermilion.parse_scenario(text)).extend(1)
        fork = network.fork().extend(1)
        assert measured(network.extend(1).result()) == measured(fork.result())
        ledger = fork.result().link("bottleneck").ledger
        assert ledger["drops"] == ledger["arrivals"] // 10
    finally:
        vermilion.unregister_discipline("each-tenth")


@pytest.mark.parametrize("books", ["counters", "none"])
def test_books_that_are_not_full_change_nothing_else(scenario, books):
    full = vermilion.run(scenario)
    text = TEXT.replace("[links.back]", f'[links.back]\nbooks = "{books}"')
    lean = vermilion.run(vermilion.parse_scenario(text))
    assert lean.data["flows"] == full.data["flows"]
    assert lean.data["packets_forwarded"] == full.data["packets_forwarded"]
    assert lean.link("bottleneck") == full.link("bottleneck")
    if books == "none":
        assert lean.links == ["bottleneck"]
        return
    assert lean.link("back").ledger == full.link("back").ledger
    assert lean.link("back").total["utilization"] == full.link("back").total["utilization"]
    with pytest.raises(KeyError, match='books = "full"'):
        lean.link("back").total["queue_packets"]


def test_books_are_full_where_a_tuning_looks():
    text = TEXT.replace("[links.back]", '[links.back]\nbooks = "counters"')
    text += """
[tuning]
parameters = ["links.back.queue.target"]
objective = { name = "queue-deviation", link = "back", target = "5 packets" }
"""
    with pytest.raises(ScenarioError, match=r'links\.back\.books.*expected "full"'):
        vermilion.parse_scenario(text)
