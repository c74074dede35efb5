"""Whether a key has a meaning in a link or a group of flows as it is written.

Links and groups differ in their kinds: a CoDel queue has no ``max_probability``, a web group no
``rate``, and what sends whatever the network does has no sender. Values are not looked at here,
and what is not written as it should be fits: the checks of a scenario say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from vermilion.scenario.algorithms import disciplines, senders
from vermilion.scenario.errors import did_you_mean
from vermilion.scenario.traffic import example_of, keys_of, sends_by_itself

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.scenario.algorithms import Algorithm

    _Written = Mapping[str, object]


def why_unfit(written: object, below: str) -> str:
    """Why a link or a group of flows has nothing at a path; "" where it may have.

    Args:
        written: its table.
        below: the path within it, like ``queue.limit``.
    """
    table, _, rest = below.partition(".")
    key = rest.partition(".")[0]
    if not isinstance(written, Mapping) or table not in _TABLES:
        return ""
    return _TABLES[table](written, key)


def _of_queue(link: _Written, key: str) -> str:
    return _of_algorithm(link.get("queue"), "discipline", disciplines, key)


def _of_sender(group: _Written, key: str) -> str:
    traffic = group.get("traffic", "bulk")
    if sends_by_itself(traffic):
        return f"there is no sender, for its traffic is like {example_of(traffic)}"
    return _of_algorithm(group.get("sender"), "congestion_control", senders, key)


def _of_traffic(group: _Written, key: str) -> str:
    traffic = group.get("traffic", "bulk")
    known = keys_of(traffic)
    if not key or known is None or key in known:
        return ""
    return f"there is no {key}, for its traffic is like {example_of(traffic)}"


_TABLES: Final[Mapping[str, Callable[[_Written, str], str]]] = {
    "queue": _of_queue,
    "sender": _of_sender,
    "traffic": _of_traffic,
}


def _of_algorithm(
    written: object, named_by: str, known: Callable[[], dict[str, Algorithm]], key: str
) -> str:
    """Whether what a table names has such a parameter; the name alone may stand for the table."""
    name = written.get(named_by) if isinstance(written, Mapping) else written
    algorithm = known().get(name) if isinstance(name, str) else None
    if algorithm is None or not key or key == named_by or key in algorithm.parameters:
        return ""
    return f"{algorithm.name} has {did_you_mean(key, algorithm.parameters)}"
