"""Scenario fitted to a capture, and notes on its unknowns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vermilion.scenario import scenario_from_document
from vermilion.scenario.quantities import how_many
from vermilion.scenario.toml_text import toml_text
from vermilion.twin.fitting import fit_arrivals, fit_sizes, fitting_depth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario
    from vermilion.twin.evidence import Evidence, FlowEvidence

LINK: Final = "bottleneck"
WARM_UP_S: Final = 10.0
"""Flows that were there when the capture began have so long to find their pace."""

_LONG: Final = 0.5  # of the capture: what lasts longer is a long flow
_FEWEST_PACKETS: Final = 50  # of a long flow
_IDLE_SHARE: Final = 0.05  # of the median long flow's bytes: a connection that is open, not busy
_START_SHARE: Final = 0.05  # of the capture
_MOST_ROUND_TRIPS: Final = 32  # dealt to the flows of a group
_FULL: Final = 0.9  # of the highest rates: the link is full in such a stretch
_FULL_SHARE: Final = 0.2  # of all stretches that have to be full to tell the rate
_SHORTEST_S: Final = 1e-4
_MOMENT_S: Final = 0.5  # flows that begin within so long begin at once: no phase of their own
_DEEPEST: Final = 100_000  # packets
_SHORTEST_CAPTURE_S: Final = 1.0
_POISSON_DISPERSION: Final = (0.5, 2.0)  # times a Poisson process's dispersion: a capture is short
_LOAD_TOLERANCE: Final = 0.1  # of the mean: a law that is nearer carries the capture's load
_MERGED_SHARE: Final = 0.01  # of the packets: fewer are not worth a word
_DEPTH_FACTOR: Final = 4.0  # times as deep as the longest wait: more is not tried
_FITTING_SEED: Final = 1_000_003  # none of those that are compared later


class TwinError(Exception):
    """A capture that no twin can be made of; ``str()`` says in one line why."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A scenario that stands for a capture.

    Attributes:
        scenario: ready to run and to tune.
        text: the same as TOML, with what could not be known as comments.
        rate_bit_per_s: of the link.
        fitted: what was taken from the capture, in words.
        unknown: what could not be known, and what stands there instead.
    """

    scenario: Scenario
    text: str
    rate_bit_per_s: float
    fitted: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The flows of a capture by what they are in a scenario."""

    long: tuple[FlowEvidence, ...]
    short: tuple[FlowEvidence, ...]
    unresponsive: tuple[FlowEvidence, ...]


def twin_of(
    evidence: Evidence,
    *,
    link_rate_bit_per_s: float | None = None,
    discipline: str | None = None,
    sender: str = "cubic",
) -> Twin:
    """The scenario that stands for a capture.

    Args:
        evidence: of the capture.
        link_rate_bit_per_s: of the link, where it is known.
        discipline: of its queue, where that is known, with the parameters of its table.
        sender: the congestion control that is taken for everybody's.

    Raises:
        TwinError: there is too little in the capture.
        ScenarioError: a discipline or a sender that there is not.
    """
    if evidence.duration_s < _SHORTEST_CAPTURE_S or not evidence.flows:
        message = (
            f"the capture has {how_many(len(evidence.flows), 'flow')} with data in "
            f"{evidence.duration_s:.3g} s; expected at least one flow and one second"
        )
        raise TwinError(message)
    notes = _Notes()
    rate = _rate(evidence, link_rate_bit_per_s, notes)
    kinds = _classify_flows(evidence)
    usual = _usual_round_trip(evidence, notes)
    flows: dict[str, Any] = {}
    span = _Span.of(evidence, kinds)
    flows.update(_long_groups(kinds.long, evidence, sender, usual, span, notes))
    flows.update(_short_group(kinds.short, evidence, sender, usual, notes))
    flows.update(_unresponsive_groups(kinds.unresponsive, evidence, notes))
    if not flows:
        message = "no flow of the capture is long enough or was seen to open; expected a longer one"
        raise TwinError(message)
    delay_s = _delay(kinds, usual)
    queue, tuned = _queue(evidence, discipline, notes)
    document: dict[str, Any] = {
        "title": f"Twin of {evidence.name.rsplit('/', 1)[-1]}",
        "duration": _seconds(span.warm_up_s + evidence.duration_s - span.silence_s),
        "warm_up": _seconds(span.warm_up_s),
        "links": {LINK: {"rate": f"{rate:.0f} bit/s", "delay": _seconds(delay_s), "queue": queue}},
        "flows": flows,
        "tuning": tuned,
    }
    if discipline is None and evidence.mean_wait_s:
        _fit_depth(document, evidence, rate, notes)
    _place(evidence, notes)
    _add_general_notes(evidence, sender, notes)
    text = _with_comments(notes, toml_text(document))
    return Twin(
        scenario=scenario_from_document(document, "twin"),
        text=text,
        rate_bit_per_s=rate,
        fitted=tuple(notes.fitted),
        unknown=tuple(notes.unknown),
    )


class _Notes:
    """Notes beside the scenario."""

    def __init__(self) -> None:
        self.fitted: list[str] = []
        self.unknown: list[str] = []


def _with_comments(notes: _Notes, text: str) -> str:
    lines = ["# Made from a capture by vermilion twin."]
    for head, remarks in (("From the capture:", notes.fitted), ("Not known:", notes.unknown)):
        lines += [f"# {head}", *(f"#   {each}" for each in remarks)]
    return "\n".join(lines) + "\n\n" + text


def _classify_flows(evidence: Evidence) -> _Kinds:
    unresponsive = tuple(each for each in evidence.flows if each.traffic == "udp")
    others = [each for each in evidence.flows if each.traffic != "udp"]
    lasting = [
        each
        for each in others
        if each.lasted_s >= _LONG * evidence.duration_s and each.packets >= _FEWEST_PACKETS
    ]
    usual = float(np.median([each.payload_bytes for each in lasting])) if lasting else 0.0
    long = tuple(each for each in lasting if each.payload_bytes >= _IDLE_SHARE * usual)
    chosen = set(map(id, long))
    return _Kinds(long, tuple(each for each in others if id(each) not in chosen), unresponsive)


def _rate(evidence: Evidence, given: float | None, notes: _Notes) -> float:
    if given is not None:
        notes.fitted.append(f"link rate {given / 1e6:.4g} Mbit/s, as given")
        return given
    rates = evidence.rates_bit_per_s
    high = float(np.percentile(rates, 99)) if len(rates) else 0.0
    if high <= 0.0:
        message = "nothing passes in any whole tenth of a second; expected traffic"
        raise TwinError(message)
    full = rates[rates >= _FULL * high]
    rate = float(np.median(full))
    if len(full) >= _FULL_SHARE * len(rates):
        notes.fitted.append(
            f"link rate {rate / 1e6:.4g} Mbit/s: {100 * len(full) / len(rates):.0f} % of all "
            "tenths of a second carry that much, and hardly one more"
        )
        return rate
    notes.unknown.append(
        f"the link's rate: it was seldom full; {high / 1000000.0:.4g} Mbit/s, the most in "
        "a tenth of a second, is a lower bound; say --link-rate"
    )
    return high


def _usual_round_trip(evidence: Evidence, notes: _Notes) -> float:
    known = [each.base_rtt_s for each in evidence.flows if each.base_rtt_s is not None]
    without = sum(each.base_rtt_s is None and each.traffic != "udp" for each in evidence.flows)
    if not known:
        notes.unknown.append("any round trip: no whole one was seen; 50 ms are assumed")
        return 0.05
    usual = max(_SHORTEST_S, float(np.median(known)))
    if without:
        notes.unknown.append(
            f"the round trips of {how_many(without, 'flow')}; the median of the others, "
            f"{1000.0 * usual:.3g} ms, is assumed"
        )
    notes.unknown.append(
        "base round trips exactly: the shortest of each flow is used, a standing queue included"
    )
    return usual


@dataclass(frozen=True, slots=True)
class _Span:
    """Interval of a capture in the scenario's time.

    Attributes:
        warm_up_s: before the capture begins: the flows that are there find their pace.
        silence_s: at the capture's beginning, before anything is sent; left away.
    """

    warm_up_s: float
    silence_s: float

    @classmethod
    def of(cls, evidence: Evidence, kinds: _Kinds) -> _Span:
        """Choose it by the times at which flows begin."""
        first_s = min(each.begun_s for each in evidence.flows)
        early_until = _START_SHARE * evidence.duration_s
        early = any(
            each.begun_s <= early_until and not each.opening_seen
            for each in (*kinds.long, *kinds.unresponsive)
        )
        # Who sees the first packets of everybody needs nothing before them.
        return cls(WARM_UP_S, 0.0) if early else cls(0.0, first_s)

    def place(self, seconds: float) -> float:
        """A moment of the capture, in the scenario's time."""
        return self.warm_up_s + seconds - self.silence_s


def _long_groups(
    flows: Sequence[FlowEvidence],
    evidence: Evidence,
    sender: str,
    usual: float,
    span: _Span,
    notes: _Notes,
) -> dict[str, Any]:
    """Long flows: those that were there from the start, and those that came later."""
    groups: dict[str, Any] = {}
    early_until = span.silence_s + _START_SHARE * evidence.duration_s
    for name, chosen in (
        ("long", [each for each in flows if each.begun_s <= early_until]),
        ("later", [each for each in flows if each.begun_s > early_until]),
    ):
        for ecn in (False, True):
            group = [each for each in chosen if bool(each.ecn) is ecn]
            if not group:
                continue
            label = f"{name}-ecn" if ecn else name
            groups[label] = _long_group(group, evidence, sender, usual, span, ecn=ecn)
            trips = sorted(each.base_rtt_s or usual for each in group)
            notes.fitted.append(
                f"{len(group)} long flows ({label}), base round trips {1e3 * trips[0]:.3g} to "
                f"{1e3 * trips[-1]:.3g} ms"
            )
    return groups


def _long_group(
    flows: Sequence[FlowEvidence],
    evidence: Evidence,
    sender: str,
    usual: float,
    span: _Span,
    *,
    ecn: bool,
) -> dict[str, Any]:
    begun = [span.place(each.begun_s) for each in flows]
    running = not any(each.opening_seen for each in flows)
    group: dict[str, Any] = {
        "count": len(flows),
        **_common_keys(flows, evidence, sender, usual, ecn=ecn),
        "start": "0 s .. 1 s" if running else _range(min(begun), max(begun)),
    }
    ended = [each.ended_s for each in flows if each.closed]
    if len(ended) == len(flows) and max(ended) < (1.0 - _START_SHARE) * evidence.duration_s:
        group["stop"] = _range(span.place(min(ended)), span.place(max(ended)))
    return group


def _short_group(
    flows: Sequence[FlowEvidence], evidence: Evidence, sender: str, usual: float, notes: _Notes
) -> dict[str, Any]:
    """Short transfers, as web traffic with fitted sizes and arrivals."""
    seen = [each for each in flows if each.opening_seen or each.traffic != "tcp"]
    cut = len(flows) - len(seen)
    if cut:
        notes.unknown.append(
            f"how large {cut} short flows were whose opening was not seen: left out"
        )
    if not seen:
        return {}
    whole = [each.payload_bytes for each in seen if each.closed] or [
        each.payload_bytes for each in seen
    ]
    running = sum(not each.closed for each in seen)
    if running:
        notes.unknown.append(
            (
                f"how large {running} unfinished transfers would have become; sizes are "
                f"fitted to the {len(whole)} finished"
            )
            if running < len(seen)
            else f"whether the {running} transfers were at their end: none was seen to close"
        )
    sizes = fit_sizes(whole)
    arrivals = fit_arrivals([each.begun_s for each in seen], evidence.duration_s)
    far = "" if sizes.distance is None else f", {sizes.distance:.3f} off at most"
    notes.fitted.append(
        f"{arrivals.count} short transfers, one every {1e3 * arrivals.mean_gap_s:.3g} ms, of "
        f"{sizes.mean_bytes / 1e3:.3g} kB in the mean ({sizes.name}{far})"
    )
    if abs(sizes.law_mean_bytes - sizes.mean_bytes) > _LOAD_TOLERANCE * sizes.mean_bytes:
        notes.unknown.append(
            f"the mean size of more transfers: these have {sizes.mean_bytes / 1000.0:.3g} "
            f"kB, the fitted law {sizes.law_mean_bytes / 1000.0:.3g} kB"
        )
    least, most = _POISSON_DISPERSION
    if arrivals.dispersion is not None and not least <= arrivals.dispersion <= most:
        notes.unknown.append(
            f"when transfers come: their number varies {arrivals.dispersion:.2g} times as "
            "much as that of the Poisson process assumed"
        )
    ecn = 2 * sum(bool(each.ecn) for each in seen) > len(seen)
    return {
        "short": {
            "count": 1,
            **_common_keys(seen, evidence, sender, usual, ecn=ecn),
            "traffic": {
                "kind": "web",
                "mean_gap": _seconds(arrivals.mean_gap_s),
                "size": sizes.table,
            },
        }
    }


def _unresponsive_groups(
    flows: Sequence[FlowEvidence], evidence: Evidence, notes: _Notes
) -> dict[str, Any]:
    """UDP that is not known to respond: one stream of the same rate and size of packets."""
    total = sum(each.bytes for each in flows)
    if not total:
        return {}
    packets = sum(each.packets for each in flows)
    size = total / packets + evidence.link_header_bytes
    rate = 8.0 * (total + evidence.link_header_bytes * packets) / evidence.duration_s
    notes.fitted.append(
        f"{how_many(len(flows), 'flow')} of UDP that is not known to slow down, "
        f"{rate / 1e6:.3g} Mbit/s together"
    )
    notes.unknown.append("whether that UDP answers to losses or pauses: a constant rate is assumed")
    return {
        "unresponsive": {
            "count": 1,
            "path": [LINK],
            "traffic": {"kind": "constant-rate", "rate": f"{rate:.0f} bit/s"},
            "packet_size": f"{round(size)} bytes",
        }
    }


def _common_keys(
    flows: Sequence[FlowEvidence], evidence: Evidence, sender: str, usual: float, *, ecn: bool
) -> dict[str, Any]:
    """Keys common to all groups with senders."""
    packets = sum(each.packets for each in flows)
    headers = evidence.link_header_bytes + (
        sum(each.bytes - each.payload_bytes for each in flows) / packets
    )
    # The size that most bytes travel in, not the mean: the last packet of a transfer is short.
    size = max(each.bytes / each.packets for each in flows if each.packets)
    size += evidence.link_header_bytes
    common: dict[str, Any] = {
        "path": [LINK],
        "rtt": _round_trips([max(_SHORTEST_S, each.base_rtt_s or usual) for each in flows]),
        "sender": {"congestion_control": sender, "ecn": True} if ecn else sender,
        "packet_size": f"{round(size)} bytes",
        "header_size": f"{max(0, min(round(headers), round(size) - 1))} bytes",
    }
    if evidence.ack_bytes is not None:
        answer = max(40.0, evidence.ack_bytes + evidence.link_header_bytes)
        common["ack_size"] = f"{min(round(answer), round(size))} bytes"
    return common


def _round_trips(seconds: list[float]) -> str | list[str]:
    """Round trip of each flow, or a sample that stands for all."""
    if len(seconds) == 1:
        return _seconds(seconds[0])
    if len(seconds) > _MOST_ROUND_TRIPS:
        shares = (np.arange(_MOST_ROUND_TRIPS) + 0.5) / _MOST_ROUND_TRIPS
        seconds = np.quantile(seconds, shares).tolist()
    return [_seconds(each) for each in sorted(seconds)]


def _delay(kinds: _Kinds, usual: float) -> float:
    """Delay of the link: a quarter of the shortest round trip, by convention."""
    trips = [each.base_rtt_s or usual for each in (*kinds.long, *kinds.short)]
    return min([max(_SHORTEST_S, each) for each in trips] or [usual]) / 4.0


def _queue(
    evidence: Evidence, discipline: str | None, notes: _Notes
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The queue, and what of it may be tuned."""
    notes.unknown.append(
        "the link's own delay: a quarter of the shortest round trip is assumed, without "
        "effect on the queue"
    )
    path = f"links.{LINK}.queue"
    if discipline is not None:
        from vermilion.scenario import disciplines

        known = disciplines().get(discipline)
        searched = [] if known is None else [n for n, p in known.parameters.items() if p.search]
        notes.unknown.append(f"how the queue's {discipline} is set: defaults are assumed")
        tuned = {"parameters": [f"{path}.{name}" for name in searched]} if searched else None
        return {"discipline": discipline}, tuned or _limits(path, 100)
    if evidence.longest_wait_s is None:
        notes.unknown.append(
            "anything of the queue: no round trip was seen; 100 packets are assumed"
        )
    return {"discipline": "drop-tail", "limit": "100 packets"}, _limits(path, 100)


def _fit_depth(document: dict[str, Any], evidence: Evidence, rate: float, notes: _Notes) -> None:
    """Fit the depth of the plain queue to the queueing delay of the capture."""
    from vermilion import simulate

    wait_ms = 1e3 * (evidence.mean_wait_s or 0.0)
    size = np.average(
        [each.bytes / each.packets + evidence.link_header_bytes for each in evidence.flows],
        weights=[each.packets for each in evidence.flows],
    )
    longest_s = evidence.longest_wait_s or 0.0
    deepest = min(_DEEPEST, max(8, round(_DEPTH_FACTOR * longest_s * rate / 8.0 / float(size))))
    queue = document["links"][LINK]["queue"]

    def mean_wait_ms(depth: int) -> float:
        queue["limit"] = f"{depth} packets"
        result = simulate.run(scenario_from_document(document, "twin"), seed=_FITTING_SEED)
        sojourn = result.data["links"][LINK]["total"].get("sojourn_ms")  # absent: no packet came
        return 0.0 if sojourn is None else float(sojourn["mean"])

    deep = fitting_depth(wait_ms, deepest, mean_wait_ms)
    queue["limit"] = f"{deep} packets"
    document["tuning"] = _limits(f"links.{LINK}.queue", deep)
    notes.fitted.append(
        f"a plain queue of {how_many(deep, 'packet')} waits {wait_ms:.3g} ms in the mean, as "
        "packets here did above the shortest round trip of their flow"
    )
    notes.unknown.append("the queue's discipline: drop-tail is assumed; say --discipline")


def _limits(path: str, deep: int) -> dict[str, Any]:
    """Search range of a plain queue's depth, around the present one."""
    ends = [f"{max(2, deep // 10)} packets", f"{4 * deep} packets"]
    return {"parameters": [f"{path}.limit"], "space": {f"{path}.limit": ends}}


def _place(evidence: Evidence, notes: _Notes) -> None:
    """Side of the monitor on which the queue is."""
    before, beyond = evidence.wait_before_s, evidence.wait_beyond_s
    resent = sum(each.resent for each in evidence.flows)
    behind = sum(each.lost_behind for each in evidence.flows)
    if before is None or beyond is None or max(before, beyond) < 1e-3:  # noqa: PLR2004 - 1 ms
        notes.unknown.append("where the queue is: hardly any wait was seen")
        return
    where = None
    if before > 2.0 * beyond:
        where = "before the capture, on the senders' side"
    elif beyond > 2.0 * before:
        where = "behind the capture, on the receivers' side"
    if where is None:
        notes.unknown.append(
            f"where the queue is: {1000.0 * before:.3g} ms of wait are before the capture "
            f"and {1000.0 * beyond:.3g} ms behind it; one link stands for both"
        )
        return
    losses = ""
    if resent:
        losses = (
            f"; {100 * (resent - behind) / resent:.0f} % of what was sent again was lost before it"
        )
    notes.fitted.append(
        f"the queue is {where}: waits of {1e3 * before:.3g} ms before, {1e3 * beyond:.3g} ms behind"
        f"{losses}"
    )


def _add_general_notes(evidence: Evidence, sender: str, notes: _Notes) -> None:
    notes.unknown.append(
        f"the senders' congestion control, which no header shows: {sender} is assumed"
    )
    if evidence.contradictions:
        notes.unknown.append(
            f"the direction of {how_many(evidence.contradictions, 'flow')}, whose hosts seem to be "
            "on both sides"
        )
    if evidence.other_way_share > 0.2:  # noqa: PLR2004 - more than acknowledgements
        notes.unknown.append(
            f"{100 * evidence.other_way_share:.0f} % of the bytes go the other way; its "
            "queue is left out"
        )
    if evidence.merged_share > _MERGED_SHARE:
        notes.unknown.append(
            f"packets as on the link: {100 * evidence.merged_share:.0f} % of the captured "
            "ones are several merged"
        )
    if evidence.flows_left_out:
        notes.unknown.append(f"{evidence.flows_left_out} of the smallest flows: left out")


def _seconds(value: float) -> str:
    return f"{1e3 * value:.6g} ms" if value < 1.0 else f"{value:.6g} s"


def _range(first: float, last: float) -> str:
    """A moment, or a range of them; what is shorter than a moment's phase is one moment."""
    if last - first < _MOMENT_S:
        return f"{max(0.0, first):.6g} s"
    return f"{max(0.0, first):.6g} s .. {last:.6g} s"
