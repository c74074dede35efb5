//! Step marking: every packet that meets more than a threshold is marked, as DCTCP's switches do.
//!
//! Source: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; S. Bensley et al.,
//! "Data Center TCP (DCTCP)", RFC 8257, 2017.
//!
//! State: none. Control law: a packet that finds more than the threshold waiting is marked, whatever
//! the queue was before. The threshold is in packets, in bytes, or in the time that the link needs for
//! the bytes that wait, which is what the packet will wait itself while the rate stays.
//!
//! The paper asks for more than capacity x round-trip time / 7 packets, and uses 20 at 1 Gbit/s and 65
//! at 10 Gbit/s. On switches with RED only, it is RED with equal thresholds and weight 1.
//!
//! Departures from the sources:
//! 1. The sources say nothing of packets that cannot be marked. RFC 3168 has them dropped where others
//!    would be marked, and a RED switch set as above does so; `drop_others` chooses between that and
//!    letting them through to the end of the buffer.
//! 2. The packet in transmission does not count, nor does the arriving one.

use vermilion_parameters::{Algorithm, Parameter, ParameterError, Scale, Settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

/// Above which packets are marked.
#[derive(Clone, Copy, Debug)]
enum Threshold {
    Packets(f64),
    Bytes(f64),
    /// Seconds.
    Delay(f64),
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Step {
    limit: u32,
    threshold: Threshold,
    ecn: bool,
    drop_others: bool,
    bytes_per_second: f64,
}

impl Listed for Step {
    const ALGORITHM: Algorithm = Algorithm {
        name: "step",
        title: "Step marking",
        summary: "Marks every packet that meets more than a threshold, as switches for DCTCP do",
        source: "Alizadeh et al., SIGCOMM 2010; RFC 8257",
        parameters: &[
            Parameter::number("limit", "packets", Some(100.0), 1.0, 1e9)
                .whole()
                .described("packets the buffer holds", "a common default"),
            Parameter::choice("measure", "packets", &["packets", "bytes", "delay"])
                .described("which of the three thresholds is in force", "the paper has packets"),
            Parameter::number("threshold", "packets", Some(20.0), 0.0, 1e9)
                .searched(1.0, 100.0, Scale::Linear)
                .only_with("measure", "packets")
                .described(
                    "packets waiting above which an arriving one is marked",
                    "SIGCOMM 2010: K at 1 Gbit/s (65 at 10 Gbit/s)",
                ),
            Parameter::number("threshold_bytes", "bytes", Some(30_000.0), 0.0, 1e12)
                .searched(1_500.0, 150_000.0, Scale::Linear)
                .only_with("measure", "bytes")
                .described("the same in bytes", "20 packets of 1500 bytes"),
            Parameter::number("threshold_delay", "seconds", Some(0.001), 0.0, 100.0)
                .searched(1e-4, 0.05, Scale::Log)
                .only_with("measure", "delay")
                .described(
                    "the same as the time in which the link sends what waits",
                    "RFC 9332, appendix A.1: the step of its low-latency queue",
                ),
            Parameter::switch("ecn", true)
                .described("ECN-capable packets are marked, not dropped", "RFC 8257, section 3.1"),
            Parameter::switch("drop_others", true).described(
                "packets that cannot be marked are dropped above the threshold, not let through",
                "RFC 3168, section 5",
            ),
        ],
        ordered: &[],
    };

    fn new(settings: &Settings, link: LinkFacts) -> Result<Self, ParameterError> {
        let threshold = if settings.is("measure", "packets") {
            Threshold::Packets(settings.number("threshold"))
        } else if settings.is("measure", "bytes") {
            Threshold::Bytes(settings.number("threshold_bytes"))
        } else {
            Threshold::Delay(settings.number("threshold_delay"))
        };
        Ok(Self {
            limit: settings.number("limit") as u32,
            threshold,
            ecn: settings.switch("ecn"),
            drop_others: settings.switch("drop_others"),
            bytes_per_second: link.rate / 8.0,
        })
    }
}

impl Discipline for Step {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        *self = Self::new(settings, link)?;
        Ok(())
    }

    fn link_changed(&mut self, link: LinkFacts) {
        self.bytes_per_second = link.rate / 8.0;
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        reason.kind().choose("", "threshold", "limit")
    }
}

impl<C: Coin> Decide<C> for Step {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _coin: &mut C) -> Verdict {
        if arrival.queue_packets >= self.limit {
            return Verdict::Drop(DropReason::Overflow);
        }
        let above = match self.threshold {
            Threshold::Packets(packets) => f64::from(arrival.queue_packets) > packets,
            Threshold::Bytes(bytes) => arrival.queue_bytes as f64 > bytes,
            Threshold::Delay(seconds) => {
                arrival.queue_bytes as f64 > seconds * self.bytes_per_second
            }
        };
        if !above {
            Verdict::Accept
        } else if self.ecn && arrival.ecn_capable() {
            Verdict::Mark
        } else if self.drop_others {
            Verdict::Drop(DropReason::Forced)
        } else {
            Verdict::Accept
        }
    }
}
