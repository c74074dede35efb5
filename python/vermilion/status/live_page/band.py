"""What a model promised of the queue, and for how long it stood by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.online.entries import DecisionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENDS: Final = frozenset(
    {
        DecisionKind.APPLIED,
        DecisionKind.RECALLED,
        DecisionKind.ROLLED_BACK,
        DecisionKind.FELL_BACK,
        DecisionKind.RESTORED,
        DecisionKind.CHANGE_DETECTED,
        DecisionKind.HANDS_OFF,
        DecisionKind.END,
    }
)
"""Another setting is in force, or the conditions are no longer those of the promise."""

CONCERNING_BANDS: Final = (DecisionKind.TUNED, *sorted(_ENDS))
"""The decisions that :func:`bands` has to be told; it passes over all others."""


def bands(
    decisions: Iterable[tuple[float, str, Mapping[str, Any]]], end_s: float
) -> list[dict[str, float]]:
    """Stretches of time with the queue that was promised for them.

    A promise is made by the last search before a setting is applied. It holds until another setting
    is in force, or until the conditions are noticed to have changed.

    Args:
        decisions: when, of which kind, with which details; in order.
        end_s: of what is shown.

    Returns:
        ``start_s``, ``end_s``, ``mean_packets`` and ``sd_packets`` of each.
    """
    found: list[dict[str, float]] = []
    promised: tuple[float, float] | None = None
    open_band: dict[str, float] | None = None
    for time_s, kind, details in decisions:
        if kind in _ENDS and open_band is not None:
            found.append({**open_band, "end_s": time_s})
            open_band = None
        if kind == DecisionKind.TUNED:
            mean, spread = details.get("predicted_mean"), details.get("predicted_sd")
            promised = None
            if isinstance(mean, int | float) and isinstance(spread, int | float):
                promised = float(mean), float(spread)
        elif kind == DecisionKind.APPLIED and promised is not None:
            mean, spread = promised
            open_band = {"start_s": time_s, "mean_packets": mean, "sd_packets": spread}
            promised = None
    if open_band is not None:
        found.append({**open_band, "end_s": end_s})
    return [band for band in found if band["end_s"] > band["start_s"]]
