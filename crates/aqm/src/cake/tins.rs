//! CAKE's tins: which codepoints go where, and what each tin is promised.

use vermilion_parameters::choices;

/// The quantum of a tin that is alone.
const ALONE: u16 = 65_535;

choices! {
    /// Which tins there are.
    pub CakeTins {
        /// One:
        BestEffort = "besteffort",
        /// Best effort, bulk, voice:
        Diffserv3 = "diffserv3",
        /// Best effort, bulk, video, voice:
        Diffserv4 = "diffserv4",
        /// Eight by what codepoints mean today:
        Diffserv8 = "diffserv8",
        /// Eight by the three bits of IP precedence:
        Precedence = "precedence",
    }
}

/// Allotment of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allotment {
    /// Bytes per second within which it goes before tins of a lower number; 0 without a rate.
    pub(crate) threshold: u64,
    /// Bytes in a turn, where there is no rate.
    pub(crate) quantum: u16,
}

impl CakeTins {
    /// Allotments of a rate in bytes per second.
    pub(crate) fn allotments(self, rate: u64) -> Vec<Allotment> {
        let of = |(threshold, quantum)| Allotment { threshold, quantum };
        match self {
            Self::BestEffort => vec![of((rate, ALONE))],
            Self::Diffserv3 => [(rate, 1024), (rate >> 4, 64), (rate >> 2, 256)].map(of).to_vec(),
            Self::Diffserv4 => {
                [(rate, 1024), (rate >> 4, 64), (rate >> 1, 512), (rate >> 2, 256)].map(of).to_vec()
            }
            Self::Diffserv8 | Self::Precedence => {
                let less = |&(rate, quantum): &(u64, u16)| {
                    Some(((rate * 7) >> 3, ((u32::from(quantum) * 7) >> 3) as u16))
                };
                std::iter::successors(Some((rate, 256)), less).take(8).map(of).collect()
            }
        }
    }

    /// The tin of packets with this codepoint.
    #[inline]
    pub(crate) fn tin_of(self, dscp: u8) -> usize {
        let dscp = dscp & 63;
        match self {
            Self::BestEffort => 0,
            Self::Precedence => usize::from(dscp >> 3),
            Self::Diffserv3 => usize::from(diffserv3(dscp)),
            Self::Diffserv4 => usize::from(diffserv4(dscp)),
            Self::Diffserv8 => usize::from(diffserv8(dscp)),
        }
    }
}

/// LE (1) and CS1 (8) are bulk; TOS4 (4), VA (44), EF (46), CS6 (48) and CS7 (56) are voice.
fn diffserv3(dscp: u8) -> u8 {
    match dscp {
        1 | 8 => 1,
        4 | 44 | 46 | 48 | 56 => 2,
        _ => 0,
    }
}

/// As above; CS2 (16) and the assured forwarding of its class and the next two are video with CS3 (24); CS4 (32) and
/// CS5 (40) are voice.
fn diffserv4(dscp: u8) -> u8 {
    match dscp {
        1 | 8 => 1,
        4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
        32 | 40 | 44 | 46 | 48 | 56 => 3,
        _ => 0,
    }
}

/// From those who yield (LE) and bulk (CS1, AF1) over video streams (CS3, AF3, AF4), low latency (TOS4, AF2) and
/// transactions (CS2) to voice and network control.
fn diffserv8(dscp: u8) -> u8 {
    match dscp {
        1 => 0,
        2 | 8 | 10 | 12 | 14 => 1,
        24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
        4 | 18 | 20 | 22 => 4,
        16 => 5,
        32 | 40 | 44 | 46 => 6,
        48 | 56 => 7,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tins_are_promised_parts_of_the_rate() {
        let all = |tins: CakeTins| {
            tins.allotments(2_500_000)
                .iter()
                .map(|it| (it.threshold, it.quantum))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(CakeTins::BestEffort), [(2_500_000, 65_535)]);
        assert_eq!(
            all(CakeTins::Diffserv4),
            [(2_500_000, 1024), (156_250, 64), (1_250_000, 512), (625_000, 256)]
        );
        let eight = all(CakeTins::Diffserv8);
        assert_eq!((eight.len(), eight[1], eight[7]), (8, (2_187_500, 224), (981_738, 98)));
    }

    #[test]
    fn codepoints_go_to_their_tins() {
        let tins =
            [CakeTins::Diffserv3, CakeTins::Diffserv4, CakeTins::Diffserv8, CakeTins::Precedence];
        let of = |dscp| tins.map(|each| each.tin_of(dscp));
        assert_eq!(of(0), [0, 0, 2, 0]);
        assert_eq!(of(1), [1, 1, 0, 0]);
        assert_eq!(of(8), [1, 1, 1, 1]);
        assert_eq!(of(34), [0, 2, 3, 4]);
        assert_eq!(of(40), [0, 3, 6, 5]);
        assert_eq!(of(46), [2, 3, 6, 5]);
        assert_eq!(of(48), [2, 3, 7, 6]);
        assert_eq!(of(63), [0, 0, 2, 7]);
    }
}
