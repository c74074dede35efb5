"""The metrics of a window as a dictionary that says why one of them is not there."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from vermilion.scenario.errors import did_you_mean
from vermilion.simulate.result_data import WITH_FLOW_DELAYS

_ASKED_FOR: Final = {
    **dict.fromkeys(
        WITH_FLOW_DELAYS,
        "runs measure it only with flow_delays=True, and a tuning whose objective is a function "
        "only with vermilion.objectives.CalledFunction(FUNCTION, needs_flow_delays=True)",
    ),
    "sojourn_distribution_ms": "runs measure it only with distributions=True",
    "each": "only a single run has single flows, and only where they do not come and go",
}


class WindowMetrics(dict[str, Any]):
    """A dictionary like any other, but for the message of its ``KeyError``."""

    __slots__ = ()

    def __missing__(self, name: object) -> NoReturn:
        """Say why there is no such metric, and what there is.

        Raises:
            KeyError: always.
        """
        why = _ASKED_FOR.get(str(name))
        if why is None:
            known = did_you_mean(str(name), self)
            why = f"it could not be computed, or there is none of this name; expected {known}"
        message = f"no metric {name!r} in this window: {why}"
        raise KeyError(message)
