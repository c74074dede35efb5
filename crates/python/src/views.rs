//! What a discipline in Python looks at: the packet, the queue and the coin.
//!
//! One of each is made for a discipline and shown anew with every packet, so that a packet costs no
//! allocation.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::prelude::*;
use vermilion_aqm::{Arrival, Carried, Departure, Ecn, Standing, Waiting};

use crate::shown::{Numbers, Shown, ShownHeader};

/// The packet that a decision is about.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Packet {
    #[pyo3(get)]
    arrived: Shown<u64>,
    #[pyo3(get)]
    size: Shown<u32>,
    #[pyo3(get)]
    flow: Shown<u32>,
    #[pyo3(get)]
    ecn: Shown<u8>,
    #[pyo3(get)]
    colour: Shown<u8>,
    /// Known only where the discipline keeps the packets.
    dscp: Shown<Option<u64>>,
    header: ShownHeader,
}

#[pymethods]
impl Packet {
    /// Return true if it may be marked.
    #[getter(ecn_capable)]
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.get() != Ecn::NotCapable as u8
    }

    #[getter]
    fn dscp(&self) -> PyResult<u64> {
        let accepted = "packet.dscp is for a Scheduler, or a Discipline with headers = True";
        self.dscp.get().ok_or_else(|| PyAttributeError::new_err(accepted))
    }

    #[getter]
    fn header(&self) -> Option<Numbers> {
        self.header.numbers()
    }

    #[setter]
    fn set_header(&self, numbers: Vec<f64>) -> PyResult<()> {
        self.header.write(&numbers)
    }
}

impl Packet {
    /// One of which nothing is shown yet.
    pub fn new() -> Self {
        let packet = Self::default();
        packet.dscp.set(None);
        packet
    }

    /// Shows what only a discipline that keeps the packets is told; `headers`: it sees them.
    pub fn show_carried(&self, carried: &Carried, headers: bool) {
        self.dscp.set(Some(carried.dscp.into()));
        self.header.show(carried.header.filter(|_| headers));
    }

    /// Takes the header that has been written.
    pub fn take_header(&self, carried: &mut Carried) {
        carried.header = self.header.get().or(carried.header);
    }
}

/// The queue that a packet meets, or leaves behind.
#[pyclass(frozen, get_all, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Queue {
    now: Shown<u64>,
    packets: Shown<u32>,
    bytes: Shown<u64>,
    empty_since: Shown<Option<u64>>,
    idle_since: Shown<Option<u64>>,
    number: Shown<u32>,
    head_size: Shown<Option<u64>>,
    head_arrived: Shown<Option<u64>>,
}

impl Queue {
    /// An empty one among several.
    pub fn numbered(number: usize) -> Self {
        let queue = Self::default();
        queue.number.set(number as u32);
        queue.show_waiting(&Waiting::default());
        queue
    }

    /// Shows an instant at which something is decided over all queues.
    pub fn show_instant(&self, now: u64, idle_since: Option<u64>) {
        self.now.set(now);
        self.idle_since.set(idle_since);
    }

    /// Shows what waits in it.
    pub fn show_waiting(&self, waiting: &Waiting) {
        self.packets.set(waiting.standing.packets);
        self.bytes.set(waiting.standing.bytes);
        self.empty_since.set((waiting.standing.packets == 0).then_some(waiting.empty_since));
        self.head_size.set(waiting.head.map(|(size, _)| size.into()));
        self.head_arrived.set(waiting.head.map(|(_, arrived)| arrived));
    }

    /// Return true if nothing waits in it.
    pub fn is_empty(&self) -> bool {
        self.packets.get() == 0
    }

    /// Shows the same as another one.
    pub fn show_same(&self, other: &Self) {
        let standing = Standing { packets: other.packets.get(), bytes: other.bytes.get() };
        let head = other.head_size.get().zip(other.head_arrived.get());
        let head = head.map(|(size, arrived)| (size as u32, arrived));
        let empty_since = other.empty_since.get().unwrap_or_default();
        self.show_waiting(&Waiting { standing, empty_since, head });
        self.show_instant(other.now.get(), other.idle_since.get());
    }

    /// The instant of the last decision, in nanoseconds.
    pub fn instant(&self) -> u64 {
        self.now.get()
    }
}

/// Shows a packet that arrives, and the queue that it meets.
pub fn show_arrival(packet: &Packet, queue: &Queue, arrival: &Arrival) {
    show_arriving(packet, arrival);
    queue.now.set(arrival.now);
    queue.packets.set(arrival.queue_packets);
    queue.bytes.set(arrival.queue_bytes);
    let is_empty = arrival.queue_packets == 0;
    queue.empty_since.set(is_empty.then_some(arrival.empty_since));
    queue.idle_since.set(arrival.idle_since);
}

/// Shows a packet that arrives.
pub fn show_arriving(packet: &Packet, arrival: &Arrival) {
    packet.arrived.set(arrival.now);
    packet.size.set(arrival.size);
    packet.flow.set(arrival.flow);
    packet.ecn.set(arrival.ecn as u8);
    packet.colour.set(arrival.colour as u8);
}

/// Shows a packet whose turn it is, and the queue that it leaves behind.
pub fn show_departure(packet: &Packet, queue: &Queue, departure: &Departure) {
    packet.arrived.set(departure.arrived);
    packet.size.set(departure.size);
    packet.flow.set(departure.flow);
    packet.ecn.set(departure.ecn as u8);
    packet.colour.set(departure.colour as u8);
    queue.now.set(departure.now);
    queue.packets.set(departure.queue_packets);
    queue.bytes.set(departure.queue_bytes);
    let is_empty = departure.queue_packets == 0;
    queue.empty_since.set(is_empty.then_some(departure.now));
    queue.idle_since.set(None);
}

/// Numbers that are drawn ahead: as many as one packet may take.
pub const COINS_OF_A_PACKET: usize = 256;

/// The queue's random numbers.
///
/// The stream belongs to the link and is lent for one decision, which an object in Python could
/// outlive. So the numbers are drawn ahead and handed out in their order, which is the order in which
/// a discipline in Rust would draw them.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug)]
pub struct Coin {
    numbers: Box<[AtomicU64]>,
    /// How many were drawn ahead, and how many of them were handed out.
    drawn: AtomicUsize,
    taken: AtomicUsize,
}

#[pymethods]
impl Coin {
    fn __call__(&self) -> PyResult<f64> {
        let taken = self.taken.load(Relaxed);
        if taken == self.drawn.load(Relaxed) {
            return Err(PyRuntimeError::new_err(format!(
                "a discipline may toss at most {COINS_OF_A_PACKET} coins for one packet, and only \
                 while it is asked"
            )));
        }
        self.taken.store(taken + 1, Relaxed);
        Ok(f64::from_bits(self.numbers[taken % COINS_OF_A_PACKET].load(Relaxed)))
    }
}

impl Coin {
    /// One that has drawn nothing.
    pub fn new() -> Self {
        let numbers = (0..COINS_OF_A_PACKET).map(|_| AtomicU64::new(0)).collect();
        Self { numbers, drawn: AtomicUsize::new(0), taken: AtomicUsize::new(0) }
    }

    /// Draws as many numbers as have been taken.
    pub fn refill(&self, source: &mut dyn vermilion_aqm::Coin) {
        let end = self.taken.load(Relaxed) + COINS_OF_A_PACKET;
        let drawn = self.drawn.load(Relaxed);
        for index in drawn..end {
            let number = source.uniform().to_bits();
            self.numbers[index % COINS_OF_A_PACKET].store(number, Relaxed);
        }
        self.drawn.store(end, Relaxed);
    }

    /// One with the same numbers before it.
    pub fn copy(&self) -> Self {
        let copy = |number: &AtomicU64| AtomicU64::new(number.load(Relaxed));
        Self {
            numbers: self.numbers.iter().map(copy).collect(),
            drawn: AtomicUsize::new(self.drawn.load(Relaxed)),
            taken: AtomicUsize::new(self.taken.load(Relaxed)),
        }
    }
}
