//! The example in the README runs.

#[path = "../examples/slow_start.rs"]
mod slow_start;

#[test]
fn the_example_runs() {
    slow_start::main();
}
