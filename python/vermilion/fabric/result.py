"""Result of a fabric's run."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from numpy.typing import NDArray

TRANSFER_COLUMNS: Final = (
    "source", "destination", "bytes", "start_s", "completion_time_s", "ideal_time_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FabricResult:
    """Outcome of one run.

    Attributes:
        data: every figure, as :meth:`to_json` has them.
        transfers: columns of one length in the order of the starts: ``source`` and ``destination``
            (numbers of hosts from 0 on), ``bytes``, ``start_s``, ``completion_time_s`` (NaN where
            one was not done) and ``ideal_time_s`` (that in the empty network).
        names: of the nodes; a host's number is its place.
    """

    data: Mapping[str, Any]
    transfers: Mapping[str, NDArray[Any]] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.data["seed"])

    @property
    def slowdown(self) -> Mapping[str, Any]:
        """Slowdown of transfers that are done: ``mean``, ``p50``, ``p95``, ``p99``, and counts."""
        found: Mapping[str, Any] = self.data["slowdown"]
        return found

    @property
    def slowdown_by_size(self) -> list[Mapping[str, Any]]:
        """The same by classes of sizes, each from ``from_bytes`` to that of the next."""
        return list(self.data["slowdown_by_size"])

    @property
    def open_loop(self) -> list[Mapping[str, Any]]:
        """Each open-loop part of the traffic, by its place there, ``traffic``.

        It has ``sources``, ``packets_sent``, ``packets_received``, ``packets_lost``, ``delay_s``
        with ``mean``, ``p95`` and ``p99`` (from when a source has a packet), and
        ``goodput_bit_per_s``.
        """
        return list(self.data.get("open_loop", ()))

    def link(self, name: str) -> Mapping[str, Any]:
        """A link by its two nodes, like "leaf1-host2".

        Raises:
            KeyError: there is no such link.
        """
        links: Mapping[str, Mapping[str, Any]] = self.data["links"]
        return links[name]

    def to_json(self) -> str:
        """The figures as one JSON object."""
        return json.dumps(self.data)

    def write_transfers(self, file: TextIO) -> None:
        """Write the transfers as CSV, hosts by name; those that are not done have no time."""
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TRANSFER_COLUMNS)
        for row in zip(*(self.transfers[name].tolist() for name in TRANSFER_COLUMNS), strict=True):
            source, destination, size, start, took, ideal = row
            ends = self.names[source], self.names[destination]
            writer.writerow((*ends, size, start, "" if took != took else took, ideal))  # noqa: PLR0124 - NaN
