//! Making a project: its records, its chain, its contracts.

use alloy_sol_types::SolCall;

use super::{
    Project, Projects,
    kind::ProjectNetwork,
    spec::{ProjectChain, ProjectSpec},
    templates::{ProjectTemplate, Wanted},
};
use crate::{
    chain::CallRequest,
    consensus::ConsensusKind,
    platform::{
        Blockchain, BlockchainSpec, ChainCommand, DecidedBy, Feature, NativeToken, PlatformError, ValidatorSpec,
        Workspace,
        context::audit,
        contract_plan::{Deployer, PlacedContract, PlannedContract, in_batch},
        principal::Principal,
        records::{Owner, SortKey, Stored, Unit},
        scope::Scope,
        wallet::create_operator,
        workspace::has_chain,
    },
    primitives::Address,
    templates::{BATCH_ADDRESS, batch::interface::Batch},
};

impl Projects<'_> {
    /// Makes a project under an id that was drawn for the request, and a new chain of it under another; with the id of a project of the
    /// workspace it does what is left to do, and returns it.
    ///
    /// # Errors
    /// [`PlatformError::MissingScope`] without those for making chains and deploying; [`PlatformError::Validation`];
    /// [`PlatformError::Conflict`] for a full plan, and on a chain that can't have the contracts. Nothing is left of a project then.
    pub fn create(
        &self,
        principal: &Principal,
        (id, chain): (&str, &str),
        spec: &ProjectSpec,
    ) -> Result<Stored<Project>, PlatformError> {
        principal.require(Scope::BlockchainWrite)?;
        principal.require(Scope::BlockchainDeploy)?;
        let fields = spec.check();
        if !fields.is_empty() {
            return Err(PlatformError::Validation { fields });
        }
        let known = self.all().get(&principal.owner(), id)?;
        if let Some(known) = known {
            return self.finish(principal, &known);
        }
        let chain = match spec.chain() {
            ProjectChain::New(_) => chain.to_owned(),
            ProjectChain::Known(chain) => {
                self.check_chain(principal, &chain, spec)?;
                chain
            }
        };
        if let Some(raw) = &spec.signed_transaction {
            return self.create_signed(principal, (id, &chain), spec, raw);
        }
        let records = &self.blockchains.context.records;
        let stored = records.unit(|unit| self.record(unit, principal, (id, &chain), spec))?;
        self.finish(principal, &stored).inspect_err(|cause| {
            if is_refusal(cause) {
                // What can't be undone now is told by the state of the project.
                let _ = self.undo(principal, &stored);
            }
        })
    }

    /// Writes the record of a project, and that of its chain where that is new.
    fn record(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        (id, chain): (&str, &str),
        spec: &ProjectSpec,
    ) -> Result<Stored<Project>, PlatformError> {
        let owner = principal.owner();
        let network = match spec.chain() {
            ProjectChain::Known(_) => None,
            ProjectChain::New(consensus) => {
                let network = network(unit, principal, spec)?;
                let mut of_chain = chain_spec(spec, consensus, network);
                for number in 1..=network.operators() {
                    let wallet = create_operator(self.blockchains.context, unit, &owner, chain, number)?;
                    let (address, name) = (wallet.value.address, format!("validator {number}"));
                    of_chain.validators.push(ValidatorSpec { address, name });
                }
                self.blockchains.provision(unit, principal, chain, of_chain)?;
                Some(network)
            }
        };
        let stored = unit.insert(&owner, id, unplanned(spec, chain, network))?;
        audit(unit, principal, "project.create", format!("project {id}"))?;
        Ok(stored)
    }

    /// Brings the chain up, and makes the contracts if nobody has.
    fn finish(&self, principal: &Principal, stored: &Stored<Project>) -> Result<Stored<Project>, PlatformError> {
        let (project, owner) = (&stored.value, principal.owner());
        self.blockchains.bring_up(principal, &project.blockchain_id)?;
        if !project.is_unplanned {
            return self.require(principal, stored.id());
        }
        let Some(template) = ProjectTemplate::from_name(&project.template) else {
            let message = format!("this version has no template {}", project.template);
            return Err(PlatformError::Conflict { message });
        };
        let plan = template.contracts(&Wanted { name: &project.name, features: &project.features });
        if plan.is_empty() {
            self.blockchains.context.records.unit(|unit| {
                let mut present = unit.of::<Project>().require(&owner, stored.id())?;
                present.value.is_unplanned = false;
                unit.replace(&present)?;
                Ok::<_, PlatformError>(())
            })?;
            return self.require(principal, stored.id());
        }
        let chain = self.blockchains.writable(principal, &project.blockchain_id)?;
        let no_treasury = || PlatformError::Conflict {
            message: format!("blockchain {} has no treasury, which makes contracts of projects", chain.id()),
        };
        let sender = chain.treasury().ok_or_else(no_treasury)?;
        let planned = |nonce| planned(&chain, &plan, sender, nonce);
        let id = self.blockchains.context.id("tx")?;
        self.blockchains.send_planned(principal, (chain.id(), &id), sender, planned, |unit, hash, placed| {
            let mut present = unit.of::<Project>().require(&owner, stored.id())?;
            if !present.value.is_unplanned {
                let message = format!("the contracts of project {} are on their way", stored.id());
                return Err(PlatformError::Conflict { message });
            }
            (present.value.contracts, present.value.transaction) = (placed, Some(hash));
            present.value.is_unplanned = false;
            unit.replace(&present)?;
            audit(unit, principal, "project.deploy", format!("project {}", stored.id()))
        })?;
        self.require(principal, stored.id())
    }

    /// Finishes what a crash left, at boot. What fails is tried again at the next.
    ///
    /// # Errors
    /// Those of reading the records.
    pub(in crate::platform) fn finish_all(&self) -> Result<(), PlatformError> {
        let mut unplanned = Vec::new();
        self.all().for_each(&Project::UNPLANNED, &Owner::Service, &SortKey::new(), |stored| {
            unplanned.push(stored);
            Ok::<_, PlatformError>(())
        })?;
        for stored in unplanned {
            let _ = self.finish(&Principal::of_service(stored.owner())?, &stored);
        }
        Ok(())
    }

    /// Takes back a project whose chain or contracts were refused.
    pub(super) fn undo(&self, principal: &Principal, stored: &Stored<Project>) -> Result<(), PlatformError> {
        let is_new = stored.value.network.is_some();
        self.blockchains.context.records.unit(|unit| {
            let present = unit.of::<Project>().get(&principal.owner(), stored.id())?;
            present.map_or(Ok::<_, PlatformError>(()), |present| Ok(unit.delete(&present)?))
        })?;
        match self.blockchains.record(principal, &stored.value.blockchain_id) {
            Ok(_) if is_new => {
                let chain = &stored.value.blockchain_id;
                self.blockchains.carry_out(principal, chain, ChainCommand::Delete).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Checks that a chain that is there takes the contracts.
    pub(super) fn check_chain(&self, principal: &Principal, id: &str, spec: &ProjectSpec) -> Result<(), PlatformError> {
        let chain = self.blockchains.writable(principal, id)?;
        let needs = spec.template().chain_features;
        if needs.contains(&Feature::SmartContracts) && !chain.node().view().chain().spec().deployments {
            let message = format!("blockchain {id} was made without the feature smart-contracts");
            return Err(PlatformError::Conflict { message });
        }
        let lacks = needs.iter().find(|feature| **feature != Feature::SmartContracts && !chain.spec().has(**feature));
        if let Some(feature) = lacks {
            let (feature, template) = (feature.name(), spec.template().name);
            let message = format!("blockchain {id} was made without the feature {feature}, which {template} has");
            return Err(PlatformError::Conflict { message });
        }
        Ok(())
    }
}

/// Whether the failure of a project's chain or of its transaction is final, so that nothing is left of the project.
pub(super) const fn is_refusal(cause: &PlatformError) -> bool {
    matches!(
        cause,
        PlatformError::Validation { .. }
            | PlatformError::Conflict { .. }
            | PlatformError::UnsupportedByConsensus { .. }
            | PlatformError::InsufficientBalance { .. }
    )
}

/// The record of a project whose contracts are still to be planned.
pub(super) fn unplanned(spec: &ProjectSpec, chain: &str, network: Option<ProjectNetwork>) -> Project {
    Project {
        name: spec.name.clone(),
        description: spec.description.clone(),
        kind: spec.kind,
        template: spec.template().name.to_owned(),
        blockchain_id: chain.to_owned(),
        network,
        features: spec.features.clone(),
        contracts: Vec::new(),
        transaction: None,
        is_unplanned: true,
    }
}

/// The transaction of a signer and its nonce that makes contracts, and their places.
pub(super) fn planned(
    chain: &Blockchain,
    plan: &[PlannedContract],
    signer: Address,
    nonce: u64,
) -> Result<(CallRequest, Vec<PlacedContract>), PlatformError> {
    let deployer = Deployer { templates: chain.node().templates(), address: signer, nonce };
    let mut placed = Vec::new();
    let operations = in_batch(plan, deployer, &mut placed)?;
    Ok((CallRequest::call(BATCH_ADDRESS, Batch::executeCall { operations }.abi_encode()), placed))
}

/// The network that a project names, or else its workspace's default one. Where that is a chain, which is the default of dApps, projects have
/// none.
fn network(unit: &Unit<'_>, principal: &Principal, spec: &ProjectSpec) -> Result<ProjectNetwork, PlatformError> {
    if let Some(named) = spec.network.as_deref().and_then(ProjectNetwork::from_name) {
        return Ok(named);
    }
    let owner = principal.owner();
    let workspace = unit.of::<Workspace>().require(&owner, owner.as_str())?;
    let Some(default) = workspace.value.default_network else { return Ok(ProjectNetwork::default()) };
    if let Some(network) = ProjectNetwork::from_name(&default) {
        return Ok(network);
    }
    if has_chain(unit, &owner, &default)? {
        return Ok(ProjectNetwork::default());
    }
    let names = ProjectNetwork::ALL.map(ProjectNetwork::name).join(", ");
    let expected =
        format!("one of {names}; or a defaultNetwork of the workspace that is one of them, or one of its blockchains");
    Err(PlatformError::field("config.network", expected, format!("the workspace's defaultNetwork, {default}")))
}

fn chain_spec(spec: &ProjectSpec, consensus: ConsensusKind, network: ProjectNetwork) -> BlockchainSpec {
    BlockchainSpec {
        name: spec.name.clone(),
        kind: "private".to_owned(),
        consensus,
        chain_id: None,
        block_time: network.block_time(),
        block_gas_limit: None,
        native_token: NativeToken::default(),
        validators: Vec::new(),
        features: spec.chain_features(),
        upgrades: DecidedBy::default(),
        membership: DecidedBy::default(),
        starts: true,
    }
}
