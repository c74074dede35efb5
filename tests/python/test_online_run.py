"""The whole loop on the real core: what it holds, and what it must not know."""

import json
import sqlite3
from statistics import fmean

import pytest

from test_online_model import CONFIGURATION, IN_FORCE, POLICY, traffic
from vermilion.online import run_online
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.detection import ConditionWatch, QueueWatch
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace, measured_pace
from vermilion.online.model.network import build_model
from vermilion.online.model.prediction import queue_noise
from vermilion.online.model.senders import SenderModel
from vermilion.online.model.traffic import Horizon
from vermilion.online.policy import stated_policy
from vermilion.online.record.journal import Journal, Log
from vermilion.online.sense.senses import Senses
from vermilion.routers.simulated import SimulatedRouter
from vermilion.scenario import load_scenario
from vermilion.simulate import run

STANDARD = IN_FORCE | {"max_probability": 0.1, "weight": 0.002}
SHORT = [
    "duration=30 s",
    "warm_up=4 s",
    "settle=4 s",
    "flows.late.start=14 s .. 15 s",
]

STEADY = [*SHORT[:-1], "flows.late.start=29 s .. 29.5 s"]


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load", SHORT)


@pytest.fixture(scope="module")
def held(scenario, tmp_path_factory):
    path = tmp_path_factory.mktemp("online") / "journal.sqlite"
    return run_online(scenario, seed=6, clock="fixed", evaluations=150, journal_path=path), path


def deviation(window, target=30.0):
    queue = window["queue_packets"]
    return queue["sd"] ** 2 + (queue["mean"] - target) ** 2


def test_the_queue_is_held_at_its_target_in_every_phase(held):
    for phase in held[0].tuned.link("bottleneck").phases:
        assert 24.0 <= phase["queue_packets"]["mean"] <= 36.0
        assert phase["utilization"] >= 0.99


def test_it_is_held_much_closer_than_by_the_setting_nobody_touches(held):
    tuned = held[0].tuned.link("bottleneck").phases
    untouched = held[0].reference.link("bottleneck").phases
    ratios = [deviation(y) / deviation(x) for x, y in zip(tuned, untouched, strict=True)]
    assert ratios[0] > 2.0
    assert ratios[-1] > 10.0


def test_the_law_stands_within_three_seconds_of_the_change(held):
    """Its thresholds are .75 and 2.2 times 30 packets."""
    changes = [d.time_s for d in held[0].decisions if d.kind == "change-detected" and d.time_s > 14]
    assert changes[0] < 15.0
    in_force = [values for time_s, values in held[0].settings if time_s <= changes[0] + 3.0][-1]
    assert (in_force["min_threshold"], in_force["max_threshold"]) == (22.5, 66.0)


def test_the_journal_has_every_decision_setting_and_sample(held):
    found, path = held
    with sqlite3.connect(path) as database:
        decisions = database.execute("SELECT time_s, kind, reason FROM decision ORDER BY id")
        assert decisions.fetchall() == [(d.time_s, d.kind, d.reason) for d in found.decisions]
        (samples,) = database.execute("SELECT count(*) FROM sample").fetchone()
        assert samples == 300
        (settings,) = database.execute("SELECT count(*) FROM setting").fetchone()
        assert settings == len(found.settings)
    database.close()


def test_decisions_can_be_written_as_json(held):
    assert json.dumps([d.details for d in held[0].decisions], allow_nan=False)


@pytest.mark.evidence
def test_the_same_seed_gives_the_same_run(scenario):
    first, again = (run_online(scenario, seed=6, clock="fixed", evaluations=15) for _ in range(2))
    assert first.settings
    assert again.decisions == first.decisions
    assert again.settings == first.settings
    assert again.tuned.data["links"] == first.tuned.data["links"]


def test_the_controller_never_reads_the_future():
    """Two networks with one past and different futures are treated alike until they part."""
    decisions = []
    for future in ("flows.late.count=48", "flows.late.count=5"):
        scenario = load_scenario("varying-load", [*SHORT, future, "duration=16 s"])
        found = run_online(scenario, seed=6, clock="fixed", evaluations=15)
        decisions.append([d for d in found.decisions if d.time_s < 14.0])
    assert decisions[0] == decisions[1]
    assert [d.kind for d in decisions[0]].count("applied") == 1


def test_a_poisoned_scenario_poisons_nothing(scenario):
    """The controller gets a router, a policy and a link's configuration; not the scenario."""
    policy = stated_policy(scenario)
    router = SimulatedRouter(scenario.core_json(0.05), "bottleneck", seed=3)

    class Poison:
        def __getattr__(self, name):
            message = f"the controller reads the scenario: {name}"
            raise AssertionError(message)

    scenario = Poison()
    with Journal(
        None,
        version="test",
        title="poisoned",
        router=router.kind,
        link="bottleneck",
        discipline="red",
        target_packets=30.0,
    ) as journal:
        controller = Controller.of(policy, router.configuration, evaluations=50)
        log = Log(journal)
        NetworkTimeDriver(router, controller, log, fixed_pace).run(6.0)
    assert [d for d in log.decisions if d.kind == "applied"]


def test_a_network_without_flows_is_left_alone_with_a_reason():
    scenario = load_scenario(
        "varying-load",
        ["duration=20 s", "flows.early.start=15 s .. 16 s", "flows.late.start=17 s .. 18 s"],
    )
    found = run_online(scenario, clock="fixed", evaluations=50)
    quiet = [d for d in found.decisions if d.time_s < 15]
    assert [d.kind for d in quiet] == ["start", "quiet"]


@pytest.mark.parametrize(
    ("flows", "base_s", "seconds"), [(16, 0.028, 120.0), (64, 0.028, 120.0), (16, 0.180, 120.0)]
)
def test_a_stationary_network_raises_no_alarm_in_two_minutes(flows, base_s, seconds):
    """Standard RED, whose queue swings widely: the hardest case to be quiet about."""
    seen = traffic(flows=flows, base_rtts_s=(base_s,) * flows)

    def network(seconds):
        horizon = Horizon(warm_up_s=10.0, measured_s=seconds)
        return build_model(CONFIGURATION, STANDARD, seen, SenderModel("newreno"), POLICY, horizon)

    expected = network(40.0)
    outcomes = [run(expected, seed=seed).link("bottleneck").total for seed in range(20, 26)]
    mean = fmean(outcome["queue_packets"]["mean"] for outcome in outcomes)
    noise = queue_noise(expected, ["bottleneck"], range(20, 26))
    queue = QueueWatch.begin(mean, noise, 30.0)
    router = SimulatedRouter(network(seconds).core_json(), "bottleneck", seed=5)
    senses = Senses.begin()
    conditions, alarms = None, []
    for tick in range(round(seconds / 0.1)):
        router.wait(10.0 + 0.1 * tick)
        senses, sample = senses.after(router.observe())
        if tick < 50:
            continue
        picture = senses.picture()
        conditions = conditions or ConditionWatch(picture, seen.queueing_s)
        conditions, changed = conditions.after(picture)
        queue, drifted = queue.after(sample)
        alarms += [alarm for alarm in (changed, drifted) if alarm]
    assert alarms == []


def test_measured_time_is_what_the_work_took():
    finding, took_s = measured_pace("a task", lambda task: (task, sum(range(200_000))))
    assert finding == ("a task", sum(range(200_000)))
    assert 0 < took_s < 1.0


def test_ctrl_c_during_a_search_is_not_swallowed(monkeypatch):
    from vermilion.tuning import simulations

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(simulations.Simulations, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_online(load_scenario("varying-load", STEADY), clock="fixed", evaluations=50)
