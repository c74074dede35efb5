"""A simulated router whose monitor cannot tell everything: no flow count, or no round trips.

The interface of a router either allows for a monitor that does not know (`None`), or it does not;
then an honest router can only say 0, and that is what this one does.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vermilion.routers import RttSamples, simulated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from online_networks.network import Hidden


@dataclass
class Asked:
    """How often the router was asked for what it hides; 0 says that the hiding had no effect."""

    count: int = 0


@contextmanager
def hiding(what: Hidden) -> Iterator[Asked]:
    """Within, simulated routers hide the number of flows, or round trips, or nothing."""
    asked = Asked()
    usual: Any = simulated.SimulatedRouter
    may_be_unknown = "None" in str(usual.active_flows.__annotations__.get("return", ""))

    class Hiding(usual):  # type: ignore[misc]
        """The usual router, hard of hearing."""

        def active_flows(self) -> Any:  # noqa: ANN401 - as the interface has it
            """No number, or 0 where there has to be one."""
            if what != "flows":
                return super().active_flows()
            asked.count += 1
            return None if may_be_unknown else 0

        def rtt_samples(self) -> Any:  # noqa: ANN401 - as the interface has it
            """No samples."""
            samples = super().rtt_samples()
            if what != "round trips":
                return samples
            asked.count += 1
            nothing = np.empty(0)
            return RttSamples(flows=nothing.astype(np.int64), seconds=nothing)

        def observe(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - likewise
            """All at once, where the interface has that, less what is hidden."""
            asked.count += 1
            seen = super().observe(*given, **named)
            if what == "flows":
                return replace(seen, active_flows=None)
            return replace(seen, round_trips=None)

    if not what:
        yield asked
        return
    simulated.SimulatedRouter = Hiding  # type: ignore[misc]
    try:
        yield asked
    finally:
        simulated.SimulatedRouter = usual  # type: ignore[misc]
