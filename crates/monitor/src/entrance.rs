use crate::round_trips::Slots;
use crate::sequence::ahead;

/// For how long a wait stands for the next, in nanoseconds.
const STANDS_FOR: u64 = 1_000_000_000;

/// The least way is of so long at least, and of twice as long at most, in nanoseconds.
const LEAST_OF: u64 = 10_000_000_000;

const MICROSECOND: u64 = 1000;

/// How many of late a mean remembers.
const MEMORY: u64 = 16;

/// A sender paces whose turn mostly comes by this part of the time between its packets later than at
/// once. What a timer or an application sends comes late as well, but seldom.
const PACES: u64 = 8;

const ALWAYS: u32 = 1 << 16;

/// Longest wait for the exit, or to be named, before a packet is forgotten, in nanoseconds.
const FORGOTTEN_AFTER: u64 = 10_000_000_000;

/// A TCP segment with timestamps (RFC 7323), as it is seen somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The sender's timestamp.
    pub value: u32,
    /// The timestamp of the other end that it names.
    pub echo: u32,
    /// True if it carries data.
    pub carries_data: bool,
    /// The number behind its last byte.
    pub end: u32,
    /// The number that it acknowledges.
    pub acknowledgement: u32,
    /// The number behind the last byte that has just arrived behind a hole, if it says so (RFC 2018).
    pub arrived: Option<u32>,
    /// When it was seen, in nanoseconds.
    pub time: u64,
}

/// Sight of one direction's data before a queue as well as behind it: how long it waits there, and how long
/// its sender takes to send on.
///
/// At the exit alone, a sender's part of a round trip is one number: its own wait for a turn to send
/// (pacing), the way to the router, and the wait in the queue. A sender that paces does not count its
/// own wait as a part of the round trip. With a second sight of each packet, where it comes in, the
/// three come apart:
///
/// - the wait in the queue is the time from the one sight to the other;
/// - the way is the *least* time from an answer that passes to data that names it where it comes in.
///   A sender that paces has its turn at any moment after the answer, so that of many answers one is
///   followed at once. It is told by that, too: most of its data comes later than the least by an
///   eighth of the time between its packets or more. (Beside senders of a Linux kernel it came
///   later by a fifth to a third in the mean with BBR, and by a fiftieth with Reno, which sends when an
///   answer comes: docs/monitor.md.)
///
/// The whole round trip of a sender that paces is then the way, the wait, and the round trip beyond the
/// monitor. The least leaves out what a queue between the sender and the entrance does: an entrance has to
/// be where no other queue comes before. What others send is timed at the exit alone, as without an
/// entrance: their part is no wait of their own.
///
/// Its size does not depend on the traffic.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entrance {
    /// Data that has come in, by its timestamp, until it leaves.
    inside: Slots,
    newest_inside: Option<u32>,
    /// Data that has left, by its timestamp, until an answer names it; with its wait.
    left: Slots,
    /// The same by the number behind its last byte: behind a hole, answers name that.
    left_by_end: Slots,
    newest_end: Option<u32>,
    /// Answers that have passed, by their timestamp, until data that comes in names them.
    answers: Slots,
    newest_answer: Option<u32>,
    wait: Option<Wait>,
    way: Way,
}

/// How long data has waited, at most an hour, and when that was found to be so.
#[derive(Clone, Copy, Debug)]
struct Wait {
    microseconds: u32,
    at: u64,
}

impl Entrance {
    /// Data of this direction comes in.
    pub fn comes_in(&mut self, segment: &Stamped) {
        if !segment.carries_data {
            return;
        }
        self.way.data_comes(segment.time);
        if let Some(since) = self.answers.answer(segment.echo).since
            && let Some(way) = segment.time.checked_sub(since)
        {
            self.way.take(segment.time, way);
        }
        if is_newer(segment.value, &mut self.newest_inside) {
            wait(&mut self.inside, segment.value, segment.time);
        }
    }

    /// Data of this direction has left the queue.
    pub fn leaves(&mut self, segment: &Stamped) {
        if let Some(since) = self.inside.answer(segment.value).since
            && let Some(nanoseconds) = segment.time.checked_sub(since)
            && let Ok(microseconds) = u32::try_from(nanoseconds / MICROSECOND)
        {
            self.wait = Some(Wait { microseconds, at: segment.time });
            keep(&mut self.left, segment.value, segment.time, microseconds);
            // What is sent again has ended before, and would be named by what has arrived later.
            if is_newer(segment.end, &mut self.newest_end) {
                keep(&mut self.left_by_end, segment.end, segment.time, microseconds);
            }
        }
    }

    /// An answer to data of this direction passes on to its sender. The wait is that of the data which
    /// it names, if that is known; packets of one flow do not all wait alike.
    pub fn answer_passes(&mut self, segment: &Stamped) {
        let mut named = self.left.answer(segment.echo);
        let by_end = self.left_by_end.answer(segment.arrived.unwrap_or(segment.acknowledgement));
        if segment.arrived.is_some() {
            named = by_end;
        }
        if named.since.is_some() {
            self.wait = Some(Wait { microseconds: named.note, at: segment.time });
        }
        if is_newer(segment.value, &mut self.newest_answer) {
            wait(&mut self.answers, segment.value, segment.time);
        }
    }

    /// The whole round trip of data that took so many nanoseconds from the exit to the receiver and
    /// back, at `now`; `None` where the sender does not pace, or the wait is not known.
    pub fn whole(&self, now: u64, beyond: u64) -> Option<u64> {
        let wait = self.wait.filter(|wait| now.saturating_sub(wait.at) <= STANDS_FOR)?;
        let waited = u64::from(wait.microseconds) * MICROSECOND;
        Some(beyond.saturating_add(waited).saturating_add(self.way.of(now)?))
    }
}

/// Return true if a timestamp is the first sight of a new one, which is remembered then.
fn is_newer(value: u32, newest: &mut Option<u32>) -> bool {
    let newer = newest.is_none_or(|newest| ahead(value, newest) > 0);
    if newer {
        *newest = Some(value);
    }
    newer
}

/// The same with a note.
fn keep(slots: &mut Slots, value: u32, time: u64, note: u32) {
    if wait(slots, value, time) {
        slots.note_last(note);
    }
}

/// Puts a number into a slot; whether there was one. Where all are taken, what is too old leaves its own.
fn wait(slots: &mut Slots, value: u32, time: u64) -> bool {
    slots.wait(value, time) || {
        slots.forget_before(time.saturating_sub(FORGOTTEN_AFTER));
        slots.wait(value, time)
    }
}

/// From an answer to data where it comes in, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    least: Least,
    /// How often of late the data has come later than at once, by [`PACES`]; in parts of [`ALWAYS`].
    late: u32,
    /// The mean time between data, of late.
    gap: Option<u64>,
    latest: Option<u64>,
}

impl Way {
    fn data_comes(&mut self, time: u64) {
        if let Some(gap) = self.latest.and_then(|latest| time.checked_sub(latest)) {
            // After a pause it is not the gap that a sender leaves.
            self.gap = Some(moved(self.gap, gap.min(STANDS_FOR)));
        }
        self.latest = Some(time);
    }

    fn take(&mut self, time: u64, nanoseconds: u64) {
        self.least.take(time, nanoseconds);
        let (Some(least), Some(gap)) = (self.least.of(time), self.gap) else { return };
        let late = if nanoseconds.saturating_sub(least) > gap / PACES { ALWAYS } else { 0 };
        self.late = self.late - self.late / MEMORY as u32 + late / MEMORY as u32;
    }

    /// The way of a sender that paces.
    fn of(&self, now: u64) -> Option<u64> {
        self.least.of(now).filter(|_| self.late > ALWAYS / 2)
    }
}

/// A mean that has moved towards a number by a sixteenth.
fn moved(mean: Option<u64>, number: u64) -> u64 {
    mean.map_or(number, |mean| mean - mean / MEMORY + number / MEMORY)
}

/// The least of the last ten to twenty seconds: the least of this stretch, and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Least {
    now: Option<u64>,
    before: Option<u64>,
    begun: u64,
}

impl Least {
    fn take(&mut self, time: u64, nanoseconds: u64) {
        let age = time.saturating_sub(self.begun);
        if age >= LEAST_OF {
            self.before = self.now.filter(|_| age < 2 * LEAST_OF);
            self.now = None;
            self.begun = time;
        }
        self.now = Some(self.now.map_or(nanoseconds, |least| least.min(nanoseconds)));
    }

    fn of(&self, time: u64) -> Option<u64> {
        let recent = time.saturating_sub(self.begun) < 2 * LEAST_OF;
        self.now.filter(|_| recent).map(|now| self.before.map_or(now, |before| now.min(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Entrance, Stamped};

    const MILLISECOND: u64 = 1_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn data(value: u32, echo: u32, time: u64) -> Stamped {
        Stamped {
            value,
            echo,
            carries_data: true,
            end: 1000 * value,
            acknowledgement: 1000 * echo,
            arrived: None,
            time,
        }
    }

    /// Where a flow stands: a number for each answer and its data, and the time.
    struct Sender {
        entrance: Entrance,
        number: u32,
        now: u64,
    }

    impl Sender {
        fn new() -> Self {
            Self { entrance: Entrance::default(), number: 1000, now: SECOND }
        }

        /// An answer passes each 20 ms. Its data comes in after `way`, and after up to so many
        /// milliseconds until the sender has its turn; it waits 30 ms in the queue.
        fn goes_on(&mut self, rounds: u32, way: u64, turn: u64) -> &mut Self {
            for _ in 0..rounds {
                self.number += 20;
                self.entrance.answer_passes(&data(self.number, self.number - 100, self.now));
                let turn = u64::from(self.number / 20 * 7 % 10) * turn * MILLISECOND / 9;
                let came = self.now + way + turn;
                self.entrance.comes_in(&data(self.number + 1, self.number, came));
                self.entrance.leaves(&data(self.number + 1, self.number, came + 30 * MILLISECOND));
                self.now += 20 * MILLISECOND;
            }
            self
        }

        fn whole(&self, beyond: u64) -> Option<u64> {
            self.entrance.whole(self.now, beyond)
        }
    }

    #[test]
    fn what_a_sender_waits_for_its_turn_is_left_out() {
        let mut sender = Sender::new();
        sender.goes_on(60, 5 * MILLISECOND, 18);
        // 5 ms of way, 30 ms in the queue, and 40 ms beyond the monitor.
        assert_eq!(sender.whole(40 * MILLISECOND), Some(75 * MILLISECOND));
    }

    #[test]
    fn who_sends_when_an_answer_comes_is_timed_at_the_exit() {
        let mut sender = Sender::new();
        assert_eq!(sender.goes_on(60, 5 * MILLISECOND, 0).whole(0), None);
        // A millisecond or two of a host's own are no pacing.
        assert_eq!(sender.goes_on(60, 5 * MILLISECOND, 2).whole(0), None);
        // It begins to pace, and ends it.
        assert!(sender.goes_on(60, 5 * MILLISECOND, 18).whole(0).is_some());
        assert_eq!(sender.goes_on(600, 5 * MILLISECOND, 0).whole(0), None);
    }

    #[test]
    fn it_takes_the_memory_that_is_stated() {
        // docs/monitor.md: of both directions of a flow.
        assert!(size_of::<[Entrance; 2]>() <= 1536, "{}", size_of::<[Entrance; 2]>());
    }

    #[test]
    fn without_a_way_or_a_wait_nothing_is_said() {
        assert_eq!(Entrance::default().whole(0, 1), None);
        let mut sender = Sender::new();
        sender.goes_on(60, 5 * MILLISECOND, 18);
        // A second after the last the wait stands for nothing any more.
        sender.now += SECOND;
        assert!(sender.whole(0).is_some());
        sender.now += 100 * MILLISECOND;
        assert_eq!(sender.whole(0), None);
    }

    #[test]
    fn a_round_trip_has_the_wait_of_the_data_that_is_answered() {
        let mut sender = Sender::new();
        sender.goes_on(60, 5 * MILLISECOND, 18);
        let (now, number) = (sender.now, sender.number + 50);
        for (each, waited) in [(number, 2), (number + 1, 29)] {
            sender.entrance.comes_in(&data(each, 0, now));
            sender.entrance.leaves(&data(each, 0, now + waited * MILLISECOND));
        }
        sender.now += 30 * MILLISECOND;
        // What left last has waited for 29 ms, and what is answered for 2.
        assert_eq!(sender.whole(0), Some((5 + 29) * MILLISECOND));
        sender.entrance.answer_passes(&data(number, number, sender.now));
        assert_eq!(sender.whole(0), Some((5 + 2) * MILLISECOND));
    }

    #[test]
    fn behind_a_hole_the_last_byte_names_the_data() {
        let mut sender = Sender::new();
        sender.goes_on(60, 5 * MILLISECOND, 18);
        let (now, number) = (sender.now, sender.number + 50);
        // The first is dropped, the second waits for 11 ms and the third for 12.
        sender.entrance.comes_in(&data(number, 0, now));
        for waited in [11, 12] {
            let each = number + waited;
            sender.entrance.comes_in(&data(each, 0, now));
            sender.entrance.leaves(&data(each, 0, now + u64::from(waited) * MILLISECOND));
        }
        // The second has arrived; the answer's timestamp names what came before the hole.
        let end = Some(1000 * (number + 11));
        let answer = data(number, sender.number - 100, now + 15 * MILLISECOND);
        sender.entrance.answer_passes(&Stamped { arrived: end, ..answer });
        assert_eq!(sender.whole(0), Some((5 + 11) * MILLISECOND));
    }

    #[test]
    fn what_is_lost_in_the_queue_is_no_wait() {
        let mut sender = Sender::new();
        sender.goes_on(60, 5 * MILLISECOND, 18);
        let (now, number) = (sender.now, sender.number + 50);
        for each in 0..4 {
            let came = now + u64::from(each) * MILLISECOND;
            sender.entrance.comes_in(&data(number + each, 0, came));
        }
        // The first three are dropped.
        sender.entrance.leaves(&data(number + 3, 0, now + 9 * MILLISECOND));
        assert_eq!(sender.whole(0), Some((5 + 6) * MILLISECOND));
        // One that was never seen to come in says nothing.
        sender.entrance.leaves(&data(number + 99, 0, now + 500 * MILLISECOND));
        assert_eq!(sender.whole(0), Some((5 + 6) * MILLISECOND));
    }

    #[test]
    fn a_way_that_has_become_longer_is_believed_after_a_while() {
        let mut sender = Sender::new();
        let rounds_of_a_second = 50;
        let (near, far) = (5 * MILLISECOND, 50 * MILLISECOND);
        let queue = 30 * MILLISECOND;
        assert_eq!(sender.goes_on(12 * rounds_of_a_second, near, 18).whole(0), Some(near + queue));
        assert_eq!(sender.goes_on(5 * rounds_of_a_second, far, 18).whole(0), Some(near + queue));
        assert_eq!(sender.goes_on(20 * rounds_of_a_second, far, 18).whole(0), Some(far + queue));
    }

    #[test]
    fn time_that_runs_backwards_and_full_slots_do_no_harm() {
        let mut sender = Sender::new();
        for number in 0..100 {
            sender.entrance.answer_passes(&data(number, 0, SECOND));
            sender.entrance.comes_in(&data(number, 0, SECOND));
        }
        sender.entrance.comes_in(&data(200, 3, 0));
        sender.entrance.leaves(&data(3, 0, 0));
        assert_eq!(sender.whole(0), None);
        // After ten seconds what blocked the slots is forgotten.
        sender.now = 20 * SECOND;
        assert!(sender.goes_on(60, 5 * MILLISECOND, 18).whole(0).is_some());
    }
}
