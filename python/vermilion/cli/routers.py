"""``vermilion routers``: the queues of this machine, and which of them can be controlled."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from vermilion.cli import options
from vermilion.cli.endings import UserError
from vermilion.cli.json_output import save_json
from vermilion.cli.output import cell, console
from vermilion.files.document import document, package_version
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.monitor.waits import Finding
    from vermilion.routers.linux import FoundInterface, FoundQueue


_MORE: Final = "vermilion control linux:{} --line auto --for '30 s' asks by probes"


@document("version=package_version interfaces waits", package_version)
@dataclass(frozen=True, slots=True)
class Routers:
    """The queues of this machine.

    Attributes:
        interfaces: with their queues.
        waits: where packets wait now, by the name of an interface with a queue.
    """

    interfaces: "Sequence[FoundInterface]"
    waits: "Mapping[str, Finding]"


def routers(
    interface: Annotated[
        str | None,
        typer.Argument(metavar="[INTERFACE]", help="Only this one, like eth0.", show_default=False),
    ] = None,
    target: options.Json = None,
) -> None:
    """List this machine's queues, and which can be controlled.

    Shows each queue's place, settings and counters, the name by which it is controlled, and where
    packets wait, as far as backlogs and this machine's connections tell. Nothing is changed, and no
    privileges are needed.
    """
    from vermilion.routers import RouterError
    from vermilion.routers.linux import RouteSocket, discover

    try:
        with RouteSocket() as kernel:
            found = discover(kernel.interfaces(), kernel.queues())
    except RouterError as error:
        raise UserError(str(error)) from None
    if interface is not None:
        found = _only(found, interface)
    machine = Routers(found, {each.interface.name: _waits(each) for each in found if each.queues})
    if target is not None:
        save_json(target, machine)
        return
    _print(machine)


def _waits(found: "FoundInterface") -> "Finding":
    """Return where packets of an interface wait, as far as its backlog and connections tell."""
    from vermilion.monitor.waits import waits_now
    from vermilion.routers import RouterError
    from vermilion.routers.linux.connections import round_trips
    from vermilion.routers.linux.shaper_rate import LinuxShaper

    name = found.interface.name
    backlog = max(each.state.statistics.backlog_bytes or 0 for each in found.queues)
    here: float | None = None if backlog else 0.0
    if backlog:
        try:
            with closing(LinuxShaper(f"linux:{name}")) as shaper:
                rate = shaper.state().rate_bit_per_s
        except RouterError:
            rate = 0.0
        here = 8.0 * backlog / rate if rate else None
    return waits_now(here, round_trips(name))


def _only(found: "list[FoundInterface]", name: str) -> "list[FoundInterface]":
    from vermilion.scenario.errors import did_you_mean, value_text

    own = [each for each in found if each.interface.name == name]
    if not own:
        known = did_you_mean(name, [each.interface.name for each in found])
        message = f"interface: {value_text(name)} is not accepted; expected {known}"
        raise UserError(message)
    return own


def _print(machine: Routers) -> None:
    screen = console()
    for each in machine.interfaces:
        state = "up" if each.interface.up else "down"
        mtu = "" if each.interface.mtu is None else f", MTU {each.interface.mtu} bytes"
        name = cell(each.interface.name)
        screen.print(f"[bold]{name}[/bold] ({state}{mtu})")
        for queue in each.queues:
            indent = "  " * (queue.depth + 1)
            for line in _lines(queue):
                # As it is, however long: commands in it are to be pasted.
                screen.print(f"{indent}{cell(line)}", soft_wrap=True)
                indent = "  " * (queue.depth + 3)
        waits = machine.waits.get(each.interface.name)
        if waits is not None and each.interface.name != "lo":
            more = f"; {_MORE.format(each.interface.name)}" if waits.place == "unseen" else ""
            screen.print(f"  {cell(waits.words() + more)}", soft_wrap=True)


def _lines(queue: "FoundQueue") -> list[str]:
    from vermilion.routers.linux.discovery import handle_text, parent_text

    state, options_now = queue.state, queue.state.options
    lines = [f"{parent_text(state.parent)}: {state.kind} {handle_text(state.handle)}"]
    if options_now.words():
        lines.append(options_now.words())
    counted = state.statistics
    if counted.packets is not None and counted.sent_bytes is not None:
        marks = options_now.marked(state.counters)
        packets = how_many(counted.packets, "packet", grouped=True)
        sent = how_many(counted.sent_bytes, "byte", grouped=True)
        parts = [f"sent {packets} ({sent})"]
        if counted.drops is not None:
            parts.append(f"dropped {counted.drops:,}")
        if marks is not None:
            parts.append(f"marked {marks:,}")
        if counted.backlog_packets is not None:
            parts.append(f"{counted.backlog_packets:,} waiting ({counted.backlog_bytes:,} bytes)")
        lines.append(", ".join(parts))
    if queue.why_not is None:
        names = ", ".join(options_now.settable)
        lines.append(f"can be controlled as {queue.address} ({options_now.discipline}): {names}")
    else:
        lines.append(f"cannot be controlled: {queue.why_not}")
    return lines
