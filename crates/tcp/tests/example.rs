//! The example in the README runs.

#[path = "../examples/slow_start.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main();
}
