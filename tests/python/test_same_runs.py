"""Where no seed changes anything, intervals of no width are not taken for certainty."""

import pytest

import vermilion
from vermilion.simulate.comparison import compare
from vermilion.simulate.same_runs import are_the_same_run
from vermilion.tuning import tune


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
