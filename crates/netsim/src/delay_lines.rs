use crate::calendar::{BUSIEST, Calendar, MOST_SOURCES};
use crate::delay_line::{DelayLine, End};
use crate::lazy_queue::{LazyQueue, Ranked};
use crate::limits::MOST_LINKS;
use crate::packet::{Half, Packet};
use crate::wheel::Due;

/// The calendar's number of the first line, or of all of them together.
pub const FIRST_LINE: usize = BUSIEST;

/// More lines than this stand together: measured, with flows of as many round trips over one link.
const MOST_APART: usize = 1000;
/// Each line that stands apart is a source of the calendar, each link may be one, and there are a few more.
const _: () = assert!(MOST_LINKS as usize + MOST_APART + 8 < MOST_SOURCES);

/// How the lines of a network stand. What is done for nearly every packet has a piece of code for each way.
pub mod standing {
    /// There is one line: where its packets are is known before their times are.
    pub const ALONE: u8 = 0;
    /// Each has its own source of the calendar.
    pub const APART: u8 = 1;
    /// All of them are one source.
    pub const TOGETHER: u8 = 2;
    /// In any of these ways, which has to be asked.
    pub const ANY: u8 = 3;
}
use standing::{ALONE, ANY, APART, TOGETHER};

/// A packet among those of other lines.
#[derive(Clone, Copy, Debug)]
struct Placed {
    packet: Packet,
    line: u32,
    end: End,
}

impl Due for Placed {
    #[inline(always)] // for every packet
    fn due(&self) -> u64 {
        self.packet.time
    }
}

impl Ranked for Placed {
    #[inline(always)] // as above
    fn rank(&self) -> u32 {
        self.line
    }
}

/// All delay lines of a network, and which of their packets arrives next.
///
/// Few lines keep their packets each for itself, and each is a source of the [`Calendar`]: its first packet
/// competes there, which costs least as long as there are few to compete with. Many lines, as flows with a round trip
/// each have them, would make that contest the dearest part of a run. Their packets stand together in one [`LazyQueue`]
/// instead, which is one source.
///
/// Either way packets arrive in the same order: that of their times, at equal times that of the numbers
/// of their lines, and on one line that in which they entered.
#[derive(Clone, Debug)]
pub struct DelayLines {
    lines: Vec<DelayLine>,
    /// Where the packets of many lines stand.
    together: Option<Box<LazyQueue<Placed>>>,
}

impl DelayLines {
    /// These lines, in which there is nothing yet. A packet is so many nanoseconds on each of them, `delays`; they
    /// come `spacing` nanoseconds after one another if the network is busy.
    pub fn new(lines: Vec<DelayLine>, spacing: f64, delays: &[u64]) -> Self {
        let many = lines.len() > MOST_APART;
        if many { Self::together(lines, spacing, delays) } else { Self::apart(lines) }
    }

    fn apart(lines: Vec<DelayLine>) -> Self {
        Self { lines, together: None }
    }

    fn together(lines: Vec<DelayLine>, spacing: f64, delays: &[u64]) -> Self {
        Self { lines, together: Some(Box::new(LazyQueue::of_delays(spacing, delays))) }
    }

    /// Each line, by its number. Those that stand together have no packets of their own.
    pub fn each(&self) -> &[DelayLine] {
        &self.lines
    }

    /// Number of packets in all of them.
    pub fn len(&self) -> u64 {
        let stand = self.together.as_ref().map_or(0, |queue| queue.len());
        (stand + self.lines.iter().map(DelayLine::len).sum::<usize>()) as u64
    }

    /// How many sources of the calendar they are, from [`FIRST_LINE`] on.
    #[inline]
    pub fn sources(&self) -> usize {
        if self.together.is_some() { 1 } else { self.lines.len() }
    }

    /// How they stand, other than in [`ANY`] way.
    pub fn standing(&self) -> u8 {
        match (&self.together, self.lines.len()) {
            (Some(_), _) => TOGETHER,
            (None, 1) => ALONE,
            (None, _) => APART,
        }
    }

    /// The packet arrives that is first of the calendar's source `source`, counted from
    /// [`FIRST_LINE`]: what awaits it, and itself. `None` where there is no such line, or nothing in it.
    #[inline(always)] // for every packet
    pub fn pop<const STANDING: u8>(
        &mut self,
        source: usize,
        calendar: &mut Calendar,
    ) -> Option<(End, Packet)> {
        let (end, packet, next) = if STANDING == TOGETHER {
            let queue = self.together.as_mut()?;
            let (end, packet) = match queue.first() {
                Some(placed) => {
                    // Number by number: what is copied as a whole is written to memory and read again.
                    let (times, rest) = placed.packet.halves();
                    let first = (placed.end, Packet::of_halves(times, rest));
                    queue.take_first();
                    first
                }
                None => pop_late(queue)?,
            };
            (end, packet, queue.next_time())
        } else {
            let line = self.lines.get_mut(source)?;
            let packet = line.pop()?;
            (line.end, packet, line.next_time())
        };
        if STANDING == APART {
            calendar.set_likely_more(FIRST_LINE + source, next);
        } else {
            calendar.set_busiest(next);
        }
        Some((end, packet))
    }

    /// On which line the packet is that comes first of the calendar's source `source`, counted from [`FIRST_LINE`].
    pub fn first_line(&self, source: usize) -> Option<u32> {
        match &self.together {
            Some(queue) => queue.first_rank(),
            None => u32::try_from(source).ok(),
        }
    }

    /// A packet leaves a queue or an end at `time` and enters line `line`; the delay of the link whose
    /// output that is, is in `time` already.
    #[inline(always)] // for every packet
    pub fn push<const STANDING: u8>(
        &mut self,
        line: u32,
        packet: Packet,
        time: u64,
        calendar: &mut Calendar,
    ) {
        let (_, rest) = packet.halves();
        if STANDING == TOGETHER {
            return self.place(line, time, packet.sent, rest, calendar);
        }
        if STANDING == ANY && self.together.is_some() {
            return self.place_by_call(line, time, packet.sent, rest, calendar);
        }
        let number = line as usize;
        let line = &mut self.lines[number];
        if line.push(packet, time + line.extra_delay) {
            calendar.set(FIRST_LINE + number, line.next_time());
        }
    }

    /// The same where lines stand together.
    #[inline(always)] // as above
    fn place(&mut self, number: u32, time: u64, sent: u64, rest: Half, calendar: &mut Calendar) {
        let Some(queue) = &mut self.together else { return };
        let line = &mut self.lines[number as usize];
        let time = line.note_entry(time + line.extra_delay);
        let packet = Packet::of_halves(Half::of_times(time, sent), rest);
        if queue.push(Placed { packet, line: number, end: line.end }) {
            calendar.set(FIRST_LINE, time);
        }
    }

    /// The same by a call, so that a packet that has a line of its own is written there and nowhere else before.
    #[inline(never)]
    fn place_by_call(
        &mut self,
        line: u32,
        time: u64,
        sent: u64,
        rest: Half,
        calendar: &mut Calendar,
    ) {
        self.place(line, time, sent, rest, calendar);
    }

    /// Lets `change` have the lines with their packets in them, which it may move and take out.
    pub fn change<R>(
        &mut self,
        calendar: &mut Calendar,
        change: impl FnOnce(&mut [DelayLine]) -> R,
    ) -> R {
        if let Some(queue) = &mut self.together {
            for Placed { packet, line, .. } in queue.drain() {
                self.lines[line as usize].take_back(packet);
            }
        }
        let result = change(&mut self.lines);
        match &mut self.together {
            None => {
                for (index, line) in self.lines.iter().enumerate() {
                    calendar.set(FIRST_LINE + index, line.next_time());
                }
            }
            Some(queue) => {
                for (number, line) in (0..).zip(&mut self.lines) {
                    while let Some(packet) = line.pop() {
                        queue.push(Placed { packet, line: number, end: line.end });
                    }
                }
                calendar.set(FIRST_LINE, queue.next_time());
            }
        }
        result
    }

    /// Every packet in them, in no order, with what awaits it.
    pub fn packets(&self) -> impl Iterator<Item = (End, &Packet)> {
        let apart = self.lines.iter().flat_map(|line| {
            let end = line.end;
            line.packets().map(move |packet| (end, packet))
        });
        let together = self.together.iter().flat_map(|queue| queue.iter());
        apart.chain(together.map(|placed| (placed.end, &placed.packet)))
    }
}

/// The first packet of a queue in which it was put late.
#[cold]
#[inline(never)]
fn pop_late(queue: &mut LazyQueue<Placed>) -> Option<(End, Packet)> {
    queue.pop().map(|placed| (placed.end, placed.packet))
}

#[cfg(test)]
mod tests {
    use vermilion_tcp::Segment;

    use super::*;

    /// Some lines of different lengths, apart and together, with a calendar for each.
    fn both() -> [(DelayLines, Calendar); 2] {
        let lines = || (0..9).map(|n| DelayLine::new(Some(0), End::Sink, n % 4 * 3000)).collect();
        let both = [DelayLines::apart(lines()), DelayLines::together(lines(), 700.0, &[70_000])];
        both.map(|lines| {
            let calendar = Calendar::new(FIRST_LINE + lines.sources());
            (lines, calendar)
        })
    }

    fn pop(
        lines: &mut DelayLines,
        source: usize,
        calendar: &mut Calendar,
    ) -> Option<(End, Packet)> {
        match lines.standing() {
            TOGETHER => lines.pop::<TOGETHER>(source, calendar),
            _ => lines.pop::<APART>(source, calendar),
        }
    }

    #[test]
    fn apart_and_together_packets_arrive_in_the_same_order() {
        let [mut apart, mut together] = both();
        let (mut now, mut state, mut number) = (0, 99_u64, 0);
        let mut arrived = 0;
        for step in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let pushes = step % 1000 < 500;
            if state.is_multiple_of(64) {
                // As a change of rate does, and a flush: some packets move, some are taken out.
                let change = |lines: &mut [DelayLine]| {
                    let line = &mut lines[(state >> 8) as usize % 9];
                    let taken = line.pop_last().map(|packet| packet.sequence());
                    if let Some(time) = line.packets().last().map(|packet| packet.time) {
                        line.move_from_end(0, time + 500 - line.extra_delay);
                    }
                    line.restore_order();
                    taken
                };
                let one = apart.0.change(&mut apart.1, change);
                assert_eq!(one, together.0.change(&mut together.1, change));
            } else if state.is_multiple_of(3) != pushes {
                let segment = Segment { sequence: number, ..Segment::default() };
                let packet = Packet::data(number % 5, 1000, &segment);
                number += 1;
                let line = (state >> 8) as u32 % 9;
                for (lines, calendar) in [&mut apart, &mut together] {
                    lines.push::<ANY>(line, packet, now + state % 3 * 1000, calendar);
                }
            } else {
                let [one, other] = [&mut apart, &mut together].map(|(lines, calendar)| {
                    let (source, time) = calendar.next();
                    if source < FIRST_LINE {
                        return None;
                    }
                    let packet = pop(lines, source - FIRST_LINE, calendar)?.1;
                    assert_eq!(packet.time, time);
                    Some((time, packet.sequence()))
                });
                assert_eq!(one, other, "at step {step}");
                now = one.map_or(now, |(time, _)| time);
                arrived += u32::from(one.is_some());
            }
            assert_eq!(apart.0.packets().count(), together.0.packets().count());
        }
        assert!(arrived > 5000, "{arrived}");
    }
}
