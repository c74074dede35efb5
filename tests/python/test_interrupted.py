"""Ctrl-C keeps what there is: comparisons, on-line runs and captures."""

import json
import signal
import threading
from pathlib import Path

import pytest

from test_cli import SHORT, vermilion
from vermilion import (
    Discipline,
    Verdict,
    _core,
    load_scenario,
    number,
    register_discipline,
    run,
    unregister_discipline,
)
from vermilion.scenario.other_values import with_discipline
from vermilion.simulate import comparison
from vermilion.simulate.runs import run_many
from vermilion_lab import atlas, emulator_plant, kernel_plant

__all__ = ["vermilion"]

CoreSimulation = _core.Simulation
STEADY = ["flows.late.start=0 s .. 1 s", "warm_up=2 s"]
CAPTURE = Path(__file__).parents[1] / "reference" / "captures" / "bulk.pcap"


def interrupting(real, after):
    """The same function, which is interrupted after so many calls."""
    calls = iter(range(after))

    def function(*arguments, **options):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    return function


def test_a_comparison_shows_the_seeds_that_it_has(vermilion, monkeypatch):
    monkeypatch.setattr(comparison, "run_many", interrupting(run_many, 1))
    options = (*SHORT, "--discipline=red", "--discipline=pie", "--seeds=9", "--threads=1")
    code, out, err = vermilion("compare", "varying-load", *options)
    assert code == 130
    assert "interrupted: these are 2 of 9 seeds" in err
    assert "means over 2 seeds" in out


def test_a_comparison_without_two_seeds_has_nothing_to_show(vermilion, monkeypatch):
    monkeypatch.setattr(comparison, "run_many", interrupting(run_many, 0))
    code, out, err = vermilion("compare", "varying-load", *SHORT, "--discipline=red")
    assert (code, out) == (130, "")
    assert err == "\nvermilion: interrupted\n"


class InterruptedSimulation:
    """A simulation during which somebody presses Ctrl-C, at a time of its own."""

    at_ns = 0

    def __init__(self, *arguments, **options):
        self._real = CoreSimulation(*arguments, **options)

    def advance(self, until_ns):
        if self._real.now_ns < self.at_ns <= until_ns:
            self._real.advance(self.at_ns)
            signal.raise_signal(signal.SIGINT)
        else:
            self._real.advance(until_ns)

    def __getattr__(self, name):
        return getattr(self._real, name)


@pytest.fixture
def interrupted_at(monkeypatch):
    def at(time_s):
        monkeypatch.setattr(InterruptedSimulation, "at_ns", round(1e9 * time_s))
        monkeypatch.setattr(_core, "Simulation", InterruptedSimulation)

    return at


def test_a_run_shows_what_it_has_measured(vermilion, interrupted_at, tmp_path):
    interrupted_at(20)
    files = {name: tmp_path / name for name in ("run.json", "run.csv", "run.html", "flows.csv")}
    options = (
        f"--json={files['run.json']}",
        f"--series={files['run.csv']}",
        f"--figure={files['run.html']}",
        f"--flow-series={files['flows.csv']}",
    )
    code, out, err = vermilion("run", "varying-load", "--set=duration=40 s", *options)
    assert code == 130
    assert "note: interrupted: results of the first 20 s of 40 s" in err
    assert "5 .. 20 s" in out
    assert "25 .. 40 s" not in out
    written = json.loads(files["run.json"].read_text())
    assert written["interrupted_at_s"] == 20.0
    assert [each["end_s"] for each in written["links"]["bottleneck"]["phases"]] == [20.0]
    assert files["run.csv"].read_text().splitlines()[-1].startswith("bottleneck,20.0,")
    assert "The run was interrupted after 20 s of 40 s." in files["run.html"].read_text()
    assert files["flows.csv"].read_text().count("\n") > 100


def test_what_an_interrupted_run_measured_is_what_a_shorter_one_measures(interrupted_at):
    shorter = run(load_scenario("varying-load", [*STEADY, "duration=4 s"]))
    interrupted_at(4)
    scenario = load_scenario("varying-load", [*STEADY, "duration=8 s"])
    cut = run(scenario, keeps_at_interrupt=True)
    assert cut.link("bottleneck").total == shorter.link("bottleneck").total


def test_packets_of_an_interrupted_run_are_all_that_there_were(vermilion, interrupted_at, tmp_path):
    interrupted_at(4)
    file = tmp_path / "packets.csv"
    code, _, _ = vermilion("run", "varying-load", *SHORT, f"--packets={file}")
    assert code == 130
    lines = file.read_text().splitlines()
    last_ns = int(lines[-1].split(",")[lines[0].split(",").index("time_ns")])
    assert 3.9e9 < last_ns <= 4e9


def test_a_run_in_its_warm_up_has_nothing_to_show(vermilion, interrupted_at, tmp_path):
    interrupted_at(4)
    options = ("--set=warm_up=5 s", f"--json={tmp_path / 'run.json'}")
    code, out, err = vermilion("run", "varying-load", *SHORT, *options)
    assert (code, out) == (130, "")
    assert "nothing was measured yet: the warm-up lasts 5 s" in err
    assert err.endswith("\nvermilion: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_a_run_that_keeps_nothing_raises(interrupted_at):
    interrupted_at(4)
    with pytest.raises(KeyboardInterrupt):
        run(load_scenario("varying-load", [*STEADY, "duration=8 s"]), progress=lambda _: None)


def test_ctrl_c_between_two_steps_is_remembered_and_a_second_one_ends_all():
    before = signal.getsignal(signal.SIGINT)
    scenario = load_scenario("varying-load", ["duration=40 s"])
    cut = run(scenario, progress=CtrlC(at=0.5), keeps_at_interrupt=True)
    assert cut.data["interrupted_at_s"] == 20.0
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        run(scenario, progress=CtrlC(at=0.5, times=2), keeps_at_interrupt=True)
    assert signal.getsignal(signal.SIGINT) is before


class CtrlC:
    """Presses Ctrl-C when so much is done."""

    def __init__(self, at, times=1):
        self._at, self._times = at, times

    def __call__(self, done):
        if done == self._at:
            for _ in range(self._times):
                signal.raise_signal(signal.SIGINT)


@pytest.mark.evidence
def test_papers_that_are_done_are_shown_and_figures_are_kept(vermilion, monkeypatch, tmp_path):
    from vermilion_lab.papers import reproduction

    monkeypatch.setattr(reproduction, "reproduce", interrupting(reproduction.reproduce, 1))
    monkeypatch.setattr(reproduction, "chosen_figures", lambda paper, _: paper.figures[:1])
    kept = tmp_path / "kept"
    options = ("--seeds=2", f"--keep={kept}", f"--json={tmp_path / 'papers.json'}")
    code, out, err = vermilion("papers", "ye-2002", "feng-1999", *options)
    assert code == 130
    assert "interrupted: these are 1 of 2 papers" in err
    assert f'the figures that are done are in "{kept}"' in err
    assert "ye-2002" in out
    written = json.loads((tmp_path / "papers.json").read_text())
    assert [each["name"] for each in written["papers"]] == ["ye-2002"]
    assert list(kept.iterdir())


def test_papers_of_which_none_is_done_say_where_their_figures_are(vermilion, monkeypatch, tmp_path):
    from vermilion_lab.papers import reproduction

    monkeypatch.setattr(reproduction, "reproduce", interrupting(reproduction.reproduce, 0))
    code, out, err = vermilion("papers", "ye-2002", "--seeds=2", f"--keep={tmp_path / 'kept'}")
    assert (code, out) == (130, "")
    assert "the same command goes on" in err


def test_rounds_of_seeds_give_what_one_round_gives(vermilion):
    both = [
        vermilion(
            "compare", "varying-load", *SHORT, "--seeds=5", f"--threads={threads}", "--json=-"
        )
        for threads in (1, 4)  # five rounds' worth of seeds, or one
    ]
    assert [code for code, _, _ in both] == [0, 0]
    assert json.loads(both[0][1]) == json.loads(both[1][1])


@pytest.mark.evidence
@pytest.mark.usefixtures("few_evaluations")
def test_on_line_runs_that_are_complete_are_kept(vermilion, monkeypatch, tmp_path):
    from vermilion.online.drive import run as drive

    monkeypatch.setattr(drive, "run_online", interrupting(drive.run_online, 1))
    target = tmp_path / "runs.json"
    options = (*SHORT, "--clock=fixed", "--seeds=3", f"--json={target}")
    code, _, err = vermilion("online", "varying-load", *options)
    assert code == 130
    assert "interrupted: these are 1 of 3 runs" in err
    assert [run["seed"] for run in json.loads(target.read_text())["runs"]] == [1]


def test_a_capture_is_summarised_as_far_as_it_was_read(vermilion, monkeypatch):
    from vermilion.monitor import capture

    monkeypatch.setattr(capture, "PIECE_BYTES", 2_000)
    monkeypatch.setattr(capture, "_read_piece", interrupting(capture._read_piece, 3))
    code, out, err = vermilion("monitor", CAPTURE, "--json=-")
    assert code == 130
    assert "interrupted" in err
    packets = json.loads(out)["packets"]
    monkeypatch.undo()
    whole = json.loads(vermilion("monitor", CAPTURE, "--json=-")[1])["packets"]
    assert 0 < packets < whole


def test_progress_is_told_of_captures(monkeypatch):
    from vermilion.monitor import capture

    monkeypatch.setattr(capture, "PIECE_BYTES", 2_000)
    told = []
    capture.read_capture(CAPTURE, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)


class Pressed(Discipline):
    """Drop-tail, in the middle of which somebody presses Ctrl-C at 3 s. It cannot be copied."""

    name = "pressed"
    parameters = (number("limit", "packets", 20, 1, 100, whole=True, meaning="the buffer"),)
    times = 0

    def __init__(self):
        self.lock = threading.Lock()

    def on_arrival(self, _packet, queue, _coin):
        if queue.now >= 3e9 and Pressed.times == 0:
            Pressed.times += 1
            signal.raise_signal(signal.SIGINT)
        return Verdict.OVERFLOW if queue.packets >= self.limit else Verdict.ACCEPT


def test_a_run_of_a_discipline_in_python_keeps_what_it_has():
    register_discipline(Pressed)
    try:
        values = [*STEADY, "duration=8 s", "flows.late.count=1"]
        scenario, _ = with_discipline(load_scenario("varying-load", values), "pressed")
        cut = run(scenario, keeps_at_interrupt=True)
    finally:
        unregister_discipline("pressed")
    assert 3.0 <= cut.data["interrupted_at_s"] < 8.0
    assert cut.link("bottleneck").total["end_s"] == cut.data["interrupted_at_s"]


@pytest.mark.parametrize(
    ("plant", "module", "function"),
    [
        ("kernel", kernel_plant, "run_on_kernel"),
        ("emulator", emulator_plant, "run_on_emulator"),
    ],
)
def test_a_run_with_real_tcp_says_that_it_keeps_nothing(
    vermilion, monkeypatch, plant, module, function
):
    monkeypatch.setattr(module, function, interrupting(None, 0))
    code, out, err = vermilion("run", "varying-load", f"--plant={plant}")
    assert (code, out) == (130, "")
    assert "no results before the end; for a shorter run, --set duration=TIME" in err


def test_an_on_line_run_that_is_not_over_says_how_to_keep_it(vermilion, monkeypatch, tmp_path):
    from vermilion.cli import online

    monkeypatch.setattr(online, "_run", interrupting(None, 0))
    code, out, err = vermilion("online", "varying-load", "--clock=fixed")
    assert (code, out) == (130, "")
    assert "--journal FILE keeps decisions and samples" in err
    _, _, err = vermilion("online", "varying-load", f"--journal={tmp_path / 'one.sqlite'}")
    assert "--journal" not in err


def test_an_atlas_says_what_is_kept(vermilion, monkeypatch, tmp_path):
    monkeypatch.setattr(atlas, "build_atlas", interrupting(None, 0))
    command = ("atlas", "--rate=1 Mbit/s", "--flows=2", "--rtt=40 ms")
    code, out, err = vermilion(*command)
    assert (code, out) == (130, "")
    assert "unless --keep names a folder" in err
    _, _, err = vermilion(*command, f"--keep={tmp_path}")
    assert "the same command goes on" in err
