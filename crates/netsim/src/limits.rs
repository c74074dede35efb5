//! What nothing in a run exceeds: the largest numbers that a scenario may hold, and what follows from
//! them. It stands below the scenario, so that each part of one can refuse what is too large.

use vermilion_parameters::ParameterError;

/// Longest duration: about eleven days.
pub const LONGEST_DURATION: u64 = 1_000_000_000_000_000;
/// Highest rate of a link: 10 Tbit/s.
pub const HIGHEST_RATE: u64 = 10_000_000_000_000;
/// Longest delay or round trip: an hour.
pub const LONGEST_DELAY: u64 = 3_600_000_000_000;
/// Most flows in all groups together.
pub const MOST_FLOWS: u64 = 1_000_000;
/// Most links.
pub const MOST_LINKS: u64 = 10_000;
/// Most numbers that are kept at the ends of all phases together: one for each flow, and
/// [`LINK_MEASURES`] for each link.
pub const MOST_MEASURES: u64 = 20_000_000;
/// Weight of a link's queue among them: its histograms are much larger than a flow's tally. So is
/// that of a group's delays, where it is asked for.
pub const LINK_MEASURES: u64 = 50;
/// Most packets that wait or are in flight at a time: one that waits takes 56 bytes, and rings grow by doubling.
pub const MOST_HELD: u64 = 20_000_000;
/// Most points of a probe's time series.
pub const MOST_PROBES: u64 = 10_000_000;
/// Most data segments a connection carries; then it ends. Sequence numbers are 32 bits wide and do
/// not wrap around, and this leaves room for every window.
pub const MOST_SEGMENTS: u32 = 4_000_000_000;

/// Largest window that a sender's table allows, and room to grow for what tracks it.
const WINDOW_ROOM: u32 = 1 << 24;
const _: () = assert!(MOST_SEGMENTS < u32::MAX - WINDOW_ROOM);

/// Later than any instant of a run: where a link never sends again. Sums of it and of any delay
/// still are instants.
pub const FAR: u64 = 1 << 62;

/// Refuses a number of a scenario that is not between `low` and `high`.
pub(crate) fn within(
    field: &str,
    value: u64,
    low: u64,
    high: u64,
    unit: &str,
) -> Result<(), ParameterError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(ParameterError::new(field, value, format!("from {low} to {high} {unit}")))
}
