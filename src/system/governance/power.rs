//! The weights by which votes count.

use alloy_primitives::{Address, U256};

use super::layout::{GOVERNANCE, Settings};
use crate::{
    system::{
        address::{STAKING_ADDRESS, VALIDATORS_ADDRESS},
        staking::interface as staking,
        validators::interface as validators,
    },
    templates::common::external,
    vm::{Host, Stop},
};

/// Where weights come from.
enum Source {
    /// The staking contract.
    Stake,
    /// The contract of the validators.
    Validators,
    /// The list that genesis gave: one each.
    Genesis,
}

fn source(host: &mut Host<'_>, settings: &Settings) -> Result<Source, Stop> {
    Ok(if settings.has_stake {
        Source::Stake
    } else if host.has_code(&VALIDATORS_ADDRESS)? {
        Source::Validators
    } else {
        Source::Genesis
    })
}

/// Sets the validators of genesis.
pub(super) fn set_voters(host: &mut Host<'_>, voters: &[Address]) -> Result<(), Stop> {
    for voter in voters {
        GOVERNANCE.voters.set(host, *voter, true)?;
    }
    GOVERNANCE.voter_count.set(host, voters.len() as u64)
}

/// Returns an account's weight at the end of a past block.
pub(super) fn weight_at(
    host: &mut Host<'_>,
    settings: &Settings,
    validator: Address,
    height: u64,
) -> Result<u128, Stop> {
    match source(host, settings)? {
        Source::Stake => external::view(host, STAKING_ADDRESS, &staking::weightAtCall { validator, height }),
        Source::Validators => external::view(host, VALIDATORS_ADDRESS, &validators::weightAtCall { validator, height }),
        Source::Genesis => GOVERNANCE.voters.get(host, validator).map(u128::from),
    }
}

/// Returns all weight at the end of a past block.
pub(super) fn total_weight_at(host: &mut Host<'_>, settings: &Settings, height: u64) -> Result<u128, Stop> {
    match source(host, settings)? {
        Source::Stake => external::view(host, STAKING_ADDRESS, &staking::totalWeightAtCall { height }),
        Source::Validators => external::view(host, VALIDATORS_ADDRESS, &validators::totalWeightAtCall { height }),
        Source::Genesis => GOVERNANCE.voter_count.get(host).map(u128::from),
    }
}

/// Returns the least weight of a proposer.
pub(super) fn proposer_minimum(settings: &Settings) -> U256 {
    U256::from(settings.min_proposer_weight.max(1))
}
