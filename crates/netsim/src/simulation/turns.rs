//! Queues whose discipline watches departures: packets wait there for their turn.
//!
//! What such a discipline decides needs nothing but the packet, the queue and the time of the turn. So nobody has
//! to be told at that instant: what leaves arrives somewhere only after the delay of its line. Turns are
//! therefore carried out late, each with the time at which it came, when somebody next asks the link, which
//! mostly is the next packet that arrives there. The calendar has the last instant at which that is early enough.
//! Where something else hangs on the instant, turns are carried out at their times.

use super::Simulation;
use crate::any_link::AnyLink;
use crate::calendar::{Calendar, NEVER};
use crate::delay_line::DelayLine;
use crate::delay_lines::DelayLines;
use crate::departure_link::{DepartureLink, Fate};
use crate::packet::Half;
use crate::scenario::Scenario;

impl Simulation {
    /// Numbers the calendar's sources of the links that watch departures, from `first` on, and
    /// says which link each belongs to.
    pub(super) fn number_turns(links: &mut [AnyLink], first: usize) -> Vec<u32> {
        let mut turns = Vec::new();
        for (index, link) in links.iter_mut().enumerate() {
            if let AnyLink::AtDeparture(link) = link {
                link.source = first + turns.len();
                turns.push(index as u32);
            }
        }
        turns
    }

    /// Numbers the calendar's sources of the links whose packets take different times, from `first` on, and says
    /// which link each belongs to.
    pub(super) fn number_airs(links: &mut [AnyLink], first: usize) -> Vec<u32> {
        let mut airs = Vec::new();
        for (index, link) in links.iter_mut().enumerate() {
            if let AnyLink::AtDeparture(link) = link
                && let Some(source) = link.air_source()
            {
                *source = first + airs.len();
                airs.push(index as u32);
            }
        }
        airs
    }

    /// Packets behind the link whose air has number `air` go on.
    pub(super) fn on_air(&mut self, air: usize) {
        if let AnyLink::AtDeparture(link) = &mut self.links[self.airs[air] as usize] {
            link.release(self.now, &mut self.lines, &mut self.calendar);
        }
    }

    /// Tells links that watch departures how late their turns may be carried out.
    pub(super) fn allow_late_turns(
        scenario: &Scenario,
        links: &mut [AnyLink],
        lines: &[DelayLine],
    ) {
        // Transfers leave their places to others, some when their last packet is dropped: which is first has to be
        // known, and between two links is not.
        let is_dynamic = scenario.flows.iter().any(|group| group.traffic.is_dynamic());
        let turns = links.iter().filter(|link| matches!(link, AnyLink::AtDeparture(_))).count();
        let may_be_late = !is_dynamic || turns == 1;
        for (index, (link, description)) in links.iter_mut().zip(&scenario.links).enumerate() {
            let AnyLink::AtDeparture(link) = link else { continue };
            // What a user's own discipline does besides is unknown.
            let is_plain = description.queue.foreign.is_none() && description.air.is_none();
            if may_be_late && is_plain {
                let behind = lines.iter().filter(|line| line.link == Some(index as u32));
                let least = behind.map(|line| line.extra_delay).min();
                link.allow_late_turns(least.unwrap_or(0));
            }
        }
    }

    /// The turn of the next packet has come, or has to be carried out at last, at the link whose turns have
    /// number `turn`.
    #[cold]
    pub(super) fn on_turn(&mut self, turn: usize) {
        let link = self.turns[turn] as usize;
        if let AnyLink::AtDeparture(state) = &mut self.links[link]
            && state.is_prompt()
        {
            state.take(self.now, &mut self.lines, &mut self.calendar);
            self.enter_turn(link);
            return self.forget_dropped(link);
        }
        self.events -= 1; // turns are counted where they are carried out
        self.take_turns(link, self.now + 1);
        self.enter_turn(link);
    }

    /// Carries out all turns that come before `end`, at all links.
    pub(super) fn take_all_turns(&mut self, end: u64) {
        for turn in 0..self.turns.len() {
            self.take_turns(self.turns[turn] as usize, end);
        }
    }

    /// The same at one link.
    fn take_turns(&mut self, link: usize, end: u64) {
        while let AnyLink::AtDeparture(state) = &mut self.links[link]
            && state.next_turn() < end
        {
            state.take_late(&mut self.lines, &mut self.calendar);
            self.forget_dropped(link);
        }
    }

    /// Nothing on its way keeps what was dropped at link `link`.
    #[inline(always)] // for every packet that leaves
    pub(super) fn forget_dropped(&mut self, link: usize) {
        if let AnyLink::AtDeparture(state) = &mut self.links[link]
            && state.has_gone()
        {
            self.forget_gone(link);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_gone(&mut self, link: usize) {
        self.note_gone(link);
        while let AnyLink::AtDeparture(state) = &mut self.links[link]
            && let Some(gone) = state.next_gone()
        {
            if !matches!(gone.fate, Fate::Sent { .. }) {
                self.forget(&gone.packet);
            }
        }
    }

    /// Turns that were carried out late, each of which is an event.
    pub(super) fn late_turns(&self) -> u64 {
        let of = |link: &AnyLink| match link {
            AnyLink::AtArrival(_) => 0,
            AnyLink::AtDeparture(link) => link.late_turns(),
        };
        self.links.iter().map(of).sum()
    }

    /// Enters in the calendar when a link's next turn has to be carried out, if it has turns.
    pub(super) fn enter_turn(&mut self, link: usize) {
        if let AnyLink::AtDeparture(link) = &mut self.links[link] {
            enter(link, &mut self.calendar);
        }
    }
}

/// A packet arrives at a queue in which it has to wait for its turn, which may come at once. Whether it is
/// marked on arrival.
#[inline(never)] // a packet mostly has to do with the other kind of link
pub(super) fn wait_for_turn(
    link: &mut DepartureLink,
    now: u64,
    times: Half,
    rest: Half,
    line: u32,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) -> bool {
    let marked = link.pass(now, times, rest, line, lines, calendar);
    // An entry for a turn that has been carried out meanwhile may stay: it only comes too early.
    if link.deadline() < link.entered {
        enter(link, calendar);
    }
    marked
}

/// Enters in the calendar when the link's next turn has to be carried out.
#[cold]
#[inline(never)]
fn enter(link: &mut DepartureLink, calendar: &mut Calendar) {
    let deadline = link.deadline();
    link.entered = if link.is_prompt() { NEVER } else { deadline };
    calendar.set(link.source, deadline);
}
