"""The core as Python meets it: repeatable, interruptible, out of the interpreter's way."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from vermilion import _core

SECOND = 10**9


def core_scenario(duration_s=5.0, rate=10_000_000, **queue):
    return json.dumps(
        {
            "duration_ns": int(duration_s * SECOND),
            "warm_up_ns": SECOND,
            "settle_ns": SECOND,
            "links": [
                {
                    "name": "bottleneck",
                    "rate_bit_per_s": rate,
                    "delay_ns": 10_000_000,
                    "queue": {"discipline": "red", "parameters": queue},
                }
            ],
            "flows": [
                {
                    "name": "all",
                    "count": 16,
                    "path": ["bottleneck"],
                    "rtt_ns": 28_000_000,
                    "sender": {"congestion_control": "newreno"},
                    "start_ns": [0, SECOND],
                }
            ],
        }
    )


ENDLESS = core_scenario(duration_s=1e6, rate=10**9)
"""A run that would take hours."""


def test_one_thread_and_two_give_the_same_results():
    scenarios = [core_scenario(), core_scenario(weight=0.01)]
    jobs = [(number, seed) for number in range(2) for seed in range(6)]
    one = _core.run_many(scenarios, jobs, 1)
    assert one == _core.run_many(scenarios, jobs, 2)
    assert len(set(one)) == len(jobs)


def test_two_processes_give_the_same_results():
    program = "import sys; from vermilion import _core; print(_core.run(sys.stdin.read(), 7)[0])"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            input=core_scenario(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0]) == json.loads(_core.run(core_scenario(), 7)[0])


@pytest.mark.parametrize(
    "work",
    [
        lambda: _core.run(ENDLESS, 1),
        lambda: _core.run_many([ENDLESS], [(0, seed) for seed in range(100)]),
        lambda: _core.Simulation(ENDLESS, 1).advance(10**15),
    ],
    ids=["run", "run_many", "advance"],
)
def test_an_interrupt_ends_work_that_would_take_hours(work):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    timer.join()


def test_other_threads_run_while_the_core_works():
    steps = []

    def count():
        while not done.is_set():
            steps.append(1)
            done.wait(0.001)

    done = threading.Event()
    counter = threading.Thread(target=count)
    counter.start()
    _core.run_many([core_scenario(60.0)], [(0, seed) for seed in range(40)])
    done.set()
    counter.join()
    assert len(steps) > 20


def test_a_deadline_cuts_the_last_runs_and_keeps_the_first():
    jobs = [(0, seed) for seed in range(4)] + [(1, seed) for seed in range(20)]
    outcomes = _core.run_many([core_scenario(), ENDLESS], jobs, 2, None, 1.0)
    assert all(outcome is not None for outcome in outcomes[:4])
    assert all(outcome is None for outcome in outcomes[4:])


def test_progress_ends_with_every_run_done_and_never_goes_back():
    seen = []
    _core.run_many([core_scenario()], [(0, seed) for seed in range(30)], 2, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 30


def test_an_exception_in_progress_stops_the_batch():
    def fail(_done):
        message = "enough"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="enough"):
        _core.run_many([ENDLESS], [(0, 1)], 1, fail)


def test_a_refused_parameter_leaves_a_running_queue_as_it_was():
    simulation = _core.Simulation(core_scenario(), 1)
    simulation.advance(2 * SECOND)
    before = simulation.queue_parameters("bottleneck")
    with pytest.raises(_core.ParameterError) as refused:
        simulation.set_queue("bottleneck", json.dumps({"weight": 0.5, "max_probability": 7}))
    field, value, accepted = refused.value.args
    assert (field, value) == ("links.bottleneck.queue.max_probability", "7")
    assert "to 1" in accepted
    assert simulation.queue_parameters("bottleneck") == before


def test_a_parameter_set_while_running_changes_what_follows_and_nothing_before():
    quiet, changed = (_core.Simulation(core_scenario(), 3) for _ in range(2))
    for simulation in (quiet, changed):
        simulation.advance(2 * SECOND)
    assert quiet.counters("bottleneck") == changed.counters("bottleneck")
    changed.set_queue("bottleneck", json.dumps({"max_probability": 0.9}))
    for simulation in (quiet, changed):
        simulation.advance(5 * SECOND)
    assert quiet.counters("bottleneck") != changed.counters("bottleneck")
