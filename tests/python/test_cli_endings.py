"""Ends of commands: SIGTERM and SIGHUP like Ctrl-C, and streams closed from the beginning."""

import json
import signal
import subprocess
import time

import pytest

from test_cli import PROGRAM, SHORT
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
    assert "interrupted: results of the first" in err
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


def run_with(closing, *command):
    """What a command leaves, started by a shell that closes some of its streams."""
    line = ["sh", "-c", f'exec "$@" {closing}', "sh", *PROGRAM, *map(str, command)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "command",
    [["disciplines"], ["--help"], ["run", "--help"], ["scenarios", "--json=-"], ["--version"]],
)
def test_what_is_only_shown_goes_nowhere(command):
    done = run_with(">&-", *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_files_are_written_though_nothing_can_be_shown(tmp_path):
    path = tmp_path / "run.json"
    done = run_with(">&- 2>&- <&-", "run", "varying-load", *SHORT, "--json", path)
    assert done.returncode == 0
    assert json.loads(path.read_text())["seed"] == 1


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_mistake_keeps_its_exit_code(closing):
    done = run_with(closing, "run", "nowhere")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
