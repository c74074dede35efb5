"""What of ``vermilion online --router`` is not about the controller: eyes, files, and what is told.

The keys of a policy file's top level that say so, each with the word of its option::

    router   = "linux:eth0"
    monitor  = true
    entrances = ["eth1"]
    metrics  = "127.0.0.1:9464"
    log_format = "json"
    page     = "127.0.0.1:8447"
    answers  = true

Pure: whoever reads the file hands over its table.

What the operator of a real router wants, from a file and from options.

A policy file has the words of a scenario, without a network::

    router = "linux:eth0"           # and the other keys of Service
    rate  = "50 Mbit/s"             # of the link; only a target given as a time needs it
    delay = "5 ms"                  # of the link, one way, after the queue
    [tuning]                        # as in a scenario; parameters may be named without their path
    objective   = { name = "queue-deviation", target = "10 ms" }
    constraints = ["links.eth0.utilization >= 0.95"]
    [freedom]
    mode = "control"

Everything may be left away. Pure: who reads the file hands over its text.

What the operator of several real routers wants of their queues together.

The policy file is that for one queue (:mod:`vermilion.online.router_policy`), but parameters have
their link's name before them::

    [tuning]
    parameters  = ["eth0.min_threshold", "eth1.target"]
    constraints = ["links.eth1.utilization >= 0.95"]
    [freedom]
    fall_back = { "eth1.target" = "20 ms" }

Without a file it is the knee of every link, summed, by the parameters that are worth a search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

from vermilion.online.policy import (
    BLIND_AFTER_S,
    CHANGES_PER_MINUTE,
    DEADLINE_S,
    DROPS_IN_EARNEST,
    AtExit,
    Mode,
    Policy,
    SetPolicy,
    WithoutModel,
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
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, one_of
from vermilion.scenario.quantities import Quantity
from vermilion.scenario.round_trips import LONGEST_DELAY_S
from vermilion.scenario.toml_text import TomlError, parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario
    from vermilion.scenario.algorithms import Algorithm


LOG_FORMATS: Final = ("text", "json")


@dataclass(frozen=True, slots=True)
class Service:
    """What a file or the command line says; ``None`` leaves it to whoever is asked next.

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

    def or_else(self, other: Service) -> Service:
        """This one, and where it says nothing, another."""
        missing = {
            each.name: getattr(other, each.name)
            for each in fields(self)
            if getattr(self, each.name) is None
        }
        return replace(self, **missing)


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
    """What a policy file's top level says.

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
_FREEDOM_KEYS: Final = (
    "mode",
    "changes_per_minute",
    "at_exit",
    "fall_back",
    "blind_after",
    "without_model",
)
_PLACES: Final = (
    ("at the top, before the first table", _KEYS),
    ("in [tuning]", _TUNING_KEYS),
    ("in [freedom]", _FREEDOM_KEYS),
)
_MOST_CHANGES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ManagedLink:
    """What is known of a real queue before anything is measured.

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
class Freedom:
    """What a controller may do; ``None`` leaves it to whoever is asked next.

    Attributes:
        mode: whether anything is changed.
        changes_per_minute: how often at most.
        at_exit: what stays in force.
        fall_back: what to put in force when the router is silent, as written.
        blind_after_s: how long it may be silent.
        without_model: what happens where no model explains the network.
    """

    mode: Mode | None = None
    changes_per_minute: int | None = None
    at_exit: AtExit | None = None
    fall_back: Mapping[str, Any] | None = None
    blind_after_s: float | None = None
    without_model: WithoutModel | None = None

    def or_else(self, other: Freedom) -> Freedom:
        """This one, and where it says nothing, another."""
        return Freedom(
            mode=self.mode or other.mode,
            changes_per_minute=(
                other.changes_per_minute
                if self.changes_per_minute is None
                else self.changes_per_minute
            ),
            at_exit=self.at_exit or other.at_exit,
            fall_back=other.fall_back if self.fall_back is None else self.fall_back,
            blind_after_s=(
                other.blind_after_s if self.blind_after_s is None else self.blind_after_s
            ),
            without_model=self.without_model or other.without_model,
        )


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """What a policy file says; what it leaves away is ``None`` or empty.

    Attributes:
        origin: the file's name, for messages.
        rate_bit_per_s: of the link.
        delay_s: the link's propagation delay.
        tuning: the table as written.
        freedom: the table, read.
        service: the rest of the top level.
    """

    origin: str = "policy"
    rate_bit_per_s: float | None = None
    delay_s: float | None = None
    tuning: Mapping[str, Any] = field(default_factory=dict)
    freedom: Freedom = field(default_factory=Freedom)
    service: Service = field(default_factory=Service)


def read_policy(text: str, origin: str = "policy") -> PolicyFile:
    """What the text of a policy file says.

    Raises:
        ScenarioError: a key or a value that is not accepted; the message names those that are.
    """
    try:
        document = parse_toml(text)
    except TomlError as error:
        accepted = "a policy in TOML (https://toml.io)"
        problem = f"is not valid TOML: {error}"
        raise ScenarioError("", problem, accepted, origin) from None
    try:
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
        )
    except FieldError as error:
        raise error.at(origin) from None


def policy_for(
    link: ManagedLink,
    file: PolicyFile | None = None,
    freedom: Freedom | None = None,
    *,
    deadline_s: float = DEADLINE_S,
) -> Policy:
    """The policy for a real queue.

    Args:
        link: the queue.
        file: what the operator has written; ``None`` for the knee, by what is worth a search.
        freedom: what the command line says; it wins over the file.
        deadline_s: how long a search may take.

    Raises:
        ScenarioError: it cannot be pursued on this queue.
    """
    known = PolicyFile() if file is None else file
    policy = stated_policy(scenario_of_router(link, known), deadline_s)
    if "parameters" not in known.tuning:
        policy = replace(policy, switches=usual_switches(link))
    given = (freedom or Freedom()).or_else(known.freedom)
    return with_freedom(policy, given, _fall_back(link, given.fall_back, known.origin))


_SomePolicy = TypeVar("_SomePolicy", bound=Policy)


def with_freedom(
    policy: _SomePolicy, given: Freedom, fall_back: Mapping[str, ParameterValue] | None
) -> _SomePolicy:
    """A policy with what a controller of a real router may do; where nothing is said, the usual.

    Args:
        policy: what is wanted.
        given: what the operator says.
        fall_back: the parameters for blind times, read.
    """
    mode = given.mode or "observe"
    return replace(
        policy,
        mode=mode,
        changes_per_minute=(
            CHANGES_PER_MINUTE if given.changes_per_minute is None else given.changes_per_minute
        ),
        # Who only observes must not undo what others have done.
        at_exit="keep" if mode == "observe" else given.at_exit or "keep",
        fall_back=fall_back,
        blind_after_s=BLIND_AFTER_S if given.blind_after_s is None else given.blind_after_s,
        without_model=given.without_model or "stay",
        watch_first_s=WATCH_FIRST_S,
    )


def scenario_of_router(link: ManagedLink, file: PolicyFile) -> Scenario:
    """A real queue as a scenario, so that the words of ``[tuning]`` can be read.

    **Nothing of its traffic is ever used**: the one group of flows, its round trip, and the rate
    where nobody has said it stand there because a scenario must have some. What the controller
    knows of the traffic, it has measured. Of this scenario it gets the policy: the objective, the
    bounds, the parameters and their ends. The rate and the size of a packet have one effect: a
    target given as a time becomes packets by them, and is refused where nobody has said the rate.

    Raises:
        ScenarioError: what the file asks for, or what is in force, cannot be read.
    """
    table = link.algorithm.parameters
    tuning = dict(file.tuning)
    tuning["parameters"] = _parameters(link, file)
    if "space" in tuning:
        tuning["space"] = _space(link, file)
    objective = tuning.get("objective")
    if isinstance(objective, dict) and "target" in objective:
        tuning["objective"] = {"link": link.name, **objective}
    rate = NOMINAL_RATE if file.rate_bit_per_s is None else f"{file.rate_bit_per_s!r} bit/s"
    scenario = scenario_from_document(
        {
            "title": link.interface,
            "duration": "1 s",
            "links": {
                link.name: {
                    "rate": rate,
                    "delay": f"{file.delay_s or 0.0!r} s",
                    "queue": {
                        "discipline": link.discipline,
                        **{n: table[n].exact_text(value) for n, value in link.in_force.items()},
                    },
                }
            },
            "flows": {
                "any": {
                    "count": 1,
                    "path": [link.name],
                    "rtt": f"{max(0.1, 4.0 * (file.delay_s or 0.0))!r} s",
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
    timed = read is not None and read.objective.target_delay_s is not None
    if timed and file.rate_bit_per_s is None:
        accepted = (
            'the link\'s rate, like rate = "50 Mbit/s", because the target is a time; '
            "or a target in packets"
        )
        raise ScenarioError("rate", MISSING, accepted, file.origin)
    return scenario


def _parameters(link: ManagedLink, file: PolicyFile) -> list[str]:
    """The paths of what may be changed."""
    given = file.tuning.get("parameters")
    if given is None:
        return usual_parameters(link, file)
    if not isinstance(given, list) or not given:
        accepted = f"a list of {_names(link)}"
        raise ScenarioError("tuning.parameters", given, accepted, file.origin)
    for name in given:
        if not isinstance(name, str) or _bare(link, name) not in link.settable:
            accepted = f"what can be changed on this queue: {_names(link)}"
            raise ScenarioError("tuning.parameters", name, accepted, file.origin)
        check_still(link, _bare(link, name), file.origin)
    return [_path(link, _bare(link, name)) for name in given]


def check_still(link: ManagedLink, name: str, origin: str) -> None:
    """Whether a parameter stays where it is put.

    Raises:
        ScenarioError: the queue moves it by itself.
    """
    if name in link.moving:
        accepted = "a parameter that stays where it is put: the queue moves this one by itself"
        raise ScenarioError("tuning.parameters", name, accepted, origin)


def usual_parameters(link: ManagedLink, file: PolicyFile) -> list[str]:
    """The paths of what is worth a search, can be changed, and stays where it is put.

    Raises:
        ScenarioError: there is nothing.
    """
    table = link.algorithm.parameters
    usual = [
        name
        for name in link.settable
        if name in table and table[name].search is not None and name not in link.moving
    ]
    if not usual:
        accepted = (
            f"some of {_names(link)}, with their ends in tuning.space: nothing of "
            f"{link.discipline} is searched unless a policy asks for it (--policy FILE)"
        )
        raise ScenarioError("tuning.parameters", MISSING, accepted, file.origin)
    return [_path(link, name) for name in usual]


def usual_switches(link: ManagedLink) -> tuple[str, ...]:
    """The names of the switches that may be turned where nobody lists what may be changed."""
    return (DROPS_IN_EARNEST,) if DROPS_IN_EARNEST in link.settable else ()


def _space(link: ManagedLink, file: PolicyFile) -> object:
    """The table of ends, with whole paths."""
    space = file.tuning["space"]
    if not isinstance(space, dict):
        return space
    return {_path(link, _bare(link, name)): ends for name, ends in space.items()}


def _path(link: ManagedLink, name: str) -> str:
    return f"links.{link.name}.queue.{name}"


def _bare(link: ManagedLink, name: str) -> str:
    return name.removeprefix(f"links.{link.name}.queue.")


def _names(link: ManagedLink) -> str:
    table = link.algorithm.parameters
    return one_of(name for name in link.settable if name in table and table[name].kind != "choice")


def _fall_back(
    link: ManagedLink, given: Mapping[str, Any] | None, origin: str
) -> dict[str, ParameterValue] | None:
    """The parameters for blind times, in their tables' units."""
    if given is None:
        return None
    found: dict[str, ParameterValue] = {}
    for name, value in given.items():
        where = f"freedom.fall_back.{name}"
        if name not in link.settable:
            accepted = f"what can be changed on this queue: {did_you_mean(name, link.settable)}"
            raise ScenarioError(where, value, accepted, origin)
        try:
            found[name] = link.algorithm.parse_one(name, value)
        except FieldError as error:
            raise ScenarioError(where, value, error.accepted, origin) from None
    return found


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
        without_model=_choice(table, "without_model", get_args(WithoutModel)),
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
            accepted = f"a key of {place}: {did_you_mean(key, keys)}{_where_it_belongs(key)}"
            raise FieldError(f"{before}{key}", value, accepted)


def _where_it_belongs(key: str) -> str:
    """Which other place of a policy has the key, if one has: ``; mode belongs in [freedom]``."""
    return next((f"; {key} belongs {where}" for where, keys in _PLACES if key in keys), "")


def policy_for_set(
    links: Sequence[ManagedLink],
    file: PolicyFile | None = None,
    freedom: Freedom | None = None,
    *,
    paths: Sequence[Sequence[str]] = (),
    deadline_s: float = DEADLINE_S,
) -> SetPolicy:
    """The policy for several real queues together.

    Args:
        links: their links, whose names differ.
        file: what the operator has written; ``None`` for the knee of every link.
        freedom: what the command line says; it wins over the file.
        paths: the links that flows cross, where the operator knows.
        deadline_s: how long a search may take.

    Raises:
        ScenarioError: it cannot be pursued on these queues.
    """
    known = PolicyFile() if file is None else file
    for key, value in (("rate", known.rate_bit_per_s), ("delay", known.delay_s)):
        if value is not None:
            accepted = f"no {key} where several queues are set together: it is of one link"
            raise ScenarioError(key, value, accepted, known.origin)
    policy = stated_policy(scenario_of_routers(links, known), deadline_s)
    if not isinstance(policy, SetPolicy) or len(policy.links) < len(links):
        missing = [each.name for each in links if each.name not in _links_of(policy)]
        accepted = f"parameters of every queue given; none is of {', '.join(missing)}"
        raise ScenarioError(
            "tuning.parameters", known.tuning.get("parameters"), accepted, known.origin
        )
    given = (freedom or Freedom()).or_else(known.freedom)
    fall_back = _set_fall_back(links, given.fall_back, known.origin)
    free = with_freedom(policy, given, fall_back)
    free.check_steps(known.origin)
    return free.with_paths(paths)


def scenario_of_routers(links: Sequence[ManagedLink], file: PolicyFile) -> Scenario:
    """Several real queues as a scenario, so that the words of ``[tuning]`` can be read.

    Nothing of its traffic is ever used, as for one queue.

    Raises:
        ScenarioError: what the file asks for, or what is in force, cannot be read.
    """
    tuning: dict[str, Any] = dict(file.tuning)
    tuning["parameters"] = _set_parameters(links, file)
    space = tuning.get("space")
    if isinstance(space, dict):
        tuning["space"] = {_set_path(links, name): ends for name, ends in space.items()}
    scenario = scenario_from_document(
        {
            "title": ", ".join(each.interface for each in links),
            "duration": "1 s",
            "links": {
                each.name: {
                    "rate": NOMINAL_RATE,
                    "delay": "0 s",
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
                    "rtt": "0.1 s",
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
        accepted = "a target in packets: of several links no rate is known beforehand"
        raise ScenarioError(
            "tuning.objective.target", file.tuning["objective"], accepted, file.origin
        )
    return scenario


def _set_parameters(links: Sequence[ManagedLink], file: PolicyFile) -> list[str]:
    """The paths of what may be changed."""
    given = file.tuning.get("parameters")
    if given is None:
        return [path for each in links for path in usual_parameters(each, file)]
    accepted = f"a list of some of {one_of(_settable(links))}"
    if not isinstance(given, list) or not given:
        raise ScenarioError("tuning.parameters", given, accepted, file.origin)
    for name in given:
        if not isinstance(name, str) or _joint(links, name) not in _settable(links):
            raise ScenarioError("tuning.parameters", name, accepted, file.origin)
        interface, _, parameter = _joint(links, name).partition(BETWEEN)
        link = next(each for each in links if each.name == interface)
        check_still(link, parameter, file.origin)
    return [_set_path(links, name) for name in given]


def _settable(links: Sequence[ManagedLink]) -> list[str]:
    """The joint names of the numbers and switches that can be changed."""
    return [
        joint_name(each.name, name)
        for each in links
        for name in each.settable
        if name in each.algorithm.parameters and each.algorithm.parameters[name].kind != "choice"
    ]


def _joint(links: Sequence[ManagedLink], name: str) -> str:
    """A joint name, from itself or from its path."""
    for each in links:
        prefix = f"links.{each.name}.queue."
        if name.startswith(prefix):
            return joint_name(each.name, name.removeprefix(prefix))
    return name


def _set_path(links: Sequence[ManagedLink], name: str) -> str:
    link, _, parameter = _joint(links, name).partition(BETWEEN)
    return f"links.{link}.queue.{parameter}"


def _links_of(policy: Policy) -> Sequence[str]:
    return policy.links if isinstance(policy, SetPolicy) else (policy.link,)


def _set_fall_back(
    links: Sequence[ManagedLink], given: Mapping[str, Any] | None, origin: str
) -> dict[str, ParameterValue] | None:
    """The parameters for blind times, by their joint names, in their tables' units."""
    if given is None:
        return None
    by_name = {each.name: each for each in links}
    known = _settable(links)
    found: dict[str, ParameterValue] = {}
    for name, value in given.items():
        where, joint = f"freedom.fall_back.{name}", _joint(links, name)
        if joint not in known:
            accepted = f"what can be changed on these queues: {did_you_mean(joint, known)}"
            raise ScenarioError(where, value, accepted, origin)
        link, _, parameter = joint.partition(BETWEEN)
        try:
            found[joint] = by_name[link].algorithm.parse_one(parameter, value)
        except FieldError as error:
            raise ScenarioError(where, value, error.accepted, origin) from None
    return found
