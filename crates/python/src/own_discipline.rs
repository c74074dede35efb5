//! A queue discipline written in Python, as the core calls it.
//!
//! What can be done in Python is done there: an adapter (`vermilion.scenario.own_discipline`) makes,
//! changes and copies instances and explains failures. Here is what happens for every packet.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple};
use vermilion_aqm::{
    Arrival, Carried, Decide, Departure, Discipline, DropReason, ForeignDiscipline, ForeignFactory,
    LinkFacts, Verdict, Waiting,
};
use vermilion_netsim::LARGEST_AVERAGE;
use vermilion_parameters::{Algorithm, ParameterError, Settings};

use crate::adapter::{Adapter, values};
use crate::named_verdict::{NamedVerdict, words};
use crate::session::Session;
use crate::views::{Coin, Packet, Queue, show_arrival, show_arriving, show_departure};

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
    /// Of a scheduler.
    choose: Option<Py<PyAny>>,
    headers: bool,
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
            choose: method("choose")?,
            headers: adapter.attribute(python, "headers")?.extract(python)?,
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
    /// One, unless it is a scheduler.
    queues: Vec<Py<Queue>>,
    coin: Py<Coin>,
    /// The instance, the packet, the queue (of a scheduler: all queues) and the coin.
    arriving: Py<PyTuple>,
    /// The instance, the packet, each queue and the coin.
    departing: Vec<Py<PyTuple>>,
    /// The instance, all queues and the coin.
    choosing: Py<PyTuple>,
}

impl OwnDiscipline {
    fn around(
        python: Python<'_>,
        instance: Py<PyAny>,
        registered: &Arc<Registered>,
        session: &Arc<Session>,
        coin: Coin,
    ) -> PyResult<Self> {
        let packet = Py::new(python, Packet::new())?;
        let is_scheduler = registered.choose.is_some();
        let count = if is_scheduler {
            registered.adapter.call(python, "queues", (&instance,))?.extract(python)?
        } else {
            1
        };
        let queues = (0..count).map(|number| Py::new(python, Queue::numbered(number)));
        let queues = queues.collect::<PyResult<Vec<_>>>()?;
        let coin = Py::new(python, coin)?;
        let departing = queues
            .iter()
            .map(|queue| Ok((&instance, &packet, queue, &coin).into_pyobject(python)?.unbind()))
            .collect::<PyResult<Vec<_>>>()?;
        let all = PyTuple::new(python, &queues)?;
        let arriving = if is_scheduler {
            (&instance, &packet, &all, &coin).into_pyobject(python)?.unbind()
        } else {
            departing[0].clone_ref(python)
        };
        let choosing = (&instance, &all, &coin).into_pyobject(python)?.unbind();
        let (registered, session) = (Arc::clone(registered), Arc::clone(session));
        Ok(Self {
            registered,
            session,
            instance,
            packet,
            queues,
            coin,
            arriving,
            departing,
            choosing,
        })
    }

    /// Asks over a packet that has been shown.
    fn ask(
        &self,
        python: Python<'_>,
        method: &Py<PyAny>,
        arguments: &Py<PyTuple>,
    ) -> PyResult<Verdict> {
        self.verdict(&method.bind(python).call1(arguments.bind(python))?)
    }

    /// The verdict that was answered.
    fn verdict(&self, answer: &Bound<'_, PyAny>) -> PyResult<Verdict> {
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

    /// The queue that a scheduler has answered for a packet, and the verdict.
    fn place(&self, answer: &Bound<'_, PyAny>) -> PyResult<(usize, Verdict)> {
        if answer.is_instance_of::<PyInt>() {
            return Ok((self.number_of_queue(answer)?, Verdict::Accept));
        }
        if let Ok((number, verdict)) = answer.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
            return Ok((self.number_of_queue(&number)?, self.verdict(&verdict)?));
        }
        match self.verdict(answer)? {
            drop @ Verdict::Drop(_) => Ok((0, drop)),
            _ => {
                let message = "a verdict that drops nothing is not accepted alone; expected the number \
                               of the queue, or a pair of that and the verdict";
                Err(PyTypeError::new_err(message))
            }
        }
    }

    fn number_of_queue(&self, answer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let number = answer.extract::<usize>().ok();
        number.filter(|&number| number < self.queues.len()).ok_or_else(|| {
            let last = self.queues.len() - 1;
            let shown = answer.repr().map(|text| text.to_string()).unwrap_or_default();
            let message = format!(
                "the queue {shown} is not accepted; expected a whole number from 0 to {last}"
            );
            PyValueError::new_err(message)
        })
    }

    /// The queue that a scheduler has chosen.
    fn chosen(&self, python: Python<'_>, choose: &Py<PyAny>) -> PyResult<usize> {
        let answer = choose.bind(python).call1(self.choosing.bind(python))?;
        let number = self.number_of_queue(&answer)?;
        if self.queues[number].get().is_empty() {
            let message = format!(
                "queue {number} is not accepted, which is empty; expected one with packets"
            );
            return Err(PyValueError::new_err(message));
        }
        Ok(number)
    }

    /// The instant of the last decision.
    fn instant(&self) -> u64 {
        self.queues[0].get().instant()
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
                self.fail(python, error, doing, self.instant());
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
                self.fail(python, error, "a change of the link", self.instant());
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
        show_arrival(self.packet.get(), self.queues[0].get(), arrival);
        Python::attach(|python| {
            self.ask(python, &self.registered.on_arrival, &self.arriving).unwrap_or_else(|error| {
                self.fail(python, error, "on_arrival", arrival.now);
                Verdict::Accept
            })
        })
    }

    fn on_departure(&mut self, departure: &Departure, coin: &mut AnyCoin<'coin>) -> Verdict {
        self.decide_departure(0, departure, coin)
    }
}

impl OwnDiscipline {
    /// Decides over the packet of a queue whose turn it is.
    fn decide_departure(
        &self,
        number: usize,
        departure: &Departure,
        coin: &mut AnyCoin<'_>,
    ) -> Verdict {
        let Some(on_departure) = &self.registered.on_departure else { return Verdict::Accept };
        if self.session.has_failed() {
            return Verdict::Accept;
        }
        self.coin.get().refill(coin);
        show_departure(self.packet.get(), self.queues[number].get(), departure);
        Python::attach(|python| {
            self.ask(python, on_departure, &self.departing[number]).unwrap_or_else(|error| {
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
                        self.fail(python, error, "copying it", self.instant());
                        self.instance.clone_ref(python)
                    },
                );
            let (registered, session) = (&self.registered, &self.session);
            let coin = self.coin.get().copy();
            let copy = Self::around(python, copied, registered, session, coin);
            let copy = copy.expect("an object of the core's own can be made");
            for (copied, own) in copy.queues.iter().zip(&self.queues) {
                copied.get().show_same(own.get());
            }
            Box::new(copy)
        })
    }

    fn queues(&self) -> usize {
        let keeps = self.registered.choose.is_some() || self.registered.headers;
        if keeps { self.queues.len() } else { 0 }
    }

    fn admit(
        &mut self,
        arrival: &Arrival,
        carried: &mut Carried,
        coin: &mut dyn vermilion_aqm::Coin,
    ) -> (usize, Verdict) {
        self.packet.get().show_carried(carried, self.registered.headers);
        let answer = if self.registered.choose.is_none() {
            (0, self.on_arrival(arrival, coin))
        } else if self.session.has_failed() {
            (0, Verdict::Accept)
        } else {
            self.coin.get().refill(coin);
            show_arriving(self.packet.get(), arrival);
            for queue in &self.queues {
                queue.get().show_instant(arrival.now, arrival.idle_since);
            }
            Python::attach(|python| {
                let answer = self.registered.on_arrival.bind(python);
                let answer = answer.call1(self.arriving.bind(python));
                answer.and_then(|answer| self.place(&answer)).unwrap_or_else(|error| {
                    self.fail(python, error, "on_arrival", arrival.now);
                    (0, Verdict::Accept)
                })
            })
        };
        self.packet.get().take_header(carried);
        answer
    }

    fn choose(&mut self, now: u64, coin: &mut dyn vermilion_aqm::Coin) -> usize {
        let Some(choose) = &self.registered.choose else { return 0 };
        if self.session.has_failed() {
            return 0;
        }
        self.coin.get().refill(coin);
        for queue in &self.queues {
            queue.get().show_instant(now, None);
        }
        Python::attach(|python| {
            self.chosen(python, choose).unwrap_or_else(|error| {
                self.fail(python, error, "choose", now);
                0
            })
        })
    }

    fn release(
        &mut self,
        number: usize,
        departure: &Departure,
        carried: &mut Carried,
        coin: &mut dyn vermilion_aqm::Coin,
    ) -> Verdict {
        self.packet.get().show_carried(carried, self.registered.headers);
        let verdict = self.decide_departure(number, departure, coin);
        self.packet.get().take_header(carried);
        verdict
    }

    fn show(&mut self, number: usize, waiting: &Waiting) {
        self.queues[number].get().show_waiting(waiting);
    }
}
