//! When a link sends: the instants at which a packet's transmission may begin and will end.
//!
//! Both kinds of links use it: those whose discipline decides at arrival ask for a packet's whole
//! future at once, those whose discipline decides at departure ask when the next packet may begin,
//! choose it then, and ask when it will have been sent. Packets are given in the order in which
//! they are sent.

mod schedule;
mod trace;

pub use schedule::{RateSchedule, ScheduledRate};
pub use trace::{DeliveryTrace, TracedLink};

use crate::scenario;

/// Later than any instant of a run: where a link never sends again. Sums of it and of any delay
/// still are instants.
pub const FAR: u64 = 1 << 62;

/// What sends a link's packets, one after the other.
#[derive(Clone, Debug)]
pub enum Transmitter {
    /// At one rate.
    Constant(ConstantRate),
    /// At rates that follow a schedule.
    Scheduled(Box<Varying<ScheduledRate>>),
    /// At the opportunities of a recorded trace.
    Traced(Box<Varying<TracedLink>>),
}

/// A transmitter whose rate varies, and the one rate that disciplines are told.
#[derive(Clone, Debug)]
pub struct Varying<T> {
    nominal_rate: u64,
    sender: T,
}

/// Transmission at one rate; times are exact in the long run.
#[derive(Clone, Debug)]
pub struct ConstantRate {
    rate: u64,
    size: u32,
    whole: u64,
    remainder: u64,
    carried: u64,
    free_at: u64,
}

impl Transmitter {
    /// An idle transmitter of `rate` bits per second.
    pub fn new(rate: u64) -> Self {
        Self::Constant(ConstantRate::new(rate))
    }

    /// The idle transmitter of a link whose description has been checked.
    pub fn of(link: &scenario::Link) -> Self {
        let nominal_rate = link.rate_bit_per_s;
        match (&link.rate_schedule, &link.trace) {
            (Some(schedule), _) => {
                let sender = ScheduledRate::new(schedule);
                Self::Scheduled(Box::new(Varying { nominal_rate, sender }))
            }
            (None, Some(trace)) => {
                let sender = TracedLink::new(trace);
                Self::Traced(Box::new(Varying { nominal_rate, sender }))
            }
            (None, None) => Self::new(nominal_rate),
        }
    }

    /// When a packet that arrived at `arrival` may begin, once all before it have been given to
    /// [`Transmitter::transmit`].
    #[inline]
    pub fn begin(&mut self, arrival: u64) -> u64 {
        match self {
            Self::Constant(constant) => constant.free_at.max(arrival),
            varying => varying.begin_varying(arrival),
        }
    }

    /// Sends `size` bytes from `begin` on, which [`Transmitter::begin`] told: when they are sent.
    #[inline]
    pub fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        match self {
            Self::Constant(constant) => constant.transmit(begin, size),
            varying => varying.transmit_varying(begin, size),
        }
    }

    /// When the last packet given to it will have been sent.
    #[inline]
    pub fn free_at(&self) -> u64 {
        match self {
            Self::Constant(constant) => constant.free_at,
            varying => varying.varying_free_at(),
        }
    }

    // Out of the way of links of one rate, which are nearly all.

    #[inline(never)]
    fn begin_varying(&mut self, arrival: u64) -> u64 {
        match self {
            Self::Constant(constant) => constant.free_at.max(arrival),
            Self::Scheduled(varying) => varying.sender.free_at.max(arrival),
            Self::Traced(varying) => varying.sender.begin(arrival),
        }
    }

    #[inline(never)]
    fn transmit_varying(&mut self, begin: u64, size: u32) -> u64 {
        match self {
            Self::Constant(constant) => constant.transmit(begin, size),
            Self::Scheduled(varying) => varying.sender.transmit(begin, size),
            Self::Traced(varying) => varying.sender.transmit(size),
        }
    }

    #[inline(never)]
    fn varying_free_at(&self) -> u64 {
        match self {
            Self::Constant(constant) => constant.free_at,
            Self::Scheduled(varying) => varying.sender.free_at,
            Self::Traced(varying) => varying.sender.free_at,
        }
    }

    /// Bits per second, as disciplines are told it.
    pub fn rate(&self) -> u64 {
        match self {
            Self::Constant(constant) => constant.rate,
            Self::Scheduled(varying) => varying.nominal_rate,
            Self::Traced(varying) => varying.nominal_rate,
        }
    }

    /// Bits that remain to be sent at `now` of a packet whose transmission has begun and ends at
    /// `end`; `given_after` bytes have been given to the transmitter after it.
    pub fn bits_ahead(&self, now: u64, end: u64, given_after: u64) -> f64 {
        match self {
            Self::Constant(constant) => {
                end.saturating_sub(now) as f64 * (constant.rate as f64 / 1e9)
            }
            Self::Scheduled(varying) if end > now => {
                let given_after = u128::from(given_after) * 8_000_000_000;
                let sent = varying.sender.done().saturating_sub(given_after);
                sent.saturating_sub(varying.sender.work_until(now)) as f64 / 1e9
            }
            Self::Traced(varying) if end > now => {
                let sent = varying.sender.position().saturating_sub(given_after);
                sent.saturating_sub(varying.sender.bytes_until(now)) as f64 * 8.0
            }
            Self::Scheduled(_) | Self::Traced(_) => 0.0,
        }
    }

    /// Bits that could be sent from `begin` to `end`.
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        match self {
            Self::Constant(constant) => (end - begin) as f64 * (constant.rate as f64 / 1e9),
            Self::Scheduled(varying) => {
                let work = |time| varying.sender.work_until(time);
                (work(end) - work(begin)) as f64 / 1e9
            }
            Self::Traced(varying) => {
                let bytes = |time| varying.sender.bytes_until(time);
                (bytes(end) - bytes(begin)) as f64 * 8.0
            }
        }
    }

    /// A transmitter of another, constant rate that takes this one's place while a packet is being sent
    /// which will now have been sent at `free_at`.
    pub fn replace(&mut self, rate: u64, free_at: u64) {
        let mut constant = ConstantRate::new(rate);
        constant.free_at = free_at;
        *self = Self::Constant(constant);
    }
}

impl ConstantRate {
    fn new(rate: u64) -> Self {
        // Starting just short of a whole nanosecond rounds up: no link is faster than its rate.
        Self { rate, size: 0, whole: 0, remainder: 0, carried: rate - 1, free_at: 0 }
    }

    #[inline]
    fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        self.free_at = (begin + self.time(size)).min(FAR);
        self.free_at
    }

    /// Nanoseconds for the next packet, of `size` bytes. Fractions are carried to the next.
    #[inline]
    fn time(&mut self, size: u32) -> u64 {
        if size != self.size {
            let bits = u64::from(size) * 8_000_000_000;
            self.size = size;
            self.whole = bits / self.rate;
            self.remainder = bits % self.rate;
        }
        self.carried += self.remainder;
        if self.carried >= self.rate {
            self.carried -= self.rate;
            self.whole + 1
        } else {
            self.whole
        }
    }
}
