//! What flows send, and when: one file for each way of deciding that.
//!
//! Nothing here knows the network. When transfers arrive and how large they are follows from the
//! seed, the group and the position alone, so that candidates compared under one seed meet the same
//! traffic (the one exception is said in its name: `Arrivals::AfterPause`).

mod bursts;
mod open_loop;
mod player;
mod transfers;

pub use open_loop::OpenLoop;
pub use player::Played;
pub use transfers::{Transfer, Transfers};

pub use crate::limits::MOST_SEGMENTS;
use crate::scenario::FlowGroup;

/// How a transfer of `bytes` is cut: its segments, and the size of the last one on the wire.
pub fn segments_of(bytes: u64, group: &FlowGroup) -> (u32, u32) {
    let payload = u64::from(group.packet_size_bytes - group.header_size_bytes);
    let segments = bytes.div_ceil(payload).clamp(1, u64::from(MOST_SEGMENTS));
    let last = bytes.saturating_sub((segments - 1) * payload).clamp(1, payload);
    (segments as u32, last as u32 + group.header_size_bytes)
}
