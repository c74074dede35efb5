"""Draws a line whose rate varies, with no shaper, a fixed one, and one that is kept at its rate.

A generated line (steps of 10 s between 8 and 24 Mbit/s, 80 ms of silence at each, a seed), CAKE and
TCP of Linux 6.12 in virtual time, four CUBIC flows that upload, and a call. Writes the figure
`line_varies.svg` and its numbers, `line_varies.txt`, beside this file. Needs `make kernel`:

    .venv/bin/python docs/figures/line_varies.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

from vermilion.report.drawing import BLUE, GREEN, GREY, VERMILION, plain_numbers, sheet, style, svg
from vermilion_lab.kernel_plant.line import LineCase, LineOutcome, run_line

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

SPAN_S, STEP_MS, SILENCE_MS = 50, 10_000, 80
WAYS = (
    ("no shaper", GREY, {"shaper": False, "law": "fixed"}),
    ("fixed at 8 Mbit/s", BLUE, {"law": "fixed", "start_bit_per_s": 8e6}),
    ("control --line auto", VERMILION, {"law": "service-curve", "start_bit_per_s": 10e6}),
)


def generated(seed: int = 4) -> list[int]:
    """Return a line's opportunities to send 1500 bytes, in milliseconds."""
    random, found, credit, rate = Random(seed), [], 0.0, 0.0  # noqa: S311 - a line, no secret
    for at in range(1000 * SPAN_S):
        if at % STEP_MS == 0:
            level = random.uniform(8.0, 24.0)
        if at % 100 == 0:
            rate = level * random.uniform(0.8, 1.2)
        if at % STEP_MS < SILENCE_MS:
            continue
        credit += rate * 1e3 / 12_000
        found += [at + 1] * int(credit)
        credit %= 1.0
    return found


def per_second(times: list[int]) -> list[float]:
    """Return Mbit/s of each second."""
    counts = [0.0] * SPAN_S
    for each in times:
        counts[min(each // 1000, SPAN_S - 1)] += 0.012
    return counts


def draw(trace: list[int], outcomes: list[LineOutcome]) -> str:
    """Return the figure: the line and the kept rate above, the call's delay below."""
    with style():
        figure = sheet(4.6)
        above, below = figure.subplots(2, sharex=True)
        above.stairs(per_second(trace), range(SPAN_S + 1), color=GREEN, label="what the line gives")
        kept = outcomes[-1].raw["kept"]["rates"]
        above.plot(
            [at for at, _ in kept],
            [rate / 1e6 for _, rate in kept],
            color=VERMILION,
            linewidth=0.9,
            label="rate that is kept",
        )
        above.set(ylabel="Mbit/s", ylim=(0, 40))
        above.legend(ncols=2, loc="upper left")
        for (name, color, _), outcome in zip(WAYS, outcomes, strict=True):
            calls = outcome.raw["call"]
            below.plot(
                [sent for sent, _ in calls],
                [1e3 * delay for _, delay in calls],
                color=color,
                linewidth=0.9,
                label=f"{name}: {outcome.share:.0%} of the line used",
            )
        below.set(yscale="log", ylabel="delay of the call, ms", xlabel="s", ylim=(20, 20_000))
        below.legend(loc="upper left", fontsize="small")
        plain_numbers(below.yaxis)
    described = "Rate of a varying line and of the shaper, and a call's delay with three shapers"
    return svg(figure, name="line-varies", description=described)


def main() -> None:
    """Run and draw."""
    trace = generated()
    outcomes = [run_line(LineCase(trace, duration_s=float(SPAN_S), **more)) for *_, more in WAYS]
    (HERE / "line_varies.svg").write_text(draw(trace, outcomes), encoding="utf-8")
    rows = ["way                  used   call's delay p95   excess p95"]
    for (name, *_), each in zip(WAYS, outcomes, strict=True):
        delays = f"{1e3 * each.delay_p95_s:13.0f} ms {1e3 * each.excess_p95_s:9.0f} ms"
        rows.append(f"{name:<20} {each.share:5.1%} {delays}")
    text = "\n".join([*rows, "", made_by("docs/figures/line_varies.py")])
    (HERE / "line_varies.txt").write_text(f"{text}\n", encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
