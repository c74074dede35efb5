use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vermilion_link::{Delivery, Merger, Way};

use crate::device::{Device, Taken};

/// Packets that are taken from one device before the other and the clock are looked at again.
const BATCH: usize = 64;

/// Packets that are handed on in one piece, at most.
const MOST_TOGETHER: usize = 64;

/// Descriptors beside the devices that can end a wait, at most.
pub const MOST_WAKERS: usize = 6;

/// How the time until the next packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Asleep; a packet may be handed on late by what waking takes.
    Sleep,
    /// Awake: a core is kept busy.
    Busy,
}

/// A device, and the way that packets from it take.
#[derive(Debug)]
struct End {
    /// `None` once it has been removed.
    device: Option<Device>,
    /// True if the device may have packets.
    ready: bool,
    way: Way,
}

/// Two devices, and a link between them whose ways are each a [`Way`].
///
/// Times are nanoseconds since it was made.
#[derive(Debug)]
pub struct Emulator {
    begun: Instant,
    pacing: Pacing,
    ends: [End; 2],
    /// Packets that are to be handed on together; `None` where each is handed on alone.
    merger: Option<Merger>,
    together: Vec<Delivery>,
}

impl Emulator {
    /// A link between two devices. Each comes with the way that its packets take to the other.
    pub fn new(ends: [(Device, Way); 2], pacing: Pacing) -> Self {
        let ends = ends.map(|(device, way)| End { device: Some(device), ready: true, way });
        let together = Vec::with_capacity(MOST_TOGETHER);
        Self { begun: Instant::now(), pacing, ends, merger: None, together }
    }

    /// Hands packets of a connection that are due together on as one piece.
    pub fn merge(&mut self) {
        self.merger = Some(Merger::default());
    }

    /// Its time begins now. For a link that has not carried anything yet.
    pub fn begin(&mut self) {
        self.begun = Instant::now();
    }

    /// Nanoseconds since it was made, or since [`Emulator::begin`].
    pub fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The way from device `end`, which is 0 or 1, to the other one.
    pub fn way(&mut self, end: usize) -> &mut Way {
        &mut self.ends[end].way
    }

    /// Return true if device `end` is still there.
    pub fn is_there(&self, end: usize) -> bool {
        self.ends[end].device.is_some()
    }

    /// Carries packets until `until`, or until one of `wakers` has something to be read. Of more than
    /// [`MOST_WAKERS`] the others are not looked at.
    ///
    /// # Errors
    /// The kernel cannot wait.
    pub fn run(&mut self, until: u64, wakers: &[OwnedFd]) -> Result<()> {
        loop {
            self.take(0);
            self.take(1);
            let more = self.ends.iter().any(|end| end.ready);
            self.hand_on(0);
            self.hand_on(1);
            let now = self.now();
            let due = self.ends.iter().filter_map(|end| end.way.next_due()).min();
            let wait = match (more, self.pacing) {
                (true, _) | (_, Pacing::Busy) => 0,
                _ => due.map_or(until, |due| due.min(until)).saturating_sub(now),
            };
            if self.wait(wait, wakers)? || now >= until {
                return Ok(());
            }
        }
    }

    /// Takes packets from device `end`, if it may have any.
    fn take(&mut self, end: usize) {
        let begun = self.begun;
        let End { device, ready, way } = &mut self.ends[end];
        if !*ready {
            return;
        }
        for _ in 0..BATCH {
            let taken = device.as_mut().map_or(Taken::Nothing, Device::take);
            match taken {
                Taken::Packet(offload, packet) => {
                    let now = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    way.arrive(now, &offload, packet);
                }
                Taken::Nothing => {
                    *ready = false;
                    return;
                }
                Taken::Gone => {
                    *device = None;
                    *ready = false;
                    return;
                }
            }
        }
    }

    /// Hands on what is due on the way from device `end`.
    fn hand_on(&mut self, end: usize) {
        let now = self.now();
        let begun = self.begun;
        let [first, second] = &mut self.ends;
        let (way, device) = match end {
            0 => (&mut first.way, &mut second.device),
            _ => (&mut second.way, &mut first.device),
        };
        way.advance(now);
        let elapsed = || u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let Some(merger) = &mut self.merger else {
            while let Some(delivery) = way.next_delivery(now) {
                if device.as_mut().is_some_and(|device| device.give(way.bytes(&delivery))) {
                    way.delivered(delivery, elapsed());
                } else {
                    way.refused(delivery);
                }
            }
            return;
        };
        let together = &mut self.together;
        let mut hand_on = |merger: &mut Merger, together: &mut Vec<Delivery>, way: &mut Way| {
            let (offload, piece) = merger.finish();
            let is_taken = device.as_mut().is_some_and(|device| device.give_piece(&offload, piece));
            merger.clear();
            let done = elapsed();
            for delivery in together.drain(..) {
                if is_taken { way.delivered(delivery, done) } else { way.refused(delivery) }
            }
        };
        while let Some(delivery) = way.next_delivery(now) {
            let is_whole = delivery.is_whole();
            if together.len() == MOST_TOGETHER || !merger.add(way.bytes(&delivery), is_whole) {
                hand_on(merger, together, way);
                merger.add(way.bytes(&delivery), is_whole);
            }
            together.push(delivery);
        }
        if !together.is_empty() {
            hand_on(merger, together, way);
        }
    }

    /// Waits for packets, for so many nanoseconds at most: whether one of `wakers` has something.
    fn wait(&mut self, nanoseconds: u64, wakers: &[OwnedFd]) -> Result<bool> {
        const SECOND: u64 = 1_000_000_000;
        let timeout = Timespec {
            tv_sec: (nanoseconds / SECOND) as i64,
            tv_nsec: (nanoseconds % SECOND) as _,
        };
        let [first, second] = &self.ends;
        let devices = [&first.device, &second.device];
        let Some(any) = devices
            .iter()
            .find_map(|device| device.as_ref().map(AsFd::as_fd))
            .or_else(|| wakers.first().map(AsFd::as_fd))
        else {
            std::thread::sleep(std::time::Duration::from_nanos(nanoseconds));
            return Ok(false);
        };
        // Places that are not needed ask for nothing.
        let mut watched: [PollFd<'_>; 2 + MOST_WAKERS] = std::array::from_fn(|place| {
            let wanted = match place {
                0 | 1 => devices[place].as_ref().map(AsFd::as_fd),
                _ => wakers.get(place - 2).map(AsFd::as_fd),
            };
            let flags = if wanted.is_some() { PollFlags::IN } else { PollFlags::empty() };
            PollFd::from_borrowed_fd(wanted.unwrap_or(any), flags)
        });
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let told: [bool; 2 + MOST_WAKERS] =
            std::array::from_fn(|place| !watched[place].revents().is_empty());
        for (end, ready) in self.ends.iter_mut().zip(told) {
            end.ready |= ready && end.device.is_some();
        }
        Ok(told[2..].iter().take(wakers.len()).any(|ready| *ready))
    }
}
