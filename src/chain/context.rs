//! What the clones of a chain share.

use std::sync::Arc;

use alloy_consensus::Header;

use super::{
    cache::{Decoded, ExecutionCache},
    error::ChainError,
    hook::CommitHook,
    rules::HeaderRules,
    spec::GenesisSpec,
    validate::Rules,
    version::Version,
};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::{Journal, StateChanges, StateStore},
    store::{Batch, KeyValue},
    system::staking::STAKING_ADDRESS,
    vm::{BlockContext, TemplateRegistry},
};

/// How far back the past is kept, in blocks below the head. Genesis and what is not final are always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// States that can be read; `None` keeps all.
    pub states: Option<u64>,
    /// Blocks and receipts; `None` keeps all. A block's state goes with it.
    pub blocks: Option<u64>,
}

impl Retention {
    /// Everything is kept: what a durable store does unless told otherwise.
    pub const ALL: Self = Self { states: None, blocks: None };

    /// What a store in memory keeps unless told otherwise: 10,000 states, 200,000 blocks.
    pub const MEMORY: Self = Self { states: Some(10_000), blocks: Some(200_000) };
}

/// What the clones of a chain and its replicas have in common.
#[derive(Debug)]
pub(super) struct Shared {
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
    pub(super) decoded: Decoded,
}

impl Shared {
    /// A journal over `version`: the one that made it, with all that it read, when it is still there.
    pub(super) fn journal_at(&self, version: &Version) -> Result<Journal, ChainError> {
        match self.cache.take_journal(version.commit().id) {
            Some(journal) => Ok(journal),
            None => Ok(Journal::new(version.view()?)),
        }
    }

    /// Commits a journal's changes on top of `parent` and keeps the journal for the next block.
    pub(super) fn commit(&self, parent: &Arc<Version>, mut journal: Journal) -> Result<Arc<Version>, ChainError> {
        let changes = journal.take_changes();
        let version = self.commit_changes(parent, &changes)?;
        if journal.advance_to(version.view()?).is_ok() {
            self.cache.put_journal(version.commit().id, journal);
        }
        Ok(version)
    }

    /// A version with `changes` on top of `parent`; `parent` itself when there are none.
    pub(super) fn commit_changes(
        &self,
        parent: &Arc<Version>,
        changes: &StateChanges,
    ) -> Result<Arc<Version>, ChainError> {
        if changes.is_empty() {
            return Ok(parent.clone());
        }
        let mut batch = Batch::new();
        let commit = self.state.commit(parent.commit().id, changes, &mut batch)?;
        Ok(Arc::new(Version::new(self.state.clone(), commit, batch)))
    }

    /// What contracts see of a block with this header.
    pub(super) fn context(&self, header: &Header) -> BlockContext {
        BlockContext {
            chain_id: self.spec.chain_id,
            height: Height::new(header.number),
            timestamp: Timestamp::from_secs(header.timestamp),
            beneficiary: self.rules.author(header),
            gas_limit: Gas::new(header.gas_limit),
            base_fee: header.base_fee_per_gas.unwrap_or(0),
            prev_randao: header.mix_hash,
        }
    }

    pub(super) fn tx_rules(&self, height: u64) -> Rules {
        Rules {
            chain_id: self.spec.chain_id,
            allow_impersonated: self.spec.allow_interventions,
            is_london: self.spec.forks.is_london(height),
            tips_to: self.spec.staking.filter(|params| params.share_fees).map(|_| STAKING_ADDRESS),
        }
    }
}
