"""What a router says is in force, beside what it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import HeldValues, ParameterValue


def stands(
    held: HeldValues,
    found: Mapping[str, ParameterValue],
    believed: Mapping[str, ParameterValue],
    unanswered: Sequence[Mapping[str, ParameterValue]],
) -> bool:
    """Whether nobody else has changed anything.

    Args:
        held: what the router makes of values.
        found: what the router says.
        believed: every parameter as last read back.
        unanswered: changes sent since, any of which may be in force, whole or in part.
    """
    if held.is_unchanged(found, believed):
        return True
    return bool(unanswered) and is_mixture(held, found, believed, unanswered)


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
    return not strangers(held, in_force, before, asked)


def strangers(
    held: HeldValues,
    in_force: Mapping[str, ParameterValue],
    before: Mapping[str, ParameterValue],
    asked: Sequence[Mapping[str, ParameterValue]],
) -> dict[str, ParameterValue]:
    """What is in force that neither stood before nor was asked for.

    Args:
        held: what the router makes of values.
        in_force: what the router says.
        before: every parameter before it was asked.
        asked: for what it was asked since.
    """
    changes = [held.nearest(change) for change in asked]
    return {
        name: value
        for name, value in sorted(held.still(in_force).items())
        if value != before.get(name)
        and not any(name in change and held.is_same(change[name], value) for change in changes)
    }
