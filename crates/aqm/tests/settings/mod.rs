//! Settings drawn from a discipline's own table, and links to put it in front of.

use vermilion_aqm::{AnyScheduler, Coin, Ecn, LinkFacts, Packet};
use vermilion_parameters::{Algorithm, Kind, Parameter, Scale, Value, Values};

use super::seeded::Seeded;

/// A link between 100 kbit/s and 1 Gbit/s, with up to 200 ms of delay.
pub fn random_link(random: &mut Seeded) -> LinkFacts {
    LinkFacts {
        rate: between(1e5, 1e9, Scale::Log, random).round(),
        delay: between(0.0, 0.2, Scale::Linear, random),
    }
}

/// Settings accepted in front of `link`, some left to their defaults.
pub fn random_values(algorithm: &Algorithm, link: LinkFacts, random: &mut Seeded) -> Values {
    for _ in 0..1000 {
        let mut values = Values::new();
        for parameter in algorithm.parameters {
            if random.uniform() < 0.7 {
                values.insert(parameter.name.to_owned(), random_value(parameter, random));
            }
        }
        if accepts(algorithm, &values, link) {
            return values;
        }
    }
    panic!("{}: a thousand draws and none is accepted", algorithm.name)
}

/// Each parameter in turn at the ends of its range or at each of its alternatives, the others at
/// their defaults; what is refused in front of `link` is left out.
pub fn corners(algorithm: &'static Algorithm, link: LinkFacts) -> impl Iterator<Item = Values> {
    let ends = |parameter: &Parameter| -> Vec<Value> {
        match parameter.kind {
            Kind::Number { minimum, minimum_excluded, maximum, .. } => {
                let least = if minimum_excluded { minimum + 1e-9 } else { minimum };
                vec![Value::Number(least), Value::Number(maximum)]
            }
            Kind::Switch { .. } => vec![Value::Switch(false), Value::Switch(true)],
            Kind::Choice { choices, .. } => {
                choices.iter().map(|choice| Value::Choice((*choice).to_owned())).collect()
            }
        }
    };
    algorithm
        .parameters
        .iter()
        .flat_map(move |parameter| {
            ends(parameter)
                .into_iter()
                .map(|value| Values::from([(parameter.name.to_owned(), value)]))
        })
        .filter(move |values| accepts(algorithm, values, link))
}

fn accepts(algorithm: &Algorithm, values: &Values, link: LinkFacts) -> bool {
    AnyScheduler::<Any>::from_values(algorithm.name, values, link).is_ok()
}

/// A packet, for queues that are only built.
struct Any;

impl Packet for Any {
    fn size(&self) -> u32 {
        0
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }

    fn mark(&mut self) {}
}

fn random_value(parameter: &Parameter, random: &mut Seeded) -> Value {
    match parameter.kind {
        Kind::Number { default, minimum, maximum, integer, scale, search, .. } => {
            if default.is_none() && random.uniform() < 0.3 {
                return Value::Automatic;
            }
            let number = match (search, default) {
                (Some((low, high)), _) => between(low, high, scale, random),
                // A tenth to ten times the default.
                (None, Some(default)) => default * between(0.1, 10.0, Scale::Log, random),
                (None, None) => minimum + 1e-3 * random.uniform() * (maximum - minimum),
            };
            let number = number.clamp(minimum, maximum);
            Value::Number(if integer { number.round() } else { number })
        }
        Kind::Switch { .. } => Value::Switch(random.uniform() < 0.5),
        Kind::Choice { choices, .. } => {
            let index = (random.uniform() * choices.len() as f64) as usize;
            Value::Choice(choices[index].to_owned())
        }
    }
}

fn between(low: f64, high: f64, scale: Scale, random: &mut Seeded) -> f64 {
    let part = random.uniform();
    match scale {
        Scale::Linear => low + part * (high - low),
        Scale::Log => low * (high / low).powf(part),
    }
}
