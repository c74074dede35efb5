//! Packets to order, and a listener that keeps everything.

#![allow(dead_code, reason = "each test file uses a part")]

use vermilion_monitor::{
    Captured, Configuration, End, Flow, LinkType, Listener, Monitor, RoundTrip,
};

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

pub const FIN: u16 = 1;
pub const SYN: u16 = 2;
pub const RST: u16 = 4;
pub const ACK: u16 = 16;
pub const ECE: u16 = 64;
pub const CWR: u16 = 128;
pub const AE: u16 = 256;

/// A TCP segment over IPv4.
#[derive(Clone, Copy, Debug)]
pub struct Tcp {
    pub from: (u8, u16),
    pub to: (u8, u16),
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u16,
    pub payload: u16,
    pub timestamps: Option<(u32, u32)>,
    /// The blocks of SACK.
    pub arrived: &'static [(u32, u32)],
    /// True if a SYN has the option that permits SACK.
    pub permits_selective: bool,
    pub largest_segment: Option<u16>,
    pub ecn: u8,
}

/// A segment from 10.0.0.1, port 1000, to 10.0.0.2, port 80.
pub fn forth() -> Tcp {
    Tcp {
        from: (1, 1000),
        to: (2, 80),
        sequence: 0,
        acknowledgement: 0,
        flags: ACK,
        payload: 0,
        timestamps: None,
        arrived: &[],
        permits_selective: false,
        largest_segment: None,
        ecn: 0,
    }
}

/// A segment the other way.
pub fn back() -> Tcp {
    Tcp { from: (2, 80), to: (1, 1000), ..forth() }
}

impl Tcp {
    pub fn bytes(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(size) = self.largest_segment {
            options.extend([2, 4]);
            options.extend(size.to_be_bytes());
        }
        if let Some((value, echo)) = self.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        if self.permits_selective {
            options.extend([1, 1, 4, 2]);
        }
        if !self.arrived.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.arrived.len() as u8]);
            for (start, end) in self.arrived {
                options.extend(start.to_be_bytes());
                options.extend(end.to_be_bytes());
            }
        }
        let header = 20 + options.len() as u16;
        let mut bytes = internet_4(self.from.0, self.to.0, 6, header + self.payload, self.ecn);
        bytes.extend(self.from.1.to_be_bytes());
        bytes.extend(self.to.1.to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.acknowledgement.to_be_bytes());
        bytes.extend(((header / 4) << 12 | self.flags).to_be_bytes());
        bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(options);
        bytes.resize(bytes.len() + usize::from(self.payload), 0xaa);
        bytes
    }
}

/// A header of IPv4 for so many bytes.
pub fn internet_4(from: u8, to: u8, protocol: u8, bytes: u16, ecn: u8) -> Vec<u8> {
    let [high, low] = (bytes + 20).to_be_bytes();
    vec![0x45, ecn, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to]
}

/// A UDP datagram over IPv4.
pub fn udp(from: (u8, u16), to: (u8, u16), payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut bytes = internet_4(from.0, to.0, 17, length, 0);
    for number in [from.1, to.1, length, 0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// Keeps what it is told.
#[derive(Debug, Default)]
pub struct Kept {
    pub began: Vec<u64>,
    pub round_trips: Vec<RoundTrip>,
    pub ended: Vec<(Flow, End)>,
}

impl Listener for Kept {
    fn flow_began(&mut self, flow: &Flow) {
        self.began.push(flow.number);
    }
    fn round_trip(&mut self, round_trip: &RoundTrip) {
        self.round_trips.push(*round_trip);
    }
    fn flow_ended(&mut self, flow: &Flow, why: End) {
        self.ended.push((flow.clone(), why));
    }
}

/// A monitor and what it has said.
pub struct Watch {
    pub monitor: Monitor,
    pub kept: Kept,
}

impl Watch {
    pub fn new() -> Self {
        Self::with(Configuration { flows: 64, ..Configuration::default() })
    }

    pub fn with(configuration: Configuration) -> Self {
        Self { monitor: Monitor::new(configuration).unwrap(), kept: Kept::default() }
    }

    /// A packet that begins with its IP header.
    pub fn see(&mut self, time: u64, bytes: &[u8]) {
        self.see_as(LinkType::RawInternet, Some(time), bytes);
    }

    pub fn see_as(&mut self, link: LinkType, time: Option<u64>, bytes: &[u8]) {
        let packet = Captured { time, link, bytes, original_length: bytes.len() as u32 };
        self.monitor.observe(&packet, &mut self.kept);
    }

    pub fn segment(&mut self, time: u64, segment: Tcp) {
        self.see(time, &segment.bytes());
    }

    /// Ends the input; the only flow there was.
    pub fn only_flow(&mut self) -> (Flow, End) {
        self.monitor.finish(&mut self.kept);
        assert_eq!(self.kept.ended.len(), 1, "{:?}", self.kept.ended);
        self.kept.ended.remove(0)
    }
}
