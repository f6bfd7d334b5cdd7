//! Export of a chain's state, and import as a new chain.

use std::sync::{Arc, PoisonError};

use super::{Blockchains, Hosted};
use crate::{
    chain::GenesisSpec,
    node::Dump,
    platform::{
        PlatformError,
        blockchain::{Blockchain, BlockchainRecord, BlockchainSpec},
        principal::Principal,
        records::{Stored, Unit},
    },
    store::{Batch, KeyValue as _, Table},
};

/// Key of an export in the part of the store of the chain that it is to become.
const STAGED: &[u8] = b"import";

impl Blockchains<'_> {
    /// Exports the state of a chain of the principal's workspace: accounts with their balances, nonces, code and storage, without blocks,
    /// validators and keys. [`Blockchains::import`] and `chainbox dev --load-state` read it.
    ///
    /// # Errors
    /// As [`Blockchains::require`]; [`PlatformError::Internal`] when the state can't be read.
    pub fn export(&self, principal: &Principal, id: &str) -> Result<Dump, PlatformError> {
        self.require(principal, id)?.node().view().dump_state().map_err(PlatformError::internal)
    }

    /// Keeps an export for the chain that gets this id; the first step of an import, before [`Blockchains::provision_import`].
    ///
    /// # Errors
    /// [`PlatformError::Validation`] for what is no export of a state; [`PlatformError::Internal`] when the store fails.
    pub fn stage_import(&self, id: &str, dump: &Dump) -> Result<(), PlatformError> {
        let wrong = |got: String| PlatformError::field("state", "an export of a chain of this service", got);
        let genesis = dump.genesis().map_err(|cause| wrong(cause.to_string()))?;
        if !genesis.validators.is_empty() {
            return Err(wrong("a dump of a whole chain, with its validators".to_owned()));
        }
        genesis.check().map_err(|cause| wrong(cause.to_string()))?;
        self.hosted.stage(id, dump)
    }

    /// As [`Blockchains::provision`], of a chain whose genesis has the staged state. The premine of the specification is added to it.
    ///
    /// # Errors
    /// As [`Blockchains::provision`].
    pub fn provision_import(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        spec: BlockchainSpec,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let mut stored = self.provision(unit, principal, id, spec)?;
        if stored.value.is_imported {
            return Ok(stored);
        }
        stored.value.is_imported = true;
        Ok(unit.replace(&stored)?)
    }

    /// Creates a chain with the state of an export, with keys of its own, and runs it: all three steps.
    ///
    /// # Errors
    /// As [`Blockchains::stage_import`] and [`Blockchains::create`].
    pub fn import(
        &self,
        principal: &Principal,
        spec: BlockchainSpec,
        dump: &Dump,
    ) -> Result<Arc<Blockchain>, PlatformError> {
        let id = self.new_id()?;
        self.stage_import(&id, dump)?;
        self.context.records.unit(|unit| self.provision_import(unit, principal, &id, spec).map(drop))?;
        let chain = self.bring_up(principal, &id)?;
        chain.ok_or_else(|| PlatformError::not_found("blockchain", &id))
    }
}

impl Hosted {
    fn stage(&self, id: &str, dump: &Dump) -> Result<(), PlatformError> {
        if !self.is_durable() {
            let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
            staged.insert(id.to_owned(), dump.as_bytes().to_vec());
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.put(Table::Platform, STAGED, dump.as_bytes());
        self.part_of(id).write(batch).map_err(PlatformError::internal)
    }

    /// Returns the genesis of a staged export.
    pub(super) fn staged(&self, id: &str) -> Result<GenesisSpec, PlatformError> {
        let missing = || PlatformError::internal(format!("the export that blockchain {id} is to be made of is gone"));
        let bytes = if self.is_durable() {
            let found = self.part_of(id).get(Table::Platform, STAGED).map_err(PlatformError::internal)?;
            found.map(|bytes| bytes.to_vec())
        } else {
            self.staged.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
        };
        Dump::from_bytes(bytes.ok_or_else(missing)?).genesis().map_err(PlatformError::internal)
    }

    /// Forgets a staged export, once the chain has its genesis.
    pub(super) fn unstage(&self, stored: &Stored<BlockchainRecord>) -> Result<(), PlatformError> {
        if !stored.value.is_imported {
            return Ok(());
        }
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).remove(stored.id());
        let mut batch = Batch::new();
        batch.delete(Table::Platform, STAGED);
        self.part_of(stored.id()).write(batch).map_err(PlatformError::internal)
    }
}
