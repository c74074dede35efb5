"""What the tests of a user's own classes share, whatever the classes are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import vermilion


def registering(
    register: Callable[[Any], object],
    unregister: Callable[[str], None],
    known: Callable[[], Mapping[str, object]],
) -> Iterator[Callable[..., Any]]:
    """Hands out what registers classes, with other members if any are given; forgets them after."""
    names = []

    def _register(own: Any, **members: object) -> Any:
        if members:
            own = type(own.__name__, (own,), members)
        register(own)
        names.append(own.name)
        return own

    yield _register
    for name in {*names} & {*known()}:
        unregister(name)


def numbers(result: vermilion.Result) -> dict[str, object]:
    """Everything measured, without how long that took."""
    return {name: value for name, value in result.data.items() if not name.endswith("_s")}
