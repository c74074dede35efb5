//! What stands in front of a transmitter.
//!
//! Mostly that is one queue under a discipline ([`AnyScheduler`](vermilion_aqm::AnyScheduler)). It may also be a [`Tree`]: a classifier
//! that looks at codepoints, a queue for each class, which may be such a tree again, and a scheduler that says whose
//! turn it is. [`AnyPort`] is either of them, and a [`Scheduler`](vermilion_aqm::Scheduler) as every queue that keeps its packets.
//!
//! What a tree looks like is its [`Shape`]; all its parameters are one table, in which those of a class have names
//! like `classes.0.queue.target`. Two classes, the first of which goes first:
//!
//! ```
//! use vermilion_aqm::{Ecn, LinkFacts, Packet, Queue, Scheduler};
//! use vermilion_parameters::{Value, Values};
//! use vermilion_port::{AnyPort, Class, Shape};
//!
//! #[derive(Clone)]
//! struct Datagram { dscp: u8 }
//!
//! impl Packet for Datagram {
//!     fn size(&self) -> u32 { 1500 }
//!     fn ecn(&self) -> Ecn { Ecn::NotCapable }
//!     fn mark(&mut self) {}
//!     fn dscp(&self) -> u8 { self.dscp }
//! }
//!
//! let queue = |name: &str| Shape { discipline: name.to_owned(), classes: Vec::new() };
//! let expedited = Class { codepoints: vec![46], queue: queue("drop-tail") };
//! let others = Class { codepoints: Vec::new(), queue: queue("codel") };
//! let shape = Shape { discipline: "strict".to_owned(), classes: vec![expedited, others] };
//! let values = Values::from([("classes.1.queue.target".to_owned(), Value::Number(0.01))]);
//! let link = LinkFacts { rate: 10e6, delay: 0.01 };
//!
//! let (mut port, in_force) = AnyPort::from_shape(&shape, &values, link)?;
//! assert_eq!(in_force["classes.1.queue.interval"], Value::Number(0.1));
//! let mut coin = || 0.5;
//! for dscp in [0, 46] {
//!     port.enqueue(0, None, Datagram { dscp }, &mut coin, &mut |_| unreachable!());
//! }
//! let sent = port.dequeue(0, &mut coin, &mut |_| unreachable!());
//! assert_eq!((sent.unwrap().packet.dscp, port.len()), (46, 1));
//! # Ok::<(), vermilion_parameters::ParameterError>(())
//! ```

mod any_port;
mod classifier;
mod deficit_turns;
mod order;
pub mod registry;
mod shape;
mod shaped;
mod strict;

pub use any_port::{AnyPort, Tree};
pub use deficit_turns::{DeficitTurns, DrrPlusPlusSettings, DrrSettings};
pub use shape::{Class, Shape};
pub use shaped::ShapedSettings;
pub use strict::StrictSettings;
