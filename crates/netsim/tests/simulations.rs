//! The simulator's tests, in one program: each of its own would have the simulator compiled into it once more.

mod common;

mod access;
mod air;
mod bbr;
mod choke;
mod closed_forms;
mod departures;
mod determinism;
mod example;
mod extremes;
mod flow_delays;
mod flush;
mod foreign;
mod forks;
mod golden;
mod laws;
mod loss;
mod rate_control;
mod return_path;
mod round_trips;
mod spans;
mod transfer_log;
mod transfers;
mod varying_rates;
