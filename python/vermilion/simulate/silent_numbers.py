"""Which numbers say nothing about a link or a group of flows, told by what was measured of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.simulate.bulk_flows import SLOWEST_SHARE, STARVED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AMONG_FLOWS: Final = frozenset(
    {
        "goodput_bit_per_s.mean",
        "goodput_bit_per_s.sd",
        "goodput_bit_per_s.min",
        "goodput_bit_per_s.max",
        SLOWEST_SHARE,
        "jain_index",
    }
)
"""Compare the flows of a group with each other."""

_ON_THE_WIRE: Final = ("losses", "loss_rate")
_OF_SENDERS: Final = ("timeouts", "retransmissions")
_WITH_A_SENDER: Final = (STARVED, "transfers_begun")
"""What is measured only of flows that have a sender."""


def silent_of_link(windows: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """The paths of metrics that say nothing about a link: losses of a wire that loses nothing.

    Args:
        windows: the phases and the whole run, as measured of the link.
    """
    lost = any(window.get(key) for window in windows for key in _ON_THE_WIRE)
    return frozenset() if lost else frozenset(_ON_THE_WIRE)


def silent_of_group(windows: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """The paths of metrics that say nothing about a group.

    A flow that is alone in its group cannot be compared with others. Traffic that sends whatever
    the network does repairs nothing, and it alone is hurt by jitter.

    Args:
        windows: the phases and the whole run, as measured of the group.
    """
    nothing: set[str] = set()
    if all(window.get("flows", 0) in {0, 1} for window in windows):
        nothing |= AMONG_FLOWS
    if _is_open_loop(windows):
        nothing |= {*_OF_SENDERS}
    else:
        nothing.add("jitter_ms")
    return frozenset(nothing)


def _is_open_loop(windows: Sequence[Mapping[str, object]]) -> bool:
    return not any(key in window for window in windows for key in _WITH_A_SENDER) and not any(
        window.get(key) for window in windows for key in _OF_SENDERS
    )
