//! The monitor's tests, in one program: each of its own would be compiled and linked once more.

mod common;

mod captures;
mod flows;
mod golden;
mod real_captures;
mod ring;
mod robustness;
mod round_trips;
mod summary;
