//! Whether a timeout finds a window that has been reduced for the same losses already, so that the threshold stays.
//! Those whom the recoveries follow have three rules.

use crate::sender::flight::Flight;

/// RFC 5681, section 3.1: the threshold stays where the segment that is missing has been sent again for a timeout before.
/// While one is repaired (`repairing_timeout`) it has been, with all that was outstanding; ns-3 reads it so, too
/// (`ReTxTimeout`). RFC 3168, section 6.1.2: marks and losses of one window of data reduce it once.
pub(super) fn as_published(flight: &Flight, repairing_timeout: bool) -> bool {
    repairing_timeout || flight.is_reduced_for_marks()
}

/// Linux 6.12, `tcp_enter_loss`: a window is reduced once, whether for marks, for losses that are being repaired
/// (`repairing`), or at a timeout since which nothing has been acknowledged (`stalled`). Once all of it has been
/// acknowledged the next one may be reduced.
pub(super) fn as_in_linux(flight: &Flight, repairing: bool, stalled: bool) -> bool {
    flight.unacknowledged < flight.recover
        && (repairing || stalled || flight.is_reduced_for_marks())
}

/// ns-2.35, `TcpAgent::timeout`: if the last reduction was for a mark, however long ago. It asks whether the mark was
/// in this window, but only after it has moved the window's end (`recover_ = maxseq_`), so that it always was.
pub(super) fn as_in_ns2(flight: &Flight) -> bool {
    flight.was_reduced_for_marks_last()
}
