//! The program's side: what stands for a library in the core.

use std::fmt;
use std::sync::Arc;

use vermilion_aqm::{
    Arrival, Coin, Decide, Departure, Discipline, DropReason, ForeignDiscipline, ForeignFactory,
    LinkFacts, Verdict,
};
use vermilion_parameters::{Algorithm, Description, ParameterError, Settings};
use vermilion_tcp::rule::{Acknowledged, Congestion, WindowRule};
use vermilion_tcp::{ForeignRule, ForeignSenders, Window};

use crate::raw::{
    self, ABI, DONE, DisciplineCalls, It, Made, Packet, Plugin, REFUSED, Rate, RuleCalls, Text,
    Wishes,
};

/// Hears of a panic: what was called, when in nanoseconds if that is known, and its words.
pub type Report = Arc<dyn Fn(&str, Option<u64>, &str) + Send + Sync>;

/// Functions of a library.
#[derive(Clone, Copy, Debug)]
enum Calls {
    Rule(&'static RuleCalls),
    Discipline(&'static DisciplineCalls),
}

/// What a library has.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    algorithm: &'static Algorithm,
    scalable: bool,
    calls: Calls,
}

impl Library {
    /// The library whose function [`SYMBOL`](raw::SYMBOL) has returned this address. Who gives it vouches for that, as for
    /// the library whose code it runs, and for the library to stay loaded.
    ///
    /// # Errors
    /// Another version of the interface, or a description that is not one.
    pub fn at(address: usize) -> Result<Self, ParameterError> {
        let plugin = address as *const Plugin;
        let refused =
            |value: String, accepted: &str| ParameterError::new("plugin", value, accepted);
        // Only this field is where it is in every version.
        let abi = if plugin.is_null() { 0 } else { unsafe { (*plugin).abi } };
        if abi != ABI {
            let value = format!("a library of interface {abi}");
            let accepted = format!(
                "one of interface {ABI}: build it with vermilion-plugin {}",
                env!("CARGO_PKG_VERSION")
            );
            return Err(refused(value, &accepted));
        }
        let plugin = unsafe { &*plugin };
        let description = unsafe { plugin.description.read() };
        let description: Description = serde_json::from_str(&description)
            .map_err(|error| refused(error.to_string(), "the description of an algorithm"))?;
        let calls = unsafe { (plugin.rule.as_ref(), plugin.discipline.as_ref()) };
        let calls = match calls {
            (Some(rule), _) => Calls::Rule(rule),
            (None, Some(discipline)) => Calls::Discipline(discipline),
            (None, None) => return Err(refused("nothing".to_owned(), "a rule or a discipline")),
        };
        Ok(Self { algorithm: description.into_algorithm()?, scalable: plugin.scalable, calls })
    }

    /// Name, source and parameter table.
    #[must_use]
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// True if it has a discipline, false if a congestion control.
    #[must_use]
    pub fn is_discipline(&self) -> bool {
        matches!(self.calls, Calls::Discipline(_))
    }

    /// Makes its rules or its disciplines.
    #[must_use]
    pub fn factory(self, report: Report) -> Factory {
        Factory { library: self, report }
    }
}

/// Makes the rules or the disciplines of a library for one run.
#[derive(Clone)]
pub struct Factory {
    library: Library,
    report: Report,
}

impl fmt::Debug for Factory {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.library.fmt(to)
    }
}

impl Factory {
    /// The parameter error, or the panic, of a call that did not do what it should.
    fn failure(&self, status: u32, doing: &str, words: Text) -> ParameterError {
        let words = unsafe { words.read() };
        if status == REFUSED {
            let parts: Vec<_> = words.splitn(3, '\n').collect();
            if let [field, value, accepted] = parts[..] {
                return ParameterError::new(field, value, accepted);
            }
        }
        (self.report)(doing, None, &words);
        let name = format!("\"{}\"", self.library.algorithm.name);
        ParameterError::new("plugin", name, format!("settings that it accepts: {words}"))
    }

    fn made(
        &self,
        it: It,
        facts: &Made,
        words: extern "C" fn() -> Text,
    ) -> Result<It, ParameterError> {
        if facts.status == DONE && !it.is_null() {
            return Ok(it);
        }
        Err(self.failure(facts.status, "its beginning", words()))
    }
}

impl ForeignSenders for Factory {
    fn algorithm(&self) -> &'static Algorithm {
        self.library.algorithm
    }

    fn is_scalable(&self) -> bool {
        self.library.scalable
    }

    fn rule(&self, settings: &Settings) -> Result<Box<dyn ForeignRule>, ParameterError> {
        let Calls::Rule(calls) = self.library.calls else {
            let name = format!("\"{}\"", self.library.algorithm.name);
            return Err(ParameterError::new("congestion_control", name, "a congestion control"));
        };
        let values = settings.to_values();
        let values = raw::values_of(&values, self.library.algorithm);
        let mut facts = Made::default();
        let it = unsafe { (calls.make)(values.as_ptr(), values.len(), &mut facts) };
        let it = self.made(it, &facts, calls.last_words)?;
        let (wishes, failed) = (facts.wishes, false);
        Ok(Box::new(Rule { it, calls, facts, wishes, failed, report: Arc::clone(&self.report) }))
    }
}

/// The rule of one flow.
struct Rule {
    it: It,
    calls: &'static RuleCalls,
    facts: Made,
    wishes: Wishes,
    /// It has panicked, and is not called any more.
    failed: bool,
    report: Report,
}

// The library's types are both.
unsafe impl Send for Rule {}
unsafe impl Sync for Rule {}

impl fmt::Debug for Rule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wishes.fmt(to)
    }
}

impl Drop for Rule {
    fn drop(&mut self) {
        unsafe { (self.calls.free)(self.it) };
    }
}

impl Rule {
    #[cold]
    fn fail(&mut self, doing: &str, now: Option<u64>) {
        self.failed = true;
        let words = unsafe { (self.calls.last_words)().read() };
        (self.report)(doing, now, &words);
    }

    /// Tells it something that may change the window.
    #[inline]
    fn tell(
        &mut self,
        (doing, now): (&str, u64),
        window: &mut Window,
        tell: impl FnOnce(&RuleCalls, It, *mut raw::Window, *mut Wishes) -> u32,
    ) {
        if self.failed {
            return;
        }
        let mut own = raw::Window::from(&*window);
        if tell(self.calls, self.it, &mut own, &mut self.wishes) == DONE {
            *window = own.into();
        } else {
            self.fail(doing, Some(now));
        }
    }
}

impl WindowRule for Rule {
    fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
        let rate = event.rate.as_ref().map(Rate::from);
        let asked = Acknowledged {
            // Where it is not asked for it may be that of another segment.
            forward_delay: event.forward_delay.filter(|_| self.facts.fourth),
            ..*event
        };
        let told = raw::Acknowledged::new(&asked, rate.as_ref());
        self.tell(("grow", event.now), window, |calls, it, window, wishes| unsafe {
            (calls.grow)(it, &told, window, wishes)
        });
    }

    fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
        if self.failed {
            return base;
        }
        let sign = raw::sign_code(sign);
        let own = raw::Window::from(window);
        let answer =
            unsafe { (self.calls.reduced)(self.it, now, sign, base, &own, &mut self.wishes) };
        if answer.is_nan() {
            self.fail("reduced", Some(now));
            return base;
        }
        answer
    }

    fn timed_out(&mut self, now: u64) {
        let done = self.failed
            || unsafe { (self.calls.timed_out)(self.it, now, &mut self.wishes) } == DONE;
        if !done {
            self.fail("timed_out", Some(now));
        }
    }

    fn answers_marks(&self) -> bool {
        self.facts.second
    }

    fn governs_window(&self) -> bool {
        self.facts.first
    }

    fn reads_forward_delay(&self) -> bool {
        // One that governs its window wants the delivery rate, which the plain way has not either.
        self.facts.fourth || self.facts.first
    }

    fn space(&mut self, now: u64, wait: u64) -> (u64, u32) {
        if self.failed {
            return (wait, 0);
        }
        let mut at_once = 0;
        let later = unsafe { (self.calls.space)(self.it, now, wait, &mut at_once) };
        if later == u64::MAX {
            self.fail("space", Some(now));
            return (wait, 0);
        }
        (later, at_once)
    }

    fn pacing_rate(&self) -> Option<f64> {
        (!self.wishes.pacing_rate.is_nan()).then_some(self.wishes.pacing_rate)
    }

    fn has_hooks(&self) -> bool {
        self.facts.third
    }

    fn on_sent(&mut self, now: u64, sequence: u32, again: bool, window: &mut Window) {
        self.tell(("on_sent", now), window, |calls, it, window, wishes| unsafe {
            (calls.on_sent)(it, now, sequence, again, window, wishes)
        });
    }

    fn deadline(&self) -> u64 {
        if self.failed { u64::MAX } else { self.wishes.deadline }
    }

    fn on_timer(&mut self, now: u64, window: &mut Window) {
        self.tell(("on_timer", now), window, |calls, it, window, wishes| unsafe {
            (calls.on_timer)(it, now, window, wishes)
        });
    }
}

/// A copy; the same instance would be freed twice.
fn copied(copy: It, words: extern "C" fn() -> Text) -> It {
    assert!(!copy.is_null(), "a plug-in's instance cannot be copied: {}", unsafe {
        words().read()
    });
    copy
}

impl ForeignRule for Rule {
    fn copy(&self) -> Box<dyn ForeignRule> {
        let it = copied(unsafe { (self.calls.copy)(self.it) }, self.calls.last_words);
        let Self { calls, facts, wishes, failed, .. } = *self;
        Box::new(Self { it, calls, facts, wishes, failed, report: Arc::clone(&self.report) })
    }
}

impl ForeignFactory for Factory {
    fn algorithm(&self) -> &'static Algorithm {
        self.library.algorithm
    }

    fn make(
        &self,
        settings: &Settings,
        link: LinkFacts,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError> {
        let Calls::Discipline(calls) = self.library.calls else {
            let name = format!("\"{}\"", self.library.algorithm.name);
            return Err(ParameterError::new("discipline", name, "a discipline"));
        };
        let values = settings.to_values();
        let values = raw::values_of(&values, self.library.algorithm);
        let mut facts = Made::default();
        let it = unsafe { (calls.make)(values.as_ptr(), values.len(), link.into(), &mut facts) };
        let it = self.made(it, &facts, calls.last_words)?;
        Ok(Box::new(Native { it, calls, facts, failed: false, factory: self.clone() }))
    }
}

/// The discipline of one queue.
struct Native {
    it: It,
    calls: &'static DisciplineCalls,
    facts: Made,
    failed: bool,
    factory: Factory,
}

unsafe impl Send for Native {}
unsafe impl Sync for Native {}

impl fmt::Debug for Native {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.factory.fmt(to)
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        unsafe { (self.calls.free)(self.it) };
    }
}

impl Native {
    #[cold]
    fn fail(&mut self, doing: &str, now: Option<u64>) {
        self.failed = true;
        let words = unsafe { (self.calls.last_words)().read() };
        (self.factory.report)(doing, now, &words);
    }

    #[inline]
    fn verdict(&mut self, code: u64, doing: &str, now: u64) -> Verdict {
        if code == u64::MAX {
            self.fail(doing, Some(now));
            return Verdict::Accept;
        }
        raw::verdict_of(code)
    }
}

impl Discipline for Native {
    fn watches_departures(&self) -> bool {
        self.facts.first
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        let values = settings.to_values();
        let values = raw::values_of(&values, self.factory.library.algorithm);
        let calls = self.calls;
        let status =
            unsafe { (calls.reconfigure)(self.it, values.as_ptr(), values.len(), link.into()) };
        if status == DONE {
            return Ok(());
        }
        Err(self.factory.failure(status, "a change", (calls.last_words)()))
    }

    fn is_flushed_by_change(&self) -> bool {
        self.facts.second
    }

    fn link_changed(&mut self, link: LinkFacts) {
        if unsafe { (self.calls.link_changed)(self.it, link.into()) } != DONE {
            self.fail("link_changed", None);
        }
    }

    fn average_queue(&self) -> Option<f64> {
        let average = unsafe { (self.calls.average_queue)(self.it) };
        (!average.is_nan()).then_some(average)
    }

    fn drop_probability(&self) -> Option<f64> {
        let probability = unsafe { (self.calls.drop_probability)(self.it) };
        (!probability.is_nan()).then_some(probability)
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        let cause = unsafe { (self.calls.cause)(self.it, raw::reason_code(reason)) };
        // Once for each drop that somebody writes down: words of a library that stays loaded.
        unsafe { cause.stays() }
    }
}

/// A coin of any kind, as a C function draws it.
unsafe extern "C" fn draw(source: *mut std::ffi::c_void) -> f64 {
    unsafe { &mut *source.cast::<&mut dyn Coin>() }.uniform()
}

impl<'coin> Decide<dyn Coin + 'coin> for Native {
    fn on_arrival(&mut self, arrival: &Arrival, mut coin: &mut (dyn Coin + 'coin)) -> Verdict {
        if self.failed {
            return Verdict::Accept;
        }
        let coin = raw::Coin { source: (&raw mut coin).cast(), draw };
        let code = unsafe { (self.calls.on_arrival)(self.it, &Packet::arrives(arrival), coin) };
        self.verdict(code, "on_arrival", arrival.now)
    }

    fn on_departure(
        &mut self,
        departure: &Departure,
        mut coin: &mut (dyn Coin + 'coin),
    ) -> Verdict {
        if self.failed {
            return Verdict::Accept;
        }
        let coin = raw::Coin { source: (&raw mut coin).cast(), draw };
        let code = unsafe { (self.calls.on_departure)(self.it, &Packet::leaves(departure), coin) };
        self.verdict(code, "on_departure", departure.now)
    }
}

impl ForeignDiscipline for Native {
    fn algorithm(&self) -> &'static Algorithm {
        self.factory.library.algorithm
    }

    fn copy(&self) -> Box<dyn ForeignDiscipline> {
        let it = copied(unsafe { (self.calls.copy)(self.it) }, self.calls.last_words);
        let Self { calls, facts, failed, .. } = *self;
        Box::new(Self { it, calls, facts, failed, factory: self.factory.clone() })
    }
}
