//! The staking contract: the Cosmos SDK's staking, distribution and slashing as one native contract at
//! [`STAKING_ADDRESS`].
//!
//! Deployed in genesis where the specification has `staking`. Operators and delegators change it by transactions, the
//! protocol by system calls at the start of a block: [`begin_block`], [`slash`], [`penalize`], [`end_epoch`]. Every
//! change of a validator's consensus weight emits the event `WeightChanged`, from which [`weight_changes`]
//! collects a block's [`ValidatorUpdates`](super::ValidatorUpdates) (as EIP-6110 does for deposits).
//!
//! - A validator is the address whose key seals; it joins with a stake of its own, and others delegate to it. All of it is
//!   one pool divided into shares; its weight is the pool in gwei while it is bonded, else 0.
//! - Undelegated stake waits for the unbonding period, counted from when the validator was unbonded if that was earlier.
//! - A slash burns a part of the pool at once, and the same part of each unbonding begun at the infraction's height or
//!   later, once it is withdrawn. (The Cosmos SDK charges the pool at the infraction's height; here the delegators of the
//!   pool now are charged.)
//! - Validators become active, and leave, through two queues: at the end of an epoch some of each ([`churn_limit`]). A validator
//!   whose pool penalties take to a floor is ejected: it waits in the exit queue like one that asked to leave.
//! - Double signing tombstones. Absence in more than half of a window of blocks slashes and jails; jail clears the window.
//! - Rewards are minted for a block's proposer, and at the end of an epoch for those whom the protocol names: a validator's
//!   commission first, the rest for its pool pro rata. Other income of the
//!   contract, such as the fees of blocks whose beneficiary it is, goes to the proposer's pool one block later.
//! - The contract's balance is the sum of its liabilities: stake bonded, stake unbonding, rewards, and fees not yet
//!   distributed. No operation loops over all validators or delegators.

mod calls;
mod delegations;
pub mod interface;
mod layout;
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
use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall, SolConstructor};

use self::{interface::StakingContract, layout::Staking};
use crate::vm::{
    Host, Marker, Stop, Template, TemplateId, TemplateRegistry,
    abi::{self, CallArgs, revert},
};

pub use calls::{EpochDeltas, Offence, begin_block, end_epoch, penalize, slash, weight_changes};
pub use delegations::UNBONDINGS_MAX;
pub use layout::StakeSums;
pub use params::{
    CHURN_LIMIT_QUOTIENT, DOWNTIME_WINDOW_MAX, StakingParams, StakingParamsError, VALIDATORS_MAX, WEIGHT_UNIT,
    churn_limit,
};
pub use record::{StakeRecord, ValidatorRecord, ValidatorStatus};
pub use views::PAGE_MAX;

/// Address of the staking contract.
pub const STAKING_ADDRESS: Address = address!("0000000000000000000000000000000000001000");

/// Compute units of dispatching a function and decoding its arguments.
const DISPATCH_UNITS: u64 = 100;

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
    pub fn init_code(params: &StakingParams, stakes: impl IntoIterator<Item = (Address, U256)>) -> Bytes {
        let stakes = stakes.into_iter().map(|(validator, stake)| interface::GenesisStake { validator, stake });
        let call = StakingContract::constructorCall { params: params.into(), stakes: stakes.collect() };
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

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        host.refuse_value()?;
        host.compute(DISPATCH_UNITS)?;
        let call = abi::decode_constructor::<StakingContract::constructorCall>(params)?;
        Staking(host).construct(&call.params.into(), &call.stakes)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        host.compute(DISPATCH_UNITS)?;
        if input.is_empty() {
            // Fees and transfers without call data: distributed when the next block begins.
            return Ok(Bytes::new());
        }
        let (selector, args) = abi::split_call(input)?;
        match selector {
            interface::joinCall::SELECTOR | interface::stakeCall::SELECTOR | interface::delegateCall::SELECTOR => {}
            _ => host.refuse_value()?,
        }
        let mut staking = Staking(host);
        if is_system(selector) { system(&mut staking, selector, args) } else { dispatch(&mut staking, selector, args) }
    }
}

#[rustfmt::skip] // one function a line
fn dispatch(staking: &mut Staking<'_, '_>, selector: [u8; 4], args: CallArgs<'_>) -> Result<Bytes, Stop> {
    use crate::vm::abi;
    use interface::*;
    let caller = staking.0.caller();
    match selector {
        joinCall::SELECTOR => staking.join(args.u16(0)?, args.u16(1)?, args.u16(2)?),
        stakeCall::SELECTOR => staking.delegate(caller),
        unstakeCall::SELECTOR => staking.undelegate(caller, args.u256(0)?),
        delegateCall::SELECTOR => staking.delegate(args.address(0)?),
        undelegateCall::SELECTOR => staking.undelegate(args.address(0)?, args.u256(1)?),
        withdrawCall::SELECTOR => staking.withdraw(),
        claimRewardsCall::SELECTOR => staking.claim_rewards(args.address(0)?),
        claimCommissionCall::SELECTOR => staking.claim_commission(),
        setCommissionCall::SELECTOR => staking.set_commission(args.u16(0)?),
        unjailCall::SELECTOR => staking.unjail(),
        exitCall::SELECTOR => staking.exit(),
        paramsCall::SELECTOR => staking.params(),
        totalsCall::SELECTOR => staking.totals(),
        validatorCountCall::SELECTOR => staking.validator_count(),
        validatorsCall::SELECTOR => staking.validators(args.u256(0)?, args.u256(1)?),
        validatorCall::SELECTOR => staking.validator(args.address(0)?),
        delegationCall::SELECTOR => staking.delegation_of(args.address(0)?, args.address(1)?),
        unbondingsCall::SELECTOR => staking.unbondings(args.address(0)?),
        exitQueueLengthCall::SELECTOR => staking.length_of(layout::EXITS),
        activationQueueLengthCall::SELECTOR => staking.length_of(layout::ACTIVATIONS),
        _ => Err(abi::empty_revert()),
    }
}

fn is_system(selector: [u8; 4]) -> bool {
    use interface::{beginBlockCall, endEpochCall, penalizeCall, slashCall};
    [beginBlockCall::SELECTOR, slashCall::SELECTOR, penalizeCall::SELECTOR, endEpochCall::SELECTOR].contains(&selector)
}

/// Dispatches the functions that only system calls may use.
fn system(staking: &mut Staking<'_, '_>, selector: [u8; 4], args: CallArgs<'_>) -> Result<Bytes, Stop> {
    use interface::{beginBlockCall, endEpochCall, penalizeCall, slashCall};
    if !staking.0.is_system_call() {
        return Err(revert(&interface::OnlySystem { caller: staking.0.caller() }));
    }
    match selector {
        beginBlockCall::SELECTOR => {
            let (proposer, absent) = args.decode::<<beginBlockCall as SolCall>::Parameters<'_>>()?;
            staking.begin_block(proposer, &absent)
        }
        slashCall::SELECTOR => {
            let (validator, offence, height, time) = args.decode::<<slashCall as SolCall>::Parameters<'_>>()?;
            staking.slash(validator, offence, height, time)
        }
        penalizeCall::SELECTOR => {
            let (validators, amounts) = args.decode::<<penalizeCall as SolCall>::Parameters<'_>>()?;
            staking.penalize(&validators, &amounts)
        }
        endEpochCall::SELECTOR => {
            let (_, rewards, penalties, ejection_percent) =
                args.decode::<<endEpochCall as SolCall>::Parameters<'_>>()?;
            staking.end_epoch(&rewards, &penalties, ejection_percent)
        }
        _ => Err(abi::empty_revert()),
    }
}
