"""Sets of flows as ascending arrays of their numbers, as rows of tables are in their order.

Asked for at every sample, of few flows mostly: the general functions of the same purpose take
several times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.int64]
    Rows: TypeAlias = NDArray[np.intp]


def is_among(flows: Numbers, others: Numbers) -> NDArray[np.bool_]:
    """For each of these flows whether it is one of the others; both ascending."""
    import numpy as np

    if len(others) == 0:
        return np.zeros(len(flows), np.bool_)
    place = np.searchsorted(others, flows)
    place[place == len(others)] = 0
    among: NDArray[np.bool_] = others[place] == flows
    return among


def united(known: Numbers, seen: Numbers) -> tuple[Numbers, Rows, Rows]:
    """All flows of both, and the rows in it of the ones and of the others; all ascending."""
    import numpy as np

    flows = known if is_among(seen, known).all() else np.union1d(known, seen)
    return flows, np.searchsorted(flows, known), np.searchsorted(flows, seen)
