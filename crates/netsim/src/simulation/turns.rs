//! Queues whose discipline watches departures: packets wait there for their turn.

use super::Simulation;
use crate::any_link::AnyLink;
use crate::calendar::Calendar;
use crate::delay_lines::DelayLines;
use crate::departure_link::{DepartureLink, Fate};
use crate::packet::{Half, Packet};

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

    /// The turn of the next packet has come, at the link whose turns have number `turn`.
    #[cold]
    pub(super) fn on_turn(&mut self, turn: usize) {
        let link = self.turns[turn] as usize;
        if let AnyLink::AtDeparture(link) = &mut self.links[link] {
            take(link, self.now, &mut self.lines, &mut self.calendar);
            self.calendar.set(link.source, link.next_turn());
        }
        self.forget_dropped(link);
    }

    /// Nothing on its way keeps what was dropped at link `link`.
    #[inline(always)] // for every packet that leaves
    pub(super) fn forget_dropped(&mut self, link: usize) {
        if let AnyLink::AtDeparture(state) = &self.links[link]
            && !state.gone.is_empty()
        {
            self.forget_gone(link);
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_gone(&mut self, link: usize) {
        if self.notes_packets {
            self.note_gone(link);
        }
        while let AnyLink::AtDeparture(state) = &mut self.links[link]
            && let Some(gone) = state.gone.pop()
        {
            if !matches!(gone.fate, Fate::Sent { .. }) {
                self.forget(&gone.packet);
            }
        }
    }

    /// Enters a link's next turn in the calendar, if it has turns.
    pub(super) fn enter_turn(&mut self, link: usize) {
        if let AnyLink::AtDeparture(link) = &self.links[link] {
            self.calendar.set(link.source, link.next_turn());
        }
    }
}

/// A packet arrives at a queue in which it has to wait for its turn, which may come at once. Whether it is
/// marked on arrival.
///
/// Kept out of the callers' way, who mostly have to do with the other kind of link.
#[cold]
pub(super) fn wait_for_turn(
    link: &mut DepartureLink,
    now: u64,
    times: Half,
    rest: Half,
    line: u32,
    lines: &mut DelayLines,
    calendar: &mut Calendar,
) -> bool {
    let known = link.next_turn();
    // At one instant turns come before arrivals, as at every link.
    while link.next_turn() <= now {
        take(link, now, lines, calendar);
    }
    let marked = link.offer(now, Packet::of_halves(times, rest), line);
    if link.next_turn() <= now {
        take(link, now, lines, calendar);
    }
    if link.next_turn() != known {
        calendar.set(link.source, link.next_turn());
    }
    marked
}

/// Sends the packet whose turn it is, if the discipline leaves one.
fn take(link: &mut DepartureLink, now: u64, lines: &mut DelayLines, calendar: &mut Calendar) {
    if let Some(taken) = link.take(now) {
        lines.push(taken.line, taken.packet, taken.end + link.delay(), calendar);
    }
}
