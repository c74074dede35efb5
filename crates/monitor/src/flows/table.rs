use super::flow::{Flow, STAGES, Stage};
use super::key::Key;
use crate::tally::Reason;

/// Where a flow lies in the slab.
pub type Place = u32;
const NOWHERE: Place = u32::MAX;

/// An entry of the hash table: 0 if it is empty; else the upper half of the hash, and the place
/// plus 1.
type Entry = u64;

struct Slot {
    flow: Flow,
    hash: u64,
    /// In whose list it is; the flow may have gone on to another stage since.
    listed: Stage,
    before: Place,
    behind: Place,
}

/// Flows that are followed, in memory that has a bound.
///
/// Flows lie in a slab, a hash table of at least twice as many entries finds them, and both have
/// their full size from the start. A list for each stage runs through the slab in the order of
/// the last packets, so that the flow that has been silent for longest is at its head: forgetting
/// takes a few steps for each packet and never a sweep.
pub struct Table {
    seed: u64,
    capacity: usize,
    entries: Box<[Entry]>,
    slab: Vec<Slot>,
    free: Vec<Place>,
    heads: [Place; STAGES],
    tails: [Place; STAGES],
}

/// Bytes of memory that each flow takes at most, the table around it included.
pub const BYTES_PER_FLOW: usize = size_of::<Slot>() + size_of::<Place>() + 4 * size_of::<Entry>();

impl Table {
    /// An empty table for so many flows.
    pub fn new(capacity: u32, seed: u64) -> Self {
        let capacity = capacity as usize;
        let entries = (capacity.max(1) * 2).next_power_of_two();
        Self {
            seed,
            capacity,
            entries: vec![0; entries].into_boxed_slice(),
            slab: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            heads: [NOWHERE; STAGES],
            tails: [NOWHERE; STAGES],
        }
    }

    /// How many flows are followed.
    pub fn len(&self) -> usize {
        self.slab.len() - self.free.len()
    }

    /// Return true if there is no place for another.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// The hash of a key, which the functions below want.
    #[inline]
    pub fn hash(&self, key: &Key) -> u64 {
        key.hash(self.seed)
    }

    /// Where the flow with this key lies.
    #[inline]
    pub fn find(&self, key: &Key, hash: u64) -> Option<Place> {
        let mut at = self.home(hash);
        loop {
            match self.entries[at] {
                0 => return None,
                entry if entry >> 32 == hash >> 32 => {
                    let place = place_of(entry);
                    if self.slab[place as usize].flow.key == *key {
                        return Some(place);
                    }
                }
                _ => {}
            }
            at = self.following(at);
        }
    }

    /// Takes a flow in; the table must not be full, nor know its key.
    pub fn insert(&mut self, flow: Flow, hash: u64) -> Place {
        let listed = flow.stage;
        let slot = Slot { flow, hash, listed, before: NOWHERE, behind: NOWHERE };
        let place = if let Some(place) = self.free.pop() {
            self.slab[place as usize] = slot;
            place
        } else {
            self.slab.push(slot);
            (self.slab.len() - 1) as Place
        };
        let mut at = self.home(hash);
        while self.entries[at] != 0 {
            at = self.following(at);
        }
        self.entries[at] = hash >> 32 << 32 | (u64::from(place) + 1);
        self.append(place, listed);
        place
    }

    /// The flow at a place.
    #[inline]
    pub fn flow(&mut self, place: Place) -> &mut Flow {
        &mut self.slab[place as usize].flow
    }

    /// Puts the flow behind all others of its stage: its last packet is the newest.
    #[inline]
    pub fn renew(&mut self, place: Place) {
        let slot = &self.slab[place as usize];
        let stage = slot.flow.stage;
        if slot.behind == NOWHERE && slot.listed == stage {
            return;
        }
        self.unlink(place);
        self.append(place, stage);
    }

    /// The flow of a stage that has been silent for longest.
    #[inline]
    pub fn most_silent(&self, stage: Stage) -> Option<(Place, &Flow)> {
        let place = self.heads[stage.index()];
        (place != NOWHERE).then(|| (place, &self.slab[place as usize].flow))
    }

    /// Takes a flow out.
    pub fn remove(&mut self, place: Place) -> &Flow {
        self.unlink(place);
        let hash = self.slab[place as usize].hash;
        let mut at = self.home(hash);
        while place_of(self.entries[at]) != place {
            at = self.following(at);
        }
        self.close_gap(at);
        self.free.push(place);
        &self.slab[place as usize].flow
    }

    /// Every flow that is followed, stage by stage, the most silent of each first.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        Stage::ALL.iter().flat_map(move |stage| {
            let mut place = self.heads[stage.index()];
            std::iter::from_fn(move || {
                let slot = self.slab.get(place as usize)?;
                place = slot.behind;
                Some(&slot.flow)
            })
        })
    }

    /// Moves entries up that were put off by the one at `gap`, so that none is cut off from its
    /// home.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.entries.len() - 1;
        let mut at = self.following(gap);
        while self.entries[at] != 0 {
            let home = self.home(self.slab[place_of(self.entries[at]) as usize].hash);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.entries[gap] = self.entries[at];
                gap = at;
            }
            at = self.following(at);
        }
        self.entries[gap] = 0;
    }

    fn append(&mut self, place: Place, stage: Stage) {
        let tail = std::mem::replace(&mut self.tails[stage.index()], place);
        let slot = &mut self.slab[place as usize];
        slot.before = tail;
        slot.behind = NOWHERE;
        slot.listed = stage;
        if tail == NOWHERE {
            self.heads[stage.index()] = place;
        } else {
            self.slab[tail as usize].behind = place;
        }
    }

    fn unlink(&mut self, place: Place) {
        let Slot { before, behind, listed, .. } = self.slab[place as usize];
        let stage = listed.index();
        if before == NOWHERE {
            self.heads[stage] = behind;
        } else {
            self.slab[before as usize].behind = behind;
        }
        if behind == NOWHERE {
            self.tails[stage] = before;
        } else {
            self.slab[behind as usize].before = before;
        }
    }

    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    fn following(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }
}

#[inline]
fn place_of(entry: Entry) -> Place {
    (entry as Place).wrapping_sub(1)
}
