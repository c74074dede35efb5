//! The library's side: each type's C functions, which catch panics.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use vermilion_aqm::{Decide, LinkFacts, Listed};
use vermilion_parameters::{Algorithm, AlgorithmSettings, Description, ParameterError, Settings};
use vermilion_tcp::rule::WindowRule;

use crate::raw::{
    self, ABI, DONE, DisciplineCalls, It, Link, Made, PANICKED, Packet, Plugin, REFUSED, RawValue,
    RuleCalls, Status, Text, Wishes,
};

/// A congestion control: a [`WindowRule`] that is made from settings.
///
/// Those have the parts that all senders have, `..common: CommonSettings` and `..recovery: Recovery`, and its own.
pub trait CongestionControl: WindowRule + Clone + Send + Sync + 'static {
    /// Its settings, from whose declaration the parameter table is.
    type Settings: AlgorithmSettings;

    /// True if its data is ECT(1) (RFC 9331).
    const SCALABLE: bool = false;

    /// The rule of a connection that begins.
    ///
    /// # Errors
    /// Values that the table accepts one by one but that do not go together.
    fn new(settings: Self::Settings) -> Result<Self, ParameterError>;
}

thread_local! {
    static LAST_WORDS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics are kept for who asks for the last words, and not printed. A library has a hook of its own.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.to_string().replace('\n', " ");
        LAST_WORDS.with(|last| *last.borrow_mut() = words);
    }));
}

extern "C" fn last_words() -> Text {
    LAST_WORDS.with(|last| Text::of(&last.borrow()))
}

fn guarded<T>(otherwise: T, act: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(otherwise)
}

fn refused(error: &ParameterError) {
    let words = [&*error.field, &*error.value, &*error.accepted].join("\n");
    LAST_WORDS.with(|last| *last.borrow_mut() = words);
}

/// Settings of the values that a program has given.
///
/// # Safety
/// There are so many values.
unsafe fn settings(
    values: *const RawValue,
    count: usize,
    algorithm: &'static Algorithm,
) -> Result<Settings, ParameterError> {
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    unsafe { raw::settings_of(values, algorithm) }
}

/// Makes an instance of such values, says what is to be known of it, and gives it away.
///
/// # Safety
/// As for [`settings`], and nobody else uses the facts.
unsafe fn make<S: AlgorithmSettings, T>(
    values: *const RawValue,
    count: usize,
    facts: *mut Made,
    new: impl FnOnce(S) -> Result<T, ParameterError>,
    of: impl FnOnce(&T, &mut Made),
) -> It {
    let facts = unsafe { &mut *facts };
    facts.status = PANICKED;
    guarded(std::ptr::null_mut(), || {
        let settings = unsafe { settings(values, count, const { &S::ALGORITHM }) };
        match settings.and_then(|set| new(set.read())) {
            Ok(it) => {
                facts.status = DONE;
                of(&it, facts);
                Box::into_raw(Box::new(it)).cast()
            }
            Err(error) => {
                refused(&error);
                facts.status = REFUSED;
                std::ptr::null_mut()
            }
        }
    })
}

/// An instance.
///
/// # Safety
/// `it` is one of this type that [`make`] has given away and nobody else uses now.
unsafe fn at<'a, T>(it: It) -> &'a mut T {
    unsafe { &mut *it.cast::<T>() }
}

unsafe extern "C" fn copy<T: Clone>(it: It) -> It {
    guarded(std::ptr::null_mut(), || Box::into_raw(Box::new(unsafe { at::<T>(it) }.clone())).cast())
}

unsafe extern "C" fn free<T>(it: It) {
    guarded((), || drop(unsafe { Box::from_raw(it.cast::<T>()) }));
}

fn text(description: &Description) -> Text {
    // It is there for as long as the library is.
    Text::of(String::leak(serde_json::to_string(description).unwrap_or_default()))
}

/// The congestion control of a library.
#[must_use]
pub fn congestion_control<R: CongestionControl>() -> Plugin {
    Plugin {
        abi: ABI,
        scalable: R::SCALABLE,
        description: text(&(&R::Settings::ALGORITHM).into()),
        rule: const { &rule_calls::<R>() },
        discipline: std::ptr::null(),
    }
}

/// The discipline of a library.
#[must_use]
pub fn discipline<D: Listed + Decide<raw::Coin> + Clone + Send + Sync + 'static>() -> Plugin {
    Plugin {
        abi: ABI,
        scalable: false,
        description: text(&(&D::ALGORITHM).into()),
        rule: std::ptr::null(),
        discipline: const { &discipline_calls::<D>() },
    }
}

const fn rule_calls<R: CongestionControl>() -> RuleCalls {
    RuleCalls {
        make: make_rule::<R>,
        copy: copy::<R>,
        free: free::<R>,
        last_words,
        grow: grow::<R>,
        reduced: reduced::<R>,
        timed_out: timed_out::<R>,
        space: space::<R>,
        on_sent: on_sent::<R>,
        on_timer: on_timer::<R>,
    }
}

unsafe extern "C" fn make_rule<R: CongestionControl>(
    values: *const RawValue,
    count: usize,
    facts: *mut Made,
) -> It {
    let of = |rule: &R, facts: &mut Made| {
        (facts.first, facts.second) = (rule.governs_window(), rule.answers_marks());
        (facts.third, facts.fourth) = (rule.has_hooks(), rule.reads_forward_delay());
        facts.wishes = wishes(rule);
    };
    unsafe { make(values, count, facts, R::new, of) }
}

fn wishes(rule: &impl WindowRule) -> Wishes {
    let pacing_rate = rule.pacing_rate().unwrap_or(f64::NAN);
    Wishes { pacing_rate, deadline: rule.deadline() }
}

/// Tells a rule something that may change its window, and says what it wishes after that.
unsafe fn told<R: CongestionControl>(
    it: It,
    window: *mut raw::Window,
    wanted: *mut Wishes,
    tell: impl FnOnce(&mut R, &mut vermilion_tcp::Window),
) -> Status {
    guarded(PANICKED, || {
        let rule = unsafe { at::<R>(it) };
        let mut own = unsafe { *window }.into();
        tell(rule, &mut own);
        unsafe { (*window, *wanted) = ((&own).into(), wishes(rule)) };
        DONE
    })
}

unsafe extern "C" fn grow<R: CongestionControl>(
    it: It,
    event: *const raw::Acknowledged,
    window: *mut raw::Window,
    wanted: *mut Wishes,
) -> Status {
    unsafe { told::<R>(it, window, wanted, |rule, window| rule.grow(&(*event).read(), window)) }
}

unsafe extern "C" fn reduced<R: CongestionControl>(
    it: It,
    now: u64,
    sign: u32,
    base: f64,
    window: *const raw::Window,
    wanted: *mut Wishes,
) -> f64 {
    guarded(f64::NAN, || {
        let rule = unsafe { at::<R>(it) };
        let answer = rule.reduced(now, raw::sign_of(sign), base, &unsafe { *window }.into());
        unsafe { *wanted = wishes(rule) };
        answer
    })
}

unsafe extern "C" fn timed_out<R: CongestionControl>(
    it: It,
    now: u64,
    wanted: *mut Wishes,
) -> Status {
    guarded(PANICKED, || {
        let rule = unsafe { at::<R>(it) };
        rule.timed_out(now);
        unsafe { *wanted = wishes(rule) };
        DONE
    })
}

/// `u64::MAX`: it panicked.
unsafe extern "C" fn space<R: CongestionControl>(
    it: It,
    now: u64,
    wait: u64,
    at_once: *mut u32,
) -> u64 {
    guarded(u64::MAX, || {
        let (wait, more) = unsafe { at::<R>(it) }.space(now, wait);
        unsafe { *at_once = more };
        wait
    })
}

unsafe extern "C" fn on_sent<R: CongestionControl>(
    it: It,
    now: u64,
    sequence: u32,
    again: bool,
    window: *mut raw::Window,
    wanted: *mut Wishes,
) -> Status {
    let tell = |rule: &mut R, window: &mut _| rule.on_sent(now, sequence, again, window);
    unsafe { told(it, window, wanted, tell) }
}

unsafe extern "C" fn on_timer<R: CongestionControl>(
    it: It,
    now: u64,
    window: *mut raw::Window,
    wanted: *mut Wishes,
) -> Status {
    unsafe { told(it, window, wanted, |rule: &mut R, window| rule.on_timer(now, window)) }
}

const fn discipline_calls<D: Listed + Decide<raw::Coin> + Clone>() -> DisciplineCalls {
    DisciplineCalls {
        make: make_discipline::<D>,
        copy: copy::<D>,
        free: free::<D>,
        last_words,
        on_arrival: on_arrival::<D>,
        on_departure: on_departure::<D>,
        reconfigure: reconfigure::<D>,
        link_changed: link_changed::<D>,
        average_queue: average_queue::<D>,
        drop_probability: drop_probability::<D>,
        cause: cause::<D>,
    }
}

unsafe extern "C" fn make_discipline<D: Listed>(
    values: *const RawValue,
    count: usize,
    link: Link,
    facts: *mut Made,
) -> It {
    let of = |it: &D, facts: &mut Made| {
        (facts.first, facts.second) = (it.watches_departures(), it.is_flushed_by_change());
    };
    unsafe { make(values, count, facts, |set| D::new(set, link.into()), of) }
}

unsafe extern "C" fn on_arrival<D: Decide<raw::Coin>>(
    it: It,
    packet: *const Packet,
    mut coin: raw::Coin,
) -> u64 {
    guarded(u64::MAX, || {
        let arrival = unsafe { &*packet }.arrival();
        raw::verdict_code(unsafe { at::<D>(it) }.on_arrival(&arrival, &mut coin))
    })
}

unsafe extern "C" fn on_departure<D: Decide<raw::Coin>>(
    it: It,
    packet: *const Packet,
    mut coin: raw::Coin,
) -> u64 {
    guarded(u64::MAX, || {
        let departure = unsafe { &*packet }.departure();
        raw::verdict_code(unsafe { at::<D>(it) }.on_departure(&departure, &mut coin))
    })
}

unsafe extern "C" fn reconfigure<D: Listed>(
    it: It,
    values: *const RawValue,
    count: usize,
    link: Link,
) -> Status {
    guarded(PANICKED, || {
        let settings = unsafe { settings(values, count, const { &D::ALGORITHM }) };
        let changed = settings.and_then(|set| {
            let link: LinkFacts = link.into();
            unsafe { at::<D>(it) }.reconfigure(&set, link)
        });
        changed.map_or_else(
            |error| {
                refused(&error);
                REFUSED
            },
            |()| DONE,
        )
    })
}

unsafe extern "C" fn link_changed<D: Listed>(it: It, link: Link) -> Status {
    guarded(PANICKED, || {
        unsafe { at::<D>(it) }.link_changed(link.into());
        DONE
    })
}

unsafe extern "C" fn average_queue<D: Listed>(it: It) -> f64 {
    guarded(f64::NAN, || unsafe { at::<D>(it) }.average_queue().unwrap_or(f64::NAN))
}

unsafe extern "C" fn drop_probability<D: Listed>(it: It) -> f64 {
    guarded(f64::NAN, || unsafe { at::<D>(it) }.drop_probability().unwrap_or(f64::NAN))
}

unsafe extern "C" fn cause<D: Listed>(it: It, reason: u32) -> Text {
    let reason = raw::reason_of(reason);
    Text::of(guarded("", || unsafe { at::<D>(it) }.cause(reason)))
}
