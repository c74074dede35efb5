//! Data-centre fabrics, packet by packet: hosts whose NICs serve queue pairs in turns, switches with a shared buffer,
//! pauses, marking, rate-based ends, TCP, and open-loop sources.
//!
//! Nothing here reads files, prints, or asks for the time of day. The same scenario and seed give the same results.
//!
//! A packet costs one event at each node, and one more where it had to wait. What goes before data (acknowledgements,
//! notifications, pauses) never waits but for the frame in transmission, so that its departure is known at its arrival.

mod build;
mod classes;
mod deadlock;
mod end;
mod engine;
mod host;
mod mixed_end;
mod open_loop_end;
mod packet;
mod pair;
pub mod pause;
mod port;
mod queue_window;
mod rate_end;
pub mod results;
pub mod scenario;
pub mod shared_buffer;
mod slots;
mod summary;
mod switch;
mod tcp_end;
mod topology;
mod traffic;
mod turns;

use std::sync::atomic::AtomicBool;

use vermilion_parameters::{ParameterError, Values};
use vermilion_rdma::{RateBased, Visit, registry};

pub use engine::Interrupted;
pub use queue_window::QueueBytes;
pub use results::{Columns, Results};
pub use scenario::Scenario;
pub use traffic::{Transfer, mean_size, transfers};

use build::Build;
use end::End;
use engine::Engine;
use mixed_end::MixedEnd;
use open_loop_end::OpenLoopEnd;
use rate_end::RateEnd;
use scenario::Sender;
use tcp_end::{Profiles, TcpEnd, profiles};

/// A fabric that is built and has not begun.
pub struct Fabric(Box<Run>);

type Run = dyn FnOnce(&AtomicBool) -> Result<(Results, Columns), Interrupted> + Send;

impl Fabric {
    /// Builds a fabric.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, ParameterError> {
        struct Make<'a>(Build, &'a Scenario, Option<(Profiles, OpenLoopEnd)>);
        impl Visit for Make<'_> {
            type Output = Fabric;

            fn visit<R: RateBased + Send + Sync + 'static>(self, law: R) -> Fabric {
                let Self(build, scenario, mixed) = self;
                let Some((profiles, open)) = mixed else {
                    return Fabric::of(RateEnd::<_, ()>::new(law, scenario), build, scenario);
                };
                let tcp = TcpEnd::new(profiles, scenario.packets.on_wire(R::TELEMETRY));
                let rate = RateEnd::new(law, scenario);
                Fabric::of(MixedEnd { rate, tcp, open }, build, scenario)
            }
        }
        let build = Build::new(scenario, seed)?;
        let nic = build.nic();
        let senders: Vec<_> =
            std::iter::once(&scenario.sender).chain(&scenario.further_senders).collect();
        let profiles = profiles(&senders)?;
        let mut rate_based = senders.iter().zip(&profiles).filter(|(_, tcp)| tcp.is_none());
        let first = rate_based.next().map(|(sender, _)| *sender);
        if let Some((other, _)) = rate_based.find(|(sender, _)| Some(**sender) != first) {
            let accepted = "one rate-based sender in a fabric, and any of TCP beside it";
            return Err(ParameterError::new("sender", &other.algorithm, accepted));
        }
        let open = OpenLoopEnd::new(scenario, seed)?;
        let is_mixed =
            build.has_classes() || profiles.iter().any(Option::is_some) || !open.is_empty();
        // Beside open-loop sources TCP is one of the mixed ends, with a law that nobody uses.
        let unused = Sender { algorithm: "dctcp-hardware".into(), parameters: Values::default() };
        let Some(sender) = first.or((!open.is_empty()).then_some(&unused)) else {
            return Ok(Self::of(TcpEnd::new(profiles, scenario.packets), build, scenario));
        };
        let make = Make(build, scenario, is_mixed.then_some((profiles, open)));
        registry::visit(&sender.algorithm, &sender.parameters, nic, make)
    }

    fn of<E: End + 'static>(end: E, build: Build, scenario: &Scenario) -> Self {
        let mut engine = Engine::new(end, build, scenario);
        Self(Box::new(move |stop| {
            engine.advance(stop)?;
            Ok(engine.summary())
        }))
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// If `stop` became true.
    pub fn run(self, stop: &AtomicBool) -> Result<(Results, Columns), Interrupted> {
        (self.0)(stop)
    }
}
