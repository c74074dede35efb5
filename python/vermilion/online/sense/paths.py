"""Which flows cross which of several queues.

Where a monitor stands beside each queue this is seen: a flow crosses the queues at which its
packets pass. What is not seen is in which order; that is the operator's, or the order in which the
links are configured. Where there are only counters nobody can tell a flow that crosses two queues
from two flows. Then each queue is taken to have flows of its own, or, where the operator has said
which paths there are, as many flows are put on each path as make up what the queues report: the
least squares solution with no number below 0 (Lawson and Hanson, *Solving Least Squares Problems*,
1974), and of many that do equally well the one that spreads them most evenly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.sense.flow_numbers import is_among

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.online.sense.flow_activity import FlowActivity

Path = tuple[str, ...]
"""The names of the links that a flow crosses, in its order."""

_EVENLY = 1e-2  # how much spreading flows evenly counts beside what queues report


def alive(activity: FlowActivity) -> NDArray[np.int64]:
    """The flows that a queue has carried lately and that are there still, ascending.

    Here a flow is a flow, however little of it gets through: whoever crosses several queues is
    dropped from at each, and is not to be forgotten for that.
    """
    there = activity.responsive & (activity.kept_bytes > 0) & (activity.flows >= 0)
    if activity.now_s > activity.fell_s + activity.lately_s:
        there = there & (activity.last_s > activity.fell_s)
    return activity.flows[there]


def seen_paths(
    alive_at: Mapping[str, NDArray[np.int64]], configured: Sequence[Path]
) -> dict[Path, NDArray[np.int64]]:
    """The flows, by the queues that they cross.

    Args:
        alive_at: the flows at each queue, in the order in which the links are configured.
        configured: paths whose order the operator knows.
    """
    import numpy as np

    links = list(alive_at)
    flows = np.unique(np.concatenate(list(alive_at.values())))
    crossed = np.array([is_among(flows, each) for each in alive_at.values()])
    orders = {frozenset(path): path for path in configured}
    found: dict[Path, NDArray[np.int64]] = {}
    for pattern in np.unique(crossed, axis=1).T if len(flows) else ():
        names = tuple(link for link, crosses in zip(links, pattern, strict=True) if crosses)
        path = orders.get(frozenset(names), names)
        found[path] = flows[(crossed == pattern[:, None]).all(axis=0)]
    return dict(sorted(found.items(), key=lambda each: (-len(each[0]), links.index(each[0][0]))))


def flows_on_paths(flows_at: Mapping[str, float], configured: Sequence[Path]) -> dict[Path, float]:
    """How many flows take each path, from how many each queue seems to have.

    Args:
        flows_at: flows at each queue, by its counters.
        configured: the paths there are; where there are none, each queue is one.
    """
    import numpy as np
    from scipy.optimize import nnls

    paths = list(configured)
    covered = {link for path in paths for link in path}
    paths += [(link,) for link in flows_at if link not in covered]
    crosses = np.array([[float(link in path) for path in paths] for link in flows_at])
    evenly = _EVENLY * np.eye(len(paths))
    wanted = np.concatenate([np.array(list(flows_at.values())), np.zeros(len(paths))])
    found, _ = nnls(np.vstack([crosses, evenly]), wanted)
    return dict(zip(paths, found.tolist(), strict=True))
