//! Modules of chains: parts of the service that a chain has on, each with contracts from templates.
//!
//! What governs is the registry of modules on the chain (`system::modules`). Its owner, the chain's authority, is the treasury or the
//! governance. Enabling is one transaction of the treasury: it makes the contracts and, where the treasury is the authority, puts the
//! module in the registry, all or nothing, in force with its block. Beside that the service keeps a record: configuration, contracts,
//! transactions; and of what it has proposed the configuration, which the vote has the hash of.

mod config;
mod contracts;
mod enabling;
pub(super) mod genesis;
mod kind;
pub(super) mod proposed;
mod proposing;
pub(super) mod record;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

use self::config::ModuleConfig;
pub use self::{
    kind::ModuleKind,
    record::{EarlierModule, HostedModule},
    state::{Module, ModuleState},
};
pub(super) use self::{proposing::VotedModule, record::VERSION};
use super::{
    Blockchain, BlockchainRecord, ChainState, FieldError, PlatformError, blockchains::Blockchains,
    principal::Principal, records::Stored,
};

/// Rules of modules.
#[derive(Clone, Copy, Debug)]
pub struct Modules<'a> {
    pub(super) blockchains: Blockchains<'a>,
}

/// What a module is enabled by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleSpec {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Which module.
    pub kind: ModuleKind,
    /// Its configuration as it came: the chain gets the hash of its JSON with sorted keys.
    pub config: Map<String, Value>,
}

impl ModuleSpec {
    /// Returns what is wrong with the configuration.
    pub fn check(&self) -> Vec<FieldError> {
        ModuleConfig::read(self.kind, &self.config).err().unwrap_or_default()
    }

    /// Reads the configuration of a module that this build has.
    fn read(&self) -> Result<ModuleConfig, PlatformError> {
        let config =
            ModuleConfig::read(self.kind, &self.config).map_err(|fields| PlatformError::Validation { fields })?;
        self.kind.check_in_this_build()?;
        Ok(config)
    }
}

impl Modules<'_> {
    /// Returns the modules of a chain by name, disabled ones too.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]; those of reading.
    pub fn list(&self, principal: &Principal, chain: &str) -> Result<Vec<Module>, PlatformError> {
        let stored = self.blockchains.readable_record(principal, chain)?;
        let records = self.blockchains.context.records.of();
        let records = records.of_chain(&HostedModule::BY_BLOCKCHAIN, stored.owner(), stored.id())?;
        if stored.value.state == ChainState::Created {
            return Ok(records.iter().map(|it| Module::of_record(&it.value, ModuleState::Pending, None)).collect());
        }
        state::all(&*self.blockchains.readable(principal, chain)?, &records)
    }

    /// Returns a module of a chain.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`] for one that was never enabled; as [`Modules::list`].
    pub fn get(&self, principal: &Principal, chain: &str, name: &str) -> Result<Module, PlatformError> {
        let found = self.list(principal, chain)?.into_iter().find(|module| module.name == name);
        found.ok_or_else(|| PlatformError::not_found("module", name))
    }

    /// Returns a chain of the principal's workspace that has not started and that it may read; `None` for one that has started.
    fn unstarted(&self, principal: &Principal, id: &str) -> Result<Option<Stored<BlockchainRecord>>, PlatformError> {
        let stored = self.blockchains.record(principal, id)?;
        self.blockchains.readable_record(principal, id)?;
        Ok(Some(stored).filter(|stored| stored.value.state == ChainState::Created))
    }

    /// Returns a running chain of the principal's workspace.
    fn running(&self, principal: &Principal, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        self.blockchains.writable(principal, id)
    }
}
