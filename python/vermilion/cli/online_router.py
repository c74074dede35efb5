"""``vermilion online --router``: watches or controls a queue of a real router."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from vermilion.cli.closed_pipe import finish_anyway
from vermilion.cli.entry import UserError
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, output_file
from vermilion.scenario.errors import ScenarioError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.cli.online_terminal import Terminal
    from vermilion.online.drive.real_router import RouterRun
    from vermilion.online.drive.wall_clock import WallClockDriver
    from vermilion.online.effects import Propose
    from vermilion.online.policy import AtExit, Mode, WithoutModel
    from vermilion.online.record.entries import Decision
    from vermilion.online.router_policy import PolicyFile
    from vermilion.routers.linux import LinuxRouter

_LARGEST_POLICY: Final = 1_000_000
_STOPPING: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(frozen=True)
class RouterRequest:
    """What the command line says.

    Attributes:
        address: like "linux:eth0/1:10".
        policy: a policy file.
        mode: whether anything is changed.
        changes_per_minute: how often at most.
        at_exit: what stays in force.
        without_model: what happens where no model explains the network.
        atlas: where searches may begin.
        deadline_s: how long a search may take.
        for_s: how long to go on.
        journal: where to keep the journal.
        json: where to write what became of it.
    """

    address: str
    policy: Path | None = None
    mode: Mode | None = None
    changes_per_minute: int | None = None
    at_exit: AtExit | None = None
    without_model: WithoutModel | None = None
    atlas: Path | None = None
    deadline_s: float | None = None
    for_s: float | None = None
    journal: Path | None = None
    json: str | None = None


def online_router(request: RouterRequest) -> None:
    """Watches or controls the queue until somebody says stop.

    Raises:
        UserError: a mistake on the command line, or a queue that cannot be controlled.
        ScenarioError: a policy that cannot be pursued.
    """
    from vermilion.cli.atlas_file import read_atlas
    from vermilion.online.drive.real_router import run_on_router
    from vermilion.online.policy import DEADLINE_S
    from vermilion.online.record.journal import JournalError
    from vermilion.online.router_policy import Freedom, ManagedLink, policy_for
    from vermilion.routers import RouterError
    from vermilion.routers.linux import LinuxRouter

    check_outputs(json=request.json)
    file = None if request.policy is None else _read_policy(request.policy)
    try:
        router = LinuxRouter(
            request.address,
            rate_bit_per_s=None if file is None else file.rate_bit_per_s,
            delay_s=0.0 if file is None else file.delay_s or 0.0,
        )
    except RouterError as error:
        raise UserError(str(error)) from None
    link = ManagedLink(
        interface=router.address.interface,
        discipline=router.configuration.discipline,
        in_force=router.parameters(),
        settable=router.settable,
    )
    freedom = Freedom(
        mode=request.mode,
        changes_per_minute=request.changes_per_minute,
        at_exit=request.at_exit,
        without_model=request.without_model,
    )
    deadline_s = DEADLINE_S if request.deadline_s is None else request.deadline_s
    policy = policy_for(link, file, freedom, deadline_s=deadline_s)
    memory = None
    if request.atlas is not None:
        memory = read_atlas(request.atlas, link.discipline, policy.parameters)
    if policy.mode != "observe":
        _check_privileges(request.address, policy.mode)
    journal = _default_journal(router) if request.journal is None else request.journal
    shown = request.json != STANDARD_OUTPUT
    finish_anyway()  # who reads along may go; the queue is left as it was asked for
    with ExitStack() as outputs:
        json_file = request.json and outputs.enter_context(output_file("--json", request.json))
        beginning = _beginning(request.address, policy.mode, policy.at_exit, journal)
        attendance = _Attendance(beginning if shown else None, asks=policy.mode == "propose")
        try:
            run = run_on_router(
                router,
                policy,
                delay_s=router.configuration.delay_s,
                journal_path=journal,
                on_event=attendance.show,
                on_proposal=attendance.ask,
                attended=attendance.attend,
                for_s=request.for_s,
                memory=memory,
            )
        except (JournalError, RouterError) as error:
            raise UserError(str(error)) from None
        finally:
            router.close()
        if shown:
            _show_end(run)
        if json_file:
            import json

            json_file.write(f"{json.dumps(_document(run), indent=2, allow_nan=False)}\n")


class _Attendance:
    """The people around a controller: who reads along, who is asked, who says stop."""

    def __init__(self, beginning: str | None, *, asks: bool) -> None:
        """Args: what to show before the first decision; ``None`` shows nothing at all."""
        self._asks = asks
        self._shown = beginning is not None
        self._beginning = beginning or ""
        self._terminal: Terminal | None = None

    def show(self, decision: Decision) -> None:
        """A line for each decision; a terminal that has gone is no reason to let go of a queue."""
        if self._terminal is not None and decision.kind == "declined":
            self._terminal.withdraw()
        if self._shown:
            with contextlib.suppress(OSError):
                if self._beginning:
                    typer.echo(self._beginning)
                    self._beginning = ""
                typer.echo(
                    f"{decision.time_s:9.2f} s  {decision.kind:<15}  {printable(decision.reason)}"
                )

    def ask(self, proposal: Propose) -> None:
        """Asks the person at the terminal."""
        if self._terminal is not None:
            self._terminal.ask(proposal)

    @contextmanager
    def attend(self, driver: WallClockDriver) -> Iterator[None]:
        """While the controller runs: signals say stop, and the terminal is listened to."""
        from vermilion.cli.online_terminal import Terminal

        with _stopped_by_signals(driver), ExitStack() as listening:
            if self._asks or (sys.stdin is not None and sys.stdin.isatty()):
                terminal = Terminal(driver.commands.put, sys.stdin.fileno())
                self._terminal = listening.enter_context(terminal)
            yield


@contextmanager
def _stopped_by_signals(driver: WallClockDriver) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the run in order; a second Ctrl-C ends it at once."""
    from vermilion.online.events import Command

    def stop(number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        driver.commands.put(Command("stop"))

    before = {
        each: signal.signal(each, stop)
        for each in (getattr(signal, name, None) for name in _STOPPING)
        if each is not None
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _read_policy(path: Path) -> PolicyFile:
    """What a policy file says.

    Raises:
        ScenarioError: it cannot be read, or says what is not accepted.
    """
    from vermilion.online.router_policy import read_policy

    origin, accepted = str(path), "a policy file in TOML"
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_POLICY + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        problem = f"--policy: cannot be read ({reason})"
        raise ScenarioError("", problem, accepted, origin) from None
    if len(content) > _LARGEST_POLICY:
        raise ScenarioError("", "--policy: is larger than 1 MB", accepted, origin)
    try:
        return read_policy(content.decode("utf-8-sig"), origin)
    except UnicodeDecodeError as error:
        problem = f"--policy: is not text in UTF-8 (byte {error.start})"
        raise ScenarioError("", problem, accepted, origin) from None


def _check_privileges(address: str, mode: Mode) -> None:
    """Whether queues may be changed.

    Raises:
        UserError: they may not; the message says what is missing and how to give it.
    """
    from vermilion.routers.linux.privileges import may_change_queues
    from vermilion.routers.linux.route_socket import HOW_TO_ALLOW

    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # the kernel will say it itself
    if may_change_queues(status) is False:
        message = (
            f'--mode: "{mode}" cannot change {printable(address)}: {HOW_TO_ALLOW}; '
            'or use "observe", which needs none'
        )
        raise UserError(message)


def _default_journal(router: LinuxRouter) -> Path:
    """Where the journal of a queue is kept unless told otherwise.

    Raises:
        UserError: the folder cannot be made.
    """
    service = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    if service:
        return Path(service) / "journal.sqlite"
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    folder = Path(state).expanduser() / "vermilion"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        message = (
            f"--journal: {folder} cannot be made ({getattr(error, 'strerror', None) or error}); "
            "expected a file to keep the journal in"
        )
        raise UserError(message) from None
    name = "".join(c if c.isalnum() else "-" for c in str(router.address))
    return folder / f"{name}.sqlite"


def _beginning(address: str, mode: Mode, at_exit: AtExit, journal: Path) -> str:
    """What will be done, how it ends, and where it is written down."""
    does = {
        "observe": "nothing is changed",
        "propose": "you are asked before every change",
        "control": "the setting is changed",
    }[mode]
    end = {
        "keep": "keeps what is in force then",
        "restore": "puts back what stood before the first change",
    }[at_exit]
    ends = "" if mode == "observe" else f", and {end}"
    return (
        f"{printable(address)}, mode {mode}: {does}. Ctrl-C ends it{ends}.\n"
        f"journal: {printable(str(journal))}"
    )


def _show_end(run: RouterRun) -> None:
    if run.missed:
        typer.echo(f"{run.missed} observations came too late and were left out", err=True)
    if run.unwritten:
        typer.echo(f"{run.unwritten} entries could not be written into the journal", err=True)


def _document(run: RouterRun) -> dict[str, object]:
    """What became of the queue, for JSON."""
    from vermilion import _core

    policy = run.policy
    return {
        "version": _core.VERSION,
        "router": run.router,
        "discipline": run.discipline,
        "link": policy.link,
        "mode": policy.mode,
        "at_exit": policy.at_exit,
        "objective": policy.objective.label,
        "target_packets": policy.target_packets,
        "parameters": list(policy.parameters),
        "found": {"parameters": dict(run.found), "command": run.undo},
        "decisions": [
            {
                "time_s": each.time_s,
                "kind": each.kind,
                "reason": each.reason,
                "details": each.details,
            }
            for each in run.decisions
        ],
        "settings": [
            {"time_s": each.time_s, "parameters": dict(each.parameters)} for each in run.settings
        ],
        "missed_observations": run.missed,
        "unwritten_entries": run.unwritten,
    }
