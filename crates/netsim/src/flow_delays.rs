use crate::calendar::NEVER;
use crate::packet_window::{PacketMetrics, PacketWindow};

/// Way of a flow's packets: the number of its group, and how much later than it was sent the arrival of a packet
/// that waits nowhere is processed, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Number of the scenario's group.
    pub group: u32,
    /// That of the group's shortest way, less what this one's hosts are further away.
    pub least: u64,
}

/// Record kept of one flow.
#[derive(Clone, Copy, Debug)]
struct Track {
    way: Way,
    /// How much longer than the least the packet took that arrived last; [`NEVER`] before the first.
    last: u64,
    /// Number of the packet that is sent next.
    next: u32,
    /// The same when packets sent were counted last.
    counted: u32,
    /// Number of the packet after the one that arrived last.
    expected: u32,
    /// Losses that are in no run yet.
    losses: u32,
}

impl Track {
    fn new(way: Way) -> Self {
        Self { way, last: NEVER, next: 0, counted: 0, expected: 0, losses: 0 }
    }
}

impl Track {
    /// Counts those of a packet's predecessors that have been lost.
    #[inline(never)] // for few packets
    fn count_run(&mut self, number: u32, mask: u32, window: &mut PacketWindow) {
        let missing = number.wrapping_sub(self.expected) & mask;
        if 0 < missing && missing <= self.losses {
            window.count_run(u64::from(missing));
            self.losses -= missing;
        }
    }

    /// Counts the packets that were sent since somebody counted them.
    fn count_sent(&mut self, books: &mut [Books]) {
        let sent = self.next.wrapping_sub(std::mem::replace(&mut self.counted, self.next));
        books[self.way.group as usize].window.sent += u64::from(sent);
    }
}

/// The books of one group.
#[derive(Clone, Debug)]
struct Books {
    /// The delay that no packet can be below, in nanoseconds.
    least: u64,
    /// Packets that the network held at the last boundary.
    held: i64,
    window: PacketWindow,
    total: PacketWindow,
    phases: Vec<PacketWindow>,
}

/// Delay, jitter and loss of every group's data packets, where a scenario asks for them.
///
/// A packet knows when it was sent, so its delay is known when it arrives. What is kept of a flow is
/// the delay of its last arrival, for the jitter, and what tells how many losses came in a row.
///
/// Losses in a row are told by numbering a flow's data packets as they are sent. The packets of a
/// flow do not overtake each other (one path, queues that serve a flow in its order), so what is
/// missing between two that arrive has been lost, and its loss is known by then: a packet dropped
/// on arrival may be so before one ahead of it has left the queue, and the order in which losses
/// *happen* would not tell. The one way of overtaking, a second queue that gives what the first has
/// marked a class of its own (DualPI2 behind another), leaves a gap of which nothing was lost: it is
/// no run.
#[derive(Clone, Debug, Default)]
pub struct FlowDelays {
    tracks: Vec<Track>,
    books: Vec<Books>,
    /// Arrivals before this instant, in nanoseconds, have been counted where their receivers hear of them late.
    pub counted_until: u64,
}

impl FlowDelays {
    /// Of groups with these least delays in nanoseconds, of flows with these ways, and so many measured
    /// phases.
    pub fn new(least_delays: &[u64], ways: impl Iterator<Item = Way>, phases: usize) -> Self {
        let books = least_delays.iter().map(|&least| Books {
            least,
            held: 0,
            window: PacketWindow::default(),
            total: PacketWindow::default(),
            phases: vec![PacketWindow::default(); phases],
        });
        Self { tracks: ways.map(Track::new).collect(), books: books.collect(), counted_until: 0 }
    }

    /// Return true if there are any.
    #[inline]
    pub fn are_kept(&self) -> bool {
        !self.books.is_empty()
    }

    /// The least delay of each group, in nanoseconds.
    pub fn least_of(&self, group: u32) -> u64 {
        self.books[group as usize].least
    }

    /// The flow of that number begins, in a place of its own or in that of one that is over.
    pub fn begin(&mut self, flow: usize, way: Way) {
        if let Some(track) = self.tracks.get_mut(flow) {
            track.count_sent(&mut self.books);
            *track = Track::new(way);
        } else {
            self.tracks.push(Track::new(way));
        }
    }

    /// A flow sends a packet: the number that it has to carry.
    #[inline(always)] // for every packet
    pub fn on_sent(&mut self, flow: u32) -> u32 {
        let track = &mut self.tracks[flow as usize];
        let number = track.next;
        track.next = number.wrapping_add(1);
        number
    }

    /// A packet has been dropped by a queue or lost on a wire.
    #[inline]
    pub fn on_lost(&mut self, flow: u32) {
        let track = &mut self.tracks[flow as usize];
        track.losses += 1;
        self.books[track.way.group as usize].window.lost += 1;
    }

    /// The arrival of a packet is processed `after` nanoseconds after it was sent. Of its number the bits of `mask`
    /// are known.
    #[inline(always)] // as above
    pub fn on_arrived(&mut self, flow: u32, (number, mask): (u32, u32), after: u64) {
        let track = &mut self.tracks[flow as usize];
        let window = &mut self.books[track.way.group as usize].window;
        if track.losses > 0 {
            track.count_run(number, mask, window);
        }
        track.expected = number.wrapping_add(1);
        let beyond = after.wrapping_sub(track.way.least) as i64;
        debug_assert!(beyond >= 0, "{} ns less than the least delay", -beyond);
        let beyond = beyond.max(0) as u64;
        let last = std::mem::replace(&mut track.last, beyond);
        if last == NEVER {
            window.count_first();
        } else {
            window.count_difference(last.abs_diff(beyond));
        }
        window.count_arrival(beyond);
    }

    /// Adds what was collected since the last boundary to the spans it belongs to.
    pub fn close_windows(&mut self, in_total: bool, phase: Option<usize>) {
        for track in &mut self.tracks {
            track.count_sent(&mut self.books);
        }
        for books in &mut self.books {
            if in_total {
                books.total.merge(&books.window);
            }
            if let Some(phase) = phase {
                books.phases[phase].merge(&books.window);
            }
            books.held += books.window.growth();
            books.window.clear();
        }
    }

    /// Metrics of a group over a phase, or over the whole measured time.
    pub fn metrics(&self, group: usize, phase: Option<usize>) -> PacketMetrics {
        let books = &self.books[group];
        phase.map_or(&books.total, |phase| &books.phases[phase]).metrics(books.least)
    }

    /// Data packets of a group that the network holds.
    #[cfg(test)]
    pub fn held(&self, group: usize) -> i64 {
        let sent = |it: &Track| i64::from(it.next.wrapping_sub(it.counted));
        let tracks = self.tracks.iter().filter(|track| track.way.group as usize == group);
        let books = &self.books[group];
        books.held + books.window.growth() + tracks.map(sent).sum::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;
    const WAY: Way = Way { group: 0, least: 1 };

    /// The runs of losses of one flow of which these packets are lost (0) or arrive after so many ms;
    /// what is lost is known before anything arrives.
    fn metrics(delays: &[u64], mask: u32) -> PacketMetrics {
        let mut flows = FlowDelays::new(&[1], [WAY].into_iter(), 0);
        let numbers: Vec<u32> = delays.iter().map(|_| flows.on_sent(0)).collect();
        for _ in delays.iter().filter(|&&delay| delay == 0) {
            flows.on_lost(0);
        }
        for (number, &delay) in numbers.iter().zip(delays) {
            if delay > 0 {
                flows.on_arrived(0, (number & mask, mask), delay * 1_000_000);
            }
        }
        flows.close_windows(true, None);
        assert_eq!(flows.held(0), 0);
        flows.metrics(0, None)
    }

    #[test]
    fn runs_of_losses_are_counted_in_the_order_of_sending() {
        // Runs of 1, 3 and 2; the last loss has nothing behind it yet.
        let of = metrics(&[0, 5, 0, 0, 0, 5, 5, 0, 0, 5, 0], ALL);
        let runs = of.losses_in_a_row.unwrap();
        assert_eq!((runs.count, runs.mean, runs.max), (3, 2.0, 3));
        assert_eq!((of.packets_sent, of.packets_delivered, of.packets_lost), (11, 4, 7));
        assert_eq!(of.packet_loss_rate, Some(7.0 / 11.0));
    }

    #[test]
    fn jitter_is_the_mean_difference_of_successive_arrivals_of_one_flow() {
        // 5, 9, lost, 2, 2: differences of 4, 7 and 0 ms.
        let of = metrics(&[5, 9, 0, 2, 2], ALL);
        assert_eq!(of.jitter_pairs, 3);
        assert!((of.jitter_ms.unwrap() - 11.0 / 3.0).abs() < 1e-12);
        assert_eq!(metrics(&[5, 0, 0], ALL).jitter_ms, None);
    }

    #[test]
    fn a_few_bits_of_the_number_are_enough() {
        let lost_now_and_then: Vec<u64> =
            (0..10_000).map(|packet| u64::from(packet % 40 > packet % 7)).collect();
        assert_eq!(metrics(&lost_now_and_then, 0b1111), metrics(&lost_now_and_then, ALL));
    }

    #[test]
    fn who_is_overtaken_is_not_lost() {
        let mut flows = FlowDelays::new(&[1], [WAY].into_iter(), 0);
        for _ in 0..4 {
            flows.on_sent(0);
        }
        for number in [1, 0, 2, 3] {
            flows.on_arrived(0, (number, 0x3fff), 1);
        }
        flows.close_windows(true, None);
        assert_eq!(flows.metrics(0, None).losses_in_a_row, None);
    }

    #[test]
    fn a_flow_in_the_place_of_another_begins_anew() {
        let mut flows = FlowDelays::new(&[1], [WAY].into_iter(), 0);
        for delay in [3, 50] {
            flows.begin(0, WAY);
            let number = flows.on_sent(0);
            assert_eq!(number, 0);
            flows.on_arrived(0, (number, ALL), delay);
        }
        flows.begin(1, WAY);
        flows.on_sent(1);
        flows.close_windows(true, None);
        assert_eq!(flows.metrics(0, None).jitter_pairs, 0);
        assert_eq!(flows.held(0), 1);
    }
}
