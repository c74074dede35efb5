//! Every sender by the name users give it, one file each.

mod bbr;
mod bbr1;
mod cubic;
mod dctcp;
mod ledbat;
mod newreno;
mod prague;
mod rem;
mod reno;
mod sack;
mod tahoe;

pub use bbr::BBR;
pub use bbr1::BBR1;
pub use cubic::CUBIC;
pub use dctcp::DCTCP;
pub use ledbat::LEDBAT;
pub use newreno::NEWRENO;
pub use prague::PRAGUE;
pub use rem::REM;
pub use reno::RENO;
pub use sack::SACK;
pub use tahoe::TAHOE;
