"""A front without a setting: why there is none, what came nearest, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.tuning.measure.candidates import Setting


@dataclass(frozen=True, slots=True)
class NearestSetting:
    """The setting that came nearest to keeping the constraints.

    Attributes:
        parameters: it, by path.
        missed: what it does not surely keep, with what it reached, a text for each constraint.
    """

    parameters: Setting
    missed: tuple[str, ...]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> NearestSetting:
        """The one whose :meth:`to_data` these are.

        Raises:
            KeyError: they are of something else.
        """
        return cls(dict(data["parameters"]), tuple(data["missed"]))

    def to_data(self) -> dict[str, object]:
        """It for JSON."""
        return {"parameters": dict(self.parameters), "missed": list(self.missed)}


def why_empty(tried: int, dropped: int, constraints: Sequence[str], *, beaten: bool = False) -> str:
    """Why no setting is on a front.

    Args:
        tried: settings that the search simulated.
        dropped: those that led in the search and that fresh seeds did not confirm.
        constraints: that settings had to keep.
        beaten: whether the setting in force is as good as those that keep them in both objectives.
    """
    if not tried:
        return "the search ended before it had tried a setting"
    if beaten:
        return "no setting that was tried beats the one in force in either objective"
    if not constraints:
        return "both objectives could be measured with no setting that was tried"
    asked = ", ".join(constraints)
    if dropped:
        led = how_many(dropped, "setting")
        return f"{led} led in the search, and none surely keeps on fresh seeds: {asked}"
    return f"no setting that was tried keeps: {asked}"


def what_to_do(tried: int, constraints: Sequence[str], *, beaten: bool = False) -> str:
    """What gives a front next time."""
    if not tried:
        return "give the search more time"
    if beaten:
        return "search more parameters or a larger box, or give a larger budget"
    if not constraints:
        return "simulate for longer, or take other objectives"
    return "loosen what is asked, search more parameters, or give a larger budget"


def nearest_in_words(nearest: NearestSetting, headings: Sequence[str], cells: Sequence[str]) -> str:
    """What came nearest, in a line.

    Args:
        nearest: the setting.
        headings: of its parameters, each with its unit.
        cells: their values in these units.
    """
    setting = ", ".join(" ".join(pair) for pair in zip(headings, cells, strict=True))
    return f"the nearest is {setting}: {'; '.join(nearest.missed)}"
