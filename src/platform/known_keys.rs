//! API keys in memory: each request is authenticated, and few keys send most of them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::principal::Principal;

/// Keys that are kept.
const KEYS_MAX: usize = 10_000;

/// Whom keys authenticate, by their keyed hash, as it was at one state of all keys and members.
#[derive(Debug, Default)]
pub(super) struct KnownKeys(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    at: KeysState,
    keys: BTreeMap<[u8; 32], KnownKey>,
}

/// The state of the records that decide whom a key authenticates. It is taken before the records are read that are kept under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeysState {
    /// Changes of keys so far.
    pub(super) keys: u64,
    /// Changes of members so far.
    pub(super) members: u64,
}

/// Whom a key authenticates, until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownKey {
    pub(super) principal: Principal,
    /// Time from which the key is not valid, in milliseconds since the Unix epoch.
    pub(super) expires_at_ms: Option<u64>,
}

impl KnownKeys {
    /// Returns what is known of a key, if no key and no member has changed since.
    pub(super) fn get(&self, at: KeysState, hash: &[u8; 32]) -> Option<KnownKey> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.keys.get(hash).filter(|_| known.at == at).cloned()
    }

    /// Keeps what was read of a key. Those of an earlier state are dropped, and where there are too many, all others.
    pub(super) fn keep(&self, at: KeysState, hash: [u8; 32], key: KnownKey) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.at != at || known.keys.len() >= KEYS_MAX {
            known.keys.clear();
            known.at = at;
        }
        known.keys.insert(hash, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{Subject, default_workspace, scope::ScopeSet};

    #[test]
    fn keys_are_kept_for_one_state_and_up_to_the_bound() {
        let (known, first) = (KnownKeys::default(), KeysState { keys: 1, members: 1 });
        let hash = |number: usize| *alloy_primitives::U256::from(number).to_be_bytes::<32>().first_chunk().unwrap();
        let key = KnownKey {
            principal: Principal::new(Subject::Service, default_workspace(), ScopeSet::default()),
            expires_at_ms: None,
        };
        (0..KEYS_MAX).for_each(|number| known.keep(first, hash(number), key.clone()));
        assert_eq!(known.get(first, &hash(0)), Some(key.clone()));
        let later = [KeysState { keys: 2, members: 1 }, KeysState { keys: 1, members: 2 }];
        later.iter().for_each(|at| assert_eq!(known.get(*at, &hash(0)), None));
        known.keep(first, hash(KEYS_MAX), key.clone());
        assert_eq!((known.get(first, &hash(0)), known.get(first, &hash(KEYS_MAX))), (None, Some(key.clone())));
        known.keep(later[0], hash(1), key.clone());
        assert_eq!((known.get(later[0], &hash(1)), known.get(first, &hash(KEYS_MAX))), (Some(key), None));
    }
}
