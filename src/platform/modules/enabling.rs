//! Enabling, changing and disabling modules.

use alloy_primitives::{Address, B256};
use alloy_sol_types::SolCall;

use super::{
    Module, ModuleKind, ModuleSpec, ModuleState, Modules,
    config::ModuleConfig,
    contracts::{Surroundings, contracts},
    genesis::{check_in_genesis, placed, token_of},
    record::{HostedModule, VERSION},
    state::{authority, is_about_to_end, is_there, registry, stays},
};
use crate::{
    chain::CallRequest,
    platform::{
        Blockchain, BlockchainRecord, ChainState, Feature, PlatformError,
        context::audit,
        contract_plan::{Deployer, PlacedContract, in_batch},
        principal::Principal,
        records::{Stored, Unit},
    },
    system::{
        governance::GOVERNANCE_ADDRESS,
        modules::{MODULES_ADDRESS, interface as registry_calls},
    },
    templates::{
        BATCH_ADDRESS,
        batch::{Operation, interface::Batch},
    },
};

/// Who decides on the modules of a chain.
enum Authority {
    /// The treasury, for which the service signs.
    Treasury(Address),
    /// The governance; the treasury makes the contracts.
    Governance(Address),
}

impl Modules<'_> {
    /// Enables a module, or changes its configuration, under the id that was drawn for the request's transaction: with that of a transaction
    /// of the workspace it sends that again if no block has it. A chain that has not started gets it in its genesis.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of the configuration; [`PlatformError::Conflict`] for a module that this build does not have, where
    /// governance owns the modules and has not voted for this configuration, for one that is on as asked for, for a change that would leave
    /// contracts of the former configuration wrong, and for what the module needs and the chain lacks; as
    /// [`Blockchains::writable`](crate::platform::Blockchains::writable).
    pub fn enable(&self, principal: &Principal, id: &str, spec: &ModuleSpec) -> Result<Module, PlatformError> {
        let stored = self.blockchains.record(principal, &spec.blockchain_id)?;
        let config = spec.read()?;
        if !stored.value.spec.has(Feature::SmartContracts) {
            let message =
                format!("blockchain {} was made without the feature smart-contracts, which modules need", stored.id());
            return Err(PlatformError::Conflict { message });
        }
        if self.unstarted(principal, &spec.blockchain_id)?.is_some() {
            self.enable_in_genesis(principal, spec, &config)?;
        } else {
            self.enable_on_chain(principal, id, spec, &config)?;
        }
        self.get(principal, &spec.blockchain_id, spec.kind.name())
    }

    fn enable_in_genesis(
        &self,
        principal: &Principal,
        spec: &ModuleSpec,
        config: &ModuleConfig,
    ) -> Result<(), PlatformError> {
        if let Some(token) = config.named_token() {
            let expected = "no address: before the chain starts there is no contract but those of its modules";
            return Err(PlatformError::field("config.token", expected, token.to_string()));
        }
        let records = &self.blockchains.context.records;
        let chain = self.blockchains.record(principal, &spec.blockchain_id)?;
        let others = records.of().of_chain(&HostedModule::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
        let record = record_in_genesis(&chain.value, spec, config, &others)?;
        let kept = others.iter().map(|other| &other.value).filter(|other| other.kind != spec.kind);
        check_in_genesis(&chain.value, &kept.chain([&record]).collect::<Vec<_>>())?;
        records.unit(|unit| {
            let chain = in_unit(unit, principal, &spec.blockchain_id)?;
            let others = unit.of().of_chain(&HostedModule::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
            let record = record_in_genesis(&chain.value, spec, config, &others)?;
            let id = HostedModule::id(chain.id(), spec.kind);
            match unit.of::<HostedModule>().get(chain.owner(), &id)? {
                None => drop(unit.insert(chain.owner(), &id, record)?),
                Some(mut present) => {
                    present.value = record;
                    unit.replace(&present)?;
                }
            }
            audit(unit, principal, "module.enable", format!("blockchain {}: {}", chain.id(), spec.kind.name()))
        })
    }

    fn enable_on_chain(
        &self,
        principal: &Principal,
        id: &str,
        spec: &ModuleSpec,
        config: &ModuleConfig,
    ) -> Result<(), PlatformError> {
        let chain = self.running(principal, &spec.blockchain_id)?;
        let (owner, module_id) = (principal.owner(), HostedModule::id(chain.id(), spec.kind));
        let records = &self.blockchains.context.records;
        let former = records.of::<HostedModule>().get(&owner, &module_id)?;
        if self.blockchains.sent(principal, id)?.is_none() {
            let decides = self.authority_of(&chain)?;
            self.check_change(principal, &chain, spec, config, former.as_ref())?;
            let around = self.surroundings(principal, &chain, config)?;
            if let Authority::Governance(_) = decides {
                check_vote(&chain, spec)?;
            }
            let (Authority::Treasury(sender) | Authority::Governance(sender)) = decides;
            let known = known_contracts(&chain, former.as_ref())?;
            let plan = |nonce| {
                let deployer = Deployer { templates: chain.node().templates(), address: sender, nonce };
                let mut placed = known;
                let mut operations = in_batch(&contracts(config, around)?, deployer, &mut placed)?;
                if let Authority::Treasury(_) = decides {
                    operations.push(enable_operation(spec));
                }
                Ok((batch(operations), placed))
            };
            let sent =
                self.blockchains.send_planned(principal, (chain.id(), id), sender, plan, |unit, hash, placed| {
                    keep(unit, principal, (&chain, &module_id), spec, placed, hash)
                });
            if let Err(cause) = sent {
                self.take_back(principal, &module_id, former.as_ref())?;
                return Err(cause);
            }
            return Ok(());
        }
        // The request is run again: its transaction is kept.
        let again = |_| Err::<(CallRequest, ()), _>(PlatformError::internal("its transaction is kept"));
        self.blockchains.send_planned(principal, (chain.id(), id), Address::ZERO, again, |_, _, ()| Ok(())).map(drop)
    }

    /// Disables a module, under the id that was drawn for the request's transaction. Its contracts stay. From a chain that has not started it
    /// is taken away.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; [`PlatformError::Conflict`] where another module needs it, where governance owns the modules, and for one
    /// that is not on or whose end waits for a block; as [`Blockchains::writable`](crate::platform::Blockchains::writable).
    pub fn disable(&self, principal: &Principal, id: &str, chain: &str, name: &str) -> Result<Module, PlatformError> {
        let module = self.get(principal, chain, name)?;
        let kind = ModuleKind::from_name(name);
        self.check_nobody_on_needs(principal, chain, kind)?;
        if self.unstarted(principal, chain)?.is_some() {
            self.blockchains.context.records.unit(|unit| {
                let chain = in_unit(unit, principal, chain)?;
                let kind = kind.ok_or_else(|| PlatformError::not_found("module", name))?;
                let stored = unit.of::<HostedModule>().require(chain.owner(), &HostedModule::id(chain.id(), kind))?;
                unit.delete(&stored)?;
                audit(unit, principal, "module.disable", format!("blockchain {}: {name}", chain.id()))
            })?;
            return Ok(Module { state: ModuleState::Disabled, ..module });
        }
        let chain = self.running(principal, chain)?;
        if self.blockchains.sent(principal, id)?.is_none() {
            check_on(&chain, &module)?;
        }
        let Authority::Treasury(sender) = self.authority_of(&chain)? else {
            let message = format!(
                "governance owns the modules of blockchain {}: propose `module-disable` with {name}, which is off once that is executed",
                chain.id()
            );
            return Err(PlatformError::Conflict { message });
        };
        let call = registry_calls::disableCall { name: name.to_owned() }.abi_encode();
        let request = CallRequest::call(MODULES_ADDRESS, call);
        self.blockchains.send_planned(
            principal,
            (chain.id(), id),
            sender,
            |_| Ok((request, ())),
            |unit, hash, ()| {
                if let Some(kind) = kind
                    && let Some(mut stored) =
                        unit.of::<HostedModule>().get(chain.owner(), &HostedModule::id(chain.id(), kind))?
                {
                    stored.value.forget_settled(|earlier| stays(&chain, earlier))?;
                    stored.value.transactions.push(hash);
                    unit.replace(&stored)?;
                }
                audit(unit, principal, "module.disable", format!("blockchain {}: {name}", chain.id()))
            },
        )?;
        self.get(principal, chain.id(), name)
    }

    /// Returns who decides on the modules of a chain, and who makes their contracts.
    fn authority_of(&self, chain: &Blockchain) -> Result<Authority, PlatformError> {
        let conflict = |message: String| Err(PlatformError::Conflict { message });
        let Some(treasury) = chain.treasury() else {
            return conflict(format!("blockchain {} has no treasury, whose transactions enable modules", chain.id()));
        };
        match authority(chain)? {
            Some(owner) if owner == treasury => Ok(Authority::Treasury(treasury)),
            Some(GOVERNANCE_ADDRESS) => Ok(Authority::Governance(treasury)),
            Some(owner) => conflict(format!(
                "the registry of modules of blockchain {} belongs to {owner}, for which this service does not sign",
                chain.id()
            )),
            None => conflict(format!("blockchain {} was made without a registry of modules", chain.id())),
        }
    }

    /// Refuses what is on as asked for, and what would leave contracts wrong.
    pub(super) fn check_change(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        spec: &ModuleSpec,
        config: &ModuleConfig,
        former: Option<&Stored<HostedModule>>,
    ) -> Result<(), PlatformError> {
        let (Some(former), name) = (former, spec.kind.name()) else { return Ok(()) };
        let conflict = |message: String| Err(PlatformError::Conflict { message });
        let state = self.get(principal, chain.id(), name)?.state;
        match state {
            ModuleState::Pending => {
                return Err(waits(name));
            }
            ModuleState::Enabled if former.value.config() == spec.config => {
                return conflict(format!("the module {name} is enabled with this configuration"));
            }
            ModuleState::Failed if known_contracts(chain, Some(former))?.is_empty() => return Ok(()),
            ModuleState::Approved | ModuleState::Enabled | ModuleState::Disabled | ModuleState::Failed => {}
        }
        let read = ModuleConfig::read(spec.kind, &former.value.config());
        if read.is_ok_and(|former| config.only_adds_to(&former)) {
            return Ok(());
        }
        conflict(format!(
            "the contracts of the module {name} are made with the configuration {}, which stays: only parts that are not in its \
             `features`, and what belongs to them, can be added",
            former.value.config
        ))
    }

    /// Finds the token that a configuration names, and the time between blocks as it is now.
    pub(super) fn surroundings(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        config: &ModuleConfig,
    ) -> Result<Surroundings, PlatformError> {
        if let Some(token) = config.named_token()
            && !is_there(chain, token)?
        {
            let expected = "the address of a token on the chain";
            return Err(PlatformError::field("config.token", expected, format!("{token}, which has no code")));
        }
        let other_token = match config.depends_on() {
            None => None,
            Some(kind) => {
                let on: Vec<String> = self
                    .list(principal, chain.id())?
                    .into_iter()
                    .filter(|module| module.state == ModuleState::Enabled)
                    .map(|module| module.name)
                    .collect();
                let records = &self.blockchains.context.records;
                let records = records.of().of_chain(&HostedModule::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
                Some(token_of_other(kind, &records, |name| on.iter().any(|one| one == name))?)
            }
        };
        let block_time_secs = chain.block_time_secs().map_err(PlatformError::from_query)?;
        Ok(Surroundings { block_time_secs, other_token })
    }

    /// Refuses to disable a module whose token another one works with that is on, or is to be.
    pub(super) fn check_nobody_on_needs(
        &self,
        principal: &Principal,
        chain: &str,
        kind: Option<ModuleKind>,
    ) -> Result<(), PlatformError> {
        let Some(kind) = kind else { return Ok(()) };
        let found = self.list(principal, chain)?;
        let is_on = |state| matches!(state, ModuleState::Enabled | ModuleState::Approved | ModuleState::Pending);
        let on = found.iter().filter(|it| is_on(it.state));
        let names: Vec<&str> = on.map(|module| module.name.as_str()).collect();
        let owner = principal.owner();
        let records = self.blockchains.context.records.of().of_chain(&HostedModule::BY_BLOCKCHAIN, &owner, chain)?;
        let on = records.iter().map(|stored| &stored.value).filter(|module| names.contains(&module.kind.name()));
        check_nobody_needs(kind, on)
    }

    /// Undoes the record of a module whose transaction the chain has refused.
    fn take_back(
        &self,
        principal: &Principal,
        id: &str,
        former: Option<&Stored<HostedModule>>,
    ) -> Result<(), PlatformError> {
        self.blockchains.context.records.unit(|unit| {
            let Some(mut present) = unit.of::<HostedModule>().get(&principal.owner(), id)? else { return Ok(()) };
            match former {
                None => unit.delete(&present)?,
                Some(former) if former.value != present.value => {
                    present.value = former.value.clone();
                    unit.replace(&present)?;
                }
                Some(_) => {}
            }
            Ok(())
        })
    }
}

/// Reads a chain that has not started.
fn in_unit(unit: &Unit<'_>, principal: &Principal, chain: &str) -> Result<Stored<BlockchainRecord>, PlatformError> {
    let stored = unit.of::<BlockchainRecord>().require(&principal.owner(), chain)?;
    if stored.value.state == ChainState::Created {
        return Ok(stored);
    }
    let message = format!("blockchain {chain} is {}: its genesis is made", stored.value.state.name());
    Err(PlatformError::Conflict { message })
}

/// Returns the record of a module for the genesis of a chain with these modules.
fn record_in_genesis(
    chain: &BlockchainRecord,
    spec: &ModuleSpec,
    config: &ModuleConfig,
    modules: &[Stored<HostedModule>],
) -> Result<HostedModule, PlatformError> {
    let token = match config.depends_on() {
        None => None,
        Some(kind) => Some(token_of_other(kind, modules, |_| true)?),
    };
    let (_, contracts) = placed(config, spec.kind, chain, token)?;
    if token_of(&contracts).is_none() {
        check_nobody_needs(spec.kind, modules.iter().map(|other| &other.value))?;
    }
    Ok(record_of(spec, contracts, Vec::new()))
}

/// Returns the token of another module that is on.
fn token_of_other(
    kind: ModuleKind,
    records: &[Stored<HostedModule>],
    is_on: impl Fn(&str) -> bool,
) -> Result<Address, PlatformError> {
    let record = records.iter().find(|stored| stored.value.kind == kind).filter(|_| is_on(kind.name()));
    let Some(record) = record else {
        let message = format!("the token is that of the module {}, which is not enabled: enable it first", kind.name());
        return Err(PlatformError::Conflict { message });
    };
    token_of(&record.value.contracts).ok_or_else(|| PlatformError::Conflict {
        message: format!("the module {} has no token of its own: name one by its address", kind.name()),
    })
}

/// Refuses to take the token of a module from another that works with it.
fn check_nobody_needs<'m>(
    kind: ModuleKind,
    others: impl Iterator<Item = &'m HostedModule>,
) -> Result<(), PlatformError> {
    for other in others.filter(|other| other.kind != kind) {
        let config = ModuleConfig::read(other.kind, &other.config());
        if config.is_ok_and(|config| config.depends_on() == Some(kind)) {
            let (name, other) = (kind.name(), other.kind.name());
            let message = format!("the module {other} works with the token of {name}: disable {other} first");
            return Err(PlatformError::Conflict { message });
        }
    }
    Ok(())
}

/// Refuses to disable a module that is not on, or that a transaction which waits for a block disables already.
fn check_on(chain: &Blockchain, module: &Module) -> Result<(), PlatformError> {
    let name = &module.name;
    match module.state {
        ModuleState::Pending => Err(waits(name)),
        // One without a record is known by the registry alone.
        ModuleState::Enabled | ModuleState::Approved if is_about_to_end(chain, name)? => Err(waits(name)),
        ModuleState::Enabled | ModuleState::Approved => Ok(()),
        ModuleState::Failed | ModuleState::Disabled => {
            let message = format!("the module {name} is {}: there is nothing to disable", module.state.name());
            Err(PlatformError::Conflict { message })
        }
    }
}

/// Refuses to change a module twice before a block.
fn waits(name: &str) -> PlatformError {
    PlatformError::Conflict { message: format!("the module {name} is pending: its transaction waits for a block") }
}

/// Where governance owns the modules, only what it has voted for is deployed.
fn check_vote(chain: &Blockchain, spec: &ModuleSpec) -> Result<(), PlatformError> {
    let wanted = record_of(spec, Vec::new(), Vec::new()).config_hash();
    let is_voted = |name: &str, hash: B256| name == spec.kind.name() && hash == wanted;
    if registry(chain)?.iter().any(|entry| entry.is_enabled && is_voted(&entry.name, entry.config_hash)) {
        return Ok(());
    }
    let message = format!(
        "governance owns the modules of blockchain {}: propose `module-enable` with this module and configuration; once that is executed, \
         repeat this request, which then makes the contracts",
        chain.id()
    );
    Err(PlatformError::Conflict { message })
}

/// Contracts of the former configuration that are there.
pub(super) fn known_contracts(
    chain: &Blockchain,
    former: Option<&Stored<HostedModule>>,
) -> Result<Vec<PlacedContract>, PlatformError> {
    let mut known = Vec::new();
    for contract in former.into_iter().flat_map(|former| &former.value.contracts) {
        if is_there(chain, contract.address)? {
            known.push(contract.clone());
        }
    }
    Ok(known)
}

fn enable_operation(spec: &ModuleSpec) -> Operation {
    let hash = record_of(spec, Vec::new(), Vec::new()).config_hash();
    let call = registry_calls::enableCall { name: spec.kind.name().to_owned(), version: VERSION, configHash: hash };
    Operation::call(MODULES_ADDRESS, &call)
}

/// Operations of one signer as one transaction, all or none.
fn batch(operations: Vec<Operation>) -> CallRequest {
    CallRequest::call(BATCH_ADDRESS, Batch::executeCall { operations }.abi_encode())
}

fn record_of(spec: &ModuleSpec, contracts: Vec<PlacedContract>, transactions: Vec<B256>) -> HostedModule {
    HostedModule {
        blockchain_id: spec.blockchain_id.clone(),
        kind: spec.kind,
        version: VERSION,
        config: serde_json::Value::Object(spec.config.clone()).to_string(),
        contracts,
        transactions,
        earlier: Vec::new(),
    }
}

/// Writes the record of a module in the batch that keeps its transaction.
fn keep(
    unit: &mut Unit<'_>,
    principal: &Principal,
    (chain, id): (&Blockchain, &str),
    spec: &ModuleSpec,
    contracts: Vec<PlacedContract>,
    hash: B256,
) -> Result<(), PlatformError> {
    let owner = principal.owner();
    match unit.of::<HostedModule>().get(&owner, id)? {
        None => drop(unit.insert(&owner, id, record_of(spec, contracts, vec![hash]))?),
        Some(mut present) => {
            present.value.forget_settled(|earlier| stays(chain, earlier))?;
            present.value.change_to(record_of(spec, contracts, Vec::new()), hash);
            unit.replace(&present)?;
        }
    }
    audit(unit, principal, "module.enable", format!("blockchain {}: {}", spec.blockchain_id, spec.kind.name()))
}
