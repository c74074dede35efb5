//! Settings that the compiler knows, and the table that belongs to them, from one declaration.

use std::fmt::Debug;

use crate::{Algorithm, Parameter, ParameterError, Preset, Settings, Value, Values};

/// A type of which a single setting may be.
pub trait Setting: Copy + Debug + PartialEq {
    /// Unit in the table.
    const UNIT: &'static str = "1";
    /// True if only whole numbers are accepted.
    const WHOLE: bool = false;

    /// The setting that a checked value stands for.
    fn read(value: &Value) -> Self;

    /// The value that stands for it.
    fn write(self) -> Value;
}

/// The typed settings of an algorithm, or of a part that several have in common.
///
/// [`settings!`](macro@crate::settings) makes them.
pub trait TypedSettings: Copy + Debug + Default + PartialEq {
    /// Its rows of the table.
    const ROWS: &'static [Parameter];

    /// Its settings of a checked table's.
    fn read(settings: &Settings) -> Self;

    /// Adds its values to others.
    fn write(self, values: &mut Values);
}

/// The typed settings of an algorithm as a whole.
pub trait AlgorithmSettings: TypedSettings {
    /// Name, source and parameter table.
    const ALGORITHM: Algorithm;

    /// The same settings, checked against the table; they come to what a user's values would.
    ///
    /// # Errors
    /// A value outside its range, or an ordered pair in the wrong order.
    fn checked(self) -> Result<Self, ParameterError> {
        let mut values = Values::new();
        self.write(&mut values);
        Ok(Settings::resolve(&Self::ALGORITHM, &values)?.read())
    }
}

impl Settings {
    /// The typed settings of an algorithm or a part of it.
    ///
    /// # Panics
    /// If they belong to another table.
    pub fn read<T: TypedSettings>(&self) -> T {
        T::read(self)
    }

    /// A single typed setting.
    ///
    /// # Panics
    /// If the table has none of that name and type.
    pub fn typed<T: Setting>(&self, name: &str) -> T {
        T::read(self.values.get(name).unwrap_or_else(|| panic!("{name} is no parameter")))
    }
}

/// Declares number types: what a value is converted to, and whether it is whole.
macro_rules! numbers {
    ($($number:ty: $whole:literal),*) => {
        $(impl Setting for $number {
            const WHOLE: bool = $whole;

            fn read(value: &Value) -> Self {
                match value {
                    Value::Number(number) => *number as $number,
                    other => unreachable!("{other} has been checked to be a number"),
                }
            }

            fn write(self) -> Value {
                Value::Number(self as f64)
            }
        })*
    };
}
numbers!(f64: false, u8: true, u32: true, u64: true);

/// Declares quantities, each with its unit.
macro_rules! quantities {
    ($($(#[$meta:meta])* $quantity:ident: $unit:literal,)*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $quantity<N = f64>(pub N);

        impl<N: Setting> Setting for $quantity<N> {
            const UNIT: &'static str = $unit;
            const WHOLE: bool = N::WHOLE;

            fn read(value: &Value) -> Self {
                Self(N::read(value))
            }

            fn write(self) -> Value {
                self.0.write()
            }
        })*
    };
}
quantities! {
    /// A number of packets.
    Packets: "packets",
    /// A number of bytes.
    Bytes: "bytes",
    /// A time in seconds.
    Seconds: "seconds",
    /// A probability.
    Probability: "probability",
    /// A number of periods.
    Periods: "periods",
    /// A part for each packet.
    PerPacket: "1/packet",
    /// A rate in bit/s.
    BitPerSecond: "bit/s",
}

impl Seconds {
    /// The time in nanoseconds, rounded.
    pub fn nanoseconds(self) -> u64 {
        (self.0 * 1e9).round() as u64
    }
}

impl Setting for bool {
    fn read(value: &Value) -> Self {
        matches!(value, Value::Switch(true))
    }

    fn write(self) -> Value {
        Value::Switch(self)
    }
}

/// `None` is left to the algorithm's own rule.
impl<T: Setting> Setting for Option<T> {
    const UNIT: &'static str = T::UNIT;
    const WHOLE: bool = T::WHOLE;

    fn read(value: &Value) -> Self {
        (*value != Value::Automatic).then(|| T::read(value))
    }

    fn write(self) -> Value {
        self.map_or(Value::Automatic, T::write)
    }
}

/// Declares a type with a variant for each of a parameter's named alternatives.
///
/// Where several algorithms have the parameter, its row stands behind: `row name = Variant, meaning, source`. The type is
/// then a part of their settings.
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub $choice:ident { $($(#[$about:meta])* $variant:ident = $name:literal),* $(,)? }
        $(row $row:ident = $default:ident, $meaning:literal, $source:literal)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $choice {
            $($(#[$about])* #[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl $choice {
            /// Every name.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Its name in scenarios.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl $crate::Setting for $choice {
            fn read(value: &$crate::Value) -> Self {
                match value {
                    $($crate::Value::Choice(name) if name == $name => Self::$variant,)*
                    other => unreachable!("{other} has been checked to be one of the names"),
                }
            }

            fn write(self) -> $crate::Value {
                $crate::Value::Choice(self.name().to_owned())
            }
        }

        $(
            impl Default for $choice {
                fn default() -> Self {
                    Self::$default
                }
            }

            impl $crate::TypedSettings for $choice {
                const ROWS: &'static [$crate::Parameter] =
                    &[$crate::row!(stringify!($row), Self, $default).described($meaning, $source)];

                fn read(settings: &$crate::Settings) -> Self {
                    settings.typed(stringify!($row))
                }

                fn write(self, values: &mut $crate::Values) {
                    values.insert(stringify!($row).to_owned(), $crate::Setting::write(self));
                }
            }
        )?
    };
}

/// Declares typed settings and, by the same lines, their parameter table.
///
/// A line is `name: type = default in [smallest, largest], source;`, its meaning in the comment above. `[> smallest`
/// excludes the smallest value itself; `linear [low, high]` or `log [low, high]` says what a tuner searches, and how;
/// `only_with (choice = "name")` where else the parameter does nothing. The default `automatic` belongs to an `Option`.
/// Switches and [`choices!`](crate::choices) have no range; `of [Variant, ..]` says which of these are accepted, unless
/// all are. `..part: Type;` before all lines stands for the rows of settings that several algorithms have in common,
/// which are declared likewise, without the head; `..part: Type { name: Switch(true) };` gives them other defaults.
///
/// ```
/// use vermilion_parameters::{AlgorithmSettings, Packets, Parameter, Probability, settings};
///
/// settings! {
///     /// Settings of a queue that drops at random above a threshold.
///     pub CoinSettings "coin": "Coin", "Drops at random above a threshold", "an example";
///     /// packets above which coins are thrown
///     threshold: Packets = 15 in [0, 1e9] linear [1, 50], "ours";
///     /// probability of a drop there
///     probability: Probability = 0.1 in [> 0, 1] log [1e-3, 1], "ours";
///     /// packets that can be marked are not dropped
///     ecn: bool = true, "RFC 3168";
/// }
///
/// let settings = CoinSettings { threshold: Packets(20.0), ..Default::default() };
/// assert_eq!(settings.checked(), Ok(settings));
/// assert_eq!(CoinSettings::ALGORITHM.parameters[0].meaning, "packets above which coins are thrown");
///
/// let refused = CoinSettings { probability: Probability(1.5), ..settings }.checked().unwrap_err();
/// let expected = "probability: 1.5 is not accepted; expected a number above 0 to 1 (probability)";
/// assert_eq!(refused.to_string(), expected);
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub $settings:ident
        $($name:literal: $title:literal, $summary:literal, $cited:literal $(, $low:ident < $high:ident)*)?;
        $(..$part:ident: $type_of_part:ty $({ $($preset:ident: $value:expr),* $(,)? })?;)*
        $(
            $(#[doc = $meaning:literal])*
            $field:ident: $type:ty = $default:tt
            $(in $range:tt)? $(of $names:tt)? $(linear $linear:tt)? $(log $log:tt)? $(only_with ($choice:ident = $chosen:literal))?,
            $source:expr;
        )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $settings {
            $(
                #[doc = concat!("Those of [`", stringify!($type_of_part), "`].")]
                pub $part: $type_of_part,
            )*
            $(
                $(#[doc = $meaning])*
                #[doc = concat!(" (default ", stringify!($default), "; ", stringify!($source), ").")]
                pub $field: $type,
            )*
        }

        impl $crate::TypedSettings for $settings {
            const ROWS: &'static [$crate::Parameter] = {
                const OWN: &[$crate::Parameter] = &[$(
                    $crate::row!(stringify!($field), $type, $default $(, $range)? $(, of $names)?)
                        $(.searched($crate::bound!(0 $linear), $crate::bound!(1 $linear), $crate::Scale::Linear))?
                        $(.searched($crate::bound!(0 $log), $crate::bound!(1 $log), $crate::Scale::Log))?
                        $(.only_with(stringify!($choice), $chosen))?
                        .described($crate::typed::meaning(concat!($($meaning),*)), $source),
                )*];
                #[allow(unused_imports, reason = "most parts have the defaults of their own rows")]
                use $crate::Preset::{Choice, Number, Switch};
                const PARTS: &[$crate::typed::Part] = &[
                    $((
                        <$type_of_part as $crate::TypedSettings>::ROWS,
                        &[$($((stringify!($preset), $value)),*)?],
                    ),)*
                    (OWN, &[]),
                ];
                const ROWS: usize = $crate::typed::count(PARTS);
                &$crate::typed::join::<ROWS>(PARTS)
            };

            fn read(settings: &$crate::Settings) -> Self {
                Self {
                    $($part: settings.read(),)*
                    $($field: settings.typed(stringify!($field)),)*
                }
            }

            fn write(self, values: &mut $crate::Values) {
                $($crate::TypedSettings::write(self.$part, values);)*
                $(values.insert(stringify!($field).to_owned(), $crate::Setting::write(self.$field));)*
            }
        }

        /// Those of the table.
        impl Default for $settings {
            fn default() -> Self {
                $crate::Settings::defaults(<Self as $crate::TypedSettings>::ROWS).read()
            }
        }

        $(
            impl $crate::AlgorithmSettings for $settings {
                const ALGORITHM: $crate::Algorithm = $crate::Algorithm {
                    name: $name,
                    title: $title,
                    summary: $summary,
                    source: $cited,
                    parameters: <Self as $crate::TypedSettings>::ROWS,
                    ordered: &[$((stringify!($low), stringify!($high))),*],
                };
            }

        )?
    };
}

/// One row, without its meaning.
#[doc(hidden)]
#[macro_export]
macro_rules! row {
    ($name:expr, $type:ty, true) => {
        $crate::Parameter::switch($name, true)
    };
    ($name:expr, $type:ty, false) => {
        $crate::Parameter::switch($name, false)
    };
    ($name:expr, $type:ty, $variant:ident) => {
        $crate::Parameter::choice($name, <$type>::$variant.name(), <$type>::NAMES)
    };
    ($name:expr, $type:ty, $variant:ident, of [$($accepted:ident),*]) => {
        $crate::Parameter::choice(
            $name,
            <$type>::$variant.name(),
            &[$(<$type>::$accepted.name()),*],
        )
    };
    ($name:expr, $type:ty, automatic, $range:tt) => {
        $crate::typed::number::<$type>($name, None, $crate::bound!($range))
    };
    ($name:expr, $type:ty, $default:tt, $range:tt) => {
        $crate::typed::number::<$type>($name, Some($default as f64), $crate::bound!($range))
    };
}

/// A range as numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! bound {
    ([> $low:expr, $high:expr]) => {
        ($low as f64, true, $high as f64)
    };
    ([$low:expr, $high:expr]) => {
        ($low as f64, false, $high as f64)
    };
    (0 [$low:expr, $high:expr]) => {
        $low as f64
    };
    (1 [$low:expr, $high:expr]) => {
        $high as f64
    };
}

/// A row that is a number, without its meaning.
#[doc(hidden)]
pub const fn number<T: Setting>(
    name: &'static str,
    default: Option<f64>,
    (minimum, excluded, maximum): (f64, bool, f64),
) -> Parameter {
    let mut row = Parameter::number(name, T::UNIT, default, minimum, maximum);
    if excluded {
        row = row.above_minimum();
    }
    if T::WHOLE { row.whole() } else { row }
}

/// A comment without the space before it.
#[doc(hidden)]
pub const fn meaning(comment: &'static str) -> &'static str {
    comment.split_at(1).1
}

/// Rows, and other defaults for some of them.
#[doc(hidden)]
pub type Part = (&'static [Parameter], &'static [(&'static str, Preset)]);

/// Rows of all parts together.
#[doc(hidden)]
pub const fn count(parts: &[Part]) -> usize {
    let (mut rows, mut part) = (0, 0);
    while part < parts.len() {
        rows += parts[part].0.len();
        part += 1;
    }
    rows
}

/// Rows of all parts, one after the other.
#[doc(hidden)]
pub const fn join<const ROWS: usize>(parts: &[Part]) -> [Parameter; ROWS] {
    let mut rows = [Parameter::switch("", false); ROWS];
    let (mut begin, mut part) = (0, 0);
    while part < parts.len() {
        let (own, presets) = parts[part];
        let mut row = 0;
        while row < own.len() {
            rows[begin + row] = own[row];
            row += 1;
        }
        let mut preset = 0;
        while preset < presets.len() {
            let (name, default) = presets[preset];
            let row = begin + place(own, name);
            rows[row] = rows[row].preset(default);
            preset += 1;
        }
        begin += own.len();
        part += 1;
    }
    rows
}

/// Place of the row called `name`.
const fn place(rows: &[Parameter], name: &str) -> usize {
    let mut row = 0;
    while !is_same(rows[row].name.as_bytes(), name.as_bytes()) {
        row += 1;
    }
    row
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([a, one @ ..], [b, other @ ..]) => *a == *b && is_same(one, other),
        _ => false,
    }
}
