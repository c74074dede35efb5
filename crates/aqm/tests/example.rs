//! The example in the README runs.

#[path = "../examples/one_packet.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main();
}
