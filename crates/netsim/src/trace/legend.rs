use super::connections::Connections;
use crate::scenario::Scenario;

/// The words of disciplines for what drops packets, each once; the first is empty.
#[derive(Clone, Debug)]
pub struct Causes(Vec<&'static str>);

impl Default for Causes {
    fn default() -> Self {
        Self(vec![""])
    }
}

impl Causes {
    /// The number of some words, which are kept. They are few: a search along them is short.
    pub(crate) fn number(&mut self, words: &'static str) -> u16 {
        let found = self.0.iter().position(|known| *known == words);
        let place = found.unwrap_or_else(|| {
            self.0.push(words);
            self.0.len() - 1
        });
        u16::try_from(place).unwrap_or(0)
    }

    /// All so far, in the order of their numbers.
    pub fn all(&self) -> &[&'static str] {
        &self.0
    }

    /// The words of a number; empty for one that there is not.
    pub fn words(&self, number: u16) -> &'static str {
        self.0.get(usize::from(number)).copied().unwrap_or("")
    }
}

/// Meanings of the numbers in records.
#[derive(Clone, Copy, Debug)]
pub struct Legend<'a> {
    /// Connections.
    pub connections: &'a Connections,
    /// Causes of drops.
    pub causes: &'a Causes,
    /// Links and groups.
    pub scenario: &'a Scenario,
}
