//! The example in the README runs.

#[path = "../examples/one_link.rs"]
mod one_link;

#[test]
fn the_example_runs() {
    one_link::main();
}
