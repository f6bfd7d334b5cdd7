//! Export of a chain's state, and import as a new chain.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::{Address, U256};

use super::{Blockchains, Hosted};
use crate::{
    chain::{Chain, GenesisSpec, is_of_system},
    node::Dump,
    platform::{
        PlatformError,
        blockchain::{Blockchain, BlockchainRecord, BlockchainSpec, GAS_LIMIT_BOUNDS, taken_over},
        principal::Principal,
        records::{RecordError, Stored, Unit},
    },
    state::MemoryState,
    store::{Batch, KeyValue as _, MemoryStore, Table},
    system::{governance::GOVERNANCE_ADDRESS, parameters::ParametersSpec},
};

/// Bytes of an export.
pub const EXPORT_BYTES_MAX: usize = 48 << 20;

/// Bytes of the code of an imported account, as of a contract on Ethereum (EIP-170).
const CODE_BYTES_MAX: usize = 24_576;

/// After how many seconds a workspace may try again to import, while another import of it is under way: about what a large one takes.
const IMPORT_RETRY_SECS: u64 = 5;

/// Key of an export in the part of the store of the chain that it is to become.
const STAGED: &[u8] = b"import";

/// Stands for the treasury, whose address is not drawn yet, where a state is tried out.
const PREMINED: Address = Address::repeat_byte(0xee);

/// Returns what a genesis has that an export does not: parts of the protocol and of its system contracts.
fn beyond_a_state(genesis: &GenesisSpec) -> Option<&'static str> {
    let parts = [
        (!genesis.validators.is_empty(), "validators"),
        (!genesis.contracts.is_empty(), "contracts from templates"),
        (genesis.staking.is_some(), "staking"),
        (genesis.parameters.is_some(), "parameters"),
        (genesis.governance.is_some(), "governance"),
        (genesis.permissions.is_some(), "permissions"),
        (genesis.modules.is_some(), "modules"),
        (genesis.validator_registry.is_some(), "a registry of validators"),
        (!genesis.consensus.is_null(), "a protocol"),
        (genesis.accounts.keys().any(is_of_system), "accounts of system contracts"),
    ];
    parts.into_iter().find_map(|(is_there, part)| is_there.then_some(part))
}

/// Refuses what a chain that the service makes can't have: a block gas limit out of its bounds, unless the specification has another, and code
/// that no contract may have.
fn check_bounds(spec: &BlockchainSpec, imported: &GenesisSpec) -> Result<(), PlatformError> {
    let gas_limit = imported.gas_limit.get();
    if spec.block_gas_limit.is_none() && !GAS_LIMIT_BOUNDS.contains(&gas_limit) {
        let (min, max) = (GAS_LIMIT_BOUNDS.start(), GAS_LIMIT_BOUNDS.end());
        let expected = format!(
            "a genesis whose gasLimit is between {min} and {max}, or blockchain.config.blockGasLimit in its place"
        );
        return Err(PlatformError::field("state", expected, format!("a gasLimit of {gas_limit}")));
    }
    let too_long = imported.accounts.iter().find(|(_, account)| account.code.len() > CODE_BYTES_MAX);
    too_long.map_or(Ok(()), |(address, account)| {
        let expected = format!("a genesis whose accounts have at most {CODE_BYTES_MAX} bytes of code each");
        Err(PlatformError::field("state", expected, format!("{} bytes of code of {address}", account.code.len())))
    })
}

/// Refuses a text that is not the export of a state.
fn no_export(got: String) -> PlatformError {
    PlatformError::field("state", "an export of a chain of this service", got)
}

/// The import of a workspace that is under way.
struct ImportTurn<'a> {
    importing: &'a Mutex<BTreeSet<String>>,
    workspace: String,
}

impl<'a> ImportTurn<'a> {
    fn take(importing: &'a Mutex<BTreeSet<String>>, workspace: &str) -> Result<Self, PlatformError> {
        let workspace = workspace.to_owned();
        if !importing.lock().unwrap_or_else(PoisonError::into_inner).insert(workspace.clone()) {
            return Err(PlatformError::TooManyAttempts { retry_after_secs: IMPORT_RETRY_SECS });
        }
        Ok(Self { importing, workspace })
    }
}

impl Drop for ImportTurn<'_> {
    fn drop(&mut self) {
        self.importing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.workspace);
    }
}

/// Returns an error with its chain of causes, in one line.
fn with_causes(failure: &dyn core::error::Error) -> String {
    let causes = core::iter::successors(failure.source(), |cause| cause.source());
    causes.fold(failure.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl Blockchains<'_> {
    /// Exports the state of a chain that the principal may read: accounts with their balances, nonces, code and storage, without blocks,
    /// validators and keys. [`Blockchains::import`] and `chainbox dev --load-state` read it.
    ///
    /// # Errors
    /// As [`Blockchains::readable`]; [`PlatformError::Conflict`] for a state whose export is longer than [`EXPORT_BYTES_MAX`];
    /// [`PlatformError::Internal`] when it can't be read.
    pub fn export(&self, principal: &Principal, id: &str) -> Result<Dump, PlatformError> {
        let chain = self.readable(principal, id)?;
        let (view, max) = (chain.node().view(), EXPORT_BYTES_MAX);
        let too_long = |bytes: usize| PlatformError::Conflict {
            message: format!(
                "the state of blockchain {id} is too large for an export: it takes more than {bytes} of {max} bytes"
            ),
        };
        // Told before all of it is in memory.
        let estimate = view.chain().state_text_len(max as u64).map_err(PlatformError::internal)?;
        if estimate > max as u64 {
            return Err(too_long(usize::try_from(estimate).unwrap_or(usize::MAX)));
        }
        let dump = view.dump_state().map_err(PlatformError::internal)?;
        if dump.as_bytes().len() > max { Err(too_long(dump.as_bytes().len())) } else { Ok(dump) }
    }

    /// Keeps an export for the chain that gets this id; the first step of an import, before [`Blockchains::provision_import`].
    ///
    /// # Errors
    /// [`PlatformError::Validation`] for what is no export of a state, and for what no chain of the service has; [`PlatformError::Internal`]
    /// when the store fails.
    pub fn stage_import(&self, id: &str, spec: &BlockchainSpec, dump: &Dump) -> Result<(), PlatformError> {
        let imported = dump.genesis().map_err(|cause| no_export(cause.to_string()))?;
        if let Some(part) = beyond_a_state(&imported) {
            return Err(no_export(format!("a genesis with {part}, which no export has")));
        }
        check_bounds(spec, &imported)?;
        // As the chain will have it, so that nothing is left to be refused when it is built.
        let chain_id = imported.chain_id;
        let mut genesis = taken_over(imported, chain_id);
        genesis.gas_limit = spec.block_gas_limit.unwrap_or(genesis.gas_limit);
        let rules = genesis.without_state().with_parameters(ParametersSpec::new(GOVERNANCE_ADDRESS));
        rules.check().map_err(|cause| no_export(with_causes(&cause)))?;
        let premine = spec.native_token.premine;
        let mut balances = genesis.accounts.values().map(|account| account.balance);
        balances.try_fold(premine, U256::checked_add).ok_or_else(|| {
            let expected = "a premine that the balances of the state leave room for, below 2^256 in all";
            PlatformError::field("blockchain.config.nativeToken.premine", expected, premine.to_string())
        })?;
        genesis.accounts.entry(PREMINED).or_default().balance = premine;
        let (state, store) = (Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()));
        let built = Chain::builder(genesis, state, store).with_genesis();
        drop(built.map_err(|cause| no_export(with_causes(&cause)))?);
        self.hosted.stage(id, dump)
    }

    /// Forgets what was staged for an id whose import was refused.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn forget_import(&self, id: &str) -> Result<(), PlatformError> {
        self.hosted.forget_staged(id)
    }

    /// Returns whether the workspace has a chain with this id already, so that nothing is to be staged for it.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn is_provisioned(&self, principal: &Principal, id: &str) -> Result<bool, PlatformError> {
        Ok(self.context.records.of::<BlockchainRecord>().get(&principal.owner(), id)?.is_some())
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

    /// Makes the record of a chain with the state of an export, or leaves nothing; [`Blockchains::bring_up`] is what is left to do. The export
    /// is looked at when the plan and the chain id permit the chain, and a workspace has one such at a time.
    ///
    /// # Errors
    /// As [`Blockchains::provision`] and [`Blockchains::stage_import`]; [`PlatformError::TooManyAttempts`] while another import of the workspace
    /// is under way.
    pub fn stage_and_provision(
        &self,
        principal: &Principal,
        id: &str,
        spec: BlockchainSpec,
        dump: &Dump,
    ) -> Result<(), PlatformError> {
        self.context.records.unit(|unit| self.check_new(unit, principal, &spec).map(drop))?;
        let _turn = ImportTurn::take(&self.hosted.importing, principal.workspace().as_str())?;
        self.stage_import(id, &spec, dump)?;
        let provisioned = self.context.records.unit(|unit| self.provision_import(unit, principal, id, spec).map(drop));
        if provisioned.is_err() {
            self.forget_import(id)?;
        }
        provisioned
    }

    /// Creates a chain with the state of an export, with keys of its own, and runs it: all steps.
    ///
    /// # Errors
    /// As [`Blockchains::stage_and_provision`] and [`Blockchains::bring_up`].
    pub fn import(
        &self,
        principal: &Principal,
        spec: BlockchainSpec,
        dump: &Dump,
    ) -> Result<Arc<Blockchain>, PlatformError> {
        let id = self.new_id()?;
        self.stage_and_provision(principal, &id, spec, dump)?;
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
        self.part_of(id).write(batch).map_err(|cause| RecordError::from(cause).into())
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
        self.forget_staged(stored.id())
    }

    fn forget_staged(&self, id: &str) -> Result<(), PlatformError> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let mut batch = Batch::new();
        batch.delete(Table::Platform, STAGED);
        self.part_of(id).write(batch).map_err(|cause| RecordError::from(cause).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_imports_once_at_a_time() {
        let importing = Mutex::default();
        let take = |workspace| ImportTurn::take(&importing, workspace);
        let first = take("ws_a").unwrap();
        let second = take("ws_a").map(drop);
        assert_eq!(second, Err(PlatformError::TooManyAttempts { retry_after_secs: IMPORT_RETRY_SECS }));
        let other = take("ws_b").unwrap();
        drop(first);
        take("ws_a").unwrap();
        assert!(take("ws_b").is_err());
        drop(other);
        assert!(importing.lock().unwrap().is_empty());
    }
}
