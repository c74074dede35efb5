//! The example in the README runs.

#[path = "../examples/one_link.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main();
}
