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
mod vegas;

pub use bbr::BbrSettings;
pub use bbr1::Bbr1Settings;
pub use cubic::CubicSettings;
pub use dctcp::DctcpSettings;
pub use ledbat::LedbatSettings;
pub use newreno::NewRenoSettings;
pub use prague::PragueSettings;
pub use rem::RemSettings;
pub use reno::RenoSettings;
pub use sack::SackSettings;
pub use tahoe::TahoeSettings;
pub use vegas::VegasSettings;
