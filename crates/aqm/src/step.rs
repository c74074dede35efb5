use vermilion_parameters::{Bytes, Packets, ParameterError, Seconds, Settings, choices, settings};

use crate::{Arrival, Coin, Decide, Discipline, DropReason, LinkFacts, Listed, Verdict};

choices! {
    /// Threshold that is in force.
    pub StepMeasure { Packets = "packets", Bytes = "bytes", Delay = "delay" }
}

settings! {
    /// Settings of [`Step`].
    pub StepSettings "step": "Step marking",
        "Marks every packet that meets more than a threshold, as switches for DCTCP do",
        "Alizadeh et al., SIGCOMM 2010; RFC 8257";
    /// packets the buffer holds
    limit: Packets<u32> = 100 in [1, 1e9], "a common default";
    /// which of the three thresholds is in force
    measure: StepMeasure = Packets, "the paper has packets";
    /// packets waiting above which an arriving one is marked
    threshold: Packets = 20 in [0, 1e9] linear [1, 100] only_with (measure = "packets"),
        "SIGCOMM 2010: K at 1 Gbit/s (65 at 10 Gbit/s)";
    /// the same in bytes
    threshold_bytes: Bytes = 30_000 in [0, 1e12] linear [1_500, 150_000] only_with (measure = "bytes"),
        "20 packets of 1500 bytes";
    /// the same as the time in which the link sends what waits
    threshold_delay: Seconds = 0.001 in [0, 100] log [1e-4, 0.05] only_with (measure = "delay"),
        "RFC 9332, appendix A.1: the step of its low-latency queue";
    /// ECN-capable packets are marked, not dropped
    ecn: bool = true, "RFC 8257, section 3.1";
    /// packets that cannot be marked are dropped above the threshold, not let through
    drop_others: bool = true, "RFC 3168, section 5";
}

/// Step marking: every packet that meets more than a threshold is marked, as DCTCP's switches do.
///
/// Source: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1; S. Bensley et al.,
/// "Data Center TCP (DCTCP)", RFC 8257, 2017.
///
/// State: none. Control law: a packet that finds more than the threshold waiting is marked, whatever
/// the queue was before. The threshold is in packets, in bytes, or in the time that the link needs for
/// the bytes that wait, which is what the packet will wait itself while the rate stays.
///
/// The paper asks for more than capacity x round-trip time / 7 packets, and uses 20 at 1 Gbit/s and 65
/// at 10 Gbit/s. On switches with RED only, it is RED with equal thresholds and weight 1.
///
/// Departures from the sources:
/// 1. The sources say nothing of packets that cannot be marked. RFC 3168 has them dropped where others
///    would be marked, and a RED switch set as above does so; `drop_others` chooses between that and
///    letting them through to the end of the buffer.
/// 2. The packet in transmission does not count, nor does the arriving one.
#[derive(Clone, Debug)]
pub struct Step {
    set: StepSettings,
    bytes_per_second: f64,
}

impl Listed for Step {
    type Settings = StepSettings;

    fn new(set: StepSettings, link: LinkFacts) -> Result<Self, ParameterError> {
        Ok(Self { set, bytes_per_second: link.rate / 8.0 })
    }
}

impl Discipline for Step {
    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        *self = Self::new(settings.read(), link)?;
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
        if arrival.queue_packets >= self.set.limit.0 {
            return Verdict::Drop(DropReason::Overflow);
        }
        let (packets, bytes) = (f64::from(arrival.queue_packets), arrival.queue_bytes as f64);
        let above = match self.set.measure {
            StepMeasure::Packets => packets > self.set.threshold.0,
            StepMeasure::Bytes => bytes > self.set.threshold_bytes.0,
            StepMeasure::Delay => bytes > self.set.threshold_delay.0 * self.bytes_per_second,
        };
        if !above {
            return Verdict::Accept;
        }
        match arrival.notify(self.set.ecn, DropReason::Forced) {
            Verdict::Drop(_) if !self.set.drop_others => Verdict::Accept,
            verdict => verdict,
        }
    }
}
