//! A map in one sorted vector: cheap to collect, iterate and drop; inserting into the middle is O(n).

use core::ops::Index;

/// Keys with values, by ascending key; each key once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K: Ord, V> SortedMap<K, V> {
    /// Creates a map of pairs that are sorted already and have distinct keys.
    pub(crate) fn from_sorted(pairs: Vec<(K, V)>) -> Self {
        debug_assert!(pairs.is_sorted_by(|a, b| a.0 < b.0), "pairs are sorted and name each key once");
        Self(pairs)
    }

    /// Returns the number of keys.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the map is empty.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|at| &self.0[at].1)
    }

    /// Sets the value under `key` and returns the one before. O(n): prefer collecting to inserting.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => Some(core::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Returns the pairs, by ascending key.
    pub fn iter(&self) -> core::slice::Iter<'_, (K, V)> {
        self.0.iter()
    }

    /// Returns the values, by ascending key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    fn place(&self, key: &K) -> Result<usize, usize> {
        // Keys mostly arrive sorted.
        match self.0.last() {
            Some((last, _)) if last >= key => self.0.binary_search_by(|(known, _)| known.cmp(key)),
            _ => Err(self.0.len()),
        }
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of several values for one key the last is kept.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                core::mem::swap(later, earlier);
            }
            same
        });
        Self(pairs)
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        *self = core::mem::take(self).into_iter().chain(pairs).collect();
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = &'a (K, V);
    type IntoIter = core::slice::Iter<'a, (K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    /// # Panics
    /// When `key` is not there.
    fn index(&self, key: &K) -> &V {
        self.get(key).unwrap_or_else(|| panic!("the key is not in the map"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_as_a_btree_map(
            collected in proptest::collection::vec((0..20_u8, any::<u8>()), 0..30),
            inserted in proptest::collection::vec((0..20_u8, any::<u8>()), 0..30),
            extended in proptest::collection::vec((0..20_u8, any::<u8>()), 0..30),
        ) {
            let mut map: SortedMap<u8, u8> = collected.iter().copied().collect();
            let mut model: BTreeMap<u8, u8> = collected.into_iter().collect();
            for (key, value) in inserted {
                prop_assert_eq!(map.insert(key, value), model.insert(key, value));
            }
            map.extend(extended.clone());
            model.extend(extended);
            prop_assert_eq!(map.len(), model.len());
            for key in 0..20 {
                prop_assert_eq!(map.get(&key), model.get(&key));
            }
            prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
