"""What a router says is in force, beside what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import HeldValues, ParameterValue


def is_mixture(
    held: HeldValues,
    in_force: Mapping[str, ParameterValue],
    before: Mapping[str, ParameterValue],
    asked: Sequence[Mapping[str, ParameterValue]],
) -> bool:
    """Whether nothing is in force but what stood before and what was asked for.

    Args:
        held: what the router makes of values.
        in_force: what the router says.
        before: every parameter before it was asked.
        asked: for what it was asked since.
    """
    changes = [held.nearest(change) for change in asked]
    return all(
        value == before.get(name)
        or any(name in change and held.is_same(change[name], value) for change in changes)
        for name, value in held.still(in_force).items()
    )
