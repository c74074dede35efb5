//! Random networks with everything that a scenario can say, from the usual to the absurd.
//!
//! Parameters of disciplines and senders come from their own tables, so a new row is tried without
//! a line here. Not every network is accepted: what its parts accept one by one may not go together.

use proptest::prelude::*;
use proptest::strategy::Union;
use serde_json::{Map, Value, json};
use vermilion_aqm::registry::ALGORITHMS;
use vermilion_parameters::{Algorithm, Kind, Parameter};
use vermilion_port::registry::SCHEDULERS;
use vermilion_tcp::registry::Profile;

const SECOND: u64 = 1_000_000_000;
const LONGEST_DURATION: u64 = 1_000_000_000_000_000;
const LONGEST_DELAY: u64 = 3_600 * SECOND;
const HIGHEST_RATE: u64 = 10_000_000_000_000;

/// Whole numbers of every order of magnitude from `low` to `high`.
fn magnitude(low: u64, high: u64) -> impl Strategy<Value = u64> {
    (0.0..=1.0_f64).prop_map(move |share| {
        let (first, last) = ((low.max(1) as f64).ln(), (high as f64).ln());
        ((first + share * (last - first)).exp() as u64).clamp(low, high)
    })
}

/// Mostly a usual value, sometimes any, sometimes one of the ends.
fn mostly(usual: (u64, u64), all: (u64, u64)) -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => magnitude(usual.0, usual.1),
        2 => magnitude(all.0, all.1),
        1 => Just(all.0),
        1 => Just(all.1),
    ]
}

fn any_number(row: &Parameter) -> BoxedStrategy<f64> {
    let Kind::Number { default, minimum, minimum_excluded, maximum, integer, search, .. } =
        row.kind
    else {
        unreachable!("only numbers are drawn as numbers")
    };
    let top = if maximum.is_finite() { maximum } else { f64::MAX };
    let bottom = if minimum_excluded { minimum + f64::MIN_POSITIVE } else { minimum.max(-1e300) };
    let usual = default.filter(|value| *value > 0.0).unwrap_or(1.0);
    let mut choices = vec![
        (6, (0.1..10.0).prop_map(move |factor| usual * factor).boxed()),
        (2, (0.0..=1.0).prop_map(move |share| bottom + share * (top.min(1e9) - bottom)).boxed()),
        (1, Just(bottom).boxed()),
        (1, Just(top).boxed()),
    ];
    if let Some((low, high)) = search {
        choices.push((6, (low..=high).boxed()));
    }
    Union::new_weighted(choices)
        .prop_map(move |value| {
            let value = value.clamp(bottom, top);
            if integer { value.round() } else { value }
        })
        .boxed()
}

fn any_value(row: &'static Parameter) -> BoxedStrategy<Value> {
    match row.kind {
        Kind::Number { .. } => any_number(row).prop_map(|value| json!(value)).boxed(),
        Kind::Switch { .. } => any::<bool>().prop_map(|on| json!(on)).boxed(),
        Kind::Choice { choices, .. } => {
            prop::sample::select(choices).prop_map(|name| json!(name)).boxed()
        }
    }
}

/// Some parameters of `algorithm`, each present with the probability `share`.
fn any_values(algorithm: &'static Algorithm, share: f64) -> impl Strategy<Value = Value> {
    let rows: Vec<_> = algorithm
        .parameters
        .iter()
        .map(|row| {
            prop::option::weighted(share, any_value(row))
                .prop_map(|value| value.map(|value| (row.name.to_owned(), value)))
        })
        .collect();
    rows.prop_map(|pairs| Value::Object(pairs.into_iter().flatten().collect::<Map<_, _>>()))
}

/// A tree of two classes, one of which holds its packets back as a rule.
fn any_tree() -> impl Strategy<Value = Value> {
    let names: Vec<_> = SCHEDULERS.iter().map(|each| each.algorithm.name).collect();
    (prop::sample::select(names), any_queue(), any_queue(), any_rate()).prop_map(
        |(scheduler, first, second, rate)| {
            let mut parameters = Map::new();
            let mut classes = Vec::new();
            for (number, queue) in [first, second].into_iter().enumerate() {
                for (name, value) in queue["parameters"].as_object().expect("a table") {
                    parameters.insert(format!("classes.{number}.queue.{name}"), value.clone());
                }
                let codepoints = if number == 0 { json!([46]) } else { json!([]) };
                let discipline = &queue["discipline"];
                classes.push(json!({"match": codepoints, "queue": {"discipline": discipline}}));
            }
            if scheduler == "shaped" {
                // It has one class, which is a tree here.
                let within = parameters.into_iter();
                parameters = within
                    .map(|(name, value)| (format!("classes.0.queue.{name}"), value))
                    .collect();
                parameters.insert("rate".to_owned(), json!(rate.max(64)));
                let strict = json!({"discipline": "strict", "classes": classes});
                classes = vec![json!({"queue": strict})];
            }
            json!({"discipline": scheduler, "parameters": parameters, "classes": classes})
        },
    )
}

fn any_queue() -> impl Strategy<Value = Value> {
    prop::sample::select(ALGORITHMS).prop_flat_map(|algorithm| {
        let leaked: &'static Algorithm = ALGORITHMS
            .iter()
            .find(|other| other.name == algorithm.name)
            .expect("it was chosen from there");
        prop_oneof![2 => any_values(leaked, 0.05), 1 => any_values(leaked, 0.3)]
            .prop_map(|values| json!({"discipline": leaked.name, "parameters": values}))
    })
}

fn any_sender() -> impl Strategy<Value = Value> {
    let senders: Vec<_> = Profile::algorithms().collect();
    prop::sample::select(senders).prop_flat_map(|algorithm| {
        prop_oneof![1 => any_values(algorithm, 0.1), 1 => any_values(algorithm, 0.4)]
            .prop_map(|values| json!({"congestion_control": algorithm.name, "parameters": values}))
    })
}

fn any_probability() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0..0.1, 1 => 0.0..=1.0, 1 => Just(0.0), 1 => Just(1.0)]
}

fn any_loss() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_probability().prop_map(|p| json!({"model": "bernoulli", "probability": p})),
        [any_probability(), any_probability(), any_probability(), any_probability()].prop_map(
            |[bad, good, in_good, in_bad]| {
                json!({"model": "gilbert-elliott", "good_to_bad": bad, "bad_to_good": good,
                    "loss_in_good": in_good, "loss_in_bad": in_bad})
            }
        ),
    ]
}

fn any_rate() -> impl Strategy<Value = u64> {
    mostly((50_000, 200_000_000), (1, HIGHEST_RATE))
}

fn any_schedule() -> impl Strategy<Value = Value> {
    let step = (1_u64..SECOND, prop_oneof![4 => any_rate(), 1 => Just(0)]);
    (any_rate(), prop::collection::vec(step, 0..5), prop::option::of(magnitude(1, SECOND)))
        .prop_map(|(first, steps, repeat)| {
            let (mut time, mut all) = (0, vec![(0, first)]);
            for (gap, rate) in steps {
                time += gap;
                all.push((time, rate));
            }
            json!({"steps": all, "repeat_ns": repeat.map(|more| time + more)})
        })
}

fn any_delivery_trace() -> impl Strategy<Value = Value> {
    let gaps = prop::collection::vec(prop_oneof![magnitude(1, SECOND), Just(0)], 0..20);
    (magnitude(1, SECOND), gaps, magnitude(1, 65_535)).prop_map(|(first, gaps, bytes)| {
        let mut times = vec![first];
        for gap in gaps {
            times.push(times[times.len() - 1] + gap);
        }
        json!({"opportunities_ns": times, "bytes": bytes})
    })
}

fn any_link() -> impl Strategy<Value = Value> {
    let varies = prop_oneof![
        6 => Just((Value::Null, Value::Null)),
        1 => any_schedule().prop_map(|schedule| (schedule, Value::Null)),
        1 => any_delivery_trace().prop_map(|trace| (Value::Null, trace)),
    ];
    let delay = mostly((1_000, SECOND / 50), (0, LONGEST_DELAY));
    let queue = prop_oneof![7 => any_queue(), 1 => any_tree()];
    (any_rate(), delay, queue, prop::option::weighted(0.25, any_loss()), varies).prop_map(
        |(rate, delay, queue, loss, (schedule, trace))| {
            json!({"rate_bit_per_s": rate, "delay_ns": delay, "queue": queue, "loss": loss,
                "rate_schedule": schedule, "trace": trace})
        },
    )
}

fn any_variate(usual: (u64, u64), all: (u64, u64)) -> BoxedStrategy<Value> {
    let value = move || mostly(usual, all).prop_map(|value| value as f64);
    prop_oneof![
        value().prop_map(|value| json!({"distribution": "constant", "value": value})),
        value().prop_map(|mean| json!({"distribution": "exponential", "mean": mean})),
        (value(), 1.01..100.0).prop_map(
            |(mean, shape)| json!({"distribution": "pareto", "mean": mean, "shape": shape})
        ),
        (value(), value(), 0.01..100.0).prop_map(|(one, other, shape)| {
            json!({"distribution": "bounded-pareto", "minimum": one.min(other),
                "maximum": one.max(other), "shape": shape})
        }),
        (value(), 0.0..=10.0).prop_map(
            |(median, sigma)| json!({"distribution": "lognormal", "median": median, "sigma": sigma})
        ),
        (value(), value(), 0.0..0.9, any::<bool>()).prop_map(|(one, other, share, even)| {
            json!({"distribution": "empirical", "probabilities": [share, 1.0],
                "values": [one.min(other), one.max(other) + 1.0],
                "interpolation": if even { "linear" } else { "logarithmic" }})
        }),
    ]
    .boxed()
}

fn any_size() -> BoxedStrategy<Value> {
    any_variate((100, 1_000_000), (1, 60_000_000))
}

/// Traffic that a flow sends, and its sender.
fn any_traffic() -> impl Strategy<Value = (Value, Value)> {
    let rate = || any_rate().prop_map(|rate| rate as f64);
    let time = || any_variate((10_000, SECOND), (1, LONGEST_DURATION));
    let with_sender = prop_oneof![
        6 => Just(json!({"kind": "bulk"})),
        2 => magnitude(1, 10_000_000).prop_map(|size| json!({"kind": "transfer", "size_bytes": size})),
        2 => (magnitude(100_000, SECOND), any_size())
            .prop_map(|(gap, size)| json!({"kind": "web", "mean_gap_ns": gap as f64, "size": size})),
        2 => (any_size(), time())
            .prop_map(|(size, off)| json!({"kind": "bursts", "size": size, "off_ns": off})),
        1 => prop::collection::vec((magnitude(1, SECOND), magnitude(1, 1_000_000)), 1..20)
            .prop_map(|mut rows| {
                rows.sort_unstable();
                let (starts, sizes): (Vec<u64>, Vec<u64>) = rows.into_iter().unzip();
                json!({"kind": "trace", "starts_ns": starts, "sizes_bytes": sizes})
            }),
    ];
    let without = prop_oneof![
        rate().prop_map(|rate| json!({"kind": "constant-rate", "rate_bit_per_s": rate})),
        (rate(), any::<bool>()).prop_map(|(rate, constant)| {
            let size = if constant { "constant" } else { "exponential" };
            json!({"kind": "poisson", "rate_bit_per_s": rate, "packet_size": size})
        }),
        (rate(), time(), time()).prop_map(|(rate, on, off)| {
            json!({"kind": "on-off", "rate_bit_per_s": rate, "on_ns": on, "off_ns": off})
        }),
    ];
    prop_oneof![4 => (with_sender, any_sender()), 1 => (without, Just(Value::Null))]
}

/// Added to what the links of the path take.
fn any_round_trip() -> impl Strategy<Value = Value> {
    let time = || mostly((1_000, SECOND / 5), (0, SECOND * 60));
    prop_oneof![
        4 => time().prop_map(|time| json!(time)),
        1 => prop::collection::vec(time(), 1..4).prop_map(|times| json!(times)),
        1 => (time(), time()).prop_map(|(one, other)| {
            json!({"distribution": "uniform", "min_ns": one.min(other), "max_ns": one.max(other)})
        }),
        1 => [time(), time(), time()].prop_map(|mut times| {
            times.sort_unstable();
            json!({"distribution": "exponential", "min_ns": times[0], "mean_ns": times[1],
                "max_ns": times[2]})
        }),
        1 => ([time(), time(), time()], 0.01..=10.0).prop_map(|(mut times, sigma)| {
            times.sort_unstable();
            json!({"distribution": "lognormal", "min_ns": times[0], "median_ns": times[1],
                "max_ns": times[2], "sigma": sigma})
        }),
    ]
}

/// Every time in `round_trip` grows by `least`.
fn lengthen(round_trip: &mut Value, least: u64) {
    match round_trip {
        Value::Object(entries) => {
            for (name, value) in entries {
                if name.ends_with("_ns") {
                    lengthen(value, least);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| lengthen(value, least)),
        value => {
            if let Some(time) = value.as_u64() {
                *value = json!((time + least).min(LONGEST_DELAY.max(least)));
            }
        }
    }
}

#[derive(Clone, Debug)]
struct AnyGroup {
    count: u32,
    /// Where its paths begin and end among the links, as shares.
    path: [prop::sample::Index; 2],
    back: Option<prop::sample::Index>,
    round_trip: Value,
    traffic: (Value, Value),
    access: Option<u64>,
    sizes: [u64; 3],
    dscp: u8,
    /// Shares of the duration.
    start: (f64, f64),
    stop: Option<(f64, f64)>,
}

fn any_group() -> impl Strategy<Value = AnyGroup> {
    let share = || prop_oneof![3 => Just(0.0), 3 => 0.0..=1.0, 1 => Just(1.0)];
    let sizes = [
        mostly((100, 3000), (1, 65_535)).boxed(),
        mostly((40, 80), (1, 65_535)).boxed(),
        prop_oneof![Just(0), 1_u64..80].boxed(),
    ];
    (
        prop_oneof![4 => 1_u32..4, 1 => 1_u32..30],
        any::<[prop::sample::Index; 2]>(),
        prop::option::weighted(0.3, any::<prop::sample::Index>()),
        any_round_trip(),
        any_traffic(),
        prop::option::weighted(0.25, any_rate()),
        sizes,
        (prop::sample::select(vec![0_u8, 8, 46]), share(), share()),
        prop::option::weighted(0.4, (share(), share())),
    )
        .prop_map(
            |(count, path, back, round_trip, traffic, access, sizes, (dscp, begin, end), stop)| {
                let start = (begin, end);
                AnyGroup {
                    count,
                    path,
                    back,
                    round_trip,
                    traffic,
                    access,
                    sizes,
                    dscp,
                    start,
                    stop,
                }
            },
        )
}

impl AnyGroup {
    fn describe(&self, name: usize, duration: u64, links: &[Value]) -> Value {
        let [first, last] = self.path.map(|index| index.index(links.len()));
        let path: Vec<usize> =
            if first <= last { (first..=last).collect() } else { (last..=first).rev().collect() };
        let back: Vec<usize> =
            self.back.map_or(Vec::new(), |index| (index.index(links.len())..links.len()).collect());
        let propagation: u64 = path
            .iter()
            .chain(&back)
            .map(|&link| links[link]["delay_ns"].as_u64().expect("every link has one"))
            .sum();
        let names = |path: &[usize]| path.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut round_trip = self.round_trip.clone();
        lengthen(&mut round_trip, propagation);
        let range = |(one, other): (f64, f64), most: f64| {
            let time = |share: f64| ((share * most) as u64).min(LONGEST_DURATION);
            json!([time(one.min(other)), time(one.max(other))])
        };
        let [packet, acknowledgement, header] = self.sizes;
        let (traffic, sender) = &self.traffic;
        let listed = traffic["kind"] == "trace";
        json!({
            "name": name.to_string(),
            "count": if listed { 1 } else { self.count },
            "path": names(&path),
            "return_path": names(&back),
            "rtt_ns": round_trip,
            "access_rate_bit_per_s": self.access,
            "sender": sender,
            "traffic": traffic,
            "packet_size_bytes": packet,
            "ack_size_bytes": acknowledgement,
            "dscp": self.dscp,
            "source_host": (if self.count.is_multiple_of(2) { "one" } else { "other" }),
            "header_size_bytes": header.min(packet - 1),
            "start_ns": range(self.start, duration as f64),
            "stop_ns": self.stop.map(|stop| range(stop, 1.2 * duration as f64)),
        })
    }
}

/// Something that changes: when (a share of the duration), at which link, and what.
fn any_change() -> impl Strategy<Value = (f64, prop::sample::Index, Value)> {
    let what = (
        prop::option::of(any_rate()),
        prop::option::of(mostly((1_000, SECOND / 50), (0, LONGEST_DELAY))),
        prop::option::weighted(0.3, any_loss()),
        prop::option::weighted(0.3, magnitude(1, 1_000_000)),
    );
    (0.0..=1.0, any::<prop::sample::Index>(), what).prop_map(|(at, link, what)| {
        let (rate, delay, loss, limit) = what;
        let queue = limit.map(|limit| json!({"limit": limit}));
        (at, link, json!({"rate_bit_per_s": rate, "delay_ns": delay, "loss": loss, "queue": queue}))
    })
}

/// Any network at all.
pub fn any_network() -> impl Strategy<Value = Value> {
    (
        mostly((SECOND / 10, 20 * SECOND), (1, LONGEST_DURATION)),
        [prop_oneof![2 => Just(0.0), 1 => 0.0..0.99], prop_oneof![2 => Just(0.0), 1 => 0.0..1.0]],
        prop::collection::vec(any_link(), 1..4),
        prop::collection::vec(any_group(), 1..4),
        prop::collection::vec(any_change(), 0..4),
        prop::option::weighted(0.2, 1_u64..1000),
    )
        .prop_map(|(duration, [warm_up, settle], mut links, groups, changes, probes)| {
            for (index, link) in links.iter_mut().enumerate() {
                link["name"] = json!(index.to_string());
            }
            let flows: Vec<Value> = groups
                .iter()
                .enumerate()
                .map(|(index, group)| group.describe(index, duration, &links))
                .collect();
            let changes: Vec<Value> = changes
                .into_iter()
                .map(|(at, link, mut what)| {
                    let link = &links[link.index(links.len())];
                    what["at_ns"] = json!((at * duration as f64) as u64);
                    what["link"] = link["name"].clone();
                    if !link["rate_schedule"].is_null() || !link["trace"].is_null() {
                        what["rate_bit_per_s"] = Value::Null;
                    }
                    what
                })
                .collect();
            json!({
                "duration_ns": duration,
                "warm_up_ns": (warm_up * duration as f64) as u64,
                "settle_ns": (settle * duration as f64) as u64,
                "probe_interval_ns": probes.map(|points| (duration / points).max(1)),
                "distributions": true,
                "links": links,
                "flows": flows,
                "changes": changes,
            })
        })
}
