//! The thin binding: scenarios in, results and arrays out. No logic lives here.

use pyo3::prelude::*;

mod adapter;
mod congestion_views;
mod convert;
mod errors;
mod fabric;
mod instruments;
mod interface_monitor;
mod kept;
#[cfg(target_os = "linux")]
mod link;
mod monitor;
mod named_verdict;
mod native;
mod own_congestion_control;
mod own_discipline;
mod own_predicate;
mod registered;
mod run;
mod session;
mod shaping;
mod shown;
mod simulation;
mod tables;
mod views;

/// The simulator's core. See `_core.pyi` for the meaning of everything in here.
#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::congestion_views::{Acknowledgement, Reduction, Sent, Window};
    #[pymodule_export]
    use super::errors::ParameterError;
    #[pymodule_export]
    use super::fabric::{check_fabric, rate_based_senders, run_fabrics};
    #[pymodule_export]
    use super::interface_monitor::InterfaceMonitor;
    #[pymodule_export]
    use super::kept::Kept;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::link::{Link, capture_head, capture_packets};
    #[pymodule_export]
    use super::monitor::{CaptureError, CaptureMonitor};
    #[pymodule_export]
    use super::named_verdict::NamedVerdict;
    #[pymodule_export]
    use super::own_predicate::PassingPacket;
    #[pymodule_export]
    use super::registered::{
        predicates, register_discipline, register_library, register_predicate, register_sender,
        unregister_discipline, unregister_predicate, unregister_sender,
    };
    #[pymodule_export]
    use super::run::{check, run, run_many};
    #[pymodule_export]
    use super::shaping::{RateKeeper, RateLaw, rate_laws};
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::tables::{common_sender_parameters, disciplines, schedulers, senders};
    #[pymodule_export]
    use super::views::{Coin, Packet, Queue};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        let (events, reasons) = super::instruments::names();
        module.add("PACKET_EVENTS", events)?;
        module.add("DROP_REASONS", reasons)?;
        module.add("OPTIMISED", !cfg!(debug_assertions))?;
        module.add("RANDOM_STREAMS", vermilion_netsim::random::RANDOM_STREAMS)
    }
}
