//! What was registered from Python, by name: disciplines and senders.
//!
//! A scenario names them like any other; where one does, it is handed what makes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::Scenario;
use vermilion_netsim::scenario::Link;
use vermilion_parameters::{Algorithm, ParameterError};
use vermilion_tcp::foreign::check_table;
use vermilion_tcp::registry::Profile;

use crate::errors::refused;
use crate::own_congestion_control::{RegisteredSender, Senders};
use crate::own_discipline::{Factory, Registered};
use crate::session::Session;
use crate::written_table::Table;

/// What has a description.
trait Described {
    fn algorithm(&self) -> &'static Algorithm;
}

impl Described for Registered {
    fn algorithm(&self) -> &'static Algorithm {
        Registered::algorithm(self)
    }
}

impl Described for RegisteredSender {
    fn algorithm(&self) -> &'static Algorithm {
        RegisteredSender::algorithm(self)
    }
}

/// Classes of one kind.
struct Classes<T>(Mutex<Vec<Arc<T>>>);

impl<T: Described> Classes<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn algorithms(&self) -> Vec<&'static Algorithm> {
        self.all().iter().map(|class| class.algorithm()).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<T>> {
        self.all().iter().find(|class| class.algorithm().name == name).map(Arc::clone)
    }

    /// Adds one; one of the same name is replaced.
    fn put(&self, class: T) {
        let (class, mut all) = (Arc::new(class), self.all());
        match all.iter().position(|other| other.algorithm().name == class.algorithm().name) {
            Some(index) => all[index] = class,
            None => all.push(class),
        }
    }

    /// Forgets one; whether there was one.
    fn remove(&self, name: &str) -> bool {
        let mut all = self.all();
        let index = all.iter().position(|class| class.algorithm().name == name);
        index.map(|index| all.remove(index)).is_some()
    }
}

static DISCIPLINES: Classes<Registered> = Classes::new();
static SENDERS: Classes<RegisteredSender> = Classes::new();

/// The descriptions of all disciplines that are registered.
pub fn disciplines() -> Vec<&'static Algorithm> {
    DISCIPLINES.algorithms()
}

/// The descriptions of all senders that are registered.
pub fn senders() -> Vec<&'static Algorithm> {
    SENDERS.algorithms()
}

fn check_name(name: &str, taken: bool, kind: &str) -> PyResult<()> {
    if !taken {
        return Ok(());
    }
    let accepted = format!("a name that no {kind} of Vermilion has");
    Err(refused(ParameterError::new("name", format!("\"{name}\""), accepted)))
}

/// Registers a discipline: its table as JSON, and what makes and changes its instances. One of the
/// same name is replaced, unless it is the core's.
#[pyfunction]
pub fn register_discipline(table: &str, adapter: &Bound<'_, PyAny>) -> PyResult<()> {
    let table = Table::read(table, "discipline")?;
    let taken = ALGORITHMS.iter().any(|algorithm| algorithm.name == table.name);
    check_name(&table.name, taken, "discipline")?;
    let algorithm = table.into_algorithm().map_err(refused)?;
    DISCIPLINES.put(Registered::new(algorithm, adapter)?);
    Ok(())
}

/// Forgets a discipline; whether there was one.
#[pyfunction]
pub fn unregister_discipline(name: &str) -> bool {
    DISCIPLINES.remove(name)
}

/// Registers a sender in the same way.
#[pyfunction]
pub fn register_sender(table: &str, adapter: &Bound<'_, PyAny>) -> PyResult<()> {
    let table = Table::read(table, "sender")?;
    let taken = Profile::algorithms().any(|algorithm| algorithm.name == table.name);
    check_name(&table.name, taken, "sender")?;
    let algorithm = table.into_algorithm().map_err(refused)?;
    check_table(algorithm.parameters).map_err(refused)?;
    SENDERS.put(RegisteredSender::new(algorithm, adapter)?);
    Ok(())
}

/// Forgets a sender; whether there was one.
#[pyfunction]
pub fn unregister_sender(name: &str) -> bool {
    SENDERS.remove(name)
}

/// Gives the queues and flows of a scenario the registered disciplines and senders that they name;
/// whether any does.
pub fn hand_over(scenario: &mut Scenario, session: &Arc<Session>) -> bool {
    let mut any = hand_over_queues(&mut scenario.links, session);
    for sender in scenario.flows.iter_mut().filter_map(|group| group.sender.as_mut()) {
        if let Some(registered) = SENDERS.find(&sender.congestion_control) {
            sender.foreign = Some(Arc::new(Senders::new(registered, Arc::clone(session))));
            any = true;
        }
    }
    any
}

/// Gives the queues of links the registered disciplines that they name; whether any does.
pub fn hand_over_queues(links: &mut [Link], session: &Arc<Session>) -> bool {
    let mut any = false;
    for link in links {
        if let Some(registered) = DISCIPLINES.find(&link.queue.discipline) {
            let session = Arc::clone(session);
            link.queue.foreign = Some(Arc::new(Factory { registered, session }));
            any = true;
        }
    }
    any
}
