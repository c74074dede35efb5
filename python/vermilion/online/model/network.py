"""Flows that are there already, and flows that have yet to shake hands.

A flow's first packet is the one that a queue drops where it marks all others (RFC 3168, section
6.1.1), and a sender of Linux that loses it goes on without marks for good. So which flows can be
marked depends on what stood when they came. Those that are there have that behind them: what they
are has been seen, and no setting changes it. If the flows of a model shook hands again under each
setting that is tried, fewer of them could be marked the shorter the queue is, and the model would
hold queues that the network cannot: 64 senders of Linux at 10 Mbit/s and 28 ms leave 93 packets
behind marks, and such a model promised 30.

Where no packet of a flow can be marked, the first fares as all others do.

From what was seen to a network that can be simulated.

A model is an ordinary scenario with one link and one group of flows per round-trip class.
It is made from three things only: the link's static configuration (its name, discipline and
propagation delay), the parameters in force, and the traffic as observed. The scenario of a
simulated network under control (its flows, its changes, its future) is not an argument of
anything in this module, and a test poisons one to make sure.

What no router exports must be assumed: how the senders react to loss. The assumption is an
argument; :mod:`vermilion.online.model.explanation` revises it.

A model of several queues has the managed links with the rates that were measured, and for each path
the flows that take it. Links that nobody manages are not in it: what they add to a round trip is
part of what was measured, and where they queue the model does not explain what is seen. A link
whose rate is not known, because it was never busy, does not queue either: it is left out, and its
parameters stay.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from vermilion.routers.queue_set import by_queue
from vermilion.scenario import disciplines, scenario_from_document, senders
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.online.model.senders import SenderModel
    from vermilion.online.model.traffic import Horizon, Traffic
    from vermilion.online.policy import Policy
    from vermilion.routers.base import LinkConfiguration, ParameterValue
    from vermilion.scenario import Scenario


_THERE: Final[Mapping[str, object]] = {"handshake": False, "ecn_fallback": False}


def come_anew(group: Mapping[str, Any]) -> dict[str, Any]:
    """A group of flows that were there, as flows that shake hands first."""
    sender = {name: value for name, value in group["sender"].items() if name not in _THERE}
    return {**group, "sender": sender}


UNRESPONSIVE = "unresponsive"
"""The name of the group whose packets come whatever is lost."""

_FLOWS_START_WITHIN_S = 1.0  # spread over a second, or their windows would move in step
_JOINING_SHARE = 0.1  # of what is measured, at most, while newcomers come
_SETTLED_AFTER = 2.0  # times as long as they take to come
_MOST_TURNOVER = 0.5  # of the flows
_TURNOVER_WITHIN = 0.95  # of what is measured
_TURNOVER_SETTLES = 0.06
_BESIDES = "-coming"  # these are no part of those that are there
_BOXES_SUIT_PACKETS = 30.0  # the target for which the tables' search boxes are wide enough
_MEMORY_S = 0.1  # that an average must be able to have
_WIDE = 10.0  # times the shortest target, where a link is so slow that the table's box ends below
_UNRESPONSIVE_FLOWS = 4  # that share what is unresponsive: neither one clock nor pure chance


def build_model(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    traffic: Traffic,
    kind: SenderModel,
    policy: Policy,
    horizon: Horizon,
    joining: float = 0.0,
    *,
    anew: bool = False,
    turnover: tuple[float, float] = (0.0, 0.0),
) -> Scenario:
    """A scenario that behaves like the network as it looks now.

    Args:
        configuration: what the operator configured, of one queue or of several.
        in_force: every discipline parameter now in force; of several queues by its joint name.
        traffic: as observed.
        kind: how the senders are assumed to behave.
        policy: what the operator wants.
        horizon: how long to simulate.
        joining: the part of the flows that begin where the warm-up ends, while the others run
            already; what is measured begins when they have had time to.
        anew: whether all flows come under this setting, and shake hands there; as a rule they are
            there already.
        turnover: shares of the flows that come and that go in a second while they are measured.

    Raises:
        ScenarioError: the router's parameters make no sense.
    """
    queues = [each for each in configuration.queues or (configuration,) if traffic.at(each.link)]
    delays = {each.link: each.delay_s for each in queues}
    several = bool(configuration.queues)
    settings = by_queue(in_force) if several else {configuration.link: in_force}
    names = [policy.path(name) for name in searched(policy, traffic)]
    links: dict[str, object] = {}
    space: dict[str, object] = {}
    unanswering: dict[str, object] = {}
    for each in queues:
        seen = traffic.at(each.link) or traffic
        links[each.link] = {
            "rate": f"{seen.rate_bit_per_s!r} bit/s",
            "delay": f"{each.delay_s!r} s",
            "queue": {
                "discipline": each.discipline,
                **_queue_texts(each.discipline, settings[each.link]),
            },
        }
        space |= search_space(each.discipline, policy.of_queue(each.link), seen)
        group = unresponsive(each.link, seen, kind)
        unanswering |= {f"{n}-{each.link}" if several else n: one for n, one in group.items()}
    flows: dict[str, Any] = {}
    paths = traffic.paths or (((configuration.link,), traffic),)
    for number, (path, part) in enumerate(paths, start=1):
        groups = flow_groups(path, sum(delays[link] for link in path), part, kind)
        before = f"path-{number}-" if several else ""
        flows |= {f"{before}{n}": come_anew(one) if anew else one for n, one in groups.items()}
    settling: dict[str, object] = {}
    if joining > 0.0:
        flows, settling = joined(flows, joining, horizon)
    if any(turnover):
        flows, settling = _with_turnover(flows, turnover, horizon)
    of_queues = f" and {how_many(len(queues), 'queue')}" if several else ""
    return scenario_from_document(
        {
            "title": f"Model of {how_many(traffic.flows, 'flow')}{of_queues}",
            "duration": f"{horizon.warm_up_s + horizon.measured_s!r} s",
            "warm_up": f"{horizon.warm_up_s!r} s",
            **settling,
            "links": links,
            "flows": {**flows, **unanswering},
            "tuning": {
                "parameters": names,
                "space": {path: ends for path, ends in space.items() if path in names},
            },
        },
        origin="model",
    )


def searched(policy: Policy, traffic: Traffic) -> tuple[str, ...]:
    """The names of the parameters to search: those of queues that can be modelled."""
    if not policy.links:
        return policy.parameters
    return tuple(
        name for name in policy.parameters if next(iter(by_queue({name: None}))) in traffic.queues
    )


def flow_groups(
    path: Sequence[str], delay_s: float, traffic: Traffic, kind: SenderModel
) -> dict[str, dict[str, Any]]:
    """The groups of flows that take a path, by name.

    Args:
        path: the links.
        delay_s: their propagation delay.
        traffic: what takes the path.
        kind: how its senders are assumed to behave.
    """
    groups: dict[str, dict[str, Any]] = {}
    sizes = _two_sizes(traffic) if kind.two_sizes else traffic.packet_sizes
    for number, (flows, base_s) in enumerate(traffic.classes, start=1):
        for senders_of, count, ecn, suffix in _of_kinds(flows, traffic.ecn_share, kind):
            for part, size, alike in _of_sizes(count, sizes or ((traffic.packet_bytes, 1),)):
                if part > 0:
                    groups[f"class-{number}{suffix}{alike}"] = {
                        "count": part,
                        "path": list(path),
                        # Estimates are noisy; no round trip is below the link's own delay.
                        "rtt": f"{max(base_s, delay_s):.9f} s",
                        "sender": _sender_texts(senders_of, ecn=ecn),
                        "packet_size": f"{max(1, round(size))} bytes",
                        "start": f"0 s .. {_FLOWS_START_WITHIN_S} s",
                    }
    return groups


def _with_others(
    groups: Mapping[str, Any], others: Sequence[tuple[str, float, Mapping[str, str]]]
) -> dict[str, Any]:
    """The same groups, with other flows beside them: a part of them that goes, or newcomers.

    Args:
        groups: of flows, by name.
        others: (what their names end with, their part of all flows as near as whole flows allow,
            when they come or go). They are a part of those that are there, but for "-coming".
    """
    found: dict[str, dict[str, Any]] = {}
    seen, given = 0, dict.fromkeys((suffix for suffix, _, _ in others), 0)
    for name, group in groups.items():
        seen += group["count"]
        pieces = [("", group["count"], group)]
        for suffix, share, when in others:
            count = math.floor(share * seen + 0.5) - given[suffix]
            given[suffix] += count
            if suffix != _BESIDES:
                pieces[0] = ("", pieces[0][1] - count, group)
            pieces.append(
                (suffix, count, {**(come_anew(group) if "start" in when else group), **when})
            )
        found |= {
            f"{name}{suffix}": {**one, "count": count} for suffix, count, one in pieces if count > 0
        }
    return found


def _with_turnover(
    groups: Mapping[str, Any], turnover: tuple[float, float], horizon: Horizon
) -> tuple[dict[str, Any], dict[str, object]]:
    """The same groups, of which a part goes, and others come, while they are measured."""
    coming, going = (min(each * horizon.measured_s, _MOST_TURNOVER) for each in turnover)
    begin_s = horizon.warm_up_s
    when = f"{begin_s!r} s .. {begin_s + _TURNOVER_WITHIN * horizon.measured_s!r} s"
    others = (("-going", going, {"stop": when}), (_BESIDES, coming, {"start": when}))
    # What is left behind the last of them is no stretch of its own.
    return _with_others(groups, others), {"settle": f"{_TURNOVER_SETTLES * horizon.measured_s!r} s"}


def joined(
    groups: Mapping[str, Any], joining: float, horizon: Horizon
) -> tuple[dict[str, Any], dict[str, object]]:
    """The groups of a model in which a part of the flows come later, and when it has settled."""
    begin_s = horizon.warm_up_s
    within_s = min(_FLOWS_START_WITHIN_S, _JOINING_SHARE * horizon.measured_s)
    when = {"start": f"{begin_s!r} s .. {begin_s + within_s!r} s"}
    others = _with_others(groups, [("-joining", joining, when)])
    return others, {"settle": f"{_SETTLED_AFTER * within_s!r} s"}


def _of_kinds(
    flows: int, ecn_share: float, kind: SenderModel
) -> Iterator[tuple[SenderModel, int, bool, str]]:
    """(kind, flows, whether they understand marks, suffix of the name) of a class's flows."""
    halves = [(kind, flows, "")]
    if kind.beside is not None:
        halves = [(kind, flows - flows // 2, ""), (kind.beside, flows // 2, "-beside")]
    capable = round(flows * ecn_share)
    always = sum(count for each, count, _ in halves if each.always_capable)
    others = flows - always
    for each, count, suffix in halves:
        if each.always_capable:
            marked = count
        else:
            marked = round(count * max(0, capable - always) / others) if others else 0
        yield each, count - marked, False, suffix
        yield each, marked, True, f"{suffix}-ecn"


def _two_sizes(traffic: Traffic) -> tuple[tuple[float, int], ...]:
    """Two sizes, 1 to 3, with the mean of all packets that was seen.

    Flows of either size send about as many packets, for losses are of packets.
    """
    return ((0.5 * traffic.packet_bytes, 1), (1.5 * traffic.packet_bytes, 1))


def _of_sizes(flows: int, sizes: Sequence[tuple[float, int]]) -> Iterator[tuple[int, float, str]]:
    """(flows, bytes, suffix of the name) of each size of packets among so many flows."""
    of_all = sum(count for _, count in sizes)
    given, seen = 0, 0
    for number, (size, count) in enumerate(sizes, start=1):
        seen += count
        upto = math.floor(flows * seen / of_all + 0.5)
        yield upto - given, size, f"-size-{number}" if len(sizes) > 1 else ""
        given = upto


def unresponsive(link: str, traffic: Traffic, kind: SenderModel) -> dict[str, object]:
    """The group of what comes to a link whatever is lost, by name; empty where there is none."""
    rate = traffic.unresponsive_bit_per_s + kind.unresponsive_share * traffic.rate_bit_per_s
    if rate <= 0.0:
        return {}
    each = f"{rate / _UNRESPONSIVE_FLOWS!r} bit/s"
    return {
        UNRESPONSIVE: {
            "count": _UNRESPONSIVE_FLOWS,
            "path": [link],
            "traffic": {"kind": "constant-rate", "rate": each},
            "packet_size": f"{max(1, round(traffic.packet_bytes))} bytes",
            "start": f"0 s .. {_FLOWS_START_WITHIN_S} s",
        }
    }


def search_space(discipline: str, policy: Policy, traffic: Traffic) -> dict[str, object]:
    """Between which ends to search: the operator's word, or the table's box made to fit.

    The tables' boxes suit queues of some tens of packets; where longer ones are wanted, or usual at
    the link's rate, the thresholds have to be larger. Likewise an average's weight, which is per
    packet: a tenth of a second must be within its memory on a fast link too. And no target is
    shorter than one packet takes to send on a slow one. It would never be kept, so that a queue
    would drop all the time, and starve whoever has little under way.
    """
    table = disciplines()[discipline].parameters
    stretch = max(1.0, policy.scale_packets(traffic.packets_per_s) / _BOXES_SUIT_PACKETS)
    space = dict(policy.space)
    for name in policy.parameters:
        row = table[name]
        if policy.path(name) in space or row.search is None:
            continue
        lower, upper = row.search
        if row.unit == "packets":
            space[policy.path(name)] = [row.exact_text(lower), row.exact_text(stretch * upper)]
        elif name == "weight" and lower * traffic.packets_per_s * _MEMORY_S > 1.0:
            least = 1.0 / (traffic.packets_per_s * _MEMORY_S)
            space[policy.path(name)] = [row.exact_text(least), row.exact_text(upper)]
        elif name == "target" and row.unit == "seconds" and lower * traffic.packets_per_s < 1.0:
            least = 1.0 / traffic.packets_per_s
            space[policy.path(name)] = [
                row.exact_text(least),
                row.exact_text(max(upper, _WIDE * least)),
            ]
    return space


def _queue_texts(discipline: str, values: Mapping[str, ParameterValue]) -> dict[str, object]:
    """A queue's parameters as a scenario has them."""
    table = disciplines()[discipline].parameters
    return {name: table[name].exact_text(value) for name, value in values.items()}


def _sender_texts(kind: SenderModel, *, ecn: bool) -> dict[str, object]:
    """A sender that is present from the start."""
    table = senders()[kind.congestion_control].parameters
    given = {name: table[name].exact_text(value) for name, value in kind.parameters}
    if kind.option_set is not None:
        given["option_set"] = kind.option_set
    there = _THERE if ecn else {}
    return {"congestion_control": kind.congestion_control, **given, "ecn": ecn, **there}
