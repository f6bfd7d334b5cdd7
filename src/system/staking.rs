//! The staking contract: the Cosmos SDK's staking, distribution and slashing as one native contract at
//! [`STAKING_ADDRESS`].
//!
//! Deployed in genesis where the specification has `staking`. Operators and delegators change it by transactions, the
//! protocol by system calls at the start of a block: [`begin_block`] or [`begin_turn`], [`slash`], [`penalize`], [`elect_set`], [`begin_set`],
//! [`end_epoch`]. Every change of a validator's consensus weight emits the event `WeightChanged`, from which [`weight_changes`]
//! collects a block's [`ValidatorUpdates`](super::ValidatorUpdates) (as EIP-6110 does for deposits).
//!
//! - A validator is an operator, the account under which all of this is kept, and its sealing key, by which consensus knows it: its own
//!   address, unless it registers a key ([`sealing_keys`](super::sealing_keys)). It may replace the key; former ones still find it. What comes from
//!   consensus, such as proposers and offenders, is named by keys, all else by operators.
//! - An operator joins with a stake of its own, which another may pay with its consent, and others delegate to it. All of it is one pool divided
//!   into shares; its weight is the pool in gwei while it is bonded, else 0.
//! - Undelegated stake waits for the unbonding period, counted from when the validator was unbonded if that was earlier.
//! - A slash burns a part of the pool at once, and the same part of each unbonding begun at the infraction's height or
//!   later, once it is withdrawn. (The Cosmos SDK charges the pool at the infraction's height; here the delegators of the
//!   pool now are charged.)
//! - Validators become active, and leave, through two queues: at the end of an epoch some of each ([`churn_limit`]). A new key of a bonded
//!   validator waits in a third one, since to consensus it is an address that leaves and one that joins. A validator
//!   whose pool penalties take to a floor is ejected: it waits in the exit queue like one that asked to leave.
//! - Double signing tombstones the operator with all its keys. Absence in more than half of a window of blocks slashes and jails; jail clears the window.
//! - Rewards are minted for a block's proposer, and at the end of an epoch for those whom the protocol names: a validator's
//!   commission first, the rest for its pool pro rata. Other income of the
//!   contract, such as the fees of blocks whose beneficiary it is, goes to the proposer's pool one block later.
//! - On a chain with governance each validator's weight and the sum are kept by height, so that votes count by the weights of one
//!   block; the governance contract may remove a validator.
//! - The contract's balance is the sum of its liabilities: stake bonded, stake unbonding, rewards, and fees not yet
//!   distributed. No operation loops over all validators or delegators.

mod calls;
mod consent;
mod delegations;
mod history;
pub mod interface;
mod keys;
mod layout;
mod locks;
mod params;
mod record;
mod rewards;
mod slashing;
#[cfg(test)]
mod tests;
mod validators;
mod views;

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolConstructor};

use self::{
    interface::StakingContract::{self, StakingContractCalls as Calls},
    layout::{STAKING, Staking},
};
use crate::vm::{
    Host, Marker, Stop, Template, TemplateId, TemplateRegistry,
    abi::{DISPATCH_UNITS, Returns, require},
    storage::StorageLayout,
};

pub use super::address::STAKING_ADDRESS;
pub use calls::{
    EpochDeltas, Offence, begin_block, begin_set, begin_turn, elect_set, end_epoch, penalize, slash, weight_changes,
};
pub use consent::{JoinConsent, consent_digest};
pub use delegations::UNBONDINGS_MAX;
pub use keys::{operator_in, prove_sealing_key};
pub use layout::StakeSums;
pub use params::{
    CHURN_LIMIT_QUOTIENT, DOWNTIME_WINDOW_MAX, StakingParams, StakingParamsError, VALIDATORS_MAX, WEIGHT_UNIT,
    churn_limit,
};
pub use record::{StakeRecord, ValidatorRecord, ValidatorStatus};
pub use views::PAGE_MAX;

/// Selectors of the functions that take value.
const PAYABLE: &[[u8; 4]] = &[
    interface::joinCall::SELECTOR,
    interface::joinWithKeyCall::SELECTOR,
    interface::joinForCall::SELECTOR,
    interface::stakeCall::SELECTOR,
    interface::stakeForCall::SELECTOR,
    interface::delegateCall::SELECTOR,
];

/// The template `staking`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct StakingTemplate;

impl StakingTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7001, 1);
    /// Name of the template.
    pub const NAME: &'static str = "staking";

    /// Returns a registry with this template alone.
    pub fn registry() -> TemplateRegistry {
        let mut registry = TemplateRegistry::new();
        let taken = registry.register_own(Arc::new(Self));
        debug_assert!(taken.is_ok(), "it is the only one");
        registry
    }

    /// Returns the init code of the contract with these parameters and genesis stakes.
    pub fn init_code(params: &StakingParams, stakes: impl IntoIterator<Item: Into<interface::GenesisStake>>) -> Bytes {
        let stakes = stakes.into_iter().map(Into::into).collect();
        let call = StakingContract::constructorCall { params: params.into(), stakes };
        Marker(Self::ID).init_code(&call.abi_encode())
    }
}

impl Template for StakingTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn abi(&self) -> JsonAbi {
        StakingContract::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<layout::StakingStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("staking/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: StakingContract::constructorCall = host.decode_constructor(params)?;
        Staking(host).construct(&call.params.into(), &call.stakes)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            // Fees and transfers without call data: distributed when the next block begins.
            host.compute(DISPATCH_UNITS)?;
            return Ok(Bytes::new());
        }
        let call = host.decode_call(input, PAYABLE)?;
        dispatch(&mut Staking(host), call)
    }
}

#[rustfmt::skip] // one function a line
fn dispatch(staking: &mut Staking<'_, '_>, call: Calls) -> Result<Bytes, Stop> {
    let caller = staking.0.caller();
    if is_system(&call) {
        require(staking.0.is_system_call(), interface::OnlySystem { caller })?;
    }
    match call {
        Calls::join(call) => call.returns(staking.join(call.commissionBps, call.maxCommissionBps, call.maxCommissionChangeBps)?),
        Calls::joinWithKey(call) => {
            let commission = [call.commissionBps, call.maxCommissionBps, call.maxCommissionChangeBps];
            call.returns(staking.join_as(caller, Some((call.sealingKey, &call.proof)), commission)?)
        }
        Calls::joinFor(call) => call.returns(staking.join_for(&call.terms, &call.consent, &call.proof)?),
        Calls::setSealingKey(call) => call.returns(staking.set_sealing_key(call.key, &call.proof)?),
        Calls::stake(call) => call.returns(staking.delegate(caller)?),
        Calls::stakeFor(call) => call.returns(staking.stake_for(call.validator)?),
        Calls::unstake(call) => call.returns(staking.undelegate(caller, call.amount)?),
        Calls::delegate(call) => call.returns(staking.delegate(call.validator)?),
        Calls::undelegate(call) => call.returns(staking.undelegate(call.validator, call.amount)?),
        Calls::withdraw(call) => call.returns(staking.withdraw()?),
        Calls::claimRewards(call) => call.returns(staking.claim_rewards(call.validator)?),
        Calls::claimCommission(call) => call.returns(staking.claim_commission()?),
        Calls::setCommission(call) => call.returns(staking.set_commission(call.commissionBps)?),
        Calls::unjail(call) => call.returns(staking.unjail()?),
        Calls::exit(call) => call.returns(staking.exit()?),
        Calls::beginBlock(call) => call.returns(staking.begin_block(call.proposer, &call.absent)?),
        Calls::beginTurn(call) => call.returns(staking.begin_turn(call.proposer, &call.absent)?),
        Calls::slash(call) => call.returns(staking.slash(call.validator, call.offence, call.infractionHeight, call.infractionTime)?),
        Calls::penalize(call) => call.returns(staking.penalize(&call.validators, &call.amounts)?),
        Calls::removeValidator(call) => call.returns(staking.remove_validator(call.validator)?),
        Calls::setParameter(call) => call.returns(staking.set_parameter(call.parameter, call.value)?),
        Calls::electSet(call) => call.returns(staking.elect_set(&call.members)?),
        Calls::beginSet(call) => call.returns(staking.begin_set()?),
        Calls::endEpoch(call) => call.returns(staking.end_epoch(call.epoch, &call.rewards, &call.penalties, call.ejectionPercent)?),
        Calls::params(call) => call.returns(staking.params()?),
        Calls::totals(call) => call.returns(staking.totals()?),
        Calls::validatorCount(call) => call.returns(staking.validator_count()?),
        Calls::validators(call) => call.returns(staking.validators(call.from, call.count)?),
        Calls::validator(call) => call.returns(staking.validator(call.validator)?),
        Calls::sealingKey(call) => call.returns(STAKING.keys.key_of(staking.0, call.operator)?),
        Calls::operatorOf(call) => call.returns(staking.operator_of(call.key)?),
        Calls::stakeLockedUntil(call) => call.returns(staking.stake_locked_until(call.validator)?),
        Calls::nonces(call) => call.returns(STAKING.consents.nonces.get(staking.0, call.operator)?),
        Calls::weightAt(call) => call.returns(staking.weight_at(call.validator, call.height)?),
        Calls::totalWeightAt(call) => call.returns(staking.total_weight_at(call.height)?),
        Calls::delegation(call) => call.returns(staking.delegation_of(call.delegator, call.validator)?),
        Calls::unbondings(call) => call.returns(staking.unbondings(call.delegator)?),
        Calls::exitQueueLength(call) => call.returns(staking.length_of(STAKING.exits)?),
        Calls::activationQueueLength(call) => call.returns(staking.length_of(STAKING.activations)?),
        Calls::rotationQueueLength(call) => call.returns(staking.length_of(STAKING.rotations)?),
    }
}

/// A validator whose own address is its sealing key, with its stake in wei.
impl From<(Address, U256)> for interface::GenesisStake {
    fn from((validator, stake): (Address, U256)) -> Self {
        Self { validator, sealingKey: Address::ZERO, stake }
    }
}

/// Returns whether only system calls may use the function.
const fn is_system(call: &Calls) -> bool {
    matches!(
        call,
        Calls::beginBlock(_)
            | Calls::beginTurn(_)
            | Calls::slash(_)
            | Calls::penalize(_)
            | Calls::electSet(_)
            | Calls::beginSet(_)
            | Calls::endEpoch(_)
    )
}
