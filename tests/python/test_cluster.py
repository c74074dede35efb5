"""Simulations elsewhere: the same answer, whoever simulates and whoever dies."""

from __future__ import annotations

import json
import math
import os
import signal
from concurrent.futures import (
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from threading import Event

import pytest

from test_cli import SHORT, refused, strict, vermilion
from vermilion.scenario import ScenarioError, load_scenario
from vermilion.simulate import batches, run_many
from vermilion.simulate.batches import BatchRunner, ClusterError, dask_workers, run_batch
from vermilion.tuning import tune, tune_front, tune_robust
from vermilion_lab.atlas import build_atlas, read_plan

__all__ = ["vermilion"]

SCENARIO = load_scenario("varying-load", ["duration=22 s", "links.bottleneck.rate=2 Mbit/s"])
PATHS = ("links.bottleneck.queue.weight", "links.bottleneck.queue.max_probability")
TEXTS = [
    SCENARIO.with_values({PATHS[0]: weight}).core_json() for weight in (0.001, 0.002, 0.01, 0.1)
]
SEEDS = range(1, 6)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process of its own."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as local:
        yield local


@contextmanager
def threads(**options):
    with ThreadPoolExecutor(2) as executor:
        yield BatchRunner(executor, 2, **options)


class Losing(ThreadPoolExecutor):
    """An executor that loses every second batch."""

    handed = 0

    def submit(self, function, /, *arguments):
        self.handed += 1
        if self.handed % 2:
            return super().submit(function, *arguments)
        lost = Future()
        lost.set_exception(RuntimeError("the worker has died"))
        return lost


def recommended(**options):
    """A tuning's answer without what it cost in time."""
    outcome = json.loads(tune(SCENARIO, parameters=PATHS, budget=40, **options).to_json())
    del outcome["seconds"]
    return outcome


def test_any_executor_gives_what_this_machine_gives():
    with threads(least_s=0.0) as workers:
        assert workers.run_many(TEXTS, SEEDS) == run_many(TEXTS, SEEDS)
        assert workers.sent == len(TEXTS) * len(SEEDS)


def test_what_an_executor_loses_is_simulated_here():
    with Losing(1) as executor:
        workers = BatchRunner(executor, 1, least_s=0.0)
        told = []
        assert workers.run_many(TEXTS, SEEDS, progress=told.append) == run_many(TEXTS, SEEDS)
        assert (workers.sent, workers.rescued) == (10, 10)
        assert told[-1] == 20


class Refusing(ThreadPoolExecutor):
    """An executor that takes so many batches, and refuses every further one."""

    takes = 2
    refusal: BaseException = RuntimeError("cannot schedule new futures after shutdown")

    def __init__(self, workers):
        super().__init__(workers)
        self.taken = []

    def submit(self, *arguments):
        if len(self.taken) == self.takes:
            raise self.refusal
        self.taken.append(super().submit(*arguments))
        return self.taken[-1]


def test_what_an_executor_refuses_to_take_is_simulated_here():
    with Refusing(1) as executor:
        workers = BatchRunner(executor, 1, least_s=0.0)
        assert workers.run_many(TEXTS, SEEDS) == run_many(TEXTS, SEEDS)
        assert (workers.sent, workers.rescued) == (2, 18)


def test_a_task_that_an_executor_refuses_to_take_is_done_here():
    with Refusing(1) as executor:
        workers = BatchRunner(executor, 1)
        done = dict(workers.each(_doubled, [(number,) for number in range(5)]))
        assert done == {number: 2 * number for number in range(5)}
        assert (workers.sent, workers.rescued) == (2, 3)


def _doubled(number, *, threads):
    del threads
    return 2 * number


def test_a_pool_whose_worker_has_died_changes_nothing():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert isinstance(pool.submit(os._exit, 1).exception(), BrokenExecutor)
        workers = BatchRunner(pool, 1, least_s=0.0)
        assert workers.run_many(TEXTS, [1]) == run_many(TEXTS, [1])
        assert (workers.sent, workers.rescued) == (0, len(TEXTS))


@pytest.mark.parametrize(
    "begin",
    [
        lambda workers: workers.run_many(TEXTS, SEEDS),
        lambda workers: next(workers.each(_doubled, [(1,), (2,), (3,)])),
    ],
    ids=["batches", "tasks"],
)
def test_ctrl_c_while_something_is_sent_calls_back_what_was_sent_before(begin):
    class Interrupted(Refusing):
        refusal = KeyboardInterrupt()

    over = Event()
    with Interrupted(1) as executor:
        ThreadPoolExecutor.submit(executor, over.wait)  # the only thread is busy
        try:
            with pytest.raises(KeyboardInterrupt):
                begin(BatchRunner(executor, 1, least_s=0.0))
            assert [each.cancelled() for each in executor.taken] == [True, True]
        finally:
            over.set()


def test_who_waits_for_workers_that_are_gone_is_served_here():
    class Gone(ThreadPoolExecutor):
        def submit(self, *_):
            return Future()

    with Gone(1) as executor:
        workers = BatchRunner(executor, 1, least_s=0.0, alive=lambda: False)
        assert workers.run_many(TEXTS[:1], [1]) == run_many(TEXTS[:1], [1])
        assert workers.rescued == 1


def test_a_batch_is_about_a_second_of_work_and_less_stays_here():
    sizes = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, /, *arguments):
            sizes.append(len(arguments[1]))
            return super().submit(function, *arguments)

    with Counting(2) as executor:
        workers = BatchRunner(executor, 2, least_s=1.0)
        workers.run_many(TEXTS, SEEDS)
        assert sizes == [1] * 20  # nothing is known yet
        sizes.clear()
        workers._each_s = 0.25
        workers.run_many(TEXTS, SEEDS)
        assert sizes == [4] * 5
        sizes.clear()
        workers._each_s = 0.04
        assert workers.run_many(TEXTS, SEEDS) == run_many(TEXTS, SEEDS)
        assert sizes == []


def test_a_refused_scenario_is_refused_as_here():
    broken = TEXTS[0].replace('"weight": 0.001', '"weight": 7.0')
    assert broken != TEXTS[0]
    with pytest.raises(ScenarioError) as here:
        run_many([TEXTS[1], broken], [1])
    with threads(least_s=0.0) as workers, pytest.raises(ScenarioError) as there:
        workers.run_many([TEXTS[1], broken], [1])
    assert str(there.value) == str(here.value)


def test_a_worker_of_another_version_is_refused(monkeypatch):
    with pytest.raises(ClusterError, match=r"a worker has vermilion .*; expected 0\.0\.0"):
        run_batch(TEXTS[:1], [(0, 1)], "0.0.0")
    monkeypatch.setattr(batches, "run_batch", _without_the_package)
    with threads(least_s=0.0) as workers, pytest.raises(ClusterError, match="cannot import"):
        workers.run_many(TEXTS[:1], [1])


def _without_the_package(*_):
    message = "No module named 'vermilion'"
    raise ModuleNotFoundError(message)


def test_when_time_is_up_nothing_more_is_waited_for():
    class Slow(ThreadPoolExecutor):
        def submit(self, *_):
            return Future()

    with Slow(1) as executor:
        workers = BatchRunner(executor, 1, least_s=0.0)
        assert workers.run_many(TEXTS[:1], [1, 2], deadline_s=0.0) == [[None, None]]
        assert workers.rescued == 0


@pytest.mark.evidence
def test_a_tuning_on_a_cluster_recommends_what_it_recommends_here(cluster):
    with dask_workers(cluster.scheduler_address, least_s=0.0) as workers:
        assert workers.cores == 2
        alone = {"rivals": False, "robustness": False}  # whose simulations are not counted
        there = recommended(workers=workers, **alone)
        assert workers.sent == there.pop("simulations")
        assert workers.rescued == 0
        beside = recommended(workers=workers)
    here = recommended(threads=1, **alone)
    del here["simulations"]  # more are simulated ahead of their time with two at a time than one
    assert there == here
    assert beside["rivals"] == recommended(threads=1)["rivals"] != []
    assert math.isfinite(there["objective"]["best"]["mean"])


def test_a_worker_that_dies_changes_nothing(cluster):
    victims = []

    def kill(done):
        if done >= 10 and not victims:
            victims.extend(worker.pid for worker in list(cluster.workers.values())[:1])
            os.kill(victims[0], signal.SIGKILL)

    texts = [
        SCENARIO.with_values({PATHS[0]: 0.001 * (1 + index)}).core_json() for index in range(30)
    ]
    with dask_workers(cluster.scheduler_address, least_s=0.0) as workers:
        there = workers.run_many(texts, [1, 2, 3], progress=kill)
    assert victims
    assert there == run_many(texts, [1, 2, 3])


@pytest.mark.evidence
def test_the_command_line_takes_the_address_of_a_scheduler(vermilion, cluster):
    arguments = ("tune", "varying-load", "--budget=12", "--json=-", *SHORT)
    there = strict(vermilion(*arguments, f"--dask={cluster.scheduler_address}")[1])
    here = strict(vermilion(*arguments)[1])
    for key in ("parameters", "objective", "reason", "evaluations"):
        assert there[key] == here[key]


def test_a_scheduler_that_is_not_there_is_one_line(vermilion, monkeypatch):
    monkeypatch.setattr("vermilion.simulate.batches._CONNECT_S", 0.5)
    message = refused(
        vermilion("tune", "varying-load", "--budget=2", "--dask=tcp://127.0.0.1:1", *SHORT)
    )
    assert "--dask" in message
    assert "tcp://127.0.0.1:1" in message


def test_without_dask_one_line_says_what_to_install(vermilion, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    message = refused(vermilion("tune", "varying-load", "--budget=2", "--dask=tcp://x:1", *SHORT))
    assert "pip install 'dask[distributed]'" in message


@pytest.mark.evidence
@pytest.mark.parametrize("kind", ["robust", "front"])
def test_fronts_and_several_scenarios_come_out_the_same_on_a_cluster(cluster, kind):
    other = SCENARIO.with_values({"links.bottleneck.rate": 4e6})

    def found(**options):
        tuned = (
            tune_front
            if kind == "front"
            else partial(tune_robust, over="mean", rivals=False, robustness=False)
        )
        of = SCENARIO if kind == "front" else [SCENARIO, other]
        return json.loads(tuned(of, parameters=PATHS, budget=24, **options).to_json())

    with dask_workers(cluster.scheduler_address, least_s=0.0) as workers:
        there = found(workers=workers)
        assert workers.sent == there.pop("simulations")
        assert workers.rescued == 0
    here = found(threads=1)
    del here["simulations"]  # more are simulated ahead of their time with two at a time than one
    assert there == here


def test_a_study_goes_on_on_a_cluster_as_here(vermilion, cluster, tmp_path):
    path = tmp_path / "x.study"
    begun = ("tune", "varying-load", "--pareto", *SHORT)
    assert vermilion(*begun, "--budget=4", f"--study={path}")[0] == 0
    address = f"--dask={cluster.scheduler_address}"
    there = strict(vermilion("tune", f"--study={path}", "--budget=12", address, "--json=-")[1])
    here = strict(vermilion(*begun, "--budget=12", "--json=-")[1])
    assert there == here


@pytest.mark.evidence
def test_an_atlas_on_a_cluster_is_the_atlas_of_this_machine_though_a_worker_dies(cluster):
    plan = read_plan({"rate": "1 Mbit/s", "flows": [2, 4, 8], "rtt": "40 ms", "budget": 6})
    victims = []

    def kill(done):
        if done >= 1.0 and not victims:
            victims.extend(worker.pid for worker in list(cluster.workers.values())[1:])
            os.kill(victims[0], signal.SIGKILL)

    with dask_workers(cluster.scheduler_address) as workers:
        there = build_atlas(plan, workers=workers, progress=kill)
    assert victims
    assert there == build_atlas(plan)
