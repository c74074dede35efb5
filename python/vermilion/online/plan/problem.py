"""Problem for a search: the queues of a task, their traffic, and models of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vermilion.online.model.network import build_model, searched
from vermilion.online.model.possibilities import by_turns, other_traffic, possibilities
from vermilion.online.model.scaling import Scaling, scaling_for
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic, least_queue_packets
from vermilion.online.plan.laws import PROBABILITIES, as_modelled
from vermilion.online.plan.settings import bare_name, first_guesses, joint_name_of
from vermilion.online.policy import marks
from vermilion.routers.adaptive_red import MOVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.online.model.possibilities import Possibility
    from vermilion.online.model.senders import SenderModel
    from vermilion.online.model.traffic import Horizon
    from vermilion.online.plan.task import Task
    from vermilion.online.sense.sampler import Sample
    from vermilion.routers.base import ParameterValue
    from vermilion.scenario import Scenario


class Problem:
    """The queues of a task, and their traffic.

    Attributes:
        task: the task, about the parameters that are searched.
        traffic: as observed.
        links: of the queues that can be modelled.
        names: of the parameters that are searched.
        disciplines: of all queues that may be changed.
    """

    def __init__(self, task: Task) -> None:
        """Prepare.

        Raises:
            TooLittleIsKnown: the traffic cannot be modelled.
        """
        self.traffic = traffic = Traffic.of_picture(task.picture, task.policy)
        parameters = searched_parameters(task, traffic)
        self.task = replace(task, policy=replace(task.policy, parameters=parameters))
        self.names = searched(self.task.policy, traffic)
        self.links = tuple(traffic.queues) or (task.policy.link,)
        queues = task.configuration.queues or (task.configuration,)
        self.disciplines = tuple(each.discipline for each in queues)

    def possible(self) -> Sequence[Possibility]:
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
        alike = [each for each in others if each.queues.keys() == self.traffic.queues.keys()]
        return by_turns(self.traffic, alike, task.belief)

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
        transitions: bool = False,
    ) -> Scenario:
        """The model of the network with this traffic and these senders, as small as may be."""
        configuration, values = as_modelled(self.task.configuration, parameters)
        return build_model(
            configuration,
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
            turnover=self.task.turnover if transitions else (0.0, 0.0),
        )

    def settled(self) -> dict[str, Sequence[Sample]]:
        """The settled samples of each queue."""
        return {
            link: [each.parts[place] for each in self.task.settled]
            for place, link in enumerate(self.task.policy.links or self.links)
            if link in self.links
        }

    def scale_packets(self, link: str) -> float:
        """The length of queue that counts as long at a link, by the goal."""
        seen = self.traffic.at(link) or self.traffic
        return self.task.policy.of_queue(link).scale_packets(seen.packets_per_s)

    def scaling(self, kinds: Iterable[SenderModel]) -> Scaling:
        """Scale of the model; several queues are modelled whole."""
        if self.task.policy.links:
            return Scaling("")
        wanted = self.scale_packets(self.links[0])
        return scaling_for(self.traffic, self.disciplines[0], wanted, kinds)

    def name_of(self, path: str) -> str:
        """A parameter's name in the policy, from its path in a model."""
        return joint_name_of(path) if self.task.policy.links else bare_name(path)

    def guesses(self, target: float) -> list[dict[str, float]]:
        """Settings to try first, for one queue with RED's parameters."""
        return first_guesses(self.disciplines[0], self.names, self.traffic, target)


def searched_parameters(task: Task, traffic: Traffic) -> tuple[str, ...]:
    """The names of what a search may change: the policy's, and switches where they matter."""
    policy = task.policy
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
