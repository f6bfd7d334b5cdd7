//! Whether a validator that nobody here seals for, one less, or less of the stake of one would cost the protocol its quorum.
//!
//! What counts is the set that is coming: what the contract says after the transactions that wait, so that two that are added before one
//! boundary count both. A validator that is up and waits or leaves is in no sum, for nobody knows which change comes first.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::shape::ValidatorProcess;
use crate::{
    chain::{CallRequest, StateOverrides},
    consensus::ConsensusKind,
    node::{BlockRef, NodeView},
    platform::{PlatformError, blockchain::Blockchain},
    system::{
        governance::VALIDATORS_ADDRESS,
        staking::{self, STAKING_ADDRESS, ValidatorRecord, ValidatorStatus, WEIGHT_UNIT, interface as stake},
        validators::{self, interface as registry},
    },
};

/// A validator of the set that is coming.
struct Coming {
    operator: Address,
    sealing_key: Address,
    weight: u64,
    /// Its stake in the smallest unit; none on a chain without.
    stake: U256,
    /// Whether it waits to leave.
    is_leaving: bool,
}

impl Coming {
    /// Returns what it weighs after a change; `None` where that takes it out.
    fn weight_after(&self, change: Change) -> Option<u64> {
        match change {
            Change::Leaves(operator) if operator == self.operator => None,
            Change::HasLess(operator, amount) if operator == self.operator => {
                Some(weight_of(self.stake.saturating_sub(amount)))
            }
            Change::Nothing | Change::Leaves(_) | Change::HasLess(..) => Some(self.weight),
        }
    }
}

/// A change of the set that is coming.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// An operator's validator is out.
    Leaves(Address),
    /// An operator's validator has so much less stake, in the smallest unit.
    HasLess(Address, U256),
}

/// The validators that the protocol counts, and those that the contract has after the transactions that wait.
struct Sets {
    present: Vec<ValidatorRecord>,
    coming: Vec<Coming>,
}

/// Weights of the set that is coming.
#[derive(Clone, Copy)]
struct Sums {
    all: u128,
    /// Of those that are up.
    reached: u128,
}

impl Sets {
    fn of(view: &NodeView) -> Result<Self, PlatformError> {
        let coming = coming(view)?;
        Ok(Self { present: view.validators().map_err(PlatformError::from_query)?, coming })
    }

    /// Sums the weights after a change of the set that is coming.
    fn sums_after(&self, chain: &Blockchain, change: Change) -> Sums {
        let validates = |operator: Address| self.present.iter().any(|one| one.address == operator && one.validates);
        let mut sums = Sums { all: 0, reached: 0 };
        for one in &self.coming {
            let Some(weight) = one.weight_after(change).map(u128::from) else { continue };
            match ValidatorProcess::of(chain, one.sealing_key) {
                ValidatorProcess::Up if one.is_leaving || !validates(one.operator) => {}
                ValidatorProcess::Up => {
                    sums.all += weight;
                    sums.reached += weight;
                }
                ValidatorProcess::Down | ValidatorProcess::Elsewhere => sums.all += weight,
            }
        }
        // Who is counted until the boundary alone, and is not up.
        let is_coming = |operator: Address| self.coming.iter().any(|coming| coming.operator == operator);
        for one in self.present.iter().filter(|one| one.validates && !is_coming(one.address)) {
            if ValidatorProcess::of(chain, one.sealing_key) != ValidatorProcess::Up {
                let staked = one.stake.as_ref().map_or(1, |stake| weight_of(stake.tokens));
                sums.all += u128::from(one.weight.max(staked));
            }
        }
        sums
    }
}

impl Sums {
    /// Returns whether those that are up are enough.
    const fn is_enough(self, protocol: ConsensusKind) -> bool {
        match protocol {
            ConsensusKind::Poa | ConsensusKind::Raft => self.reached * 2 > self.all,
            ConsensusKind::Pos | ConsensusKind::Dpos | ConsensusKind::Pbft => self.reached * 3 > self.all * 2,
        }
    }
}

/// Names the part of the weight that a protocol needs.
const fn rule(protocol: ConsensusKind) -> &'static str {
    match protocol {
        ConsensusKind::Poa | ConsensusKind::Raft => "more than half",
        ConsensusKind::Pos | ConsensusKind::Dpos | ConsensusKind::Pbft => "more than two thirds",
    }
}

/// Refuses a validator with a key that is held elsewhere where those that are up would be too few with it.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check(chain: &Blockchain, operator: Address, key: Address, added: u64) -> Result<(), PlatformError> {
    if chain.engine().replica_of(key).is_some() {
        return Ok(());
    }
    let view = chain.node().view();
    if !view.chain().has_stake() && !view.chain().has_validator_registry() {
        // Nobody joins by a transaction, which is refused with what is missing.
        return Ok(());
    }
    let others = Sets::of(&view)?.sums_after(chain, Change::Leaves(operator));
    let Sums { all, reached } = Sums { all: others.all + u128::from(added), ..others };
    let protocol = chain.node().consensus();
    if (Sums { all, reached }).is_enough(protocol) {
        return Ok(());
    }
    let rule = rule(protocol);
    let message = format!(
        "the key {key} is held elsewhere, so that its validator is down here: with it and those that wait to join {reached} of a weight \
         of {all} would be up, and the protocol needs {rule}; add a validator whose key the service holds first, and wait until it is \
         active"
    );
    Err(PlatformError::Conflict { message })
}

/// Refuses to take a validator out where those that are up are enough with it, and would be too few without it.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(in crate::platform) fn check_without(chain: &Blockchain, operator: Address) -> Result<(), PlatformError> {
    check_change(chain, Change::Leaves(operator), || format!("without the validator of {operator}"))
}

/// Refuses to take stake back from a validator where those that are up are enough with it, and would be too few without it. `amount` is in
/// the smallest unit; above what the delegator has it is all of that.
///
/// It is proof of stake whose votes weigh stake. Delegated proof of stake counts each producer once: less stake alters who is elected, where
/// there are more candidates than producers, and is not judged here.
///
/// # Errors
/// [`PlatformError::Conflict`]; those of reading.
pub(super) fn check_less_stake(
    chain: &Blockchain,
    operator: Address,
    (delegator, amount): (Address, U256),
) -> Result<(), PlatformError> {
    if chain.node().consensus() != ConsensusKind::Pos {
        return Ok(());
    }
    let call = stake::delegationCall { delegator, validator: operator };
    let taken = pending(&chain.node().view(), STAKING_ADDRESS, &call)?.amount.min(amount);
    check_change(chain, Change::HasLess(operator, taken), || format!("with {taken} less staked on {operator}"))
}

/// Refuses a change where those that are up are enough before it, and would be too few after it. `described` says what the change is.
fn check_change(chain: &Blockchain, change: Change, described: impl FnOnce() -> String) -> Result<(), PlatformError> {
    if chain.network().is_none() {
        // Nobody stops a chain on demand.
        return Ok(());
    }
    let sets = Sets::of(&chain.node().view())?;
    let (before, after) = (sets.sums_after(chain, Change::Nothing), sets.sums_after(chain, change));
    let protocol = chain.node().consensus();
    if after.is_enough(protocol) || !before.is_enough(protocol) {
        return Ok(());
    }
    let (Sums { all, reached }, rule, described) = (after, rule(protocol), described());
    let message = format!(
        "{described}, with those that wait to join and are down here, {reached} of a weight of {all} would be up, and the protocol needs \
         {rule}: start or remove validators that are down, or add one whose key the service holds, and wait until the protocol has taken \
         that over"
    );
    Err(PlatformError::Conflict { message })
}

/// Returns the validators with weight that the contract has after the transactions that wait.
fn coming(view: &NodeView) -> Result<Vec<Coming>, PlatformError> {
    let mut found = Vec::new();
    let mut from = 0;
    if view.chain().has_stake() {
        loop {
            let call = stake::validatorsCall { from: U256::from(from), count: U256::from(staking::PAGE_MAX) };
            let page = pending(view, STAKING_ADDRESS, &call)?;
            found.extend(page.iter().filter_map(of_stake));
            from += page.len() as u64;
            if (page.len() as u64) < staking::PAGE_MAX {
                return Ok(found);
            }
        }
    }
    while view.chain().has_validator_registry() {
        let call = registry::validatorsCall { from: U256::from(from), count: U256::from(validators::PAGE_MAX) };
        let page = pending(view, VALIDATORS_ADDRESS, &call)?;
        found.extend(page.iter().map(|info| Coming {
            operator: info.validator,
            sealing_key: info.sealingKey,
            weight: info.weight,
            stake: U256::ZERO,
            is_leaving: false,
        }));
        from += page.len() as u64;
        if (page.len() as u64) < validators::PAGE_MAX {
            break;
        }
    }
    Ok(found)
}

/// Returns a validator with stake that is in consensus, or waits for it.
fn of_stake(info: &stake::ValidatorInfo) -> Option<Coming> {
    let status = ValidatorStatus::from_code(info.status);
    matches!(status, ValidatorStatus::Bonded | ValidatorStatus::Exiting | ValidatorStatus::Pending).then(|| Coming {
        operator: info.validator,
        sealing_key: info.sealingKey,
        weight: weight_of(info.tokens),
        stake: info.tokens,
        is_leaving: status == ValidatorStatus::Exiting,
    })
}

fn weight_of(tokens: U256) -> u64 {
    (tokens / WEIGHT_UNIT).saturating_to()
}

/// Calls a view function of a contract of the system on the pending block: what it returns counts the transactions that wait.
pub(super) fn pending<C: SolCall>(view: &NodeView, contract: Address, call: &C) -> Result<C::Return, PlatformError> {
    let request = CallRequest::call(contract, call.abi_encode());
    let outcome = view.call(&request, BlockRef::Pending, &StateOverrides::new(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    let returned = outcome.success_output().and_then(|output| C::abi_decode_returns(output).ok());
    returned.ok_or_else(|| PlatformError::internal(format!("{} failed: {}", C::SIGNATURE, outcome.describe())))
}
