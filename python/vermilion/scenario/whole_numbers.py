"""Whole numbers as Python has them: of its own kind, of NumPy's, and no truth values."""

from __future__ import annotations

import operator


def whole_number(value: object) -> int | None:
    """A whole number of any kind as Python's own; ``None`` for whatever else."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array of several
        return None
