//! Every window rule, one file each.

mod additive;
mod bbr;
mod bbr1;
mod cubic;
mod dctcp;
mod hystart;
mod ledbat;
mod linux_cubic;
mod prague;
mod rem;
mod vegas;

pub use additive::Additive;
pub use bbr::Bbr;
pub use bbr1::Bbr1;
pub use cubic::{Cubic, CubicDialect, CubicOptions};
pub use dctcp::{Dctcp, DctcpOptions};
pub use hystart::HyStart;
pub use ledbat::{Ledbat, LedbatOptions};
pub use linux_cubic::LinuxCubic;
pub use prague::{Prague, PragueOptions};
pub use rem::{Rem, RemAdjustment, RemOptions};
pub use vegas::{Vegas, VegasOptions};

use crate::foreign::Foreign;
use crate::rule::{Acknowledged, Congestion, Header, WindowRule};
use crate::window::Window;

/// Makes the enum of all rules from one line each. Dispatch is a jump, not a pointer. What a rule
/// keeps is boxed, so that a flow whose rule keeps little is small: many flows are.
macro_rules! rules {
    ($($(#[$meta:meta])* $rule:ident($kept:ty)),* $(,)?) => {
        /// One of the window rules.
        #[derive(Clone, Debug)]
        pub enum AnyRule {
            $($(#[$meta])* $rule($kept)),*
        }

        $(
            impl From<$rule> for AnyRule {
                fn from(rule: $rule) -> Self {
                    Self::$rule(rule.into())
                }
            }
        )*

        impl WindowRule for AnyRule {
            #[inline]
            fn grow(&mut self, event: &Acknowledged, window: &mut Window) {
                match self { $(Self::$rule(rule) => rule.grow(event, window)),* }
            }

            fn reduced(&mut self, now: u64, sign: Congestion, base: f64, window: &Window) -> f64 {
                match self { $(Self::$rule(rule) => rule.reduced(now, sign, base, window)),* }
            }

            fn timed_out(&mut self, now: u64) {
                match self { $(Self::$rule(rule) => rule.timed_out(now)),* }
            }

            fn space(&mut self, now: u64, wait: u64) -> (u64, u32) {
                match self { $(Self::$rule(rule) => rule.space(now, wait)),* }
            }

            fn answers_marks(&self) -> bool {
                match self { $(Self::$rule(rule) => rule.answers_marks()),* }
            }

            fn reads_forward_delay(&self) -> bool {
                match self { $(Self::$rule(rule) => rule.reads_forward_delay()),* }
            }

            fn governs_window(&self) -> bool {
                match self { $(Self::$rule(rule) => rule.governs_window()),* }
            }

            fn pacing_rate(&self) -> Option<f64> {
                match self { $(Self::$rule(rule) => rule.pacing_rate()),* }
            }

            fn has_hooks(&self) -> bool {
                match self { $(Self::$rule(rule) => rule.has_hooks()),* }
            }

            fn on_sent(&mut self, now: u64, sequence: u32, again: bool, window: &mut Window) {
                match self { $(Self::$rule(rule) => rule.on_sent(now, sequence, again, window)),* }
            }

            fn deadline(&self) -> u64 {
                match self { $(Self::$rule(rule) => rule.deadline()),* }
            }

            fn on_timer(&mut self, now: u64, window: &mut Window) {
                match self { $(Self::$rule(rule) => rule.on_timer(now, window)),* }
            }

            fn writes_headers(&self) -> bool {
                match self { $(Self::$rule(rule) => rule.writes_headers()),* }
            }

            fn take_header(&mut self) -> Option<Header> {
                match self { $(Self::$rule(rule) => rule.take_header()),* }
            }

            fn read_header(&mut self, header: Header) {
                match self { $(Self::$rule(rule) => rule.read_header(header)),* }
            }
        }
    };
}

rules! {
    /// Additive increase, multiplicative decrease.
    Additive(Additive),
    /// A cubic function of time.
    Cubic(Box<Cubic>),
    /// The same as Linux computes it.
    LinuxCubic(Box<LinuxCubic>),
    /// In proportion to the fraction of marks.
    Dctcp(Box<Dctcp>),
    /// The same, for the Internet.
    Prague(Box<Prague>),
    /// By the queueing delay.
    Ledbat(Box<Ledbat>),
    /// By the segments that it has in queues.
    Vegas(Box<Vegas>),
    /// A rate for the path's price.
    Rem(Box<Rem>),
    /// BBR version 3.
    Bbr(Bbr),
    /// BBR version 1.
    Bbr1(Box<Bbr1>),
    /// One that is none of these.
    Foreign(Foreign),
}
