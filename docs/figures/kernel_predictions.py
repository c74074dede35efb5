"""Writes docs/figures/kernel_predictions.txt: what the model promised of settings on the kernel.

    python docs/figures/kernel_predictions.py

From the journals of the runs of ``benches/kernel_online.py`` (their decisions are kept in
``benches/results/kernel-online.jsonl``). Each time that the controller has judged a setting which
it put in force, it says what it measured, what its model had promised, and what was before:
measured where it could be, else by the model.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benches"))

from provenance import drawn_by  # noqa: E402 - found by the path above

RESULTS: Final = ROOT / "benches" / "results" / "kernel-online.jsonl"
TABLE: Final = ROOT / "docs" / "figures" / "kernel_predictions.txt"

_VERDICTS: Final = ("verified", "unproven", "rolled-back")
_NUMBER: Final = r"(-?[\d.]+(?:e[+-]?\d+)?)"
_JUDGED: Final = re.compile(
    rf"mean queue {_NUMBER} packets \(model {_NUMBER}\), (.+?) {_NUMBER} (packets\^2|ms)"
    rf" \(model {_NUMBER}"
    rf"(?:, (before|old setting by the model|model of the old setting) {_NUMBER})?\)"
)
_SAME: Final = 1.5
"""A promise within this factor of what came is taken for kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One setting that was put in force and judged.

    Attributes:
        queue: mean measured, packets.
        promised_queue: by the model.
        cost: the objective measured, in its own unit.
        promised_cost: by the model.
        before: the objective under the old setting; ``None`` where nobody knows.
        is_measured: whether that was measured; else it is the model's.
        verdict: the controller's.
    """

    queue: float
    promised_queue: float
    cost: float
    promised_cost: float
    before: float | None
    is_measured: bool
    verdict: str


def outcomes(row: dict[str, Any]) -> list[Outcome]:
    """Every judgement of a run: the last one of each setting that was put in force."""
    found: list[Outcome] = []
    judged = True
    for _, kind, reason in row["decisions"]:
        if kind == "applied":
            judged = False
        told = _JUDGED.search(reason) if kind in _VERDICTS else None
        if told is None:
            continue
        queue, promised_queue, _, cost, _, promised, how, before = told.groups()
        outcome = Outcome(
            float(queue),
            float(promised_queue),
            float(cost),
            float(promised),
            None if before is None else float(before),
            how == "before",
            kind,
        )
        if judged and found:
            found[-1] = outcome
        else:
            found.append(outcome)
        judged = True
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """What was promised and what came, by case."""
    head = (
        "case",
        "applied",
        "judged",
        "queue: found over promised",
        "objective: found over promised",
        "kept within 1.5",
        "before over promised",
        "before over found",
        "worse than before",
    )
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    every: list[Outcome] = []
    applied = 0
    for case in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == case]
        put = sum(kind == "applied" for row in own for _, kind, _ in row["decisions"])
        found = [outcome for row in own for outcome in outcomes(row)]
        lines.append(_line(case, put, found))
        every += found
        applied += put
    lines.append(_line("all", applied, every))
    seeds = len({row["seed"] for row in rows})
    said = (
        f"{len(rows)} runs, up to {seeds} seeds. Medians, with the range from the 10th to the 90th "
        "percentile behind them. Before: the objective under the setting of before, as it was "
        "measured where that could be done in the same conditions, else by the model; over what "
        "was found only where it was measured (how often, in brackets)."
    )
    return "\n".join([*lines, "", said]) + "\n"


def _line(case: str, applied: int, found: Sequence[Outcome]) -> str:
    measured = [each for each in found if each.is_measured and each.before and each.cost]
    ratios = [each.cost / each.promised_cost for each in found if each.promised_cost > 0.0]
    promised = [each.before / each.promised_cost for each in found if each.before]
    gains = [each.before / each.cost for each in measured if each.before]
    kept = sum(1.0 / _SAME <= ratio <= _SAME for ratio in ratios)
    worse = sum(gain < 1.0 / _SAME for gain in gains)
    cells = [
        case,
        str(applied),
        str(len(found)),
        _spread([each.queue / each.promised_queue for each in found if each.promised_queue]),
        _spread(ratios),
        f"{kept} of {len(ratios)}",
        _spread(promised),
        f"{_spread(gains)} ({len(gains)})",
        f"{worse} of {len(gains)}",
    ]
    return f"| {' | '.join(cells)} |"


def _spread(values: Sequence[float]) -> str:
    """A median with the 10th and the 90th percentile."""
    if not values:
        return "-"
    ordered = sorted(values)
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.1, 0.9))
    return f"{median(ordered):.3g} ({low:.3g} .. {high:.3g})"


def main() -> None:
    """Writes the table."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    made = drawn_by("docs/figures/kernel_predictions.py", RESULTS)
    text = table([json.loads(line) for line in lines])
    TABLE.write_text(f"{text}\n{made}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
