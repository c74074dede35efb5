//! Counts by reason: an enum whose every case has a name, and an array with a number for each.

use std::fmt::Debug;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// An enum that can be counted by case. [`reasons!`](crate::tally::reasons) implements it.
pub trait Reason: Copy + 'static {
    /// A count for each case.
    type Counts: Copy + Debug + Default + Eq + AsRef<[u64]> + AsMut<[u64]>;
    /// Every case, in the order in which they are declared.
    const ALL: &'static [Self];
    /// The name of the case in results; stable.
    fn name(self) -> &'static str;
    /// The place of the case in [`Reason::ALL`].
    fn index(self) -> usize;
}

/// Declares an enum that can be counted by case: `Case = "name"`, with the documentation of each.
macro_rules! reasons {
    ($(#[$outer:meta])* $vis:vis enum $name:ident {
        $($(#[$inner:meta])* $case:ident = $text:literal,)*
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $($(#[$inner])* $case,)* }

        impl $crate::tally::Reason for $name {
            type Counts = [u64; Self::ALL.len()];
            const ALL: &'static [Self] = &[$(Self::$case,)*];
            fn name(self) -> &'static str {
                match self { $(Self::$case => $text,)* }
            }
            fn index(self) -> usize {
                self as usize
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::tally::Reason::name(*self))
            }
        }
    };
}
pub(crate) use reasons;

/// How often each case of `R` occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally<R: Reason>(R::Counts);

impl<R: Reason> Tally<R> {
    /// Counts one.
    pub fn add(&mut self, reason: R) {
        self.add_many(reason, 1);
    }

    /// Counts several at once.
    pub fn add_many(&mut self, reason: R, count: u64) {
        self.0.as_mut()[reason.index()] += count;
    }

    /// How often it occurred.
    pub fn get(&self, reason: R) -> u64 {
        self.0.as_ref()[reason.index()]
    }

    /// All cases together.
    pub fn total(&self) -> u64 {
        self.0.as_ref().iter().sum()
    }
}

impl<R: Reason> Default for Tally<R> {
    fn default() -> Self {
        Self(R::Counts::default())
    }
}

/// An object with a key for every case, those that never occurred included: that is knowledge too.
impl<R: Reason> Serialize for Tally<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(R::ALL.len()))?;
        for &reason in R::ALL {
            map.serialize_entry(reason.name(), &self.get(reason))?;
        }
        map.end()
    }
}
