//! All delay lines of a network, and which of their packets arrives next.
//!
//! Few lines keep their packets each for itself, and each is a source of the
//! [`Calendar`](crate::calendar::Calendar): its first packet competes there, which costs least as long as
//! there are few to compete with. Many lines, as flows with a round trip each have them, would make that
//! contest the dearest part of a run. Their packets stand together in one [`Wheel`] instead, which is
//! one source.
//!
//! Either way packets arrive in the same order: that of their times, at equal times that of the numbers
//! of their lines, and on one line that in which they entered.

use crate::calendar::Calendar;
use crate::delay_line::{DelayLine, End};
use crate::packet::{Half, Packet};
use crate::prefetch::prefetch;
use crate::wheel::{Division, Due, Wheel};

/// The calendar's number of the first line, or of all of them together.
pub const FIRST_LINE: usize = 1;

/// More lines than this stand together: measured, with flows of as many round trips over one link.
pub const MOST_APART: usize = 1000;

impl Due for Packet {
    #[inline]
    fn due(&self) -> u64 {
        self.time
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct DelayLines {
    lines: Vec<DelayLine>,
    /// Where the packets of many lines stand.
    together: Option<Box<Wheel<Packet>>>,
}

impl DelayLines {
    /// These lines, in which there is nothing yet; `division`: what suits their packets.
    pub fn new(lines: Vec<DelayLine>, division: Division) -> Self {
        let many = lines.len() > MOST_APART;
        if many { Self::together(lines, division) } else { Self::apart(lines) }
    }

    fn apart(lines: Vec<DelayLine>) -> Self {
        Self { lines, together: None }
    }

    fn together(lines: Vec<DelayLine>, division: Division) -> Self {
        Self { lines, together: Some(Box::new(Wheel::new(division))) }
    }

    /// Each line, by its number. Those that stand together have no packets of their own.
    pub fn each(&self) -> &[DelayLine] {
        &self.lines
    }

    /// From now on packets come by where notes are taken.
    pub fn note_ends(&mut self) {
        for line in &mut self.lines {
            line.end = line.end.noted();
        }
    }

    /// How many sources of the calendar they are, from [`FIRST_LINE`] on.
    #[inline]
    pub fn sources(&self) -> usize {
        if self.together.is_some() { 1 } else { self.lines.len() }
    }

    /// The packet arrives that is first of the calendar's source `source`, counted from
    /// [`FIRST_LINE`]: what awaits it, and itself. `None` where there is no such line, or nothing in it.
    ///
    /// Where lines stand together, `bring` is called with the packet that is next after it, unless that is far off.
    #[inline(always)] // for every packet
    pub fn pop(
        &mut self,
        source: usize,
        calendar: &mut Calendar,
        bring: impl FnOnce(&Packet),
    ) -> Option<(End, Packet)> {
        let (end, packet, next) = match &mut self.together {
            None => {
                let line = self.lines.get_mut(source)?;
                let packet = line.pop()?;
                (line.end, packet, line.next_time())
            }
            Some(wheel) => {
                let (packet, line) = wheel.pop()?;
                if let Some(next) = wheel.first() {
                    bring(next);
                }
                (self.lines[line as usize].end, packet, wheel.next_time())
            }
        };
        calendar.set(FIRST_LINE + source, next);
        Some((end, packet))
    }

    /// Calls `expect` with packets that come soon after the next one of the calendar's source `source`, counted from
    /// [`FIRST_LINE`]: with each once for each of `distances` and the index of that, when about as many packets are
    /// before it on its line, or on all lines that stand together. With what awaits it, too, but not at the
    /// first distance: that stands in memory which is brought then.
    #[inline]
    pub fn expect(
        &mut self,
        source: usize,
        distances: &[usize],
        mut expect: impl FnMut(&Packet, Option<End>, usize),
    ) {
        let Some(wheel) = &mut self.together else {
            let line = &self.lines[source];
            for (index, distance) in distances.iter().enumerate() {
                if let Some(packet) = line.nth(*distance) {
                    expect(packet, (index > 0).then_some(line.end), index);
                }
            }
            return;
        };
        for (index, distance) in distances.iter().enumerate() {
            let slots = Division::SLOTS_PER_ENTRY as u64 * *distance as u64;
            wheel.expect(index, slots, |packet, line| {
                let line = &self.lines[line as usize];
                if index == 0 {
                    prefetch(line);
                    expect(packet, None, index);
                } else {
                    expect(packet, Some(line.end), index);
                }
            });
        }
    }

    /// A packet leaves a queue or an end at `time` and enters line `line`; the delay of the link whose
    /// output that is, is in `time` already.
    #[inline(always)] // for every packet
    pub fn push(&mut self, line: u32, packet: Packet, time: u64, calendar: &mut Calendar) {
        let number = line as usize;
        let line = &mut self.lines[number];
        let time = time + line.extra_delay;
        if self.together.is_some() {
            let (times, rest) = packet.halves();
            return self.push_together(number, times, rest, time, calendar);
        }
        if line.push(packet, time) {
            calendar.set(FIRST_LINE + number, line.next_time());
        }
    }

    /// The same where lines stand together. A call, so that a packet that has a line of its own is
    /// written there and nowhere else before.
    #[inline(never)]
    fn push_together(
        &mut self,
        line: usize,
        times: Half,
        rest: Half,
        time: u64,
        calendar: &mut Calendar,
    ) {
        let Some(wheel) = &mut self.together else { return };
        let mut packet = Packet::of_halves(times, rest);
        packet.time = self.lines[line].note_entry(time);
        if wheel.push(packet, line as u32) {
            calendar.set(FIRST_LINE, packet.time);
        }
    }

    /// Lets `change` have the lines with their packets in them, which it may move and take out.
    pub fn change<R>(
        &mut self,
        calendar: &mut Calendar,
        change: impl FnOnce(&mut [DelayLine]) -> R,
    ) -> R {
        if let Some(wheel) = &mut self.together {
            for (packet, line) in wheel.drain() {
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
            Some(wheel) => {
                for (index, line) in self.lines.iter_mut().enumerate() {
                    while let Some(packet) = line.pop() {
                        wheel.push(packet, index as u32);
                    }
                }
                calendar.set(FIRST_LINE, wheel.next_time());
            }
        }
        result
    }

    /// Every packet in them.
    #[cfg(test)]
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let apart = self.lines.iter().flat_map(DelayLine::packets);
        apart.chain(self.together.iter().flat_map(|wheel| wheel.iter().map(|(packet, _)| packet)))
    }
}

#[cfg(test)]
mod tests {
    use vermilion_tcp::Segment;

    use super::*;

    /// Some lines of different lengths, apart and together, with a calendar for each.
    fn both() -> [(DelayLines, Calendar); 2] {
        let lines = || (0..9).map(|n| DelayLine::new(Some(0), End::Sink, n % 4 * 3000)).collect();
        let division = Division::of(700.0, 5_000);
        let both = [DelayLines::apart(lines()), DelayLines::together(lines(), division)];
        both.map(|lines| {
            let calendar = Calendar::new(FIRST_LINE + lines.sources());
            (lines, calendar)
        })
    }

    #[test]
    fn packets_are_expected_before_they_arrive_with_what_awaits_them() {
        for (mut lines, mut calendar) in both() {
            for sequence in 0..300 {
                let segment = Segment { sequence, ..Segment::default() };
                let time = u64::from(sequence) * 700;
                lines.push(0, Packet::data(1, 1000, &segment), time, &mut calendar);
            }
            let mut expected = [Vec::new(), Vec::new()];
            for arriving in 0..300 {
                let source = calendar.next().0 - FIRST_LINE;
                lines.expect(source, &[8, 2], |packet, end, index| {
                    assert!(packet.sequence() >= arriving);
                    assert_eq!(end, (index > 0).then_some(End::Sink));
                    expected[index].push(packet.sequence());
                });
                let popped = lines.pop(source, &mut calendar, |_| ());
                let (_, packet) = popped.expect("there are some");
                assert_eq!(packet.sequence(), arriving);
            }
            for mut expected in expected {
                expected.sort_unstable();
                let count = expected.len();
                expected.dedup();
                assert_eq!(expected.len(), count, "each once");
                assert!(count > 250, "{count}"); // where they stand together, a turn's first ones are not
            }
        }
    }

    #[test]
    fn where_lines_stand_together_the_next_packet_is_brought() {
        let [_, (mut lines, mut calendar)] = both();
        for sequence in 0..300 {
            let segment = Segment { sequence, ..Segment::default() };
            let (line, time) = (sequence % 9, u64::from(sequence) * 700);
            lines.push(line, Packet::data(1, 1000, &segment), time, &mut calendar);
        }
        let (mut brought, mut count) = (None, 0);
        loop {
            let mut next = None;
            let popped = lines.pop(0, &mut calendar, |packet| next = Some(packet.sequence()));
            let Some((_, packet)) = popped else { break };
            if let Some(brought) = brought {
                assert_eq!(packet.sequence(), brought);
                count += 1;
            }
            brought = next;
        }
        assert!(count > 250, "{count}"); // the first of a turn is not
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
                    if let Some(packet) = line.nth_from_end(0) {
                        packet.time += 500;
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
                    lines.push(line, packet, now + state % 3 * 1000, calendar);
                }
            } else {
                let [one, other] = [&mut apart, &mut together].map(|(lines, calendar)| {
                    let (source, time) = calendar.next();
                    if source < FIRST_LINE {
                        return None;
                    }
                    let packet = lines.pop(source - FIRST_LINE, calendar, |_| ())?.1;
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
