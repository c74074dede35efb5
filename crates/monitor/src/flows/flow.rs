use serde::Serialize;

use super::direction::{Direction, Sending};
use super::key::{Key, Protocol};
use crate::decode::Tcp;
use crate::round_trips::{Method, NotTimed};
use crate::tally::{Reason, Tally, reasons};

reasons! {
    /// How far a flow has come; each stage has its own time after which a silent flow is forgotten.
    pub enum Stage {
        /// A TCP connection without data so far, or a UDP flow of a single packet.
        Opening = "opening",
        /// A TCP connection with data.
        Connected = "connected",
        /// A UDP flow of several packets.
        Datagrams = "datagrams",
        /// A TCP connection that both ends have closed or one has broken off. It is kept for a
        /// while, for what is still under way.
        Closed = "closed",
    }
}

/// The number of cases of [`Stage`].
pub const STAGES: usize = Stage::ALL.len();

reasons! {
    /// Why a flow is no longer followed.
    pub enum End {
        /// Both ends have closed it.
        Closed = "closed",
        /// One end has broken it off.
        Reset = "reset",
        /// It was silent for longer than its stage allows.
        Silent = "silent",
        /// A new connection with the same addresses and ports has begun.
        Replaced = "replaced",
        /// The input has ended.
        InputEnded = "input-ended",
    }
}

reasons! {
    /// Kind of traffic a packet belongs to, by whether its sender can be expected to slow down.
    pub enum Traffic {
        /// TCP.
        Tcp = "tcp",
        /// UDP that may respond to congestion: QUIC by a long header that was seen, or port 443.
        UdpMayRespond = "udp-may-respond",
        /// Any other UDP.
        Udp = "udp",
        /// IP without ports that are read: other protocols, later fragments, cut headers.
        Other = "other-ip",
    }
}

impl Traffic {
    /// The kind of a flow's packets. `quic`: whether a long header of QUIC was seen.
    pub(crate) fn of(key: &Key, quic: bool) -> Self {
        const HTTPS: u16 = 443;
        match key.protocol {
            Protocol::Tcp => Self::Tcp,
            Protocol::Udp if quic || key.lower.port == HTTPS || key.upper.port == HTTPS => {
                Self::UdpMayRespond
            }
            Protocol::Udp => Self::Udp,
        }
    }
}

/// True if a connection uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnNegotiation {
    /// The handshake was not seen, or not all of it.
    Unknown,
    /// The initiator did not ask for it.
    NotOffered,
    /// The responder did not agree.
    Refused,
    /// As in RFC 3168.
    Classic,
    /// Accurate ECN (RFC 9768).
    Accurate,
}

/// Observations of a three-way handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// When the SYN passed, if it had a time.
    pub syn: Option<u64>,
    /// AE, CWR and ECE of the SYN.
    pub offer: Option<u8>,
    /// Number in the last acknowledgement of the handshake: the number behind the other SYN.
    pub awaited: Option<u32>,
    /// True if the SYN of the initiator, and that of the responder, permits selective
    /// acknowledgements.
    pub permits_selective: [bool; 2],
    /// True if one of the two SYNs came twice.
    pub repeated: bool,
    /// True if it is over.
    pub over: bool,
    /// The round trip.
    pub nanoseconds: Option<u64>,
}

/// State kept of one flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// In order of first sight, from 0, unless [`crate::Configuration::shared_numbers`] says otherwise.
    pub number: u64,
    pub(super) key: Key,
    /// True if the lower end of the key is the initiator.
    pub(super) lower_initiates: bool,
    /// True if the initiator is known, by a SYN; else it is the sender of the first packet.
    pub initiator_known: bool,
    /// When its first packet passed.
    pub first: u64,
    /// When its last packet passed.
    pub last: u64,
    /// When its last data passed.
    pub(super) last_data: u64,
    /// How far it has come.
    pub stage: Stage,
    /// True if a RST was seen.
    pub reset: bool,
    /// True if ECN was negotiated.
    pub ecn: EcnNegotiation,
    /// How round trips are taken.
    pub method: Method,
    pub(super) handshake: Handshake,
    /// True if a long header of QUIC was seen.
    pub quic: bool,
    /// True if data of the initiator, and of the responder, has been acknowledged selectively, or
    /// both SYNs permit it (RFC 2018). Where neither was seen it is unknown: nothing was lost yet,
    /// and the SYNs are long gone.
    pub acknowledged_selectively: [bool; 2],
    /// Segments that gave no round trip, by reason.
    pub not_timed: Tally<NotTimed>,
    /// From the initiator, and from the responder.
    pub directions: [Direction; 2],
}

impl Flow {
    pub(crate) fn new(key: Key, number: u64, from_lower: bool, time: u64) -> Self {
        Self {
            number,
            key,
            lower_initiates: from_lower,
            initiator_known: false,
            first: time,
            last: time,
            last_data: time,
            stage: Stage::Opening,
            reset: false,
            ecn: EcnNegotiation::Unknown,
            method: Method::Unknown,
            handshake: Handshake::default(),
            quic: false,
            acknowledged_selectively: [false; 2],
            not_timed: Tally::default(),
            directions: Default::default(),
        }
    }

    /// The flow's ends and protocol.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The ends in the order initiator, responder.
    pub fn ends(&self) -> [super::key::End; 2] {
        if self.lower_initiates {
            [self.key.lower, self.key.upper]
        } else {
            [self.key.upper, self.key.lower]
        }
    }

    /// The round trip of the handshake in nanoseconds, if it was seen once and whole.
    pub fn handshake_nanoseconds(&self) -> Option<u64> {
        self.handshake.nanoseconds
    }

    /// Kind of traffic.
    pub fn traffic(&self) -> Traffic {
        Traffic::of(&self.key, self.quic)
    }

    /// When its last data passed, in nanoseconds; at first when it began.
    pub fn last_data(&self) -> u64 {
        self.last_data
    }

    pub(crate) fn lower_initiates(&self) -> bool {
        self.lower_initiates
    }

    /// The largest segment that one side wants to get; 0 if that is unknown.
    pub(crate) fn largest_segment(&self, side: usize) -> u16 {
        self.directions[side].largest_segment
    }

    /// Return true if a segment opens a new connection between the same ports.
    pub(crate) fn is_replaced_by(&self, tcp: &Tcp, from_lower: bool) -> bool {
        if !tcp.flags.syn() || tcp.flags.ack() {
            return false;
        }
        let before = self.directions[usize::from(from_lower != self.lower_initiates)].initial;
        match self.stage {
            Stage::Closed => true,
            Stage::Opening => before.is_some_and(|before| before != tcp.sequence),
            Stage::Connected | Stage::Datagrams => before != Some(tcp.sequence),
        }
    }

    /// How one side (0: the initiator) sent its first flight.
    pub fn sending(&self, side: usize) -> Sending {
        self.directions[side & 1].first_flight.sending(self.handshake.nanoseconds)
    }

    /// Bytes of both directions.
    pub fn bytes(&self) -> u64 {
        self.directions[0].bytes + self.directions[1].bytes
    }
}
