//! The data path of an emulated bottleneck: packets and their times in, packets and their times out.
//!
//! A [`Way`] is one direction of a link. Packets of a real network are given to it when they arrive;
//! it keeps them under any of the disciplines of `vermilion-aqm`, in front of the same transmitter
//! and the same wire as the simulator's ([`TurnLink`](vermilion_netsim::turn_link::TurnLink)), and
//! says when each is to be handed on. Decisions are therefore those of the simulator, given the same
//! arrivals and the same seed.
//!
//! Time is logical: a packet leaves when its link would have sent it, whenever somebody came round to
//! asking. Who is late hands that packet on late, and the next one no later for it.
//!
//! Nothing here knows a clock, a device or a file, and no bytes make it panic. Packets stand in a
//! [`Pool`] of fixed size; nothing is allocated for a packet.

mod air;
mod capture;
mod checksum;
mod header;
mod lanes;
mod measured;
mod merger;
mod packet;
mod pool;
mod report;
mod segments;
mod sightings;
mod timetable;
mod way;

pub use air::Jitter;
pub use capture::{capture_head, capture_packets};
pub use header::{Label, mark};
pub use lanes::Distances;
pub use merger::Merger;
pub use pool::{Pool, Room};
pub use report::{Carried, WayReport};
pub use segments::{Offload, Segments, Unusable};
pub use sightings::{Remark, Sight, Sighting, Sightings};
pub use timetable::Change;
pub use way::{Delivery, Way};
