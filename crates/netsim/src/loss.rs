//! Packets that a wire loses, whatever the queue before it does.
//!
//! A lost packet has been transmitted: it takes its time on the link and counts as forwarded. The
//! chain of Gilbert (1960) and Elliott (1963) makes losses come in bursts: before each packet the
//! wire may pass from good to bad or back, and loses the packet with the probability of the state it
//! is then in. Sojourns in the bad state are geometric, `1 / bad_to_good` packets long on average.

use serde::Deserialize;
use vermilion_parameters::ParameterError;

use crate::random::Stream;

/// How a wire loses packets; all numbers are probabilities, per packet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// Each packet on its own.
    Bernoulli {
        /// That a packet is lost.
        probability: f64,
    },
    /// A wire that is good or bad for a while.
    GilbertElliott {
        /// That a good wire turns bad before a packet.
        good_to_bad: f64,
        /// That a bad wire turns good before a packet.
        bad_to_good: f64,
        /// That a good wire loses a packet.
        loss_in_good: f64,
        /// That a bad wire loses a packet.
        loss_in_bad: f64,
    },
}

impl LossModel {
    /// Refuses what is no probability.
    pub fn check(&self) -> Result<(), ParameterError> {
        let fields = match *self {
            Self::Bernoulli { probability } => vec![("loss.probability", probability)],
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => vec![
                ("loss.good_to_bad", good_to_bad),
                ("loss.bad_to_good", bad_to_good),
                ("loss.loss_in_good", loss_in_good),
                ("loss.loss_in_bad", loss_in_bad),
            ],
        };
        for (field, value) in fields {
            if !(0.0..=1.0).contains(&value) {
                return Err(ParameterError::new(field, value, "from 0 to 1"));
            }
        }
        Ok(())
    }
}

/// A wire, which may lose packets.
#[derive(Clone, Debug)]
pub struct LossyWire {
    model: Option<LossModel>,
    bad: bool,
    stream: Stream,
}

impl LossyWire {
    /// A good wire; it loses nothing without a model.
    pub fn new(model: Option<LossModel>, stream: Stream) -> Self {
        Self { model, bad: false, stream }
    }

    /// Follows another model from now on, in the state it is in.
    pub fn set_model(&mut self, model: LossModel) {
        self.model = Some(model);
    }

    /// Return true if the next packet is lost.
    pub fn loses(&mut self) -> bool {
        self.model.is_some() && self.loses_under_model()
    }

    #[cold] // links that lose nothing should not pay for it
    #[inline(never)]
    fn loses_under_model(&mut self) -> bool {
        let Some(model) = self.model else { return false };
        match model {
            LossModel::Bernoulli { probability } => self.stream.uniform() < probability,
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad } => {
                let turn = if self.bad { bad_to_good } else { good_to_bad };
                self.bad ^= self.stream.uniform() < turn;
                let loss = if self.bad { loss_in_bad } else { loss_in_good };
                self.stream.uniform() < loss
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn outcomes(model: LossModel, count: usize) -> Vec<bool> {
        let mut wire = LossyWire::new(Some(model), Stream::new(1, Purpose::WireLoss, 0));
        (0..count).map(|_| wire.loses()).collect()
    }

    fn share(outcomes: &[bool]) -> f64 {
        outcomes.iter().filter(|&&lost| lost).count() as f64 / outcomes.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_share_and_nothing_or_all_at_the_ends() {
        for (probability, tolerance) in [(0.0, 0.0), (0.01, 0.0004), (1.0, 0.0)] {
            let lost = share(&outcomes(LossModel::Bernoulli { probability }, 1_000_000));
            assert!((lost - probability).abs() <= tolerance, "{lost}");
        }
    }

    #[test]
    fn gilbert_elliott_loses_the_share_of_its_stationary_states() {
        // Bad for p / (p + r) of the packets: 0.02 / 0.27 of them, which lose half; the rest 1 %.
        let (good_to_bad, bad_to_good, loss_in_good, loss_in_bad) = (0.02, 0.25, 0.01, 0.5);
        let model =
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad };
        let expected = (0.02 * 0.5 + 0.25 * 0.01) / 0.27;
        let lost = share(&outcomes(model, 2_000_000));
        assert!((lost / expected - 1.0).abs() < 0.02, "{lost} against {expected}");
    }

    #[test]
    fn gilbert_bursts_are_geometric() {
        // Lost in the bad state only, and always: bursts of mean 1 / r, P(length > n) = (1 - r)^n.
        let model = LossModel::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.25,
            loss_in_good: 0.0,
            loss_in_bad: 1.0,
        };
        let outcomes = outcomes(model, 4_000_000);
        let bursts: Vec<usize> =
            outcomes.split(|&lost| !lost).map(<[bool]>::len).filter(|&length| length > 0).collect();
        let count = bursts.len() as f64;
        let mean = bursts.iter().sum::<usize>() as f64 / count;
        assert!((mean / 4.0 - 1.0).abs() < 0.02, "{mean}");
        for longer_than in 1..12 {
            let share =
                bursts.iter().filter(|&&length| length > longer_than).count() as f64 / count;
            let expected = 0.75_f64.powi(longer_than as i32);
            let error = (expected * (1.0 - expected) / count).sqrt();
            assert!((share - expected).abs() < 4.0 * error, "{longer_than}: {share}, {expected}");
        }
    }
}
