//! When Linux's timers expire: the timer wheel.
//!
//! Source: Linux 6.12, `kernel/time/timer.c` (`calc_wheel_index`, `calc_index`; the wheel without
//! cascades since 4.8). The wheel has levels. Each has buckets of 1, 8, 64, 512, ... ticks, and a
//! timer comes to the first level that reaches as far as it has to wait. It expires when the bucket
//! after the one that its time lies in begins, so that it is never early. What waits long comes late
//! by up to an eighth of its time, and together with all else of its bucket.
//!
//! So the timeouts of one host's flows coincide. Where a queue has room for one packet or two, most
//! of what is sent again then is lost again (docs/laboratory/kernel.md).

/// Ticks of the bucket of one level in those of the level below, as a power of two.
const SHIFT: u32 = 3;
/// Ticks that the lowest level reaches.
const REACH: u64 = 63;
/// Ticks of the longest bucket that matters here, as a power of two. The maximum timeout of Linux, 120 s, is on this level
/// with ticks of 1 ms.
pub(crate) const COARSEST: u32 = 4 * SHIFT;

/// The tick at which a timer expires that is set at tick `now` for `ticks` of them.
pub(crate) fn expiry(now: u64, ticks: u64) -> u64 {
    let mut shift = 0;
    while shift < COARSEST && ticks >= REACH << shift {
        shift += SHIFT;
    }
    (((now + ticks) >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_kernels_source_holds() {
        // kernel/time/timer.c, "HZ 1000 steps": granularity and range of each level, in ticks of 1 ms.
        let levels = [
            (0, 62, 1),
            (63, 503, 8),
            (504, 4031, 64),
            (4032, 32_255, 512),
            (32_256, 258_047, 4096),
        ];
        for (first, last, granularity) in levels {
            for ticks in [first, last] {
                for now in [0, 1, 4095, 1_000_003] {
                    let at = expiry(now, ticks);
                    assert_eq!(at % granularity, 0, "{ticks} ticks from {now}");
                    let late = at - (now + ticks);
                    assert!((1..=granularity).contains(&late), "{ticks} from {now}: {late} late");
                }
            }
        }
    }

    #[test]
    fn timeouts_of_a_kernel_in_virtual_time_come_when_it_has_them() {
        // A sender of Linux 6.12 with 100 ticks a second behind a full queue, smoothed round trip
        // 53 ms. Seconds at which it sent, less its first tick: probe after 107 ms, timeout after
        // 254 ms, and its doubles.
        let sent = [(27.7551, 27.8725, 11), (27.8725, 28.1425, 26), (28.1425, 28.6725, 52)];
        for (from, to, ticks) in sent {
            let tick = |time: f64| ((time - 0.0025) * 100.0 + 1e-6) as u64;
            assert_eq!(expiry(tick(from), ticks), tick(to));
        }
    }
}
