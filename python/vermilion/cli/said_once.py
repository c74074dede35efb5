"""Options that one command takes several times: another would only look at the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHERE_SEVERAL: Final[Mapping[str, str]] = {
    "--discipline": "vermilion compare takes several",
}


def check_said_once(parameters: Sequence[Any], words: Sequence[str]) -> None:
    """Refuses such an option where it is said twice.

    Args:
        parameters: of the command.
        words: of the command line.

    Raises:
        UserError: naming the option.
    """
    single = {
        name
        for parameter in parameters
        if not getattr(parameter, "multiple", False)
        for name in parameter.opts
        if name in _WHERE_SEVERAL
    }
    for option in single:
        said = [word for word in words if word == option or word.startswith(f"{option}=")]
        if len(said) > 1:
            several = _WHERE_SEVERAL[option]
            message = f"{option}: said {len(said)} times; expected it once ({several})"
            raise UserError(message)
