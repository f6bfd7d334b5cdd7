//! Creating chains, and leading them from state to state.

use std::sync::Arc;

use super::Blockchains;
use crate::platform::{
    PlatformError,
    blockchain::{Blockchain, BlockchainRecord, BlockchainSpec, ChainCommand, ChainKeys, ChainState},
    context::audit,
    gas_count::count_last_gas,
    plan::{check_number, check_quota},
    principal::Principal,
    records::{Index, Owner, SortKey, Stored, Unit},
    wallet::create_treasury,
};

/// Chain id of the first chain that names none, in a service without a default chain.
const FIRST_CHAIN_ID: u64 = 31_338;

impl Blockchains<'_> {
    /// Returns a new id for [`Blockchains::provision`].
    ///
    /// # Errors
    /// [`PlatformError::Entropy`].
    pub fn new_id(&self) -> Result<String, PlatformError> {
        Ok(self.context.id("bc")?)
    }

    /// The first step of creating a chain: its record, its keys and its treasury. [`Blockchains::bring_up`] is the second, outside the unit.
    /// With the id of a chain of the workspace it changes nothing and returns that one.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a chain id that another chain has and for a full plan, [`PlatformError::Entropy`].
    pub fn provision(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        spec: BlockchainSpec,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let owner = principal.owner();
        if let Some(stored) = unit.of::<BlockchainRecord>().get(&owner, id)? {
            return Ok(stored);
        }
        let chain_id = self.check_new(unit, principal, &spec)?;
        let keys = ChainKeys::draw(&*self.context.entropy, spec.validators_at_genesis() + spec.standby_keys())?;
        keys.seal(&self.context.vault, unit, &owner, id)?;
        let treasury = create_treasury(self.context, unit, &owner, id, &spec.name)?;
        let state = if spec.starts { ChainState::Provisioning } else { ChainState::Created };
        let record = BlockchainRecord {
            spec,
            chain_id,
            state,
            treasury: Some(treasury.value.address),
            participants: vec![self.first_participant(principal)?],
            is_imported: false,
        };
        let stored = unit.insert(&owner, id, record)?;
        audit(unit, principal, "blockchain.create", format!("blockchain {id}"))?;
        Ok(stored)
    }

    /// Checks whether the workspace's plan and the chains that there are leave room for a new chain. Returns its chain id.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a chain id that another chain has and for a full plan.
    pub(super) fn check_new(
        &self,
        unit: &Unit<'_>,
        principal: &Principal,
        spec: &BlockchainSpec,
    ) -> Result<u64, PlatformError> {
        let owner = principal.owner();
        let has = unit.of::<BlockchainRecord>().count(&Index::CREATED, &owner, &SortKey::new())?;
        let plan = self.context.plan(unit, &owner)?;
        check_quota("blockchains", has, plan.blockchains_max)?;
        let validators = u64::try_from(spec.validators.len().max(1)).unwrap_or(u64::MAX);
        check_number("validators of a blockchain", validators, plan.validators_max)?;
        self.chain_id(unit, principal, spec.chain_id)
    }

    /// Brings a chain of the principal's workspace to the state that its record says: builds or opens its network, lets it run or stand
    /// still, takes it out of memory, deletes what is left of it. To be called after every unit that changed the state, outside of it; it
    /// may be called again at any time. Returns the chain, if it is then in memory.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] for a number of validators that the protocol can't have: such a chain is taken back.
    /// [`PlatformError::Internal`] for one that can't be opened: it is failed.
    pub fn bring_up(&self, principal: &Principal, id: &str) -> Result<Option<Arc<Blockchain>>, PlatformError> {
        let chain = self.hosted.converge(self.context, &principal.owner(), id)?;
        if let Some(chain) = &chain {
            self.send_unsettled(chain)?;
        }
        Ok(chain)
    }

    /// Creates a chain in the principal's workspace and runs it: both steps.
    ///
    /// # Errors
    /// As [`Blockchains::provision`] and [`Blockchains::bring_up`].
    pub fn create(&self, principal: &Principal, spec: BlockchainSpec) -> Result<Arc<Blockchain>, PlatformError> {
        let id = self.new_id()?;
        self.context.records.unit(|unit| self.provision(unit, principal, &id, spec).map(drop))?;
        let chain = self.bring_up(principal, &id)?;
        chain.ok_or_else(|| PlatformError::not_found("blockchain", &id))
    }

    /// Records a command to a chain, which leads from the state that [`Blockchains::state`] shows; [`Blockchains::bring_up`] carries it out.
    /// One that has nothing left to do changes nothing.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; [`PlatformError::Conflict`] for a state from which the command does not lead, for the default chain,
    /// and for stopping a chain that the process alone has.
    pub fn command(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        command: ChainCommand,
    ) -> Result<Stored<BlockchainRecord>, PlatformError> {
        let mut stored = unit.of::<BlockchainRecord>().require(&principal.owner(), id)?;
        if self.hosted.is_default(id) {
            let message = format!("blockchain {id} is the chain of the process: it runs as long as that");
            return Err(PlatformError::Conflict { message });
        }
        if command == ChainCommand::Stop && !self.hosted.is_durable() {
            let message = "the service has no store, and a stopped chain would be lost: pause it".to_owned();
            return Err(PlatformError::Conflict { message });
        }
        // A chain whose network has failed is failed, though its record does not say so yet: a start is then no repetition.
        let before = self.state(&stored);
        let after = before.after(command)?;
        if after == before {
            return Ok(stored);
        }
        stored.value.state = after;
        if let Some(chain) = self.hosted.get(id).filter(|_| !stored.value.state.is_open()) {
            count_last_gas(unit, &chain)?;
        }
        let stored = unit.replace(&stored)?;
        audit(unit, principal, &format!("blockchain.{}", command.name()), format!("blockchain {id}"))?;
        Ok(stored)
    }

    /// Records a command and carries it out. Returns the chain, if it is then in memory.
    ///
    /// # Errors
    /// As [`Blockchains::command`] and [`Blockchains::bring_up`].
    pub fn carry_out(
        &self,
        principal: &Principal,
        id: &str,
        command: ChainCommand,
    ) -> Result<Option<Arc<Blockchain>>, PlatformError> {
        self.context.records.unit(|unit| self.command(unit, principal, id, command).map(drop))?;
        self.bring_up(principal, id)
    }

    /// Returns the state of a chain: what its record says, or failed where its network stands still by a failure.
    pub fn state(&self, stored: &Stored<BlockchainRecord>) -> ChainState {
        let absence = self.hosted.absence(stored.id()).map(str::to_owned);
        let failure = absence.or_else(|| self.hosted.get(stored.id()).and_then(|chain| chain.failure()));
        failure.map_or_else(|| stored.value.state.clone(), |reason| ChainState::Failed { reason })
    }

    /// Returns the chain id that was asked for, or the next that is free.
    fn chain_id(&self, unit: &Unit<'_>, principal: &Principal, asked: Option<u64>) -> Result<u64, PlatformError> {
        let taken_by = |chain_id: u64| {
            let group = SortKey::new().number(chain_id);
            unit.of::<BlockchainRecord>().find(&BlockchainRecord::UNIQUE_CHAIN_ID, &Owner::Service, &group)
        };
        if let Some(chain_id) = asked {
            return match taken_by(chain_id)? {
                None => Ok(chain_id),
                // Whose chain it is, is told to its owner alone.
                Some(other) if *other.owner() == principal.owner() => Err(PlatformError::Conflict {
                    message: format!("chain id {chain_id} belongs to blockchain {}", other.id()),
                }),
                Some(_) => Err(PlatformError::Conflict { message: format!("chain id {chain_id} is taken") }),
            };
        }
        let first = self.hosted.default.as_ref().map_or(FIRST_CHAIN_ID, |default| default.chain_id().saturating_add(1));
        // Those before it are taken, or were: a new chain does not get the id of one that has just been deleted.
        let mut next = first.max(self.hosted.given_chain_id().saturating_add(1));
        while taken_by(next)?.is_some() {
            next = next.saturating_add(1);
        }
        Ok(next)
    }
}
