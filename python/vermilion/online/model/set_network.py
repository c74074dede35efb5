"""From what was seen of several queues to one network of all of them that can be simulated.

The network has the managed links with the rates that were measured, and for each path the flows
that take it. Links that nobody manages are not in it: what they add to a round trip is part of what
was measured, and where they queue the model does not explain what is seen. A link whose rate is not
known, because it was never busy, does not queue either: it is left out, and its parameters stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vermilion.online.model.connected import all_come_anew
from vermilion.online.model.network import (
    flow_groups,
    joined,
    queue_texts,
    search_space,
    unresponsive,
)
from vermilion.online.model.possibilities import by_turns, load, possibilities
from vermilion.online.model.traffic import TooLittleIsKnown, Traffic
from vermilion.routers.queue_set import by_queue
from vermilion.scenario import scenario_from_document
from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.online.model.horizon import Horizon
    from vermilion.online.model.senders import SenderBelief, SenderModel
    from vermilion.online.sense.set_picture import SetPicture
    from vermilion.online.set_policy import SetPolicy
    from vermilion.routers.base import LinkConfiguration, ParameterValue
    from vermilion.scenario import Scenario


@dataclass(frozen=True, slots=True)
class SetTraffic:
    """The traffic of several queues in which nothing is missing that a model needs.

    Attributes:
        whole: all of it, as if it crossed one queue with the rate of all.
        queues: what each known queue sees, by its link.
        paths: (links, the flows that take them), of the known links only.
    """

    whole: Traffic
    queues: Mapping[str, Traffic]
    paths: tuple[tuple[tuple[str, ...], Traffic], ...]

    @classmethod
    def of_picture(cls, picture: SetPicture, policy: SetPolicy) -> SetTraffic:
        """The traffic of a picture.

        Raises:
            TooLittleIsKnown: saying what is missing.
        """
        whole = Traffic.of_picture(picture, policy)
        queues: dict[str, Traffic] = {}
        for link, part in picture.queues:
            if link in picture.known_queues:
                # Of a queue that nothing crosses now its rate is all that is needed.
                seen = (
                    part
                    if part.flows and part.base_rtts_s
                    else replace(part, flows=1, base_rtts_s=(whole.longest_round_trip_s,))
                )
                queues[link] = Traffic.of_picture(seen, policy.of_queue(link))
        paths: list[tuple[tuple[str, ...], Traffic]] = []
        for path in picture.paths:
            links = tuple(link for link in path.links if link in queues)
            if not links or not path.flows:
                continue
            if not path.base_rtts_s:
                message = f"no round trip has been sampled of the flows through {', '.join(links)}"
                raise TooLittleIsKnown(message)
            first = dict(picture.queues)[links[0]]
            alone = replace(
                first,
                flows=path.flows,
                base_rtts_s=path.base_rtts_s,
                packet_bytes=path.packet_bytes,
            )
            paths.append((links, Traffic.of_picture(alone, policy.of_queue(links[0]))))
        if not paths:
            message = "no flow is active"
            raise TooLittleIsKnown(message)
        return cls(whole, queues, tuple(paths))

    def like(self, whole: Traffic) -> SetTraffic:
        """With so many times the flows, and as many times as long round trips, as another whole."""
        flows = whole.flows / self.whole.flows
        trips = whole.longest_round_trip_s - whole.queueing_s
        longer = trips / (self.whole.longest_round_trip_s - self.whole.queueing_s)
        return replace(self.times(flows, longer), whole=whole)

    def times(self, flows: float, longer: float) -> SetTraffic:
        """With so many times the flows on every path, and as many times as long round trips."""
        return SetTraffic(
            _times(self.whole, flows, longer),
            self.queues,
            tuple((links, _times(traffic, flows, longer)) for links, traffic in self.paths),
        )

    @property
    def most_loaded(self) -> Traffic:
        """What the queue sees whose flows have the smallest windows."""
        return max(
            self.queues.values(),
            key=lambda each: each.flows / (each.packets_per_s * each.longest_round_trip_s),
        )


def _times(traffic: Traffic, flows: float, longer: float) -> Traffic:
    classes = tuple((max(1, round(flows * n)), longer * base_s) for n, base_s in traffic.classes)
    return replace(traffic, flows=sum(count for count, _ in classes), classes=classes)


@dataclass(frozen=True, slots=True)
class SetPossibility:
    """One thing that the network may be.

    Attributes:
        traffic: of all queues.
        kind: how the senders behave.
        share: how much it counts; those of all add up to 1. One that counts for nothing is not
            believed: a setting need not be good there, but may do no harm.
        words: how it differs from what is believed; "" where it does not.
        joining: the part of the flows that come while the others run already.
    """

    traffic: SetTraffic
    kind: SenderModel
    share: float
    words: str = ""
    joining: float = 0.0


def set_possibilities(
    traffic: SetTraffic, picture: SetPicture, belief: SenderBelief
) -> tuple[SetPossibility, ...]:
    """What the network may be, the likeliest first, as for one queue.

    Whether there is room for a crowd is asked where it is tightest: at the queue whose flows have
    the smallest windows.
    """
    tightest = traffic.most_loaded
    found: list[SetPossibility] = []
    for each in possibilities(tightest, picture, belief):
        flows = each.traffic.flows / tightest.flows
        longer = (each.traffic.longest_round_trip_s - each.traffic.queueing_s) / (
            tightest.longest_round_trip_s - tightest.queueing_s
        )
        same = each.traffic is tightest
        of_all = traffic if same else traffic.times(flows, longer)
        found.append(SetPossibility(of_all, each.kind, each.share, each.words, each.joining))
    return tuple(found)


def set_by_turns(
    traffic: SetTraffic, others: Sequence[SetTraffic], belief: SenderBelief
) -> tuple[SetPossibility, ...]:
    """Conditions that come and go: the present ones, and those that load the queues most and least.

    Args:
        traffic: as it is now.
        others: as it has been lately, with the same queues known.
        belief: in the senders.
    """
    met = (traffic, *others)
    known = {id(each.whole): each for each in met}
    heaviest = max(met, key=lambda each: load(each.whole))
    return tuple(
        SetPossibility(
            # What nobody has met yet is a crowd, which is twice the heaviest that was.
            known.get(id(each.traffic)) or heaviest.like(each.traffic),
            each.kind,
            each.share,
            each.words,
            each.joining,
        )
        for each in by_turns(traffic.whole, [other.whole for other in others], belief)
    )


def build_set_model(
    configurations: Sequence[LinkConfiguration],
    in_force: Mapping[str, ParameterValue],
    traffic: SetTraffic,
    kind: SenderModel,
    policy: SetPolicy,
    horizon: Horizon,
    joining: float = 0.0,
    *,
    anew: bool = False,
) -> Scenario:
    """A scenario that behaves like the network of the queues as it looks now.

    Args:
        configurations: of every link under control.
        in_force: every parameter of every queue, by its joint name.
        traffic: as observed.
        kind: how the senders are assumed to behave.
        policy: what the operator wants.
        horizon: how long to simulate.
        joining: the part of the flows that begin where the warm-up ends, as for one queue.
        anew: whether all flows come under these settings, as for one queue.

    Raises:
        ScenarioError: the routers' parameters make no sense.
    """
    known = [each for each in configurations if each.link in traffic.queues]
    delays = {each.link: each.delay_s for each in known}
    settings = by_queue(in_force)
    space: dict[str, object] = {}
    for each in known:
        space |= search_space(
            each.discipline, policy.of_queue(each.link), traffic.queues[each.link]
        )
    names = [policy.path(name) for name in searched(policy, traffic)]
    flows: dict[str, object] = {}
    for number, (links, part) in enumerate(traffic.paths, start=1):
        groups = flow_groups(links, sum(delays[link] for link in links), part, kind)
        if anew:
            groups = all_come_anew(groups)
        flows |= {f"path-{number}-{name}": group for name, group in groups.items()}
    settling: dict[str, object] = {}
    if joining > 0.0:
        flows, settling = joined(flows, joining, horizon)
    for link, part in traffic.queues.items():
        flows |= {f"{name}-{link}": each for name, each in unresponsive(link, part, kind).items()}
    return scenario_from_document(
        {
            "title": f"Model of {how_many(traffic.whole.flows, 'flow')} and "
            f"{how_many(len(known), 'queue')}",
            "duration": f"{horizon.warm_up_s + horizon.measured_s!r} s",
            "warm_up": f"{horizon.warm_up_s!r} s",
            **settling,
            "links": {
                each.link: {
                    "rate": f"{traffic.queues[each.link].rate_bit_per_s!r} bit/s",
                    "delay": f"{each.delay_s!r} s",
                    "queue": {
                        "discipline": each.discipline,
                        **queue_texts(each.discipline, settings[each.link]),
                    },
                }
                for each in known
            },
            "flows": flows,
            "tuning": {
                "parameters": names,
                "space": {path: ends for path, ends in space.items() if path in names},
            },
        },
        origin="model",
    )


def searched(policy: SetPolicy, traffic: SetTraffic) -> tuple[str, ...]:
    """The joint names of the parameters to search: those of queues that can be modelled."""
    return tuple(
        name for name in policy.parameters if next(iter(by_queue({name: None}))) in traffic.queues
    )
