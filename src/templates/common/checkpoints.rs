//! OpenZeppelin's `Checkpoints.Trace208`: the values that a number had, by the time at which it changed.

use alloy_primitives::aliases::{U48, U208};

use self::interface::CheckpointUnorderedInsertion;
use crate::vm::contract::*;

/// Errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// A value is inserted for an earlier time than the last one's.
        error CheckpointUnorderedInsertion();
    }
}

record! {
    /// The value from a time on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Checkpoint208 {
        /// Time: a block's number or timestamp, as the contract's clock has it.
        pub key: U48,
        /// Value from then on.
        pub value: U208,
    }
}

storage! {
    /// Checkpoints in the order of their keys.
    pub struct Trace208 {
        /// The checkpoints.
        pub checkpoints: Array<Checkpoint208>,
    }
}

impl Trace208 {
    /// Inserts a value at the end, or changes the last one when it has this key, and returns the values before and after (`push`).
    ///
    /// # Errors
    /// [`CheckpointUnorderedInsertion`] when the last key is larger; [`Stop`].
    pub fn push(self, host: &mut Host<'_>, key: U48, value: U208) -> Result<(U208, U208), Stop> {
        let len = self.checkpoints.len(host)?;
        let Some(index) = len.checked_sub(1) else {
            self.checkpoints.push(host, Checkpoint208 { key, value })?;
            return Ok((U208::ZERO, value));
        };
        let place = self.checkpoints.unchecked_at(host, index)?;
        let last = place.get(host)?;
        require(last.key <= key, CheckpointUnorderedInsertion {})?;
        if last.key == key {
            place.set(host, Checkpoint208 { key, value })?;
        } else {
            self.checkpoints.push(host, Checkpoint208 { key, value })?;
        }
        Ok((last.value, value))
    }

    /// Returns the last value; 0 without one (`latest`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn latest(self, host: &mut Host<'_>) -> Result<U208, Stop> {
        Ok(self.latest_checkpoint(host)?.map_or(U208::ZERO, |last| last.value))
    }

    /// Returns the last checkpoint (`latestCheckpoint`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn latest_checkpoint(self, host: &mut Host<'_>) -> Result<Option<Checkpoint208>, Stop> {
        match self.checkpoints.len(host)?.checked_sub(1) {
            Some(last) => self.unchecked(host, last).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the number of checkpoints (`length`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn len(self, host: &mut Host<'_>) -> Result<u64, Stop> {
        self.checkpoints.len(host)
    }

    /// Returns a checkpoint (`at`).
    ///
    /// # Errors
    /// `Panic(0x32)` for an index that is not below the length; [`Stop`].
    pub fn at(self, host: &mut Host<'_>, index: u64) -> Result<Checkpoint208, Stop> {
        self.checkpoints.get(host, index)
    }

    /// Returns the value of the first checkpoint whose key is `key` or larger; 0 without one (`lowerLookup`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn lower_lookup(self, host: &mut Host<'_>, key: U48) -> Result<U208, Stop> {
        let len = self.checkpoints.len(host)?;
        let first = self.search(host, 0, len, |checkpoint| checkpoint.key < key)?;
        if first == len { Ok(U208::ZERO) } else { Ok(self.unchecked(host, first)?.value) }
    }

    /// Returns the value at a time: that of the last checkpoint whose key is `key` or smaller; 0 without one (`upperLookup`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn upper_lookup(self, host: &mut Host<'_>, key: U48) -> Result<U208, Stop> {
        let len = self.checkpoints.len(host)?;
        self.value_before(host, key, 0, len)
    }

    /// As [`Trace208::upper_lookup`], cheaper for recent keys (`upperLookupRecent`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn upper_lookup_recent(self, host: &mut Host<'_>, key: U48) -> Result<U208, Stop> {
        let len = self.checkpoints.len(host)?;
        let (mut low, mut high) = (0, len);
        if len > 5 {
            let mid = len - len.isqrt();
            if key < self.unchecked(host, mid)?.key {
                high = mid;
            } else {
                low = mid + 1;
            }
        }
        self.value_before(host, key, low, high)
    }

    fn value_before(self, host: &mut Host<'_>, key: U48, low: u64, high: u64) -> Result<U208, Stop> {
        let end = self.search(host, low, high, |checkpoint| checkpoint.key <= key)?;
        match end.checked_sub(1) {
            Some(last) => Ok(self.unchecked(host, last)?.value),
            None => Ok(U208::ZERO),
        }
    }

    /// Returns the first index from `low` up to `high` whose checkpoint is not `below`, by halving.
    fn search(
        self,
        host: &mut Host<'_>,
        mut low: u64,
        mut high: u64,
        below: impl Fn(Checkpoint208) -> bool,
    ) -> Result<u64, Stop> {
        while low < high {
            let mid = low.midpoint(high);
            if below(self.unchecked(host, mid)?) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        Ok(high)
    }

    fn unchecked(self, host: &mut Host<'_>, index: u64) -> Result<Checkpoint208, Stop> {
        self.checkpoints.unchecked_at(host, index)?.get(host)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vm::{sandbox::Sandbox, storage::Place};

    const TRACE: Trace208 = Trace208::new(Place::FIRST);

    fn key(n: u64) -> U48 {
        U48::from(n)
    }

    fn value(n: u64) -> U208 {
        U208::from(n)
    }

    #[test]
    fn keys_never_decrease() {
        let mut sandbox = Sandbox::new();
        assert_eq!(sandbox.run(|host| TRACE.push(host, key(5), value(1))), Ok((value(0), value(1))));
        assert_eq!(sandbox.run(|host| TRACE.push(host, key(5), value(2))), Ok((value(1), value(2))));
        let unordered = revert(&CheckpointUnorderedInsertion {});
        assert_eq!(sandbox.run(|host| TRACE.push(host, key(4), value(3))), Err(unordered));
        assert_eq!(sandbox.run(|host| TRACE.len(host)), Ok(1));
        assert_eq!(CheckpointUnorderedInsertion::SELECTOR, [0x25, 0x20, 0x60, 0x1d]);
        // One slot each: the key in the lowest six bytes.
        let first = alloy_primitives::keccak256(U256::ZERO.to_be_bytes::<32>()).into();
        assert_eq!(sandbox.slot(first), U256::from(5) | U256::from(2) << 48_usize);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Against a list that is searched from end to end.
        #[test]
        fn lookups_follow_a_list(steps in proptest::collection::vec((0_u64..4, any::<u64>()), 0..40), asked in 0_u64..160) {
            let mut sandbox = Sandbox::new();
            let mut model: Vec<(u64, u64)> = Vec::new();
            let mut now = 1;
            for (passed, new) in steps {
                now += passed;
                let before = model.last().map_or(0, |(_, value)| *value);
                match model.last_mut() {
                    Some(last) if last.0 == now => last.1 = new,
                    _ => model.push((now, new)),
                }
                let pushed = sandbox.run(move |host| TRACE.push(host, key(now), value(new)));
                prop_assert_eq!(pushed, Ok((value(before), value(new))));
            }
            let latest = model.last().map_or(0, |(_, value)| *value);
            let lower = model.iter().find(|(key, _)| *key >= asked).map_or(0, |(_, value)| *value);
            let upper = model.iter().rev().find(|(key, _)| *key <= asked).map_or(0, |(_, value)| *value);
            let got = sandbox.run(move |host| {
                let (lower, upper) = (TRACE.lower_lookup(host, key(asked))?, TRACE.upper_lookup(host, key(asked))?);
                Ok([TRACE.latest(host)?, lower, upper, TRACE.upper_lookup_recent(host, key(asked))?])
            });
            prop_assert_eq!(got, Ok([latest, lower, upper, upper].map(value)));
            prop_assert_eq!(sandbox.run(|host| TRACE.len(host)), Ok(model.len() as u64));
        }
    }
}
