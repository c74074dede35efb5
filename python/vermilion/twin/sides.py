"""Which hosts stand on which side of the link that a capture was made on.

A capture does not say which way a packet went. But every flow joins a host of one side with a host
of the other, so the hosts can be told apart by two colours, from flow to flow. Hosts that no chain
of flows joins are told apart each for themselves; such a group is turned so that its heavier
direction is the heavier one of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Sides:
    """Hosts with a colour each, by the flows that were told so far (union-find with parity)."""

    def __init__(self) -> None:
        """No host is known."""
        self._parent: dict[str, str] = {}
        self._turned: dict[str, bool] = {}  # against the parent
        self.contradictions = 0

    def find(self, host: str) -> tuple[str, bool]:
        """The host that stands for its group, and whether this one is on the other side."""
        path = []
        while self._parent.setdefault(host, host) != host:
            path.append(host)
            host = self._parent[host]
        turned = False
        for each in reversed(path):
            turned ^= self._turned[each]
            self._parent[each], self._turned[each] = host, turned
        return host, turned

    def join(self, one: str, other: str) -> None:
        """A flow passes between these: they stand on different sides."""
        (root, turned), (other_root, other_turned) = self.find(one), self.find(other)
        if root == other_root:
            self.contradictions += turned == other_turned
            return
        self._parent[other_root] = root
        self._turned[other_root] = turned == other_turned


def directions(flows: Iterable[tuple[str, str, int, int]]) -> tuple[list[bool], int]:
    """For each flow whether it is its first end that sends the heavy way.

    Args:
        flows: both ends, and the bytes that each has sent.

    Returns:
        The answers, and how many flows contradict the others: neither side fits them.
    """
    known = list(flows)
    sides = Sides()
    for one, other, _, _ in known:
        sides.join(one, other)
    balance: dict[str, int] = {}
    for one, _, sent, got in known:
        root, turned = sides.find(one)
        balance[root] = balance.get(root, 0) + ((got - sent) if turned else (sent - got))
    answers = []
    for one, _, _, _ in known:
        root, turned = sides.find(one)
        answers.append((balance[root] >= 0) != turned)
    return answers, sides.contradictions
