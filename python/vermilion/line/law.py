"""Laws that say how fast a shaper may be; ``crates/shaping`` has them."""

from __future__ import annotations

from typing import Any, Protocol


class Law(Protocol):
    """A law of ``_core.RateLaw``."""

    def probe_sent(self, sent_ns: int, bytes_out: int) -> None:
        """A probe has left the interface."""

    def answered(
        self,
        reflector: int,
        sent_ns: int,
        received_ns: int,
        one_way_ns: int | None = None,
        own_wait_ns: int = 0,
    ) -> None:
        """A probe is answered."""

    def lost(self, sent_ns: int) -> None:
        """A probe is given up."""

    def rate(self, now_ns: int, bytes_out: int) -> float:
        """The rate from now on."""

    def state(self) -> dict[str, Any]:
        """Facts as of the last rate."""
