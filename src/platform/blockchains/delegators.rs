//! Who has delegated on a chain, by the staking contract's events, without reading all blocks for each list.
//!
//! Events of final blocks are read once while the chain is in memory, and kept; those of later blocks are read each time, so that a
//! reorganisation has nothing to take back. Who has taken all of it back stays among them: what is delegated now the contract says.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::{Address, B256};
use alloy_sol_types::SolEvent;

use crate::{
    chain::LogFilter,
    node::{BlockRef, NodeView, QueryError},
    platform::{PlatformError, blockchain::Blockchain},
    primitives::Height,
    system::staking::{STAKING_ADDRESS, interface as stake},
};

/// Those who have delegated on the chains in memory.
#[derive(Debug, Default)]
pub(in crate::platform) struct Delegators {
    /// What is known of each chain, by its id.
    chains: Mutex<BTreeMap<String, Arc<Mutex<Known>>>>,
}

/// What was read of a chain.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Height and hash of the newest block that was read, which was final.
    pub(super) newest: Option<(Height, B256)>,
    /// Delegators by validator.
    pub(super) delegators: BTreeMap<Address, BTreeSet<Address>>,
}

impl Delegators {
    /// Returns a view of a chain, and everybody who has delegated to a validator up to the view's head.
    ///
    /// # Errors
    /// [`PlatformError::Pruned`] where the chain has forgotten blocks that were not read.
    pub(in crate::platform) fn of(
        &self,
        chain: &Blockchain,
        validator: Address,
    ) -> Result<(Arc<NodeView>, BTreeSet<Address>), PlatformError> {
        let entry = self.entry(chain.id());
        // A poisoned lock guards nothing half-done: a block is noted after its events, which may be added again.
        let mut known = entry.lock().unwrap_or_else(PoisonError::into_inner);
        // No older than that of who had the turn before.
        let view = chain.node().view();
        let events = delegated();
        known.read_final(&view, &events)?;
        let mut found = known.delegators.get(&validator).cloned().unwrap_or_default();
        for height in known.next()..=view.head().height().get() {
            let (_, delegations) = read(&view, height, &events)?;
            found.extend(delegations.into_iter().filter(|(to, _)| *to == validator).map(|(_, delegator)| delegator));
        }
        Ok((view, found))
    }

    /// Forgets a chain that is not in memory any more.
    pub(super) fn forget(&self, chain: &str) {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner).remove(chain);
    }

    /// Changes what is known of a chain, to see what is read again.
    #[cfg(test)]
    pub(super) fn change(&self, chain: &str, change: impl FnOnce(&mut Known)) {
        change(&mut self.entry(chain).lock().unwrap());
    }

    fn entry(&self, chain: &str) -> Arc<Mutex<Known>> {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(chains.entry(chain.to_owned()).or_default())
    }
}

impl Known {
    /// Reads the final blocks of a view that were not read yet.
    fn read_final(&mut self, view: &NodeView, events: &LogFilter) -> Result<(), PlatformError> {
        if !self.is_of(view)? {
            *self = Self::default();
        }
        for height in self.next()..=view.finalized().height().get() {
            let (hash, delegations) = read(view, height, events)?;
            for (validator, delegator) in delegations {
                self.delegators.entry(validator).or_default().insert(delegator);
            }
            self.newest = Some((Height::new(height), hash));
        }
        Ok(())
    }

    /// Returns whether the blocks that were read are on a view's chain.
    fn is_of(&self, view: &NodeView) -> Result<bool, PlatformError> {
        let Some((height, hash)) = self.newest else { return Ok(true) };
        match view.block(BlockRef::Number(height)) {
            Ok(block) => Ok(block.hash() == hash),
            // It was final, so that it still is.
            Err(QueryError::Pruned { .. }) => Ok(true),
            Err(QueryError::UnknownHeight { .. }) => Ok(false),
            Err(cause) => Err(PlatformError::from_query(cause)),
        }
    }

    /// Returns the height of the first block that was not read.
    fn next(&self) -> u64 {
        self.newest.map_or(Height::GENESIS, |(height, _)| height.next()).get()
    }
}

/// The events by which the staking contract tells of delegations.
fn delegated() -> LogFilter {
    LogFilter::default().with_addresses(vec![STAKING_ADDRESS]).with_topics(vec![vec![stake::Delegated::SIGNATURE_HASH]])
}

/// Returns the hash of the canonical block at a height, and its delegations: validator and delegator.
fn read(view: &NodeView, height: u64, events: &LogFilter) -> Result<(B256, Vec<(Address, Address)>), PlatformError> {
    let block = view.block(BlockRef::Number(Height::new(height))).map_err(PlatformError::from_query)?;
    let told = events.select(&block);
    let delegations = told.iter().filter_map(|found| match found.log.topics() {
        [_, delegator, validator, ..] => Some((Address::from_word(*validator), Address::from_word(*delegator))),
        _ => None,
    });
    Ok((block.hash(), delegations.collect()))
}
