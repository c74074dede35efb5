use std::collections::VecDeque;

use vermilion_tcp::registry::Profile;
use vermilion_tcp::{Ecn, SenderOptions};

/// Number of acknowledgements that are remembered: more than any packet overlives in a queue that
/// holds fewer.
const MOST_HEARD: usize = 1 << 13;

/// Knowledge of a connection, or of a flow without a sender.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Number of its group in the scenario.
    pub group: u32,
    /// Number among the group's flows, or among its transfers in the order in which they began.
    pub number: u32,
    /// Place in the table of flows: two ends of its own.
    pub place: u32,
    /// How many connections had this place before.
    pub round: u32,
    /// True if it has a sender, and so acknowledgements.
    pub has_sender: bool,
    /// Size of a data packet in bytes.
    pub packet_size: u32,
    /// Its last segment.
    pub last_segment: u32,
    /// The size of that one in bytes.
    pub last_size: u32,
    /// True if its segments have timestamps.
    pub timestamps: bool,
    /// True if its receiver reports what arrives beyond a gap.
    pub selective: bool,
    /// How marks are told.
    pub ecn: Ecn,
    /// When its first data was sent by the sender's clock, once it was opened and that has happened.
    pub(crate) first_data: u64,
    /// How much later than at the sender things happen at the first queue, in nanoseconds.
    pub(crate) first_access: u64,
    /// How much later than at the receiver its events are known, in nanoseconds.
    pub(crate) after_receipt: u64,
}

/// Connections, to which packets belong, each with a number that is never used again, unlike the places in the table of
/// flows.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    all: Vec<Connection>,
    /// Which connection a place in the table of flows has now; none for sources of transfers.
    current: Vec<Option<u32>>,
    rounds: Vec<u32>,
    /// Transfers that have begun in each group.
    begun: Vec<u32>,
    /// For each connection: when its sender heard from its receiver, and when that had been sent.
    heard: Vec<VecDeque<(u64, u64)>>,
}

/// Facts that two ends are told by their group.
pub(crate) struct Beginning<'a> {
    pub group: u32,
    /// Among the group's flows; `None` for a transfer, which is numbered here.
    pub number: Option<u32>,
    pub profile: Option<&'a Profile>,
    pub packet_size: u32,
    pub last: (u32, u32),
    pub first_access: u64,
    pub after_receipt: u64,
}

impl Connections {
    /// Those of a network with so many groups.
    pub(crate) fn new(groups: usize) -> Self {
        Self { begun: vec![0; groups], ..Self::default() }
    }

    /// A place holds no connection: it is a source of transfers.
    pub(crate) fn skip(&mut self) {
        self.current.push(None);
        self.rounds.push(0);
    }

    /// A connection begins in a place, a new one or that of one that is over; its number.
    pub(crate) fn begin(&mut self, place: usize, beginning: &Beginning<'_>) -> u32 {
        if place >= self.current.len() {
            self.current.resize(place + 1, None);
            self.rounds.resize(place + 1, 0);
        }
        let index = self.all.len() as u32;
        let begun = &mut self.begun[beginning.group as usize];
        let number = beginning.number.unwrap_or(*begun);
        *begun += u32::from(beginning.number.is_none());
        let sender = beginning.profile.map(|profile| &profile.sender);
        self.all.push(Connection {
            group: beginning.group,
            number,
            place: place as u32,
            round: self.rounds[place],
            has_sender: sender.is_some(),
            packet_size: beginning.packet_size,
            last_segment: beginning.last.0,
            last_size: beginning.last.1,
            timestamps: sender.is_some_and(|sender| sender.common.timer.timestamps),
            selective: sender.is_some_and(|sender| sender.recovery.is_selective()),
            ecn: sender.map_or(Ecn::Off, SenderOptions::feedback),
            first_data: 0,
            first_access: beginning.first_access,
            after_receipt: beginning.after_receipt,
        });
        self.heard.push(VecDeque::new());
        self.rounds[place] += 1;
        self.current[place] = Some(index);
        index
    }

    /// The connection in a place.
    pub(crate) fn in_place(&self, place: u32) -> Option<u32> {
        self.current.get(place as usize).copied().flatten()
    }

    /// Segment `sequence` is sent at `sent` by the clock of the first queue.
    pub(crate) fn note_sent(&mut self, connection: u32, sequence: u32, sent: u64) {
        let state = &mut self.all[connection as usize];
        if sequence == 0 {
            if state.first_data == 0 {
                state.first_data = u64::MAX;
            }
        } else if state.first_data == u64::MAX {
            state.first_data = sent;
        }
    }

    /// The sender of a connection hears at `time` what was sent at `sent`, by the ends' clocks.
    pub(crate) fn note_heard(&mut self, connection: u32, time: u64, sent: u64) {
        let heard = &mut self.heard[connection as usize];
        if heard.len() == MOST_HEARD {
            heard.pop_front();
        }
        heard.push_back((time, sent));
    }

    /// Echo of a segment sent at `sent` by its sender's clock: when the last acknowledgement before it
    /// had been sent; 0 if there was none.
    pub(crate) fn echo_of(&self, connection: u32, sent: u64) -> u64 {
        let heard = &self.heard[connection as usize];
        let before = heard.partition_point(|&(time, _)| time <= sent);
        before.checked_sub(1).map_or(0, |index| heard[index].1)
    }

    /// Connection number `index`.
    pub fn get(&self, index: u32) -> &Connection {
        &self.all[index as usize]
    }

    /// All connections so far.
    pub fn all(&self) -> &[Connection] {
        &self.all
    }
}
