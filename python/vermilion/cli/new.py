"""``vermilion new``: a scenario or a plug-in of one's own to begin with."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from vermilion.cli.endings import UserError
from vermilion.cli.listings import shipped_text
from vermilion.cli.output import output_file, say

_PLUGINS = "Plug-ins"

_OF_OTHER_FILES = {".csv", ".html", ".json", ".md", ".pcap", ".py", ".txt", ".yaml", ".yml"}
"""Endings of names that nobody gives to a scenario on purpose."""


def new(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of the file; .toml is added.",
            show_default=False,
        ),
    ] = None,
    *,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="SCENARIO",
            help="Shipped scenario to begin with (default: one link with uploads and a call).",
            show_default=False,
        ),
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a congestion control of this name: a file of Python.",
            rich_help_panel=_PLUGINS,
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Write a queue discipline likewise.",
            rich_help_panel=_PLUGINS,
            show_default=False,
        ),
    ] = None,
    rust: Annotated[
        bool,
        typer.Option(
            "--rust",
            help="Write it as a crate of Rust, in a folder of that name.",
            rich_help_panel=_PLUGINS,
        ),
    ] = False,
    crates: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCES",
            envvar="VERMILION_CRATES",
            help="Folder or git address of Vermilion's sources, which the crate is built against "
            "(default: those that this program runs from).",
            rich_help_panel=_PLUGINS,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a scenario to begin with, or a plug-in.

    Nothing that is there is overwritten.
    """
    if sender is not None or discipline is not None:
        _write_plugin(name, like, sender, discipline, rust=rust, crates=crates)
        return
    if rust:
        message = "--rust: expected --sender NAME or --discipline NAME beside it"
        raise UserError(message)
    if name is None:
        message = "NAME is missing; expected a file name, --sender NAME or --discipline NAME"
        raise UserError(message)
    ending = Path(name).suffix.lower()
    if ending in _OF_OTHER_FILES:
        message = f'NAME: "{name}" is not accepted; expected a name that ends in .toml'
        raise UserError(message)
    path = Path(name if name.lower().endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        message = f'NAME: "{name}" is not accepted; expected a file name, like "mine"'
        raise UserError(message)
    text = _starter() if like is None else shipped_text("--like", like)
    if path.exists():
        message = f'NAME: "{path}" exists; expected a new name'
        raise UserError(message)
    with output_file("NAME", str(path)) as file:
        file.write(text)
    said = shlex.quote(str(path))
    say(f"{path} is written. Next:\n  vermilion run {said}\n  vermilion tune {said}")


def _starter() -> str:
    from importlib import resources

    return (resources.files("vermilion.scenario") / "starter.toml").read_text(encoding="utf-8")


def _write_plugin(
    name: str | None,
    like: str | None,
    sender: str | None,
    discipline: str | None,
    *,
    rust: bool,
    crates: str | None,
) -> None:
    from vermilion.scenario.new_plugin import plugin_crate, plugin_file

    if name is not None or like is not None or (sender is not None and discipline is not None):
        message = "--sender, --discipline: expected one of them, and neither NAME nor --like"
        raise UserError(message)
    option, own = ("discipline", discipline) if sender is None else ("sender", sender or "")
    rival = "red" if sender is None else "cubic"
    if rust:
        crate = plugin_crate(option, own or "", crates)
        place, files = Path(crate.folder), crate.files
    else:
        file_name, text = plugin_file(option, own or "")
        place, files = Path(file_name), {"": text}
    if place.exists():
        message = f'--{option}: "{place}" exists; expected a new name'
        raise UserError(message)
    for inside, text in files.items():
        path = place / inside if inside else place
        path.parent.mkdir(parents=True, exist_ok=True)
        with output_file(f"--{option}", str(path)) as file:
            file.write(text)
    if rust:
        library = shlex.quote(str(place / crate.library))
        say(
            f"{place} is written; it builds against {crate.sources}. Next:\n"
            f"  cargo build --release --manifest-path {shlex.quote(str(place / 'Cargo.toml'))}\n"
            f"  vermilion {option}s {own} --plugin {library}"
        )
        return
    say(
        f"{place} is written. Next:\n"
        f"  vermilion compare varying-load --plugin {place} --{option} {rival} --{option} {own}\n"
        f"  vermilion bench --plugin {place} --quick -o bench-of-{own}"
    )
