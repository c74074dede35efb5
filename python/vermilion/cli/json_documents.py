"""The documents of ``--json``, command by command: the types behind docs/schemas.

A key that is not required is absent where its number cannot be computed. ``None`` among parameters
means "automatic".
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict

import vermilion.advise.document  # noqa: F401 - says what an Advice has
from vermilion.advise.advice import Advice
from vermilion.files.document import json_type
from vermilion.simulate.result_data import LinkData, ResultData, Stretch
from vermilion.tuning.front import Front
from vermilion.tuning.recommendation import Recommendation
from vermilion.tuning.robust_recommendation import RobustRecommendation

Parameters = dict[str, float | bool | str | None]
"""Parameters of a queue or paths of a scenario, and their values."""


class ReplicatedEstimate(TypedDict):
    """The same where the number of seeds is called replications."""

    mean: float
    low: NotRequired[float]
    high: NotRequired[float]
    replications: int


# --- vermilion disciplines, senders, objectives, scenarios


class ParameterDocument(TypedDict):
    """A parameter of a discipline or sender."""

    name: str
    kind: str
    unit: str
    default: float | bool | str | None
    minimum: float | None
    maximum: float | None
    minimum_excluded: bool
    integer: bool
    scale: str
    search: list[float] | None
    choices: list[str] | None
    only_with: list[str] | None
    meaning: str
    source: str


class AlgorithmDocument(TypedDict):
    """A queue discipline or a sender."""

    name: str
    title: str
    summary: str
    source: str
    parameters: list[ParameterDocument]
    ordered: list[list[str]]
    option_sets: dict[str, dict[str, float | bool | str | None]]


class ObjectiveDocument(TypedDict):
    """An objective."""

    name: str
    summary: str
    goal: str
    unit: str
    noticeable: float | None
    noticeable_share: float | None
    required: list[str]
    fields: dict[str, str]


class ScenarioDocument(TypedDict):
    """A shipped scenario."""

    name: str
    title: str
    description: str


# --- vermilion link


class InterfaceCounters(TypedDict):
    """Packets of the emulator's network interface."""

    received: int
    sent: int
    dropped: int


class EmulatorCounters(TypedDict):
    """Packets of one direction of the emulated link."""

    delivered: int
    delivered_bytes: int
    refused: int
    no_room: int
    too_long: int
    unusable: int
    changes_refused: int
    on_the_wire: int
    interface_removed: bool
    interface: NotRequired[InterfaceCounters | None]


class EmulatedLinkData(LinkData):
    """Everything measured of one direction."""

    emulator: EmulatorCounters


class LinkDocument(TypedDict):
    """A command behind an emulated link."""

    seed: int
    version: str
    wall_s: float
    cpu_s: float
    packets_forwarded: int
    links: dict[str, EmulatedLinkData]
    flows: dict[str, Any]
    exit_code: int
    notes_thrown_away: NotRequired[int]
    interrupted: NotRequired[bool]


# --- vermilion compare


class ComparedEntry(TypedDict):
    """A link or a group of flows under a variant."""

    total: dict[str, Any]
    phases: list[dict[str, Any]]


class VariantDocument(TypedDict):
    """A variant of a comparison."""

    name: str
    same_for_all_seeds: bool
    links: dict[str, ComparedEntry]
    flows: dict[str, ComparedEntry]
    bulk_flows: NotRequired[ComparedEntry]


class CompareDocument(TypedDict):
    """Variants over the same seeds."""

    seeds: list[int]
    version: str
    variants: list[VariantDocument]
    notes: list[str]


# --- vermilion studies


class StudyDocument(TypedDict):
    """A tuning that is kept in a file."""

    file: str
    study: str
    kind: str
    scenario: NotRequired[str]
    scenarios: NotRequired[list[str]]
    objective: str
    parameters: list[str]
    search: NotRequired[str]
    version: str
    begun: str
    changed: str
    state: str
    budget: int
    evaluations: int
    simulations: int
    best_so_far: NotRequired[float]


# --- vermilion online


class DecisionDocument(TypedDict):
    """A decision of the controller; docs/decisions.md lists kinds and details."""

    time_s: float
    kind: str
    reason: str
    details: dict[str, Any]


class SettingDocument(TypedDict):
    """A setting from a moment on."""

    time_s: float
    parameters: Parameters


class PricedMetric(ReplicatedEstimate):
    """A metric under a setting, and its difference from the queue left alone."""

    difference: NotRequired[ReplicatedEstimate]
    significant: NotRequired[bool]


class PricedDelays(TypedDict):
    """Percentiles of the queueing delay, ms."""

    p5: float
    p95: float


class PricedSetting(TypedDict):
    """A setting over a phase."""

    name: str
    waits_ms: NotRequired[PricedDelays]
    metrics: dict[str, PricedMetric]


class PricedPhase(Stretch):
    """The price of tuning over a phase."""

    traffic: str
    summary: NotRequired[str]
    settings: list[PricedSetting]


class PriceDocument(TypedDict):
    """The price of tuning over the phases of a scenario."""

    scenario: str
    link: str
    phases: list[PricedPhase]


class OnlineRunDocument(TypedDict):
    """A simulated network with the controller and without."""

    scenario: str
    seed: int
    link: str
    links: NotRequired[list[str]]
    target_packets: float | None
    objective: str
    parameters: list[str]
    decisions: list[DecisionDocument]
    settings: list[SettingDocument]
    tuned: ResultData
    untouched: ResultData


class OnlineDocument(TypedDict):
    """Simulated networks: ``online SCENARIO``."""

    version: str
    runs: list[OnlineRunDocument]
    price: list[PriceDocument]


class FoundSetting(TypedDict):
    """The setting before the first change, and the command that restores it."""

    parameters: Parameters
    command: str | None


class OnlineRouterDocument(TypedDict):
    """A real queue: ``online --router``."""

    version: str
    router: str
    discipline: str
    link: str
    paths: list[list[str]]
    mode: str
    at_exit: str
    objective: str
    target_packets: float | None
    parameters: list[str]
    found: FoundSetting
    decisions: list[DecisionDocument]
    settings: list[SettingDocument]
    missed_observations: int
    unwritten_entries: int


# --- vermilion status, undo, routers


class StatusDocument(TypedDict):
    """A queue of a journal; moments are ISO 8601."""

    journal: str
    router: str
    kind: str
    link: str
    discipline: str
    mode: str | None
    run: int
    version: str
    simulated: bool
    since: str | None
    state: str
    doing: str | None
    last_look: str | None
    next_look: str | None
    setting: dict[str, Any]
    setting_since: str | None
    last_decision: str | None
    last_reason: str | None
    last_decided: str | None
    changes_last_minute: int
    changes_per_minute: int | None
    next_change: str | None


class UndoDocument(TypedDict):
    """A queue as it was before a controller's first change, and as it was last read back."""

    title: str
    router: str
    link: str
    discipline: str
    network: str | None
    since: str
    changed: bool
    original: dict[str, Any]
    in_force: dict[str, Any]
    set_by_others: dict[str, Any]
    command: str
    commands: dict[str, str]


class QueueDocument(TypedDict):
    """A queue of an interface."""

    router: str
    kind: str
    handle: str
    parent: str
    can_be_controlled: bool
    why_not: NotRequired[str]
    discipline: NotRequired[str]
    settable: NotRequired[list[str]]
    parameters: NotRequired[Parameters]
    settings: NotRequired[str]
    options: dict[str, Any]
    statistics: dict[str, Any]


class InterfaceDocument(TypedDict):
    """A network interface and its queues."""

    name: str
    up: bool
    mtu: NotRequired[int]
    queues: list[QueueDocument]


class RoutersDocument(TypedDict):
    """The queues of this machine."""

    version: str
    interfaces: list[InterfaceDocument]


# --- vermilion monitor, twin


class MonitorDocument(TypedDict):
    """A capture, or an interface that was listened to; docs/monitor.md tells the keys."""

    interface: NotRequired[str]
    listening: NotRequired[dict[str, Any]]
    first_ns: NotRequired[int | None]
    last_ns: NotRequired[int | None]
    duration_s: NotRequired[float | None]
    packets: int
    wire_bytes: int
    cut: int
    time_backwards: int
    without_time: int
    traffic: dict[str, dict[str, int]]
    unresponsive_share: NotRequired[float | None]
    undecoded: dict[str, int]
    fragments: int
    ecn: dict[str, int]
    ece: int
    cwr: int
    sizes: NotRequired[dict[str, Any] | None]
    merged: dict[str, int]
    segments: int
    order: dict[str, int]
    acknowledged_unseen: int
    round_trips_ms: dict[str, Any]
    not_timed: dict[str, int]
    not_whole: dict[str, int]
    flows_seen: int
    openings: int
    ended: dict[str, int]
    not_tracked: dict[str, int]
    flows: list[dict[str, Any]]
    flows_left_out: int


class ComparedFigureDocument(TypedDict):
    """A figure of a capture and of its twin."""

    name: str
    unit: str
    capture: float | None
    twin: float | None
    twin_low: float | None
    twin_high: float | None


class TwinDocument(TypedDict):
    """A scenario made from a capture."""

    version: str
    link_rate_bit_per_s: float
    fitted: list[str]
    unknown: list[str]
    comparison: list[ComparedFigureDocument]
    scenario: str


DOCUMENTS: dict[str, Any] = {
    "advise": json_type(Advice),
    "compare": CompareDocument,
    "disciplines": list[AlgorithmDocument] | AlgorithmDocument,
    "link": LinkDocument,
    "monitor": MonitorDocument,
    "objectives": list[ObjectiveDocument] | ObjectiveDocument,
    "online": OnlineDocument | OnlineRouterDocument,
    "routers": RoutersDocument,
    "run": ResultData,
    "scenarios": list[ScenarioDocument],
    "senders": list[AlgorithmDocument] | AlgorithmDocument,
    "status": list[StatusDocument],
    "studies": list[StudyDocument],
    "tune": json_type(Recommendation | RobustRecommendation | Front),
    "twin": TwinDocument,
    "undo": list[UndoDocument],
}
"""The type of each command's document."""
