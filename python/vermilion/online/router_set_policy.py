"""What the operator of several real routers wants of their queues together.

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

from typing import TYPE_CHECKING, Any

from vermilion.online.policy import DEADLINE_S
from vermilion.online.router_policy import (
    NOMINAL_PACKET,
    NOMINAL_RATE,
    Freedom,
    PolicyFile,
    check_still,
    usual_parameters,
    with_freedom,
)
from vermilion.online.set_policy import SetPolicy
from vermilion.online.stated_policy import stated_policy
from vermilion.routers.queue_set import BETWEEN, joint_name
from vermilion.scenario import ScenarioError, scenario_from_document
from vermilion.scenario.errors import FieldError, did_you_mean, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.policy import Policy
    from vermilion.online.router_policy import ManagedLink
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario


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
    fall_back = _fall_back(links, given.fall_back, known.origin)
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
    tuning["parameters"] = _parameters(links, file)
    space = tuning.get("space")
    if isinstance(space, dict):
        tuning["space"] = {_path(links, name): ends for name, ends in space.items()}
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


def _parameters(links: Sequence[ManagedLink], file: PolicyFile) -> list[str]:
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
    return [_path(links, name) for name in given]


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


def _path(links: Sequence[ManagedLink], name: str) -> str:
    link, _, parameter = _joint(links, name).partition(BETWEEN)
    return f"links.{link}.queue.{parameter}"


def _links_of(policy: Policy) -> Sequence[str]:
    return policy.links if isinstance(policy, SetPolicy) else (policy.link,)


def _fall_back(
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
