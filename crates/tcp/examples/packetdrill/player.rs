//! Plays a script against a sender.
//!
//! The sender of this crate counts segments of one size and knows no receive window that changes, no
//! data towards it. A script that needs one of these is refused. Of the end of a connection only that the application
//! has closed it is known: the segment that says so (FIN), and its acknowledgement, are passed over. The opening
//! segment stands for SYN as for SYN-ACK. Where a script has no timestamps, a round trip is timed for every
//! acknowledgement all the same, from the first segment that it covers, as the kernel does.

use std::collections::{BTreeMap, VecDeque};

use vermilion_parameters::{Value, Values};
use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Acknowledgement, Sender};

use super::script::{Event, Moment, Packet, Refusal, Script, Statement};

/// Fate of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything was as it says.
    Agrees,
    /// This was not.
    Differs(String),
    /// It cannot be played.
    Refused(Refusal),
}

/// The longest that a packet without a time is waited for, in nanoseconds.
const LONGEST_WAIT: u64 = 120_000_000_000;
/// A slow start threshold that no window reaches, in segments, and what the kernel calls it.
const ENDLESS: f64 = 1e6;
const INFINITE: i64 = 0x7fff_ffff;
/// More steps of the sender than that at one moment mean that it does not stop.
const MOST_STEPS: u32 = 100_000;

/// Segments on their way out, and what the script said of the connection.
struct Player {
    sender: Sender,
    profile: Profile,
    begun: bool,
    now: u64,
    /// When each segment left, and which, and whether it said that the window is reduced: those that no line of the
    /// script has met.
    left: VecDeque<(u64, u32, bool)>,
    /// When each segment left last.
    times: Vec<u64>,
    unacknowledged: u32,
    /// Bytes that the application has written.
    written: u32,
    closed: bool,
    segment_size: u32,
    /// Variables of the script's Python.
    variables: BTreeMap<String, i64>,
}

/// Plays a script.
pub fn play(script: &Script) -> Verdict {
    let mut player = match Player::new(script) {
        Ok(player) => player,
        Err(reason) => return Verdict::Refused(reason),
    };
    let mut before = 0;
    for (line, moment, event) in &script.events {
        let (from, until) = match *moment {
            Moment::Given { relative, from, spread } => {
                let from = if relative { before + from } else { from };
                (from, from + spread)
            }
            Moment::Any => (before, before + LONGEST_WAIT),
        };
        let outcome = match event {
            Event::Out(packet) => {
                let window = (from.saturating_sub(script.tolerance), until + script.tolerance);
                player.expect(packet, window)
            }
            _ => player.advance(from, false).and_then(|()| {
                if script.sender.is_some() && matches!(event, Event::In(_) | Event::Write(_)) {
                    player.expect_no_more()?;
                }
                player.take(event)
            }),
        };
        before = if *moment == Moment::Any { player.now } else { from };
        match outcome {
            Ok(()) => {}
            Err(Trouble::Differs(what)) => return Verdict::Differs(format!("line {line}: {what}")),
            Err(Trouble::Refused(what)) => return Verdict::Refused(format!("line {line}: {what}")),
        }
    }
    match player.expect_no_more() {
        Err(Trouble::Differs(what)) if script.sender.is_some() => {
            Verdict::Differs(format!("at the end: {what}"))
        }
        _ => Verdict::Agrees,
    }
}

enum Trouble {
    Differs(String),
    Refused(String),
}

fn refused<T>(what: &str) -> Result<T, Trouble> {
    Err(Trouble::Refused(what.to_owned()))
}

impl Player {
    fn new(script: &Script) -> Result<Self, Refusal> {
        let packets = script.events.iter().filter_map(|(_, _, event)| match event {
            Event::In(packet) => Some(packet),
            _ => None,
        });
        let Some(opening) = packets.clone().find(|packet| packet.flags.contains('S')) else {
            return Err("no SYN arrives: nothing says how large segments are".to_owned());
        };
        let segment_size = opening.option("mss ").unwrap_or(536);
        let segment_size = if opening.options.iter().any(|option| option.starts_with("TS ")) {
            segment_size - 12
        } else {
            segment_size
        };
        let scale = opening.option("wscale ").unwrap_or(0);
        let widest = packets
            .filter(|packet| !packet.flags.contains('S'))
            .filter_map(|packet| packet.window)
            .map(|window| (u64::from(window) << scale) / u64::from(segment_size))
            .max();
        let (name, mut values) = sender_of(script)?;
        let mut fallback = |name: &str, value: Value| {
            values.entry(name.to_owned()).or_insert(value);
        };
        if let Some(widest) = widest {
            fallback("window_cap", Value::Number(widest.clamp(1, 1_000_000) as f64));
            // Whatever the receiver allows, the first slow start has no end.
            fallback("initial_slow_start_threshold", Value::Number(ENDLESS));
        }
        if script.sender.is_none() && !opening.options.iter().any(|option| option == "sackOK") {
            fallback("recovery", Value::Choice("linux-newreno".to_owned()));
        }
        // Both ends have agreed on marks (RFC 3168, section 6.1.1).
        if script.sender.is_none() && opening.flags.contains('E') {
            fallback("ecn", Value::Switch(true));
        }
        let profile = Profile::from_values(&name, &values).map_err(|error| format!("{error:?}"))?;
        let (mut sender, _) = profile.ends(0);
        sender.limit_to(0);
        Ok(Self {
            sender,
            profile,
            begun: false,
            now: 0,
            left: VecDeque::new(),
            times: Vec::new(),
            unacknowledged: 0,
            written: 0,
            closed: false,
            segment_size,
            variables: BTreeMap::new(),
        })
    }

    /// Take an event that is no packet which must leave.
    fn take(&mut self, event: &Event) -> Result<(), Trouble> {
        match event {
            Event::Write(bytes) => {
                if !self.written.is_multiple_of(self.segment_size) {
                    return refused("only the last segment may be short");
                }
                self.written += bytes;
                self.sender.supply(self.now, bytes.div_ceil(self.segment_size));
                self.drain();
                Ok(())
            }
            Event::In(packet) => self.receive(packet),
            Event::Code(statements) => statements.iter().try_for_each(|it| self.execute(it)),
            Event::Close => {
                self.closed = true;
                Ok(())
            }
            Event::Call | Event::Out(_) => Ok(()),
        }
    }

    /// The segment that begins with this byte; 0 is the opening one.
    fn segment(&self, byte: u32) -> Result<u32, Trouble> {
        match byte.checked_sub(1) {
            None => Ok(0),
            Some(before) if before.is_multiple_of(self.segment_size) || before == self.written => {
                Ok(before.div_ceil(self.segment_size) + 1)
            }
            Some(_) => refused("what is not a whole number of segments is not modelled"),
        }
    }

    /// The segments that a stretch of bytes covers from end to end: the first, and the one after the last.
    fn covered(&self, first: u32, after: u32) -> (u32, u32) {
        let size = self.segment_size;
        let (first, after) = (first.saturating_sub(1), after.saturating_sub(1));
        let end = if after == self.written { after.div_ceil(size) } else { after / size };
        (first.div_ceil(size) + 1, end + 1)
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.sender.start(&self.profile.sender);
            self.drain();
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Trouble> {
        if packet.length > 0 {
            return refused("data towards the sender is not modelled");
        }
        if packet.flags.contains('F') && !self.closed {
            return refused("the end of a connection from afar is not modelled");
        }
        self.begin();
        let Some(acknowledged) = packet.acknowledged else { return Ok(()) };
        let end = self.written + 1;
        let acknowledged = if self.closed { acknowledged.min(end) } else { acknowledged };
        let next_expected = self.segment(acknowledged)?;
        if next_expected as usize > self.times.len() {
            let left = self.times.len().saturating_sub(1) as u32 * self.segment_size + 1;
            let what = format!("{acknowledged} is acknowledged, but only up to {left} has left");
            return Err(Trouble::Differs(what));
        }
        let blocks = packet.blocks().into_iter().map(|(first, after)| self.covered(first, after));
        let blocks: Vec<_> = blocks.filter(|(first, after)| first < after).collect();
        let first = self.unacknowledged.min(next_expected.saturating_sub(1));
        let echo = self.times.get(first as usize).copied().unwrap_or(0);
        self.unacknowledged = self.unacknowledged.max(next_expected);
        let answer = Acknowledgement {
            next_expected,
            echo,
            congestion_echo: packet.flags.contains('E') && !packet.flags.contains('S'),
            blocks: &blocks,
            ..Acknowledgement::default()
        };
        self.sender.on_acknowledgement(self.now, &answer);
        self.drain();
        Ok(())
    }

    /// Whatever may leave now leaves.
    fn drain(&mut self) {
        if !self.begun {
            return;
        }
        for _ in 0..MOST_STEPS {
            let Some(segment) = self.sender.next_segment(self.now) else { return };
            let index = segment.sequence as usize;
            self.times.resize(self.times.len().max(index + 1), self.now);
            self.times[index] = self.now;
            self.left.push_back((self.now, segment.sequence, segment.window_reduced));
        }
    }

    /// Lets time pass until `until`, or (`or_packet`) until something leaves.
    fn advance(&mut self, until: u64, or_packet: bool) -> Result<(), Trouble> {
        for _ in 0..MOST_STEPS {
            if or_packet && !self.left.is_empty() {
                return Ok(());
            }
            let release = match self.sender.release() {
                0 => u64::MAX,
                release => release,
            };
            let deadline = if self.begun { self.sender.deadline() } else { u64::MAX };
            let next = deadline.min(release);
            if next > until {
                self.now = self.now.max(until);
                return Ok(());
            }
            self.now = self.now.max(next);
            if deadline <= self.now {
                self.sender.on_timer(self.now);
            }
            self.drain();
        }
        Err(Trouble::Differs("the sender does not stop".to_owned()))
    }

    /// The next packet must be this one and leave at a time between two.
    fn expect(&mut self, packet: &Packet, (earliest, latest): (u64, u64)) -> Result<(), Trouble> {
        let opening = packet.flags.contains('S');
        if !opening && packet.length == 0 {
            let third = packet.first <= 1 && self.written == 0; // of an active opening
            if third || self.closed {
                return Ok(());
            }
            return refused("acknowledgements that leave are not modelled");
        }
        if opening {
            self.begin();
        }
        let first = self.segment(packet.first)?;
        let after = if opening { 1 } else { self.segment(packet.first + packet.length)? };
        for sequence in first..after {
            self.advance(latest, true)?;
            let Some((time, segment, reduced)) = self.left.pop_front() else {
                let byte = packet.first;
                return Err(Trouble::Differs(format!("nothing left, but {byte} should have")));
            };
            let at = time as f64 / 1e9;
            if segment != sequence {
                let byte = segment.saturating_sub(1) * self.segment_size + 1;
                let wanted = sequence.saturating_sub(1) * self.segment_size + 1;
                return Err(Trouble::Differs(format!("{byte} left at {at} s instead of {wanted}")));
            }
            // The opening segment's flag has another meaning (RFC 3168, section 6.1.1).
            if !opening && sequence == first && reduced != packet.flags.contains('W') {
                let does = if reduced { "says" } else { "does not say" };
                let byte = packet.first;
                return Err(Trouble::Differs(format!("{byte} {does} that the window is reduced")));
            }
            if time < earliest || time > latest {
                let (from, until) = (earliest as f64 / 1e9, latest as f64 / 1e9);
                return Err(Trouble::Differs(format!("left at {at} s, not in {from} .. {until}")));
            }
        }
        Ok(())
    }

    /// Nothing has left that no line has met. Asked only of scripts that are written for this player: others may name
    /// what leaves for several packets after all of them.
    fn expect_no_more(&self) -> Result<(), Trouble> {
        let Some(&(time, segment, _)) = self.left.front() else { return Ok(()) };
        let byte = segment.saturating_sub(1) * self.segment_size + 1;
        let at = time as f64 / 1e9;
        Err(Trouble::Differs(format!("{byte} left at {at} s, and no line says so")))
    }

    fn execute(&mut self, statement: &Statement) -> Result<(), Trouble> {
        match statement {
            Statement::Assert(comparison) => self.compare(comparison),
            Statement::Set(name, adds, value) => {
                let before = if *adds { self.value(name)? } else { 0 };
                let value = before + self.value(value)?;
                self.variables.insert(name.clone(), value);
                Ok(())
            }
        }
    }

    fn compare(&self, [left, operator, right]: &[String; 3]) -> Result<(), Trouble> {
        let (found, wanted) = (self.value(left)?, self.value(right)?);
        let holds = match operator.as_str() {
            "==" => found == wanted,
            "!=" => found != wanted,
            ">=" => found >= wanted,
            "<=" => found <= wanted,
            ">" => found > wanted,
            _ => found < wanted,
        };
        if holds {
            Ok(())
        } else {
            Err(Trouble::Differs(format!("{left} is {found}, not {operator} {right}")))
        }
    }

    fn value(&self, name: &str) -> Result<i64, Trouble> {
        if let Ok(number) = name.parse() {
            return Ok(number);
        }
        if let Some(value) = self.variables.get(name) {
            return Ok(*value);
        }
        let hexadecimal = name.strip_prefix("0x").and_then(|it| i64::from_str_radix(it, 16).ok());
        if let Some(number) = hexadecimal {
            return Ok(number);
        }
        let sender = &self.sender;
        Ok(match name {
            "tcpi_snd_cwnd" => sender.window().floor() as i64,
            "tcpi_snd_ssthresh" if sender.threshold() >= ENDLESS => INFINITE,
            "tcpi_snd_ssthresh" => sender.threshold().floor() as i64,
            "TCP_INFINITE_SSTHRESH" => INFINITE,
            "tcpi_unacked" => sender.outstanding().into(),
            "tcpi_sacked" => sender.sacked().into(),
            "tcpi_lost" => sender.lost().into(),
            "tcpi_retrans" => {
                let (arrived, lost) = (i64::from(sender.sacked()), i64::from(sender.lost()));
                let outstanding = i64::from(sender.outstanding());
                i64::from(sender.in_flight()) + arrived + lost - outstanding
            }
            // Here the number of arrivals after which a segment is lost never changes.
            "tcpi_reordering" => 3,
            "tcpi_reord_seen" => 0,
            "tcpi_total_retrans" => sender.counters().retransmissions as i64,
            "tcpi_ca_state" => sender.state() as i64,
            "TCP_CA_Open" => 0,
            "TCP_CA_Disorder" => 1,
            "TCP_CA_CWR" => 2,
            "TCP_CA_Recovery" => 3,
            "TCP_CA_Loss" => 4,
            _ => return refused(&format!("{name} is not known here")),
        })
    }
}

/// The sender and the parameters that a script means.
fn sender_of(script: &Script) -> Result<(String, Values), Refusal> {
    let Some(text) = &script.sender else {
        let name = match script.congestion_control.as_deref() {
            None | Some("cubic") => "cubic",
            Some("reno") => "sack",
            Some("dctcp") => "dctcp",
            Some(other) => return Err(format!("congestion control {other} is not modelled")),
        };
        let mut values = Values::new();
        values.insert("option_set".to_owned(), Value::Choice("linux".to_owned()));
        if script.paced {
            values.insert("pacing".to_owned(), Value::Switch(true));
        }
        if script.probes_off {
            values.insert("tail_loss_probe".to_owned(), Value::Switch(false));
        }
        return Ok((name.to_owned(), values));
    };
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default().to_owned();
    let mut values = Values::new();
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("{word} is not a parameter: name=value"));
        };
        let value = match value {
            "true" => Value::Switch(true),
            "false" => Value::Switch(false),
            _ => value.parse().map_or_else(|_| Value::Choice(value.to_owned()), Value::Number),
        };
        values.insert(name.to_owned(), value);
    }
    Ok((name, values))
}
