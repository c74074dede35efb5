//! The example in the README runs.

#[path = "../examples/table.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main();
}
