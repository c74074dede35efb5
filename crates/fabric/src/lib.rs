//! Data-centre fabrics, packet by packet: hosts whose NICs serve queue pairs in turns, switches with a shared buffer,
//! pauses, marking, and rate-based ends.
//!
//! Nothing here reads files, prints, or asks for the time of day. The same scenario and seed give the same results.
//!
//! A packet costs one event at each node, and one more where it had to wait. What goes before data (acknowledgements,
//! notifications, pauses) never waits but for the frame in transmission, so that its departure is known at its arrival.

mod classes;
mod connection;
mod deadlock;
mod engine;
mod pair;
pub mod pause;
mod port;
mod queue_window;
pub mod results;
pub mod scenario;
pub mod shared_buffer;
mod slots;
mod summary;
mod topology;
mod traffic;
mod turns;

use std::sync::atomic::AtomicBool;

use vermilion_parameters::{ParameterError, Values};
use vermilion_rdma::{RateBased, Visit, registry};
use vermilion_tcp::registry::Profile;

pub use engine::Interrupted;
pub use queue_window::QueueBytes;
pub use results::{Columns, Results};
pub use scenario::Scenario;
pub use traffic::{Transfer, mean_size, transfers};

use engine::{Build, Engine};

/// A fabric that is built and has not begun.
pub struct Fabric(Box<dyn Run + Send>);

trait Run {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<(Results, Columns), Interrupted>;
}

impl<R: RateBased + Send, const MIXED: bool> Run for Engine<R, MIXED>
where
    R::State: Send,
{
    fn run(mut self: Box<Self>, stop: &AtomicBool) -> Result<(Results, Columns), Interrupted> {
        self.advance(stop)?;
        Ok(self.summary())
    }
}

impl Fabric {
    /// Builds a fabric.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        struct Make<'a>(Build, &'a Scenario, Vec<Option<Profile>>);
        impl Visit for Make<'_> {
            type Output = Fabric;

            fn visit<R: RateBased + Send + Sync + 'static>(self, end: R) -> Fabric {
                Fabric(if self.0.has_classes() || self.2.iter().any(Option::is_some) {
                    Box::new(Engine::<_, true>::new(end, self.0, self.1, self.2))
                } else {
                    Box::new(Engine::<_, false>::new(end, self.0, self.1, self.2))
                })
            }
        }
        let build = Build::new(scenario, seed)?;
        let nic = build.nic();
        let senders: Vec<_> =
            std::iter::once(&scenario.sender).chain(&scenario.further_senders).collect();
        let profiles = connection::profiles(&senders)?;
        let mut rate_based = senders.iter().zip(&profiles).filter(|(_, tcp)| tcp.is_none());
        let first = rate_based.next().map(|(sender, _)| *sender);
        if let Some((other, _)) = rate_based.find(|(sender, _)| Some(**sender) != first) {
            let accepted = "one rate-based sender in a fabric, and any of TCP beside it";
            return Err(ParameterError::new("sender", &other.algorithm, accepted));
        }
        let make = Make(build, scenario, profiles);
        match first {
            Some(sender) => registry::visit(&sender.algorithm, &sender.parameters, nic, make),
            None => registry::visit(registry::ALGORITHMS[0].name, &Values::default(), nic, make),
        }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// If `stop` became true.
    pub fn run(self, stop: &AtomicBool) -> Result<(Results, Columns), Interrupted> {
        self.0.run(stop)
    }
}
