"""Problems for a search: one queue or several, and their models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from vermilion.online.model.network import (
    SetTraffic,
    build_model,
    build_set_model,
    searched,
    set_by_turns,
    set_possibilities,
)
from vermilion.online.model.possibilities import (
    AnyTraffic,
    by_turns,
    other_traffic,
    possibilities,
)
from vermilion.online.model.scaling import Scaling, scaling_for
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic, least_queue_packets
from vermilion.online.plan.laws import PROBABILITIES, as_modelled
from vermilion.online.plan.settings import bare_name, first_guesses, joint_name_of
from vermilion.online.policy import SetPolicy, marks
from vermilion.online.sense.sampler import SetSample
from vermilion.online.sense.traffic_estimate import SetEstimate
from vermilion.routers.adaptive_red import MOVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.online.model.possibilities import Possibility
    from vermilion.online.model.senders import SenderModel
    from vermilion.online.model.traffic import Horizon
    from vermilion.online.plan.task import Task
    from vermilion.online.policy import Policy
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario


class Problem(ABC, Generic[AnyTraffic]):
    """The queues of a task, and their traffic.

    Attributes:
        task: the task, about the parameters that are searched.
        traffic: as observed.
        links: of the queues that can be modelled.
        names: of the parameters that are searched.
        disciplines: of all queues that may be changed.
    """

    task: Task
    traffic: AnyTraffic
    links: tuple[str, ...]
    names: tuple[str, ...]
    disciplines: tuple[str, ...]

    @abstractmethod
    def whole(self, traffic: AnyTraffic) -> Traffic:
        """The traffic as if it crossed one queue with the rate of all."""

    @abstractmethod
    def possible(self) -> Sequence[Possibility[AnyTraffic]]:
        """Possible networks: by doubt, or by turns."""

    @abstractmethod
    def others(self) -> list[AnyTraffic]:
        """Alternatives to the traffic estimate, where it is doubted."""

    @abstractmethod
    def build(
        self,
        scaling: Scaling,
        parameters: Mapping[str, ParameterValue],
        traffic: AnyTraffic,
        kind: SenderModel,
        horizon: Horizon,
        joining: float = 0.0,
        *,
        anew: bool = False,
    ) -> Scenario:
        """The model of the network with this traffic and these senders."""

    @abstractmethod
    def settled(self) -> dict[str, Sequence[Sample]]:
        """The settled samples of each queue."""

    @abstractmethod
    def scale_packets(self, link: str) -> float:
        """The length of queue that counts as long at a link, by the goal."""

    def scaling(self, _kinds: Iterable[SenderModel]) -> Scaling:
        """Scale of the model."""
        return Scaling("")

    def name_of(self, path: str) -> str:
        """A parameter's name in the policy, from its path in a model."""
        return joint_name_of(path)

    def guesses(self, _target: float) -> list[dict[str, float]]:
        """Settings to try first."""
        return []

    def pushed(self, _setting: Mapping[str, float]) -> Mapping[str, ParameterValue]:
        """All parameters after a change, where one queue alone is changed."""
        return {}


def problem_of(task: Task) -> Problem[Any]:
    """The problem of a task.

    Raises:
        TooLittleIsKnown: to model the traffic.
    """
    return SetProblem(task) if isinstance(task.policy, SetPolicy) else QueueProblem(task)


class QueueProblem(Problem[Traffic]):
    """One queue."""

    def __init__(self, task: Task) -> None:
        self.traffic = Traffic.of_picture(task.picture, task.policy)
        self.names = searched_parameters(task, self.traffic)
        self.task = replace(task, policy=replace(task.policy, parameters=self.names))
        self.links = (task.policy.link,)
        self.disciplines = (task.configuration.discipline,)

    def whole(self, traffic: Traffic) -> Traffic:
        """The traffic itself."""
        return traffic

    def possible(self) -> Sequence[Possibility[Traffic]]:
        """Possible networks: by doubt, or by turns."""
        task = self.task
        if not task.met:
            return possibilities(self.traffic, task.picture, task.belief)
        others: list[Traffic] = []
        for picture in task.met:
            try:
                others.append(Traffic.of_picture(picture, task.policy))
            except TooLittleIsKnown:
                continue
        return by_turns(self.traffic, others, task.belief)

    def others(self) -> list[Traffic]:
        """Alternatives to the traffic estimate, where it is doubted or has come and gone."""
        if self.task.met:
            return [each.traffic for each in self.possible()[1:] if each.share > 0.0]
        return list(other_traffic(self.traffic, self.task.picture))

    def build(
        self,
        scaling: Scaling,
        parameters: Mapping[str, ParameterValue],
        traffic: Traffic,
        kind: SenderModel,
        horizon: Horizon,
        joining: float = 0.0,
        *,
        anew: bool = False,
    ) -> Scenario:
        """The model, as small as the scaling says."""
        discipline, values = as_modelled(self.task.configuration, parameters)
        return build_model(
            replace(self.task.configuration, discipline=discipline),
            {
                name: scaling.into(MOVED if name in PROBABILITIES else name, value)
                for name, value in values.items()
            },
            scaling.traffic(traffic),
            scaling.senders(kind),
            self.task.policy,
            horizon,
            joining,
            anew=anew,
        )

    def settled(self) -> dict[str, Sequence[Sample]]:
        """The settled samples."""
        return {self.links[0]: self.task.settled}

    def scale_packets(self, link: str) -> float:  # noqa: ARG002 - the only one
        """The length of queue that the goal is about."""
        return self.task.policy.scale_packets(self.traffic.packets_per_s)

    def scaling(self, kinds: Iterable[SenderModel]) -> Scaling:
        """Scale of the model."""
        wanted = self.scale_packets(self.links[0])
        return scaling_for(self.traffic, self.disciplines[0], wanted, kinds)

    def name_of(self, path: str) -> str:
        """A parameter's name, from its path."""
        return bare_name(path)

    def guesses(self, target: float) -> list[dict[str, float]]:
        """First guesses, for disciplines with RED's parameters."""
        return first_guesses(self.disciplines[0], self.names, self.traffic, target)

    def pushed(self, setting: Mapping[str, float]) -> Mapping[str, ParameterValue]:
        """All parameters after a change."""
        return {**self.task.in_force, **setting}


class SetProblem(Problem[SetTraffic]):
    """Several queues."""

    def __init__(self, task: Task) -> None:
        policy, picture = task.policy, task.picture
        if not isinstance(policy, SetPolicy) or not isinstance(picture, SetEstimate):
            message = f"{type(picture).__name__} is not of several queues"
            raise TypeError(message)
        self.task, self._policy, self._picture = task, policy, picture
        self.traffic = SetTraffic.of_picture(picture, policy)
        self.names = searched(policy, self.traffic)
        self.links = tuple(self.traffic.queues)
        self.disciplines = tuple(each.discipline for each in task.configuration.queues)

    def whole(self, traffic: SetTraffic) -> Traffic:
        """All traffic, as if it crossed one queue with the rate of all."""
        return traffic.whole

    def possible(self) -> Sequence[Possibility[SetTraffic]]:
        """Possible networks: by doubt, or by turns."""
        task = self.task
        if not task.met:
            return set_possibilities(self.traffic, self._picture, task.belief)
        others: list[SetTraffic] = []
        for met in task.met:
            if not isinstance(met, SetEstimate):
                continue
            try:
                other = SetTraffic.of_picture(met, self._policy)
            except TooLittleIsKnown:
                continue
            if set(other.queues) == set(self.traffic.queues):
                others.append(other)
        return set_by_turns(self.traffic, others, task.belief)

    def others(self) -> list[SetTraffic]:
        """Alternatives to the traffic estimate, where it is doubted."""
        found = other_traffic(self.traffic.whole, self._picture)
        return [self.traffic.like(each) for each in found]

    def build(
        self,
        scaling: Scaling,  # noqa: ARG002 - several queues are modelled whole
        parameters: Mapping[str, ParameterValue],
        traffic: SetTraffic,
        kind: SenderModel,
        horizon: Horizon,
        joining: float = 0.0,
        *,
        anew: bool = False,
    ) -> Scenario:
        """The model of all queues."""
        queues = self.task.configuration.queues
        return build_set_model(
            queues, parameters, traffic, kind, self._policy, horizon, joining, anew=anew
        )

    def settled(self) -> dict[str, Sequence[Sample]]:
        """The settled samples of each queue."""
        return {
            link: [each.queues[place] for each in self.task.settled if isinstance(each, SetSample)]
            for place, (link, _) in enumerate(self._picture.queues)
            if link in self.links
        }

    def scale_packets(self, link: str) -> float:
        """Queue at a usual delay, packets."""
        rate = self.traffic.queues[link].packets_per_s
        return self._policy.of_queue(link).scale_packets(rate)


def searched_parameters(task: Task, traffic: Traffic) -> tuple[str, ...]:
    """The names of what a search may change: the policy's, and switches where they matter."""
    policy: Policy = task.policy
    in_force = task.in_force
    if not marks(in_force):
        return policy.parameters
    too_long = least_queue_packets(traffic) > policy.scale_packets(traffic.packets_per_s)
    return (
        *policy.parameters,
        *(
            name
            for name in policy.switches
            if name in in_force and (too_long or in_force[name] != task.original.get(name))
        ),
    )
