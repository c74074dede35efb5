"""What the page's process tells its controller: JSON, of which nothing is believed unchecked.

Whoever breaks into a process that browsers talk to must not get into the controller with it. So
nothing of what comes is unpickled, which would run what it says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from vermilion.online.events import Command

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 1 << 14
"""Bytes of a message; an address has the token in it, of up to 4096."""

_LONGEST_TROUBLE: Final = 1000

_ABOUT_PROPOSALS: Final = ("accept", "decline")
_LARGEST_NUMBER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Started:
    """Whether the page is served.

    Attributes:
        address: where; "" if it is not.
        trouble: why it is not; "" if it is.
    """

    address: str = ""
    trouble: str = ""

    def message(self) -> bytes:
        """As it is sent."""
        return json.dumps(
            {"address": self.address, "trouble": self.trouble[:_LONGEST_TROUBLE]}
        ).encode()

    @classmethod
    def of(cls, message: bytes) -> Self:
        """What was sent.

        Raises:
            ValueError: something else.
        """
        said = _fields(message, {"address": str, "trouble": str})
        return cls(**said)


def command_message(command: Command) -> bytes:
    """What a person has said, as it is sent."""
    return json.dumps({"verb": command.verb, "number": command.number}).encode()


def command_of(message: bytes, verbs: tuple[str, ...]) -> Command:
    """What a person has said.

    Args:
        message: as it was sent.
        verbs: what may be said to this controller.

    Raises:
        ValueError: it is something else.
    """
    said = _fields(message, {"verb": str, "number": int | None})
    verb, number = said["verb"], said["number"]
    if verb not in verbs:
        problem = "what may not be said"
        raise ValueError(problem)
    if verb in _ABOUT_PROPOSALS:
        is_right = type(number) is int and 0 <= number <= _LARGEST_NUMBER
    else:
        is_right = number is None
    if not is_right:
        problem = "it is about nothing that there is"
        raise ValueError(problem)
    return Command(verb, number)


def _fields(message: bytes, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A table with just these fields, each of its kind."""
    try:
        said = json.loads(message)
    except RecursionError:
        said = None
    if not isinstance(said, dict) or said.keys() != kinds.keys():
        problem = f"no table of {', '.join(kinds)}"
        raise ValueError(problem)
    for name, kind in kinds.items():
        if not isinstance(said[name], kind):
            problem = f"{name} is of another kind"
            raise ValueError(problem)  # noqa: TRY004 - of what was sent
    return said
