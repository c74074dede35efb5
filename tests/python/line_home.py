"""A home behind a modem of 6 Mbit/s, in which programs run; in namespaces, in real time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python"
CAPACITY = 6e6
FOUND = 10e6
TRACE_MS = [2, 4, 6, 8, 10]
REFLECTORS = [f"10.9.1.{number}" for number in range(11, 17)]
CASE = {
    "trace_ms": TRACE_MS,
    "direction": "up",
    "law": "none",
    "kind": "tbf",  # of which every kernel has it
    "start_bit_per_s": FOUND,
    "rtt_s": 0.04,
    "buffer_bytes": 500_000,
    "flows": 2,
    "congestion_control": "reno",
}
BOTH = {"both": True, "back_trace_ms": TRACE_MS, "back_flows": 2}


DAEMON_SETTINGS = f"""
interface = wan
mode = control
reflectors = {" ".join(REFLECTORS)}
undo = /mnt/undo
report = 1 s
"""


def built_daemon():
    """The daemon for routers without Python, built here."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo to build the daemon with")
    words = ["cargo", "build", "--locked", "--quiet", "-p", "vermilion-line-daemon"]
    subprocess.run(words, cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / "debug" / "vermilion-line"


def run(folder, duration_s, *program, **more):
    """Runs programs one after another, whose folder is /mnt: what they said, and all figures."""
    case = {**CASE, "duration_s": duration_s, "program": program, **more}
    (folder / "case.json").write_text(json.dumps(case))
    script = (
        'mount --bind "$1" /mnt && mount -t tmpfs none /run && '
        f"exec {sys.executable} -m vermilion_lab.kernel_plant.line_guest"
    )
    words = ["unshare", "--net", "--mount", "sh", "-c", script, "sh", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    subprocess.run(words, check=True, timeout=duration_s + 60, env=environment)
    assert not (folder / "failure").exists(), (folder / "failure").read_text()
    outcome = json.loads((folder / "outcome.json").read_text())
    return outcome["program"], outcome


def words_of(*words, **more):
    return {"words": [str(each) for each in words], "vermilion": False, **more}


def show(interface="wan"):
    return words_of("tc", "-j", "qdisc", "show", "dev", interface, "root")


def by_hand(rate, interface="wan"):
    """The call with which somebody sets a shaper's rate."""
    settings = f"rate {rate} burst 5k limit 60k"
    return ["tc", *f"qdisc change dev {interface} root tbf {settings}".split()]


COMES_BACK = [
    [at, *words.split()]
    for at, words in (
        (10.0, "ip link set wan down"),
        (10.1, "ip link set wan name away"),
        (12.0, "ip link set away name wan"),
        (12.2, "tc qdisc del dev wan root"),
        (12.5, "tc qdisc add dev wan root tbf rate 8mbit burst 5k limit 60k"),
        (13.0, "ip link set wan up"),
        (13.1, "ip route add 10.9.1.0/24 dev wan"),
    )
]
"""An interface that goes and comes back with a new shaper, as PPPoE has it."""


def rate_of(shown):
    """The rate of a ``tbf`` in words of ``tc -j``, bits a second."""
    return 8.0 * json.loads(shown["said"])[0]["options"]["rate"]
