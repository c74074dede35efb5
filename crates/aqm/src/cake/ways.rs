//! CAKE's eight-way set-associative hash.

/// Queues of a tin, and hosts that it tells apart at a time on either side.
pub(crate) const QUEUES: usize = 1024;
/// Places that a key may have.
const WAYS: usize = 8;

/// How a key has found its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It had it; true if it is the first that is looked at.
    Own(bool),
    /// The place was free.
    Free,
    /// All eight are taken by others.
    Taken,
}

/// The place of a key among those whose keys are `tags`.
#[inline]
pub(crate) fn place_of(key: u32, tags: &[u32], is_free: impl Fn(usize) -> bool) -> (usize, Found) {
    let first = key as usize % QUEUES;
    let set = first - first % WAYS;
    let mut ways = (first..first + WAYS).map(|way| set + way % WAYS);
    if let Some(place) = ways.clone().find(|&place| tags[place] == key) {
        return (place, Found::Own(place == first));
    }
    ways.find(|&place| is_free(place)).map_or((first, Found::Taken), |place| (place, Found::Free))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_eight_places_from_its_own_on() {
        let mut tags = vec![0; QUEUES];
        // 1029 = 1024 + 5: place 5, then 6, 7, 0 to 4.
        for (place, key) in [(5, 5), (6, 1029), (7, 2053), (0, 3077)] {
            let free = |place: usize| tags[place] == 0;
            assert_eq!(place_of(key, &tags, free), (place, Found::Free));
            tags[place] = key;
            assert_eq!(place_of(key, &tags, |_| false), (place, Found::Own(place == 5)));
        }
        assert_eq!(place_of(4101, &tags, |_| false), (5, Found::Taken));
    }
}
