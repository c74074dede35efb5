//! The monitor: packets in, events and totals out.

use crate::configuration::{Configuration, ConfigurationError};
use crate::decode::{Fragment, Headers, Internet, LinkType, Transport};
use crate::entrance::Stamped;
use crate::flows::{BYTES_PER_FLOW, End, Flow, Key, Place, Segment, Stage, Table, Traffic};
use crate::listener::Listener;
use crate::round_trips::NotTimed;
use crate::tally::Reason;
use crate::totals::{NotTracked, NotWhole, Totals};

/// How many flows are forgotten for one packet, at most.
const FORGOTTEN_AT_ONCE: usize = 4;

/// Of a hash that is a flow's number. Fifty bits are left, so that whoever multiplies a number has room:
/// of a thousand flows two have the same number once in 2 billion times.
const SPARE_BITS: u32 = 14;

/// A packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// When, in nanoseconds; `None` if the capture does not say.
    pub time: Option<u64>,
    /// First header in the bytes.
    pub link: LinkType,
    /// As many of the packet's bytes as were captured.
    pub bytes: &'a [u8],
    /// How many bytes the packet had.
    pub original_length: u32,
}

/// Passive monitor: packets in, events and totals out. It is told of packets and tells a [`Listener`]; its memory is
/// bounded ([`Monitor::most_memory`]), and no bytes make it panic.
pub struct Monitor {
    configuration: Configuration,
    table: Table,
    totals: Totals,
    /// The latest time of any packet.
    now: u64,
}

impl Monitor {
    /// A monitor that has seen nothing.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn new(configuration: Configuration) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let table = Table::new(configuration.flows, configuration.seed);
        Ok(Self { configuration, table, totals: Totals::default(), now: 0 })
    }

    /// Bytes of memory that the flows of a configuration take at most. Everything else of a monitor
    /// takes less than 50,000 bytes.
    pub const fn most_memory(configuration: &Configuration) -> u64 {
        configuration.flows as u64 * BYTES_PER_FLOW as u64
    }

    /// Counts of all packets.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Settings.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The latest time of any packet, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many flows are followed; those that have been silent for too long and are yet to be
    /// forgotten are among them.
    pub fn followed(&self) -> usize {
        self.table.len()
    }

    /// Every flow that is followed, of each stage the most silent first.
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.table.iter()
    }

    /// How many flows have sent data lately and were not closed, by protocol: TCP and UDP.
    pub fn active(&self) -> [u64; 2] {
        let since = self.now.saturating_sub(self.configuration.active_ns);
        let mut active = [0; 2];
        for flow in self.table.iter() {
            let last = match flow.stage {
                Stage::Connected => flow.last_data(),
                Stage::Datagrams => flow.last,
                Stage::Opening | Stage::Closed => continue,
            };
            if last >= since {
                active[flow.key().protocol as usize] += 1;
            }
        }
        active
    }

    /// Takes a packet in.
    pub fn observe(&mut self, packet: &Captured<'_>, listener: &mut impl Listener) {
        self.pass_time(packet.time);
        self.totals.packets += 1;
        self.totals.wire_bytes += u64::from(packet.original_length);
        self.totals.cut += u64::from((packet.original_length as usize) > packet.bytes.len());
        self.forget(FORGOTTEN_AT_ONCE, listener);
        match Headers::read(packet.link, packet.bytes, packet.original_length) {
            Ok(headers) => self.internet(&headers, packet.time, listener),
            Err(reason) => self.totals.undecoded.add(reason),
        }
    }

    /// Tells the listener of a packet that is seen before the queue, and will be observed behind it
    /// if it is not dropped. Nothing is counted, and no flow begins with it.
    pub fn sees_enter(&mut self, packet: &Captured<'_>, listener: &mut impl Listener) {
        let Ok(headers) = Headers::read(packet.link, packet.bytes, packet.original_length) else {
            return;
        };
        let (Some((key, from_lower)), Some(segment)) =
            (Key::of(&headers), stamped(&headers, packet.time))
        else {
            return;
        };
        let hash = self.table.hash(&key);
        if let Some(place) = self.table.find(&key, hash) {
            let flow = self.table.flow(place);
            listener.entered(flow, from_lower == flow.lower_initiates(), &segment);
        }
    }

    /// Time has gone on to `time` without packets: forgets the flows that have been silent for too
    /// long.
    pub fn advance(&mut self, time: u64, listener: &mut impl Listener) {
        self.now = self.now.max(time);
        self.forget(usize::MAX, listener);
    }

    /// The input has ended: no flow is followed any more.
    pub fn finish(&mut self, listener: &mut impl Listener) {
        self.forget(usize::MAX, listener);
        for &stage in Stage::ALL {
            while let Some((place, flow)) = self.table.most_silent(stage) {
                let why = how_it_ended(flow, End::InputEnded);
                self.end(place, why, listener);
            }
        }
    }

    fn pass_time(&mut self, time: Option<u64>) {
        let Some(time) = time else {
            self.totals.without_time += 1;
            return;
        };
        if time < self.now && self.totals.first.is_some() {
            self.totals.backwards += 1;
        }
        self.totals.first.get_or_insert(time);
        self.now = self.now.max(time);
        self.totals.last = Some(self.now);
    }

    fn internet(&mut self, headers: &Headers, time: Option<u64>, listener: &mut impl Listener) {
        let internet = &headers.internet;
        self.totals.sizes.add(internet.length);
        self.totals.ecn[usize::from(internet.ecn & 3)] += 1;
        self.totals.fragments += u64::from(internet.fragment != Fragment::None);
        if let Err(reason) = headers.transport {
            self.totals.undecoded.add(reason);
        }
        let Some((key, from_lower)) = Key::of(headers) else {
            let merged = packets_in(&self.configuration, internet, 0, 0, 0);
            self.count(Traffic::Other, internet, merged);
            return;
        };
        let Some(place) = self.place(key, from_lower, headers, listener) else {
            let merged = packets_in(&self.configuration, internet, 0, 0, 0);
            self.count(untracked_traffic(&key, headers), internet, merged);
            return;
        };
        self.enter(place, from_lower, headers, time, listener);
    }

    /// Takes a packet into its flow.
    fn enter(
        &mut self,
        place: Place,
        from_lower: bool,
        headers: &Headers,
        time: Option<u64>,
        listener: &mut impl Listener,
    ) {
        let internet = &headers.internet;
        let flow = self.table.flow(place);
        let from = usize::from(from_lower != flow.lower_initiates());
        let (payload, header) = match &headers.transport {
            Ok(Transport::Tcp(tcp)) => (tcp.payload, internet.length - tcp.payload),
            _ => (0, 0),
        };
        let segment = flow.largest_segment(1 - from);
        let packets = packets_in(&self.configuration, internet, payload, header, segment);
        let new = flow.bytes() == 0;
        flow.last = self.now;
        let side = &mut flow.directions[from];
        side.packets += 1;
        side.bytes += u64::from(internet.length);
        side.ecn[usize::from(internet.ecn & 3)] += 1;
        if packets > 1 {
            side.merged += 1;
            side.merged_from += u64::from(packets);
        }
        if let Some(segment) = stamped(headers, time) {
            listener.segment(flow, from == 0, &segment);
        }
        match &headers.transport {
            Ok(Transport::Tcp(tcp)) => Segment {
                tcp,
                internet,
                time,
                from,
                merged: packets > 1,
                configuration: &self.configuration,
                totals: &mut self.totals,
                listener,
            }
            .enter(flow),
            Ok(Transport::Udp(udp)) => {
                flow.quic |= udp.quic_long_header;
                if !new {
                    flow.stage = Stage::Datagrams;
                }
            }
            _ => {}
        }
        let traffic = flow.traffic();
        if new {
            self.totals.flows += 1;
            listener.flow_began(flow);
        }
        listener.packet(flow, from == 0, packets, internet.length);
        self.table.renew(place);
        self.count(traffic, internet, packets);
    }

    fn count(&mut self, traffic: Traffic, internet: &Internet, packets: u32) {
        let amount = &mut self.totals.traffic[traffic as usize];
        amount.packets += 1;
        amount.bytes += u64::from(internet.length);
        if packets > 1 {
            self.totals.merged += 1;
            self.totals.merged_from += u64::from(packets);
        }
    }

    /// Where the packet's flow lies, which may begin with it; `None` if there is no place for it.
    fn place(
        &mut self,
        key: Key,
        from_lower: bool,
        headers: &Headers,
        listener: &mut impl Listener,
    ) -> Option<Place> {
        let hash = self.table.hash(&key);
        let tcp = match &headers.transport {
            Ok(Transport::Tcp(tcp)) => Some(tcp),
            _ => None,
        };
        if let Some(place) = self.table.find(&key, hash) {
            let flow = self.table.flow(place);
            if self.now - flow.last > self.configuration.silent_ns[flow.stage as usize] {
                let why = how_it_ended(flow, End::Silent);
                self.end(place, why, listener);
            } else if tcp.is_some_and(|tcp| flow.is_replaced_by(tcp, from_lower)) {
                let why = how_it_ended(flow, End::Replaced);
                self.end(place, why, listener);
            } else {
                return Some(place);
            }
        }
        let opens = tcp.is_some_and(|tcp| tcp.flags.syn());
        if self.table.is_full() {
            self.forget(1, listener);
        }
        if self.table.is_full() {
            self.totals.not_tracked.add(if opens {
                NotTracked::FullOpening
            } else {
                NotTracked::Full
            });
            return None;
        }
        // The first packet of a connection that the monitor sees may be the answer to a SYN.
        let answers = tcp.is_some_and(|tcp| tcp.flags.syn() && tcp.flags.ack());
        let number =
            if self.configuration.shared_numbers { hash >> SPARE_BITS } else { self.totals.flows };
        let mut flow = Flow::new(key, number, from_lower != answers, self.now);
        flow.initiator_known = opens;
        Some(self.table.insert(flow, hash))
    }

    /// Forgets flows that have been silent for too long, so many at most.
    fn forget(&mut self, most: usize, listener: &mut impl Listener) {
        let mut forgotten = 0;
        for &stage in Stage::ALL {
            let silent = self.configuration.silent_ns[stage as usize];
            while let Some((place, flow)) = self.table.most_silent(stage) {
                if self.now - flow.last <= silent {
                    break;
                }
                if forgotten == most {
                    return;
                }
                let why = how_it_ended(flow, End::Silent);
                self.end(place, why, listener);
                forgotten += 1;
            }
        }
    }

    /// Stops following a flow. What waits for an answer will not get any.
    fn end(&mut self, place: Place, why: End, listener: &mut impl Listener) {
        let flow = self.table.flow(place);
        for from in 0..2 {
            let reason = if flow.directions[1 - from].packets == 0 {
                NotTimed::OneDirection
            } else {
                NotTimed::Unanswered
            };
            let (waiting, chained) = flow.directions[from].stop_waiting();
            flow.not_timed.add_many(reason, waiting);
            self.totals.not_timed.add_many(reason, waiting);
            self.totals.not_whole.add_many(NotWhole::Unanswered, chained);
        }
        self.totals.ended.add(why);
        listener.flow_ended(self.table.remove(place), why);
    }
}

/// The timestamps of a segment that has some and whose time is known.
fn stamped(headers: &Headers, time: Option<u64>) -> Option<Stamped> {
    let Ok(Transport::Tcp(tcp)) = &headers.transport else { return None };
    let timestamps = tcp.timestamps?;
    Some(Stamped {
        value: timestamps.value,
        echo: timestamps.echo,
        carries_data: tcp.payload > 0,
        end: tcp.sequence.wrapping_add(tcp.payload),
        acknowledgement: tcp.acknowledgement,
        arrived: tcp.arrived.map(|(_, end)| end),
        time: time?,
    })
}

/// Why a flow ended: that it was closed says more than what came after.
fn how_it_ended(flow: &Flow, otherwise: End) -> End {
    match flow.stage {
        Stage::Closed if flow.reset => End::Reset,
        Stage::Closed => End::Closed,
        _ => otherwise,
    }
}

/// How many packets the link carried, at least, for one that was captured.
fn packets_in(
    configuration: &Configuration,
    internet: &Internet,
    payload: u32,
    header: u32,
    largest_segment: u16,
) -> u32 {
    if !configuration.is_merged(internet, payload, largest_segment) {
        return 1;
    }
    match (payload, u32::from(largest_segment)) {
        (0, _) => internet.length.div_ceil(configuration.largest_packet),
        (_, 0) => payload.div_ceil(configuration.largest_packet.saturating_sub(header).max(1)),
        (_, segment) => payload.div_ceil(segment),
    }
}

/// Kind of traffic of a packet whose flow is not followed.
fn untracked_traffic(key: &Key, headers: &Headers) -> Traffic {
    let quic = matches!(&headers.transport, Ok(Transport::Udp(udp)) if udp.quic_long_header);
    Traffic::of(key, quic)
}
