"""Commands, plants and export formats that the laboratory registers.

The laboratory is a package of its own, which the product never imports: it is found by its entry
points in the groups ``vermilion.commands`` (a function, as typer reads it), ``vermilion.plants`` (a
:class:`RegisteredPlant`) and ``vermilion.exports`` (a :class:`RegisteredExport`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.cli.endings import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.online.drive.run import Plant
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

COMMANDS: Final[Mapping[str, str]] = {
    "atlas": "Tune a discipline over a grid of conditions.",
    "papers": "Re-run the figures and tables of the source papers.",
}
"""Commands of the laboratory with their summaries, so that ``vermilion --help`` loads nothing."""

_MISSING: Final = (
    "{} needs the laboratory: run make in a checkout, or pip install vermilion_lab of "
    "the same release"
)


@dataclass(frozen=True)
class RegisteredPlant:
    """A network other than the simulator's, for ``--plant``.

    Attributes:
        run: runs a scenario once, given a seed, the interval of the time series in seconds, and a
            function that is told the progress.
        online: makes the network that the controller keeps tuned.
        error: raised by both where they cannot go on; its text is one line for a person.
    """

    run: Callable[[Scenario, int, float | None, Callable[[float], object] | None], Result]
    online: Callable[[], Plant]
    error: type[Exception]


@dataclass(frozen=True)
class RegisteredExport:
    """A format of another tool, into which a run is written.

    Attributes:
        check: refuses with a ``ScenarioError`` a file name or a link that it cannot write; given
            the name, the links there are and the chosen one.
        content: the file's bytes, and how many flows are left out.
    """

    check: Callable[[str, Sequence[str], str | None], object]
    content: Callable[[str, Result, Scenario, str | None], tuple[bytes, int]]


def registered_plant(name: str) -> RegisteredPlant:
    """The plant of this name.

    Raises:
        UserError: the laboratory is not installed.
    """
    plant: RegisteredPlant = _registered("plants", name, f"--plant {name}")
    return plant


def registered_export(name: str) -> RegisteredExport:
    """The format of this name.

    Raises:
        UserError: the laboratory is not installed.
    """
    export: RegisteredExport = _registered("exports", name, f"--{name}")
    return export


def registered_command(name: str, settings: dict[str, Any]) -> Any:  # noqa: ANN401 - typer's
    """The command of this name, or one that says how to get it.

    Args:
        name: as typed on the command line.
        settings: how typer makes a command of its function.
    """
    import typer

    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    try:
        function = _registered("commands", name, f"vermilion {name}")
    except UserError as error:
        reason = error

        def refuse() -> None:
            raise reason

        function = refuse
        anything = {"ignore_unknown_options": True, "allow_extra_args": True}
        settings = {**settings, "context_settings": anything, "add_help_option": False}
    app.command(name, **settings)(function)
    return typer.main.get_command(app)


def _registered(group: str, name: str, wanted: str) -> Any:  # noqa: ANN401 - the group says what
    """The object that an entry point names.

    Raises:
        UserError: there is none.
    """
    from importlib.metadata import entry_points

    for point in entry_points(group=f"vermilion.{group}", name=name):
        return point.load()
    raise UserError(_MISSING.format(wanted))
