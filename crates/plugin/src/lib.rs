//! Congestion controls and queue disciplines in libraries of their own.
//!
//! A library has one: a type that is a [`CongestionControl`], or one that is a
//! [`Listed`](vermilion_aqm::Listed) discipline which decides over a first-in, first-out queue. [`export_congestion_control`] or
//! [`export_discipline`] makes the symbol `vermilion_plugin` of it, a function that returns a [`Plugin`]. Whoever embeds the core
//! loads the library and hands the table to [`host::Library`], which stands for it like any other
//! [`ForeignSenders`](vermilion_tcp::ForeignSenders) or [`ForeignFactory`](vermilion_aqm::ForeignFactory).
//!
//! Only numbers, pointers and C functions cross ([`raw`]), under the version [`ABI`]. A panic is caught where it happens and
//! told as a message.

pub mod conformance;
pub mod guest;
pub mod host;
pub mod raw;

pub use guest::CongestionControl;
pub use raw::{ABI, Plugin, SYMBOL};
pub use vermilion_aqm as aqm;
pub use vermilion_parameters as parameters;
pub use vermilion_tcp as tcp;

/// Makes a type the congestion control of this library.
#[macro_export]
macro_rules! export_congestion_control {
    ($kind:ty) => {
        $crate::export!($crate::guest::congestion_control::<$kind>());
    };
}

/// Makes a type the discipline of this library.
#[macro_export]
macro_rules! export_discipline {
    ($kind:ty) => {
        $crate::export!($crate::guest::discipline::<$kind>());
    };
}

/// The symbol of a library.
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    ($plugin:expr) => {
        #[cfg(panic = "abort")]
        compile_error!("a plug-in has to unwind, so that a panic ends a run and not the process");

        /// What this library has for Vermilion.
        #[unsafe(no_mangle)]
        pub extern "C" fn vermilion_plugin() -> *const $crate::Plugin {
            $crate::guest::keep_panics();
            ::std::boxed::Box::into_raw(::std::boxed::Box::new($plugin))
        }
    };
}
