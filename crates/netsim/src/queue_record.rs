use crate::link_window::LinkWindow;

/// Lengths that are kept at once, at most: queues whose lengths are the same up to multiples of it share a place.
const PLACES: usize = 256;
/// And at first. All lengths so far have a place of their own while there are less than the most.
const FIRST_PLACES: usize = 8;

/// A length of the queue, and for how many nanoseconds it has been that since it was filed last.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    packets: u32,
    bytes: u64,
    time: u64,
    /// The same with other numbers of bytes, which have been filed, while the packets were as many.
    time_before: u64,
}

impl Held {
    #[inline(always)] // who calls it has been called itself just for that
    fn file(self, window: &mut LinkWindow) {
        window.queue_packets.add(u64::from(self.packets), self.time_before + self.time);
        window.queue_bytes.add(self.bytes, self.time);
    }
}

/// Times for which a queue has held so many packets and bytes, on their way into the distributions of both.
///
/// A queue changes twice for each packet, and mostly goes back and forth between few lengths, each with as
/// many bytes as before. Times at one length are added up here, in one of few places that near caches
/// hold, and go into the two distributions together: when the place is needed for another length, or
/// when somebody reads them. Nothing is lost or rounded by it. A default record has no places, and keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct QueueRecord {
    held: Vec<Held>,
}

impl QueueRecord {
    /// A record of nothing so far.
    pub fn new() -> Self {
        Self { held: vec![Held::default(); FIRST_PLACES] }
    }

    /// The queue has held so many packets and bytes for `time` nanoseconds more. Return false, having done nothing, if
    /// that length has no place, or one with other bytes.
    #[inline(always)] // twice for every packet
    pub fn hold(&mut self, packets: u32, bytes: u64, time: u64) -> bool {
        let place = packets as usize & self.held.len().wrapping_sub(1);
        match self.held.get_mut(place) {
            Some(held) if held.packets == packets && held.bytes == bytes => {
                held.time += time;
                true
            }
            _ => false,
        }
    }

    /// The same then, in a record with places.
    pub fn hold_anew(&mut self, packets: u32, bytes: u64, time: u64, window: &mut LinkWindow) {
        let place = packets as usize & (self.held.len() - 1);
        let held = &mut self.held[place];
        if held.packets == packets {
            Self::change_bytes(held, bytes, window);
            held.time += time;
        } else {
            self.replace(Held { packets, bytes, time, time_before: 0 }, window);
        }
    }

    /// Another length takes the place, or a new one.
    fn replace(&mut self, next: Held, window: &mut LinkWindow) {
        let length = next.packets as usize;
        if length >= self.held.len() && self.held.len() < PLACES {
            let places = (length + 1).next_power_of_two().min(PLACES);
            self.held.resize(places, Held::default());
        }
        let place = length & (self.held.len() - 1);
        let before = std::mem::replace(&mut self.held[place], next);
        if before.time > 0 {
            before.file(window);
        } // or else it is filed already: to add no time would still tell of so many bytes
    }

    /// As many packets as before have other bytes: each time, where packets differ in size.
    fn change_bytes(held: &mut Held, bytes: u64, window: &mut LinkWindow) {
        let (bytes_before, time) = (held.bytes, held.time);
        (held.bytes, held.time) = (bytes, 0);
        held.time_before += time;
        if time > 0 {
            window.queue_bytes.add(bytes_before, time);
        }
    }

    /// Files everything in the distributions of `window`.
    pub fn file(&mut self, window: &mut LinkWindow) {
        for held in self.held.iter_mut().filter(|held| held.time > 0) {
            held.file(window);
            (held.time, held.time_before) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(record: &mut QueueRecord, packets: u32, bytes: u64, time: u64, to: &mut LinkWindow) {
        if !record.hold(packets, bytes, time) {
            record.hold_anew(packets, bytes, time, to);
        }
    }

    #[test]
    fn the_distributions_are_those_of_filing_every_stretch_at_once() {
        let (mut record, mut window, mut plain) =
            (QueueRecord::new(), LinkWindow::default(), LinkWindow::default());
        let mut state = 7_u64;
        for step in 0..50_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Lengths that share places, and of some of them packets of another size.
            let packets = (state >> 33) as u32 % 700 * (1 + (state >> 60) as u32 % 2);
            let bytes = u64::from(packets) * if state >> 59 == 0 { 40 } else { 1500 };
            let time = state >> 40;
            hold(&mut record, packets, bytes, time, &mut window);
            plain.queue_packets.add(u64::from(packets), time);
            plain.queue_bytes.add(bytes, time);
            if step % 10_000 == 0 {
                record.file(&mut window);
                assert_eq!(window.queue_packets, plain.queue_packets);
                assert_eq!(window.queue_bytes, plain.queue_bytes);
            }
        }
        assert_ne!(window.queue_packets, plain.queue_packets);
        record.file(&mut window);
        assert_eq!(window.queue_packets, plain.queue_packets);
        assert_eq!(window.queue_bytes, plain.queue_bytes);
    }

    #[test]
    fn what_was_filed_before_says_nothing_in_the_next_window() {
        let (mut record, mut window) = (QueueRecord::new(), LinkWindow::default());
        hold(&mut record, 5, 7500, 10, &mut window);
        record.file(&mut window);
        window.clear();
        hold(&mut record, 5, 200, 10, &mut window);
        hold(&mut record, 5, 300, 10, &mut window);
        record.file(&mut window);
        assert_eq!(window.queue_bytes.maximum(), Some(300));
        assert_eq!(window.queue_packets.sum(), 5 * 20);
    }
}
