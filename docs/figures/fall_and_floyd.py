"""Draws Fall and Floyd's figures 2 to 5: one to four losses in a window.

Runs `docs/examples/fall_and_floyd.toml` for Tahoe, Reno, NewReno and SACK with one to four of its
packets dropped, and draws when each segment reaches the link and when it is acknowledged. Writes
`fall_and_floyd_1.svg` to `fall_and_floyd_4.svg` and the table `fall_and_floyd.txt` beside this
file. Takes some seconds:

    .venv/bin/python docs/figures/fall_and_floyd.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from vermilion import PacketTrace, load_scenario, run
from vermilion.report.drawing import BLUE, GREY, INK, ORANGE, VERMILION, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vermilion.simulate import Result

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

SCENARIO = HERE.parent / "examples" / "fall_and_floyd.toml"
SENDERS = ("tahoe", "reno", "newreno", "sack")
NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK"}
FIRST_LOST = 15
SHOWN_S = (0.5, 4.0)
SHOWN_SEGMENTS = (5, 85)


def outcome(sender: str, losses: int) -> Result:
    """A run in which so many segments of the window are dropped, two apart."""
    lost = [FIRST_LOST + 2 * index for index in range(losses)]
    changes = [
        f"flows.sender.sender.congestion_control={sender}",
        f"scripted_losses.0.segments={lost}",
    ]
    return run(load_scenario(SCENARIO, changes), instruments=[PacketTrace(at=["path", "senders"])])


def draw(axes: Axes, result: Result) -> None:
    """A sequence plot: segments at the link, and what has been acknowledged."""
    packets = result.packets
    if packets is None:
        return
    heard = packets.where(event="deliver", place="sender")
    axes.step(
        heard["time_ns"] / 1e9, heard["sequence"], where="post", color=GREY, lw=1.0,
        label="waited for by the receiver",
    )  # fmt: skip
    arrived = packets.where(event="arrive", place="path")
    for again, colour, words in ((False, BLUE, "segment"), (True, ORANGE, "sent again")):
        chosen = arrived["retransmission"] == again
        axes.plot(
            arrived["time_ns"][chosen] / 1e9, arrived["sequence"][chosen], ls="", marker="s",
            ms=3.2, color=colour, label=words,
        )  # fmt: skip
    dropped = packets.where(event="drop")
    axes.plot(
        dropped["time_ns"] / 1e9, dropped["sequence"], ls="", marker="x", ms=7, mew=1.8,
        color=VERMILION, label="dropped",
    )  # fmt: skip
    axes.set_xlim(*SHOWN_S)
    axes.set_ylim(*SHOWN_SEGMENTS)


def figure(losses: int, results: dict[str, Result]) -> Figure:
    """The four senders after so many losses."""
    with style():
        drawn = Figure(figsize=(9.6, 6.4), layout="constrained")
        panels = drawn.subplots(2, 2, sharex=True, sharey=True)
        for axes, sender in zip(panels.flat, SENDERS, strict=True):
            draw(axes, results[sender])
            total = results[sender].flows("sender").total
            again, timeouts = total["retransmissions"], total["timeouts"]
            waits = "no timeout" if timeouts == 0 else f"{timeouts} timeout"
            axes.set_title(f"{NAMES[sender]}: {again} sent again, {waits}")
        for axes in panels[:, 0]:
            axes.set_ylabel("segment")
        for axes in panels[1]:
            axes.set_xlabel("time (s)")
        words = "one segment" if losses == 1 else f"{losses} segments"
        drawn.suptitle(f"A window of 16 loses {words}", x=0.01, ha="left", weight="bold", color=INK)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=1.4)
    return drawn


def main() -> None:
    """Draws the figures and writes the table."""
    lines = ["| | 1 lost | 2 lost | 3 lost | 4 lost |", "|---|---|---|---|---|"]
    results = {(name, lost): outcome(name, lost) for name in SENDERS for lost in range(1, 5)}
    for losses in range(1, 5):
        drawn = figure(losses, {sender: results[sender, losses] for sender in SENDERS})
        with style():
            drawn.savefig(HERE / f"fall_and_floyd_{losses}.svg", metadata={"Date": None})
    for sender in SENDERS:
        cells = []
        for losses in range(1, 5):
            total = results[sender, losses].flows("sender").total
            waits = ", timeout" if total["timeouts"] else ""
            cells.append(f"{total['retransmissions']}{waits}")
        lines.append(f"| {NAMES[sender]} | {' | '.join(cells)} |")
    lines += ["", made_by("docs/figures/fall_and_floyd.py")]
    (HERE / "fall_and_floyd.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
