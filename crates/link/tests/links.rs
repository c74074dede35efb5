//! The link's tests, in one program: each of its own would be compiled and linked once more.

mod common;

mod laws;
mod over_time;
mod replay;
mod segments;
