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

pub use crate::limits::FAR;

/// Sender of a link's packets, one after the other. Nearly all links have one rate: that it is
/// another kind is asked once for each packet, and when it will be free not at all.
#[derive(Clone, Debug)]
pub struct Transmitter {
    /// The rate, which is what disciplines are told, and when everything will have been sent.
    constant: ConstantRate,
    varying: Option<Box<Varying>>,
}

/// A transmitter whose rate varies.
#[derive(Clone, Debug)]
enum Varying {
    /// At rates that follow a schedule.
    Scheduled(ScheduledRate),
    /// At the opportunities of a recorded trace.
    Traced(TracedLink),
}

/// Transmission at one rate; times are exact in the long run.
#[derive(Clone, Debug)]
struct ConstantRate {
    rate: u64,
    size: u32,
    whole: u64,
    remainder: u64,
    carried: u64,
    free_at: u64,
}

impl Transmitter {
    /// Idle transmitter of a link that sends at `rate` bits per second, by a schedule, or at the opportunities of a
    /// trace; all of them have been checked.
    pub fn new(rate: u64, schedule: Option<&RateSchedule>, trace: Option<&DeliveryTrace>) -> Self {
        let varying = match (schedule, trace) {
            (Some(schedule), _) => Some(Varying::Scheduled(ScheduledRate::new(schedule))),
            (None, Some(trace)) => Some(Varying::Traced(TracedLink::new(trace))),
            (None, None) => None,
        };
        let constant = ConstantRate::new(rate);
        Self { constant, varying: varying.map(Box::new) }
    }

    /// When a packet that arrived at `arrival` may begin, once all before it have been given to
    /// [`Transmitter::transmit`].
    pub fn begin(&self, arrival: u64) -> u64 {
        match self.varying.as_deref() {
            Some(Varying::Traced(link)) => link.begin(arrival),
            _ => self.constant.free_at.max(arrival),
        }
    }

    /// Sends `size` bytes from `begin` on, which [`Transmitter::begin`] told: when they are sent.
    pub fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        match &mut self.varying {
            None => self.constant.transmit(begin, size),
            Some(varying) => {
                self.constant.free_at = varying.transmit(begin, size);
                self.constant.free_at
            }
        }
    }

    /// Sends `size` bytes that arrive at `arrival`, once all before them have been sent: when that begins and ends.
    #[inline(always)] // for every packet
    pub fn send(&mut self, arrival: u64, size: u32) -> (u64, u64) {
        if self.varying.is_some() {
            return self.send_varying(arrival, size);
        }
        let begin = self.constant.free_at.max(arrival);
        (begin, self.constant.transmit(begin, size))
    }

    #[cold]
    fn send_varying(&mut self, arrival: u64, size: u32) -> (u64, u64) {
        let begin = self.begin(arrival);
        (begin, self.transmit(begin, size))
    }

    /// The last packets given to it, which have waited without a break and not begun, of `bytes`
    /// altogether, will not be sent; the packet before them will have been sent at `end`.
    pub fn take_back(&mut self, end: u64, bytes: u64) {
        self.constant.free_at = end;
        match self.varying.as_deref_mut() {
            None => {}
            Some(Varying::Scheduled(sender)) => sender.take_back(end, bytes),
            Some(Varying::Traced(sender)) => sender.take_back(end, bytes),
        }
    }

    /// When the last packet given to it will have been sent.
    pub fn free_at(&self) -> u64 {
        self.constant.free_at
    }

    /// When a packet will have been sent after which `given_after` bytes have been given, which wait; the
    /// next of them begins at `next_start`, if there is one.
    pub fn end_of(&self, given_after: u64, next_start: Option<u64>) -> u64 {
        match self.varying.as_deref() {
            // Opportunities are not all at one place: the next may begin later.
            Some(Varying::Traced(sender)) => sender.end_of(given_after),
            _ => next_start.unwrap_or(self.constant.free_at),
        }
    }

    /// Bits per second, as disciplines are told it.
    pub fn rate(&self) -> u64 {
        self.constant.rate
    }

    /// Bits that remain to be sent at `now` of a packet whose transmission has begun and ends at
    /// `end`; `given_after` bytes have been given to the transmitter after it.
    pub fn bits_ahead(&self, now: u64, end: u64, given_after: u64) -> f64 {
        match self.varying.as_deref() {
            None => end.saturating_sub(now) as f64 * (self.constant.rate as f64 / 1e9),
            Some(Varying::Scheduled(_)) if end <= now => 0.0,
            Some(Varying::Scheduled(sender)) => {
                let given_after = u128::from(given_after) * 8_000_000_000;
                let sent = sender.done().saturating_sub(given_after);
                sent.saturating_sub(sender.work_until(now)) as f64 / 1e9
            }
            // What is sent at this very instant lies ahead, as its opportunities do.
            Some(Varying::Traced(_)) if end < now => 0.0,
            Some(Varying::Traced(sender)) => {
                let sent = sender.position_before(given_after);
                sent.saturating_sub(sender.bytes_before(now)) as f64 * 8.0
            }
        }
    }

    /// Bits that could be sent from `begin` on and before `end`.
    pub fn capacity(&self, begin: u64, end: u64) -> f64 {
        match self.varying.as_deref() {
            None => (end - begin) as f64 * (self.constant.rate as f64 / 1e9),
            Some(Varying::Scheduled(sender)) => {
                (sender.work_until(end) - sender.work_until(begin)) as f64 / 1e9
            }
            Some(Varying::Traced(sender)) => {
                (sender.bytes_before(end) - sender.bytes_before(begin)) as f64 * 8.0
            }
        }
    }

    /// Another, constant rate takes this one's place while a packet is being sent which will now
    /// have been sent at `free_at`.
    pub fn replace(&mut self, rate: u64, free_at: u64) {
        self.constant = ConstantRate::new(rate);
        self.constant.free_at = free_at;
        self.varying = None;
    }
}

impl Varying {
    #[inline(never)]
    fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        match self {
            Self::Scheduled(sender) => sender.transmit(begin, size),
            Self::Traced(sender) => sender.transmit(begin, size),
        }
    }
}

impl ConstantRate {
    fn new(rate: u64) -> Self {
        // Starting just short of a whole nanosecond rounds up: no link is faster than its rate.
        Self { rate, size: 0, whole: 0, remainder: 0, carried: rate - 1, free_at: 0 }
    }

    #[inline(always)] // as above
    fn transmit(&mut self, begin: u64, size: u32) -> u64 {
        self.free_at = (begin + self.time(size)).min(FAR);
        self.free_at
    }

    /// Nanoseconds for the next packet, of `size` bytes. Fractions are carried to the next.
    #[inline(always)] // as above
    fn time(&mut self, size: u32) -> u64 {
        if size != self.size {
            self.take_size(size);
        }
        if self.remainder == 0 {
            return self.whole; // sizes and rates are round as a rule
        }
        // No branch: which packets take a nanosecond more is hard to guess, and a wrong guess is dear.
        let carried = self.carried + self.remainder;
        let (left, is_less) = carried.overflowing_sub(self.rate);
        self.carried = if is_less { carried } else { left };
        self.whole + u64::from(!is_less)
    }

    #[cold] // packets mostly are as large as the one before
    #[inline(never)]
    fn take_size(&mut self, size: u32) {
        let bits = u64::from(size) * 8_000_000_000;
        self.size = size;
        self.whole = bits / self.rate;
        self.remainder = bits % self.rate;
    }
}
