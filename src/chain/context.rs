//! Specification, stores, rules and caches, shared by the clones of a chain; states and block contexts made from them.

use std::sync::Arc;

use alloy_consensus::Header;

use super::{
    cache::{DecodedBlocks, ExecutionCache},
    executed_block::ExecutedBlock,
    garbage::Garbage,
    hook::CommitHook,
    lease::{Lease, Leases},
    retention::Retention,
    rules::HeaderRules,
    spec::GenesisSpec,
    validate::Rules,
    version::Version,
};
use crate::{
    primitives::{Address, Gas, Height, Timestamp},
    state::{Journal, StateChanges, StateError, StateStore, StateView},
    store::{Batch, KeyValue},
    system::staking::STAKING_ADDRESS,
    vm::{BlockContext, TemplateRegistry},
};

/// The data that a chain and its clones share.
#[derive(Debug)]
pub(super) struct ChainContext {
    pub(super) spec: Arc<GenesisSpec>,
    pub(super) state: Arc<dyn StateStore>,
    pub(super) store: Arc<dyn KeyValue>,
    pub(super) registry: Arc<TemplateRegistry>,
    pub(super) rules: Arc<dyn HeaderRules>,
    pub(super) cache: ExecutionCache,
    pub(super) hooks: Vec<Arc<dyn CommitHook>>,
    pub(super) retention: Retention,
    pub(super) is_durable: bool,
    pub(super) is_paranoid: bool,
    pub(super) decoded_blocks: DecodedBlocks,
    /// Heads that clones use.
    pub(super) leases: Arc<Leases>,
    /// What the store holds for clones alone.
    pub(super) garbage: Garbage,
}

impl ChainContext {
    /// Takes a lease on a head; `None` where the store is not durable, since clones then hold all that they read.
    pub(super) fn lease(&self, head: &ExecutedBlock) -> Option<Arc<Lease>> {
        self.is_durable.then(|| self.leases.take(head))
    }

    /// Returns a journal over `version`: the cached one that produced it, with its read cache, or a new one.
    pub(super) fn journal_at(&self, version: &Version) -> Result<Journal, StateError> {
        match self.cache.take_journal(version.commit().id) {
            Some(journal) => Ok(journal),
            None => Ok(Journal::new(version.view()?)),
        }
    }

    /// Commits a journal's changes on top of `parent` and caches the journal for the next block.
    pub(super) fn commit(&self, parent: &Arc<Version>, mut journal: Journal) -> Result<Arc<Version>, StateError> {
        let changes = journal.take_changes();
        let version = self.commit_changes(parent, &changes)?;
        if journal.advance_to(version.view()?).is_ok() {
            self.cache.put_journal(version.commit().id, journal);
        }
        Ok(version)
    }

    /// Commits `changes` on top of `parent`; returns `parent` itself when there are none.
    pub(super) fn commit_changes(
        &self,
        parent: &Arc<Version>,
        changes: &StateChanges,
    ) -> Result<Arc<Version>, StateError> {
        if changes.is_empty() {
            return Ok(parent.clone());
        }
        let mut batch = Batch::new();
        let commit = self.state.commit(parent.commit().id, changes, &mut batch)?;
        self.record_templates(changes, &mut batch);
        Ok(Arc::new(Version::new(self.state.clone(), commit, batch)))
    }

    /// Returns the block context that contracts read in a block with this header; `journal` is the state before the block's system calls.
    pub(super) fn block_context(&self, header: &Header, journal: &mut Journal) -> Result<BlockContext, StateError> {
        Ok(self.block_context_of(header, self.fee_recipient(header, journal)?))
    }

    /// As [`ChainContext::block_context`], by the state in which a call runs.
    pub(super) fn block_context_over(
        &self,
        header: &Header,
        state: &dyn StateView,
    ) -> Result<BlockContext, StateError> {
        Ok(self.block_context_of(header, self.fee_recipient_in(header, state)?))
    }

    fn block_context_of(&self, header: &Header, beneficiary: Address) -> BlockContext {
        BlockContext {
            chain_id: self.spec.chain_id,
            height: Height::new(header.number),
            parent_hash: header.parent_hash,
            timestamp: Timestamp::from_secs(header.timestamp),
            beneficiary,
            gas_limit: Gas::new(header.gas_limit),
            base_fee: header.base_fee_per_gas.unwrap_or(0),
            prev_randao: header.mix_hash,
            hardfork: self.spec.forks.at(Height::new(header.number)),
        }
    }

    /// Returns the rules for transactions at `height`.
    pub(super) fn tx_rules(&self, height: Height) -> Rules {
        Rules {
            chain_id: self.spec.chain_id,
            allow_impersonated: self.spec.allow_interventions,
            fork: self.spec.rules_at(height),
            tips_to: self.spec.staking.filter(|params| params.share_fees).map(|_| STAKING_ADDRESS),
            has_permissions: self.spec.permissions.is_some(),
            has_deployments: self.spec.deployments,
        }
    }
}
