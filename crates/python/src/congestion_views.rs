//! What a congestion control in Python looks at: the acknowledgement, the sign of congestion, the window.
//!
//! One of each is made for the flows of a group and shown anew with every call, so that an
//! acknowledgement costs no allocation. The numbers are atomic only because Python's objects may be
//! seen from any thread; one thread at a time runs a simulation, and nothing is ordered by them.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use vermilion_tcp::rule::Acknowledged;

/// In the place of a time that there is not.
const NEVER: u64 = u64::MAX;

/// Largest window in packets: more than sequence numbers can tell apart would mean nothing.
pub const LARGEST_WINDOW: f64 = 1e9;

/// Highest pacing rate in packets a second: one in a nanosecond.
const HIGHEST_RATE: f64 = 1e9;

fn some(time: u64) -> Option<u64> {
    (time != NEVER).then_some(time)
}

/// A number that is seen from any thread.
#[derive(Debug, Default)]
struct Number(AtomicU64);

impl Number {
    #[inline]
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    #[inline]
    fn set(&self, number: f64) {
        self.0.store(number.to_bits(), Relaxed);
    }
}

/// News that an acknowledgement has told.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Acknowledgement {
    now: AtomicU64,
    delivered: AtomicU32,
    counted: Number,
    marked: AtomicU32,
    lost: AtomicU32,
    round_trip: AtomicU64,
    smoothed_round_trip: AtomicU64,
    forward_delay: AtomicU64,
    unacknowledged: AtomicU32,
    highest: AtomicU32,
    in_flight: AtomicU32,
    in_recovery: AtomicBool,
    /// Not a number where it is not known.
    delivery_rate: Number,
    application_limited: AtomicBool,
}

#[pymethods]
impl Acknowledgement {
    #[getter]
    fn now(&self) -> u64 {
        self.instant()
    }

    #[getter]
    fn delivered(&self) -> u32 {
        self.delivered.load(Relaxed)
    }

    #[getter]
    fn counted(&self) -> f64 {
        self.counted.get()
    }

    #[getter]
    fn marked(&self) -> u32 {
        self.marked.load(Relaxed)
    }

    #[getter]
    fn lost(&self) -> u32 {
        self.lost.load(Relaxed)
    }

    #[getter]
    fn round_trip(&self) -> Option<u64> {
        some(self.round_trip.load(Relaxed))
    }

    #[getter]
    fn smoothed_round_trip(&self) -> Option<u64> {
        some(self.smoothed_round_trip.load(Relaxed))
    }

    #[getter]
    fn forward_delay(&self) -> Option<u64> {
        some(self.forward_delay.load(Relaxed))
    }

    #[getter]
    fn unacknowledged(&self) -> u32 {
        self.unacknowledged.load(Relaxed)
    }

    #[getter]
    fn highest(&self) -> u32 {
        self.highest.load(Relaxed)
    }

    #[getter]
    fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }

    #[getter]
    fn in_recovery(&self) -> bool {
        self.in_recovery.load(Relaxed)
    }

    #[getter]
    fn delivery_rate(&self) -> Option<f64> {
        Some(self.delivery_rate.get()).filter(|rate| !rate.is_nan())
    }

    #[getter]
    fn application_limited(&self) -> bool {
        self.application_limited.load(Relaxed)
    }
}

impl Acknowledgement {
    /// The instant of the last acknowledgement, in nanoseconds.
    pub fn instant(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Shows an acknowledgement.
    #[inline]
    pub fn show(&self, event: &Acknowledged) {
        self.now.store(event.now, Relaxed);
        self.delivered.store(event.delivered, Relaxed);
        self.counted.set(event.counted);
        self.marked.store(event.marked, Relaxed);
        self.lost.store(event.lost, Relaxed);
        self.round_trip.store(event.round_trip.unwrap_or(NEVER), Relaxed);
        self.smoothed_round_trip.store(event.smoothed_round_trip.unwrap_or(NEVER), Relaxed);
        self.forward_delay.store(event.forward_delay.unwrap_or(NEVER), Relaxed);
        self.unacknowledged.store(event.unacknowledged, Relaxed);
        self.highest.store(event.highest, Relaxed);
        self.in_flight.store(event.in_network, Relaxed);
        self.in_recovery.store(event.in_recovery, Relaxed);
        let rate = event.rate.and_then(|sample| sample.rate);
        self.delivery_rate.set(rate.unwrap_or(f64::NAN));
        let limited = event.rate.is_some_and(|sample| sample.application_limited);
        self.application_limited.store(limited, Relaxed);
    }
}

/// A sign of congestion.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Reduction {
    now: AtomicU64,
    base: Number,
}

#[pymethods]
impl Reduction {
    #[getter]
    fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    #[getter]
    fn base(&self) -> f64 {
        self.base.get()
    }
}

impl Reduction {
    /// Shows a sign of congestion.
    pub fn show(&self, now: u64, base: f64) {
        self.now.store(now, Relaxed);
        self.base.set(base);
    }
}

/// The congestion window of a flow.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Window {
    size: Number,
    threshold: Number,
    cap: Number,
    /// Not a number where there is none.
    pacing_rate: Number,
    /// True if an acknowledgement is being looked at.
    writable: AtomicBool,
}

#[pymethods]
impl Window {
    #[getter]
    fn size(&self) -> f64 {
        self.size.get()
    }

    #[setter]
    fn set_size(&self, packets: f64) -> PyResult<()> {
        self.check_writable("size")?;
        if !(packets > 0.0 && packets <= LARGEST_WINDOW) {
            return Err(refused("window.size", packets, "packets above 0 and at most 1e9"));
        }
        self.size.set(packets);
        Ok(())
    }

    #[getter]
    fn threshold(&self) -> f64 {
        self.threshold.get()
    }

    #[setter]
    fn set_threshold(&self, packets: f64) -> PyResult<()> {
        self.check_writable("threshold")?;
        if !(0.0..=LARGEST_WINDOW).contains(&packets) {
            return Err(refused("window.threshold", packets, "packets from 0 to 1e9"));
        }
        self.threshold.set(packets);
        Ok(())
    }

    #[getter]
    fn cap(&self) -> f64 {
        self.cap.get()
    }

    #[getter]
    fn in_slow_start(&self) -> bool {
        self.size.get() < self.threshold.get()
    }

    #[getter]
    fn pacing_rate(&self) -> Option<f64> {
        self.rate()
    }

    #[setter]
    fn set_pacing_rate(&self, rate: Option<f64>) -> PyResult<()> {
        if let Some(rate) = rate.filter(|rate| !(*rate > 0.0 && *rate <= HIGHEST_RATE)) {
            let accepted = "packets a second above 0 and at most 1e9, or None";
            return Err(refused("window.pacing_rate", rate, accepted));
        }
        self.pacing_rate.set(rate.unwrap_or(f64::NAN));
        Ok(())
    }
}

fn refused(field: &str, value: f64, accepted: &str) -> PyErr {
    PyValueError::new_err(format!("{field}: {value} is not accepted; expected {accepted}"))
}

impl Window {
    /// Shows a window; `writable`: its size and threshold may be set.
    #[inline]
    pub fn show(&self, window: &vermilion_tcp::Window, rate: Option<f64>, writable: bool) {
        self.size.set(window.congestion);
        self.threshold.set(window.slow_start_threshold);
        self.cap.set(window.cap);
        self.pacing_rate.set(rate.unwrap_or(f64::NAN));
        self.writable.store(writable, Relaxed);
    }

    /// Size and threshold as they are now.
    #[inline]
    pub fn take(&self, window: &mut vermilion_tcp::Window) {
        window.congestion = self.size.get();
        window.slow_start_threshold = self.threshold.get();
        self.writable.store(false, Relaxed);
    }

    /// The rate that was set, in packets a second.
    #[inline]
    pub fn rate(&self) -> Option<f64> {
        Some(self.pacing_rate.get()).filter(|rate| !rate.is_nan())
    }

    fn check_writable(&self, name: &str) -> PyResult<()> {
        if self.writable.load(Relaxed) {
            return Ok(());
        }
        Err(PyAttributeError::new_err(format!(
            "window.{name} can be set by on_ack alone; the other methods return the window"
        )))
    }
}
