"""Policy for real routers, from a policy file and options.

A policy file has the words of a scenario, without a network::

    router = "linux:eth0"           # and the other keys of :class:`Service`
    rate  = "50 Mbit/s"             # of the link; only a target given as a time needs it
    delay = "5 ms"                  # of the link, one way, after the queue
    [tuning]                        # as in a scenario; parameters may be named without their path
    objective   = { name = "queue-deviation", target = "10 ms" }
    constraints = ["links.eth0.utilization >= 0.95"]
    [freedom]
    mode = "control"

Everything may be left out. For several queues, parameters have their link's name before them
(``eth0.target``). Pure: the caller reads the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Self, get_args

from vermilion.online.policy import (
    BLIND_AFTER_S,
    CHANGES_PER_MINUTE,
    DEADLINE_S,
    DROPS_IN_EARNEST,
    LAW_PARAMETERS,
    AtExit,
    Mode,
    Policy,
    stated_policy,
)
from vermilion.routers.base import HeldValues
from vermilion.routers.queue_set import BETWEEN, joint_name
from vermilion.scenario import (
    RATE,
    TIME,
    QuantityError,
    ScenarioError,
    disciplines,
    scenario_from_document,
)
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, errors_of, one_of
from vermilion.scenario.quantities import Quantity
from vermilion.scenario.round_trips import LONGEST_DELAY_S
from vermilion.scenario.toml_text import TomlError, parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.scenario.algorithms import Algorithm


@dataclass(frozen=True, slots=True)
class _Stated:
    """Options of which each is ``None`` where nothing is said."""

    def or_else(self, other: Self) -> Self:
        """This one, and where it says nothing, another."""
        missing = {
            each.name: getattr(other, each.name)
            for each in fields(self)
            if getattr(self, each.name) is None
        }
        return replace(self, **missing)


LOG_FORMATS: Final = ("text", "json")


@dataclass(frozen=True, slots=True)
class Service(_Stated):
    """Configuration of the service; ``None`` where it is not configured.

    Attributes:
        router: the queue's address.
        journal: the file to keep the journal in.
        monitor: whether the interface's packets are listened to.
        entrances: the interfaces through which packets come into the queue, which a monitor listens
            to as well.
        log_format: ``text`` or ``json``.
        listen: where the live page and ``/metrics`` are served, an address and a port.
        listen_from_outside: whether that may be an address that other machines can reach.
        listen_token: the file with what a reader has to know.
        metrics: where ``/metrics`` alone is served: the former key, ``listen`` serves it too.
        metrics_from_outside: as of ``listen``.
        metrics_token: as of ``listen``.
        answers: whether a person may answer proposals, undo and pause on the page.
    """

    router: str | None = None
    journal: str | None = None
    monitor: bool | None = None
    entrances: tuple[str, ...] | None = None
    log_format: str | None = None
    listen: str | None = None
    listen_from_outside: bool | None = None
    listen_token: str | None = None
    metrics: str | None = None
    metrics_from_outside: bool | None = None
    metrics_token: str | None = None
    answers: bool | None = None


_FORMER: Final = {
    "page": "listen",
    "page_from_outside": "listen_from_outside",
    "page_token": "listen_token",
}
"""Former keys that are still read."""

SERVICE_KEYS: Final = tuple(each.name for each in fields(Service))
"""The keys that belong here."""

_SWITCHES: Final = ("monitor", "metrics_from_outside", "listen_from_outside", "answers")


def read_service(document: Mapping[str, Any]) -> Service:
    """Read the top level of a policy file.

    Raises:
        FieldError: a value that is not accepted.
    """
    given = {name: document[name] for name in SERVICE_KEYS if name in document}
    for name, value in given.items():
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise FieldError(name, value, "true or false")
        elif name == "entrances":
            names = isinstance(value, list) and all(
                each and isinstance(each, str) for each in value
            )
            if not names:
                raise FieldError(name, value, 'a list of interfaces, like ["eth1"]')
            given[name] = tuple(value)
        elif name == "log_format":
            if value not in LOG_FORMATS:
                raise FieldError(name, value, one_of(LOG_FORMATS))
        elif not isinstance(value, str) or not value:
            raise FieldError(name, value, "a text")
    return Service(**given)


NOMINAL_RATE: Final = "10 Mbit/s"
"""Of a link whose rate nobody has said; the controller measures what really leaves."""

NOMINAL_PACKET: Final = "1500 bytes"
"""How large the packets are with which a target given as a time is counted."""

WATCH_FIRST_S: Final = 10.0
"""How long a real queue is watched before the first search."""

_LONGEST_BLIND_S: Final = 86_400.0
_RATE: Final = Quantity(RATE, minimum=1.0)
_DELAY: Final = Quantity(TIME, minimum=0.0, maximum=LONGEST_DELAY_S)
_BLIND: Final = Quantity(TIME, minimum=0.1, maximum=_LONGEST_BLIND_S)
_KEYS: Final = ("rate", "delay", "tuning", "freedom", *SERVICE_KEYS)
_TUNING_KEYS: Final = ("objective", "constraints", "harm", "space", "parameters")
_WITHOUT_EFFECT: Final = ("without_model",)
_FREEDOM_KEYS: Final = (
    "mode",
    "changes_per_minute",
    "at_exit",
    "fall_back",
    "blind_after",
    *_WITHOUT_EFFECT,
)
_PLACES: Final = (
    ("at the top, before the first table", _KEYS),
    ("in [tuning]", _TUNING_KEYS),
    ("in [freedom]", _FREEDOM_KEYS),
)
_MOST_CHANGES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ManagedLink:
    """Properties of a real queue before anything is measured.

    Attributes:
        interface: its name, which the link is called by.
        discipline: Vermilion's name for what the queue does.
        in_force: its parameters, as far as the router says them.
        settable: those that can be changed.
        held: what the queue makes of the values that it is told.
    """

    interface: str
    discipline: str
    in_force: Mapping[str, ParameterValue]
    settable: Sequence[str]
    held: HeldValues = field(default_factory=HeldValues)

    @property
    def moving(self) -> frozenset[str]:
        """The names of the parameters that the queue moves by itself as it stands."""
        return self.held.moving(self.in_force)

    @property
    def name(self) -> str:
        """The link's name in paths like ``links.eth0.queue.limit``, which hold no dots."""
        return re.sub(r"[^A-Za-z0-9_-]", "-", self.interface)

    @property
    def algorithm(self) -> Algorithm:
        """The discipline with its table."""
        return disciplines()[self.discipline]


@dataclass(frozen=True, slots=True)
class Freedom(_Stated):
    """Limits on a controller; ``None`` where they are not configured.

    Attributes:
        mode: whether anything is changed.
        changes_per_minute: how often at most.
        at_exit: what stays in force.
        fall_back: what to put in force when the router is silent, as written.
        blind_after_s: how long it may be silent.
    """

    mode: Mode | None = None
    changes_per_minute: int | None = None
    at_exit: AtExit | None = None
    fall_back: Mapping[str, Any] | None = None
    blind_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """Content of a policy file; absent keys are ``None`` or empty.

    Attributes:
        origin: the file's name, for messages.
        rate_bit_per_s: of the link.
        delay_s: the link's propagation delay.
        tuning: the table as written.
        freedom: the table, read.
        service: the rest of the top level.
        without_effect: former keys that are given and have no effect any more.
    """

    origin: str = "policy"
    rate_bit_per_s: float | None = None
    delay_s: float | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    freedom: Freedom = field(default_factory=Freedom)
    service: Service = field(default_factory=Service)
    without_effect: tuple[str, ...] = ()


def read_policy(text: str, origin: str = "policy") -> PolicyFile:
    """Parse the text of a policy file.

    Raises:
        ScenarioError: a key or a value that is not accepted; the message names those that are.
    """
    try:
        document = parse_toml(text)
    except TomlError as error:
        accepted = "a policy in TOML (https://toml.io)"
        problem = f"is not valid TOML: {error}"
        raise ScenarioError("", problem, accepted, origin) from None
    with errors_of(origin):
        document = {_FORMER.get(name, name): value for name, value in document.items()}
        _check_keys(document, _KEYS, "", "a policy")
        tuning = _table(document, "tuning", _TUNING_KEYS)
        return PolicyFile(
            origin=origin,
            rate_bit_per_s=_quantity(document, "rate", _RATE),
            delay_s=_quantity(document, "delay", _DELAY),
            tuning=tuning,
            freedom=_freedom(_table(document, "freedom", _FREEDOM_KEYS)),
            service=read_service(document),
            without_effect=tuple(
                f"freedom.{each}" for each in _WITHOUT_EFFECT if each in document.get("freedom", {})
            ),
        )


def policy_for(
    links: ManagedLink | Sequence[ManagedLink],
    file: PolicyFile | None = None,
    freedom: Freedom | None = None,
    *,
    paths: Sequence[Sequence[str]] = (),
    deadline_s: float = DEADLINE_S,
) -> Policy:
    """The policy for a real queue, or for several together.

    Args:
        links: the queue, or the queues, whose names differ.
        file: the operator's; ``None`` for the knee of every link, by what is worth a search.
        freedom: of the command line; it wins over the file.
        paths: the links that flows cross, where the operator knows.
        deadline_s: how long a search may take.

    Raises:
        ScenarioError: it cannot be pursued on these queues.
    """
    queues = [links] if isinstance(links, ManagedLink) else list(links)
    known = PolicyFile() if file is None else file
    given = (freedom or Freedom()).or_else(known.freedom)
    policy = stated_policy(scenario_of_routers(queues, known), deadline_s)
    if len(queues) == 1:
        if "parameters" not in known.tuning and DROPS_IN_EARNEST in queues[0].settable:
            policy = replace(policy, switches=(DROPS_IN_EARNEST,))
        if "parameters" not in known.tuning:
            laws = tuple(name for name in LAW_PARAMETERS if name in queues[0].settable)
            policy = replace(policy, law_parameters=laws)
    else:
        tuned = policy.links or (policy.link,)
        missing = [each.name for each in queues if each.name not in tuned]
        if missing:
            accepted = f"parameters of every queue given; none is of {', '.join(missing)}"
            raise ScenarioError(
                "tuning.parameters", known.tuning.get("parameters"), accepted, known.origin
            )
        policy = policy.with_paths(paths)
    mode = given.mode or "observe"
    return replace(
        policy,
        mode=mode,
        changes_per_minute=(
            CHANGES_PER_MINUTE if given.changes_per_minute is None else given.changes_per_minute
        ),
        # Who only observes must not undo what others have done.
        at_exit="keep" if mode == "observe" else given.at_exit or "keep",
        fall_back=_fall_back(_Names(queues), given.fall_back, known.origin),
        blind_after_s=BLIND_AFTER_S if given.blind_after_s is None else given.blind_after_s,
        watch_first_s=WATCH_FIRST_S,
    )


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of parameters: bare of one queue, "eth0.target" of several; paths of either."""

    links: Sequence[ManagedLink]

    def find(self, name: object) -> tuple[ManagedLink, str] | None:
        """The queue and the parameter that are meant; ``None`` for no such name."""
        for link in self.links:
            for prefix in (f"links.{link.name}.queue.", self.prefix(link)):
                bare = name.removeprefix(prefix) if isinstance(name, str) else ""
                if bare in link.settable and name == f"{prefix}{bare}":
                    return link, bare
        return None

    def prefix(self, link: ManagedLink) -> str:
        """Before a parameter's own name."""
        return joint_name(link.name, "") if len(self.links) > 1 else ""

    def path(self, name: str) -> str:
        """Scenario path of a parameter; "" for an unknown name."""
        found = self.find(name)
        if found is None:
            link, _, bare = name.removeprefix("links.").rpartition(BETWEEN)
            link = link.removesuffix(".queue") or self.links[0].name
            return f"links.{link}.queue.{bare}"
        return f"links.{found[0].name}.queue.{found[1]}"

    @property
    def settable(self) -> list[str]:
        """The numbers and switches that can be changed."""
        return [
            f"{self.prefix(link)}{name}"
            for link in self.links
            for name in link.settable
            if name in (table := link.algorithm.parameters) and table[name].kind != "choice"
        ]


def scenario_of_routers(links: Sequence[ManagedLink], file: PolicyFile) -> Scenario:
    """Real queues as a scenario, so that the words of ``[tuning]`` can be read.

    **Nothing of its traffic is ever used**: the one group of flows, its round trip, and the rate
    where nobody has said it stand there because a scenario must have some. The controller gets
    the policy: the objective, the bounds, the parameters and their ends. The rate and
    the size of a packet only turn a target given as a time into packets.

    Raises:
        ScenarioError: what the file asks for, or what is in force, cannot be read.
    """
    names, several = _Names(links), len(links) > 1
    for key, value in (("rate", file.rate_bit_per_s), ("delay", file.delay_s)):
        if several and value is not None:
            accepted = f"no {key} where several queues are set together"
            raise ScenarioError(key, value, accepted, file.origin)
    tuning: dict[str, Any] = dict(file.tuning)
    tuning["parameters"] = _parameters(names, file)
    if isinstance(tuning.get("space"), dict):
        tuning["space"] = {names.path(name): ends for name, ends in tuning["space"].items()}
    objective = tuning.get("objective")
    if not several and isinstance(objective, dict) and "target" in objective:
        tuning["objective"] = {"link": links[0].name, **objective}
    rate = NOMINAL_RATE if file.rate_bit_per_s is None else f"{file.rate_bit_per_s!r} bit/s"
    delay_s = file.delay_s or 0.0
    scenario = scenario_from_document(
        {
            "title": ", ".join(each.interface for each in links),
            "duration": "1 s",
            "links": {
                each.name: {
                    "rate": rate,
                    "delay": f"{delay_s!r} s",
                    "queue": {
                        "discipline": each.discipline,
                        **{
                            name: each.algorithm.parameters[name].exact_text(value)
                            for name, value in each.in_force.items()
                        },
                    },
                }
                for each in links
            },
            "flows": {
                "any": {
                    "count": 1,
                    "path": [each.name for each in links],
                    "rtt": f"{max(0.1, 4.0 * delay_s)!r} s",
                    "sender": "reno",
                    "packet_size": NOMINAL_PACKET,
                    "start": "0 s",
                }
            },
            "tuning": tuning,
        },
        file.origin,
    )
    read = scenario.tuning
    if read is not None and read.objective.target_delay_s is not None:
        if several:
            accepted = "a target in packets: the rate of several links is not known"
            raise ScenarioError("tuning.objective.target", objective, accepted, file.origin)
        if file.rate_bit_per_s is None:
            accepted = (
                'the link\'s rate, like rate = "50 Mbit/s", because the target is a time; '
                "or a target in packets"
            )
            raise ScenarioError("rate", MISSING, accepted, file.origin)
    return scenario


def _parameters(names: _Names, file: PolicyFile) -> list[str]:
    """The paths of what may be changed: as listed, or what is worth a search."""
    given = file.tuning.get("parameters")
    if given is None:
        return [path for link in names.links for path in _usual(link, names, file)]
    accepted = f"a list of what can be changed: {one_of(names.settable)}"
    if not isinstance(given, list) or not given:
        raise ScenarioError("tuning.parameters", given, accepted, file.origin)
    for name in given:
        found = names.find(name)
        if found is None:
            raise ScenarioError("tuning.parameters", name, accepted, file.origin)
        link, parameter = found
        if parameter in link.moving:
            moved = "a parameter that the queue does not move by itself"
            raise ScenarioError("tuning.parameters", parameter, moved, file.origin)
    return [names.path(name) for name in given]


def _usual(link: ManagedLink, names: _Names, file: PolicyFile) -> list[str]:
    """The paths of what is worth a search, can be changed, and stays where it is put."""
    table = link.algorithm.parameters
    usual = [
        name
        for name in link.settable
        if name in table and table[name].search is not None and name not in link.moving
    ]
    if not usual:
        accepted = (
            f"some of {one_of(names.settable)}, with their ends in tuning.space: "
            f"{link.discipline} is searched only if a policy asks for it (--policy FILE)"
        )
        raise ScenarioError("tuning.parameters", MISSING, accepted, file.origin)
    return [f"links.{link.name}.queue.{name}" for name in usual]


def _fall_back(
    names: _Names, given: Mapping[str, Any] | None, origin: str
) -> dict[str, ParameterValue] | None:
    """The parameters for blind times, by their names, in their tables' units."""
    if given is None:
        return None
    values: dict[str, ParameterValue] = {}
    for name, value in given.items():
        where, found = f"freedom.fall_back.{name}", names.find(name)
        if found is None:
            accepted = f"what can be changed: {did_you_mean(name, names.settable)}"
            raise ScenarioError(where, value, accepted, origin)
        link, parameter = found
        try:
            parsed = link.algorithm.parse_one(parameter, value)
        except FieldError as error:
            raise ScenarioError(where, value, error.accepted, origin) from None
        values[f"{names.prefix(link)}{parameter}"] = parsed
    return values


def _freedom(table: Mapping[str, Any]) -> Freedom:
    changes = table.get("changes_per_minute")
    whole = isinstance(changes, int) and not isinstance(changes, bool)
    if changes is not None and not (whole and 0 <= changes <= _MOST_CHANGES):
        accepted = f"a whole number from 0 to {_MOST_CHANGES}"
        raise FieldError("freedom.changes_per_minute", changes, accepted)
    fall_back = table.get("fall_back")
    if fall_back is not None and not (isinstance(fall_back, dict) and fall_back):
        accepted = 'a table of parameters, like { target = "5 ms" }'
        raise FieldError("freedom.fall_back", fall_back, accepted)
    return Freedom(
        mode=_choice(table, "mode", get_args(Mode)),
        changes_per_minute=changes,
        at_exit=_choice(table, "at_exit", get_args(AtExit)),
        fall_back=fall_back,
        blind_after_s=_quantity(table, "blind_after", _BLIND, "freedom."),
    )


def _choice(table: Mapping[str, Any], key: str, choices: Sequence[str]) -> Any:  # noqa: ANN401 - one of the choices, or None: the caller's literals
    value = table.get(key)
    if value is not None and value not in choices:
        raise FieldError(f"freedom.{key}", value, one_of(choices))
    return value


def _quantity(
    table: Mapping[str, Any], key: str, quantity: Quantity, before: str = ""
) -> float | None:
    if key not in table:
        return None
    try:
        return float(quantity.parse(table[key]))
    except QuantityError as error:
        raise FieldError(f"{before}{key}", table[key], error.accepted) from None


def _table(document: Mapping[str, Any], name: str, keys: Sequence[str]) -> dict[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        raise FieldError(name, value, f"a table [{name}] with some of {one_of(keys)}")
    _check_keys(value, keys, f"{name}.", f"[{name}]")
    return value


def _check_keys(table: Mapping[str, Any], keys: Sequence[str], before: str, place: str) -> None:
    for key, value in table.items():
        if key not in keys:
            # Like "; mode belongs in [freedom]".
            hints = (f"; {key} belongs {where}" for where, others in _PLACES if key in others)
            accepted = f"a key of {place}: {did_you_mean(key, keys)}{next(hints, '')}"
            raise FieldError(f"{before}{key}", value, accepted)
