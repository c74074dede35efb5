//! What can be set.

use thiserror::Error;

use crate::decode::Internet;
use crate::flows::{STAGES, Stage};

const SECOND: u64 = 1_000_000_000;

/// Settings of a monitor. Times are in nanoseconds of the packets' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// How many flows are followed at once: 1 to [`Configuration::MOST_FLOWS`].
    pub flows: u32,
    /// After how long a silent flow is forgotten, by [`Stage`].
    pub silent_ns: [u64; STAGES],
    /// How recent the data of an active flow is.
    pub active_ns: u64,
    /// After how long what waits for an answer makes room, if no answer at all has come.
    pub answer_time_ns: u64,
    /// The largest IP packet that the link carries, in bytes; what is larger is several, captured as
    /// one.
    pub largest_packet: u32,
    /// Of the hash table; results do not depend on it. Where others choose the addresses, it should
    /// be a number that they cannot know.
    pub seed: u64,
    /// True if a flow's number follows from its addresses, its ports and the seed, so that monitors at
    /// several places give it the same one. Else flows are counted from 0 on.
    pub shared_numbers: bool,
}

/// A configuration that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {value}; expected {accepted}")]
pub struct ConfigurationError {
    /// Which field.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// Accepted values.
    pub accepted: &'static str,
}

impl Configuration {
    /// The largest number of flows.
    pub const MOST_FLOWS: u32 = 1 << 24;

    /// Checks it.
    ///
    /// # Errors
    /// Which field cannot be used.
    pub const fn check(&self) -> Result<(), ConfigurationError> {
        if self.flows == 0 || self.flows > Self::MOST_FLOWS {
            return Err(ConfigurationError {
                field: "flows",
                value: self.flows as u64,
                accepted: "1 to 16777216",
            });
        }
        if self.largest_packet < 68 {
            return Err(ConfigurationError {
                field: "largest_packet",
                value: self.largest_packet as u64,
                accepted: "at least 68 bytes, the least that IPv4 lets a link carry",
            });
        }
        Ok(())
    }

    /// Return true if a packet is several that were captured as one: its TCP payload is larger than the
    /// receiver wants segments to be or, if that is unknown (0), the packet is larger than the link
    /// carries.
    pub fn is_merged(&self, internet: &Internet, payload: u32, largest_segment: u16) -> bool {
        if payload > 0 && largest_segment > 0 {
            return payload > u32::from(largest_segment);
        }
        internet.length > self.largest_packet
    }
}

impl Default for Configuration {
    /// 65,536 flows; silent for 30 s while opening, 300 s when connected, 60 s for UDP, and 10 s
    /// when closed; active with data of the last 60 s; answers within 10 s; packets of 1500 bytes.
    fn default() -> Self {
        let mut silent_ns = [0; STAGES];
        silent_ns[Stage::Opening as usize] = 30 * SECOND;
        silent_ns[Stage::Connected as usize] = 300 * SECOND;
        silent_ns[Stage::Datagrams as usize] = 60 * SECOND;
        silent_ns[Stage::Closed as usize] = 10 * SECOND;
        Self {
            flows: 65_536,
            silent_ns,
            active_ns: 60 * SECOND,
            answer_time_ns: 10 * SECOND,
            largest_packet: 1500,
            seed: 0,
            shared_numbers: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Configuration;

    #[test]
    fn a_table_for_no_flows_is_refused_by_name() {
        let none = Configuration { flows: 0, ..Configuration::default() };
        assert_eq!(none.check().unwrap_err().to_string(), "flows: 0; expected 1 to 16777216");
        assert_eq!(Configuration::default().check(), Ok(()));
    }
}
