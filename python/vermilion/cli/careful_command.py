"""Commands: help in groups; no option hides another, no result replaces an input.

Results never go to a file that the same command reads, nor two results to one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperCommand

from vermilion.cli.endings import UserError
from vermilion.cli.option_groups import GROUPS, HELP_ALL, help_all, write_groups
from vermilion.cli.output import STANDARD_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ONCE: Final[Mapping[str, str]] = {"--discipline": "vermilion compare takes several"}
"""Options that one command takes several times; another would only look at the last."""

RESULTS: Final = frozenset(
    {
        "--distributions",
        "--figure",
        "--flent",
        "--flow-series",
        "--transfers",
        "--json",
        "--maps",
        "--output",
        "--packets",
        "--report",
        "--rules",
        "--series",
        "--table",
    }
)
"""Options with a file that is replaced. Any other that names a file reads it, or adds to it."""

_FILES: Final = ("FILE", "SCENARIO", "CAPTURE", "JOURNAL")
"""A parameter whose metavar has one of these in it names a file."""


class CarefulCommand(TyperCommand):
    """A command that refuses repeated single options and outputs that replace inputs."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer has no public name for it
        """Write what most people need, in groups; all of it where there are few options."""
        if not write_groups(self, ctx, formatter):
            super().format_options(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - as above
        """Read the options.

        Raises:
            UserError: an option that counts once is given several times.
        """
        if HELP_ALL in args and self.name in GROUPS:
            help_all(ctx)
        _check_given_once(self.params, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Compare the files that are named, then run the command.

        Raises:
            UserError: a result would replace one of them.
        """
        _check_inputs_are_kept(self.params, ctx.params)
        return super().invoke(ctx)


def _check_given_once(parameters: Sequence[Any], words: Sequence[str]) -> None:
    single = {
        name
        for parameter in parameters
        if not getattr(parameter, "multiple", False)
        for name in parameter.opts
        if name in _ONCE
    }
    for option in single:
        count = sum(word == option or word.startswith(f"{option}=") for word in words)
        if count > 1:
            message = f"{option}: given {count} times; expected it once ({_ONCE[option]})"
            raise UserError(message)


def _check_inputs_are_kept(parameters: Sequence[Any], values: Mapping[str, object]) -> None:
    """Refuses a result that would replace what the command reads, or another result.

    Args:
        parameters: of the command.
        values: of its parameters.

    Raises:
        UserError: naming the option and the file.
    """
    results: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    scenarios: list[str] = []
    for parameter in parameters:
        for name in _named_files(parameter, values.get(parameter.name)):
            option = parameter.opts[0] if parameter.param_type_name == "option" else ""
            (results if option in RESULTS else others).append((option, name))
            if "SCENARIO" in str(parameter.metavar):
                scenarios.append(name)
    if any(Path(name).is_file() for _, name in results):
        others += [("", name) for scenario in scenarios for name in _files_of(scenario)]
    for place, (option, name) in enumerate(results):
        for other, file in (*others, *results[:place]):
            if _same_file(name, file):
                taken = f"is that of {other} too" if other in RESULTS else "is read as well"
                message = f'{option}: "{name}" {taken}; expected another file for the results'
                raise UserError(message)


def _named_files(parameter: Any, value: object) -> Iterator[str]:  # noqa: ANN401 - as above
    """The files that an option or an argument names.

    Raises:
        UserError: a name without a letter.
    """
    metavar = str(parameter.metavar or "")
    if value is None or not any(word in metavar for word in _FILES):
        return
    for each in value if isinstance(value, list | tuple) else [value]:
        if each == "":
            name = parameter.opts[0] if parameter.param_type_name == "option" else metavar
            message = f'{name.strip("[].")}: "" is not accepted; expected the name of a file'
            raise UserError(message)
        if str(each) != STANDARD_OUTPUT:
            yield str(each)


def _files_of(scenario: str) -> list[str]:
    """The files that a scenario names, like traces: whatever text in it may be such a name."""
    from vermilion.scenario.load import LARGEST_FILE_BYTES
    from vermilion.scenario.toml_text import parse_toml
    from vermilion.scenario.traces import read_named_file

    path = Path(scenario)
    try:
        document = parse_toml(read_named_file(path, LARGEST_FILE_BYTES).decode())
    except (OSError, ValueError):
        return []  # whatever is wrong with it is said where it is read
    return [str(path.parent / text) for text in _texts(document)]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _same_file(one: str, other: str) -> bool:
    """Return whether both name one file, which may not exist yet; a device is no such file."""
    try:
        first, second = Path(one), Path(other)
        if first.exists() and second.exists():
            return first.is_file() and first.samefile(second)
        return first.resolve() == second.resolve()
    except (OSError, ValueError, RuntimeError):
        return False  # whatever is wrong with a name is said where it is used
