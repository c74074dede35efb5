//! The example in the README runs.

#[path = "../examples/capture.rs"]
mod capture;

#[test]
fn the_example_runs() {
    capture::main();
}
