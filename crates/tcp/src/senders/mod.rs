//! Every sender by the name users give it, one file each.

mod cubic;
mod newreno;
mod reno;
mod sack;
mod tahoe;

pub use cubic::CUBIC;
pub use newreno::NEWRENO;
pub use reno::RENO;
pub use sack::SACK;
pub use tahoe::TAHOE;
