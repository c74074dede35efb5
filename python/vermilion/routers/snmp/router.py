"""One queue of another machine under control, over SNMP.

The other machine runs snmpd with ``vermilion snmp-agent`` beside it. Counters are read in one
question, and all parameters of a change are set in one message, which the agent makes one change of
the kernel. An answer to a change that does not come is not taken for a refusal: what is in force is
read, and the change is sent once more only if it was not made. What is set are absolute values, so
that a message that arrives twice does no harm. Nor is a refusal of the commit believed before what
was there is read again.

The agent's tables number queues by interface, and a machine may number its interfaces otherwise
when it starts again. So every question asks for the interface's name as well, and where that is
another one, the queue is looked for by its own.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, ClassVar, Final

from vermilion.agentx.protocol import ValueType
from vermilion.routers.base import (
    LinkConfiguration,
    Observation,
    OperatedRouter,
    ParameterValue,
    PushPrice,
    Reach,
    Reading,
    RouterError,
    RouterSilent,
)
from vermilion.routers.linux.change import LinuxValues
from vermilion.routers.linux.kinds import options_of
from vermilion.routers.linux.state import Unwrapped
from vermilion.routers.snmp.linux_queues import QueuePlace
from vermilion.routers.snmp.mib import (
    BUILT_INTO,
    PRICE_OF,
    QUEUE_ENTRY,
    TABLE_OF,
    TABLES,
    TRUTH,
    Fact,
    encoded_value,
)
from vermilion.routers.snmp.session import (
    EXAMPLE,
    AgentRefused,
    RemoteAddress,
    SnmpSession,
    parse_remote_address,
)
from vermilion.scenario import disciplines
from vermilion.scenario.errors import FieldError, did_you_mean, one_of, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from vermilion.agentx.protocol import ObjectIdentifier, Value
    from vermilion.routers.snmp.credentials import Credentials
    from vermilion.routers.snmp.mib import Setting
    from vermilion.routers.snmp.session import SnmpAgent

READING_INTERVAL_S: Final = 1.0
"""Between two readings: an agent is a guest on the machine whose packets it counts."""

_NEEDED: Final = (
    Fact.BACKLOG_PACKETS,
    Fact.BACKLOG_BYTES,
    Fact.FORWARDED_PACKETS,
    Fact.FORWARDED_BYTES,
    Fact.DROPS,
)
_READ: Final = (*_NEEDED, Fact.MARKS, Fact.MEASURED_AT, Fact.FLOWS)
_OTHER_CLOCK_S: Final = 1.0
"""By so much the agent's clock may be off before it counts as another one."""

_US_PER_S: Final = 1e6
_LARGEST: Final = 2**64 - 1


class SnmpRouter(OperatedRouter):
    """One queue of a machine whose agent is asked over SNMP.

    Args:
        address: like "snmp:192.0.2.1/eth0" or "snmp:192.0.2.1/eth0/1:10".
        credentials: who asks.
        agent: whom to ask; by default the one at the address.
        delay_s: the link's propagation delay, as the operator knows it.
        clock: seconds, never going back.
        sleep: waits for so many seconds.

    Raises:
        RouterSilent: the agent does not answer.
        RouterError: there is no such queue, or it cannot be controlled.
    """

    kind: ClassVar[str] = "snmp"
    example: ClassVar[str] = EXAMPLE
    takes_credentials: ClassVar[bool] = True
    reading_interval_s = READING_INTERVAL_S

    def __init__(
        self,
        address: str,
        credentials: Credentials | None = None,
        *,
        agent: SnmpAgent | None = None,
        delay_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address: RemoteAddress = parse_remote_address(address)
        if agent is None:
            if credentials is None:
                message = f"{self.address}: credentials are missing; expected those of a user"
                raise RouterError(message)
            agent = SnmpSession(self.address.host, self.address.port, credentials)
        self._agent = agent
        self._clock = clock
        self._sleep = sleep
        self._began = clock()
        self._offset_s: float | None = None  # of this clock before the agent's
        self._last_s = 0.0
        self._unwrapped = Unwrapped()
        try:
            self._place = self._find()
            self._read_kind(delay_s)
        except BaseException:
            agent.close()
            raise

    @property
    def settable(self) -> tuple[str, ...]:
        """The names of the parameters that can be changed."""
        return tuple(each.parameter for each in self._settings if self._is_settable(each))

    @classmethod
    def reached(cls, address: str, reach: Reach) -> Self:
        """The queue of an address like "snmp:192.0.2.1/eth0"."""
        from vermilion.routers.snmp.credentials import credentials_file, read_credentials

        host = parse_remote_address(address).host
        file = credentials_file(reach.environment, reach.credentials)
        return cls(address, read_credentials(file, host), delay_s=reach.delay_s)

    @property
    def may_change(self) -> bool:
        """Return whether the agent lets anybody change the queue."""
        return self._may_change

    def why_not_changed(self) -> str | None:
        """Option that the agent lacks; a user's rights show at a change alone."""
        if self._may_change:
            return None
        return "vermilion snmp-agent there does not allow it; expected its option --allow"

    def now_s(self) -> float:
        """The time of a reading that is taken now, seconds."""
        return self._clock() - self._began

    def close(self) -> None:
        """Ends the conversation with the agent."""
        self._agent.close()

    def read(self) -> Reading:
        """The counters now, in one question.

        Raises:
            RouterSilent: no answer came.
            RouterError: the agent does not show them, or another queue has taken this one's place.
        """
        return self.observe().reading

    def active_flows(self) -> int | None:
        """The number of flows, where the agent knows it."""
        return self.observe().active_flows

    def observe(self) -> Observation:
        """Counters, and the number of flows where the agent knows it, in one question.

        Raises:
            RouterSilent: no answer came.
            RouterError: as of :meth:`read`.
        """
        told = self._get(_READ)
        now_s = self.now_s()
        counted = {each: self._counted(told, each) for each in _NEEDED}
        wrapping = {"drops": counted[Fact.DROPS], "packets": counted[Fact.FORWARDED_PACKETS]}
        marks = told.get(self._named(Fact.MARKS))
        wrapping["marks"] = marks if isinstance(marks, int) and marks >= 0 else 0
        whole = self._unwrapped.take(wrapping, counted[Fact.FORWARDED_BYTES], 0)
        flows = told.get(self._named(Fact.FLOWS))
        reading = Reading(
            time_s=self._measured_s(told.get(self._named(Fact.MEASURED_AT)), now_s),
            backlog_packets=counted[Fact.BACKLOG_PACKETS],
            backlog_bytes=counted[Fact.BACKLOG_BYTES],
            forwarded_packets=whole["packets"],
            forwarded_bytes=counted[Fact.FORWARDED_BYTES],
            drops=whole["drops"],
            marks=whole["marks"],
        )
        return Observation(reading, flows if isinstance(flows, int) and flows >= 0 else None)

    def parameters(self) -> dict[str, ParameterValue]:
        """Parameters that the agent reports, by their names in the discipline's table.

        Raises:
            RouterSilent: no answer came.
            RouterError: the agent does not show one that can be set.
        """
        return self._meant(self._read_settings())

    def undo_command(self) -> str | None:
        """The present setting as a call of net-snmp's snmpset, without its secrets.

        Raises:
            RouterError: it cannot be read.
        """
        said = self._read_settings()
        words = [
            f"{'.'.join(map(str, self._column(each)))} "
            f"{'i' if each.scale.type == ValueType.INTEGER else 'u'} {said[each]}"
            for each in self._settings
            if self._is_settable(each)
        ]
        return f"snmpset -v3 -l authPriv -u USER {self.address.agent} {' '.join(words)}"

    @classmethod
    def rebuild_undo_command(
        cls, address: str, parameters: Mapping[str, ParameterValue], recorded: str
    ) -> str | None:
        """The call of snmpset for the recorded objects, with the numbers of these parameters."""
        agent = parse_remote_address(address).agent
        begins = f"snmpset -v3 -l authPriv -u USER {agent}"
        objects = recorded.removeprefix(begins)
        if objects == recorded or not _OBJECTS.fullmatch(objects):
            return None
        words = [begins]
        for name, letter in _OBJECT.findall(objects):
            *column, _, _ = map(int, name.split("."))
            setting = _SETTING_AT[tuple(column)]
            words.append(f"{name} {letter} {encoded_value(setting, parameters[setting.parameter])}")
        return " ".join(words)

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put ``parameters`` in force, merged over the present ones: all of them or none.

        Nothing is sent if they are in force already.

        Raises:
            RouterError: the agent or its kernel refused; what was there is in force.
            RouterSilent: the agent was told, and what was there is not known to be in force.
        """
        wanted = self._wanted(parameters)
        before, place = self._read_settings(), self._place
        changes = {each: said for each, said in wanted.items() if before[each] != said}
        if not changes:
            return
        try:
            self._set(changes, before, place)
        except RouterSilent as silence:
            if not self._is_applied(changes, before, place, silence):
                self._resend(changes, before, place)
        now = self._said_after(place)
        late = [each.parameter for each in changes if now[each] == before[each]]
        if late:
            message = (
                f"{self.address}: the agent has accepted a change of {', '.join(late)} "
                "and shows the old value"
            )
            if self._is_unchanged(now, before):
                raise RouterError(message)
            message = f"{message}. The rest of the change is in force"
            raise RouterSilent(message)

    # --- what there is ---------------------------------------------------------------------

    def _find(self) -> QueuePlace:
        """Find the queue in the agent's tables.

        Raises:
            RouterError: it is not there; the message names those that are.
        """
        column = (*QUEUE_ENTRY, Fact.INTERFACE.number)
        rows = {
            QueuePlace(*name[len(column) :]): value.decode("utf-8", errors="replace")
            for name, value in self._agent.walk(column).items()
            if len(name) == len(column) + 2 and isinstance(value, bytes)
        }
        if not rows:
            message = (
                f"{self.address}: the agent shows no queues; expected vermilion "
                "snmp-agent beside snmpd, and a user that may see it (rouser or rwuser "
                "in snmpd.conf)"
            )
            raise RouterError(message)
        wanted = (self.address.interface, self.address.parent)
        for place, name in rows.items():
            if (name, place.parent) == wanted:
                return place
        known = one_of(
            str(RemoteAddress(self.address.host, name, place.parent, self.address.port))
            for place, name in rows.items()
        )
        message = f"{self.address}: there is no such queue; expected {known}"
        raise RouterError(message)

    def _read_kind(self, delay_s: float) -> None:
        """Read the kind of the queue.

        Raises:
            RouterError: of a kind that is not known, or the agent does not show enough of it.
        """
        told = self._agent.get(
            [self._named(each) for each in (Fact.KIND, Fact.DISCIPLINE, Fact.CHANGEABLE)]
        )
        kind = _text(told.get(self._named(Fact.KIND)))
        self._queue_kind = kind
        known = options_of(kind).discipline
        if kind not in TABLE_OF or known != _text(told.get(self._named(Fact.DISCIPLINE))):
            message = (
                f"{self.address}: a queue of the kind {printable(kind) or 'unknown'}; expected "
                f"{did_you_mean(kind, TABLE_OF)}"
            )
            raise RouterError(message)
        self._settings = tuple(TABLE_OF[kind].settings)
        self._may_change = told.get(self._named(Fact.CHANGEABLE)) == TRUTH.lowest
        self._configuration = LinkConfiguration(str(self.address), known or "", delay_s)
        self.push_price = PRICE_OF.get(kind, PushPrice())
        self.held = LinuxValues(discipline=self._configuration.discipline)
        self.parameters()
        self.read()

    def _get(
        self, facts: Sequence[Fact], settings: Sequence[Setting] = ()
    ) -> Mapping[ObjectIdentifier, Value]:
        """Ask about the queue: one question, unless it has another number now.

        Raises:
            RouterSilent: no answer came, or the queue is not there.
            RouterError: another kind of queue has taken its place.
        """
        for is_last in (False, True):
            names = [self._named(each) for each in (*facts, Fact.KIND, Fact.INTERFACE)]
            told = self._agent.get([*(self._column(each) for each in settings), *names])
            name = _text(told.get(self._named(Fact.INTERFACE)))
            is_here = (
                told.get(self._named(Fact.KIND)) is not None and name == self.address.interface
            )
            if is_here or is_last or not self._is_found_again():
                break
        self._check_kind(told, is_here=is_here)
        return told

    def _is_found_again(self) -> bool:
        """Find the queue again; at another place it counts anew."""
        try:
            place = self._find()
        except RouterError:
            return False
        if place != self._place:
            self._place = place
            self._unwrapped = Unwrapped()
        return True

    def _check_kind(self, told: Mapping[ObjectIdentifier, Value], *, is_here: bool) -> None:
        kind = told.get(self._named(Fact.KIND))
        if not is_here:
            message = (
                f"{self.address}: the agent no longer shows the queue; expected vermilion "
                "snmp-agent beside snmpd, and the queue"
            )
            raise RouterSilent(message)
        if _text(kind) != self._queue_kind:
            message = (
                f"{self.address}: the {self._queue_kind} that was here is gone; now it is "
                f"{printable(_text(kind))}"
            )
            raise RouterError(message)

    def _counted(self, told: Mapping[ObjectIdentifier, Value], fact: Fact) -> int:
        value = told.get(self._named(fact))
        if not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise self._not_shown(fact.title)
        return value

    def _not_shown(self, name: str) -> RouterError:
        return RouterError(
            f"{self.address}: the agent does not show {name}; expected a view with all of "
            "VERMILION-QUEUE-MIB"
        )

    def _measured_s(self, told: Value, now_s: float) -> float:
        """Return when the counters were read, on this clock: exact even on a slow path."""
        measured_s = now_s
        if isinstance(told, int):
            theirs_s = told / _US_PER_S
            if self._offset_s is None or abs(theirs_s + self._offset_s - now_s) > _OTHER_CLOCK_S:
                self._offset_s = now_s - theirs_s
            measured_s = theirs_s + self._offset_s
        self._last_s = max(self._last_s, measured_s)
        return self._last_s

    # --- parameters ------------------------------------------------------------------------

    def _read_settings(self) -> dict[Setting, int]:
        """The columns of the queue as the agent says them.

        Raises:
            RouterError: one that can be set is missing, or a value makes no sense.
        """
        told = self._get((), self._settings)
        found: dict[Setting, int] = {}
        for each in self._settings:
            value = told.get(self._column(each))
            if isinstance(value, int) and each.scale.lowest <= value <= each.scale.highest:
                found[each] = value
            elif value is not None or self._is_settable(each):
                raise self._not_shown(each.name)
        return found

    def _meant(self, said: Mapping[Setting, int]) -> dict[str, ParameterValue]:
        own = {each.parameter: each.scale.meant(value) for each, value in said.items()}
        return {**BUILT_INTO[self._queue_kind], **own}

    def _wanted(self, parameters: Mapping[str, ParameterValue]) -> dict[Setting, int]:
        """Numbers for the parameters; those that the kind has fixed are left away.

        Raises:
            RouterError: one that is not accepted; the message names it.
        """
        table = disciplines()[self._configuration.discipline]
        settings = {each.parameter: each for each in self._settings if self._is_settable(each)}
        fixed: dict[str, ParameterValue] | None = None
        found: dict[Setting, int] = {}
        for name, value in parameters.items():
            try:
                parameter = table.parameters.get(name)
                own = table.parse_one(
                    name, value if parameter is None else parameter.exact_text(value)
                )
                if name in settings:
                    found[settings[name]] = encoded_value(settings[name], own)
                    continue
                fixed = self.parameters() if fixed is None else fixed
                self._check_fixed(name, own, fixed)
            except FieldError as error:
                message = f"{self.address}: {error}"
                raise RouterError(message) from None
        return found

    def _check_fixed(
        self, name: str, value: ParameterValue, fixed: Mapping[str, ParameterValue]
    ) -> None:
        """Check that a parameter that cannot be set is what is wanted.

        Raises:
            FieldError: it is not.
        """
        if name not in fixed or fixed[name] != value:
            accepted = f"nothing else: the agent lets {one_of(self.settable)} be set"
            raise FieldError(name, value, accepted)

    def _is_settable(self, setting: Setting) -> bool:
        return setting.writable and setting.parameter in options_of(self._queue_kind).settable

    def _set(
        self, changes: Mapping[Setting, int], before: Mapping[Setting, int], place: QueuePlace
    ) -> None:
        """Sends a change.

        Raises:
            RouterSilent: no answer came, or one after which something else than before is in force.
            RouterError: the agent refuses; its own reason is in the message where it tells one.
        """
        told = [(self._column(each), each.scale.type, said) for each, said in changes.items()]
        try:
            self._agent.set(told)
        except AgentRefused as refusal:
            if refusal.status in _UNCLEAR:
                message = f"{refusal}: {_REFUSALS[refusal.status]}"
                raise RouterSilent(message) from None
            was_tried = refusal.status == "commitFailed"
            if was_tried and not self._is_unchanged(self._said_after(place), before):
                words = "the change was not made, but the old setting is not in force"
                raise RouterSilent(self._refusal(refusal, list(changes), words)) from None
            words = _REFUSALS.get(refusal.status, "")
            raise RouterError(self._refusal(refusal, list(changes), words)) from None

    def _refusal(self, refusal: AgentRefused, asked: Sequence[Setting], words: str) -> str:
        """A refusal in words, with the agent's own reason where it tells one."""
        at = refusal.index - 1
        which = asked[at].parameter if 0 <= at < len(asked) else "the change"
        reason = ""
        if refusal.status in _REASONED:
            try:
                told = self._agent.get([self._named(Fact.LAST_REFUSAL)])
                reason = printable(_text(told.get(self._named(Fact.LAST_REFUSAL))))
            except RouterError:
                reason = ""
        refuses = f"{self.address}: the agent refuses {which} ({refusal.status})"
        return ": ".join(each for each in (refuses, words, reason) if each)

    def _is_applied(
        self,
        changes: Mapping[Setting, int],
        before: Mapping[Setting, int],
        place: QueuePlace,
        silence: RouterSilent,
    ) -> bool:
        """Return whether a change without an answer is in force.

        Raises:
            RouterSilent: it cannot be told, or neither of them is.
        """
        now = self._said_after(place, silence)
        if self._is_unchanged(now, before):
            return False
        wanted = {each.parameter: each.scale.meant(said) for each, said in changes.items()}
        if self.held.holds(wanted, self._meant(now)):
            return True
        message = f"{silence}; neither the change nor the old setting is in force"
        raise RouterSilent(message)

    def _is_unchanged(self, now: Mapping[Setting, int], before: Mapping[Setting, int]) -> bool:
        """Return whether nothing has changed, but for what the queue moves itself."""
        return self.held.is_unchanged(self._meant(now), self._meant(before))

    def _resend(
        self, changes: Mapping[Setting, int], before: Mapping[Setting, int], place: QueuePlace
    ) -> None:
        """Sends a change that was not made once more.

        Raises:
            RouterSilent: no answer again, and it cannot be told whether it was made.
            RouterError: the agent refuses.
        """
        try:
            self._set(changes, before, place)
        except RouterSilent as silence:
            if not self._is_applied(changes, before, place, silence):
                message = (
                    f"{silence}, twice. The change is not in force, but may still be under way"
                )
                raise RouterSilent(message) from None

    def _said_after(
        self, place: QueuePlace, silence: RouterSilent | None = None
    ) -> dict[Setting, int]:
        """The columns after a change was sent to a place, where they can be read there.

        Raises:
            RouterSilent: they cannot, so that the change may be in force or not.
        """
        try:
            now = self._read_settings()
        except RouterError as error:
            message = f"{silence or error}; the change was sent, and may be in force"
            raise RouterSilent(message) from None
        if self._place != place:
            message = (
                f"{self.address}: its interface got another number during the change, "
                "which may be in force"
            )
            raise RouterSilent(message)
        return now

    def _named(self, fact: Fact) -> ObjectIdentifier:
        return (*QUEUE_ENTRY, fact.number, self._place.interface, self._place.parent)

    def _column(self, setting: Setting) -> ObjectIdentifier:
        entry = TABLE_OF[self._queue_kind].entry
        return (*entry, setting.number, self._place.interface, self._place.parent)


_OBJECT: Final = re.compile(r" ([0-9]+(?:\.[0-9]+){1,99}) ([iu]) -?[0-9]+", re.ASCII)
_OBJECTS: Final = re.compile(rf"(?:{_OBJECT.pattern})+", re.ASCII)
_SETTING_AT: Final = {
    (*table.entry, each.number): each for table in TABLES for each in table.settings
}
_REFUSALS: Final = {
    "noAccess": "the user may only read; expected rwuser, or a write view, in snmpd.conf",
    "authorizationError": "the user may only read; expected rwuser in snmpd.conf",
    "notWritable": (
        "vermilion snmp-agent there has gone, or does not allow changes of "
        "this queue; expected its option --allow"
    ),
    "commitFailed": "the change was not made; the old setting is in force",
    "undoFailed": "the change failed, and the old setting could not be restored",
    "genErr": "vermilion snmp-agent does not answer snmpd",
    "resourceUnavailable": "vermilion snmp-agent does not answer snmpd",
}
"""What the words of RFC 3416 mean here."""

_UNCLEAR: Final = {"genErr", "resourceUnavailable", "undoFailed"}
"""After which nobody knows what is in force."""

_REASONED: Final = {"inconsistentValue", "commitFailed", "wrongValue"}
"""After which the agent may say why."""


def _text(value: Value) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""
