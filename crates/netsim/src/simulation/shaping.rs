//! Shapers whose rates laws set: their probes on the way, and their rates.

use vermilion_parameters::{Value, Values};

use super::{CONTROL, Simulation};
use crate::any_link::AnyLink;
use crate::packet::Packet;
use crate::shaper::Shaper;

/// Disciplines that shape, and their parameter that is the rate.
const SHAPING: [(&str, &str); 2] = [("cake", "bandwidth"), ("shaped", "rate")];

impl Simulation {
    /// Puts shapers in charge that have been built of the scenario.
    pub(super) fn shape_with(&mut self, shapers: Vec<Shaper>) {
        if !shapers.is_empty() {
            self.schedule.next_shaping = 0;
            self.calendar.set(CONTROL, 0);
        }
        self.shapers = shapers;
    }

    /// Nanoseconds from the end of the line back to who probes.
    fn way_back(&self, flow: u32) -> u64 {
        3 * self.groups[self.flows[flow as usize].group as usize].route.first_access
    }

    /// Bytes that have passed the interface next to the line.
    fn passed_bytes(&mut self, shaper: usize) -> u64 {
        let link = self.shapers[shaper].counted();
        self.links[link].ledger(self.now).forwarded_bytes
    }

    /// A packet of an open-loop flow is sent, which may be a probe.
    #[cold]
    pub(super) fn note_probe(&mut self, flow: u32) {
        for index in 0..self.shapers.len() {
            if self.shapers[index].has_probe(flow) {
                // At one instant turns come before.
                self.take_all_turns(self.now + 1);
                let (back, bytes) = (self.way_back(flow), self.passed_bytes(index));
                self.shapers[index].on_probe(self.now, flow, back, bytes);
            }
        }
    }

    /// A packet comes to the second link on its way, and may be a probe.
    #[cold]
    pub(super) fn note_passage(&mut self, packet: &Packet) {
        for shaper in self.shapers.iter_mut().filter(|it| it.has_probe(packet.flow())) {
            shaper.on_passage(self.now, packet.flow(), packet.sent);
        }
    }

    /// A packet of an open-loop flow comes to its end, and may be a probe.
    #[cold]
    pub(super) fn note_probe_end(&mut self, packet: &Packet) {
        let back = self.way_back(packet.flow());
        for shaper in self.shapers.iter_mut().filter(|it| it.has_probe(packet.flow())) {
            let delay = self.links[shaper.link].delay();
            // A download's probe has the access delay behind it.
            shaper.on_end(self.now, packet.flow(), packet.sent, back, delay + back / 3);
        }
    }

    /// Asks the laws that are due.
    pub(super) fn shape(&mut self) {
        self.take_all_turns(self.now + 1);
        for index in 0..self.shapers.len() {
            if self.shapers[index].next > self.now {
                continue;
            }
            let bytes = self.passed_bytes(index);
            let (now, links) = (self.now, &self.links);
            let shaper = &mut self.shapers[index];
            let line = &links[shaper.line];
            let ahead = |horizon| line.capacity(now, now + horizon);
            if let Some(rate) = shaper.ask(now, bytes, ahead) {
                let link = shaper.link;
                self.set_shaper(link, rate);
            }
        }
        self.schedule.next_shaping =
            self.shapers.iter().map(|shaper| shaper.next).min().unwrap_or(u64::MAX);
        self.calendar.set(CONTROL, self.schedule.next_time());
    }

    /// A link's shaper, or else the link, has another rate from now on.
    fn set_shaper(&mut self, link: usize, rate: f64) {
        let discipline = &self.scenario.links[link].queue.discipline;
        match SHAPING.iter().find(|(name, _)| name == discipline) {
            Some((_, parameter)) => {
                let values = Values::from([((*parameter).to_owned(), Value::Number(rate))]);
                let accepted = self.take_parameters(link, &values);
                debug_assert!(accepted.is_ok(), "a shaper refuses {rate} bit/s");
                self.enter_turn(link);
            }
            None => self.change_rate(link, rate as u64),
        }
    }

    /// Rate of link `link` now, or over the `interval` before, in bit/s: the one that its shaper has been set to.
    pub(super) fn rate_of(&self, link: usize, interval: u64) -> f64 {
        let shaper = self.shapers.iter().find(|shaper| shaper.link == link);
        shaper.map_or_else(|| self.links[link].mean_rate(self.now, interval), |it| it.rate)
    }
}

impl AnyLink {
    /// Mean rate over the `interval` before `now`, in bit/s.
    pub(crate) fn mean_rate(&self, now: u64, interval: u64) -> f64 {
        let begin = now.saturating_sub(interval);
        if begin == now { f64::NAN } else { self.capacity(begin, now) * 1e9 / (now - begin) as f64 }
    }
}
