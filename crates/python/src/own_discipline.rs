//! A queue discipline written in Python, as the core calls it.
//!
//! What can be done in Python is done there: an adapter (`vermilion.scenario.own_discipline`) makes,
//! changes and copies instances and explains failures. Here is what happens for every packet.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vermilion_aqm::{
    Arrival, Decide, Departure, Discipline, DropReason, ForeignDiscipline, ForeignFactory,
    LinkFacts, Verdict,
};
use vermilion_netsim::LARGEST_AVERAGE;
use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::adapter::{Adapter, values};
use crate::named_verdict::{NamedVerdict, words};
use crate::session::Session;
use crate::views::{Coin, Packet, Queue, show_arrival, show_departure};

/// The verdicts in the order in which the adapter lists them.
const VERDICTS: usize = 6;

/// Knowledge of a registered class.
#[derive(Debug)]
pub struct Registered {
    adapter: Adapter,
    on_arrival: Py<PyAny>,
    on_departure: Option<Py<PyAny>>,
    average_queue: Option<Py<PyAny>>,
    drop_probability: Option<Py<PyAny>>,
    verdicts: [Py<PyAny>; VERDICTS],
}

impl Registered {
    /// Takes from the adapter what is needed for every packet.
    pub fn new(algorithm: &'static Algorithm, adapter: &Bound<'_, PyAny>) -> PyResult<Self> {
        let python = adapter.py();
        let adapter = Adapter::new(algorithm, "discipline", adapter);
        let method = |name| adapter.method(python, name);
        let verdicts: Vec<Py<PyAny>> = adapter.attribute(python, "verdicts")?.extract(python)?;
        Ok(Self {
            on_arrival: adapter.attribute(python, "on_arrival")?,
            on_departure: method("on_departure")?,
            average_queue: method("average_queue")?,
            drop_probability: method("drop_probability")?,
            verdicts: verdicts
                .try_into()
                .map_err(|_| PyTypeError::new_err("the adapter lists other verdicts"))?,
            adapter,
        })
    }

    /// The description.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.adapter.algorithm()
    }
}

/// Makes the disciplines of one class for one run.
#[derive(Debug)]
pub struct Factory {
    /// The class.
    pub registered: Arc<Registered>,
    /// The run.
    pub session: Arc<Session>,
}

impl ForeignFactory for Factory {
    fn algorithm(&self) -> &'static Algorithm {
        self.registered.algorithm()
    }

    fn make(
        &self,
        settings: &Settings,
        link: LinkFacts,
    ) -> Result<Box<dyn ForeignDiscipline>, ParameterError> {
        let (registered, session) = (&self.registered, &self.session);
        Python::attach(|python| {
            let built = values(python, settings)
                .and_then(|values| {
                    let arguments = (values, link.rate, link.delay);
                    registered.adapter.call(python, "build", arguments)
                })
                .and_then(|instance| {
                    OwnDiscipline::around(python, instance, registered, session, Coin::new())
                });
            built.map(|built| Box::new(built) as Box<dyn ForeignDiscipline>).map_err(|error| {
                registered.adapter.refused(python, session, error, "its beginning")
            })
        })
    }
}

/// An instance in front of a queue.
#[derive(Debug)]
struct OwnDiscipline {
    registered: Arc<Registered>,
    session: Arc<Session>,
    instance: Py<PyAny>,
    packet: Py<Packet>,
    queue: Py<Queue>,
    coin: Py<Coin>,
    /// The instance, the packet, the queue and the coin.
    arguments: Py<PyTuple>,
}

impl OwnDiscipline {
    fn around(
        python: Python<'_>,
        instance: Py<PyAny>,
        registered: &Arc<Registered>,
        session: &Arc<Session>,
        coin: Coin,
    ) -> PyResult<Self> {
        let packet = Py::new(python, Packet::default())?;
        let queue = Py::new(python, Queue::default())?;
        let coin = Py::new(python, coin)?;
        let arguments = (&instance, &packet, &queue, &coin).into_pyobject(python)?.unbind();
        let (registered, session) = (Arc::clone(registered), Arc::clone(session));
        Ok(Self { registered, session, instance, packet, queue, coin, arguments })
    }

    /// Asks over a packet that has been shown.
    fn ask(&self, python: Python<'_>, method: &Py<PyAny>) -> PyResult<Verdict> {
        let answer = method.bind(python).call1(self.arguments.bind(python))?;
        let known = self.registered.verdicts.iter().position(|known| answer.is(known));
        let capable = || self.packet.get().is_ecn_capable();
        Ok(match known {
            Some(0) => Verdict::Accept,
            Some(1) if capable() => Verdict::Mark,
            Some(1) => {
                let message = "MARK is not accepted for a packet that is not ECN-capable; expected \
                               MARK only where packet.ecn_capable is true, or NOTIFY";
                return Err(PyValueError::new_err(message));
            }
            Some(2) if capable() => Verdict::Mark,
            Some(2 | 3) => Verdict::Drop(DropReason::Early),
            Some(4) => Verdict::Drop(DropReason::Forced),
            Some(_) => Verdict::Drop(DropReason::Overflow),
            None => match answer.cast::<NamedVerdict>() {
                Ok(named) if named.get().notifies && capable() => Verdict::Mark,
                Ok(named) => Verdict::Drop(named.get().reason()),
                Err(_) => {
                    let message = format!(
                        "the answer {} is not accepted; expected ACCEPT, MARK, NOTIFY, DROP, FORCED \
                         or OVERFLOW of vermilion.Verdict",
                        answer.repr()?
                    );
                    return Err(PyTypeError::new_err(message));
                }
            },
        })
    }

    /// Ends the run.
    #[cold]
    fn fail(&self, python: Python<'_>, error: PyErr, doing: &str, now: u64) {
        self.session.fail(self.registered.adapter.explain(python, error, doing, Some(now)));
    }

    /// Asks for a number of its own, which may be from 0 to `most` of `unit`.
    fn number(
        &self,
        method: Option<&Py<PyAny>>,
        doing: &str,
        most: f64,
        unit: &str,
    ) -> Option<f64> {
        let method = method?;
        if self.session.has_failed() {
            return None;
        }
        Python::attach(|python| {
            let answer = method.bind(python).call1((&self.instance,));
            answer.and_then(|answer| number_of(&answer, most, unit)).unwrap_or_else(|error| {
                self.fail(python, error, doing, self.queue.get().instant());
                None
            })
        })
    }

    fn change(&self, settings: Option<&Settings>, link: LinkFacts) -> Result<(), ParameterError> {
        let registered = &self.registered;
        Python::attach(|python| {
            settings
                .map(|settings| values(python, settings))
                .transpose()
                .and_then(|values| {
                    let arguments = (&self.instance, values, link.rate, link.delay);
                    registered.adapter.call(python, "change", arguments)
                })
                .map(|_| ())
                .map_err(|error| {
                    registered.adapter.refused(python, &self.session, error, "a change")
                })
        })
    }
}

/// The number that was answered, if it is from 0 to `most` of `unit`. NaN is no number, and would be filed as one.
fn number_of(answer: &Bound<'_, PyAny>, most: f64, unit: &str) -> PyResult<Option<f64>> {
    match answer.extract::<Option<f64>>() {
        Ok(None) => Ok(None),
        Ok(Some(number)) if (0.0..=most).contains(&number) => Ok(Some(number)),
        _ => {
            let message = format!(
                "the answer {} is not accepted; expected {unit} from 0 to {most}, or None",
                answer.repr()?
            );
            Err(PyValueError::new_err(message))
        }
    }
}

impl Discipline for OwnDiscipline {
    fn watches_departures(&self) -> bool {
        self.registered.on_departure.is_some()
    }

    fn reconfigure(&mut self, settings: &Settings, link: LinkFacts) -> Result<(), ParameterError> {
        self.change(Some(settings), link)
    }

    fn link_changed(&mut self, link: LinkFacts) {
        if let Err(error) = self.change(None, link) {
            Python::attach(|python| {
                let error = PyValueError::new_err(error.accepted);
                self.fail(python, error, "a change of the link", self.queue.get().instant());
            });
        }
    }

    fn average_queue(&self) -> Option<f64> {
        let method = self.registered.average_queue.as_ref();
        self.number(method, "average_queue", LARGEST_AVERAGE, "packets")
    }

    fn drop_probability(&self) -> Option<f64> {
        let method = self.registered.drop_probability.as_ref();
        self.number(method, "drop_probability", 1.0, "a probability")
    }

    fn cause(&self, reason: DropReason) -> &'static str {
        match reason {
            DropReason::Own { cause, .. } => words(cause),
            DropReason::Early | DropReason::Forced | DropReason::Overflow => "",
        }
    }
}

/// A source of random numbers of any kind.
type AnyCoin<'coin> = dyn vermilion_aqm::Coin + 'coin;

impl<'coin> Decide<AnyCoin<'coin>> for OwnDiscipline {
    fn on_arrival(&mut self, arrival: &Arrival, coin: &mut AnyCoin<'coin>) -> Verdict {
        if self.session.has_failed() {
            return Verdict::Accept;
        }
        self.coin.get().refill(coin);
        show_arrival(self.packet.get(), self.queue.get(), arrival);
        Python::attach(|python| {
            self.ask(python, &self.registered.on_arrival).unwrap_or_else(|error| {
                self.fail(python, error, "on_arrival", arrival.now);
                Verdict::Accept
            })
        })
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut AnyCoin<'coin>) -> Verdict {
        let Some(on_departure) = &self.registered.on_departure else { return Verdict::Accept };
        if self.session.has_failed() {
            return Verdict::Accept;
        }
        self.coin.get().refill(coin);
        show_departure(self.packet.get(), self.queue.get(), departure);
        Python::attach(|python| {
            self.ask(python, on_departure).unwrap_or_else(|error| {
                self.fail(python, error, "on_departure", departure.now);
                Verdict::Accept
            })
        })
    }
}

impl ForeignDiscipline for OwnDiscipline {
    fn algorithm(&self) -> &'static Algorithm {
        self.registered.algorithm()
    }

    fn copy(&self) -> Box<dyn ForeignDiscipline> {
        Python::attach(|python| {
            let copied =
                self.registered.adapter.call(python, "copy", (&self.instance,)).unwrap_or_else(
                    |error| {
                        self.fail(python, error, "copying it", self.queue.get().instant());
                        self.instance.clone_ref(python)
                    },
                );
            let (registered, session) = (&self.registered, &self.session);
            let coin = self.coin.get().copy();
            let copy = Self::around(python, copied, registered, session, coin);
            Box::new(copy.expect("an object of the core's own can be made"))
        })
    }
}
