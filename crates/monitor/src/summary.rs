//! What was seen, put together for people and programs. A number that cannot be computed is left
//! out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use serde::Serialize;

use crate::Undecoded;
use crate::flows::{
    Direction, EcnNegotiation, End, Endpoint, Flow, Order, Protocol, Sending, Traffic,
};
use crate::histogram::Durations;
use crate::listener::Listener;
use crate::round_trips::{self, Method, NotTimed, Path};
use crate::sizes::{BOUNDS, Sizes};
use crate::tally::Tally;
use crate::totals::{Amount, NotTracked, NotWhole, Totals};

const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

/// Packets or bytes by ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EcnFields {
    /// Not capable.
    pub not_ect: u64,
    /// Capable: ECT(1).
    pub ect_1: u64,
    /// Capable: ECT(0).
    pub ect_0: u64,
    /// Congestion experienced.
    pub ce: u64,
}

impl From<[u64; 4]> for EcnFields {
    fn from([not_ect, ect_1, ect_0, ce]: [u64; 4]) -> Self {
        Self { not_ect, ect_1, ect_0, ce }
    }
}

/// Packets up to a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBin {
    /// The largest size of the bin in bytes; absent for the last, which has no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to_bytes: Option<u32>,
    /// How many packets are larger than the bin before and not larger than this.
    pub packets: u64,
}

/// How large IP packets are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeSummary {
    /// The mean in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_bytes: Option<f64>,
    /// The standard deviation in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sd_bytes: Option<f64>,
    /// The largest.
    pub max_bytes: u32,
    /// How many are how large.
    pub bins: Vec<SizeBin>,
}

impl From<&Sizes> for SizeSummary {
    fn from(sizes: &Sizes) -> Self {
        let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
        Self {
            mean_bytes: sizes.mean(),
            sd_bytes: sizes.standard_deviation(),
            max_bytes: sizes.most,
            bins: bounds
                .zip(sizes.bins)
                .map(|(up_to_bytes, packets)| SizeBin { up_to_bytes, packets })
                .collect(),
        }
    }
}

/// Packets that are several, captured as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// How many of them were captured.
    pub packets: u64,
    /// How many packets the link carried for them, at least.
    pub carried_at_least: u64,
}

/// IP packets and bytes by kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrafficSummary {
    /// TCP.
    pub tcp: Amount,
    /// UDP that may respond to congestion.
    pub udp_may_respond: Amount,
    /// Any other UDP.
    pub udp: Amount,
    /// IP without ports that are read.
    pub other_ip: Amount,
}

/// Round trips in milliseconds, by path; absent where there were none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTripSummary {
    /// Between the monitor and the receivers of data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Durations>,
    /// Whole ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<Durations>,
    /// Whole ones of handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Durations>,
}

/// Observations of all packets together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// When the first packet passed, in nanoseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    /// When the last packet passed, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ns: Option<u64>,
    /// From the first packet to the last, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire, with the link's header.
    pub wire_bytes: u64,
    /// Packets of which less was captured than there was.
    pub cut: u64,
    /// Packets whose time is before that of an earlier one.
    pub time_backwards: u64,
    /// Packets without a time.
    pub without_time: u64,
    /// IP packets by kind of traffic.
    pub traffic: TrafficSummary,
    /// The share of bytes of IP that nothing is known to slow down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unresponsive_share: Option<f64>,
    /// Packets of which no more was read, by reason.
    pub undecoded: Tally<Undecoded>,
    /// Pieces of IP packets.
    pub fragments: u64,
    /// IP packets by ECN field.
    pub ecn: EcnFields,
    /// TCP segments that say that congestion was experienced.
    pub ece: u64,
    /// TCP segments that say that the window was reduced.
    pub cwr: u64,
    /// How large IP packets are.
    pub sizes: SizeSummary,
    /// Packets that are several.
    pub merged: Merged,
    /// TCP segments of flows that were followed.
    pub segments: u64,
    /// Those with data by what they are.
    pub order: Tally<Order>,
    /// How often data was acknowledged that the monitor had not seen.
    pub acknowledged_unseen: u64,
    /// Round trips in milliseconds.
    pub round_trips_ms: RoundTripSummary,
    /// Segments that gave no round trip, by reason.
    pub not_timed: Tally<NotTimed>,
    /// Round trips beyond the monitor that became no whole one, by reason.
    pub not_whole: Tally<NotWhole>,
    /// Flows that were followed.
    pub flows_seen: u64,
    /// TCP connections whose opening was seen.
    pub openings: u64,
    /// Why flows are no longer followed.
    pub ended: Tally<End>,
    /// Packets of flows that there was no room to follow, by reason.
    pub not_tracked: Tally<NotTracked>,
}

impl From<&Totals> for Summary {
    fn from(totals: &Totals) -> Self {
        let span = totals.first.zip(totals.last);
        Self {
            first_ns: totals.first,
            last_ns: totals.last,
            duration_s: span.map(|(first, last)| last.saturating_sub(first) as f64 / SECOND),
            packets: totals.packets,
            wire_bytes: totals.wire_bytes,
            cut: totals.cut,
            time_backwards: totals.backwards,
            without_time: totals.without_time,
            traffic: TrafficSummary {
                tcp: totals.amount(Traffic::Tcp),
                udp_may_respond: totals.amount(Traffic::UdpMayRespond),
                udp: totals.amount(Traffic::Udp),
                other_ip: totals.amount(Traffic::Other),
            },
            unresponsive_share: totals.unresponsive_share(),
            undecoded: totals.undecoded,
            fragments: totals.fragments,
            ecn: totals.ecn.into(),
            ece: totals.ece,
            cwr: totals.cwr,
            sizes: (&totals.sizes).into(),
            merged: Merged { packets: totals.merged, carried_at_least: totals.merged_from },
            segments: totals.segments,
            order: totals.order,
            acknowledged_unseen: totals.acknowledged_unseen,
            round_trips_ms: RoundTripSummary {
                beyond: totals.durations(Path::Beyond),
                whole: totals.durations(Path::Whole),
                handshake: totals.durations(Path::Handshake),
            },
            not_timed: totals.not_timed,
            not_whole: totals.not_whole,
            flows_seen: totals.flows,
            openings: totals.openings,
            ended: totals.ended,
            not_tracked: totals.not_tracked,
        }
    }
}

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EndSummary {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

impl From<Endpoint> for EndSummary {
    fn from(end: Endpoint) -> Self {
        Self { address: end.address.into(), port: end.port }
    }
}

/// A flow's round trips in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowRoundTrips {
    /// How many were taken.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The last.
    pub latest: f64,
}

impl FlowRoundTrips {
    fn of(durations: &round_trips::Durations) -> Option<Self> {
        (durations.count > 0).then(|| Self {
            count: durations.count,
            mean: durations.sum as f64 / durations.count as f64 / MILLISECOND,
            min: durations.least as f64 / MILLISECOND,
            max: durations.most as f64 / MILLISECOND,
            latest: durations.latest as f64 / MILLISECOND,
        })
    }
}

/// Traffic that one end of a flow sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionSummary {
    /// Packets, as they were captured.
    pub packets: u64,
    /// Their bytes from the IP header on.
    pub bytes: u64,
    /// Bytes of data of TCP, repetitions included.
    pub payload_bytes: u64,
    /// Packets by ECN field.
    pub ecn: EcnFields,
    /// Segments that say that congestion was experienced.
    pub ece: u64,
    /// Segments that say that the window was reduced.
    pub cwr: u64,
    /// Packets that are several.
    pub merged: Merged,
    /// TCP segments with data by what they are.
    pub order: Tally<Order>,
    /// How often data was acknowledged that the monitor had not seen.
    pub acknowledged_unseen: u64,
    /// The most data under way at once, as the monitor saw it.
    pub most_in_flight_bytes: u32,
    /// Round trips between the monitor and the receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_ms: Option<FlowRoundTrips>,
    /// Whole round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_ms: Option<FlowRoundTrips>,
    /// Packets that were sent before anything was acknowledged; absent if the opening was not seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_flight_packets: Option<u32>,
    /// How they were sent.
    pub first_flight: Sending,
}

impl DirectionSummary {
    fn of(side: &Direction, first_flight: Sending) -> Self {
        Self {
            packets: side.packets,
            bytes: side.bytes,
            payload_bytes: side.payload,
            ecn: side.ecn.into(),
            ece: side.ece,
            cwr: side.cwr,
            merged: Merged { packets: side.merged, carried_at_least: side.merged_from },
            order: side.order,
            acknowledged_unseen: side.acknowledged_unseen,
            most_in_flight_bytes: side.most_in_flight,
            beyond_ms: FlowRoundTrips::of(&side.beyond),
            whole_ms: FlowRoundTrips::of(&side.whole),
            first_flight_packets: side.opened().then_some(side.first_flight.packets),
            first_flight,
        }
    }
}

/// Observations of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// In order of first sight, from 0.
    pub number: u64,
    /// "tcp" or "udp".
    pub protocol: &'static str,
    /// Kind of traffic.
    pub traffic: Traffic,
    /// Who opened it; who sent the first packet seen, if that is not known.
    pub initiator: EndSummary,
    /// The other end.
    pub responder: EndSummary,
    /// True if the initiator is known.
    pub initiator_known: bool,
    /// When its first packet passed, in nanoseconds since 1970.
    pub first_ns: u64,
    /// When its last packet passed, likewise.
    pub last_ns: u64,
    /// Why it is no longer followed; absent if it still is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<End>,
    /// True if ECN was negotiated.
    pub ecn: EcnNegotiation,
    /// How its round trips are taken.
    pub timed_by: Method,
    /// The round trip of its handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake_ms: Option<f64>,
    /// Segments that gave no round trip, by reason.
    pub not_timed: Tally<NotTimed>,
    /// Traffic that the initiator sent.
    pub from_initiator: DirectionSummary,
    /// Traffic that the responder sent.
    pub from_responder: DirectionSummary,
}

impl FlowSummary {
    /// Puts a flow's figures together.
    pub fn of(flow: &Flow, ended: Option<End>) -> Self {
        let [initiator, responder] = flow.ends().map(EndSummary::from);
        let [forth, back] = &flow.directions;
        Self {
            number: flow.number,
            protocol: match flow.key().protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
            },
            traffic: flow.traffic(),
            initiator,
            responder,
            initiator_known: flow.initiator_known,
            first_ns: flow.first,
            last_ns: flow.last,
            ended,
            ecn: flow.ecn,
            timed_by: flow.method,
            handshake_ms: flow.handshake_nanoseconds().map(|time| time as f64 / MILLISECOND),
            not_timed: flow.not_timed,
            from_initiator: DirectionSummary::of(forth, flow.sending(0)),
            from_responder: DirectionSummary::of(back, flow.sending(1)),
        }
    }
}

/// Keeps the largest flows that have ended, by bytes; so many and no more.
pub struct Largest {
    most: usize,
    /// The smallest of those kept on top. Of equal ones the first seen are kept.
    heap: BinaryHeap<Reverse<Ranked>>,
    left_out: u64,
}

struct Ranked {
    bytes: u64,
    summary: FlowSummary,
}

impl Ranked {
    fn rank(&self) -> (u64, Reverse<u64>) {
        (self.bytes, Reverse(self.summary.number))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Largest {
    /// Will keep so many.
    pub fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new(), left_out: 0 }
    }

    /// The flows kept, the largest first.
    pub fn flows(&self) -> Vec<&FlowSummary> {
        let mut ranked: Vec<&Ranked> = self.heap.iter().map(|Reverse(ranked)| ranked).collect();
        ranked.sort_by_key(|ranked| Reverse(ranked.rank()));
        ranked.into_iter().map(|ranked| &ranked.summary).collect()
    }

    /// How many flows were smaller.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

impl Listener for Largest {
    fn flow_ended(&mut self, flow: &Flow, why: End) {
        let bytes = flow.bytes();
        if self.heap.len() == self.most {
            self.left_out += 1;
            match self.heap.peek() {
                Some(Reverse(least)) if (bytes, Reverse(flow.number)) > least.rank() => {}
                _ => return,
            }
            self.heap.pop();
        }
        self.heap.push(Reverse(Ranked { bytes, summary: FlowSummary::of(flow, Some(why)) }));
    }
}
