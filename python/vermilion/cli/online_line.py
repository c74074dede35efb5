"""``vermilion control linux:eth0 --line auto``: a shaper kept at its line's rate."""

from __future__ import annotations

import ipaddress
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import typer

from vermilion.cli.endings import EXIT_NOT_RESTORED, UserError, finish_anyway
from vermilion.cli.json_output import write_json
from vermilion.cli.online_page import open_page, verbs_of
from vermilion.cli.online_router import Attendance, default_journal
from vermilion.cli.online_surroundings import show_as_json
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, output_file, say
from vermilion.cli.real_routers import check_privileges
from vermilion.line.irtt import SCHEME, server_of
from vermilion.scenario.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from vermilion.cli.online_router import RouterRequest
    from vermilion.line.drive import LineDriver
    from vermilion.line.outcome import LineRun
    from vermilion.monitor.waits import Direction
    from vermilion.online.entries import Decision
    from vermilion.routers.linux.shaper_rate import LinuxShaper

_DIRECTIONS: Final = {"up": ("up",), "down": ("down",), "both": ("up", "down")}
_LEAST_EXCESS_S, _LARGEST_EXCESS_S = 0.001, 1.0


@dataclass(frozen=True, slots=True)
class LineRequest:
    """Wishes for a line.

    Attributes:
        direction: of the packets that are held back.
        excess_s: wait in the line's own queue that is accepted.
        reflectors: addresses to probe, or ``irtt://ADDRESS:PORT``; empty: public ones.
    """

    direction: Literal["up", "down", "both"]
    excess_s: float
    reflectors: tuple[str, ...] = ()


def online_line(request: RouterRequest, line: LineRequest) -> None:
    """Keep the rate of one shaper, or of one for each direction, until somebody says stop.

    Raises:
        UserError: a mistake on the command line, or a shaper that cannot be set.
    """
    from vermilion.line.drive import keep_line
    from vermilion.line.outcome import Wish
    from vermilion.line.probes import REFLECTORS
    from vermilion.online.record.journal import JournalError
    from vermilion.routers import RouterError

    address = _checked(request, line)
    reflectors = list(dict.fromkeys(map(_reflector, line.reflectors)))
    wish = Wish(line.excess_s, request.mode or "observe", request.at_exit or "keep")
    service = request.service
    with ExitStack() as opened:
        interface, shapers = _shapers(address, line, opened)
        if wish.mode != "observe":
            check_privileges(shapers[0][1], address, wish.mode)
        journal = (
            default_journal(shapers[0][1]) if service.journal is None else Path(service.journal)
        )
        page = open_page(service, journal, verbs_of(wish.mode), opened, to_stderr=True)
        shown, as_json = request.json != STANDARD_OUTPUT, service.log_format == "json"
        finish_anyway()
        json_file = request.json and opened.enter_context(output_file("--json", request.json))
        beginning = f"{printable(address)}, mode {wish.mode}. Ctrl-C ends it.\njournal: {journal}"
        attendance = Attendance(
            beginning if shown and not as_json else None,
            asks=wish.mode == "propose",
            others_answer=bool(service.answers),
        )

        def decided(decision: Decision) -> None:
            if as_json:
                show_as_json(decision, address, to_stderr=not shown)
            attendance.show(decision)

        def attended(driver: LineDriver) -> AbstractContextManager[None]:
            if page is not None:
                page.on_command = driver.commands.put
            return attendance.attend(driver)

        try:
            run = keep_line(
                interface,
                shapers,
                wish,
                reflectors or REFLECTORS,
                journal_path=journal,
                on_event=decided,
                on_proposal=attendance.ask,
                attended=attended,
                for_s=request.for_s,
            )
        except (JournalError, RouterError) as error:
            raise UserError(str(error)) from None
        for text in summary(run) if shown and not as_json else ():
            say(text)
        if json_file:
            write_json(json_file, run)
    if run.is_not_restored:
        say("the first rate could not be restored; vermilion undo shows it", err=True)
        raise typer.Exit(EXIT_NOT_RESTORED)


def _checked(request: RouterRequest, line: LineRequest) -> str:
    """Return the router's address.

    Raises:
        UserError: an option is not accepted.
    """
    check_outputs(json=request.json)
    if len(request.addresses) != 1:
        message = "--line needs one --router, the interface next to the line, like linux:eth0"
        raise UserError(message)
    if not _LEAST_EXCESS_S <= line.excess_s <= _LARGEST_EXCESS_S:
        message = f"--excess: {1e3 * line.excess_s:g} ms; expected 1 ms to 1 s"
        raise UserError(message)
    return request.addresses[0]


def summary(run: LineRun) -> Iterator[str]:
    """Return lines that say what has come of a run."""
    for side in run.sides:
        if side.rate_bit_per_s is not None:
            yield (
                f"{side.direction}: {1e-6 * side.rate_bit_per_s:.3g} Mbit/s on average, "
                f"{side.changes} changes; {side.finding.words()}"
            )
    share = 100 * run.cpu_s / run.for_s if run.for_s else 0.0
    yield f"{run.answered} of {run.sent} probes answered; {share:.1f} % of a processor"


def _shapers(
    address: str, line: LineRequest, opened: ExitStack
) -> tuple[str, Sequence[tuple[Direction, LinuxShaper]]]:
    """Return the interface next to the line, and its shapers.

    Raises:
        UserError: one is missing; the message has the commands that make it.
    """
    from vermilion.routers import RouterError
    from vermilion.routers.linux.discovery import parse_address
    from vermilion.routers.linux.shaper_rate import LinuxShaper

    found: list[tuple[Direction, LinuxShaper]] = []
    try:
        interface = parse_address(address).interface
        for direction in _DIRECTIONS[line.direction]:
            if direction == "up":
                shaper = LinuxShaper(address)
                found.append(("up", shaper))
            else:
                shaper = LinuxShaper.of_arrivals(interface)
                found.append(("down", shaper))
            opened.callback(shaper.close)
    except RouterError as error:
        raise UserError(str(error)) from None
    return interface, found


def _reflector(text: str) -> str:
    """Return a reflector's address, in one form.

    Raises:
        UserError: it is none.
    """
    try:
        if text.startswith(SCHEME):
            host, port = server_of(text)
            return f"{SCHEME}{host}:{port}"
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        message = (
            f'--reflector: "{printable(text)}" is not accepted; '
            "expected an IPv4 address or irtt://ADDRESS[:PORT]"
        )
        raise UserError(message) from None
