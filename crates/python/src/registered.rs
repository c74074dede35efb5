//! What was registered from Python, by name: disciplines, senders, and conditions on packets.
//!
//! A scenario names them like any other; where one does, it is handed what makes them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_netsim::Scenario;
use vermilion_netsim::scenario::Link;
use vermilion_parameters::{Algorithm, Description, ParameterError};
use vermilion_plugin::host::Library;
use vermilion_tcp::registry::{Profile, check_table};

use crate::errors::refused;
use crate::native::Native;
use crate::own_congestion_control::{RegisteredSender, Senders};
use crate::own_discipline::{Factory, Registered};
use crate::own_predicate::{OwnPredicate, RegisteredPredicate};
use crate::session::Session;

/// Registrations of one kind, each with its name in scenarios.
struct Registry<T>(Mutex<Vec<(String, Arc<T>)>>);

impl<T> Registry<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn all(&self) -> MutexGuard<'_, Vec<(String, Arc<T>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Option<Arc<T>> {
        self.all().iter().find(|(known, _)| known == name).map(|(_, one)| Arc::clone(one))
    }

    /// Adds one; one of the same name is replaced.
    fn put(&self, name: &str, one: T) {
        let (one, mut all) = (Arc::new(one), self.all());
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, other)) => *other = one,
            None => all.push((name.to_owned(), one)),
        }
    }

    /// Forgets one; whether there was one.
    fn remove(&self, name: &str) -> bool {
        let mut all = self.all();
        let index = all.iter().position(|(known, _)| known == name);
        index.map(|index| all.remove(index)).is_some()
    }
}

static DISCIPLINES: Registry<Registered> = Registry::new();
static SENDERS: Registry<RegisteredSender> = Registry::new();
static LIBRARIES: Registry<Native> = Registry::new();
static PREDICATES: Registry<RegisteredPredicate> = Registry::new();

/// The descriptions of all disciplines that are registered.
pub fn disciplines() -> Vec<&'static Algorithm> {
    let own = DISCIPLINES.all().iter().map(|(_, class)| class.algorithm()).collect();
    with_libraries(own, true)
}

/// The descriptions of all senders that are registered.
pub fn senders() -> Vec<&'static Algorithm> {
    let own = SENDERS.all().iter().map(|(_, class)| class.algorithm()).collect();
    with_libraries(own, false)
}

fn with_libraries(mut own: Vec<&'static Algorithm>, disciplines: bool) -> Vec<&'static Algorithm> {
    let all = LIBRARIES.all();
    let asked = all.iter().filter(|(_, native)| native.is_discipline() == disciplines);
    own.extend(asked.map(|(_, native)| native.algorithm()));
    own
}

/// The description of a class in Python from its table; `kind`: of what, in words. Names of the core's are `taken`.
fn described<'a>(
    table: &str,
    kind: &str,
    mut taken: impl Iterator<Item = &'a Algorithm>,
) -> PyResult<&'static Algorithm> {
    let table: Description = serde_json::from_str(table).map_err(|error| {
        let accepted = format!("the description of a {kind} as JSON");
        refused(ParameterError::new("table", error, accepted))
    })?;
    if taken.any(|algorithm| algorithm.name == table.name) {
        return Err(is_taken(&table.name, kind));
    }
    table.into_algorithm().map_err(refused)
}

fn is_taken(name: &str, kind: &str) -> PyErr {
    let accepted = format!("a name that no {kind} of Vermilion has");
    refused(ParameterError::new("name", format!("\"{name}\""), accepted))
}

/// Registers a discipline: its table as JSON, and what makes and changes its instances. One of the
/// same name is replaced, unless it is the core's.
#[pyfunction]
pub fn register_discipline(table: &str, adapter: &Bound<'_, PyAny>) -> PyResult<()> {
    let algorithm = described(table, "discipline", ALGORITHMS.iter())?;
    DISCIPLINES.put(algorithm.name, Registered::new(algorithm, adapter)?);
    LIBRARIES.remove(algorithm.name);
    Ok(())
}

/// Forgets a discipline; whether there was one.
#[pyfunction]
pub fn unregister_discipline(name: &str) -> bool {
    DISCIPLINES.remove(name) || native(name, true).is_some_and(|_| LIBRARIES.remove(name))
}

/// Registers a sender in the same way.
#[pyfunction]
pub fn register_sender(table: &str, adapter: &Bound<'_, PyAny>) -> PyResult<()> {
    let algorithm = described(table, "sender", Profile::algorithms())?;
    check_table(algorithm.parameters).map_err(refused)?;
    SENDERS.put(algorithm.name, RegisteredSender::new(algorithm, adapter)?);
    LIBRARIES.remove(algorithm.name);
    Ok(())
}

/// Forgets a sender; whether there was one.
#[pyfunction]
pub fn unregister_sender(name: &str) -> bool {
    SENDERS.remove(name) || native(name, false).is_some_and(|_| LIBRARIES.remove(name))
}

/// Registers what a library has whose function `vermilion_plugin` has returned this address; a panic in it becomes an
/// error of the class of its kind. Its name, and whether it is a discipline. One of the same name is replaced.
#[pyfunction]
pub fn register_library(
    address: usize,
    of_disciplines: &Bound<'_, PyType>,
    of_senders: &Bound<'_, PyType>,
) -> PyResult<(&'static str, bool)> {
    let library = Library::at(address).map_err(refused)?;
    let (algorithm, is_discipline) = (library.algorithm(), library.is_discipline());
    let mut senders = Profile::algorithms();
    if is_discipline && ALGORITHMS.iter().any(|known| known.name == algorithm.name) {
        return Err(is_taken(algorithm.name, "discipline"));
    }
    if !is_discipline && senders.any(|known| known.name == algorithm.name) {
        return Err(is_taken(algorithm.name, "sender"));
    }
    if !is_discipline {
        check_table(algorithm.parameters).map_err(refused)?;
    }
    let failure = if is_discipline { of_disciplines } else { of_senders };
    _ = if is_discipline {
        DISCIPLINES.remove(algorithm.name)
    } else {
        SENDERS.remove(algorithm.name)
    };
    LIBRARIES.put(algorithm.name, Native::new(library, failure));
    Ok((algorithm.name, is_discipline))
}

/// Registers a condition on packets: a function of one packet, and what explains its errors. One of the
/// same name is replaced.
#[pyfunction]
pub fn register_predicate(name: &str, function: &Bound<'_, PyAny>, adapter: &Bound<'_, PyAny>) {
    PREDICATES.put(name, RegisteredPredicate::new(function, adapter));
}

/// Forgets a condition; whether there was one.
#[pyfunction]
pub fn unregister_predicate(name: &str) -> bool {
    PREDICATES.remove(name)
}

/// The names of all conditions that are registered.
#[pyfunction]
pub fn predicates() -> Vec<String> {
    PREDICATES.all().iter().map(|(name, _)| name.clone()).collect()
}

/// What the parts of a scenario were given that was registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handed {
    /// Something.
    pub any: bool,
    /// Something that calls Python.
    pub python: bool,
}

impl Handed {
    fn python(&mut self) {
        (self.any, self.python) = (true, true);
    }
}

/// What is registered under a name as of that kind in a library.
fn native(name: &str, is_discipline: bool) -> Option<Arc<Native>> {
    LIBRARIES.find(name).filter(|native| native.is_discipline() == is_discipline)
}

/// Gives the queues, flows and scripted losses of a scenario what was registered under the names that
/// they have.
pub fn hand_over(scenario: &mut Scenario, session: &Arc<Session>) -> Handed {
    let mut handed = hand_over_queues(&mut scenario.links, session);
    for sender in scenario.flows.iter_mut().filter_map(|group| group.sender.as_mut()) {
        if let Some(registered) = SENDERS.find(&sender.congestion_control) {
            sender.foreign = Some(Arc::new(Senders::new(registered, Arc::clone(session))));
            handed.python();
        } else if let Some(native) = native(&sender.congestion_control, false) {
            sender.foreign = Some(Arc::new(native.factory(session)));
            handed.any = true;
        }
    }
    if hand_over_scripts(scenario, session) {
        handed.python();
    }
    handed
}

/// The same for the conditions of scripted losses.
fn hand_over_scripts(scenario: &mut Scenario, session: &Arc<Session>) -> bool {
    if scenario.scripted_losses.iter().all(|script| script.when.is_none()) {
        return false;
    }
    let names = scenario.flows.iter().map(|group| &group.name);
    let groups: Arc<[_]> =
        Python::attach(|python| names.map(|name| PyString::new(python, name).unbind()).collect());
    let mut any = false;
    for script in &mut scenario.scripted_losses {
        if let Some(registered) = script.when.as_ref().and_then(|name| PREDICATES.find(name)) {
            let (session, groups) = (Arc::clone(session), Arc::clone(&groups));
            script.predicate = Some(Arc::new(OwnPredicate::new(registered, session, groups)));
            any = true;
        }
    }
    any
}

/// Gives the queues of links the registered disciplines that they name.
pub fn hand_over_queues(links: &mut [Link], session: &Arc<Session>) -> Handed {
    let mut handed = Handed::default();
    for link in links {
        if let Some(registered) = DISCIPLINES.find(&link.queue.discipline) {
            let session = Arc::clone(session);
            link.queue.foreign = Some(Arc::new(Factory { registered, session }));
            handed.python();
        } else if let Some(native) = native(&link.queue.discipline, true) {
            link.queue.foreign = Some(Arc::new(native.factory(session)));
            handed.any = true;
        }
    }
    handed
}
