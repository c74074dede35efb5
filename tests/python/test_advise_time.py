"""Advice keeps its time on any machine: tested with a clock that only simulations move."""

import json
import math
import signal
from dataclasses import replace

import pytest

from vermilion.advise import advice as engine
from vermilion.advise import advise, assumed, measuring, read_question
from vermilion.advise.document import document
from vermilion.advise.page import advice_page
from vermilion.advise.question import QueueSetting
from vermilion.advise.timekeeping import Timekeeper
from vermilion.advise.wording import answer, warnings
from vermilion.cli import main
from vermilion.simulate.runs import run_jobs
from vermilion.tuning import simulations

BUDGET = 3e6
DEADLINE_S = 9.0
DEEP = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})


class Machine:
    """Simulates, and lets a clock pass so many seconds for each run; gives up at the deadline."""

    def __init__(self, each_s):
        self.now = 1000.0
        self.each_s = each_s
        self.runs = 0

    def clock(self):
        return self.now

    def run_many(self, texts, seeds, *, deadline_s=None, **options):
        left = math.inf if deadline_s is None else deadline_s
        jobs = [(text, seed) for text in range(len(texts)) for seed in seeds]
        some = jobs[: int(min(left / self.each_s, len(jobs))) if self.each_s else len(jobs)]
        self.now += min(self.each_s * len(jobs), left)
        self.runs += len(some)
        found = run_jobs(texts, some, **options) + [None] * (len(jobs) - len(some))
        return [found[first : first + len(seeds)] for first in range(0, len(jobs), len(seeds))]


def question(**changes):
    asked = {"rate": "4 Mbit/s", "rtt": "10 ms .. 30 ms", "flows": "2 .. 6",
             "delay_at_most": "25 ms", "quick": True, **changes}  # fmt: skip
    return read_question(**asked)


def answered(monkeypatch, each_s, deadline_s=DEADLINE_S):
    """The answer of a machine that takes so long for a run, and the seconds it took."""
    machine = Machine(each_s)
    monkeypatch.setattr(simulations, "run_many", machine.run_many)
    monkeypatch.setattr(engine, "QUICK_PACKETS", BUDGET)
    asked = question()
    begun = machine.now
    found = advise(
        asked,
        replace(assumed(asked), queue=DEEP),
        threads=1,
        deadline_s=deadline_s,
        clock=machine.clock,
    )
    return found, machine.now - begun


@pytest.mark.parametrize("each_s", [0.02, 0.08, 0.25])
def test_the_deadline_is_kept_however_slow_the_machine_is(monkeypatch, each_s):
    found, took = answered(monkeypatch, each_s)
    assert took <= DEADLINE_S + 1e-6
    # It says whether it was cut short, and whatever it says rests on whole seeds.
    assert {len(runs) for runs in found.before.runs.values()} == {len(found.seeds)}
    assert any("Time was up" in each for each in warnings(found)) is found.time_was_up
    assert document(found)["time_was_up"] is found.time_was_up
    assert found.time_was_up or took < DEADLINE_S


def test_a_machine_that_is_fast_enough_answers_as_if_there_were_no_deadline(monkeypatch):
    hurried, took = answered(monkeypatch, 1e-3)
    free, _ = answered(monkeypatch, 0.0, None)
    assert took < DEADLINE_S
    assert not hurried.time_was_up
    one, other = document(hurried), document(free)
    assert one.pop("deadline_s") == DEADLINE_S
    assert one == other


def test_a_slow_machine_still_finds_what_is_easy_to_find(monkeypatch):
    # 1000 packets are three seconds at 4 Mbit/s; whatever is tried at all comes nearer to 25 ms.
    found, _ = answered(monkeypatch, 0.05)
    assert found.time_was_up
    assert found.verdict == "set: bound"


@pytest.mark.parametrize("each_s", [0.5, 5.0])
def test_a_machine_that_is_too_slow_judges_nothing(monkeypatch, each_s):
    # Two queues in seven conditions are seven seconds for a seed.
    found, _ = answered(monkeypatch, each_s)
    assert len(found.seeds) < 2
    assert found.keep
    assert answer(found) == "not judged"
    json.dumps(document(found), allow_nan=False)
    assert "Not judged" in advice_page(found)


def test_what_is_planned_follows_the_pace_so_far():
    now = [0.0]
    keeper = Timekeeper(lambda: now[0], until=10.0)
    assert keeper.in_time(500.0) == 500.0  # nothing is known yet
    keeper.count(2.0, 200.0)
    now[0] = 5.0
    assert keeper.in_time(100.0) == 100.0
    assert not keeper.was_up
    assert keeper.in_time(1000.0) == pytest.approx(0.85 * 100.0 * 5.0)
    assert keeper.was_up
    with keeper.part(0.4):
        assert keeper.left_s == pytest.approx(2.0)
    assert keeper.left_s == pytest.approx(5.0)


class TestOption:
    ARGUMENTS = ("advise", "--rate=4 Mbit/s", "--rtt=10 ms .. 30 ms", "--flows=2 .. 6",
                 "--delay-at-most=25 ms", "--json=-")  # fmt: skip

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [((), 57.0), (("--quick",), 9.0), (("--quick", "--deadline=40 s"), 40.0)],
    )
    def test_there_always_is_one(self, capsys, monkeypatch, arguments, expected):
        monkeypatch.setattr(engine, "QUICK_PACKETS", BUDGET)
        monkeypatch.setattr(engine, "FULL_PACKETS", BUDGET)
        assert main([*self.ARGUMENTS, *arguments]) == 0
        assert json.loads(capsys.readouterr().out)["deadline_s"] == expected

    @pytest.mark.parametrize("text", ["soon", "-1 s", "5 packets"])
    def test_what_is_no_time_is_one_line(self, capsys, text):
        assert main([*self.ARGUMENTS, f"--deadline={text}"]) == 2
        captured = capsys.readouterr()
        assert "--deadline" in captured.err
        assert captured.err.count("\n") == 1


def interrupting(monkeypatch, at, each_s=0.05, times=1):
    """A machine at which somebody presses Ctrl-C at these batches."""
    machine = Machine(each_s)
    batches = iter(range(1000))

    def run_until_pressed(texts, seeds, **options):
        if at <= next(batches) < at + times:
            raise KeyboardInterrupt
        return machine.run_many(texts, seeds, **options)

    monkeypatch.setattr(simulations, "run_many", run_until_pressed)
    monkeypatch.setattr(engine, "QUICK_PACKETS", BUDGET)
    return machine


@pytest.mark.parametrize("at", [0, 2])
def test_ctrl_c_ends_it_within_seconds_with_what_there_is(monkeypatch, at):
    machine = interrupting(monkeypatch, at)
    asked = question()
    begun = machine.now
    found = advise(asked, assumed(asked), deadline_s=600.0, clock=machine.clock)
    assert found.interrupted
    assert document(found)["interrupted"]
    assert any(each.startswith("Ctrl-C ended it") for each in warnings(found))
    before = machine.now
    uncut = advise(asked, assumed(asked), deadline_s=600.0, clock=machine.clock)
    assert not uncut.interrupted
    assert before - begun <= machine.now - before


def test_a_second_ctrl_c_ends_it_at_once(monkeypatch):
    machine = interrupting(monkeypatch, 1, times=2)
    asked = question()
    with pytest.raises(KeyboardInterrupt):
        advise(asked, assumed(asked), deadline_s=600.0, clock=machine.clock)


@pytest.fixture
def _ctrl_c():
    """Ctrl-C raises here, as in a program of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed_while_reading(monkeypatch, at):
    """Somebody presses Ctrl-C when these results are read, between two batches."""
    real, calls = measuring._metrics, iter(range(100_000))

    def read(*arguments):
        if next(calls) in at:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(measuring, "_metrics", read)


@pytest.mark.usefixtures("_ctrl_c")
@pytest.mark.parametrize("at", [0, 3, 17])
def test_ctrl_c_between_two_batches_is_answered_too(monkeypatch, at):
    machine = interrupting(monkeypatch, at=-5)
    pressed_while_reading(monkeypatch, [at])
    asked = question()
    found = advise(asked, assumed(asked), deadline_s=600.0, clock=machine.clock)
    assert found.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("_ctrl_c")
def test_a_second_ctrl_c_between_two_batches_ends_it_at_once(monkeypatch):
    machine = interrupting(monkeypatch, at=-5)
    pressed_while_reading(monkeypatch, [0, 1])
    asked = question()
    with pytest.raises(KeyboardInterrupt):
        advise(asked, assumed(asked), deadline_s=600.0, clock=machine.clock)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_machine_too_busy_to_hurry_answers_all_the_same(monkeypatch, at):
    machine = interrupting(monkeypatch, at, each_s=30.0)
    asked = question()
    found = advise(asked, assumed(asked), deadline_s=36_000.0, clock=machine.clock)
    assert found.interrupted
    assert at == 2 or answer(found) == "not judged"
