//! Queue disciplines as pure state machines.
//!
//! A discipline here knows no clock, no packet buffer and no random number generator: it is told
//! of each arrival ([`Arrival`]: the time and the state of the queue it meets), given a source of
//! coins ([`Coin`]), and answers with a [`Verdict`]. Some are also told of each departure
//! ([`Departure`]) and may drop or mark then. The same code therefore decides in the simulator, in
//! tests that feed it hand-written arrivals, and around a buffer of real packets ([`Fifo`]).
//!
//! Disciplines with an order of service of their own keep the packets ([`Scheduler`]); what a packet
//! is, they leave to their users ([`Packet`]). A router with FQ-CoDel:
//!
//! ```
//! use vermilion_aqm::{Ecn, FqCodel, FqCodelSettings, LinkFacts, Listed, Packet, Queue, Scheduler};
//!
//! struct Datagram { flow: u32, size: u32 }
//!
//! impl Packet for Datagram {
//!     fn size(&self) -> u32 { self.size }
//!     fn flow(&self) -> u32 { self.flow }
//!     fn ecn(&self) -> Ecn { Ecn::NotCapable }
//!     fn mark(&mut self) {}
//! }
//!
//! let link = LinkFacts { rate: 10e6, delay: 0.01 };
//! let mut queue = FqCodel::with(FqCodelSettings::default(), link)?;
//! let mut coin = || 0.5; // a random number in [0, 1)
//! let mut dropped = 0;
//! for number in 0..100 {
//!     let packet = Datagram { flow: number % 10, size: 1500 };
//!     queue.enqueue(1_000 * u64::from(number), None, packet, &mut coin, &mut |_| dropped += 1);
//! }
//! let sent = queue.dequeue(1_200_000, &mut coin, &mut |_| dropped += 1);
//! assert_eq!((sent.unwrap().packet.flow, queue.len(), dropped), (0, 99, 0));
//! # Ok::<(), vermilion_parameters::ParameterError>(())
//! ```
//!
//! RED in front of a queue that somebody else keeps; a queue of 40 packets is beyond its upper threshold:
//!
//! ```
//! use vermilion_aqm::{Arrival, Decide, DropReason, LinkFacts, Listed, Red, RedSettings, Verdict};
//! use vermilion_parameters::Packets;
//!
//! let settings = RedSettings { max_threshold: Packets(30.0), weight: 1.0, ..Default::default() };
//! let mut red = Red::with(settings, LinkFacts { rate: 10e6, delay: 0.01 })?;
//! let arrival = Arrival { now: 1_000_000, size: 1500, queue_packets: 40, queue_bytes: 60_000, ..Arrival::default() };
//! assert_eq!(red.on_arrival(&arrival, &mut || 0.5), Verdict::Drop(DropReason::Forced));
//! # Ok::<(), vermilion_parameters::ParameterError>(())
//! ```
//!
//! Who chooses at run time builds by name, from a table of values ([`AnyScheduler::from_values`]).
//!
//! Adding a discipline: one file beside these, one line in [`registry`], one file of vectors.

mod adaptive_red;
mod arrival;
mod avq;
mod blue;
mod cake;
mod choke;
mod cobalt;
mod codel;
mod departure;
mod discipline;
mod drop_tail;
mod dualpi2;
mod ecn;
mod fattest;
mod fifo;
mod flow_queues;
mod foreign;
mod foreign_queues;
mod fq;
mod fq_codel;
mod fq_pie;
mod line;
mod linux_red;
mod lred;
mod nonlinear_red;
mod ns2_red;
mod packet;
mod pd_red;
mod pi;
mod pie;
mod red;
mod red_light;
pub mod registry;
mod rem;
mod scheduler;
mod self_configuring_red;
mod sfb;
mod step;
mod vred;
mod wred;

pub use adaptive_red::{AdaptiveRed, AdaptiveRedSettings};
pub use arrival::{Arrival, Coin, DropKind, DropReason, LinkFacts, Verdict};
pub use avq::{Avq, AvqSettings};
pub use blue::{Blue, BlueSettings};
pub use cake::{
    AckFilter, Cake, CakeFraming, CakeIsolation, CakeSettings, CakeTinStatistics, CakeTins,
};
pub use choke::{Choke, ChokeSettings};
pub use cobalt::{Cobalt, CobaltSettings};
pub use codel::{Codel, CodelDialect, CodelLaw, CodelSettings};
pub use departure::Departure;
pub use discipline::{Decide, Discipline, Listed};
pub use drop_tail::{DropTail, DropTailSettings, Victim};
pub use dualpi2::{DualPi2, DualPi2Settings, LowLatency};
pub use ecn::Ecn;
pub use fifo::Fifo;
pub use flow_queues::{FlowHash, FlowTurns};
pub use foreign::{Carried, ForeignDiscipline, ForeignFactory};
pub use foreign_queues::ForeignQueues;
pub use fq::{Fq, FqSettings};
pub use fq_codel::{FqCodel, FqCodelSettings};
pub use fq_pie::{FqPie, FqPieSettings};
pub use linux_red::{IdleDecay, LinuxRed, LinuxRedSettings};
pub use lred::{Lred, LredSettings};
pub use nonlinear_red::{NonlinearRed, NonlinearRedSettings};
pub use ns2_red::{
    Ns2AutomaticWeight, Ns2Drop, Ns2Red, Ns2RedCommon, Ns2RedSettings, Rule, RuledRed,
};
pub use packet::{Colour, Header, Packet};
pub use pd_red::{PdRed, PdRedSettings};
pub use pi::{Pi, PiSettings};
pub use pie::{Pie, PieDialect, PieLaw, PieSettings};
pub use red::{Red, RedSettings};
pub use red_light::{RedLight, RedLightFilter, RedLightSettings, RedLightSpacing};
pub use registry::{AnyDiscipline, AnyScheduler};
pub use rem::{Rem, RemForm, RemSettings};
pub use scheduler::{Dropped, Queue, Scheduler, Sent, Standing, Visit, Waiting};
pub use self_configuring_red::{SelfConfiguringRed, SelfConfiguringRedSettings};
pub use sfb::{Sfb, SfbSettings};
pub use step::{Step, StepMeasure, StepSettings};
pub use vred::{Vred, VredAction, VredSettings, VredThresholdRole};
pub use wred::{Wred, WredSettings};
