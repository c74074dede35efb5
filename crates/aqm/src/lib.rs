//! Queue disciplines as pure state machines.
//!
//! A discipline here knows no clock, no packet buffer and no random number generator: it is told
//! of each arrival ([`Arrival`]: the time and the state of the queue it meets), given a source of
//! coins ([`Coin`]), and answers with a [`Verdict`]. Some are also told of each departure
//! ([`Departure`]) and may drop or mark then. The same code therefore decides in the simulator, in
//! tests that feed it hand-written arrivals, and around a buffer of real packets ([`Fifo`]).
//!
//! Disciplines with an order of service of their own keep the packets ([`Scheduler`]); what a packet
//! is, they leave to their users ([`Packet`]).
//!
//! Adding a discipline: one file beside these, one line in [`registry`], one file of vectors.

mod adaptive_red;
mod arrival;
mod avq;
mod blue;
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
mod fq;
mod fq_codel;
mod fq_pie;
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
mod step;
mod vred;
mod wred;

pub use adaptive_red::AdaptiveRed;
pub use arrival::{Admission, Arrival, Coin, DropKind, DropReason, LinkFacts, Verdict};
pub use avq::Avq;
pub use blue::Blue;
pub use choke::Choke;
pub use cobalt::Cobalt;
pub use codel::Codel;
pub use departure::Departure;
pub use discipline::{Decide, Discipline, Listed};
pub use drop_tail::DropTail;
pub use dualpi2::DualPi2;
pub use ecn::Ecn;
pub use fifo::Fifo;
pub use foreign::{ForeignDiscipline, ForeignFactory};
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use fq_pie::FqPie;
pub use linux_red::LinuxRed;
pub use lred::Lred;
pub use nonlinear_red::NonlinearRed;
pub use ns2_red::Ns2Red;
pub use packet::{Colour, Packet};
pub use pd_red::PdRed;
pub use pi::Pi;
pub use pie::Pie;
pub use red::Red;
pub use red_light::RedLight;
pub use registry::{AnyDiscipline, AnyScheduler};
pub use rem::Rem;
pub use scheduler::{Dropped, Queue, Scheduler, Sent, Standing, Visit};
pub use self_configuring_red::SelfConfiguringRed;
pub use step::Step;
pub use vred::Vred;
pub use wred::Wred;
