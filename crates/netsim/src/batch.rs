//! Many runs on many threads.
//!
//! Runs are handed out in order, one at a time, so that a batch that is cut short has done its
//! first runs. A run depends on its scenario and seed alone: the number of threads changes nothing
//! but the time it takes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vermilion_parameters::ParameterError;

use crate::{Results, Scenario, Simulation};

/// A run to be made: number of the scenario, and seed.
pub type Job = (usize, u64);

/// The state of a batch, shared between those who work on it and whoever watches.
#[derive(Debug)]
pub struct Batch<'a> {
    scenarios: &'a [Scenario],
    jobs: &'a [Job],
    next: AtomicUsize,
    done: AtomicUsize,
    cancel: AtomicBool,
    outcomes: Mutex<Vec<Option<Results>>>,
}

impl<'a> Batch<'a> {
    /// Checks every scenario of a batch.
    ///
    /// # Errors
    /// The first field of the first scenario that cannot be used.
    pub fn new(scenarios: &'a [Scenario], jobs: &'a [Job]) -> Result<Self, ParameterError> {
        for scenario in scenarios {
            Simulation::new(scenario.clone(), 0)?;
        }
        if let Some((index, _)) = jobs.iter().find(|(index, _)| *index >= scenarios.len()) {
            let accepted = format!("the number of a scenario, below {}", scenarios.len());
            return Err(ParameterError::new("jobs", index, accepted));
        }
        Ok(Self {
            scenarios,
            jobs,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            cancel: AtomicBool::new(false),
            outcomes: Mutex::new(vec![None; jobs.len()]),
        })
    }

    /// Works until nothing is left or the batch is cancelled. Call it from as many threads as may
    /// work.
    pub fn work(&self) {
        while !self.cancel.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(scenario, seed)) = self.jobs.get(index) else { return };
            let outcome = Simulation::new(self.scenarios[scenario].clone(), seed).ok().and_then(
                |mut simulation| {
                    simulation.run(&self.cancel).ok()?;
                    Some(simulation.into_results(false))
                },
            );
            self.outcomes.lock().expect("no worker panics while holding it")[index] = outcome;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs finished so far.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Asks all workers to stop soon; runs under way are given up.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The outcomes in the order of the jobs; `None` for runs that were not finished.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<Option<Results>> {
        self.outcomes.into_inner().expect("no worker panics while holding it")
    }
}
