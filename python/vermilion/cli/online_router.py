"""``vermilion control``: watches or controls a queue of a real router."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import typer

from vermilion.cli.endings import EXIT_NOT_RESTORED, UserError, finish_anyway
from vermilion.cli.json_output import write_json
from vermilion.cli.online_page import open_page, verbs_of
from vermilion.cli.online_surroundings import controller_metrics, open_watch, show_as_json
from vermilion.cli.options import read_limited
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs, output_file, say
from vermilion.cli.real_routers import check_privileges, real_router, takes_credentials
from vermilion.files.document import document, package_version
from vermilion.online.router_policy import Service
from vermilion.scenario.errors import ScenarioError, not_text, printable
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Iterator
    from queue import SimpleQueue

    from vermilion.cli.online_terminal import Terminal
    from vermilion.monitor import InterfaceWatch
    from vermilion.online.drive.real_router import RouterRun
    from vermilion.online.drive.wall_clock import WallClockDriver
    from vermilion.online.entries import Decision
    from vermilion.online.events import Command, Propose
    from vermilion.online.policy import AtExit, Mode, Policy
    from vermilion.online.router_policy import Freedom, ManagedLink, PolicyFile
    from vermilion.routers.base import Observation, OperatedRouter

_POLICY_MEGABYTES: Final = 1
_STOPPING: Final = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(frozen=True)
class RouterRequest:
    """Arguments of a run on real routers.

    Attributes:
        addresses: like "linux:eth0/1:10" or "snmp:192.0.2.1/eth0"; none leaves it to the policy
            file. Several queues are set together.
        paths: the links of several queues that flows cross, in their order.
        credentials: a file with a user of the agent, of the kind "snmp".
        policy: a policy file.
        mode: whether anything is changed.
        changes_per_minute: how often at most.
        at_exit: what stays in force.
        deadline_s: how long a search may take.
        for_s: how long to go on.
        json: where to write what became of it.
        service: the journal, the monitor, the log and the page, by the keys of a policy file.
    """

    addresses: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    credentials: Path | None = None
    policy: Path | None = None
    mode: Mode | None = None
    changes_per_minute: int | None = None
    at_exit: AtExit | None = None
    deadline_s: float | None = None
    for_s: float | None = None
    json: str | None = None
    service: Service = field(default_factory=Service)


@document(
    "version=package_version router=run.router discipline=run.discipline link=run.policy.link paths"
    " mode=run.policy.mode at_exit=run.policy.at_exit objective=run.policy.objective.label"
    " target_packets=run.policy.target_packets parameters=run.policy.parameters"
    " found.parameters=run.found found.command=run.undo decisions=run.decisions"
    " settings=run.settings missed_observations=run.missed unwritten_entries=run.unwritten",
    package_version,
)
@dataclass(frozen=True, slots=True)
class OnlineRouterDocument:
    """A real queue, and what was done."""

    run: RouterRun
    paths: tuple[tuple[str, ...], ...]


def online_router(request: RouterRequest) -> None:
    """Watches or controls the queue until somebody says stop.

    Raises:
        UserError: a mistake on the command line, or a queue that cannot be controlled.
        ScenarioError: a policy that cannot be pursued.
    """
    check_outputs(json=request.json)
    file = None if request.policy is None else _read_policy(request.policy)
    for name in () if file is None else file.without_effect:
        say(f"{name} has no effect any more and will be refused soon", err=True)
    service = request.service if file is None else request.service.or_else(file.service)
    if not request.addresses and service.router is None:
        message = "--router is missing, in the policy too; expected linux:eth0"
        raise UserError(message)
    addresses = request.addresses or (service.router or "",)
    if len(addresses) > 1 and service.monitor:
        message = (
            "--monitor listens to one interface; of several queues only counters are "
            "known. Leave it out; --path says which queues flows cross"
        )
        raise UserError(message)
    if service.entrances and not service.monitor:
        message = "--entrance needs --monitor; expected --monitor beside it"
        raise UserError(message)
    if len(addresses) == 1 and request.paths:
        message = "--path needs several queues; expected --router more than once"
        raise UserError(message)
    with ExitStack() as opened:
        watch = open_watch(addresses[0], service, opened) if service.monitor else None
        _control(request, addresses, file, service, watch, opened)


def _control(
    request: RouterRequest,
    addresses: tuple[str, ...],
    file: PolicyFile | None,
    service: Service,
    watch: InterfaceWatch | None,
    opened: ExitStack,
) -> None:
    """Watches or controls the queue with everything around it."""
    from vermilion.online.drive.real_router import run_on_router
    from vermilion.online.policy import DEADLINE_S
    from vermilion.online.record.journal import JournalError
    from vermilion.online.router_policy import Freedom
    from vermilion.routers import RouterError

    router = _opened(addresses, file, request, watch)
    address = str(router.address) if len(addresses) > 1 else addresses[0]
    freedom = Freedom(
        mode=request.mode,
        changes_per_minute=request.changes_per_minute,
        at_exit=request.at_exit,
    )
    deadline_s = DEADLINE_S if request.deadline_s is None else request.deadline_s
    policy = _policy(router, file, freedom, request.paths, deadline_s)
    _check_privileges(router, policy)
    journal = default_journal(router) if service.journal is None else Path(service.journal)
    metrics = controller_metrics(service, router, policy, watch)
    page = open_page(
        service, journal, verbs_of(policy.mode), opened, metrics=metrics, to_stderr=True
    )
    shown = request.json != STANDARD_OUTPUT
    finish_anyway()  # who reads along may go; the queue is left as it was asked for
    with ExitStack() as outputs:
        json_file = request.json and outputs.enter_context(output_file("--json", request.json))
        beginning = _beginning(address, policy.mode, policy.at_exit, journal)
        as_json = service.log_format == "json"
        attendance = Attendance(
            beginning if shown and not as_json else None,
            asks=policy.mode == "propose",
            others_answer=bool(service.answers),
        )

        def decided(decision: Decision) -> None:
            if metrics is not None:
                metrics.decided(decision)
            if as_json:
                show_as_json(decision, address, to_stderr=not shown)
            attendance.show(decision)

        @contextmanager
        def attended(driver: WallClockDriver) -> Iterator[None]:
            if metrics is not None:
                metrics.driven_by(driver)
            if page is not None:
                page.on_command = driver.commands.put
            with attendance.attend(driver):
                yield

        try:
            run = run_on_router(
                router,
                policy,
                delay_s=router.configuration.delay_s,
                journal_path=journal,
                on_event=decided,
                on_proposal=attendance.ask,
                on_observation=_unseen if metrics is None else metrics.observed,
                attended=attended,
                for_s=request.for_s,
            )
        except (JournalError, RouterError) as error:
            raise UserError(str(error)) from None
        finally:
            router.close()
        if shown:
            _show_end(run)
        if json_file:
            write_json(json_file, OnlineRouterDocument(run, request.paths))
    _check_restored(run, journal)


def _opened(
    addresses: tuple[str, ...],
    file: PolicyFile | None,
    request: RouterRequest,
    watch: InterfaceWatch | None,
) -> OperatedRouter:
    """The queue, or all of them as one set."""
    if len(addresses) == 1:
        return real_router(addresses[0], file, request.credentials, watch)
    from vermilion.online.drive.real_router import OperatedSet
    from vermilion.routers import RouterError

    remote = [takes_credentials(each) for each in addresses]
    if request.credentials is not None and not any(remote):
        message = '--credentials needs a router of the kind "snmp"'
        raise UserError(message)
    with ExitStack() as opened:
        routers = []
        for address, is_remote in zip(addresses, remote, strict=True):
            router = real_router(address, None, request.credentials if is_remote else None)
            opened.callback(router.close)
            routers.append(router)
        try:
            together = OperatedSet(routers)
        except RouterError as error:
            raise UserError(str(error)) from None
        opened.pop_all()
        return together


def _check_privileges(router: OperatedRouter, policy: Policy) -> None:
    """Check that every queue may be changed, unless the mode only observes."""
    from vermilion.online.drive.real_router import OperatedSet

    if policy.mode == "observe":
        return
    each_one = router.routers.values() if isinstance(router, OperatedSet) else [router]
    for each in each_one:
        check_privileges(each, str(each.address), policy.mode)


def _policy(
    router: OperatedRouter,
    file: PolicyFile | None,
    freedom: Freedom,
    paths: tuple[tuple[str, ...], ...],
    deadline_s: float,
) -> Policy:
    """Build the policy for one queue, or for all queues together."""
    from vermilion.online.drive.real_router import OperatedSet
    from vermilion.online.router_policy import policy_for

    if not isinstance(router, OperatedSet):
        link = _managed_link(router, router.address.interface)
        return policy_for(link, file, freedom, deadline_s=deadline_s)
    links = [_managed_link(each, link) for link, each in router.routers.items()]
    return policy_for(links, file, freedom, paths=paths, deadline_s=deadline_s)


def _managed_link(router: OperatedRouter, name: str) -> ManagedLink:
    """Read the queue's discipline and parameters from the router."""
    from vermilion.online.router_policy import ManagedLink
    from vermilion.routers import RouterError

    try:
        in_force = router.parameters()
    except RouterError as error:
        raise UserError(str(error)) from None
    return ManagedLink(
        interface=name,
        discipline=router.configuration.discipline,
        in_force=in_force,
        settable=router.settable,
        held=router.held,
    )


def _unseen(_: Observation) -> None:
    """Nobody asks for metrics."""


class Commanded(Protocol):
    """A driver that takes commands of people."""

    commands: SimpleQueue[Command]


class Attendance:
    """The people around a controller: who reads along, who is asked, who says stop."""

    def __init__(self, beginning: str | None, *, asks: bool, others_answer: bool) -> None:
        """Prepare.

        Args:
            beginning: what to show before the first decision; ``None`` shows nothing at all.
            asks: whether a person is asked before a change.
            others_answer: whether somebody can answer elsewhere, so that no answer is no "no".
        """
        self._asks = asks
        self._others_answer = others_answer
        self._shown = beginning is not None
        self._beginning = beginning or ""
        self._terminal: Terminal | None = None

    def show(self, decision: Decision) -> None:
        """A line for each decision; a terminal that has gone is no reason to let go of a queue."""
        if self._terminal is not None and decision.kind in {"declined", "applied"}:
            self._terminal.withdraw()
        if self._shown:
            with contextlib.suppress(OSError):
                if self._beginning:
                    say(self._beginning)
                    self._beginning = ""
                say(f"{decision.time_s:9.2f} s  {decision.kind:<15}  {printable(decision.reason)}")

    def ask(self, proposal: Propose) -> None:
        """Asks the person at the terminal."""
        if self._terminal is not None:
            self._terminal.ask(proposal)

    @contextmanager
    def attend(self, driver: Commanded) -> Iterator[None]:
        """While the controller runs: signals say stop, and the terminal is listened to."""
        from vermilion.cli.online_terminal import Terminal

        with _stopped_by_signals(driver), ExitStack() as listening:
            is_there = sys.stdin is not None and sys.stdin.isatty()
            if is_there or (self._asks and not self._others_answer):
                terminal = Terminal(
                    driver.commands.put, sys.stdin.fileno(), others_answer=self._others_answer
                )
                self._terminal = listening.enter_context(terminal)
            yield


@contextmanager
def _stopped_by_signals(driver: Commanded) -> Iterator[None]:
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
    """Read a policy file.

    Raises:
        ScenarioError: it cannot be read, or says what is not accepted.
    """
    from vermilion.online.router_policy import read_policy

    origin, accepted = str(path), "a policy file in TOML"
    content = read_limited(path, "--policy", _POLICY_MEGABYTES, accepted)
    try:
        return read_policy(content.decode("utf-8-sig"), origin)
    except UnicodeDecodeError as error:
        accepted = "a policy: TOML in UTF-8"
        problem = f"--policy: {not_text(content, error)}"
        raise ScenarioError("", problem, accepted, origin) from None


def default_journal(router: OperatedRouter) -> Path:
    """Return the default path of a queue's journal.

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
            f"--journal: {folder} cannot be made "
            f"({getattr(error, 'strerror', None) or error}); expected a file"
        )
        raise UserError(message) from None
    name = "".join(c if c.isalnum() else "-" for c in str(router.address))
    return folder / f"{name}.sqlite"


def _beginning(address: str, mode: Mode, at_exit: AtExit, journal: Path) -> str:
    """Describe the run: its mode, its end and its journal."""
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
        were = "was" if run.missed == 1 else "were"
        late = how_many(run.missed, "observation")
        say(f"{late} came too late and {were} left out", err=True)
    if run.unwritten:
        say(
            f"{how_many(run.unwritten, 'entry', 'entries')} not written to the journal",
            err=True,
        )


def _check_restored(run: RouterRun, journal: Path) -> None:
    """Say it, and end with a code of its own, where the first setting did not come back.

    Raises:
        Exit: it did not.
    """
    if run.is_not_restored:
        message = (
            "the first setting could not be restored; vermilion undo "
            f"{shlex.quote(str(journal))} shows it"
        )
        say(printable(message), err=True)
        raise typer.Exit(EXIT_NOT_RESTORED)
