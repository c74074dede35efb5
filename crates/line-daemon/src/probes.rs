//! Probes of a line: when to send which, what answers say, whom not to ask any more. Pure.

use std::net::Ipv4Addr;

use crate::clock::{MS, SECOND};

/// Bytes of one probe on the line, about.
const BYTES: f64 = 60.0;
const INTERVAL: u64 = 50 * MS;
const IDLE_INTERVAL: u64 = 250 * MS;
/// Part of the rate that probes may cost.
const BUDGET: f64 = 0.02;
const ASKED_AT_ONCE: usize = 6;
const GIVEN_UP: u64 = 1_500 * MS;
/// A probe is lost once one that left later is answered, and so much has passed besides.
const OVERTAKEN: u64 = 15 * MS;
/// Probes in a row without an answer after which a reflector counts as dead: so many, or what chance alone does not
/// explain on a line that loses as many as this one.
const DEAD_AFTER: f64 = 3.0;
const CHANCE: f64 = 1e-4;
const LOSS_WEIGHT: f64 = 0.02;
const AGAIN_AFTER: u64 = 600 * SECOND;
/// Time over which the least round trip is kept, twice.
const SPAN: u64 = 30 * SECOND;
/// A fall of the least round trip by so much shows a queue that empties.
const FALLS: u64 = 2 * MS;

/// The Internet checksum (RFC 1071).
pub fn checksum(data: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = data.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An ICMP message that asks for an echo (RFC 792).
pub fn request(identifier: u16, sequence: u16) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0];
    message.extend(identifier.to_be_bytes());
    message.extend(sequence.to_be_bytes());
    message.extend(b"vermilion line..");
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// A probe or an answer that was seen on the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Number of the probe.
    pub sequence: u16,
    /// True if it comes back.
    pub is_answer: bool,
    /// Who sent it.
    pub source: Ipv4Addr,
}

/// The probe or answer in an IPv4 packet, if it is one of ours.
pub fn parse(packet: &[u8], identifier: u16) -> Option<Heard> {
    let length = 4 * usize::from(packet.first()? & 15);
    let is_icmp = packet[0] >> 4 == 4 && *packet.get(9)? == 1;
    let message = packet.get(length.max(20)..length.max(20) + 8)?;
    let number = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let is_ours = is_icmp && matches!(message[0], 0 | 8) && number(4) == identifier;
    let source: [u8; 4] = packet.get(12..16)?.try_into().ok()?;
    is_ours.then(|| Heard {
        sequence: number(6),
        is_answer: message[0] == 0,
        source: source.into(),
    })
}

/// Least round trip of the last half minute to minute.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    since: u64,
    now: Option<u64>,
    before: Option<u64>,
}

impl Base {
    fn take(&mut self, at: u64, trip: u64) -> u64 {
        if self.now.is_none() || at.saturating_sub(self.since) > SPAN {
            (self.since, self.before, self.now) = (at, self.now, Some(trip));
        }
        let least = trip.min(self.now.unwrap_or(trip));
        self.now = Some(least);
        least.min(self.before.unwrap_or(least))
    }
}

#[derive(Clone, Copy, Debug)]
struct Reflector {
    address: Ipv4Addr,
    base: Base,
    unanswered: u32,
    dropped: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sequence: u16,
    reflector: usize,
    handed: u64,
    left: Option<u64>,
    is_lost: bool,
}

/// An answer that makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Number of the reflector.
    pub reflector: u32,
    /// When the probe left the interface.
    pub sent: u64,
    /// When the answer came to it.
    pub received: u64,
    /// Round trip above its least of the last half minute.
    pub wait: u64,
}

/// All probes and reflectors.
#[derive(Debug)]
pub struct Prober {
    reflectors: Vec<Reflector>,
    out: Vec<Outstanding>,
    sequence: u16,
    turn: usize,
    interval: u64,
    busy: Option<u64>,
    /// When the latest probe that was answered had left, and its wait.
    newest: (u64, u64),
    /// Part of the probes that is lost lately.
    loss: f64,
    /// When the next probe is due.
    pub next: u64,
    /// Probes sent and answered.
    pub counts: (u64, u64),
    /// When the last answer came.
    pub last_answer: Option<u64>,
    /// When a round trip was the shortest so far by far, and the last one.
    pub fell: u64,
    /// The last round trip.
    pub trip: u64,
}

impl Prober {
    /// A prober of these reflectors, the first of which are asked at once and the others in their place.
    pub fn new(addresses: &[Ipv4Addr]) -> Self {
        let reflector =
            |&address| Reflector { address, base: Base::default(), unanswered: 0, dropped: None };
        Self {
            reflectors: addresses.iter().map(reflector).collect(),
            out: Vec::new(),
            sequence: 0,
            turn: 0,
            interval: INTERVAL,
            busy: None,
            newest: (0, 0),
            loss: 0.0,
            next: 0,
            counts: (0, 0),
            last_answer: None,
            fell: 0,
            trip: 0,
        }
    }

    fn active(&self) -> Vec<usize> {
        let usable = |it: &usize| self.reflectors[*it].dropped.is_none();
        let mut found: Vec<usize> = (0..self.reflectors.len()).filter(usable).collect();
        if found.is_empty() {
            found = (0..self.reflectors.len()).collect(); // better doubtful answers than none
        }
        found.truncate(ASKED_AT_ONCE);
        found
    }

    /// Sets the interval: seldom on an idle line, and never more than 2 % of the rate.
    pub fn pace(&mut self, now: u64, bit_per_s: f64, is_busy: bool) {
        if is_busy || self.busy.is_none() {
            self.busy = Some(now);
        }
        let is_idle = self.busy.is_some_and(|busy| now.saturating_sub(busy) > 10 * SECOND);
        let least = (8e9 * BYTES / (BUDGET * bit_per_s.max(1.0))).min(1e9) as u64;
        self.interval = least.max(if is_idle { IDLE_INTERVAL } else { INTERVAL });
        self.next = self.next.min(now.saturating_add(self.interval));
    }

    /// The probe that is due, if one is: to whom, and its number.
    pub fn due(&mut self, now: u64) -> Option<(Ipv4Addr, u16)> {
        let active = self.active();
        if now < self.next || active.is_empty() {
            return None;
        }
        self.next = (self.next + self.interval).max(now + self.interval / 2);
        self.turn += 1;
        self.sequence = self.sequence.wrapping_add(1);
        self.counts.0 += 1;
        let (sequence, reflector) = (self.sequence, active[self.turn % active.len()]);
        self.out.push(Outstanding { sequence, reflector, handed: now, left: None, is_lost: false });
        Some((self.reflectors[reflector].address, sequence))
    }

    /// Takes in that a probe left the interface; when, unless that was known.
    pub fn left(&mut self, heard: Heard, at: u64) -> Option<u64> {
        let probe = self.out.iter_mut().find(|it| it.sequence == heard.sequence)?;
        if probe.left.is_some() {
            return None;
        }
        probe.left = Some(at.max(probe.handed));
        probe.left
    }

    /// Takes in an answer; `None` if it makes no sense.
    pub fn take(&mut self, heard: Heard, at: u64) -> Option<Answered> {
        let place = self.out.iter().position(|it| it.sequence == heard.sequence)?;
        let probe = self.out[place];
        let own = &mut self.reflectors[probe.reflector];
        let sent = probe.left.unwrap_or(probe.handed);
        if own.address != heard.source || at <= sent {
            return None;
        }
        self.out.swap_remove(place);
        own.unanswered = 0;
        self.loss -= LOSS_WEIGHT * self.loss;
        let trip = at - sent;
        let known = own.base.now;
        let base = own.base.take(at, trip);
        if known.is_none_or(|known| base + FALLS < known) {
            self.fell = at;
        }
        let wait = trip - base;
        self.trip = trip;
        self.newest = self.newest.max((sent, wait));
        self.last_answer = Some(at);
        self.counts.1 += 1;
        Some(Answered { reflector: probe.reflector as u32, sent, received: at, wait })
    }

    /// Gives up probes that will hardly be answered any more: when those had left.
    pub fn expire(&mut self, now: u64) -> Vec<u64> {
        let (mut lost, newest, reflectors) = (Vec::new(), self.newest, &mut self.reflectors);
        let loss = &mut self.loss;
        self.out.retain_mut(|probe| {
            let own = &mut reflectors[probe.reflector];
            let since = probe.left.unwrap_or(probe.handed);
            let is_late = now.saturating_sub(since) > GIVEN_UP;
            let expected = since + own.base.now.unwrap_or(0) + newest.1;
            let is_overtaken = newest.0 > since && now > expected + OVERTAKEN;
            if !probe.is_lost
                && (is_late || is_overtaken)
                && let Some(left) = probe.left
            {
                probe.is_lost = true;
                lost.push(left);
            }
            if is_late {
                own.unanswered += 1;
                *loss += LOSS_WEIGHT * (1.0 - *loss);
            }
            !is_late
        });
        lost
    }

    /// Drops who does not answer while others do: whom.
    pub fn check_reflectors(&mut self, now: u64) -> Vec<Ipv4Addr> {
        let is_answered = self.last_answer.is_some_and(|at| now.saturating_sub(at) < SECOND);
        let dead_after = DEAD_AFTER.max((CHANCE.ln() / self.loss.max(1e-3).ln()).ceil());
        let mut dropped = Vec::new();
        for place in self.active() {
            let own = &mut self.reflectors[place];
            if is_answered && f64::from(own.unanswered) >= dead_after && own.dropped.is_none() {
                own.dropped = Some(now);
                dropped.push(own.address);
            }
        }
        for own in &mut self.reflectors {
            if own.dropped.is_some_and(|at| now.saturating_sub(at) > AGAIN_AFTER) {
                (own.dropped, own.unanswered) = (None, 0);
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: [Ipv4Addr; 8] = {
        let mut hosts = [Ipv4Addr::LOCALHOST; 8];
        let mut n = 0;
        while n < 8 {
            hosts[n] = Ipv4Addr::new(192, 0, 2, n as u8);
            n += 1;
        }
        hosts
    };

    /// Runs so many milliseconds over a round trip of 20 ms and a wait: answers, and what was lost.
    fn run(
        prober: &mut Prober,
        from: u64,
        milliseconds: u64,
        wait: u64,
        deaf: &[Ipv4Addr],
    ) -> (Vec<Answered>, Vec<u64>) {
        let (mut answers, mut lost, mut pending) = (Vec::new(), Vec::new(), Vec::new());
        for now in (from..from + milliseconds * MS).step_by(5 * MS as usize) {
            if let Some((source, sequence)) = prober.due(now) {
                prober.left(Heard { sequence, is_answer: false, source }, now);
                if !deaf.contains(&source) {
                    let heard = Heard { sequence, is_answer: true, source };
                    pending.push((now + (20 + wait) * MS, heard));
                }
            }
            pending.retain(|&(at, heard)| {
                answers.extend((at <= now).then(|| prober.take(heard, at)).flatten());
                at > now
            });
            lost.extend(prober.expire(now));
            if now % SECOND < 5 * MS {
                prober.check_reflectors(now);
            }
        }
        (answers, lost)
    }

    #[test]
    fn a_request_is_as_rfc_792_has_it_and_comes_back_as_an_answer() {
        let message = request(0x1234, 7);
        assert_eq!((message[..2].to_vec(), checksum(&message)), (vec![8, 0], 0));
        let mut packet = vec![0x45, 0, 0, 44, 0, 0, 0, 0, 64, 1, 0, 0, 192, 0, 2, 1, 10, 0, 0, 1];
        packet.extend(&message);
        packet[20] = 0;
        let heard = parse(&packet, 0x1234).unwrap();
        assert!(heard.is_answer && heard.sequence == 7 && heard.source == HOSTS[1]);
        assert_eq!(parse(&packet, 0x1235), None);
        for cut in 0..28 {
            assert_eq!(parse(&packet[..cut], 0x1234), None);
        }
    }

    #[test]
    fn probes_are_paced_and_waits_lie_above_the_least_round_trip() {
        let mut prober = Prober::new(&HOSTS);
        let (quiet, _) = run(&mut prober, SECOND, 5_000, 0, &[]);
        assert!((98..=101).contains(&prober.counts.0), "{:?}", prober.counts);
        assert!(quiet.iter().all(|it| it.wait == 0));
        let (busy, _) = run(&mut prober, 6 * SECOND, 5_000, 40, &[]);
        assert!(busy.iter().all(|it| it.wait == 40 * MS));
        prober.pace(12 * SECOND, 100e3, true);
        assert!(8e9 * BYTES / prober.interval as f64 <= 0.02 * 100e3);
    }

    #[test]
    fn a_dead_reflector_is_replaced_and_an_outage_is_nobodys_fault() {
        let mut prober = Prober::new(&HOSTS);
        run(&mut prober, SECOND, 5_000, 0, &[]);
        let (_, lost) = run(&mut prober, 6 * SECOND, 8_000, 0, &HOSTS[2..3]);
        assert!(lost.len() >= 3);
        assert_eq!(prober.active(), [0, 1, 3, 4, 5, 6]);
        run(&mut prober, 14 * SECOND, 9_800, 0, &HOSTS);
        assert_eq!(prober.active(), [0, 1, 3, 4, 5, 6]);
        run(&mut prober, 23_800 * MS, 300, 0, &HOSTS[4..5]); // whose answers come last
        assert_eq!(prober.active(), [0, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn answers_of_strangers_are_none() {
        let mut prober = Prober::new(&HOSTS);
        let (source, sequence) = prober.due(SECOND).unwrap();
        let strange = Heard { sequence, is_answer: true, source: Ipv4Addr::new(192, 0, 2, 99) };
        assert_eq!(prober.take(strange, 2 * SECOND), None);
        assert!(prober.take(Heard { source, ..strange }, 2 * SECOND).is_some());
        assert_eq!(prober.take(Heard { source, ..strange }, 2 * SECOND), None);
    }
}
