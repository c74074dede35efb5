//! The example in the README runs.

#[path = "../examples/capture.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main();
}
