//! Whether a validator that nobody here seals for would cost the protocol its quorum.
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
        staking::{self, STAKING_ADDRESS, ValidatorStatus, WEIGHT_UNIT, interface as stake},
        validators::{self, interface as registry},
    },
};

/// A validator of the set that is coming.
struct Coming {
    operator: Address,
    sealing_key: Address,
    weight: u64,
    /// Whether it waits to leave.
    is_leaving: bool,
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
    let coming = coming(&view)?;
    let present = view.validators().map_err(PlatformError::from_query)?;
    let validates = |operator: Address| present.iter().any(|one| one.address == operator && one.validates);
    let (mut all, mut reached) = (u128::from(added), 0_u128);
    for one in coming.iter().filter(|one| one.operator != operator) {
        match ValidatorProcess::of(chain, one.sealing_key) {
            ValidatorProcess::Up if one.is_leaving || !validates(one.operator) => {}
            ValidatorProcess::Up => {
                all += u128::from(one.weight);
                reached += u128::from(one.weight);
            }
            ValidatorProcess::Down | ValidatorProcess::Elsewhere => all += u128::from(one.weight),
        }
    }
    // Who is counted until the boundary alone, and is not up.
    for one in present.iter().filter(|one| one.validates && coming.iter().all(|coming| coming.operator != one.address))
    {
        if ValidatorProcess::of(chain, one.sealing_key) != ValidatorProcess::Up {
            let staked = one.stake.as_ref().map_or(1, |stake| weight_of(stake.tokens));
            all += u128::from(one.weight.max(staked));
        }
    }
    let (is_enough, rule) = match chain.node().consensus() {
        ConsensusKind::Poa | ConsensusKind::Raft => (reached * 2 > all, "more than half"),
        ConsensusKind::Pos | ConsensusKind::Dpos | ConsensusKind::Pbft => {
            (reached * 3 > all * 2, "more than two thirds")
        }
    };
    if is_enough {
        return Ok(());
    }
    let message = format!(
        "the key {key} is held elsewhere, so that its validator is down here: with it and those that wait to join {reached} of a weight \
         of {all} would be up, and the protocol needs {rule}; add a validator whose key the service holds first, and wait until it is \
         active"
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
        is_leaving: status == ValidatorStatus::Exiting,
    })
}

fn weight_of(tokens: U256) -> u64 {
    (tokens / WEIGHT_UNIT).saturating_to()
}

/// Calls a view function of a contract of the system on the pending block.
fn pending<C: SolCall>(view: &NodeView, contract: Address, call: &C) -> Result<C::Return, PlatformError> {
    let request = CallRequest::call(contract, call.abi_encode());
    let outcome = view.call(&request, BlockRef::Pending, &StateOverrides::new(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    let returned = outcome.success_output().and_then(|output| C::abi_decode_returns(output).ok());
    returned.ok_or_else(|| PlatformError::internal(format!("{} failed: {}", C::SIGNATURE, outcome.describe())))
}
