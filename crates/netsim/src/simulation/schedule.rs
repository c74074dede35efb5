//! What happens at times known beforehand: starts and stops, changes, probes, ends of spans.

use std::sync::Arc;

use vermilion_parameters::{ParameterError, Values};

use super::{CONTROL, Simulation};
use crate::calendar::NEVER;
use crate::control::Control;
use crate::flow::{SENDER, Source};
use crate::phases::Span;
use crate::scenario::Traffic;
use crate::timers::timer_of;

impl Simulation {
    pub(super) fn on_control(&mut self) {
        let event = self.schedule.pop();
        self.calendar.set(CONTROL, self.schedule.next_time());
        if matches!(event, Some(Control::Boundary | Control::Change(_) | Control::Probe)) {
            // Turns at this very instant come after it.
            self.take_all_turns(self.now);
        }
        match event {
            // What else happens at this very instant comes after it.
            Some(Control::Boundary) => self.on_boundary(self.now),
            Some(Control::Change(index)) => self.on_change(index as usize),
            Some(Control::Start(flow)) => self.on_start(flow),
            Some(Control::Stop(flow)) => self.on_stop(flow),
            Some(Control::Shape) => self.shape(),
            Some(Control::Probe) => self.read_probes(),
            None => {}
        }
    }

    fn on_start(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.ended.is_some() {
            return;
        }
        flow.began = Some(self.now);
        if flow.awaited < u32::MAX {
            let books = self.groups[flow.group as usize].number as usize;
            self.measured.transfers[books].begin(self.now);
            if let Traffic::Transfer { size_bytes } = self.scenario.flows[books].traffic {
                self.log_beginning(number, size_bytes);
            }
        }
        let flow = &mut self.flows[number as usize];
        match &mut flow.source {
            Source::Window(connection) => {
                let group = self.groups[flow.group as usize].number as usize;
                let profile = self.profiles[group].as_ref();
                connection.sender.start(&profile.expect("connections have a sender").sender);
                self.send(number);
            }
            Source::OpenLoop(source) => {
                source.start(self.now);
                let next = source.next_time();
                self.arm(timer_of(number, SENDER), next);
            }
            Source::Transfers(source) => {
                source.start(self.now);
                let next = source.next_time();
                self.arm(timer_of(number, SENDER), next);
            }
        }
    }

    fn on_stop(&mut self, number: u32) {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        match &mut flow.source {
            Source::Window(connection) => {
                connection.sender.stop();
                if connection.sender.finished() {
                    flow.ended.get_or_insert(now);
                    connection.sender.retire();
                }
            }
            Source::OpenLoop(source) => {
                source.stop = now;
                flow.ended.get_or_insert(now);
            }
            Source::Transfers(source) => {
                source.stop = now;
                flow.ended.get_or_insert(now);
            }
        }
    }

    fn on_change(&mut self, index: usize) {
        let change = self.scenario.changes[index].clone();
        let link = self.scenario.link_index(&change.link).expect("changes were checked");
        if let Some(rate) = change.rate_bit_per_s {
            self.change_rate(link, rate);
        }
        if let Some(delay) = change.delay_ns {
            let (now, changed) = (self.now, &mut self.links[link]);
            self.lines.change(&mut self.calendar, |lines| changed.set_delay(now, delay, lines));
            self.enter_turn(link);
        }
        if let Some(model) = change.loss {
            self.links[link].set_loss(model);
        }
        if let Some(values) = &change.queue {
            let accepted = self.take_parameters(link, values);
            debug_assert!(accepted.is_ok(), "changes were checked");
        }
    }

    /// Link `link` sends at another rate from now on.
    pub(super) fn change_rate(&mut self, link: usize, rate: u64) {
        self.close_windows();
        let (now, changed) = (self.now, &mut self.links[link]);
        self.lines.change(&mut self.calendar, |lines| changed.set_rate(now, rate, lines));
        self.note_new_rate(link);
        self.enter_turn(link);
    }

    /// New parameters for the queue of link `link`, with what they do to the packets that wait there.
    pub(super) fn take_parameters(
        &mut self,
        link: usize,
        values: &Values,
    ) -> Result<(), ParameterError> {
        if self.links[link].set_parameters(self.now, values)? {
            let (now, queue) = (self.now, &mut self.links[link]);
            let dropped = self.lines.change(&mut self.calendar, |lines| queue.flush(now, lines));
            self.note_flush(link);
            for packet in &dropped {
                self.forget(packet);
            }
        }
        Ok(())
    }

    fn read_probes(&mut self) {
        let interval = self.scenario.probe_interval_ns.unwrap_or(NEVER);
        let rates: Vec<_> =
            (0..self.links.len()).map(|link| self.rate_of(link, interval)).collect();
        let links = self.links.iter_mut().zip(rates);
        for (series, (link, rate)) in self.measured.series.iter_mut().zip(links) {
            series.read(self.now, interval, link, rate);
        }
    }

    /// A span begins or ends now, after whatever has happened before `end`.
    pub(super) fn on_boundary(&mut self, end: u64) {
        let unheard = self.unheard_before(end);
        self.complete_with(&unheard);
        self.count_unheard(end);
        self.close_windows();
        let snapshot = self.snapshot(end, &unheard);
        Arc::make_mut(&mut self.measured.snapshots).push(snapshot);
    }

    /// Adds what was measured since the last boundary to the spans it belongs to.
    pub(super) fn close_windows(&mut self) {
        let now = self.now;
        let covers = |span: &Span| span.begin < now && now <= span.end;
        let in_total = covers(&self.measured.phases.total);
        let phase = self.measured.phases.phases.iter().position(covers);
        let mut totals = in_total.then(|| Arc::make_mut(&mut self.measured.totals));
        let mut phases =
            phase.map(|phase| &mut Arc::make_mut(&mut self.measured.phase_windows)[phase]);
        for (index, link) in self.links.iter_mut().enumerate() {
            let windows = [totals.as_deref_mut(), phases.as_deref_mut()];
            let mut into: Vec<_> =
                windows.into_iter().flatten().map(|windows| &mut windows[index]).collect();
            link.close_window(now, &mut into);
        }
        for books in &mut self.measured.transfers {
            books.close_window(in_total, phase);
        }
        self.delays.close_windows(in_total, phase);
    }
}
