//! What a congestion control in Python looks at: the acknowledgement, the sign of congestion, the window.
//!
//! One of each is made for the flows of a group and shown anew with every call, so that an
//! acknowledgement costs no allocation.

use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use vermilion_tcp::rule::{Acknowledged, Header};

use crate::shown::{Numbers, Shown, ShownHeader};

/// Largest window in packets: more than sequence numbers can tell apart would mean nothing.
pub const LARGEST_WINDOW: f64 = 1e9;

/// Highest pacing rate in packets a second: one in a nanosecond.
const HIGHEST_RATE: f64 = 1e9;

/// News that an acknowledgement has told.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Acknowledgement {
    #[pyo3(get)]
    now: Shown<u64>,
    #[pyo3(get)]
    delivered: Shown<u32>,
    #[pyo3(get)]
    counted: Shown<f64>,
    #[pyo3(get)]
    marked: Shown<u32>,
    #[pyo3(get)]
    lost: Shown<u32>,
    #[pyo3(get)]
    round_trip: Shown<Option<u64>>,
    #[pyo3(get)]
    smoothed_round_trip: Shown<Option<u64>>,
    #[pyo3(get)]
    forward_delay: Shown<Option<u64>>,
    #[pyo3(get)]
    unacknowledged: Shown<u32>,
    #[pyo3(get)]
    highest: Shown<u32>,
    #[pyo3(get)]
    in_flight: Shown<u32>,
    #[pyo3(get)]
    in_recovery: Shown<bool>,
    #[pyo3(get)]
    delivery_rate: Shown<Option<f64>>,
    #[pyo3(get)]
    application_limited: Shown<bool>,
    header: ShownHeader,
}

#[pymethods]
impl Acknowledgement {
    #[getter]
    fn header(&self) -> Option<Numbers> {
        self.header.numbers()
    }
}

impl Acknowledgement {
    /// Shows the header that it returns.
    pub fn show_header(&self, header: Option<Header>) {
        self.header.show(header);
    }

    /// The instant of the last acknowledgement, in nanoseconds.
    pub fn instant(&self) -> u64 {
        self.now.get()
    }

    /// Shows an acknowledgement.
    pub fn show(&self, event: &Acknowledged) {
        self.now.set(event.now);
        self.delivered.set(event.delivered);
        self.counted.set(event.counted);
        self.marked.set(event.marked);
        self.lost.set(event.lost);
        self.round_trip.set(event.round_trip);
        self.smoothed_round_trip.set(event.smoothed_round_trip);
        self.forward_delay.set(event.forward_delay);
        self.unacknowledged.set(event.unacknowledged);
        self.highest.set(event.highest);
        self.in_flight.set(event.in_network);
        self.in_recovery.set(event.in_recovery);
        self.delivery_rate.set(event.rate.and_then(|sample| sample.rate));
        let limited = event.rate.is_some_and(|sample| sample.application_limited);
        self.application_limited.set(limited);
    }
}

/// A sign of congestion.
#[pyclass(frozen, get_all, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Reduction {
    now: Shown<u64>,
    base: Shown<f64>,
}

impl Reduction {
    /// Shows a sign of congestion.
    pub fn show(&self, now: u64, base: f64) {
        self.now.set(now);
        self.base.set(base);
    }
}

/// A packet that leaves.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Sent {
    #[pyo3(get)]
    now: Shown<u64>,
    #[pyo3(get)]
    number: Shown<u32>,
    #[pyo3(get)]
    again: Shown<bool>,
    header: ShownHeader,
}

#[pymethods]
impl Sent {
    #[getter]
    fn header(&self) -> Option<Numbers> {
        self.header.numbers()
    }

    #[setter]
    fn set_header(&self, numbers: Vec<f64>) -> PyResult<()> {
        self.header.write(&numbers)
    }
}

impl Sent {
    /// Shows a packet; `has_header`: it carries a header, which can be written.
    pub fn show(&self, now: u64, number: u32, again: bool, has_header: bool) {
        self.header.show(has_header.then(Header::default));
        self.now.set(now);
        self.number.set(number);
        self.again.set(again);
    }

    /// The header that has been written.
    pub fn written(&self) -> Option<Header> {
        self.header.get()
    }
}

/// The congestion window of a flow.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug, Default)]
pub struct Window {
    #[pyo3(get)]
    size: Shown<f64>,
    #[pyo3(get)]
    threshold: Shown<f64>,
    #[pyo3(get)]
    cap: Shown<f64>,
    #[pyo3(get)]
    pacing_rate: Shown<Option<f64>>,
    #[pyo3(get)]
    wake_at: Shown<Option<u64>>,
    now: Shown<u64>,
    has_timer: Shown<bool>,
    /// True if an acknowledgement is being looked at.
    writable: Shown<bool>,
}

#[pymethods]
impl Window {
    #[setter]
    fn set_size(&self, packets: f64) -> PyResult<()> {
        self.check_writable("size")?;
        if !(packets > 0.0 && packets <= LARGEST_WINDOW) {
            return Err(refused("window.size", packets, "packets above 0 and at most 1e9"));
        }
        self.size.set(packets);
        Ok(())
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
    fn in_slow_start(&self) -> bool {
        self.size.get() < self.threshold.get()
    }

    #[setter]
    fn set_pacing_rate(&self, rate: Option<f64>) -> PyResult<()> {
        if let Some(rate) = rate.filter(|rate| !(*rate > 0.0 && *rate <= HIGHEST_RATE)) {
            let accepted = "packets a second above 0 and at most 1e9, or None";
            return Err(refused("window.pacing_rate", rate, accepted));
        }
        self.pacing_rate.set(rate);
        Ok(())
    }

    #[setter]
    fn set_wake_at(&self, instant: Option<u64>) -> PyResult<()> {
        if !self.has_timer.get() {
            return Err(PyAttributeError::new_err("window.wake_at is for a class with on_timer"));
        }
        if let Some(instant) = instant.filter(|&instant| instant <= self.now.get()) {
            let accepted = "an instant after the present one, in nanoseconds, or None";
            return Err(refused("window.wake_at", instant as f64, accepted));
        }
        self.wake_at.set(instant);
        Ok(())
    }
}

fn refused(field: &str, value: f64, accepted: &str) -> PyErr {
    PyValueError::new_err(format!("{field}: {value} is not accepted; expected {accepted}"))
}

impl Window {
    /// Shows a window at `now`; `writable`: its size and threshold may be set. Besides: the rate, the next call of
    /// `on_timer`, and whether there is one.
    pub fn show(
        &self,
        now: u64,
        window: &vermilion_tcp::Window,
        writable: bool,
        (rate, wake_at, has_timer): (Option<f64>, Option<u64>, bool),
    ) {
        self.now.set(now);
        self.wake_at.set(wake_at);
        self.has_timer.set(has_timer);
        self.size.set(window.congestion);
        self.threshold.set(window.slow_start_threshold);
        self.cap.set(window.cap);
        self.pacing_rate.set(rate);
        self.writable.set(writable);
    }

    /// Size and threshold as they are now.
    pub fn take(&self, window: &mut vermilion_tcp::Window) {
        window.congestion = self.size.get();
        window.slow_start_threshold = self.threshold.get();
        self.writable.set(false);
    }

    /// The rate that was set, in packets a second, and the next call of `on_timer`.
    pub fn wishes(&self) -> (Option<f64>, Option<u64>) {
        (self.pacing_rate.get(), self.wake_at.get())
    }

    fn check_writable(&self, name: &str) -> PyResult<()> {
        if self.writable.get() {
            return Ok(());
        }
        Err(PyAttributeError::new_err(format!(
            "window.{name} can be set by on_ack, on_round, on_sent and on_timer; the other methods return the window"
        )))
    }
}
