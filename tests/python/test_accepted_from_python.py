"""What is given from Python: numbers of NumPy are numbers, and nonsense is one message."""

import json
from pathlib import Path

import numpy as np
import pytest

import vermilion
from vermilion import networks
from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.comparison import compare
from vermilion.tuning import tune, tune_front, tune_robust

SHORT = ["duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s"]


@pytest.fixture(scope="module")
def scenario():
    return vermilion.load_scenario("varying-load", SHORT)


@pytest.fixture(scope="module")
def compared(scenario):
    slower = scenario.with_values({"links.bottleneck.rate": 8e6})
    return compare({"as it is": scenario, "slower": slower}, np.arange(1, 3))


TAKE_A_SCENARIO = {
    "run": vermilion.run,
    "run_many": lambda given: vermilion.run_many([given], [1]),
    "run_many by name": lambda given: vermilion.run_many({"it": given}, [1]),
    "run_online": vermilion.run_online,
    "grid": lambda given: vermilion.grid(given, {"seed": [1]}),
    "sweep": lambda given: vermilion.sweep(given, {"discipline": ["red"]}),
    "compare": vermilion.compare,
    "compare by name": lambda given: vermilion.compare({"it": given}, seeds=[1, 2]),
    "tune": tune,
    "tune_front": tune_front,
    "tune_robust": lambda given: tune_robust([given, given]),
    "TuningPlan": lambda given: vermilion.TuningPlan(scenarios=[given]),
    "run_figure": lambda given: vermilion.run_figure(given, None),
}
"""Whatever takes a scenario in Python."""

every_taker = pytest.mark.parametrize("take", TAKE_A_SCENARIO.values(), ids=TAKE_A_SCENARIO)


@every_taker
@pytest.mark.parametrize("given", [None, ["varying-load"], 3])
def test_what_is_no_scenario_is_refused_with_what_makes_one(take, given):
    accepted = r"a shipped scenario's name, .*vermilion.load_scenario\(NAME\)"
    with pytest.raises(ScenarioError, match=rf"scenario.*: .* expected {accepted}"):
        take(given)


@every_taker
@pytest.mark.parametrize("given", ["varying-lod", Path("varying-lod")])
def test_a_misspelt_name_of_a_shipped_scenario_is_met_with_the_nearest_one(take, given):
    with pytest.raises(ScenarioError, match=r'varying-lod: .*did you mean "varying-load"\?'):
        take(given)


def test_a_shipped_scenario_may_be_given_by_its_name_as_on_the_command_line():
    whole = vermilion.load_scenario("varying-load")
    [[by_name]] = vermilion.run_many(["varying-load"], [1])
    assert vermilion.run("varying-load").data["links"] == by_name.data["links"]
    assert by_name.data["links"] == vermilion.run(whole).data["links"]
    values = {"links.bottleneck.rate": [8e6, 9e6]}
    assert vermilion.grid("varying-load", values) == vermilion.grid(whole, values)
    assert vermilion.TuningPlan(scenarios=["varying-load"]).scenarios == (whole,)


def test_so_may_a_file_by_its_path(scenario, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    expected = vermilion.run(scenario).data["links"]
    for given in (file, str(file)):
        assert vermilion.run(given).data["links"] == expected
        [swept] = vermilion.sweep(given, {"discipline": ["red"]}).runs
        assert swept[1][0].data["links"] == expected
        named = vermilion.compare({"mine": given}, seeds=[1, 2])
        carried = named.results[0][0].data["packets_forwarded"]
        assert carried == expected["bottleneck"]["ledger"]["forwarded"]


def test_one_scenario_is_no_list_of_them(scenario):
    for given in (scenario, "varying-load", 3):
        for do in (lambda one: vermilion.run_many(one, [1]), tune_robust):
            with pytest.raises(ScenarioError, match=r"scenarios: .* like \[scenario\]"):
                do(given)
        with pytest.raises(ScenarioError, match=r"variants: .* scenarios by name"):
            compare(given, [1, 2])


TRUTH = np.array([True])[0]


@pytest.mark.parametrize("seed", [True, TRUTH, 1.0, "1", None, -1, 2**64, np.array([1, 2])])
def test_what_is_no_seed_is_refused(scenario, seed):
    with pytest.raises(ScenarioError, match=r"seed: .* expected a whole number from 0"):
        vermilion.run(scenario, seed)
    with pytest.raises(ScenarioError, match=r"seed: .* expected a whole number from 0"):
        vermilion.run_many([scenario], [seed])


def test_seeds_and_budgets_may_be_numbers_of_numpy(scenario):
    result = vermilion.run(scenario, np.int64(3))
    assert json.loads(result.to_json())["seed"] == 3
    assert result.data["links"] == vermilion.run(scenario, 3).data["links"]
    [results] = vermilion.run_many([scenario], np.arange(1, 3), threads=np.int32(1))
    assert [type(result.data["seed"]) for result in results] == [int, int]
    options = {"rivals": False, "robustness": False}
    found = tune(scenario, budget=np.int64(2), seed=np.uint8(2), **options)
    assert json.loads(found.to_json()) is not None


def test_comparisons_of_numpys_seeds_can_be_written(compared):
    assert json.loads(json.dumps(compared.to_dict()))["seeds"] == [1, 2]


@pytest.mark.parametrize("seeds", [2, "12", None, {1: 2}])
def test_seeds_are_a_list(scenario, seeds):
    with pytest.raises(ScenarioError, match=r"seeds: .* like range\(1, 11\)"):
        vermilion.run_many([scenario], seeds)


@pytest.mark.parametrize("threads", [-1, 1.5, True, "2", 10**6])
def test_threads_are_a_whole_number(scenario, threads):
    for do in (
        lambda: vermilion.run_many([scenario], [1], threads=threads),
        lambda: tune(scenario, budget=2, threads=threads),
    ):
        with pytest.raises(ScenarioError, match=r"threads: .* expected a whole number from 1"):
            do()


@pytest.mark.parametrize("goal", [{"name": "jain-index"}, {...}, 3, ["jain-index"], {}])
def test_what_is_no_objective_is_refused(scenario, goal):
    with pytest.raises(ScenarioError, match=r"objective: .* expected a text"):
        tune(scenario, objective=goal)


@pytest.mark.parametrize("name", ["parameters", "constraints", "harm"])
def test_a_text_is_no_list_of_texts(scenario, name):
    with pytest.raises(ScenarioError, match=rf'{name}: "x" is not accepted; expected a list'):
        tune(scenario, **{name: "x"})


def test_a_keyword_that_is_misspelt_is_met_with_the_one_that_is_meant(scenario):
    with pytest.raises(TypeError, match=r'did you mean "budget"\?'):
        tune(scenario, budgt=2)


@pytest.mark.parametrize(
    ("build", "name", "meant"),
    [
        (networks.dumbbell, "queu", "queue"),
        (networks.parking_lot, "hop", "hops"),
        (networks.parking_lot, "durtion", "duration"),
        (networks.star, "hots", "hosts"),
        (networks.access_network, "homs", "homes"),
        (networks.fat_tree, "prots", "ports"),
    ],
)
def test_so_is_one_of_a_builder(build, name, meant):
    with pytest.raises(ScenarioError, match=rf'keyword of {build.__name__}.*mean "{meant}"'):
        build(**{name: 3})


def test_numbers_of_numpy_build_networks():
    lot = networks.parking_lot(np.int64(2), through=np.int64(3), duration="9 s").scenario()
    assert lot.flows["through"].count == 3


def test_no_queue_is_the_usual_queue():
    given = {"rate": "10 Mbit/s", "delay": "10 ms"}
    one, other = (
        vermilion.Network("x").link("bottleneck", **given, **queue).document
        for queue in ({}, {"queue": None})
    )
    assert one == other


def test_a_single_instrument_is_no_list(scenario):
    with pytest.raises(ScenarioError, match=r"instruments: .* like \[FlowSeries\(...\)\]"):
        vermilion.run(scenario, instruments=vermilion.FlowSeries())


def test_a_folder_that_is_not_there_is_named_and_not_what_would_be_hidden_in_it(scenario):
    trace = vermilion.PacketTrace(file="/nowhere/packets.csv")
    with pytest.raises(OSError, match=r"/nowhere/packets\.csv"):
        vermilion.run(scenario, instruments=[trace])


@pytest.mark.parametrize(
    "ends", [["a", "b"], [4.0, None], [4.0, [5]], [True, 4.5], [4.0, 10**400], [4.0, 1j]]
)
def test_a_range_of_nonsense_is_one_message(scenario, ends):
    with pytest.raises(ScenarioError, match=r"flows.late.start: a list .* or a range like"):
        scenario.with_values({"flows.late.start": ends})


def test_a_metric_that_is_misspelt_is_no_metric_that_could_not_be_computed(compared):
    with pytest.raises(ScenarioError, match=r'metric: .*did you mean "utilization"'):
        compared.difference(1, "bottleneck", 0, "utilisation")
    with pytest.raises(ScenarioError, match=r'metric: .*did you mean "jain_index"'):
        compared.flows_interval(1, "early", 0, "jain_indx")
    # No flow of these ever ends.
    assert compared.flows_interval(1, "early", 0, "completion_time_s.mean") is None
    assert compared.interval(1, "bottleneck", 0, "forced_drops") is not None


@pytest.mark.parametrize("given", [iter([]), 3, None])
def test_what_is_no_list_of_disciplines_is_one_message(scenario, given):
    with pytest.raises(ScenarioError, match=r"disciplines: .* expected a list of them"):
        vermilion.compare(scenario, given, seeds=[1, 2])


def test_a_sweep_over_no_paths_is_one_message(scenario):
    with pytest.raises(ScenarioError, match=r"values: .* expected lists of values by path"):
        vermilion.sweep(scenario, [])
