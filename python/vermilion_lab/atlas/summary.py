"""An atlas in words and small tables: the laws, and how far each rule is from the best."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from vermilion_lab.atlas.build import Atlas


def laws_table(atlas: Atlas) -> list[tuple[str, ...]]:
    """A row for each law: ECN, the law, R squared, and both errors as factors."""
    rows: list[tuple[str, ...]] = [("ECN", "law", "R^2", "error, left out", "of the mean alone")]
    for ecn, laws in atlas.laws.items():
        rows += [
            (
                "on" if ecn else "off",
                str(law),
                "" if law.explained is None else f"{law.explained:.2f}",
                f"x {law.error:.2f}",
                f"x {law.constant_error:.2f}",
            )
            for law in laws
        ]
    return rows


def rules_table(atlas: Atlas) -> list[tuple[str, ...]]:
    """A row for each rule: how many times worse than the tuned setting, over the cells.

    The median, the best and the worst cell; in how many it is significantly worse than the tuned
    setting, significantly better, and keeps the constraints beyond doubt.
    """
    rows: list[tuple[str, ...]] = [
        ("rule", "times worse: median", "least", "most", "worse in", "better in", "constraints met")
    ]
    for name in atlas.compared():
        all_of_them = [cell.judged[name] for cell in atlas.cells if name in cell.judged]
        known = [judged for judged in all_of_them if judged.times_worse is not None]
        ratios = [judged.times_worse for judged in known if judged.times_worse is not None]
        if not ratios:
            continue
        count = len(all_of_them)
        worse = sum(
            judged.times_worse_low is not None and judged.times_worse_low > 1.0 for judged in known
        )
        better = sum(
            judged.times_worse_high is not None and judged.times_worse_high < 1.0
            for judged in known
        )
        met = sum(judged.constraints == "met" for judged in all_of_them)
        rows.append(
            (
                name,
                f"{median(ratios):.2f}",
                f"{min(ratios):.2f}",
                f"{max(ratios):.4g}",
                f"{worse} of {count}",
                f"{better} of {count}",
                f"{met} of {count}",
            )
        )
    return rows


def sentences(atlas: Atlas) -> list[str]:
    """Return further remarks."""
    cells = len(atlas.cells)
    tuned = sum(cell.accepted for cell in atlas.cells)
    moved = sum(not cell.own for cell in atlas.cells)
    ends = sum(bool(cell.at_an_end) for cell in atlas.cells)
    warned = sum(bool(cell.warnings) for cell in atlas.cells)
    have = "has" if cells == 1 else "have"
    carry = "carries" if warned == 1 else "carry"
    better = "a setting that is significantly better than the defaults"
    return [
        f"{tuned} of {how_many(cells, 'cell')} {have} {better}",
        f"in {moved} of them a neighbour's setting was better than the cell's own",
        f"in {how_many(ends, 'cell')} a parameter lies at an end of its box",
        f"{how_many(warned, 'cell')} {carry} warnings, which --json has",
    ]
