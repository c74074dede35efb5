//! A parameter table, and what becomes of a user's values: `cargo run --example table`.

use vermilion_parameters::{Algorithm, Parameter, Scale, Settings, Value, Values};

const COIN_FLIP: Algorithm = Algorithm {
    name: "coin-flip",
    title: "Coin flip",
    summary: "Drops a fixed share of what arrives.",
    source: "an example",
    parameters: &[
        Parameter::number("share", "ratio", Some(0.05), 0.0, 1.0)
            .searched(0.01, 0.3, Scale::Log)
            .described("share of packets dropped", "an example"),
        Parameter::switch("ecn", false).described("marks instead", "an example"),
    ],
    ordered: &[],
};

/// Shows what is taken, and what is refused with a reason.
pub fn main() {
    let given = Values::from([("share".to_owned(), Value::Number(0.2))]);
    let settings = Settings::resolve(&COIN_FLIP, &given).expect("a fifth is a share");
    println!("share {}, ecn {}", settings.number("share"), settings.switch("ecn"));

    let wrong = Values::from([("share".to_owned(), Value::Number(2.0))]);
    let refused = Settings::resolve(&COIN_FLIP, &wrong).expect_err("two is no share");
    println!("refused: {refused}");
}
