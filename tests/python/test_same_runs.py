"""Where no seed changes anything, intervals of no width are not taken for certainty."""

import pytest

import vermilion
from vermilion.simulate.compared_runs import are_nearly_the_same_run, are_the_same_run
from vermilion.simulate.comparison import compare
from vermilion.simulate.statistics import mean_interval
from vermilion.tuning import tune
from vermilion.tuning.comparison import chance_warnings, chance_warnings_of_front


def scenario(*overrides):
    network = vermilion.Network("No chance", duration="6 s", warm_up="2 s")
    queue = {"discipline": "drop-tail", "limit": "50 packets"}
    network.link("b", rate="10 Mbit/s", delay="10 ms", queue=queue)
    network.flows("f", count=2, path=["b"], rtt="40 ms", sender="reno", start="0 s")
    network.tuning(
        parameters=["links.b.queue.limit"],
        objective={"name": "queue-deviation", "link": "b", "target": "20 packets"},
        space={"links.b.queue.limit": ["5 packets", "100 packets"]},
    )
    return network.scenario().with_values(dict(overrides))


@pytest.fixture(scope="module")
def fixed():
    return scenario()


@pytest.fixture(scope="module")
def drawn():
    return scenario(("flows.f.start", [0.0, 1.0]))


def test_runs_are_the_same_where_only_the_seed_differs(fixed, drawn):
    assert are_the_same_run([vermilion.run(fixed, seed) for seed in (1, 2)])
    assert not are_the_same_run([vermilion.run(drawn, seed) for seed in (1, 2)])
    assert not are_the_same_run([vermilion.run(fixed, 1)])


def test_ties_move_a_run_by_next_to_nothing():
    """Only the order of events at one moment is drawn here, and it moves one packet's place."""
    network = vermilion.Network("One CUBIC flow", duration="30 s", warm_up="5 s")
    network.link("b", rate="10 Mbit/s", delay="5 ms", queue={"discipline": "codel"})
    network.flows("f", path=["b"], rtt="40 ms", sender="cubic")
    queue = {"links.b.queue.target": 0.00142, "links.b.queue.interval": 0.0128}
    short = network.scenario().with_values(queue)
    runs = [vermilion.run(short, seed) for seed in (1, 2)]
    assert not are_the_same_run(runs)
    assert are_nearly_the_same_run(runs)
    assert "nearly the same run" in compare({"short": short}, [1, 2]).remark()


def test_what_is_drawn_changes_more_than_the_ties(drawn):
    assert not are_nearly_the_same_run([vermilion.run(drawn, seed) for seed in (1, 2)])
    full = scenario(("flows.f.start", [0.0, 1.0]), ("flows.f.count", 40), ("duration", 30.0))
    runs = [vermilion.run(full, seed) for seed in (1, 2)]
    used = [run.link("b").total["utilization"] for run in runs]
    assert used[0] == pytest.approx(used[1], rel=1e-4)  # by its use alone one could not tell
    assert not are_nearly_the_same_run(runs)


def test_a_single_setting_that_chance_does_not_touch_is_named(fixed, drawn):
    same, other = ([vermilion.run(each, seed) for seed in (1, 2)] for each in (fixed, drawn))
    [warning] = chance_warnings(other, same)
    assert warning.startswith("every fresh seed gave the same run of the setting in force, so")
    assert chance_warnings(other, other) == ()
    assert "of 1 of 2 settings" in chance_warnings_of_front([same, other], other)[0]


def test_equal_values_have_an_interval_of_no_width():
    """Ten times 0.854, added and divided by ten, is not 0.854 to the last bit."""
    for value in (0.854, 31.26, 94.66, 1.742):
        assert mean_interval([value] * 10).half_width == 0.0
    assert mean_interval([1.0, 1.0 + 1e-9]).half_width > 0.0


def test_a_comparison_says_that_its_intervals_say_nothing(fixed, drawn):
    shorter = fixed.with_values({"links.b.queue.limit": 20.0})
    both = compare({"long": fixed, "short": shorter}, [1, 2, 3])
    assert both.remark() == (
        "Means over 3 seeds with 95 % t intervals. * differs from 'long'. "
        "All seeds gave the same run: its intervals say nothing about chance."
    )
    assert [each["same_for_all_seeds"] for each in both.to_dict()["variants"]] == [True, True]
    one = compare({"drawn": drawn, "fixed": fixed}, [1, 2, 3])
    assert "differs significantly from 'drawn'" in one.remark()
    assert "the same run of 'fixed'" in one.remark()
    assert [each["same_for_all_seeds"] for each in one.to_dict()["variants"]] == [False, True]
    assert "same run" not in compare({"drawn": drawn}, [1, 2, 3]).remark()


def test_a_recommendation_warns_of_it(fixed, drawn):
    words = "every fresh seed gave the same run"
    options = {"budget": 12, "rivals": False, "robustness": False}
    found = tune(fixed, **options)
    assert found.accepted
    assert any(words in warning for warning in found.warnings)
    assert words in str(found)
    assert not any(words in warning for warning in tune(drawn, **options).warnings)
