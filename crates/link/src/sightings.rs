//! Notes of what packets pass: times, and the beginnings of their bytes, in a room of fixed size.
//!
//! Whoever carries packets must not wait for who looks at them. So what a packet looks like is copied
//! here, and taken from here by somebody with time. What has no room is counted, and not noted.

use vermilion_aqm::{DropKind, DropReason};
use vermilion_monitor::{Captured, LinkType};

/// Where a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sight {
    /// It arrives at the queue.
    Arrives = 0,
    /// Its transmission begins.
    Departs = 1,
    /// The queue drops it.
    Dropped = 2,
    /// It is handed on at the other end.
    HandedOn = 3,
}

const SIGHTS: [Sight; 4] = [Sight::Arrives, Sight::Departs, Sight::Dropped, Sight::HandedOn];

/// Further facts of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Remark {
    /// Nothing.
    #[default]
    None = 0,
    /// It is marked as it leaves.
    Marked = 1,
    /// The wire loses it.
    Lost = 2,
    /// The discipline chose to drop it.
    Early = 3,
    /// The discipline's rule drops it.
    Forced = 4,
    /// The queue was full.
    Overflow = 5,
    /// New parameters emptied the queue.
    Flush = 6,
}

const REMARKS: [Remark; 7] = [
    Remark::None,
    Remark::Marked,
    Remark::Lost,
    Remark::Early,
    Remark::Forced,
    Remark::Overflow,
    Remark::Flush,
];

impl From<DropReason> for Remark {
    fn from(reason: DropReason) -> Self {
        match reason.kind() {
            DropKind::Early => Self::Early,
            DropKind::Forced => Self::Forced,
            DropKind::Overflow => Self::Overflow,
        }
    }
}

impl Remark {
    /// In words; nothing where there is nothing to say.
    pub fn words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Marked => "marked",
            Self::Lost => "lost on the wire",
            Self::Early => "dropped: early",
            Self::Forced => "dropped: forced",
            Self::Overflow => "dropped: overflow",
            Self::Flush => "dropped: flush",
        }
    }
}

/// Bytes before those of a packet: time, size, how many follow, where, remark.
const HEAD: usize = 8 + 4 + 2 + 1 + 1;

/// The packets that are seen, one after the other, until they are taken.
#[derive(Debug)]
pub struct Sightings {
    notes: Vec<u8>,
    /// Another room, to be filled when this one is taken.
    spare: Vec<u8>,
    most: usize,
    kept: usize,
    wanted: [bool; 4],
    left_out: u64,
}

impl Sightings {
    /// Room for `bytes` bytes of notes of those that are `wanted`, each with the first `kept` bytes of
    /// its packet.
    pub fn new(wanted: &[Sight], kept: u16, bytes: usize) -> Self {
        let mut chosen = [false; 4];
        wanted.iter().for_each(|sight| chosen[*sight as usize] = true);
        let room = || Vec::with_capacity(bytes);
        let kept = usize::from(kept);
        Self { notes: room(), spare: room(), most: bytes, kept, wanted: chosen, left_out: 0 }
    }

    /// Return true if anybody wants to know.
    pub(crate) fn wants(&self, sight: Sight) -> bool {
        self.wanted[sight as usize]
    }

    pub(crate) fn note(&mut self, time: u64, sight: Sight, remark: Remark, packet: &[u8]) {
        if !self.wants(sight) {
            return;
        }
        let kept = packet.len().min(self.kept);
        if self.notes.len() + HEAD + kept > self.most {
            self.left_out += 1;
            return;
        }
        self.notes.extend_from_slice(&time.to_le_bytes());
        self.notes.extend_from_slice(&(packet.len() as u32).to_le_bytes());
        self.notes.extend_from_slice(&(kept as u16).to_le_bytes());
        self.notes.extend_from_slice(&[sight as u8, remark as u8]);
        self.notes.extend_from_slice(&packet[..kept]);
    }

    /// Gives the notes so far to `reader`, and forgets them.
    pub fn take<T>(&mut self, reader: impl FnOnce(&[u8]) -> T) -> T {
        std::mem::swap(&mut self.notes, &mut self.spare);
        let read = reader(&self.spare);
        self.spare.clear();
        read
    }

    /// Packets that were not noted because there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// One packet that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting<'a> {
    /// When, in nanoseconds of the link's time.
    pub time: u64,
    /// Where.
    pub sight: Sight,
    /// Details.
    pub remark: Remark,
    /// How many bytes the packet has.
    pub size: u32,
    /// The first of them.
    pub bytes: &'a [u8],
}

impl<'a> Sighting<'a> {
    /// Reads the notes that [`Sightings::take`] gives, in order. Notes that end in the middle of a
    /// packet end before it.
    pub fn read(mut notes: &'a [u8]) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let head = notes.get(..HEAD)?;
            let time = u64::from_le_bytes(head[..8].try_into().ok()?);
            let size = u32::from_le_bytes(head[8..12].try_into().ok()?);
            let kept = usize::from(u16::from_le_bytes([head[12], head[13]]));
            let sight = *SIGHTS.get(usize::from(head[14]))?;
            let remark = *REMARKS.get(usize::from(head[15]))?;
            let bytes = notes.get(HEAD..HEAD + kept)?;
            notes = &notes[HEAD + kept..];
            Some(Self { time, sight, remark, size, bytes })
        })
    }

    /// The packet as a monitor takes it.
    pub fn captured(&self) -> Captured<'a> {
        Captured {
            time: Some(self.time),
            link: LinkType::RawInternet,
            bytes: self.bytes,
            original_length: self.size,
        }
    }
}
