"""The box that is searched: what the coordinates of the unit cube mean.

A search works in the unit cube; a :class:`Space` turns its points into parameter values and
back, along each parameter's own scale. Parameters that must keep an order (a minimum
threshold below a maximum threshold) keep it by construction, so no point is ever refused: the
higher one is searched in its whole box, and the coordinate of the lower one runs from its lower
end to its upper end or to "the higher one less a small gap", whichever comes first.

It is the higher one that goes first because what it does is then seen along one axis. A queue
controlled by RED stands where its maximum threshold lets it; were that counted from the minimum
threshold, the settings that hold the queue at one length would lie along a bent valley of the
cube, in which a search loses its way (docs/laboratory/search-benchmark.md has the figures).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from vermilion.scenario.errors import MISSING, FieldError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from vermilion.scenario import Scenario
    from vermilion.search.uniform_points import Point

GAP: Final = 0.01
"""Least distance of an ordered pair, as a fraction of the second's range; of its lower end, where
its logarithm is searched. Far below what makes a difference to a queue, and enough to keep a
division by it harmless."""

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class Dimension:
    """One parameter of the box.

    Attributes:
        name: the parameter, such as the path ``links.bottleneck.queue.weight``.
        lower: the lower end, in the parameter's unit.
        upper: the upper end.
        log: whether its logarithm is searched evenly, not the value itself.
        integer: whether only whole numbers are meant; each gets an equal share.
        above: the name of the dimension whose value must stay below this one's, or ``None``.
        gap: by how much that one's must, at least.
        switch: whether it is off or on and nothing between: its values are ``False`` and ``True``.
    """

    name: str
    lower: float
    upper: float
    log: bool = False
    integer: bool = False
    above: str | None = None
    gap: float = 0.0
    switch: bool = False

    @classmethod
    def of_switch(cls, name: str) -> Self:
        """Dimension that is off in one half of its range and on in the other."""
        return cls(name, 0.0, 1.0, integer=True, switch=True)

    def __post_init__(self) -> None:
        ends = f"{self.name}: the box {self.lower:g} .. {self.upper:g} is not accepted"
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            message = f"{ends}; expected finite ends"
            raise ValueError(message)
        if self.lower >= self.upper:
            message = f"{ends}; expected a lower end below the upper end"
            raise ValueError(message)
        if self.log and self.lower <= 0.0:
            message = f"{ends}; expected a lower end above 0 for a logarithmic scale"
            raise ValueError(message)

    def value(self, coordinate: float, upper: float | None = None) -> float:
        """The parameter's value at a coordinate from 0 to 1.

        Args:
            coordinate: from 0, the lower end, to 1, the upper end.
            upper: another upper end, for a dimension that must stay below another; not below the
                lower end, and whole where only whole numbers are meant.
        """
        end = self.upper if upper is None else upper
        low, high = self._scaled_bounds(end)
        position = low + coordinate * (high - low)
        value = math.exp(position) if self.log else position
        if self.switch:
            return value > _HALF
        if self.integer:
            value = float(round(value))
        return min(max(value, self.lower), end)

    def coordinate(self, value: float, upper: float | None = None) -> float:
        """The coordinate of a value; of the nearest end for values outside the box."""
        end = self.upper if upper is None else upper
        low, high = self._scaled_bounds(end)
        if high <= low:
            return 0.0
        value = min(max(value, self.lower), end)
        position = math.log(value) if self.log else value
        return min(max((position - low) / (high - low), 0.0), 1.0)

    def _scaled_bounds(self, upper: float) -> tuple[float, float]:
        """The ends on the scale that is searched evenly."""
        # Half a step beyond its ends, so that rounding gives the end values a full share.
        margin = 0.5 if self.integer else 0.0
        low, high = self.lower - margin, upper + margin
        return (math.log(low), math.log(high)) if self.log else (low, high)


class Space:
    """Parameters and the box in which they are searched.

    Args:
        dimensions: one for each coordinate, in order. Where one must stay above another, its
            lower end is raised, and the other's upper end lowered, as far as needed to leave room.

    Attributes:
        dimensions: as given, with the ends so moved.
        names: of the parameters.
        edition: of what the coordinates of a point mean. A study or the state of a search that
            counts them otherwise must not be gone on with.

    Raises:
        ValueError: no dimension, a name twice, an order that names no dimension, or no room.
    """

    edition: int = 2

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        by_name = {dimension.name: dimension for dimension in dimensions}
        if not dimensions or len(by_name) < len(dimensions):
            message = "a space needs at least one dimension, and each name only once"
            raise ValueError(message)
        lower_first = _threshold_order(by_name)
        for name in reversed(lower_first):
            _shrink_lower(by_name, by_name[name])
        for name in lower_first:
            _shrink_higher(by_name, by_name[name])
        self.names = tuple(by_name)
        self.dimensions = tuple(by_name.values())
        # The higher of a pair before the lower, so that its value is known first.
        self._order = tuple(by_name[name] for name in reversed(lower_first))
        self._higher = {
            name: tuple(each for each in self.dimensions if each.above == name) for name in by_name
        }

    def __len__(self) -> int:
        return len(self.dimensions)

    @classmethod
    def from_scenario(
        cls,
        scenario: Scenario,
        paths: Iterable[str] | None = None,
        boxes: Mapping[str, tuple[float, float]] | None = None,
    ) -> Self:
        """The box of some parameters of a scenario, from the algorithms' parameter tables.

        Args:
            scenario: gives the disciplines, and the values of parameters that stay as they
                are but belong to an ordered pair.
            paths: parameters like ``links.bottleneck.queue.weight``; by default those that
                the scenario's ``[tuning]`` names. Where it names none, all that have a box in the
                table of a queue's discipline or in ``[tuning.space]``: that of the objective's
                link, or of the first link where there are any.
            boxes: a lower and an upper end for some of the paths, in their tables' units,
                before those of the scenario's ``[tuning.space]`` and of the tables.

        Raises:
            ScenarioError: no paths, a path that cannot be searched, a box that is not one.
        """
        chosen = () if paths is None else tuple(paths)
        try:
            if paths is None:
                chosen = _default_paths(scenario)
            return cls([_dimension(scenario, path, chosen, boxes or {}) for path in chosen])
        except FieldError as error:
            raise ScenarioError(error.field, error.value, error.accepted, scenario.origin) from None
        except ScenarioError:
            raise
        except ValueError as error:
            accepted = f"parameters that leave a box to search ({error})"
            raise ScenarioError(
                "tuning.parameters", ", ".join(chosen), accepted, scenario.origin
            ) from None

    def values(self, point: Point) -> dict[str, float]:
        """The parameter values of a point, by name, in the order of the dimensions."""
        by_name: dict[str, float] = {}
        coordinates = dict(zip(self.names, point, strict=True))
        for dimension in self._order:
            upper = self._upper_end(dimension, by_name)
            by_name[dimension.name] = dimension.value(coordinates[dimension.name], upper)
        return {name: by_name[name] for name in self.names}

    def nearest(self, values: Mapping[str, float]) -> dict[str, float]:
        """The nearest setting of the box: these very values where they are in it."""
        found = self.values(self.point(values))
        same = all(math.isclose(found[name], values[name], rel_tol=1e-9) for name in found)
        return {name: values[name] for name in found} if same else found

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of these parameter values; the nearest one for values outside the box.

        Of a pair in the wrong order the higher one keeps its value.
        """
        by_name: dict[str, float] = {}
        coordinates: dict[str, float] = {}
        for dimension in self._order:
            upper = self._upper_end(dimension, by_name)
            coordinate = dimension.coordinate(values[dimension.name], upper)
            coordinates[dimension.name] = coordinate
            by_name[dimension.name] = dimension.value(coordinate, upper)
        return tuple(coordinates[name] for name in self.names)

    def _upper_end(self, dimension: Dimension, values: Mapping[str, float]) -> float:
        """The upper end of a dimension, once the values that it must stay below are known."""
        return min(
            (
                _room_below(dimension, values[higher.name], higher.gap)
                for higher in self._higher[dimension.name]
            ),
            default=dimension.upper,
        )


def searchable(scenario: Scenario, link: str) -> tuple[str, ...]:
    """The parameters of a link's queue whose table proposes a box to search, as paths.

    Those are left out that do nothing as the queue is set, or that only packets of a colour meet
    which no flow has: all their values would be alike.
    """
    queue = scenario.links[link].queue
    colours = {group.colour for group in scenario.flows.values()}
    return tuple(
        f"links.{link}.queue.{name}"
        for name, parameter in queue.algorithm.parameters.items()
        if parameter.kind == "number"
        and parameter.search is not None
        and queue.algorithm.is_read(name, queue.parameters)
        and (queue.algorithm.colour_of(name) or "green") in {"green", *colours}
    )


def _default_paths(scenario: Scenario) -> tuple[str, ...]:
    """Paths that are searched by default."""
    tuning = scenario.tuning
    if tuning is not None and tuning.parameters:
        return tuning.parameters
    boxed = () if tuning is None else tuple(tuning.space)
    named = None if tuning is None else tuning.objective.named_link
    links = [named] if named in scenario.links else list(scenario.links)
    for link in links:
        paths = searchable(scenario, link)
        if paths := (*paths, *(path for path in boxed if path not in paths)):
            return paths
    disciplines = ", ".join({scenario.links[link].queue.discipline: None for link in links})
    accepted = (
        f"a list of paths, because no parameter of {disciplines} has a box, or another "
        "discipline (--discipline)"
    )
    raise FieldError("tuning.parameters", MISSING, accepted)


def _threshold_order(by_name: Mapping[str, Dimension]) -> list[str]:
    order: list[str] = []
    left = dict(by_name)
    while left:
        ready = [name for name, dimension in left.items() if dimension.above not in left]
        for name in ready:
            above = left.pop(name).above
            if above is not None and above not in by_name:
                message = f"{name} must stay above {above}, which is not a dimension"
                raise ValueError(message)
        if not ready:
            message = f"{', '.join(left)} must stay above each other"
            raise ValueError(message)
        order.extend(ready)
    return order


def _shrink_lower(by_name: dict[str, Dimension], higher: Dimension) -> None:
    """Lowers the upper end of the dimension that must stay below ``higher``."""
    if higher.above is not None:
        lower = by_name[higher.above]
        upper = min(lower.upper, higher.upper - higher.gap)
        upper = float(math.floor(upper)) if lower.integer else upper
        by_name[lower.name] = replace(lower, upper=upper)


def _shrink_higher(by_name: dict[str, Dimension], higher: Dimension) -> None:
    """Raises the lower end of ``higher`` above that of the dimension that must stay below it."""
    if higher.above is not None:
        lower = max(higher.lower, by_name[higher.above].lower + higher.gap)
        lower = float(math.ceil(lower)) if higher.integer else lower
        by_name[higher.name] = replace(higher, lower=lower)


def _room_below(lower: Dimension, value: float, gap: float) -> float:
    """Up to where ``lower`` may go where the higher one has this value."""
    end = float(math.floor(value - gap)) if lower.integer else value - gap
    if end + gap > value:  # by rounding
        end = end - 1.0 if lower.integer else math.nextafter(end, -math.inf)
    return min(max(end, lower.lower), lower.upper)


def searched_box(
    scenario: Scenario, path: str, boxes: Mapping[str, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """Search range of a parameter: the one given, the scenario's or its table's.

    Those of a switch are off and on.

    Raises:
        FieldError: it is neither a number nor a switch, or nobody says between which ends.
    """
    from vermilion.scenario.structure import check_searchable, search_box

    parameter = scenario.parameter(path)
    check_searchable(path, parameter)
    if parameter.kind == "switch":
        return 0.0, 1.0
    box = (boxes or {}).get(path) or search_box(scenario, path)
    if box is None:
        accepted = (
            "a parameter with a box to search; give it one, with units: [tuning.space] "
            f'"{path}" = [LOWEST, HIGHEST]'
        )
        raise FieldError("tuning.parameters", path, accepted)
    return box


def _dimension(
    scenario: Scenario,
    path: str,
    chosen: Sequence[str],
    boxes: Mapping[str, tuple[float, float]],
) -> Dimension:
    """The dimension of one parameter, as its table and the scenario have it."""
    parameter = scenario.parameter(path)
    lower, upper = searched_box(scenario, path, boxes)
    if parameter.kind == "switch":
        return Dimension.of_switch(path)
    log = parameter.scale == "log" and lower > 0.0
    gap = max(GAP * (lower if log else upper - lower), 1.0 if parameter.integer else 0.0)
    above = None
    holder = path.removesuffix(parameter.name)
    for first, second in scenario.get(holder.rstrip(".")).algorithm.ordered:
        fixed = None
        if second == parameter.name and f"{holder}{first}" in chosen:
            above = f"{holder}{first}"
        elif second == parameter.name:
            fixed = scenario.get(f"{holder}{first}")
            lower = lower if fixed is None else max(lower, fixed + gap)
        elif first == parameter.name and f"{holder}{second}" not in chosen:
            fixed = scenario.get(f"{holder}{second}")
            upper = upper if fixed is None else min(upper, fixed - gap)
    return Dimension(path, lower, upper, log, parameter.integer, above, gap)


class CountedFromBelow(Space):
    """The box as it was counted at first: the higher of an ordered pair from the lower one's value.

    The minimum threshold has its whole box; the maximum runs from the minimum plus the gap to its
    own upper end. A tuning is better off with :class:`Space`. The on-line controller, which has
    time for some hundred settings, is not: in 103 runs on 24 networks of `benches/online.py` the
    objective ended 7 % higher with it (95 % interval: -2 to 16 %). So it, the searches of a front
    and the papers that are re-run keep the box with which their figures were measured.

    Args:
        dimensions: as in :class:`Space`.
    """

    edition = 1

    def values(self, point: Point) -> dict[str, float]:
        """The parameter values of a point, by name, in the order of the dimensions."""
        known: dict[str, float] = {}
        coordinates = dict(zip(self.names, point, strict=True))
        for dimension in reversed(self._order):
            left = _rest_of(dimension, known)
            known[dimension.name] = (
                dimension.upper if left is None else left.value(coordinates[dimension.name])
            )
        return {name: known[name] for name in self.names}

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of these parameter values; the nearest one for values outside the box.

        Of a pair in the wrong order the lower one keeps its value.
        """
        known: dict[str, float] = {}
        coordinates: dict[str, float] = {}
        for dimension in reversed(self._order):
            left = _rest_of(dimension, known)
            coordinate = 0.0 if left is None else left.coordinate(values[dimension.name])
            coordinates[dimension.name] = coordinate
            known[dimension.name] = dimension.upper if left is None else left.value(coordinate)
        return tuple(coordinates[name] for name in self.names)


def _rest_of(dimension: Dimension, known: Mapping[str, float]) -> Dimension | None:
    """Rest of a dimension above the value below it; ``None`` if that is one value."""
    if dimension.above is None:
        return dimension
    lower = max(dimension.lower, known[dimension.above] + dimension.gap)
    lower = float(math.ceil(lower)) if dimension.integer else lower
    return replace(dimension, lower=lower) if lower < dimension.upper else None


class HasSteps(Protocol):
    """Device or router that can be set to some values only."""

    def nearest(self, values: Mapping[str, float], /) -> dict[str, float]:
        """The nearest setting that it has, by the names of the box."""


class SettableSpace(Space):
    """A box of which only the settings that a device has are proposed.

    Points that mean the same setting give exactly the same values.

    Args:
        space: the box.
        device: what can be set.
    """

    def __init__(self, space: Space, device: HasSteps) -> None:
        super().__init__(space.dimensions)
        self.edition = space.edition
        self._box = space
        self._device = device

    def values(self, point: Point) -> dict[str, float]:
        """The nearest setting that the device has."""
        return self._device.nearest(self._box.values(point))

    def point(self, values: Mapping[str, float]) -> Point:
        """The point of the box."""
        return self._box.point(values)
