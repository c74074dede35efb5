"""Types of a result's data, key by key.

They mirror ``crates/netsim/src/results.rs`` and the files it names; docs/metrics.md says what each
number means. A key that is not required is absent where its number cannot be computed, or where
it was not asked for.
"""

from typing import Final, NotRequired

from typing_extensions import TypedDict


class Stretch(TypedDict):
    """The time that a window covers, in seconds."""

    start_s: float
    end_s: float


class Summary(TypedDict):
    """A distribution in seven numbers."""

    mean: float
    sd: float
    p5: float
    p50: float
    p95: float
    p99: float
    max: float


class Quantiles(TypedDict):
    """A distribution as its quantiles, for each of the percents the value there."""

    percent: list[float]
    value: list[float]


class LinkMetrics(Stretch):
    """A link over a window."""

    utilization: NotRequired[float]
    packets_forwarded: int
    arrivals: int
    drops: int
    overflow_drops: NotRequired[int]
    forced_drops: NotRequired[int]
    marks: int
    losses: int
    drop_rate: NotRequired[float]
    mark_rate: NotRequired[float]
    loss_rate: NotRequired[float]
    queued_at_start: int
    queued_at_end: int
    queue_packets: NotRequired[Summary]
    queue_bytes: NotRequired[Summary]
    average_queue_packets: NotRequired[Summary]
    sojourn_ms: NotRequired[Summary]
    sojourn_distribution_ms: NotRequired[Quantiles]


class Ledger(TypedDict):
    """The books of a link over the whole run, from 0 s."""

    arrivals: int
    forwarded: int
    drops: int
    marks: int
    losses: int
    queued: int
    backlog_packet_s: float
    sojourn_packet_s: float


class LinkData(TypedDict):
    """Everything measured of a link."""

    total: LinkMetrics
    phases: list[LinkMetrics]
    ledger: Ledger


class Goodput(TypedDict):
    """Goodput of flows, bit/s; of flows that come and go the total alone."""

    total: float
    mean: NotRequired[float]
    sd: NotRequired[float]
    min: NotRequired[float]
    max: NotRequired[float]


class PacketDelay(TypedDict):
    """Delay of packets; percentiles are those of one group, several together have none."""

    mean: float
    sd: float
    p5: NotRequired[float]
    p50: NotRequired[float]
    p95: NotRequired[float]
    p99: NotRequired[float]
    max: float


class CompletionTimes(PacketDelay):
    """Completion times of transfers, likewise."""

    count: int
    min: float


class VideoMetrics(TypedDict):
    """Videos of a group over a window."""

    segments: int
    mean_rate_bit_per_s: NotRequired[float]
    stalls: int
    stalled_s: float


class LossRuns(TypedDict):
    """Packets of one flow that were lost one after the other."""

    count: int
    mean: float
    max: int


class FlowMetrics(TypedDict):
    """One flow over a window."""

    goodput_bit_per_s: float
    timeouts: int
    retransmissions: int
    completion_time_s: NotRequired[float]


class GroupMetrics(Stretch):
    """A group of flows over a window."""

    flows: int
    goodput_bit_per_s: NotRequired[Goodput]
    jain_index: NotRequired[float]
    goodput_cov: NotRequired[float]
    starved: NotRequired[int]
    timeouts: int
    retransmissions: int
    # Where flows have an end of their own.
    transfers_begun: NotRequired[int]
    completed: NotRequired[int]
    transfers_refused: NotRequired[int]
    completion_time_s: NotRequired[CompletionTimes]
    video: NotRequired[VideoMetrics]
    # Where flow_delays were asked for: WITH_FLOW_DELAYS.
    packets_sent: NotRequired[int]
    packets_delivered: NotRequired[int]
    packets_lost: NotRequired[int]
    packet_loss_rate: NotRequired[float]
    losses_in_a_row: NotRequired[LossRuns]
    delay_ms: NotRequired[PacketDelay]
    jitter_ms: NotRequired[float]
    jitter_pairs: NotRequired[int]
    # Of a single run, where flows do not come and go.
    each: NotRequired[list[FlowMetrics]]


WITH_FLOW_DELAYS: Final = frozenset(
    {
        "packets_sent", "packets_delivered", "packets_lost", "packet_loss_rate", "losses_in_a_row",
        "delay_ms", "jitter_ms", "jitter_pairs",
    }
)  # fmt: skip
"""The metrics of groups of flows that a run has only where it is asked for ``flow_delays``."""


class GroupData(TypedDict):
    """Everything measured of a group of flows."""

    total: GroupMetrics
    phases: list[GroupMetrics]


class Timing(TypedDict, total=False):
    """Time that a single run took, its simulation alone; runs of many have none.

    Where Ctrl-C has ended it early, ``interrupted_at_s`` is how much it has simulated.
    """

    wall_s: float
    cpu_s: float
    interrupted_at_s: float


class Measured(TypedDict):
    """Everything measured in a run."""

    packets_forwarded: int
    events: NotRequired[int]
    links: dict[str, LinkData]
    flows: dict[str, GroupData]


class ResultData(Timing, Measured):
    """Everything measured in a run, and which run it was."""

    seed: int
    version: str
