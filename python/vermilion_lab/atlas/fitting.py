"""Power laws through the settings of an atlas, and how well they predict cells they have not seen.

ln(parameter) = a + b_1 ln(rate / 10 Mbit/s) + b_2 ln(flows / 10) + b_3 ln(round trip / 100 ms), by
least squares. An axis with one value has no exponent. The error that counts is that of leaving one
out: each cell is predicted from all others, and the root mean square of the differences of the
logarithms is given as a factor (1.5: half as much again, or two thirds). The same of the geometric
mean alone says what the exponents are worth. Cells whose setting is the discipline's default are
left out, and so are values that are not positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion_lab.atlas.plan import Condition

AXES: Final = (
    ("rate_bit_per_s", 1e7, "rate / 10 Mbit/s"),
    ("flows", 10.0, "flows / 10"),
    ("round_trip_s", 0.1, "RTT / 100 ms"),
)
"""Attributes of a condition, the units of the law, and how they are written."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """A parameter as a product of powers of the conditions.

    Attributes:
        parameter: its name.
        cells: that it was fitted to.
        constant: the parameter at 10 Mbit/s, 10 flows and 100 ms.
        exponents: by axis; those of axes with several values.
        errors: the standard error of each exponent.
        explained: the share of the variance of the logarithm (R squared).
        error: of cells that are left out, as a factor.
        constant_error: the same of the geometric mean alone.
    """

    parameter: str
    cells: int
    constant: float
    exponents: Mapping[str, float]
    errors: Mapping[str, float]
    explained: float | None
    error: float
    constant_error: float

    def __str__(self) -> str:
        """The law in a line."""
        names = {axis: text for axis, _, text in AXES}
        powers = "".join(
            f" x ({names[axis]})^({value:+.2f} +- {self.errors[axis]:.2f})"
            for axis, value in self.exponents.items()
        )
        return f"{self.parameter} = {self.constant:.3g}{powers}"

    def at(self, condition: Condition) -> float:
        """Evaluate the law under a condition."""
        units = {axis: unit for axis, unit, _ in AXES}
        powers = (
            (getattr(condition, axis) / units[axis]) ** value
            for axis, value in self.exponents.items()
        )
        return float(self.constant * math.prod(powers))


def fit_power_law(
    parameter: str, conditions: Sequence[Condition], values: Sequence[float]
) -> PowerLaw | None:
    """The law through some cells.

    Args:
        parameter: its name.
        conditions: of the cells.
        values: of the parameter there.

    Returns:
        ``None`` where there are not at least two cells more than there are numbers to fit.
    """
    import numpy as np

    known = [(c, v) for c, v in zip(conditions, values, strict=True) if v > 0.0]
    if not known:
        return None
    axes = [
        (axis, unit)
        for axis, unit, _ in AXES
        if len({getattr(condition, axis) for condition, _ in known}) > 1
    ]
    if len(known) < len(axes) + 3:
        return None
    rows = [
        [1.0, *(math.log(getattr(condition, axis) / unit) for axis, unit in axes)]
        for condition, _ in known
    ]
    design = np.array(rows)
    logs = np.log(np.array([value for _, value in known]))
    inverse = np.linalg.pinv(design.T @ design)
    found = inverse @ design.T @ logs
    residuals = logs - design @ found
    # Of a linear fit, the residual of a cell left out is its own by 1 - its leverage.
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    left_out = residuals / np.maximum(1.0 - leverage, 1e-12)
    count = len(known)
    variance = float(residuals @ residuals) / (count - len(found))
    around_mean = logs - logs.mean()
    total = float(around_mean @ around_mean)
    mean_left_out = around_mean * count / (count - 1)
    errors = np.sqrt(variance * np.diag(inverse))
    names = [axis for axis, _ in axes]
    return PowerLaw(
        parameter=parameter,
        cells=count,
        constant=float(np.exp(found[0])),
        exponents=dict(zip(names, map(float, found[1:]), strict=True)),
        errors=dict(zip(names, map(float, errors[1:]), strict=True)),
        explained=1.0 - float(residuals @ residuals) / total if total > 0.0 else None,
        error=_factor(left_out.tolist()),
        constant_error=_factor(mean_left_out.tolist()),
    )


def _factor(differences: Sequence[float]) -> float:
    return math.exp(math.sqrt(math.fsum(each * each for each in differences) / len(differences)))
