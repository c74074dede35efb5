//! The stretches of data that have been skipped so far: what the monitor has not seen although it
//! has seen what follows.

use crate::sequence::ahead;

/// How many holes are remembered of one direction of a connection.
const MOST: usize = 4;

/// Holes, the oldest first. A fixed number of them: if there are more, that is remembered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Holes {
    /// First byte missing, first byte there again.
    ranges: [(u32, u32); MOST],
    count: u8,
    /// True if a hole was forgotten. From then on, that a segment fills none says nothing.
    forgotten: bool,
}

/// True if a segment's bytes were missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// At least some of them were.
    Hole,
    /// The monitor has seen all of them before.
    Nothing,
    /// Holes were forgotten: either.
    Unknown,
}

impl Holes {
    /// The bytes from `start` up to `end`, exclusive, were skipped.
    pub fn open(&mut self, start: u32, end: u32) {
        if let Some(range) = self.ranges.get_mut(usize::from(self.count)) {
            *range = (start, end);
            self.count += 1;
        } else {
            self.forgotten = true;
        }
    }

    /// Takes the bytes from `start` up to `end`, exclusive, off the holes.
    pub fn fill(&mut self, start: u32, end: u32) -> Filling {
        let mut kept = Self { forgotten: self.forgotten, ..Self::default() };
        let mut filled = false;
        for &(from, to) in &self.ranges[..usize::from(self.count)] {
            if ahead(end, from) <= 0 || ahead(start, to) >= 0 {
                kept.open(from, to);
                continue;
            }
            filled = true;
            if ahead(start, from) > 0 {
                kept.open(from, start);
            }
            if ahead(to, end) > 0 {
                kept.open(end, to);
            }
        }
        *self = kept;
        match (filled, self.forgotten) {
            (true, _) => Filling::Hole,
            (false, true) => Filling::Unknown,
            (false, false) => Filling::Nothing,
        }
    }

    /// Everything before `acknowledged` has arrived: holes there are none any more.
    pub fn close_before(&mut self, acknowledged: u32) {
        if self.count == 0 && !self.forgotten {
            return;
        }
        let mut kept = Self { forgotten: self.forgotten, ..Self::default() };
        for &(from, to) in &self.ranges[..usize::from(self.count)] {
            if ahead(to, acknowledged) > 0 {
                kept.open(if ahead(acknowledged, from) > 0 { acknowledged } else { from }, to);
            }
        }
        *self = kept;
    }

    /// All that was sent has arrived, so that nothing can be missing, forgotten or not.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::{Filling, Holes};

    #[test]
    fn a_hole_is_filled_once() {
        let mut holes = Holes::default();
        holes.open(100, 300);
        assert_eq!(holes.fill(100, 200), Filling::Hole);
        assert_eq!(holes.fill(100, 200), Filling::Nothing);
        assert_eq!(holes.fill(150, 300), Filling::Hole);
    }

    #[test]
    fn a_segment_in_the_middle_leaves_two_holes() {
        let mut holes = Holes::default();
        holes.open(u32::MAX - 99, 100);
        assert_eq!(holes.fill(u32::MAX - 9, 10), Filling::Hole);
        assert_eq!(holes.fill(u32::MAX - 9, 10), Filling::Nothing);
        assert_eq!(holes.fill(u32::MAX - 99, u32::MAX - 89), Filling::Hole);
        assert_eq!(holes.fill(90, 100), Filling::Hole);
    }

    #[test]
    fn what_is_acknowledged_is_not_missing() {
        let mut holes = Holes::default();
        holes.open(100, 200);
        holes.open(300, 400);
        holes.close_before(350);
        assert_eq!(holes.fill(100, 350), Filling::Nothing);
        assert_eq!(holes.fill(350, 400), Filling::Hole);
    }

    #[test]
    fn too_many_holes_leave_a_doubt_until_all_has_arrived() {
        let mut holes = Holes::default();
        for hole in 0..5 {
            holes.open(hole * 100, hole * 100 + 50);
        }
        assert_eq!(holes.fill(400, 450), Filling::Unknown);
        assert_eq!(holes.fill(0, 50), Filling::Hole);
        assert_eq!(holes.fill(0, 50), Filling::Unknown);
        holes.clear();
        assert_eq!(holes.fill(0, 50), Filling::Nothing);
    }
}
