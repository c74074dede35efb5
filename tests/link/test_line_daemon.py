"""The daemon for routers without Python, in real time behind a modem: ``crates/line-daemon``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python"
CAPACITY = 6e6
CASE = {
    "trace_ms": [2, 4, 6, 8, 10],
    "direction": "up",
    "law": "none",
    "kind": "tbf",  # of which every kernel has it
    "start_bit_per_s": 10e6,
    "rtt_s": 0.04,
    "buffer_bytes": 500_000,
    "flows": 2,
    "congestion_control": "reno",
}
SETTINGS = """
interface = wan
mode = control
reflectors = 10.9.1.11 10.9.1.12 10.9.1.13 10.9.1.14 10.9.1.15 10.9.1.16
undo = /mnt/undo
report = 1 s
"""


@pytest.fixture(scope="module")
def daemon():
    """The binary, built here."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo to build the daemon with")
    words = ["cargo", "build", "--locked", "--quiet", "-p", "vermilion-line-daemon"]
    subprocess.run(words, cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / "debug" / "vermilion-line"


def run(tmp_path, duration_s, *program):
    """Runs programs in a home behind a modem of 6 Mbit/s: what they said, and all figures."""
    (tmp_path / "case.json").write_text(
        json.dumps({**CASE, "duration_s": duration_s, "program": program})
    )
    (tmp_path / "line.conf").write_text(SETTINGS)
    script = (
        'mount --bind "$1" /mnt && mount -t tmpfs none /run && '
        f"exec {sys.executable} -m vermilion_lab.kernel_plant.line_guest"
    )
    words = ["unshare", "--net", "--mount", "sh", "-c", script, "sh", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    subprocess.run(words, check=True, timeout=duration_s + 60, env=environment)
    assert not (tmp_path / "failure").exists(), (tmp_path / "failure").read_text()
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    return outcome["program"], outcome


def words_of(*words, **more):
    return {"words": [str(each) for each in words], "vermilion": False, **more}


def rate_of(shown):
    """The rate of a ``tbf`` in words of ``tc -j``, bits a second."""
    return 8.0 * json.loads(shown["said"])[0]["options"]["rate"]


def test_the_rate_is_kept_below_the_line_and_put_back_at_the_end_and_after_a_kill(tmp_path, daemon):
    show = words_of("tc", "-j", "qdisc", "show", "dev", "wan")
    ended, restored, killed, safe, undone, again = run(
        tmp_path,
        45.0,
        words_of(daemon, "/mnt/line.conf", kill_after_s=18.0, signal=signal.SIGTERM),
        show,
        words_of(daemon, "/mnt/line.conf", kill_after_s=14.0, then_wait_s=1.0),
        show,
        words_of(daemon, "--undo", "/mnt/line.conf"),
        show,
    )[0]
    assert ended["code"] == 0, ended["said"]
    reports = [each for each in ended["said"].splitlines() if "the line about" in each]
    assert reports
    assert "behind the shaper" in ended["said"]
    assert rate_of(restored) == 10e6
    assert killed["code"] == -signal.SIGKILL
    assert 0.4 * CAPACITY < rate_of(safe) < 1.3 * CAPACITY, killed["said"]
    assert undone["code"] == 0, undone["said"]
    assert "10.0 Mbit/s" in undone["said"]
    assert rate_of(again) == 10e6
    assert not (tmp_path / "undo").exists()


def test_what_is_missing_ends_in_one_line(tmp_path, daemon):
    file = tmp_path / "line.conf"
    file.write_text("interface = lo\n")
    may_nothing = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for words, said in (
        ([*may_nothing, daemon, file], "CAP_NET_RAW"),
        ([daemon, file], "there is no shaper here"),
        ([daemon, tmp_path / "none"], "--example"),
        ([daemon, "--undo", file], "nothing to undo"),
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
