"""Locks beside a journal: who asks for one is in nobody's way, and a killed run holds none."""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from test_status import BEGUN, SAMPLE, running
from vermilion.files.file_lock import give_back, is_held, take
from vermilion.online.drive.locks import only_run
from vermilion.status import read_status


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(hours=1)])
def test_a_simulated_run_that_was_killed_is_silent_at_once(tmp_path, ahead):
    path = tmp_path / "practice.sqlite"
    with running(path, [BEGUN], network="seed 1") as book:
        book.keep(replace(SAMPLE, time_s=ahead.total_seconds()))
    queue = ("linux:eth0", "linux", "linux:eth0", "red", "seed 1")
    with only_run(path, *queue):  # by whoever writes it
        [status] = read_status(path, BEGUN)
        assert status.state == "running"
    [status] = read_status(path, BEGUN)
    assert (status.state, status.next_look) == ("silent", None)
    # A process that is killed leaves the file of its lock behind.
    lock = next(iter(take_and_leave(path, queue)))
    assert lock.exists()
    [status] = read_status(path, BEGUN)
    assert status.state == "silent"


def take_and_leave(path, queue):
    """The files of the locks of a process that was killed while it wrote a run."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from vermilion.online.drive.locks import only_run\n"
        "with only_run(Path(sys.argv[1]), *sys.argv[2:]): os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", script, path, *queue], check=False, timeout=60)
    return path.parent.glob("*-lock-*")


def test_who_asks_for_a_lock_is_in_nobodys_way(tmp_path):
    lock = tmp_path / "lock"
    assert is_held(lock) is False
    assert not lock.exists()
    taken = take(lock)
    assert is_held(lock) is True
    with pytest.raises(BlockingIOError):
        take(lock)
    give_back(lock, taken)
    assert is_held(lock) is False
