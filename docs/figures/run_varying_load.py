"""Draws the figure of the front page, for a page and for a phone.

    .venv/bin/python docs/figures/run_varying_load.py

The wide one is what ``vermilion run varying-load --figure run_varying_load.svg`` draws; the narrow
one is what the page of ``--figure run.html`` shows on a phone.
"""

from __future__ import annotations

from pathlib import Path

import vermilion
from vermilion.report.drawing import picture
from vermilion.report.run_figure import probe_interval_s

HERE = Path(__file__).parent


def main() -> None:
    """Write both."""
    scenario = vermilion.load_scenario("varying-load")
    flows = vermilion.FlowSeries(interval_s=scenario.duration / 400)
    interval_s = probe_interval_s(scenario)
    result = vermilion.run(scenario, 1, interval_s, flow_delays=True, instruments=[flows])
    drawn = vermilion.run_figure(scenario, result)
    for name, narrow in (("run_varying_load", False), ("run_varying_load_phone", True)):
        (HERE / f"{name}.svg").write_bytes(picture(drawn.figure(narrow=narrow), "svg"))


if __name__ == "__main__":
    main()
