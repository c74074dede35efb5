"""Addresses of queues of other machines, and questions to their agents: SNMPv3 by way of pysnmp.

A queue is named ``snmp:HOST/INTERFACE`` or ``snmp:HOST/INTERFACE/1:10``. The host is a name or an
address (IPv6 in brackets), with ``:PORT`` where its agent does not listen at 161. The only file of
the manager's side that touches the network. Every way in which an agent can fail to answer becomes
one message that says what it may be; no secret is in any.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from vermilion.agentx.protocol import ValueType, below
from vermilion.routers.base import RouterError, RouterSilent
from vermilion.routers.linux.discovery import LONGEST_NAME, parent_text
from vermilion.routers.linux.message import ROOT
from vermilion.routers.snmp.credentials import UserCredentials
from vermilion.scenario.errors import printable, value_text

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from vermilion.agentx.protocol import ObjectIdentifier, Value
    from vermilion.routers.snmp.credentials import Credentials

SCHEME: Final = "snmp:"
STANDARD_PORT: Final = 161

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.%a-z]{2,60})\]|([A-Za-z0-9._-]{1,253}))(?::([0-9]{1,5}))?")
_CLASS = re.compile(r"([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,4})")
_LARGEST_PORT: Final = 65_535
EXAMPLE: Final = (
    '"snmp:HOST/INTERFACE" or "snmp:HOST:PORT/INTERFACE/CLASS", like "snmp:192.0.2.1/eth0/1:10"'
)


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """Address of a queue on another machine.

    Attributes:
        host: a name or an address.
        interface: its name there.
        parent: the class that the queue is below; ``ROOT`` for the root.
        port: of the agent.
    """

    host: str
    interface: str
    parent: int = ROOT
    port: int = STANDARD_PORT

    def __str__(self) -> str:
        below = "" if self.parent == ROOT else f"/{parent_text(self.parent)}"
        return f"{SCHEME}{self.agent}/{printable(self.interface)}{below}"

    @property
    def agent(self) -> str:
        """The agent alone."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == STANDARD_PORT else f"{host}:{self.port}"


def parse_remote_address(text: str) -> RemoteAddress:
    """The queue that a name means.

    Raises:
        RouterError: it is no such name.
    """
    agent, slash, queue = text.removeprefix(SCHEME).partition("/")
    interface, below, parent = queue.partition("/")
    host, place = _HOST.fullmatch(agent), _CLASS.fullmatch(parent)
    usable = 0 < len(interface.encode("utf-8", errors="replace")) <= LONGEST_NAME
    port = int(host[3] or STANDARD_PORT) if host else 0
    if (
        not text.startswith(SCHEME)
        or not slash
        or host is None
        or not 0 < port <= _LARGEST_PORT
        or not usable
        or not interface.isprintable()
        or " " in interface
        or (below and place is None)
    ):
        message = f"router: {printable(value_text(text))} is not accepted; expected {EXAMPLE}"
        raise RouterError(message)
    at = ROOT if place is None else int(place[1], 16) << 16 | int(place[2], 16)
    return RemoteAddress(host[1] or host[2], interface, at, port)


MOST_NAMES: Final = 30
"""Objects in one question, so that question and answer fit into a datagram of 1472 octets or so."""

TIMEOUT_S: Final = 1.0
RETRIES: Final = 2

_MOST_WALKED: Final = 10_000
_REPETITIONS: Final = 20


class AgentRefused(RouterError):  # noqa: N818 - reads as what it says
    """The agent answered that it will not.

    Attributes:
        status: its word, like "inconsistentValue" (RFC 3416).
        index: which of the values is to blame, counted from 1; 0 for none.
    """

    def __init__(self, message: str, status: str, index: int) -> None:
        super().__init__(message)
        self.status = status
        self.index = index


class SnmpAgent(Protocol):
    """Questions to an agent; :class:`SnmpSession` asks a real one."""

    def get(self, names: Sequence[ObjectIdentifier]) -> Mapping[ObjectIdentifier, Value]:
        """The values of objects; those that there are not are left away."""

    def walk(self, top: ObjectIdentifier) -> Mapping[ObjectIdentifier, Value]:
        """Objects below a name."""

    def set(self, values: Sequence[tuple[ObjectIdentifier, ValueType, int]]) -> None:
        """Set objects, all in one message; it is sent once."""

    def close(self) -> None:
        """Ends the conversation."""


class SnmpSession:
    """A conversation with one agent.

    Args:
        host: its name or address.
        port: where it listens.
        credentials: who asks.
        timeout_s: how long to wait for an answer.
        retries: how often a question is asked again; a change never is.

    Raises:
        RouterError: pysnmp is missing, or the host has no address.
    """

    def __init__(
        self,
        host: str,
        port: int,
        credentials: Credentials,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: int = RETRIES,
    ) -> None:
        self._at = f"snmp:{host}:{port}"
        self._host, self._port = host, port
        self._credentials = credentials
        self._timeout_s, self._retries = timeout_s, retries
        self._loop = asyncio.new_event_loop()
        self._has_answered = False
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """A new engine, which knows nothing of the agent's."""
        from pysnmp.hlapi.v3arch.asyncio import ContextData, SnmpEngine

        self._engine = SnmpEngine()
        self._knows_engine = False
        self._security_data = _security_data(self._credentials)
        self._context = ContextData(contextName=self._credentials.context.encode())
        self._once = self._run(self._target(0))
        self._patient = self._run(self._target(self._retries))

    async def _target(self, retries: int) -> Any:  # noqa: ANN401 - pysnmp says no types
        from pysnmp.error import PySnmpError
        from pysnmp.hlapi.v3arch.asyncio import Udp6TransportTarget, UdpTransportTarget

        kind = Udp6TransportTarget if ":" in self._host else UdpTransportTarget
        try:
            return await kind.create(
                (self._host, self._port), timeout=self._timeout_s, retries=retries
            )
        except (OSError, PySnmpError):
            message = f"{self._at}: the host has no address; expected a name or an address"
            raise RouterError(message) from None

    def close(self) -> None:
        """Closes the socket."""
        if not self._loop.is_closed():
            self._end()
            self._loop.close()

    def _end(self) -> None:
        """Lets go of the engine, and of what it has begun."""

        async def closing() -> None:
            self._engine.close_dispatcher()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for each in others:
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._run(closing())

    def get(self, names: Sequence[ObjectIdentifier]) -> Mapping[ObjectIdentifier, Value]:
        """The values of objects; those that there are not are left away.

        Raises:
            RouterSilent: no answer came.
            RouterError: the agent does not let this user ask, or says it cannot.
        """
        from pysnmp.hlapi.v3arch.asyncio import get_cmd

        found: dict[ObjectIdentifier, Value] = {}
        for first in range(0, len(names), MOST_NAMES):
            some = names[first : first + MOST_NAMES]
            told = self._ask_with_retry(
                lambda some=some: get_cmd(*self._request(some, self._patient))
            )
            found.update(_values(told))
        return {name: value for name, value in found.items() if name in set(names)}

    def walk(self, top: ObjectIdentifier) -> Mapping[ObjectIdentifier, Value]:
        """Objects below a name.

        Raises:
            RouterSilent: no answer came.
            RouterError: the agent does not let this user ask, or goes round in circles.
        """
        from pysnmp.hlapi.v3arch.asyncio import bulk_cmd

        found: dict[ObjectIdentifier, Value] = {}
        at = top
        while len(found) < _MOST_WALKED:

            def asking(at: ObjectIdentifier = at) -> Any:  # noqa: ANN401 - pysnmp's coroutine
                engine, who, target, context, *names = self._request([at], self._patient)
                return bulk_cmd(
                    engine, who, target, context, 0, _REPETITIONS, *names, lookupMib=False
                )

            told = _values(self._ask_with_retry(asking))
            own = {name: value for name, value in told.items() if below(name, top) and name > at}
            found.update(own)
            if len(own) < len(told) or not own:
                return found
            at = max(own)
        message = f"{self._at}: the agent has more than {_MOST_WALKED} queues; expected fewer"
        raise RouterError(message)

    def set(self, values: Sequence[tuple[ObjectIdentifier, ValueType, int]]) -> None:
        """Set objects, all in one message; sent once: one without an answer may have worked.

        Raises:
            RouterSilent: no answer came; the change may be in force or not.
            AgentRefused: nothing has changed, but where the agent says that it could not undo.
            RouterError: the agent does not let this user ask.
        """
        from pysnmp.hlapi.v3arch.asyncio import ObjectIdentity, ObjectType, set_cmd
        from pysnmp.proto.rfc1902 import Gauge32, Integer32

        types = {ValueType.GAUGE32: Gauge32, ValueType.INTEGER: Integer32}
        told = [
            ObjectType(ObjectIdentity(name), types[kind](value)) for name, kind, value in values
        ]
        self._ask_with_retry(
            lambda: set_cmd(
                self._engine, self._security_data, self._once, self._context, *told, lookupMib=False
            ),
            again=False,
        )

    def _request(self, names: Sequence[ObjectIdentifier], target: object) -> list[Any]:
        from pysnmp.hlapi.v3arch.asyncio import ObjectIdentity, ObjectType

        asked = [ObjectType(ObjectIdentity(each)) for each in names]
        return [self._engine, self._security_data, target, self._context, *asked]

    def _ask_with_retry(self, asking: Any, *, again: bool = True) -> Any:  # noqa: ANN401 - pysnmp's coroutines and answers
        """Send a request; repeat it once if the agent has restarted.

        An agent that was killed may come back as another engine (RFC 3414, 2.2), and says nothing
        to those who ask the one that it was. So after silence what is known of it is forgotten, and
        a question (never a change) is asked once more.

        Raises:
            RouterError: as said above.
        """
        trouble, status, index, told = self._answer(asking)
        if trouble in _BEGUN_ANEW:
            self._reset_engine()
            trouble, status, index, told = self._answer(asking)
        if trouble == _SILENCE and self._knows_engine:
            self._reset_engine()
            if again:
                trouble, status, index, told = self._answer(asking)
        if trouble is not None:
            raise self._failed(trouble)
        self._has_answered = self._knows_engine = True
        if status and again and int(status) == _GENERAL_ERROR:
            # What asks has nothing to do with it: who has the answers is not there for snmpd.
            message = f"{self._at}: vermilion snmp-agent does not answer the SNMP agent (genErr)"
            raise RouterSilent(message)
        if status:
            word = _STATUS.get(int(status), f"status {int(status)}")
            message = f"{self._at}: the agent refuses: {word}"
            raise AgentRefused(message, word, int(index))
        return told

    def _answer(self, asking: Any) -> tuple[str | None, Any, Any, Any]:  # noqa: ANN401 - pysnmp's coroutines and answers
        from pysnmp.error import PySnmpError

        try:
            trouble, status, index, told = self._run(asking())
        except (PySnmpError, OSError) as error:
            message = f"{self._at}: the request cannot be sent ({type(error).__name__})"
            raise RouterSilent(message) from None
        return (None if trouble is None else type(trouble).__name__), status, index, told

    def _reset_engine(self) -> None:
        """Forgets what is known of the agent's engine."""
        self._end()
        self._begin()

    def _failed(self, trouble: str) -> RouterError:
        user = isinstance(self._credentials, UserCredentials)
        if trouble in _WORDS:
            return RouterError(f"{self._at}: {_WORDS[trouble]}")
        if trouble != _SILENCE:
            return RouterSilent(f"{self._at}: no valid answer has come ({trouble})")
        within = f"{self._at}: no answer within {self._timeout_s:g} s"
        if self._has_answered:
            return RouterSilent(within)
        may_be = "the privacy password of the credentials" if user else "the community"
        return RouterSilent(
            f"{within}: the host or its agent is down, packets are filtered, or {may_be} is wrong"
        )

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - pysnmp's coroutines and answers
        return self._loop.run_until_complete(work)


_SILENCE: Final = "RequestTimedOut"
_BEGUN_ANEW: Final = {"NotInTimeWindow", "UnknownEngineID", "UnknownSnmpEngineID"}
"""Troubles after which what is known of the agent's engine has to be learnt anew."""

_WORDS: Final = {
    "WrongDigest": "the authentication password of the credentials is wrong",
    "AuthenticationFailure": "the authentication password of the credentials is wrong",
    "AuthenticationError": "the authentication password of the credentials is wrong",
    "DecryptionError": "the privacy password of the credentials is wrong",
    "UnknownUserName": (
        "the agent does not know the user; in snmpd.conf: createUser NAME SHA-256 ... AES ..."
    ),
    "UnknownSecurityName": "the agent does not know the user of the credentials",
    "UnsupportedSecurityLevel": "the agent's user lacks authentication with privacy",
    "UnsupportedSecLevel": "the agent's user lacks authentication with privacy",
    "NotInTimeWindow": "the agent's clock contradicts itself, even when asked again",
}

_GENERAL_ERROR: Final = 5
_STATUS: Final = {
    1: "tooBig",
    2: "noSuchName",
    3: "badValue",
    4: "readOnly",
    5: "genErr",
    6: "noAccess",
    7: "wrongType",
    8: "wrongLength",
    9: "wrongEncoding",
    10: "wrongValue",
    11: "noCreation",
    12: "inconsistentValue",
    13: "resourceUnavailable",
    14: "commitFailed",
    15: "undoFailed",
    16: "authorizationError",
    17: "notWritable",
    18: "inconsistentName",
}
"""RFC 3416, "error-status"."""


def _security_data(credentials: Credentials) -> Any:  # noqa: ANN401 - pysnmp says no types
    from pysnmp.hlapi.v3arch import asyncio as high

    if not isinstance(credentials, UserCredentials):
        return high.CommunityData(credentials.community, mpModel=1)  # noqa: S508 - asked for
    protocols = {
        "sha-224": high.USM_AUTH_HMAC128_SHA224,
        "sha-256": high.USM_AUTH_HMAC192_SHA256,
        "sha-384": high.USM_AUTH_HMAC256_SHA384,
        "sha-512": high.USM_AUTH_HMAC384_SHA512,
    }
    return high.UsmUserData(
        credentials.user,
        authKey=credentials.authentication_password,
        privKey=credentials.privacy_password,
        authProtocol=protocols[credentials.authentication],
        privProtocol=high.USM_PRIV_CFB128_AES,
    )


def _values(told: Any) -> dict[ObjectIdentifier, Value]:  # noqa: ANN401 - pysnmp says no types
    """The objects that there are; numbers as numbers, texts as octets."""
    from pyasn1.type import univ

    found: dict[Any, Value] = {}
    for name, value in told:
        if isinstance(value, univ.Integer):
            found[tuple(name)] = int(value)
        elif isinstance(value, univ.ObjectIdentifier):
            found[tuple(name)] = tuple(value)
        elif isinstance(value, univ.OctetString) and not isinstance(value, univ.Null):
            found[tuple(name)] = bytes(value)
    return found
