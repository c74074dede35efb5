"""Has flent draw one of our runs: `flent_upload.png`, beside this file.

Three CUBIC flows behind CoDel; the link falls from 20 to 8 Mbit/s. Needs flent, which is no
dependency of this project, and matplotlib: `pip install flent matplotlib`, best in an environment
of its own. `FLENT` names the program:

    FLENT=elsewhere/bin/flent .venv/bin/python docs/figures/flent_upload.py
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from vermilion import FlowSeries, Network, run
from vermilion_lab.interchange import write_flent

PICTURE = Path(__file__).with_suffix(".png")


def main() -> None:
    """Runs, writes and has it drawn."""
    network = Network("Three CUBIC flows, and a link that becomes slower", duration="40 s")
    network.link("bottleneck", rate="20 Mbit/s", delay="10 ms", queue="codel")
    network.change(at="20 s", link="bottleneck", rate="8 Mbit/s")
    network.flows(
        "all", count=3, path="bottleneck", rtt="40 ms", sender="cubic", start="0 s .. 4 s"
    )
    scenario = network.scenario()
    result = run(scenario, probe_interval_s=0.5, instruments=[FlowSeries(interval_s=0.5)])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.flent.gz"
        write_flent(file, result, scenario)
        flent = [os.environ.get("FLENT", "flent"), "-i", str(file)]
        subprocess.run([*flent, "-p", "upload", "-o", str(PICTURE)], check=True)


if __name__ == "__main__":
    main()
