//! The C side of the interface: `u64::MAX` and NaN stand for what there is not.

use std::ffi::c_void;

use vermilion_aqm::{Colour, DropKind, DropReason, Ecn, LinkFacts, Verdict};
use vermilion_parameters::{Algorithm, ParameterError, Settings, Value, Values};
use vermilion_tcp::delivery_rate::{LossSample, RateSample};
use vermilion_tcp::rule::{self, Congestion};

/// Version of the interface: another one is refused.
pub const ABI: u32 = 1;
/// Symbol by which a library is known.
pub const SYMBOL: &str = "vermilion_plugin";

/// All that a library says of itself.
#[repr(C)]
#[derive(Debug)]
pub struct Plugin {
    /// Its [`ABI`]: first in every version.
    pub abi: u32,
    /// True if data of a congestion control is ECT(1).
    pub scalable: bool,
    /// Name, source and parameter table, as JSON.
    pub description: Text,
    /// Functions of a congestion control; null of anything else.
    pub rule: *const RuleCalls,
    /// Functions of a discipline; null of anything else.
    pub discipline: *const DisciplineCalls,
}

/// What came of a call.
pub type Status = u32;
/// All is well.
pub const DONE: Status = 0;
/// It panicked: [`Plugin`]s say why when they are asked for their last words.
pub const PANICKED: Status = 1;
/// It refused a value: its last words are field, value and what is accepted, apart by line feeds.
pub const REFUSED: Status = 2;

/// An instance, as only its library knows it.
pub type It = *mut c_void;

/// Text of UTF-8 that belongs to the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    /// The same text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { start: text.as_ptr(), length: text.len() }
    }

    /// A copy.
    ///
    /// # Safety
    /// It must still be there.
    #[must_use]
    pub unsafe fn read(self) -> String {
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The text itself; nothing if it is no UTF-8.
    ///
    /// # Safety
    /// It must stay for ever.
    pub(crate) unsafe fn stays(self) -> &'static str {
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.length) };
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// The value of a parameter, in the order of the table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawValue {
    /// 0 automatic, 1 a number, 2 a switch, 3 a choice.
    kind: u32,
    number: f64,
    text: Text,
}

/// The values of settings, in the order of their table, which keeps their text.
#[must_use]
pub fn values_of(settings: &Values, algorithm: &Algorithm) -> Vec<RawValue> {
    let none = Text::of("");
    let value = |name: &str| match settings.get(name) {
        Some(Value::Number(number)) => RawValue { kind: 1, number: *number, text: none },
        Some(Value::Switch(on)) => RawValue { kind: 2, number: f64::from(*on), text: none },
        Some(Value::Choice(text)) => RawValue { kind: 3, number: 0.0, text: Text::of(text) },
        _ => RawValue { kind: 0, number: 0.0, text: none },
    };
    algorithm.parameters.iter().map(|row| value(row.name)).collect()
}

/// The settings that values in the order of a table are.
///
/// # Safety
/// Texts must still be there.
pub(crate) unsafe fn settings_of(
    values: &[RawValue],
    algorithm: &Algorithm,
) -> Result<Settings, ParameterError> {
    let mut named = Values::new();
    for (row, value) in algorithm.parameters.iter().zip(values) {
        let value = match value.kind {
            1 => Value::Number(value.number),
            2 => Value::Switch(value.number != 0.0),
            3 => Value::Choice(unsafe { value.text.read() }),
            _ => Value::Automatic,
        };
        named.insert(row.name.to_owned(), value);
    }
    Settings::resolve(algorithm, &named)
}

fn or_max(value: Option<u64>) -> u64 {
    value.unwrap_or(u64::MAX)
}

fn unless_max(value: u64) -> Option<u64> {
    (value != u64::MAX).then_some(value)
}

/// A window, in segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Window {
    congestion: f64,
    slow_start_threshold: f64,
    cap: f64,
}

impl From<&vermilion_tcp::Window> for Window {
    fn from(it: &vermilion_tcp::Window) -> Self {
        let vermilion_tcp::Window { congestion, slow_start_threshold, cap } = *it;
        Self { congestion, slow_start_threshold, cap }
    }
}

impl From<Window> for vermilion_tcp::Window {
    fn from(it: Window) -> Self {
        let Window { congestion, slow_start_threshold, cap } = it;
        Self { congestion, slow_start_threshold, cap }
    }
}

/// See [`rule::Acknowledged`]; `rate` is null where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    now: u64,
    counted: f64,
    round_trip: u64,
    forward_delay: u64,
    smoothed_round_trip: u64,
    rate: *const Rate,
    delivered: u32,
    marked: u32,
    unacknowledged: u32,
    highest: u32,
    in_network: u32,
    lost: u32,
    in_recovery: bool,
}

/// See [`RateSample`]; without a loss `loss_lost` is `u64::MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    rate: f64,
    delivered: u64,
    prior_delivered: u64,
    lost: u64,
    all_lost: u64,
    age: u64,
    loss_lost: u64,
    loss_in_network: u32,
    sent_in_network: u32,
    loss_limited: bool,
    limited: bool,
}

impl Acknowledged {
    /// The same news, whose rate stands elsewhere.
    pub(crate) fn new(event: &rule::Acknowledged, rate: Option<&Rate>) -> Self {
        Self {
            now: event.now,
            counted: event.counted,
            round_trip: or_max(event.round_trip),
            forward_delay: or_max(event.forward_delay),
            smoothed_round_trip: or_max(event.smoothed_round_trip),
            rate: rate.map_or(std::ptr::null(), std::ptr::from_ref),
            delivered: event.delivered,
            marked: event.marked,
            unacknowledged: event.unacknowledged,
            highest: event.highest,
            in_network: event.in_network,
            lost: event.lost,
            in_recovery: event.in_recovery,
        }
    }

    /// The same news.
    ///
    /// # Safety
    /// The rate must still be there.
    pub(crate) unsafe fn read(&self) -> rule::Acknowledged {
        rule::Acknowledged {
            now: self.now,
            delivered: self.delivered,
            counted: self.counted,
            marked: self.marked,
            round_trip: unless_max(self.round_trip),
            forward_delay: unless_max(self.forward_delay),
            smoothed_round_trip: unless_max(self.smoothed_round_trip),
            unacknowledged: self.unacknowledged,
            highest: self.highest,
            in_network: self.in_network,
            in_recovery: self.in_recovery,
            lost: self.lost,
            rate: unsafe { self.rate.as_ref() }.map(RateSample::from),
        }
    }
}

impl From<&RateSample> for Rate {
    fn from(it: &RateSample) -> Self {
        Self {
            rate: it.rate.unwrap_or(f64::NAN),
            delivered: it.delivered,
            prior_delivered: it.prior_delivered,
            lost: it.lost,
            all_lost: it.all_lost,
            age: it.age,
            loss_lost: it.loss.map_or(u64::MAX, |loss| loss.lost),
            loss_in_network: it.loss.map_or(0, |loss| loss.sent_in_network),
            sent_in_network: it.sent_in_network,
            loss_limited: it.loss.is_some_and(|loss| loss.application_limited),
            limited: it.application_limited,
        }
    }
}

impl From<&Rate> for RateSample {
    fn from(it: &Rate) -> Self {
        Self {
            rate: (!it.rate.is_nan()).then_some(it.rate),
            delivered: it.delivered,
            prior_delivered: it.prior_delivered,
            lost: it.lost,
            all_lost: it.all_lost,
            age: it.age,
            sent_in_network: it.sent_in_network,
            application_limited: it.limited,
            loss: unless_max(it.loss_lost).map(|lost| LossSample {
                sent_in_network: it.loss_in_network,
                lost,
                application_limited: it.loss_limited,
            }),
        }
    }
}

/// The number of a sign of congestion.
pub(crate) fn sign_code(sign: Congestion) -> u32 {
    match sign {
        Congestion::Loss => 0,
        Congestion::Mark => 1,
        Congestion::Timeout => 2,
    }
}

pub(crate) fn sign_of(code: u32) -> Congestion {
    match code {
        0 => Congestion::Loss,
        1 => Congestion::Mark,
        _ => Congestion::Timeout,
    }
}

/// Wishes of a rule, of which the sender need not ask again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Segments a second; NaN: it does not pace.
    pub pacing_rate: f64,
    /// When it wants to be called.
    pub deadline: u64,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { pacing_rate: f64::NAN, deadline: u64::MAX }
    }
}

/// What is known of an instance that has been made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// Whether it has been.
    pub status: Status,
    /// The rule alone sets the window; a discipline watches departures.
    pub first: bool,
    /// The rule answers every mark; a change of settings empties a discipline's queue.
    pub second: bool,
    /// The rule has hooks.
    pub third: bool,
    /// The rule asks for the forward delay.
    pub fourth: bool,
    /// Wishes of a rule.
    pub wishes: Wishes,
}

/// Functions of a congestion control: see [`WindowRule`](rule::WindowRule).
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "named like the methods")]
pub struct RuleCalls {
    pub make: unsafe extern "C" fn(*const RawValue, usize, *mut Made) -> It,
    pub copy: unsafe extern "C" fn(It) -> It,
    pub free: unsafe extern "C" fn(It),
    pub last_words: extern "C" fn() -> Text,
    pub grow: unsafe extern "C" fn(It, *const Acknowledged, *mut Window, *mut Wishes) -> Status,
    pub reduced: unsafe extern "C" fn(It, u64, u32, f64, *const Window, *mut Wishes) -> f64,
    pub timed_out: unsafe extern "C" fn(It, u64, *mut Wishes) -> Status,
    pub space: unsafe extern "C" fn(It, u64, u64, *mut u32) -> u64,
    pub on_sent: unsafe extern "C" fn(It, u64, u32, bool, *mut Window, *mut Wishes) -> Status,
    pub on_timer: unsafe extern "C" fn(It, u64, *mut Window, *mut Wishes) -> Status,
}

/// A packet that arrives or leaves, and its queue: see [`Arrival`](vermilion_aqm::Arrival) and
/// [`Departure`](vermilion_aqm::Departure).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named like the fields of those")]
pub struct Packet {
    pub now: u64,
    /// When it arrived; of one that arrives: since when the queue is empty.
    pub since: u64,
    pub idle_since: u64,
    pub queue_bytes: u64,
    pub queue_packets: u32,
    pub size: u32,
    pub flow: u32,
    pub ecn: u8,
    pub colour: u8,
}

impl Packet {
    pub(crate) fn arrives(it: &vermilion_aqm::Arrival) -> Self {
        Self {
            now: it.now,
            since: it.empty_since,
            idle_since: or_max(it.idle_since),
            queue_bytes: it.queue_bytes,
            queue_packets: it.queue_packets,
            size: it.size,
            flow: it.flow,
            ecn: it.ecn as u8,
            colour: it.colour as u8,
        }
    }

    pub(crate) fn leaves(it: &vermilion_aqm::Departure) -> Self {
        Self {
            now: it.now,
            since: it.arrived,
            idle_since: u64::MAX,
            queue_bytes: it.queue_bytes,
            queue_packets: it.queue_packets,
            size: it.size,
            flow: it.flow,
            ecn: it.ecn as u8,
            colour: it.colour as u8,
        }
    }

    fn ecn(&self) -> Ecn {
        [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::CongestionExperienced]
            [usize::from(self.ecn & 3)]
    }

    fn colour(&self) -> Colour {
        [Colour::Green, Colour::Yellow, Colour::Red, Colour::Red][usize::from(self.colour & 3)]
    }

    pub(crate) fn arrival(&self) -> vermilion_aqm::Arrival {
        vermilion_aqm::Arrival {
            now: self.now,
            size: self.size,
            flow: self.flow,
            ecn: self.ecn(),
            colour: self.colour(),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            empty_since: self.since,
            idle_since: unless_max(self.idle_since),
        }
    }

    pub(crate) fn departure(&self) -> vermilion_aqm::Departure {
        vermilion_aqm::Departure {
            now: self.now,
            arrived: self.since,
            size: self.size,
            flow: self.flow,
            ecn: self.ecn(),
            colour: self.colour(),
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
        }
    }
}

/// A reason in 24 bits: its kind, whether it is the discipline's own, and which of those.
pub(crate) fn reason_code(reason: DropReason) -> u32 {
    let kind = match reason.kind() {
        DropKind::Early => 0,
        DropKind::Forced => 1,
        DropKind::Overflow => 2,
    };
    match reason {
        DropReason::Own { cause, .. } => kind | 4 | u32::from(cause) << 8,
        _ => kind,
    }
}

pub(crate) fn reason_of(code: u32) -> DropReason {
    let kind = [DropKind::Early, DropKind::Forced, DropKind::Overflow, DropKind::Overflow]
        [(code & 3) as usize];
    if code & 4 != 0 {
        return DropReason::Own { kind, cause: (code >> 8) as u16 };
    }
    match kind {
        DropKind::Early => DropReason::Early,
        DropKind::Forced => DropReason::Forced,
        DropKind::Overflow => DropReason::Overflow,
    }
}

/// A verdict in 64 bits: which, the reason from bit 8 on, the place from bit 32 on. [`u64::MAX`]: it panicked.
pub(crate) fn verdict_code(verdict: Verdict) -> u64 {
    let reason = |reason| u64::from(reason_code(reason)) << 8;
    match verdict {
        Verdict::Accept => 0,
        Verdict::Mark => 1,
        Verdict::Drop(why) => 2 | reason(why),
        Verdict::MakeRoom { place, reason: why } => 3 | reason(why) | u64::from(place) << 32,
    }
}

pub(crate) fn verdict_of(code: u64) -> Verdict {
    let reason = reason_of((code >> 8) as u32 & 0xff_ffff);
    match code & 0xff {
        0 => Verdict::Accept,
        1 => Verdict::Mark,
        2 => Verdict::Drop(reason),
        _ => Verdict::MakeRoom { place: (code >> 32) as u32, reason },
    }
}

/// A source of random numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Coin {
    /// Whatever [`Coin::draw`] is given.
    pub source: *mut c_void,
    /// The next number, uniform over `[0, 1)`.
    pub draw: unsafe extern "C" fn(*mut c_void) -> f64,
}

impl vermilion_aqm::Coin for Coin {
    fn uniform(&mut self) -> f64 {
        unsafe { (self.draw)(self.source) }
    }
}

/// A link, in bit/s and seconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named like the fields of LinkFacts")]
pub struct Link {
    pub rate: f64,
    pub delay: f64,
}

impl From<LinkFacts> for Link {
    fn from(LinkFacts { rate, delay }: LinkFacts) -> Self {
        Self { rate, delay }
    }
}

impl From<Link> for LinkFacts {
    fn from(Link { rate, delay }: Link) -> Self {
        Self { rate, delay }
    }
}

/// Functions of a discipline: see [`Discipline`](vermilion_aqm::Discipline) and [`Decide`](vermilion_aqm::Decide).
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "named like the methods")]
pub struct DisciplineCalls {
    pub make: unsafe extern "C" fn(*const RawValue, usize, Link, *mut Made) -> It,
    pub copy: unsafe extern "C" fn(It) -> It,
    pub free: unsafe extern "C" fn(It),
    pub last_words: extern "C" fn() -> Text,
    pub on_arrival: unsafe extern "C" fn(It, *const Packet, Coin) -> u64,
    pub on_departure: unsafe extern "C" fn(It, *const Packet, Coin) -> u64,
    pub reconfigure: unsafe extern "C" fn(It, *const RawValue, usize, Link) -> Status,
    pub link_changed: unsafe extern "C" fn(It, Link) -> Status,
    pub average_queue: unsafe extern "C" fn(It) -> f64,
    pub drop_probability: unsafe extern "C" fn(It) -> f64,
    pub cause: unsafe extern "C" fn(It, u32) -> Text,
}
