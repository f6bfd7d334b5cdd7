//! Rules of blockchains and contract deployments, and the chains in memory.

mod access;
mod calls;
mod delegators;
mod deployments;
mod hosted;
mod kept;
mod lifecycle;
mod part;
mod removal;
mod sending;
mod snapshots;
#[cfg(test)]
mod tests;
mod transfer;

pub use self::{access::Sight, calls::try_signed, transfer::EXPORT_BYTES_MAX};

use std::sync::Arc;

pub use self::sending::Outgoing;
pub(super) use self::{
    calls::{signed_by, signed_call},
    hosted::Hosted,
    part::part_of,
    removal::remove_orphans,
};
use super::{
    PlatformError,
    blockchain::{Blockchain, BlockchainRecord, metrics::ChainMetrics},
    context::Context,
    principal::Principal,
    records::{Index, Page, PageRequest, SortKey, Unit},
};

/// Records the default chain as it is described now.
pub(super) fn record_default(unit: &mut Unit<'_>, chain: &Blockchain) -> Result<(), PlatformError> {
    let record = BlockchainRecord::running(chain.spec().clone(), chain.chain_id());
    match unit.of::<BlockchainRecord>().get(chain.owner(), chain.id())? {
        None => drop(unit.insert(chain.owner(), chain.id(), record)?),
        Some(stored) if stored.value == record => {}
        Some(mut stored) => {
            stored.value = record;
            unit.replace(&stored)?;
        }
    }
    Ok(())
}

/// Rules of blockchains and deployments.
#[derive(Clone, Copy, Debug)]
pub struct Blockchains<'a> {
    pub(super) context: &'a Context,
    pub(super) hosted: &'a Hosted,
}

impl Blockchains<'_> {
    /// Returns a chain of the principal's workspace that is in memory.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]; [`PlatformError::NotFound`] also for a public chain of another workspace.
    pub fn require(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        self.record(principal, id)?;
        self.readable(principal, id)
    }

    /// Returns a page of the records of the chains of the principal's workspace, in whatever state, by an index of [`BlockchainRecord`].
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn page(
        &self,
        principal: &Principal,
        index: &Index<BlockchainRecord>,
        request: &PageRequest,
    ) -> Result<Page<BlockchainRecord>, PlatformError> {
        let records = self.context.records.of::<BlockchainRecord>();
        Ok(records.page(index, &principal.owner(), &SortKey::new(), request)?)
    }

    /// Returns the keys of a chain.
    #[cfg(test)]
    fn keys_of(&self, chain: &Blockchain) -> super::blockchain::ChainKeys {
        let context = self.context;
        super::blockchain::ChainKeys::open(&context.vault, &context.records, chain.owner(), chain.id()).unwrap()
    }

    /// Measures a chain that the caller may read.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn metrics(&self, chain: &Blockchain) -> Result<ChainMetrics, PlatformError> {
        chain.metrics_log().measure(&chain.node().view())
    }
}
