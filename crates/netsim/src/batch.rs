//! Many runs on many threads.
//!
//! Runs are handed out in order, one at a time, so that a batch that is cut short has done its
//! first runs. A run depends on its scenario and seed alone: the number of threads changes nothing
//! but the time it takes.
//!
//! A scenario may be worth further seeds or not, by what its run has shown. Whoever knows is asked as
//! soon as that run is done, so that no thread waits for the others' before the further ones begin.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use vermilion_parameters::ParameterError;

use crate::{Results, Scenario, Simulation};

/// A run to be made: number of the scenario, and seed.
pub type Job = (usize, u64);

/// What is left to be handed out.
#[derive(Debug, Default)]
struct Left {
    /// The first job that nobody has taken.
    next: usize,
    /// Jobs under way of which it is not known yet whether further seeds follow.
    open: usize,
    /// Further runs that are to be made: the job that they follow, and which of the further seeds.
    further: VecDeque<(usize, usize)>,
}

/// The state of a batch, shared between those who work on it and whoever watches.
#[derive(Debug)]
pub struct Batch<'a> {
    scenarios: &'a [Scenario],
    jobs: &'a [Job],
    further_seeds: &'a [u64],
    left: Mutex<Left>,
    /// There is more to do, or there will be no more.
    news: Condvar,
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
            further_seeds: &[],
            left: Mutex::default(),
            news: Condvar::new(),
            done: AtomicUsize::new(0),
            cancel: AtomicBool::new(false),
            outcomes: Mutex::new(vec![None; jobs.len()]),
        })
    }

    /// The same, where these seeds follow each job that is worth them: see [`Batch::work_asking`].
    #[must_use]
    pub fn with_further_seeds(self, further_seeds: &'a [u64]) -> Self {
        let outcomes = Mutex::new(vec![None; self.jobs.len() * (1 + further_seeds.len())]);
        Self { further_seeds, outcomes, ..self }
    }

    /// Works until nothing is left or the batch is cancelled. Call it from as many threads as may
    /// work.
    pub fn work(&self) {
        self.work_asking(|_, _| false);
    }

    /// The same, asking after each job whether it is worth the further seeds, by its number and results.
    pub fn work_asking(&self, is_worth_more: impl Fn(usize, &Results) -> bool) {
        while let Some((job, further)) = self.take() {
            let mut open = further.is_none().then(|| Open { batch: self, job, more: false });
            let (scenario, seed) = self.jobs[job];
            let seed = further.map_or(seed, |further| self.further_seeds[further]);
            let outcome = Simulation::new(self.scenarios[scenario].clone(), seed).ok().and_then(
                |mut simulation| {
                    simulation.run(&self.cancel).ok()?;
                    Some(simulation.into_results(false))
                },
            );
            if let (Some(open), Some(results)) = (&mut open, &outcome)
                && !self.further_seeds.is_empty()
            {
                open.more = is_worth_more(job, results);
            }
            let place = further
                .map_or(job, |further| self.jobs.len() + job * self.further_seeds.len() + further);
            self.outcomes.lock().expect(UNHARMED)[place] = outcome;
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
        // Whoever is about to wait has looked before, or will be told.
        drop(self.left());
        self.news.notify_all();
    }

    /// The outcomes in the order of the jobs, then those of the further seeds of the first job, of the
    /// second, and so on; `None` for runs that were not finished or not made.
    #[must_use]
    pub fn into_outcomes(self) -> Vec<Option<Results>> {
        self.outcomes.into_inner().expect(UNHARMED)
    }

    /// The next run: a job, or one of the further seeds of one. Waits while there may be more to come.
    fn take(&self) -> Option<(usize, Option<usize>)> {
        let mut left = self.left();
        while !self.cancel.load(Ordering::Relaxed) {
            if left.next < self.jobs.len() {
                left.next += 1;
                left.open += 1;
                return Some((left.next - 1, None));
            }
            if let Some((job, further)) = left.further.pop_front() {
                return Some((job, Some(further)));
            }
            if left.open == 0 {
                return None;
            }
            left = self.news.wait(left).expect(UNHARMED);
        }
        None
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().expect(UNHARMED)
    }
}

/// A job under way. When it is over, even by a panic, the others are told whether further seeds follow.
struct Open<'b, 'a> {
    batch: &'b Batch<'a>,
    job: usize,
    more: bool,
}

impl Drop for Open<'_, '_> {
    fn drop(&mut self) {
        let mut left = self.batch.left();
        left.open -= 1;
        if self.more {
            let further = 0..self.batch.further_seeds.len();
            left.further.extend(further.map(|further| (self.job, further)));
        }
        self.batch.news.notify_all();
    }
}

const UNHARMED: &str = "no worker panics while holding it";
