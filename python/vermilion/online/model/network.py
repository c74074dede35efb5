"""From what was seen to a network that can be simulated.

A model is an ordinary scenario with one link and one group of flows per round-trip class.
It is made from three things only: the link's static configuration (its name, discipline and
propagation delay), the parameters in force, and the traffic as observed. The scenario of a
simulated network under control (its flows, its changes, its future) is not an argument of
anything in this module, and a test poisons one to make sure.

What no router exports must be assumed: how the senders react to loss. The assumption is an
argument; :mod:`vermilion.online.model.calibration` revises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.scenario import disciplines, scenario_from_document, senders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.online.model.calibration import SenderModel
    from vermilion.online.policy import Policy
    from vermilion.online.sense.picture import TrafficPicture
    from vermilion.routers.base import LinkConfiguration, ParameterValue
    from vermilion.scenario import Scenario

_FLOWS_START_WITHIN_S = 1.0  # spread over a second, or their windows would move in step
_FEW = 0.1  # share of marks below which no sender counts as ECN-capable; above 1 - this, all do

_BOXES_SUIT_PACKETS = 30.0  # the target for which the tables' search boxes are wide enough

_WARM_UP_S = 5.0  # a first packet lost costs 3 s (RFC 2988), and slow averages settle
_MEASURED_ROUND_TRIPS = 80.0
_MEASURED_S = (10.0, 16.0)
_LEAST_S = 2.0
_LEAST_ROUND_TRIPS = 30.0
_ENOUGH_SETTINGS = 200
_GUESSED_PACKETS_PER_S = 1e7


class TooLittleIsKnown(Exception):  # noqa: N818 - reads as what it says
    """The traffic cannot be modelled yet; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """A picture in which nothing is missing that a model needs.

    Attributes:
        flows: active flows.
        classes: (flows, base round trip in s) per class of round trips.
        rate_bit_per_s: the link's service rate.
        packet_bytes: size of a packet.
        queueing_s: the wanted queueing delay.
        ecn_share: share of the flows that understand marks.
    """

    flows: int
    classes: tuple[tuple[int, float], ...]
    rate_bit_per_s: float
    packet_bytes: float
    queueing_s: float
    ecn_share: float

    @classmethod
    def of_picture(cls, picture: TrafficPicture, target_packets: float) -> Traffic:
        """The traffic of a picture, for a queue that is wanted at ``target_packets``.

        Raises:
            TooLittleIsKnown: saying what is missing.
        """
        if picture.flows == 0:
            message = "no flow is active"
            raise TooLittleIsKnown(message)
        if picture.rate_bit_per_s is None or picture.packet_bytes is None:
            message = "the link has not been busy long enough to measure its rate"
            raise TooLittleIsKnown(message)
        if not picture.base_rtts_s:
            message = "no round trip has been sampled"
            raise TooLittleIsKnown(message)
        queueing_s = 8.0 * target_packets * picture.packet_bytes / picture.rate_bit_per_s
        return cls(
            flows=picture.flows,
            classes=tuple(picture.round_trip_classes(queueing_s)),
            rate_bit_per_s=picture.rate_bit_per_s,
            packet_bytes=picture.packet_bytes,
            queueing_s=queueing_s,
            ecn_share=_ecn_share(picture.marked_share),
        )

    @property
    def packets_per_s(self) -> float:
        """The link's rate in packets per second."""
        return self.rate_bit_per_s / (8.0 * self.packet_bytes)

    @property
    def longest_round_trip_s(self) -> float:
        """The slowest class's round trip with the wanted queue."""
        return max(base_s for _, base_s in self.classes) + self.queueing_s


@dataclass(frozen=True, slots=True)
class Horizon:
    """How long a model is simulated.

    Attributes:
        warm_up_s: time left out at the beginning.
        measured_s: time measured after it.
    """

    warm_up_s: float
    measured_s: float


def horizon_for(traffic: Traffic, deadline_s: float, packets_per_s: float | None) -> Horizon:
    """How long to simulate, so that a search gets enough settings done in its time.

    Long enough for the slowest flows to show their sawtooth; shortened on fast links, whose
    packets take longer to simulate than they take to be sent, but never so far that nothing
    is left to measure.

    Args:
        traffic: what to simulate.
        deadline_s: how long the search may take.
        packets_per_s: how many packets this machine simulates per second of wall time;
            ``None`` for a guess.
    """
    round_trip_s = traffic.longest_round_trip_s
    wanted_s = min(max(_MEASURED_ROUND_TRIPS * round_trip_s, _MEASURED_S[0]), _MEASURED_S[1])
    speed = packets_per_s or _GUESSED_PACKETS_PER_S
    affordable_s = deadline_s * speed / (_ENOUGH_SETTINGS * traffic.packets_per_s)
    share = min(1.0, affordable_s / (_WARM_UP_S + wanted_s))
    least_s = max(_LEAST_S, _LEAST_ROUND_TRIPS * round_trip_s)
    return Horizon(
        warm_up_s=round(max(share * _WARM_UP_S, least_s), 3),
        measured_s=round(max(share * wanted_s, least_s), 3),
    )


def build_model(
    configuration: LinkConfiguration,
    in_force: Mapping[str, ParameterValue],
    traffic: Traffic,
    kind: SenderModel,
    policy: Policy,
    internal_target: float,
    horizon: Horizon,
) -> Scenario:
    """A scenario that behaves like the network as it looks now.

    Args:
        configuration: what the operator configured.
        in_force: every discipline parameter now in force.
        traffic: as observed.
        kind: how the senders are assumed to behave.
        policy: what the operator wants.
        internal_target: the target for the model's queue, in packets.
        horizon: how long to simulate.

    Raises:
        ScenarioError: the router's parameters make no sense.
    """
    tuning: dict[str, object] = {
        "parameters": [policy.path(name) for name in policy.parameters],
        "objective": {
            "name": "queue-deviation",
            "link": policy.link,
            "target": f"{internal_target!r} packets",
        },
        "space": _search_space(configuration.discipline, policy),
    }
    if policy.constraints is not None:
        tuning["constraints"] = list(policy.constraints)
    return scenario_from_document(
        {
            "title": f"Model of {traffic.flows} flows",
            "duration": f"{horizon.warm_up_s + horizon.measured_s!r} s",
            "warm_up": f"{horizon.warm_up_s!r} s",
            "links": {
                configuration.link: {
                    "rate": f"{traffic.rate_bit_per_s!r} bit/s",
                    "delay": f"{configuration.delay_s!r} s",
                    "queue": {
                        "discipline": configuration.discipline,
                        **_queue_texts(configuration.discipline, in_force),
                    },
                }
            },
            "flows": _flow_groups(configuration, traffic, kind),
            "tuning": tuning,
        },
        origin="model",
    )


def _flow_groups(
    configuration: LinkConfiguration, traffic: Traffic, kind: SenderModel
) -> dict[str, object]:
    groups: dict[str, object] = {}
    for number, (count, base_s) in enumerate(traffic.classes, start=1):
        marked = round(count * traffic.ecn_share)
        for part, ecn, suffix in ((count - marked, False, ""), (marked, True, "-ecn")):
            if part > 0:
                groups[f"class-{number}{suffix}"] = {
                    "count": part,
                    "path": [configuration.link],
                    # Estimates are noisy; no round trip is below the link's own delay.
                    "rtt": f"{max(base_s, configuration.delay_s):.9f} s",
                    "sender": {**_sender_texts(kind), "ecn": ecn},
                    "packet_size": f"{max(1, round(traffic.packet_bytes))} bytes",
                    "start": f"0 s .. {_FLOWS_START_WITHIN_S} s",
                }
    return groups


def _search_space(discipline: str, policy: Policy) -> dict[str, object]:
    """Between which ends to search: the operator's word, or the table's box made to fit.

    The tables' boxes suit queues of some tens of packets; a larger target needs larger
    thresholds.
    """
    table = disciplines()[discipline].parameters
    stretch = max(1.0, policy.target_packets / _BOXES_SUIT_PACKETS)
    space = dict(policy.space)
    for name in policy.parameters:
        row = table[name]
        if policy.path(name) not in space and row.unit == "packets" and row.search is not None:
            lower, upper = row.search
            space[policy.path(name)] = [row.exact_text(lower), row.exact_text(stretch * upper)]
    return space


def _queue_texts(discipline: str, values: Mapping[str, ParameterValue]) -> dict[str, object]:
    table = disciplines()[discipline].parameters
    return {name: table[name].exact_text(value) for name, value in values.items()}


def _sender_texts(kind: SenderModel) -> dict[str, object]:
    table = senders()[kind.congestion_control].parameters
    given = {name: table[name].exact_text(value) for name, value in kind.parameters}
    if kind.option_set is not None:
        given["option_set"] = kind.option_set
    return {"congestion_control": kind.congestion_control, **given}


def _ecn_share(marked_share: float | None) -> float:
    """Which share of the flows to model as ECN-capable, from the share of marks seen.

    A discipline treats flows alike but for marking the capable and dropping the others, so
    the share of marks among its signals is the share of capable senders, give or take the
    drops of a full buffer.
    """
    if marked_share is None or marked_share < _FEW:
        return 0.0
    return 1.0 if marked_share > 1.0 - _FEW else marked_share
