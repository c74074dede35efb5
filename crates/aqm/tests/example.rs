//! The example in the README runs.

#[path = "../examples/one_packet.rs"]
mod one_packet;

#[test]
fn the_example_runs() {
    one_packet::main();
}
