"""The documents of ``--json``, command by command: the types behind docs/schemas.

Most follow from the classes of the results (:mod:`vermilion.files.document`). What the core writes
and what a comparison computes metric by metric has its type here.
"""

from typing import Any, NotRequired

from typing_extensions import TypedDict

import vermilion.advise.document  # noqa: F401 - says what an Advice has
from vermilion.advise.advice import Advice
from vermilion.cli.autorate import AutorateDocument
from vermilion.cli.online_json import OnlineDocument
from vermilion.cli.online_router import OnlineRouterDocument
from vermilion.cli.routers import Routers
from vermilion.cli.twin import TwinDocument
from vermilion.cli.undo import Undo
from vermilion.files.document_types import json_type
from vermilion.scenario.algorithms import Algorithm
from vermilion.scenario.library import ScenarioSummary
from vermilion.simulate.result_data import LinkData, ResultData
from vermilion.status import QueueStatus
from vermilion.tuning import StudyRecord
from vermilion.tuning.front import Front
from vermilion.tuning.recommendation import Recommendation
from vermilion.tuning.robust_recommendation import RobustRecommendation


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


class ComparedEntry(TypedDict):
    """A link or a group of flows under a variant."""

    total: dict[str, Any]
    phases: list[dict[str, Any]]


class VariantDocument(TypedDict):
    """A variant of a comparison."""

    name: str
    same_for_all_seeds: bool
    scenario: NotRequired[dict[str, Any]]
    links: dict[str, ComparedEntry]
    flows: dict[str, ComparedEntry]
    bulk_flows: NotRequired[ComparedEntry]


class PluginDocument(TypedDict):
    """A plug-in that was loaded: where it was, and all of it."""

    file: str
    sha256: str
    source: str


class CompareDocument(TypedDict):
    """Variants over the same seeds."""

    seeds: list[int]
    version: str
    variants: list[VariantDocument]
    notes: list[str]
    origin: str
    command: str
    plugins: list[PluginDocument]
    flow_delays: bool


class CompareSeveralDocument(TypedDict):
    """Comparisons of several scenarios."""

    comparisons: list[CompareDocument]


class TaskDocument(TypedDict):
    """A task of an assignment."""

    task: str
    value: NotRequired[float]
    bound: str
    points: int
    of: int


class CheckDocument(TypedDict):
    """A submission that was graded."""

    assignment: str
    points: int
    of: int
    tasks: list[TaskDocument]


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


DOCUMENTS: dict[str, Any] = {
    command: json_type(kind)
    for command, kind in {
        "advise": Advice,
        "autorate": AutorateDocument,
        "check": CheckDocument,
        "compare": CompareDocument | CompareSeveralDocument,
        "control": OnlineRouterDocument,
        "disciplines": list[Algorithm] | Algorithm,
        "link": LinkDocument,
        "monitor": MonitorDocument,
        "objectives": list[ObjectiveDocument] | ObjectiveDocument,
        "online": OnlineDocument | OnlineRouterDocument,
        "routers": Routers,
        "run": ResultData,
        "scenarios": list[ScenarioSummary],
        "senders": list[Algorithm] | Algorithm,
        "status": list[QueueStatus],
        "studies": list[StudyRecord],
        "tune": Recommendation | RobustRecommendation | Front,
        "twin": TwinDocument,
        "undo": list[Undo],
    }.items()
}
"""The type of each command's document."""


def read_json(command: str, text: str) -> Any:  # noqa: ANN401 - the command says which document
    """Read what a command has written with ``--json``.

    Raises:
        KeyError: there is no such command.
        pydantic.ValidationError: the text is no such document.
    """
    from pydantic import TypeAdapter

    return TypeAdapter(DOCUMENTS[command]).validate_json(text, strict=True)
