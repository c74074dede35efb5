"""The simulator's core, written in Rust. Everything here speaks JSON in SI units."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DROP_REASONS",
    "OPTIMISED",
    "PACKET_EVENTS",
    "RANDOM_STREAMS",
    "VERSION",
    "Acknowledgement",
    "CaptureError",
    "CaptureMonitor",
    "Coin",
    "InterfaceMonitor",
    "Kept",
    "Link",
    "NamedVerdict",
    "Packet",
    "ParameterError",
    "PassingPacket",
    "Queue",
    "RateKeeper",
    "RateLaw",
    "Reduction",
    "Sent",
    "Simulation",
    "Window",
    "capture_head",
    "capture_packets",
    "check",
    "check_fabric",
    "common_sender_parameters",
    "disciplines",
    "predicates",
    "rate_based_senders",
    "rate_laws",
    "register_discipline",
    "register_library",
    "register_predicate",
    "register_sender",
    "run",
    "run_fabrics",
    "run_many",
    "schedulers",
    "senders",
    "unregister_discipline",
    "unregister_predicate",
    "unregister_sender",
]

VERSION: str
"""Version of the core; that of the package."""

OPTIMISED: bool
"""False for a core built without optimisation, which is many times slower."""

PACKET_EVENTS: list[str]
"""What can happen to a packet, in the order of the numbers in columns."""

DROP_REASONS: list[str]
"""Why a packet can be dropped, likewise; the first is that it is not."""

RANDOM_STREAMS: str
"""Name and version of the random number generator and of how streams derive from a seed."""

class CaptureError(ValueError):
    """A capture that cannot be read; ``args`` are the message and whether it merely ends early."""

@final
class CaptureMonitor:
    """A passive monitor that is fed a capture file.

    It follows ``flows`` flows at once and keeps the ``kept_flows`` largest. What is larger than
    ``largest_packet`` bytes is taken for several packets. With ``stretch_ns`` it adds up what each
    end of each flow sends in every stretch of so many nanoseconds.

    Raises:
        ParameterError: A number that cannot be used.
    """

    def __new__(
        cls,
        flows: int = 65_536,
        largest_packet: int = 1500,
        kept_flows: int = 1000,
        round_trips: bool = False,
        stretch_ns: int = 0,
    ) -> CaptureMonitor: ...
    def feed(self, data: bytes) -> None:
        """Take the next bytes of the file; Python's lock is released meanwhile.

        Raises:
            CaptureError: What is wrong with them.
        """

    def finish(self, cut_short: bool = False) -> None:
        """End the file and every flow.

        Raises:
            CaptureError: That the file ends too early, unless ``cut_short`` allows it.
        """

    def summary(self) -> str:
        """Return what was seen, as a JSON object."""

    def take_round_trips(self) -> dict[str, NDArray[np.int64] | NDArray[np.bool_]]:
        """Return the round trips taken since the last call, if they were asked for.

        ``time_ns`` is when each ended, ``flow`` the number of its flow, ``whole`` whether it is one
        from end to end, ``from_initiator`` whether the data that was timed came from the initiator.
        """

    def take_volumes(
        self, with_unfinished: bool = False
    ) -> dict[str, NDArray[np.int64] | NDArray[np.bool_]]:
        """Return what each end of each flow sent in the stretches that are over, or in all.

        ``stretch`` is the number of the stretch since 1970, ``from_initiator`` whether the flow's
        initiator sent these ``packets`` and ``bytes`` of ``flow``.
        """

@final
class InterfaceMonitor:
    """A passive monitor that is fed the blocks of a packet socket's ring (TPACKET_V3).

    With ``shared_numbers`` the number of a flow follows from its addresses, its ports and the
    ``seed``, so that monitors at several places give it the same one.

    ``entrances`` are the numbers of interfaces through which packets come that go on into the
    queue. With a second sight of them, round trips are told without their senders' own wait for a
    turn.

    Raises:
        ParameterError: A number that cannot be used.
    """

    def __new__(
        cls,
        flows: int = 65_536,
        largest_packet: int = 1500,
        kept_flows: int = 1000,
        seed: int = 0,
        shared_numbers: bool = False,
        entrances: Sequence[int] = ...,
    ) -> InterfaceMonitor: ...
    def feed(self, block: bytes) -> None:
        """Take a block; Python's lock is released meanwhile.

        Raises:
            CaptureError: What is wrong with it; packets before that have been taken in.
        """

    def feed_sightings(self, leaving: bytes, arriving: bytes) -> None:
        """Take notes of packets of a :class:`Link`: those that leave, and those that come in."""

    def advance(self, time_ns: int) -> None:
        """Let time go on without packets: flows that were silent for too long are forgotten."""

    def active_flows(self, since_ns: int) -> int:
        """Count the flows that have sent data through the exit since then and have not closed."""

    def take_round_trips(self) -> dict[str, NDArray[np.int64]]:
        """Return ``flow`` and ``round_trip_ns`` of the whole round trips of data that left."""

    def take_volumes(self) -> dict[str, NDArray[np.int64] | NDArray[np.bool_]]:
        """Return what each flow has sent through the exit since the last call.

        ``data`` is whether it sends data, and not only acknowledgements; ``responsive`` whether its
        sender is known to slow down or may do so; ``selective`` whether its receiver has been seen
        to acknowledge selectively, or both ends to agree to that; ``ecn_capable`` whether any of
        its packets was ECN-capable.
        """

    def finish(self) -> None:
        """End every flow."""

    def summary(self) -> str:
        """Return what was seen, as a JSON object."""

class ParameterError(ValueError):
    """A value that cannot be used; ``args`` are the field, the value, and what is accepted."""

@final
class Packet:
    """The packet that a discipline in Python decides over; one object shows one after the other."""

    @property
    def arrived(self) -> int:
        """When it arrived, in nanoseconds."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def flow(self) -> int:
        """A number that packets of one flow and direction have in common."""

    @property
    def ecn_capable(self) -> bool:
        """Whether it may be marked."""

    @property
    def ecn(self) -> int:
        """Its ECN codepoint: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."""

    @property
    def colour(self) -> int:
        """Its drop precedence: 0 green, 1 yellow, 2 red."""

    @property
    def dscp(self) -> int:
        """Its codepoint, 0 to 63; for a Scheduler, or a Discipline with ``headers``."""

    @property
    def header(self) -> tuple[float, float, float, float] | None:
        """The header of a packet whose sender and queue have ``headers``; may be set."""

    @header.setter
    def header(self, numbers: Sequence[float]) -> None: ...

@final
class NamedVerdict:
    """A drop with words for its cause; see ``vermilion.Verdict.because``."""

    def __new__(cls, verdict: str, cause: str) -> NamedVerdict: ...
    @property
    def cause(self) -> str:
        """The words."""

@final
class PassingPacket:
    """A packet on its way to the queue of a link, of which a condition is asked."""

    def __new__(
        cls,
        *,
        now: int = 0,
        group: str = "flows",
        flow: int = 0,
        number: int = 1,
        segment: int | None = None,
        acknowledgement: bool = False,
        retransmission: bool = False,
        size: int = 1000,
        ecn: int = 0,
    ) -> PassingPacket:
        """One for tests of a condition."""

    @property
    def now(self) -> int:
        """The instant at which it arrives, in nanoseconds."""

    @property
    def group(self) -> str:
        """Name of its flow's group."""

    @property
    def flow(self) -> int:
        """Its flow's number in the group, from 0 on."""

    @property
    def number(self) -> int:
        """Of its flow's packets that came to the link the so-many-th, the first being 1."""

    @property
    def segment(self) -> int | None:
        """Number of its segment, 0 opening the connection; None where there is no sender."""

    @property
    def acknowledgement(self) -> bool:
        """Whether it is an acknowledgement."""

    @property
    def retransmission(self) -> bool:
        """Whether its segment was sent before."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def ecn(self) -> int:
        """Its ECN codepoint: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."""

@final
class Queue:
    """The queue that a packet meets, or leaves behind.

    The packet in transmission is no part of it.
    """

    @property
    def now(self) -> int:
        """The instant of the decision, in nanoseconds."""

    @property
    def packets(self) -> int:
        """Packets waiting."""

    @property
    def bytes(self) -> int:
        """Bytes waiting."""

    @property
    def empty_since(self) -> int | None:
        """When it last became empty, in nanoseconds; None while packets wait."""

    @property
    def idle_since(self) -> int | None:
        """Since when not even a packet is in transmission, in nanoseconds; None while one is."""

    @property
    def number(self) -> int:
        """Its number among the queues of a scheduler, from 0."""

    @property
    def head_size(self) -> int | None:
        """Bytes of the first packet of a scheduler's queue; None while it is empty."""

    @property
    def head_arrived(self) -> int | None:
        """When that packet arrived, in nanoseconds."""

@final
class Coin:
    """The random numbers of a queue."""

    __call__: Callable[[], float]
    """The next number, uniform over [0, 1); at most 256 for one packet."""

@final
class Acknowledgement:
    """What an acknowledgement has told a congestion control in Python. Times in nanoseconds."""

    @property
    def now(self) -> int:
        """The instant at which it arrived."""

    @property
    def delivered(self) -> int:
        """Packets newly known to have arrived."""

    @property
    def counted(self) -> float:
        """Packets by which windows grow: those delivered, or 1 without ``byte_counting``."""

    @property
    def marked(self) -> int:
        """Of those delivered, the marked ones; 0 unless the class answers every mark."""

    @property
    def lost(self) -> int:
        """Packets newly taken for lost; 0 unless the class governs its window."""

    @property
    def round_trip(self) -> int | None:
        """The round trip just timed."""

    @property
    def smoothed_round_trip(self) -> int | None:
        """The average of the round trips; None before the first."""

    @property
    def forward_delay(self) -> int | None:
        """How long the packet took that made the receiver answer, by clocks that differ."""

    @property
    def unacknowledged(self) -> int:
        """Number of the first packet not acknowledged."""

    @property
    def highest(self) -> int:
        """Number of the first packet never sent."""

    @property
    def in_flight(self) -> int:
        """Packets in the network."""

    @property
    def in_recovery(self) -> bool:
        """Whether losses are being repaired."""

    @property
    def delivery_rate(self) -> float | None:
        """Packets a second that the network delivered; None unless the class governs its window."""

    @property
    def application_limited(self) -> bool:
        """Whether that rate is the application's, which had nothing more to send."""

    @property
    def header(self) -> tuple[float, float, float, float] | None:
        """Header returned, of the last packet that arrived; for a class with ``headers``."""

@final
class Reduction:
    """A sign of congestion that a congestion control in Python answers."""

    @property
    def now(self) -> int:
        """The instant, in nanoseconds."""

    @property
    def base(self) -> float:
        """Packets to be reduced: the window, or what is outstanding (``loss_window``)."""

@final
class Sent:
    """A packet that leaves, as a congestion control in Python is told of it."""

    @property
    def now(self) -> int:
        """The instant, in nanoseconds."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def again(self) -> bool:
        """True if it has left before."""

    @property
    def header(self) -> tuple[float, float, float, float] | None:
        """Header of the packet, of a class with ``headers``: zeros, unless it is set here."""

    @header.setter
    def header(self, numbers: Sequence[float]) -> None: ...

@final
class Window:
    """The congestion window of a flow, in packets."""

    size: float
    """The window, above 0; set by ``on_ack``, ``on_round``, ``on_sent`` and ``on_timer``."""

    threshold: float
    """The slow start threshold; set by the same."""

    pacing_rate: float | None
    """Packets a second, where packets are paced; None leaves the rate to the sender."""

    wake_at: int | None
    """When ``on_timer`` is called next, in nanoseconds; any method may set it."""

    @property
    def cap(self) -> float:
        """The largest window that the receiver allows."""

    @property
    def in_slow_start(self) -> bool:
        """Whether the window is below the threshold."""

def disciplines() -> str:
    """Return every queue discipline with its parameter table, as a JSON list."""

def schedulers() -> str:
    """Return every scheduler with its parameter table and that of a class, as a JSON list."""

def register_discipline(table: str, adapter: object) -> None:
    """Make a discipline written in Python known; one of the same name is replaced.

    ``table`` is its entry in ``disciplines``, ``adapter`` what makes and changes its instances.

    Raises:
        ParameterError: A table that cannot be used, or the name of one of the core's.
    """

def unregister_discipline(name: str) -> bool:
    """Forget a discipline written in Python; return whether there was one."""

def register_predicate(
    name: str, function: Callable[[PassingPacket], bool], adapter: object
) -> None:
    """Make a condition on packets known; one of the same name is replaced.

    ``adapter`` explains its errors.
    """

def unregister_predicate(name: str) -> bool:
    """Forget a condition on packets; return whether there was one."""

def predicates() -> list[str]:
    """Return the names of all conditions on packets."""

def senders() -> str:
    """Return every sender with its parameter table, as a JSON list."""

def common_sender_parameters() -> str:
    """Return the table of what every sender has, as a nameless sender in JSON."""

def register_sender(table: str, adapter: object) -> None:
    """Make a congestion control written in Python known; one of the same name is replaced.

    ``table`` is its entry in ``senders``, ``adapter`` what makes its instances.

    Raises:
        ParameterError: A table that cannot be used, or the name of one of the core's.
    """

def register_library(
    address: int, of_disciplines: type[Exception], of_senders: type[Exception]
) -> tuple[str, bool]:
    """Register what a library has whose function ``vermilion_plugin`` has returned this address.

    A panic in it ends a run with an error of the class of its kind. The library has to stay loaded.
    Return its name, and whether it is a discipline.

    Raises:
        ParameterError: Another version of the interface, a table that cannot be used, or the name
            of one of the core's.
    """

def unregister_sender(name: str) -> bool:
    """Forget a congestion control written in Python; return whether there was one."""

def check(scenario: str) -> None:
    """Build everything a core scenario names, and run nothing.

    Raises:
        ParameterError: The first field that cannot be used.
    """

def run(
    scenario: str, seed: int, distributions: bool = False, flow_delays: bool = False
) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
    """Run a core scenario to its end.

    With ``distributions`` the metrics of links include the distribution of waiting times, with
    ``flow_delays`` those of groups of flows the delay, jitter and loss of their packets.

    Returns:
        The metrics as JSON, and for each link its time series (empty without a probe interval).
    """

def run_many(
    scenarios: Sequence[str],
    jobs: Sequence[tuple[int, int]],
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
    flow_delays: bool = False,
) -> list[str | None]:
    """Run pairs of (number of a scenario, seed) on all cores, or on ``threads`` threads.

    A scenario may ask for ``distributions`` or ``flow_delays`` itself. Python's lock is released
    meanwhile. ``progress`` is called with the number of finished runs about every 50 ms, from the
    calling thread. What ``deadline_s`` seconds cut short is None.
    """

def rate_based_senders() -> str:
    """Return every rate-based end of a fabric with its parameter table, as a JSON list."""

def rate_laws() -> str:
    """Return every law that sets a shaper's rate, as JSON."""

def check_fabric(text: str) -> None:
    """Build a fabric and run nothing.

    Raises:
        ParameterError: The first field that cannot be used.
    """

def run_fabrics(
    fabrics: Sequence[str],
    jobs: Sequence[tuple[int, int]],
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[tuple[str, dict[str, NDArray[Any]]]]:
    """Run pairs of (number of a fabric, seed) on all cores, or on ``threads`` threads.

    Python's lock is released meanwhile. ``progress`` is called with the number of finished runs
    every few milliseconds, from the calling thread.

    Returns:
        Of each run its results as JSON, and the columns of its transfers.
    """

@final
class Link:
    """The two ways of an emulated link, and the devices that they connect (on Linux only).

    Way 0 leads from the first device to the second, way 1 back. Times are integer nanoseconds since
    it was made.
    """

    def __new__(
        cls,
        ways: tuple[str, str],
        devices: tuple[int, int],
        seed: int = 1,
        jitters: tuple[tuple[int, bool], tuple[int, bool]] = ...,
        largest: int = 1500,
        room: int = 65_536,
        busy: bool = False,
        wakers: Sequence[int] = ...,
        merge: bool = False,
    ) -> Link:
        """Connect two open TUN devices.

        ``ways`` are links as in a core scenario. Of each way, ``jitters`` says by how many
        nanoseconds at most packets take longer (0), and whether one may overtake another (no).
        ``largest`` is the largest packet in bytes, ``room`` how many packets a way holds at most.
        With ``busy`` a core is kept busy for the sake of exact times, with ``merge`` packets of a
        connection that are due together are handed on as one piece. The descriptors are not taken
        over.

        Raises:
            ParameterError: A field of a link that cannot be used.
            OSError: A descriptor that there is not.
        """

    def begin(self) -> None:
        """Let its time begin now; for a link that has not carried anything yet."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds since it was made, or since it was told to begin."""

    def run(self, nanoseconds: int) -> None:
        """Carry packets for so long, or until one of the wakers has something to be read.

        Python's lock is released meanwhile.
        """

    def is_there(self, way: int) -> bool:
        """Return whether the device that packets of a way come from has not been removed."""

    def measure(self, total: tuple[int, int], phases: Sequence[tuple[int, int]]) -> None:
        """Measure over a whole and its phases, of both ways."""

    def change_at(self, way: int, change: str) -> None:
        """Have a way changed when a time has come, as a change of a core scenario says.

        Raises:
            ParameterError: A rate or a delay that no link can have.
        """

    def set_distances(self, way: int, distances: Mapping[bytes, int]) -> None:
        """Put IPv4 addresses so many nanoseconds farther away than the end of a way.

        Raises:
            ParameterError: One is too far away.
        """

    def read_every(self, nanoseconds: int) -> None:
        """Read both queues every so often, from now on."""

    def take_readings(self, way: int) -> dict[str, NDArray[np.float64]]:
        """Return the readings of a way since they were last taken, as columns."""

    def watch(self, at_queues: bool, at_ends: bool, kept: int, room: int) -> None:
        """Note packets of both ways at the queues, or when they are handed on.

        Of each its first ``kept`` bytes, in ``room`` bytes for each way. More are not noted.
        """

    def take_sightings(self, way: int) -> bytes:
        """Return the notes of packets of a way since they were last taken."""

    def report(self, way: int) -> str:
        """Return what has been measured of a way, as a JSON object."""

    def counters(self, way: int) -> dict[str, int]:
        """Return what a router exports about the queue of a way, cumulative since time 0."""

    def set_queue(self, way: int, parameters: str) -> None:
        """Replace parameters of a queue now; those not named stay.

        Raises:
            ParameterError: A value that the discipline refuses; then nothing has changed.
        """

    def set_rate(self, way: int, bit_per_s: int) -> None:
        """Change the rate of a way, to be constant from now on.

        Raises:
            ParameterError: No rate that a link can have.
        """

    def queue_parameters(self, way: int) -> str:
        """Return every parameter of a queue in force, as a JSON object."""

def capture_head(ways: Sequence[str]) -> bytes:
    """Return the beginning of a capture file with the packets of ways of these names."""

def capture_packets(notes: Sequence[bytes], most: int) -> tuple[bytes, int]:
    """Return notes of packets as bytes of a capture file, and how many packets those are."""

@final
class Kept:
    """A network that is kept: it stands before an instant, of which nothing has happened yet.

    Raises:
        ParameterError: The first field of the scenario that cannot be used.
    """

    def __new__(cls, scenario: str, seed: int) -> Kept: ...
    @property
    def now_ns(self) -> int:
        """That instant, in nanoseconds."""

    def extend(self, until_ns: int) -> None:
        """Process every event before ``until_ns``.

        Raises:
            ParameterError: A time that is past, or later than any run's end.
        """

    def fork(self) -> Kept:
        """Return a copy that goes on by itself, and whose record begins here."""

    def mark(self) -> None:
        """Let the record begin here."""

    def record(self) -> dict[str, float]:
        """Return a few figures of what was measured since the mark, by their paths."""

    def set_queue(self, link: str, parameters: str) -> None:
        """Replace parameters of a queue now; those not named stay.

        Raises:
            ParameterError: A value that the discipline refuses; then nothing has changed.
        """

    def queue_parameters(self, link: str) -> str:
        """Return every parameter of a queue in force, as a JSON object."""

    def set_rate(self, link: str, rate_bit_per_s: int) -> None:
        """Change the rate of a link now.

        Raises:
            ParameterError: A rate that is not accepted, or a link whose rate varies by itself.
        """

    def result(self) -> str:
        """Return the metrics of a run that ends here, as a JSON object."""

@final
class RateLaw:
    """A law that keeps a shaper at the rate of a line that nobody knows.

    ``settings`` is a JSON object of the values that differ from the law's table
    (:func:`rate_laws`). Times are nanoseconds of one clock. ``bytes_out`` are all bytes that have
    crossed the interface next to the line so far: let out by the shaper upwards, come in from the
    line downwards.

    Raises:
        ParameterError: A law that there is not, or a value that its table refuses.
    """

    def __new__(cls, name: str, settings: str = "{}") -> RateLaw: ...
    def probe_sent(self, sent_ns: int, bytes_out: int) -> None:
        """Take note of a probe."""

    def answered(
        self,
        reflector: int,
        sent_ns: int,
        received_ns: int,
        one_way_ns: int | None = None,
        own_wait_ns: int = 0,
    ) -> None:
        """Take the answer to the probe that was sent then.

        ``one_way_ns`` is the delay in the direction that is shaped, if it is known, by clocks that
        need not agree. ``own_wait_ns`` is the part of the delay that passed in one's own shaper.
        """

    def lost(self, sent_ns: int) -> None:
        """Give up the probe that was sent then."""

    def rate(self, now_ns: int, bytes_out: int) -> float:
        """Return the shaper's rate from now on, in bit/s; to be asked every 20 to 50 ms."""

    def state(self) -> dict[str, Any]:
        """Return facts as of the last rate; what is unknown is ``None``.

        ``rate_bit_per_s``, ``capacity_bit_per_s`` and its ``doubt`` (relative standard error),
        ``wait_here_s`` (in one's own shaper), ``wait_behind_s`` (in the line), and ``waiting``:
        ``here``, ``behind`` or ``nowhere``.
        """

@final
class RateKeeper:
    """A keeper of one shaper's rate: whether a law is followed now. ``crates/shaping`` has it.

    What it tells is a list of events: a name, words, and where it is about them a rate and the
    line's capacity, bits a second.

    Args:
        found: rate before the first change, bits a second.
        mode: ``observe``, ``propose`` or ``control``.
        least: rate below which nothing is let out while the line is emptied at the beginning.

    Raises:
        ParameterError: A mode that there is not.
    """

    in_force: float
    """Rate in force."""

    def __new__(cls, found: float, mode: str, least: float) -> RateKeeper: ...
    @property
    def found(self) -> float:
        """Rate before the first change."""

    @property
    def mode(self) -> str:
        """Its freedom."""

    @property
    def acts(self) -> bool:
        """True while the rate is kept."""

    @property
    def has_drained(self) -> bool:
        """True once the line has been emptied."""

    @property
    def safe(self) -> float:
        """Rate to leave behind."""

    def accept(self) -> None:
        """Take in that a person agrees to what was proposed."""

    def pause(self) -> bool:
        """Change nothing any more; whether that is new."""

    def resume(self) -> bool:
        """Go on; whether that is new."""

    def step(
        self,
        now_ns: int,
        wanted: float,
        capacity: float | None,
        *,
        answers: int,
        unanswered_ns: int,
        carries: bool,
        passed: float,
        still_ns: int,
        trip_ns: int,
    ) -> tuple[float | None, list[tuple[str, str, float | None, float | None]]]:
        """Return the rate to be set now, if it is another, and what is told; each 20 to 50 ms.

        ``wanted`` and ``capacity`` are the law's. ``answers`` are the probes answered so far,
        ``unanswered_ns`` is the time since the last, and ``carries`` says that the line brings
        packets of others. ``passed`` are the bits of the last second, ``still_ns`` is the time
        since a round trip was the shortest so far by far, and ``trip_ns`` the last round trip.
        """

    def was_set(
        self, now_ns: int, rate: float
    ) -> list[tuple[str, str, float | None, float | None]]:
        """Take in that a rate was set; what is told."""

    def was_read(self, rate: float) -> list[tuple[str, str, float | None, float | None]]:
        """Take in the rate that was read, before each change and each second; what is told."""

    def each_second(self) -> None:
        """Take in what the line carries now."""

@final
class Simulation:
    """A network that is advanced step by step.

    Unless ``round_trips`` is false it keeps every round trip until somebody takes it.
    """

    def __new__(
        cls,
        scenario: str,
        seed: int,
        distributions: bool = False,
        flow_delays: bool = False,
        round_trips: bool = True,
    ) -> Simulation: ...
    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""

    def advance(self, until_ns: int) -> None:
        """Process every event up to and including ``until_ns``, at most the duration."""

    def counters(self, link: str) -> dict[str, int]:
        """Return what a router exports about the queue of a link, cumulative since time 0."""

    def active_flows(self) -> int:
        """Return the number of flows that have begun and not ended."""

    def take_rtt_samples(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return flow numbers and round-trip times (ns) timed since the last call."""

    def take_flow_traffic(
        self, link: str
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.bool_],
        NDArray[np.bool_],
    ]:
        """Return what each flow has sent through the queue of a link since the last call.

        Flow numbers, packets, bytes, whether its sender slows down when some are lost, and whether
        some may be marked instead. The first call begins to watch. Acknowledgements of flow n count
        as flow -1 - n.
        """

    def set_queue(self, link: str, parameters: str) -> None:
        """Replace parameters of a queue now; those not named stay.

        Raises:
            ParameterError: A value that the discipline refuses; then nothing has changed.
        """

    def queue_parameters(self, link: str) -> str:
        """Return every parameter of a queue in force, as a JSON object."""

    def observe(self, observation: str) -> None:
        """Have something written down, before anything has happened; ``observation`` is JSON.

        Raises:
            ParameterError: The first field that cannot be used.
        """

    @property
    def paused(self) -> bool:
        """Whether the last advance ended early because what is written down should be taken."""

    def begin_capture(self, whole: bool) -> None:
        """Have packets encoded as a capture (pcapng) from now on, with payloads if ``whole``."""

    def take_packets(
        self, columns: bool = False, table: bool = False, heading: bool = False
    ) -> tuple[int, dict[str, NDArray[Any]] | None, str | None, bytes | None]:
        """Return what happened to packets since the last call, in order of time.

        How many records there are, their columns, their lines as CSV (below the names of the
        columns with ``heading``), and the bytes of the capture, if one was begun.
        """

    def drop_causes(self) -> list[str]:
        """Return what the numbers in the column ``cause`` of packets stand for, so far."""

    def take_windows(self) -> dict[str, NDArray[Any]]:
        """Return the rows of flow series since the last call, as columns."""

    def transfers(self) -> tuple[dict[str, NDArray[Any]], bool]:
        """Return the transfers so far, if they are observed, and whether some were left out.

        ``group``, ``start_s``, ``bytes``, ``completion_time_s`` (NaN while it is under way) and
        ``ideal_time_s``, which is that of an empty network.
        """

    def raw_distributions(self) -> dict[str, dict[str, Any]]:
        """Return the raw distributions so far, by ``links.NAME.sojourn`` and so on."""

    def are_cut(self) -> tuple[bool, bool]:
        """Return whether packets, and whether rows of flow series, were left out as too many."""

    def result(self) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
        """Return metrics and time series up to now, as ``run`` does."""

    def conclude(self) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
        """Do as ``result`` does, of a simulation that ends here: nothing is copied."""
