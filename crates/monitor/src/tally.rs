//! Counts by reason: an enum whose every case has a name, and an array with a number for each.

use std::marker::PhantomData;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// An enum that can be counted by case. [`reasons!`](crate::tally::reasons) implements it.
pub trait Reason: Copy + 'static {
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

/// How often each case of `R` occurred. `CASES` is the number of its cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally<R, const CASES: usize> {
    counts: [u64; CASES],
    reason: PhantomData<R>,
}

impl<R: Reason, const CASES: usize> Tally<R, CASES> {
    /// Nothing has occurred yet.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(R::ALL.len() == CASES, "one count for each case") };
        Self { counts: [0; CASES], reason: PhantomData }
    }

    /// Counts one.
    #[inline]
    pub fn add(&mut self, reason: R) {
        self.add_many(reason, 1);
    }

    /// Counts several at once.
    #[inline]
    pub fn add_many(&mut self, reason: R, count: u64) {
        self.counts[reason.index()] += count;
    }

    /// How often it occurred.
    #[must_use]
    pub fn get(&self, reason: R) -> u64 {
        self.counts[reason.index()]
    }

    /// All cases together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl<R: Reason, const CASES: usize> Default for Tally<R, CASES> {
    fn default() -> Self {
        Self::new()
    }
}

/// An object with a key for every case, those that never occurred included: that is knowledge too.
impl<R: Reason, const CASES: usize> Serialize for Tally<R, CASES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(CASES))?;
        for &reason in R::ALL {
            map.serialize_entry(reason.name(), &self.get(reason))?;
        }
        map.end()
    }
}
