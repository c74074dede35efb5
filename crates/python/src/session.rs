//! A run that calls Python: on the calling thread, which holds Python's lock.
//!
//! Every other run works on threads of its own without the lock. A discipline in Python needs the
//! lock for every packet, and taking it anew each time would cost more than the discipline. So the
//! run stays where the lock is; a helper that never touches Python interrupts it from time to time,
//! and it looks for signals and goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use vermilion_netsim::{Interrupted, Simulation};

use crate::errors::interrupted;

/// Facts that the disciplines of one run, or of one batch, share.
#[derive(Debug, Default)]
pub struct Session {
    stop: AtomicBool,
    failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
}

impl Session {
    /// Ends the run, for this reason unless there already is one.
    pub fn fail(&self, error: PyErr) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Return true if the run is to end.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Raises what ended the run, every time it is asked.
    pub fn check(&self, python: Python<'_>) -> PyResult<()> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map_or(Ok(()), |error| Err(error.clone_ref(python)))
    }

    /// Advances a simulation on this thread, without Python's lock if it is `detached`. `look` is called each time `pause` has passed, and says
    /// whether to go on; the outcome is its last answer.
    pub fn advance(
        &self,
        python: Python<'_>,
        simulation: &mut Simulation,
        until: u64,
        pause: Duration,
        detached: bool,
        mut look: impl FnMut(Python<'_>) -> PyResult<bool>,
    ) -> PyResult<bool> {
        self.check(python)?;
        std::thread::scope(|scope| {
            let (end, ended) = channel::<()>();
            let stop = &self.stop;
            scope.spawn(move || {
                while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    stop.store(true, Ordering::Relaxed);
                }
            });
            let outcome = loop {
                let advanced = if detached {
                    python.detach(|| simulation.advance(until, &self.stop))
                } else {
                    simulation.advance(until, &self.stop)
                };
                self.stop.store(false, Ordering::Relaxed);
                let looked = self.check(python).and_then(|()| {
                    python.check_signals()?;
                    match &advanced {
                        Ok(()) => Ok(true),
                        Err(Interrupted::Cancelled) => look(python),
                        Err(error) => Err(interrupted(error.clone())),
                    }
                });
                match looked {
                    Ok(true) if advanced.is_err() => {}
                    outcome => break outcome,
                }
            };
            drop(end);
            outcome
        })
    }
}
