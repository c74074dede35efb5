//! The memory of a switch, shared by its ports.

/// What all ports of a switch share.
///
/// Source: A. Choudhury, E. Hahne, "Dynamic queue length thresholds for shared-memory packet switches", ToN 1998; the
/// accounting of `switch-mmu.cc` in the simulator of HPCC's authors.
///
/// A packet that waits counts at the port that it came in by: first in that port's reserve, then in the shared part while
/// what the port has there stays within `alpha x (what is free of the shared part)`, then in the port's
/// headroom. Departures from that simulator: a port's reserve is its own even when all else is full, and a
/// packet that finds an idle port takes no memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedBuffer {
    /// Bytes that are shared: all, less headrooms and reserves.
    size: u64,
    used: u64,
    deepest: u64,
}

/// What one port of a switch uses of its memory, by packets that came in there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ingress {
    /// Bytes of its own.
    pub reserve: u32,
    /// Bytes for what comes in after a pause was sent.
    pub headroom: u32,
    /// Factor of the dynamic threshold.
    pub alpha: f64,
    /// Bytes below the threshold at which a pause ends.
    pub resume_offset: u32,
    used: u32,
    in_headroom: u32,
}

impl Ingress {
    /// An empty one.
    #[must_use]
    pub const fn new(reserve: u32, headroom: u32, alpha: f64, resume_offset: u32) -> Self {
        Self { reserve, headroom, alpha, resume_offset, used: 0, in_headroom: 0 }
    }

    /// Bytes in the shared part.
    #[inline]
    #[must_use]
    pub fn shared(&self) -> u32 {
        self.used.saturating_sub(self.reserve)
    }

    /// Bytes in the headroom.
    #[must_use]
    pub fn in_headroom(&self) -> u32 {
        self.in_headroom
    }
}

impl SharedBuffer {
    /// An empty buffer of so many shared bytes.
    #[must_use]
    pub const fn new(size: u64) -> Self {
        Self { size, used: 0, deepest: 0 }
    }

    /// Shared bytes that are used.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Most shared bytes that were ever used.
    #[must_use]
    pub fn deepest(&self) -> u64 {
        self.deepest
    }

    /// Shared bytes in all.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Shared bytes that a port may use now.
    #[inline]
    #[must_use]
    pub fn threshold(&self, alpha: f64) -> f64 {
        alpha * self.size.saturating_sub(self.used) as f64
    }

    /// Takes a packet in. False if there is no room, and nothing has changed.
    #[inline]
    pub fn take(&mut self, ingress: &mut Ingress, bytes: u32) -> bool {
        let new = ingress.used + bytes;
        if new > ingress.reserve {
            if f64::from(new - ingress.reserve) > self.threshold(ingress.alpha) {
                if ingress.in_headroom + bytes > ingress.headroom {
                    return false;
                }
                ingress.in_headroom += bytes;
                return true;
            }
            self.used += u64::from(bytes.min(new - ingress.reserve));
            self.deepest = self.deepest.max(self.used);
        }
        ingress.used = new;
        true
    }

    /// Lets a packet go: first from the headroom.
    #[inline]
    pub fn release(&mut self, ingress: &mut Ingress, bytes: u32) {
        let of_headroom = ingress.in_headroom.min(bytes);
        let rest = bytes - of_headroom;
        self.used -= u64::from(rest.min(ingress.shared()));
        ingress.in_headroom -= of_headroom;
        ingress.used -= rest;
    }

    /// True if the port has so much that its partner has to pause.
    #[inline]
    #[must_use]
    pub fn is_over(&self, ingress: &Ingress) -> bool {
        ingress.in_headroom > 0 || f64::from(ingress.shared()) >= self.threshold(ingress.alpha)
    }

    /// True if the port has so little that its partner may go on.
    #[inline]
    #[must_use]
    pub fn is_under(&self, ingress: &Ingress) -> bool {
        let shared = ingress.shared();
        ingress.in_headroom == 0
            && (shared == 0
                || f64::from(shared + ingress.resume_offset) <= self.threshold(ingress.alpha))
    }

    /// Takes a packet in where nothing is paused: while its queue stays within `alpha x (what is free)`. False if there
    /// is no room.
    #[inline]
    pub fn take_lossy(&mut self, alpha: f64, queue: u32, bytes: u32) -> bool {
        let has_room = f64::from(queue + bytes) <= self.threshold(alpha);
        if has_room {
            self.used += u64::from(bytes);
            self.deepest = self.deepest.max(self.used);
        }
        has_room
    }

    /// Lets a packet go that was taken in so.
    #[inline]
    pub fn release_lossy(&mut self, bytes: u32) {
        self.used -= u64::from(bytes);
    }
}
