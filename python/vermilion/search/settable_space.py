"""A box of which only those settings are proposed that something can be set to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from vermilion.search.space import Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.search.uniform_points import Point


class HasSteps(Protocol):
    """What can be set to some values only: a device, or a router that is under control."""

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
