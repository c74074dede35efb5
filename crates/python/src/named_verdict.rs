//! Drops for which a discipline in Python has words of its own.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vermilion_aqm::{DropKind, DropReason};

/// Most words that all disciplines of a process may have. They live as long as it does.
const MOST: usize = 1000;
/// Most characters of them: they are to fit into a column.
const LONGEST: usize = 40;

static WORDS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// A drop and the words for its cause.
#[pyclass(frozen, module = "vermilion._core")]
#[derive(Debug)]
pub struct NamedVerdict {
    verdict: String,
    kind: DropKind,
    cause: u16,
    /// True if a packet that may be marked is marked.
    pub notifies: bool,
}

#[pymethods]
impl NamedVerdict {
    #[new]
    fn new(verdict: String, cause: &str) -> PyResult<Self> {
        let (kind, notifies) = match &*verdict {
            "drop" => (DropKind::Early, false),
            "notify" => (DropKind::Early, true),
            "forced" => (DropKind::Forced, false),
            "overflow" => (DropKind::Overflow, false),
            _ => {
                let message = format!(
                    "{} drops nothing, so that it has no cause; expected DROP, NOTIFY, FORCED or \
                     OVERFLOW",
                    verdict.to_uppercase()
                );
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(Self { verdict, kind, cause: number(cause)?, notifies })
    }

    /// The words.
    #[getter]
    fn cause(&self) -> &'static str {
        words(self.cause)
    }

    fn __reduce__<'py>(&self, python: Python<'py>) -> (Bound<'py, PyAny>, (String, &'static str)) {
        let class = python.get_type::<Self>().into_any();
        (class, (self.verdict.clone(), words(self.cause)))
    }

    fn __repr__(&self) -> String {
        format!("Verdict.{}.because(\"{}\")", self.verdict.to_uppercase(), words(self.cause))
    }
}

impl NamedVerdict {
    /// The same as the core has it.
    pub fn reason(&self) -> DropReason {
        DropReason::Own { kind: self.kind, cause: self.cause }
    }
}

/// The words of a number.
pub fn words(number: u16) -> &'static str {
    let known = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(usize::from(number)).copied().unwrap_or("")
}

/// The number of some words, which are kept.
fn number(words: &str) -> PyResult<u16> {
    let plain =
        |character: char| character.is_alphanumeric() || " -_.:/%+()<>=".contains(character);
    let fits = (1..=LONGEST).contains(&words.chars().count()) && words.trim() == words;
    if !fits || !words.chars().all(plain) {
        let message = format!(
            "the cause {words:?} is not accepted; expected up to {LONGEST} letters, digits, blanks \
             and -_.:/%+()<>="
        );
        return Err(PyValueError::new_err(message));
    }
    let mut known = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = known.iter().position(|each| *each == words) {
        return Ok(place as u16);
    }
    if known.len() >= MOST {
        let message = format!(
            "more than {MOST} different causes; expected a few, made once, as attributes of a class"
        );
        return Err(PyValueError::new_err(message));
    }
    known.push(Box::leak(words.to_owned().into_boxed_str()));
    Ok((known.len() - 1) as u16)
}
