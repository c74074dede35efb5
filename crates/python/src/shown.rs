//! Numbers that Python looks at, from any thread.
//!
//! They are atomic only because of that; one thread at a time runs a simulation, and nothing is ordered by them.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A number that fits into 64 bits.
pub trait Bits: Copy {
    fn to_bits(self) -> u64;
    fn from_bits(bits: u64) -> Self;
}

macro_rules! bits {
    ($($number:ty: $it:ident => $to:expr, $bits:ident => $from:expr;)*) => {
        $(impl Bits for $number {
            fn to_bits(self) -> u64 {
                let $it = self;
                $to
            }

            fn from_bits($bits: u64) -> Self {
                $from
            }
        })*
    };
}
bits! {
    u8: it => u64::from(it), bits => bits as u8;
    u32: it => u64::from(it), bits => bits as u32;
    u64: it => it, bits => bits;
    bool: it => u64::from(it), bits => bits != 0;
    f64: it => it.to_bits(), bits => f64::from_bits(bits);
    // The greatest time stands for none.
    Option<u64>: it => it.unwrap_or(u64::MAX), bits => (bits != u64::MAX).then_some(bits);
    // What is not a number stands for none.
    Option<f64>: it => it.unwrap_or(f64::NAN).to_bits(), bits => {
        Some(f64::from_bits(bits)).filter(|number| !number.is_nan())
    };
}

/// A number that can be shown anew.
#[derive(Debug)]
pub struct Shown<T>(AtomicU64, PhantomData<fn() -> T>);

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Self(AtomicU64::new(0), PhantomData)
    }
}

impl<T: Bits> Shown<T> {
    pub fn get(&self) -> T {
        T::from_bits(self.0.load(Relaxed))
    }

    pub fn set(&self, number: T) {
        self.0.store(number.to_bits(), Relaxed);
    }
}

/// The header of a packet, which can be shown anew and written.
#[derive(Debug, Default)]
pub struct ShownHeader {
    there: Shown<bool>,
    numbers: [Shown<f64>; 4],
}

/// A header as Python has it.
pub type Numbers = (f64, f64, f64, f64);

impl ShownHeader {
    pub fn show(&self, header: Option<[f64; 4]>) {
        self.there.set(header.is_some());
        for (shown, number) in self.numbers.iter().zip(header.into_iter().flatten()) {
            shown.set(number);
        }
    }

    pub fn get(&self) -> Option<[f64; 4]> {
        self.there.get().then(|| self.numbers.each_ref().map(Shown::get))
    }

    pub fn numbers(&self) -> Option<Numbers> {
        self.get().map(|[first, second, third, fourth]| (first, second, third, fourth))
    }

    /// Writes so many numbers, and 0 for the others.
    pub fn write(&self, numbers: &[f64]) -> PyResult<()> {
        let accepted = if !self.there.get() {
            "no header here: only packets of senders with headers = True carry one, and only such a class sees it"
        } else if numbers.len() > self.numbers.len() || numbers.iter().any(|it| !it.is_finite()) {
            "at most 4 finite numbers"
        } else {
            let mut header = [0.0; 4];
            header[..numbers.len()].copy_from_slice(numbers);
            self.show(Some(header));
            return Ok(());
        };
        Err(PyValueError::new_err(format!(
            "header: {numbers:?} is not accepted; expected {accepted}"
        )))
    }
}

impl<'py, T: Bits + IntoPyObject<'py>> IntoPyObject<'py> for &Shown<T> {
    type Target = T::Target;
    type Output = T::Output;
    type Error = T::Error;

    fn into_pyobject(self, py: Python<'py>) -> Result<T::Output, T::Error> {
        self.get().into_pyobject(py)
    }
}
