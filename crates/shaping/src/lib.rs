//! Laws that keep a shaper at the rate of a line that nobody knows, as pure state machines.
//!
//! A shaper helps where the queue it replaces stands: before a modem whose own queue nobody can set, it has to be a
//! little slower than the line. A [`RateLaw`] is told of probes and of the bytes that pass, and says how fast the
//! shaper may be. Each law is one file and one line of the [`registry`]. A [`Keeper`](keeper::Keeper) decides when a law
//! is followed.

mod autorate;
mod base_delay;
mod fixed;
pub mod keeper;
mod law;
mod line_model;
mod passed;
pub mod registry;
mod service_curve;
mod tuned_service_curve;

pub use autorate::{Autorate, AutorateSettings};
pub use fixed::{Fixed, FixedSettings};
pub use law::{Answer, Choice, Direction, RateLaw, State, Waiting};
pub use registry::AnyLaw;
pub use service_curve::{ServiceCurve, ServiceCurveSettings};
pub use tuned_service_curve::{TunedServiceCurve, TunedServiceCurveSettings};
