//! A bounded cache shared by threads.

use core::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloy_primitives::map::{DefaultHashBuilder, HashMap};

/// Keeps recently used entries in two generations: when the young one is full, it replaces the old one, whose entries
/// are dropped unless they were used since.
pub(super) struct ShardedCache<K, V> {
    shards: Vec<Mutex<ShardGenerations<K, V>>>,
    hasher: DefaultHashBuilder,
    /// Entries at most in the young generation of one shard.
    young_max: usize,
}

struct ShardGenerations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

const SHARDS: usize = 16;

impl<K: Eq + Hash, V: Clone> ShardedCache<K, V> {
    /// Creates a cache for about `entries_max` entries.
    pub(super) fn new(entries_max: usize) -> Self {
        let shard = || Mutex::new(ShardGenerations { young: HashMap::default(), old: HashMap::default() });
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            hasher: DefaultHashBuilder::default(),
            young_max: (entries_max / 2 / SHARDS).max(1),
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<V>
    where
        K: Clone,
    {
        let mut shard = self.shard(key);
        if let Some(value) = shard.young.get(key) {
            return Some(value.clone());
        }
        let value = shard.old.remove(key)?;
        let dropped = shard.insert(key.clone(), value.clone(), self.young_max);
        drop(shard);
        drop(dropped);
        Some(value)
    }

    pub(super) fn insert(&self, key: K, value: V) {
        let mut shard = self.shard(&key);
        let dropped = shard.insert(key, value, self.young_max);
        drop(shard);
        // Freeing a generation takes a while, so it happens after the lock is released.
        drop(dropped);
    }

    /// Removes an entry that will hardly be used again, to leave room for others.
    pub(super) fn remove(&self, key: &K) {
        let mut shard = self.shard(key);
        let dropped = shard.young.remove(key).or_else(|| shard.old.remove(key));
        drop(shard);
        drop(dropped);
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, ShardGenerations<K, V>> {
        let shard = self.hasher.hash_one(key) as usize >> 7 & (SHARDS - 1);
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap()).map(|shard| shard.young.len() + shard.old.len()).sum()
    }
}

impl<K, V> core::fmt::Debug for ShardedCache<K, V> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ShardedCache").field("young_max", &self.young_max).finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, V> ShardGenerations<K, V> {
    /// Inserts an entry and returns the generation to drop.
    fn insert(&mut self, key: K, value: V, young_max: usize) -> HashMap<K, V> {
        let mut dropped = HashMap::default();
        if self.young.len() >= young_max {
            dropped = core::mem::replace(&mut self.old, core::mem::take(&mut self.young));
        }
        self.young.insert(key, value);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_keeps_what_is_used() {
        let cache = ShardedCache::new(1000);
        cache.insert(0_u64, 0_u64);
        for number in 1..50_000 {
            cache.insert(number, number);
            assert_eq!(cache.get(&0), Some(0), "used all the time, dropped at {number}");
        }
        assert!(cache.len() <= 1000 + SHARDS, "{}", cache.len());
        assert_eq!(cache.get(&1), None, "not used for long");
        assert_eq!(cache.get(&49_999), Some(49_999));
    }
}
