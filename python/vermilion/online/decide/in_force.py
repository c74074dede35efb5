"""What a router says is in force, beside what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.routers.read_back import holds, is_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue

__all__ = ["holds", "is_mixture", "is_same"]


def is_mixture(
    in_force: Mapping[str, ParameterValue],
    before: Mapping[str, ParameterValue],
    asked: Sequence[Mapping[str, ParameterValue]],
) -> bool:
    """Whether nothing is in force but what stood before and what was asked for.

    Args:
        in_force: what the router says.
        before: every parameter before it was asked.
        asked: for what it was asked since.
    """
    return all(
        value == before.get(name)
        or any(name in change and is_same(change[name], value) for change in asked)
        for name, value in in_force.items()
    )
