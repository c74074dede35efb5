"""One number for objective and constraints together, for searches that know only numbers.

Every setting that keeps all constraints comes before every setting that breaks one; the
former are ordered by the objective, the latter by how badly they break the constraints
(K. Deb, "An efficient constraint handling method for genetic algorithms", Computer Methods in
Applied Mechanics and Engineering 186, 2000). So a search first finds its way into the feasible
region and then downhill in it, and no weight between objective and constraints has to be
chosen.

The objective is squeezed into (0, 1), without changing its order, so that 1 + violation
lies above it however large it is, and means of several such numbers stay meaningful.
"""

from __future__ import annotations

import math
from typing import Final

BROKEN: Final = 1.0
"""The value from which on a setting breaks a constraint."""


def feasible_first(objective: float, violation: float, scale: float) -> float:
    """The value of a setting for a search: below :data:`BROKEN` if it keeps the constraints.

    Args:
        objective: to be minimised, any finite number.
        violation: the sum over the constraints of how badly each is broken, relative to its
            bound; 0 if all are kept, ``math.inf`` if that cannot be computed.
        scale: a typical size of the objective, such as the incumbent's value, above 0. Well
            below it the squeezed objective is nearly proportional to the objective.
    """
    if violation > 0.0:
        return BROKEN + violation
    if math.isinf(objective):
        return math.inf
    ratio = objective / scale
    return 0.5 * (1.0 + ratio / (1.0 + abs(ratio)))
