"""A controller beside a full queue of this machine: where packets wait, and what stands still."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

BENCH = str(Path(__file__).parents[2] / "benches" / "real_run.py")
QUEUE = ["--rate", "14", "--limit", "1000", "--flows", "8", "--round-trips", "28"]


def test_beside_a_full_pfifo_packets_wait_here_and_the_path_stays_what_it_is():
    """1000 packets are 860 ms at 14 Mbit/s, thirty times the path, whose 28 ms do not change."""
    words = [sys.executable, BENCH, "--mode", "observe", "--minutes", "0.6", *QUEUE]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
    said = json.loads(done.stdout)["said"]
    built = next(line for line in said if "model-built" in line)
    assert float(built.split(" s ")[0]) < 30.0
    [waits_ms] = re.findall(r"packets wait here, (\d+) ms", built)
    assert 300 < int(waits_ms) < 900
    assert not [line for line in said if "base round trips have moved" in line], said
    assert not [line for line in said if "behind this queue" in line], said
