"""The objects of VERMILION-QUEUE-MIB and those of DIFFSERV-MIB (RFC 3289) that are served.

``VERMILION-QUEUE-MIB.txt`` beside this file says the same for other tools; a test holds the two
together. It stands below net-snmp's playpen (``netSnmpPlaypen``), because nobody has registered a
number for Vermilion yet: :data:`TOP` is the only place that would change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vermilion.agentx.protocol import ValueType
from vermilion.routers.base import PushPrice
from vermilion.routers.linux.pie_family import BUILT_IN
from vermilion.routers.snmp.scale import (
    COUNT,
    LOG_OF_WEIGHT,
    MICROSECONDS,
    MICROSECONDS_OR_OFF,
    PER_THOUSAND,
    PERCENTS,
    PROBABILITY,
    SHIFT,
    SIXTEENTHS,
    TRUTH,
    WEIGHT,
    Scale,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.agentx.object_identifier import ObjectIdentifier
    from vermilion.routers.base import ParameterValue

TOP: Final[ObjectIdentifier] = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 2002)
"""Of VERMILION-QUEUE-MIB."""

OBJECTS: Final[ObjectIdentifier] = (*TOP, 1)
DIFFSERV: Final[ObjectIdentifier] = (1, 3, 6, 1, 2, 1, 97)
DATA_PATH: Final[ObjectIdentifier] = (*DIFFSERV, 1, 1, 1, 1)
ALGORITHMIC_DROP: Final[ObjectIdentifier] = (*DIFFSERV, 1, 6, 2, 1)
RANDOM_DROP: Final[ObjectIdentifier] = (*DIFFSERV, 1, 6, 4, 1)
QUEUE_ELEMENT: Final[ObjectIdentifier] = (*DIFFSERV, 1, 7, 2, 1)
NEXT_FREE: Final[tuple[ObjectIdentifier, ...]] = (
    (*DIFFSERV, 1, 6, 1),
    (*DIFFSERV, 1, 6, 3),
    (*DIFFSERV, 1, 7, 1),
)
"""Scalars that say which new row may be made: none."""

LONGEST_TEXT: Final = 255
"""Octets of a DisplayString (RFC 2579)."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A column of the table of all queues.

    Attributes:
        number: of the column.
        name: in the MIB file.
        type: of its values.
    """

    number: int
    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Setting:
    """A column that is a parameter of a queue.

    Attributes:
        number: of the column.
        name: in the MIB file.
        parameter: of Vermilion's discipline.
        scale: how it is said.
        writable: whether it can be set, where the kind of queue has it.
    """

    number: int
    name: str
    parameter: str
    scale: Scale
    writable: bool = True


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """The parameters of queues of some kinds; a row for each queue.

    Attributes:
        number: of the table.
        name: of the table in the MIB file.
        kinds: the kernel's words.
        settings: its columns.
    """

    number: int
    name: str
    kinds: tuple[str, ...]
    settings: tuple[Setting, ...]

    @property
    def entry(self) -> ObjectIdentifier:
        """What the names of its objects begin with."""
        return (*OBJECTS, self.number, 1)


QUEUE_ENTRY: Final[ObjectIdentifier] = (*OBJECTS, 1, 1)
"""Of the table of all queues. All tables are indexed by ``ifIndex`` and the class that the queue is
below, as one number (4294967295 at the root)."""

INTERFACE: Final = Fact(2, "vermilionQueueInterface", ValueType.OCTET_STRING)
KIND: Final = Fact(3, "vermilionQueueKind", ValueType.OCTET_STRING)
DISCIPLINE: Final = Fact(4, "vermilionQueueDiscipline", ValueType.OCTET_STRING)
CHANGEABLE: Final = Fact(5, "vermilionQueueChangeable", ValueType.INTEGER)
BACKLOG_PACKETS: Final = Fact(6, "vermilionQueueBacklogPackets", ValueType.GAUGE32)
BACKLOG_BYTES: Final = Fact(7, "vermilionQueueBacklogBytes", ValueType.GAUGE32)
FORWARDED_PACKETS: Final = Fact(8, "vermilionQueueForwardedPackets", ValueType.COUNTER64)
FORWARDED_BYTES: Final = Fact(9, "vermilionQueueForwardedBytes", ValueType.COUNTER64)
DROPS: Final = Fact(10, "vermilionQueueDrops", ValueType.COUNTER64)
MARKS: Final = Fact(11, "vermilionQueueMarks", ValueType.COUNTER64)
MEASURED_AT: Final = Fact(12, "vermilionQueueMeasuredAt", ValueType.COUNTER64)
DIFFSERV_ID: Final = Fact(13, "vermilionQueueDiffServId", ValueType.GAUGE32)
CHANGES: Final = Fact(14, "vermilionQueueChanges", ValueType.COUNTER32)
LAST_REFUSAL: Final = Fact(15, "vermilionQueueLastRefusal", ValueType.OCTET_STRING)
FLOWS: Final = Fact(16, "vermilionQueueFlows", ValueType.GAUGE32)
ROUND_TRIP_MEAN: Final = Fact(17, "vermilionQueueRoundTripMean", ValueType.GAUGE32)
ROUND_TRIP_LEAST: Final = Fact(18, "vermilionQueueRoundTripLeast", ValueType.GAUGE32)
TRAFFIC_KNOWN: Final = Fact(19, "vermilionQueueTrafficKnown", ValueType.INTEGER)

FACTS: Final = (
    INTERFACE,
    KIND,
    DISCIPLINE,
    CHANGEABLE,
    BACKLOG_PACKETS,
    BACKLOG_BYTES,
    FORWARDED_PACKETS,
    FORWARDED_BYTES,
    DROPS,
    MARKS,
    MEASURED_AT,
    DIFFSERV_ID,
    CHANGES,
    LAST_REFUSAL,
    FLOWS,
    ROUND_TRIP_MEAN,
    ROUND_TRIP_LEAST,
    TRAFFIC_KNOWN,
)

TABLES: Final = (
    SettingsTable(
        2,
        "vermilionRedTable",
        ("red",),
        (
            Setting(1, "vermilionRedLimit", "limit", COUNT),
            Setting(2, "vermilionRedMinThreshold", "min_threshold", COUNT),
            Setting(3, "vermilionRedMaxThreshold", "max_threshold", COUNT),
            Setting(4, "vermilionRedMaxProbability", "max_probability", PROBABILITY),
            Setting(5, "vermilionRedWeightLog", "weight_log", SHIFT),
            Setting(6, "vermilionRedEcn", "ecn", TRUTH),
            Setting(7, "vermilionRedDropAboveMaximum", "drop_above_maximum", TRUTH),
            Setting(8, "vermilionRedNoDrop", "no_drop", TRUTH),
            Setting(9, "vermilionRedAdaptive", "adaptive", TRUTH),
            Setting(10, "vermilionRedShaped", "shaped", TRUTH, writable=False),
        ),
    ),
    SettingsTable(
        3,
        "vermilionPieTable",
        ("pie", "fq_pie"),
        (
            Setting(1, "vermilionPieLimit", "limit", COUNT),
            Setting(2, "vermilionPieTarget", "target", MICROSECONDS),
            Setting(3, "vermilionPieInterval", "interval", MICROSECONDS),
            Setting(4, "vermilionPieAlpha", "alpha", SIXTEENTHS),
            Setting(5, "vermilionPieBeta", "beta", SIXTEENTHS),
            Setting(6, "vermilionPieEcn", "ecn", TRUTH),
            Setting(7, "vermilionPieByteMode", "byte_mode", TRUTH),
            Setting(8, "vermilionPieEstimateRate", "estimate_rate", TRUTH),
            Setting(9, "vermilionPieMarkProbability", "mark_probability", PERCENTS),
            Setting(10, "vermilionPieQuantum", "quantum", COUNT),
            Setting(11, "vermilionPieFlows", "flows", COUNT, writable=False),
            Setting(
                12, "vermilionPieMaximumPacketSize", "maximum_packet_size", COUNT, writable=False
            ),
        ),
    ),
    SettingsTable(
        4,
        "vermilionCodelTable",
        ("codel", "fq_codel"),
        (
            Setting(1, "vermilionCodelLimit", "limit", COUNT),
            Setting(2, "vermilionCodelTarget", "target", MICROSECONDS),
            Setting(3, "vermilionCodelInterval", "interval", MICROSECONDS),
            Setting(4, "vermilionCodelCeThreshold", "ce_threshold", MICROSECONDS_OR_OFF),
            Setting(5, "vermilionCodelEcn", "ecn", TRUTH),
            Setting(6, "vermilionCodelQuantum", "quantum", COUNT),
            Setting(7, "vermilionCodelMemoryLimit", "memory_limit", COUNT),
            Setting(8, "vermilionCodelDropBatch", "drop_batch", COUNT),
            Setting(9, "vermilionCodelFlows", "flows", COUNT, writable=False),
            Setting(
                10, "vermilionCodelMaximumPacketSize", "maximum_packet_size", COUNT, writable=False
            ),
        ),
    ),
    SettingsTable(
        5,
        "vermilionFifoTable",
        ("pfifo", "bfifo", "pfifo_head_drop"),
        (
            Setting(1, "vermilionFifoLimit", "limit", COUNT),
            Setting(2, "vermilionFifoLimitBytes", "limit_bytes", COUNT),
        ),
    ),
    SettingsTable(
        6,
        "vermilionChokeTable",
        ("choke",),
        (
            Setting(1, "vermilionChokeLimit", "limit", COUNT),
            Setting(2, "vermilionChokeMinThreshold", "min_threshold", COUNT),
            Setting(3, "vermilionChokeMaxThreshold", "max_threshold", COUNT),
            Setting(4, "vermilionChokeMaxProbability", "max_probability", PROBABILITY),
            Setting(5, "vermilionChokeWeightLog", "weight", LOG_OF_WEIGHT),
            Setting(6, "vermilionChokeEcn", "ecn", TRUTH),
            Setting(7, "vermilionChokeDropAboveMaximum", "drop_above_maximum", TRUTH),
            Setting(8, "vermilionChokeCandidates", "candidates", COUNT, writable=False),
        ),
    ),
)

TABLE_OF: Final[Mapping[str, SettingsTable]] = {
    kind: table for table in TABLES for kind in table.kinds
}
"""By kind of queue."""

BUILT_INTO: Final[Mapping[str, Mapping[str, ParameterValue]]] = {
    "red": {"burst": None},
    "pie": BUILT_IN,
    "fq_pie": BUILT_IN,
    "codel": {"dialect": "linux"},
    "fq_codel": {"dialect": "linux"},
    "choke": {},
    "pfifo": {"drop": "tail"},
    "bfifo": {"drop": "tail"},
    "pfifo_head_drop": {"drop": "head"},
}
"""Parameters that are the same of all queues of a kind, so that no object says them."""

PRICE_OF: Final[Mapping[str, PushPrice]] = {
    "red": PushPrice(flushes_queue=True, forgets_average=True),
    "choke": PushPrice(flushes_queue=False, forgets_average=True),
}
"""What a change costs, for the kinds where it costs anything (net/sched/sch_red.c, sch_choke.c)."""

THRESHOLD: Final = Setting(5, "diffServAlgDropQThreshold", "limit", COUNT)
"""Of an algorithmic dropper."""

RANDOM_DROP_SETTINGS: Final = (
    Setting(2, "diffServRandomDropMinThreshBytes", "min_threshold", COUNT),
    Setting(4, "diffServRandomDropMaxThreshBytes", "max_threshold", COUNT),
    Setting(6, "diffServRandomDropProbMax", "max_probability", PER_THOUSAND),
    Setting(7, "diffServRandomDropWeight", "weight_log", WEIGHT),
)
"""Of a random dropper. The kernel has no thresholds in packets, so that no object says any."""
