//! What a discipline in Python looks at: the packet, the queue and the coin.
//!
//! One of each is made for a discipline and shown anew with every packet, so that a packet costs no
//! allocation. The numbers are atomic only because Python's objects may be seen from any thread; one
//! thread at a time runs a simulation, and nothing is ordered by them.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use vermilion_aqm::{Arrival, Departure, Ecn};

/// In the place of an instant that there is not.
const NEVER: u64 = u64::MAX;

/// The packet that a decision is about.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Packet {
    arrived: AtomicU64,
    size: AtomicU32,
    flow: AtomicU32,
    ecn: AtomicU8,
    colour: AtomicU8,
}

#[pymethods]
impl Packet {
    #[getter]
    fn arrived(&self) -> u64 {
        self.arrived.load(Relaxed)
    }

    #[getter]
    fn size(&self) -> u32 {
        self.size.load(Relaxed)
    }

    #[getter]
    fn flow(&self) -> u32 {
        self.flow.load(Relaxed)
    }

    #[getter]
    fn ecn_capable(&self) -> bool {
        self.is_ecn_capable()
    }

    #[getter]
    fn ecn(&self) -> u8 {
        self.ecn.load(Relaxed)
    }

    #[getter]
    fn colour(&self) -> u8 {
        self.colour.load(Relaxed)
    }
}

impl Packet {
    /// Return true if it may be marked.
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.load(Relaxed) != Ecn::NotCapable as u8
    }
}

/// The queue that a packet meets, or leaves behind.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Queue {
    now: AtomicU64,
    packets: AtomicU32,
    bytes: AtomicU64,
    empty_since: AtomicU64,
    idle_since: AtomicU64,
}

#[pymethods]
impl Queue {
    #[getter]
    fn now(&self) -> u64 {
        self.instant()
    }

    #[getter]
    fn packets(&self) -> u32 {
        self.packets.load(Relaxed)
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    #[getter]
    fn empty_since(&self) -> Option<u64> {
        some(self.empty_since.load(Relaxed))
    }

    #[getter]
    fn idle_since(&self) -> Option<u64> {
        some(self.idle_since.load(Relaxed))
    }
}

impl Queue {
    /// The instant of the last decision, in nanoseconds.
    pub fn instant(&self) -> u64 {
        self.now.load(Relaxed)
    }
}

fn some(instant: u64) -> Option<u64> {
    (instant != NEVER).then_some(instant)
}

/// Shows a packet that arrives, and the queue that it meets.
pub fn show_arrival(packet: &Packet, queue: &Queue, arrival: &Arrival) {
    packet.arrived.store(arrival.now, Relaxed);
    packet.size.store(arrival.size, Relaxed);
    packet.flow.store(arrival.flow, Relaxed);
    packet.ecn.store(arrival.ecn as u8, Relaxed);
    packet.colour.store(arrival.colour as u8, Relaxed);
    queue.now.store(arrival.now, Relaxed);
    queue.packets.store(arrival.queue_packets, Relaxed);
    queue.bytes.store(arrival.queue_bytes, Relaxed);
    let is_empty = arrival.queue_packets == 0;
    queue.empty_since.store(if is_empty { arrival.empty_since } else { NEVER }, Relaxed);
    queue.idle_since.store(arrival.idle_since.unwrap_or(NEVER), Relaxed);
}

/// Shows a packet whose turn it is, and the queue that it leaves behind.
pub fn show_departure(packet: &Packet, queue: &Queue, departure: &Departure) {
    packet.arrived.store(departure.arrived, Relaxed);
    packet.size.store(departure.size, Relaxed);
    packet.flow.store(departure.flow, Relaxed);
    packet.ecn.store(departure.ecn as u8, Relaxed);
    packet.colour.store(departure.colour as u8, Relaxed);
    queue.now.store(departure.now, Relaxed);
    queue.packets.store(departure.queue_packets, Relaxed);
    queue.bytes.store(departure.queue_bytes, Relaxed);
    let is_empty = departure.queue_packets == 0;
    queue.empty_since.store(if is_empty { departure.now } else { NEVER }, Relaxed);
    queue.idle_since.store(NEVER, Relaxed);
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
    #[inline]
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
