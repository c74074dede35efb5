"""SIGTERM and SIGHUP end a command as Ctrl-C does, with exit codes of their own."""

import json
import signal
import subprocess
import time

import pytest

from test_cli import PROGRAM
from vermilion.cli.endings import EndingSignals, like_interrupts
from vermilion.tuning.study_record import read_studies

NUMBERS = [signal.SIGTERM, signal.SIGHUP]
LONG = ["run", "varying-load", "--set=duration=100000 s"]


@pytest.fixture(autouse=True)
def heard():
    """Under `nohup` the tests have inherited that SIGHUP is ignored, and so would what they run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def ended(command, number, until):
    """What a command leaves that is ended once something is there."""
    with subprocess.Popen(
        [*PROGRAM, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        last = time.monotonic() + 30.0
        while not until():
            assert process.poll() is None
            assert time.monotonic() < last
            time.sleep(0.05)
        time.sleep(1.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.mark.parametrize("number", NUMBERS)
def test_a_run_that_is_ended_writes_what_it_has_and_leaves_nothing_else(tmp_path, number):
    path = tmp_path / "run.json"
    command = [*LONG, "--json", path]
    code, _, err = ended(command, number, lambda: list(tmp_path.glob(".run.json.*")))
    assert code == 128 + number
    assert "interrupted: this is what the first" in err
    assert json.loads(path.read_text())["interrupted_at_s"] > 0.0
    assert list(tmp_path.iterdir()) == [path]


def test_under_nohup_a_run_goes_on(tmp_path):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    path = tmp_path / "run.json"
    command = [*PROGRAM, *LONG, "--json", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        last = time.monotonic() + 30.0
        while not list(tmp_path.glob(".run.json.*")):
            assert time.monotonic() < last
            time.sleep(0.05)
        time.sleep(1.5)
        process.send_signal(signal.SIGHUP)
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_study_that_is_ended_says_so(tmp_path):
    path = tmp_path / "tuning.study"
    command = ["tune", "varying-load", "--study", path]
    code, _, _ = ended(command, signal.SIGTERM, path.exists)
    assert code == 143
    (record,) = read_studies(path)
    assert record.state == "interrupted"


def test_signals_do_what_ctrl_c_would_do_and_are_answered_no_longer_than_the_command(monkeypatch):
    before = [signal.getsignal(number) for number in NUMBERS]
    said = []
    with like_interrupts() as ending:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        monkeypatch.setattr(signal, "getsignal", lambda _: lambda number, _: said.append(number))
        signal.raise_signal(signal.SIGHUP)
    monkeypatch.undo()
    assert said == [signal.SIGINT]
    assert ending.exit_code(130) == 143
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_a_signal_ends_also_what_ignores_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with like_interrupts(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_keeps_its_exit_code():
    assert EndingSignals().exit_code(130) == 130
