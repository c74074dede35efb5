//! Many runs on many threads.
//!
//! Runs are handed out in order, one at a time, so that a batch that is cut short has done its
//! first runs. A run depends on its scenario and seed alone: the number of threads changes nothing
//! but the time it takes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vermilion_parameters::ParameterError;

use crate::{Interrupted, Results, Scenario, Simulation};

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
    /// Why the first run was given up that was, other than by request.
    refusal: Mutex<Option<ParameterError>>,
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
            refusal: Mutex::new(None),
        })
    }

    /// Works until nothing is left or the batch is cancelled. Call it from as many threads as may
    /// work.
    pub fn work(&self) {
        while !self.cancel.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(scenario, seed)) = self.jobs.get(index) else { return };
            let outcome = match self.run(scenario, seed) {
                Ok(results) => Some(results),
                Err(Interrupted::Cancelled) => None,
                Err(Interrupted::Refused(error)) => {
                    let mut refusal = self.refusal.lock().expect("no worker panics holding it");
                    refusal.get_or_insert(error);
                    self.cancel();
                    None
                }
            };
            self.outcomes.lock().expect("no worker panics while holding it")[index] = outcome;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn run(&self, scenario: usize, seed: u64) -> Result<Results, Interrupted> {
        let scenario = self.scenarios[scenario].clone();
        let mut simulation = Simulation::new(scenario, seed).map_err(Interrupted::Refused)?;
        simulation.run(&self.cancel)?;
        Ok(simulation.into_results(false))
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
    ///
    /// # Errors
    /// A run held more packets than it may.
    pub fn into_outcomes(self) -> Result<Vec<Option<Results>>, ParameterError> {
        match self.refusal.into_inner().expect("no worker panics while holding it") {
            Some(error) => Err(error),
            None => Ok(self.outcomes.into_inner().expect("no worker panics while holding it")),
        }
    }
}
