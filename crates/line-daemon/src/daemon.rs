//! Loop of one line: clock, sockets, shapers, and what is said.

use std::fs;
use std::io::{Write, stdout};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::time::{TimeSpec, TimeValLike};
use vermilion_parameters::{Value, Values};
use vermilion_shaping::keeper::{Event, Keeper, Mode, Sight, is_same, shown};
use vermilion_shaping::{Answer, AnyLaw, Direction, RateLaw, Waiting};

use crate::clock::{MS, SECOND, now};
use crate::guardian::Guardian;
use crate::probes::{Answered, Prober};
use crate::settings::Settings;
use crate::shaper::{Place, Shaper};
use crate::sockets::Sockets;

const TICK: u64 = 25 * MS;
/// Bytes in a second that show that the line is not down.
const CARRIES: u64 = 5_000;
/// Load from which a direction explains a wait that may be either's.
const LOADED: f64 = 0.5;
const IDLE: f64 = 0.2;
const REFUSED_FOR: u64 = 5 * SECOND;
/// Silence of this process after which the guardian may have set the safe rate.
const GUARDED_AFTER: u64 = 4 * SECOND;

/// Puts back the rates that a file has, and removes it.
///
/// # Errors
/// There is no such file, or a rate cannot be set.
pub fn undo(set: &Settings) -> Result<(), String> {
    let path = &set.undo;
    let text = fs::read_to_string(path)
        .map_err(|_| format!("there is nothing to undo: {path} is not there"))?;
    for (address, rate) in rates_of(&text) {
        let place = Place::new(address)?;
        place.read().and_then(|shaper| place.set(&shaper, rate))?;
        println!("{address}: {}, as it was found", shown(rate));
    }
    fs::remove_file(path).map_err(|error| format!("{path}: {error}"))
}

/// Rates in a file of them, a shaper a line.
fn rates_of(text: &str) -> impl Iterator<Item = (&str, f64)> {
    text.lines().filter_map(|line| {
        let (address, rate) = line.split_once(' ')?;
        Some((address, rate.parse().ok()?))
    })
}

/// One direction while it is kept.
struct Side {
    direction: Direction,
    place: Place,
    /// As it was found, whose bursts are kept.
    shaper: Shaper,
    law: AnyLaw,
    keeper: Keeper,
    guardian: Option<Guardian>,
    /// Safe rate that the guardian was told last, and when.
    told: (f64, u64),
    sight: Sight,
    load: f64,
    changes: u64,
    refused_until: u64,
    wait_here: f64,
    /// True once the line was seen without load, or has been emptied.
    knows_empty: bool,
}

impl Side {
    fn name(&self) -> &'static str {
        if self.direction == Direction::Up { "up" } else { "down" }
    }

    /// Bytes of this direction of those received and sent.
    fn bytes(&self, traffic: [u64; 2]) -> u64 {
        traffic[usize::from(self.direction == Direction::Up)]
    }

    /// One line about the line.
    fn report(&self) -> String {
        let state = self.law.state();
        let line = match (state.capacity, state.doubt) {
            (Some(capacity), Some(doubt)) => {
                format!(", the line about {} +- {:.0} %", shown(capacity), 100.0 * doubt)
            }
            _ => String::new(),
        };
        let waits = format!(
            "{:.1} ms on the line, {:.1} ms here",
            1e3 * state.wait_behind.unwrap_or(0.0),
            1e3 * self.wait_here
        );
        let place = match (state.waiting, self.direction) {
            (None, _) => "where packets wait is not known: no answers".to_owned(),
            (Some(Waiting::Behind), Direction::Up) => {
                format!("packets wait behind the shaper, whose rate is too high: {waits}")
            }
            (Some(Waiting::Behind), Direction::Down) => {
                format!("packets wait before they arrive: {waits}")
            }
            _ if !self.knows_empty => {
                "where packets wait is not known: busy from the beginning".to_owned()
            }
            (Some(Waiting::Here), _) => format!("packets wait here: {waits}"),
            (Some(Waiting::Nowhere), _) => format!("packets wait nowhere: {waits}"),
        };
        let (name, rate) = (self.name(), shown(self.keeper.in_force));
        let constants = state.choice.map_or_else(String::new, |it| {
            let (share, target) = (100.0 * it.share, 1e3 * it.target);
            format!("; {share:.0} % of it and {target:.0} ms on it did best in a model of it")
        });
        format!("{name}: {rate}{line}{constants}; {place}")
    }

    /// What there is to say of an event: rates are in the reports.
    fn say(&self, event: Event) -> Option<String> {
        let again = match event {
            Event::Applied(..) => return None,
            Event::HandsOff(_) => " until this is started again",
            _ => "",
        };
        Some(format!("{}: {event}{again}", self.name()))
    }

    /// Reads the shaper: true if its rate may be set.
    fn look(&mut self, events: &mut Vec<Event>) -> Result<bool, String> {
        let shaper = self.place.read()?;
        self.wait_here = 8.0 * f64::from(shaper.backlog) / shaper.rate.max(1.0);
        let is_new = self.shaper.follow(&shaper);
        let (safe, at) = self.told;
        let is_guarded = now().saturating_sub(at) > GUARDED_AFTER && is_same(shaper.rate, safe);
        // With a rate of its own, or set by the guardian while this process could not run.
        if is_new || is_guarded {
            self.keeper.in_force = shaper.rate;
        }
        Ok(self.keeper.was_read(shaper.rate, &mut |event| events.push(event)))
    }

    /// Sets a rate, unless somebody else has set one since.
    fn set(&mut self, now: u64, rate: f64, events: &mut Vec<Event>) -> Result<(), String> {
        if self.look(events)? {
            self.place.set(&self.shaper, rate)?;
            self.keeper.was_set(now, rate, &mut |event| events.push(event));
            self.changes += 1;
        }
        Ok(())
    }
}

/// Bytes received and sent of an interface.
fn traffic(interface: &str) -> Option<[u64; 2]> {
    counters_of(&fs::read_to_string("/proc/net/dev").ok()?, interface)
}

/// Bytes received and sent of an interface, in the words of `/proc/net/dev`.
fn counters_of(text: &str, interface: &str) -> Option<[u64; 2]> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(interface)?.strip_prefix(':'))?;
    let mut numbers = line.split_whitespace().map(str::parse);
    Some([numbers.next()?.ok()?, numbers.nth(7)?.ok()?])
}

fn law(direction: Direction, set: &Settings, start: f64) -> Result<AnyLaw, String> {
    let word = if direction == Direction::Up { "up" } else { "down" };
    let mut values = Values::from([
        ("direction".to_owned(), Value::Choice(word.to_owned())),
        ("excess".to_owned(), Value::Number(set.excess)),
        ("minimum".to_owned(), Value::Number(set.minimum)),
    ]);
    if start > 0.0 {
        values.insert("start".to_owned(), Value::Number(start));
    }
    AnyLaw::from_values("tuned-service-curve", &values).map_err(|error| error.to_string())
}

/// Opens the shapers; what stands there is written down before anything is changed.
fn sides(set: &Settings) -> Result<Vec<Side>, String> {
    let left = fs::read_to_string(&set.undo).unwrap_or_default();
    let mut sides = Vec::new();
    for (direction, address) in [(Direction::Up, &set.up), (Direction::Down, &set.down)] {
        let Some(address) = address else { continue };
        let place = Place::new(address)?;
        let shaper = place.read()?;
        let before = rates_of(&left).find(|(other, _)| other == address).map(|(_, rate)| rate);
        let mode = if set.controls { Mode::Control } else { Mode::Observe };
        let mut keeper = Keeper::new(before.unwrap_or(shaper.rate), mode, set.minimum);
        keeper.in_force = shaper.rate;
        let guardian = None;
        let law = law(direction, set, shaper.rate)?;
        sides.push(Side {
            direction,
            place,
            shaper,
            law,
            keeper,
            guardian,
            told: (0.0, 0),
            sight: Sight::default(),
            load: 0.0,
            changes: 0,
            refused_until: 0,
            wait_here: 0.0,
            knows_empty: false,
        });
    }
    if set.controls {
        let lines =
            sides.iter().map(|it| format!("{} {:.0}\n", it.place.address(), it.keeper.found));
        fs::write(&set.undo, lines.collect::<String>())
            .map_err(|error| format!("{} cannot be written: {error}", set.undo))?;
        for side in &mut sides {
            // What is in force already, to know that it may be set.
            side.place.set(&side.shaper, side.shaper.rate)?;
            side.guardian = Some(Guardian::new(side.place.address())?);
        }
    }
    Ok(sides)
}

/// Keeps the rates until a signal comes.
///
/// # Errors
/// It cannot begin: what is missing, and how to get it.
pub fn run(set: &Settings) -> Result<(), String> {
    let begun = now();
    let sockets = Sockets::new(&set.interface, (std::process::id() & 0xffff) as u16)?;
    if traffic(&set.interface).is_none() {
        return Err(format!("{}: there is no interface of that name", set.interface));
    }
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    let mut sides = sides(set)?;
    signals.thread_block().map_err(|error| error.to_string())?;
    let signalled = SignalFd::new(&signals).map_err(|error| error.to_string())?;
    let mut line = Line {
        begun,
        prober: Prober::new(&set.reflectors),
        sockets,
        past: Vec::new(),
        counted: traffic(&set.interface).unwrap_or_default(),
        is_gone: false,
    };
    for side in &sides {
        let does = if set.controls { "the rate follows the line" } else { "nothing is changed" };
        let (name, address) = (side.name(), side.place.address());
        line.say(&format!(
            "{name}: {} at {address}, found at {}; {does}",
            side.shaper.kind,
            shown(side.shaper.rate)
        ));
        if side.keeper.found != side.shaper.rate {
            let found = shown(side.keeper.found);
            line.say(&format!("{name}: the run before did not end in order; it had found {found}"));
        }
    }
    let (mut tick, mut second) = (begun, begun);
    let mut report = begun + (set.report * 1e9) as u64;
    loop {
        let time = now();
        if let Some((to, sequence)) = line.prober.due(time) {
            line.sockets.send(to, sequence);
        }
        let wake = tick.min(line.prober.next);
        let timeout = TimeSpec::nanoseconds(wake.saturating_sub(now()) as i64);
        let mut waits = [
            PollFd::new(line.sockets.as_fd(), PollFlags::POLLIN),
            PollFd::new(signalled.as_fd(), PollFlags::POLLIN),
        ];
        let _ = ppoll(&mut waits, Some(timeout), None);
        if waits[1].any() == Some(true) {
            break;
        }
        if waits[0].any() == Some(true) {
            line.hear(set, &mut sides);
        }
        let time = now();
        if time >= tick {
            tick = (tick + TICK).max(time + TICK / 2);
            line.tick(set, &mut sides, time);
        }
        if time >= second {
            second = (second + SECOND).max(time + SECOND / 2);
            line.each_second(set, &mut sides, time);
        }
        if time >= report {
            report = time + (set.report * 1e9) as u64;
            for side in &sides {
                line.say(&side.report());
            }
            let (sent, answered) = line.prober.counts;
            line.say(&format!("{answered} of {sent} probes answered"));
        }
    }
    let mut kept = Ok(());
    for side in &mut sides {
        let found = side.keeper.found;
        let mut events = Vec::new();
        let changes = side.changes;
        let done = if side.keeper.acts() && changes > 0 {
            side.set(now(), found, &mut events)
        } else {
            Ok(())
        };
        line.tell(side, &events);
        match done {
            Ok(()) if side.changes > changes => {
                line.say(&format!("{}: ended; {}, as it was found", side.name(), shown(found)));
            }
            Ok(()) => line.say(&format!("{}: ended; nothing is put back", side.name())),
            Err(reason) => kept = Err(reason),
        }
    }
    if set.controls && kept.is_ok() {
        let _ = fs::remove_file(&set.undo);
    }
    kept
}

/// The line's probes and counters.
struct Line {
    begun: u64,
    prober: Prober,
    sockets: Sockets,
    /// Counters of the last second.
    past: Vec<(u64, [u64; 2])>,
    counted: [u64; 2],
    is_gone: bool,
}

impl Line {
    fn say(&self, words: &str) {
        // Nobody who reads it any more is no reason to end.
        let _ = writeln!(stdout(), "{:9.2} s  {words}", (now() - self.begun) as f64 / 1e9);
    }

    /// Counters now; the last ones while the interface is gone (PPPoE).
    fn traffic(&mut self, interface: &str) -> [u64; 2] {
        match traffic(interface) {
            Some(counted) => self.counted = counted,
            None => self.is_gone = true,
        }
        self.counted
    }

    fn hear(&mut self, set: &Settings, sides: &mut [Side]) {
        let traffic = self.traffic(&set.interface);
        for (heard, at) in self.sockets.heard() {
            if heard.is_answer {
                if let Some(answer) = self.prober.take(heard, at) {
                    tell(sides, answer);
                }
            } else if let Some(left) = self.prober.left(heard, at) {
                for side in &mut *sides {
                    let bytes = side.bytes(traffic);
                    side.law.probe_sent(left, bytes);
                }
            }
        }
    }

    fn tick(&mut self, set: &Settings, sides: &mut [Side], now: u64) {
        let lost = self.prober.expire(now);
        let traffic = self.traffic(&set.interface);
        self.past.push((now, traffic));
        self.past.retain(|&(time, _)| time + SECOND >= now);
        let (since, before) = self.past[0];
        let came = |at: usize| traffic[at].saturating_sub(before[at]);
        let unanswered = now - self.prober.last_answer.unwrap_or(self.begun);
        for side in sides {
            for &sent in &lost {
                side.law.lost(sent);
            }
            let wanted = side.law.rate(now, side.bytes(traffic));
            let passed = 8.0 * came(usize::from(side.direction == Direction::Up)) as f64;
            side.sight = Sight {
                wanted,
                capacity: side.law.state().capacity,
                answers: self.prober.counts.1,
                unanswered,
                carries: came(0) > CARRIES,
                passed,
                still: now.saturating_sub(self.prober.fell),
                trip: self.prober.trip,
            };
            let mut events = Vec::new();
            let rate = side.keeper.step(now, side.sight, &mut |event| events.push(event));
            let likely = side.sight.capacity.unwrap_or(side.keeper.in_force);
            let is_idle = now - since > SECOND - 2 * TICK && passed < IDLE * likely;
            side.knows_empty |= side.keeper.has_drained() || is_idle;
            side.load = passed / side.keeper.in_force.max(1.0);
            if let Some(rate) = rate.filter(|_| now >= side.refused_until)
                && let Err(reason) = side.set(now, rate, &mut events)
            {
                side.refused_until = now + REFUSED_FOR;
                self.say(&reason);
            }
            self.tell(side, &events);
        }
    }

    fn tell(&self, side: &Side, events: &[Event]) {
        events.iter().filter_map(|&event| side.say(event)).for_each(|words| self.say(&words));
    }

    fn each_second(&mut self, set: &Settings, sides: &mut [Side], now: u64) {
        if self.is_gone
            && let Ok(sockets) = Sockets::new(&set.interface, (std::process::id() & 0xffff) as u16)
        {
            (self.sockets, self.is_gone) = (sockets, false);
            self.say(&format!("{} has come back", set.interface));
        }
        for address in self.prober.check_reflectors(now) {
            self.say(&format!("{address} does not answer, and is not asked any more"));
        }
        let (mut slowest, mut is_busy) = (f64::MAX, false);
        for side in sides {
            let mut events = Vec::new();
            side.keeper.each_second();
            if let Err(reason) = side.look(&mut events)
                && now >= side.refused_until
            {
                side.refused_until = now + REFUSED_FOR;
                self.say(&reason);
            }
            self.tell(side, &events);
            let safe = side.keeper.acts().then(|| side.keeper.safe());
            if let Some(guardian) = &mut side.guardian {
                let safe = safe.filter(|_| side.changes > 0);
                guardian.tell(safe);
                side.told = (safe.unwrap_or(0.0), now);
            }
            slowest = slowest.min(side.sight.wanted);
            is_busy |= side.load > 0.05;
        }
        self.prober.pace(now, slowest, is_busy);
    }
}

/// Tells the laws of an answer.
fn tell(sides: &mut [Side], answer: Answered) {
    let Answered { reflector, sent, received, wait } = answer;
    let loads: Vec<f64> = sides.iter().map(|side| side.load).collect();
    for (place, side) in sides.iter_mut().enumerate() {
        let others = loads.iter().enumerate().filter(|&(other, _)| other != place);
        let most = others.map(|(_, &load)| load).fold(0.0, f64::max);
        // A round trip alone does not tell which direction is slow: the one that is loaded.
        let own_wait = if loads[place] < LOADED && most >= LOADED { wait } else { 0 };
        side.law.answered(Answer { reflector, sent, received, one_way: None, own_wait });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_interface() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes packets\n\
            \x20eth0.2: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
            \x20 eth0:1000 2 0 0 0 0 0 0 18446744073709551615 10 0 0 0 0 0 0\n";
        assert_eq!(counters_of(text, "eth0"), Some([1000, u64::MAX]));
        assert_eq!(counters_of(text, "eth0.2"), Some([1, 9]));
        assert_eq!(counters_of(text, "eth"), None);
        assert_eq!(counters_of("eth0: 1 2", "eth0"), None);
    }

    #[test]
    fn rates_of_a_damaged_file_are_those_that_can_be_read() {
        let text = "eth0 10000000\nifb4eth0/1:10 5000000\nnonsense\neth1 fast\n";
        let rates: Vec<_> = rates_of(text).collect();
        assert_eq!(rates, [("eth0", 1e7), ("ifb4eth0/1:10", 5e6)]);
    }
}
