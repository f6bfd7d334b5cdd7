//! Validators and stakes in a network's genesis.

use super::{chain_options::ChainOptionsError, error::NetworkError};
use crate::{
    chain::{GenesisAccount, GenesisSpec, GenesisValidator},
    consensus::{ConsensusConfig, ConsensusError, StakeUse, Validator, ValidatorSet},
    primitives::{Address, U256, ether},
    system::staking::{StakingParams, WEIGHT_UNIT},
};

/// Default stake of each validator of a chain with stake, as on Ethereum.
pub(super) fn default_stake() -> U256 {
    ether(32)
}

/// Balance of each operator beside its stake, to pay for transactions.
pub(super) fn default_funds() -> U256 {
    ether(1_000)
}

fn funded() -> GenesisAccount {
    GenesisAccount { balance: default_funds(), ..GenesisAccount::default() }
}

/// Completes genesis: its validators are `addresses`, in this order, with `stakes` where the chain has stake. Those and `candidates`
/// get funds where the chain has stake and genesis listed no validators. Returns the first validator set.
pub(super) fn complete(
    genesis: &mut GenesisSpec,
    config: &ConsensusConfig,
    addresses: &[Address],
    candidates: &[Address],
    stakes: Option<&[U256]>,
) -> Result<ValidatorSet, NetworkError> {
    // Before anything else, as it says most about a wrong list.
    let equal = ValidatorSet::equal(addresses.iter().copied()).map_err(ConsensusError::from)?;
    let is_staked = decide(genesis, config, stakes.is_some())?;
    if let Some(stakes) = stakes.filter(|stakes| stakes.len() != addresses.len()) {
        let (stakes, validators) = (stakes.len(), addresses.len());
        return Err(ChainOptionsError::StakeCount { stakes, validators }.into());
    }
    if genesis.validators.is_empty() {
        let listed = addresses.iter().enumerate().map(|(index, address)| GenesisValidator {
            address: *address,
            operator: None,
            name: format!("validator {index}"),
            stake: U256::ZERO,
        });
        genesis.validators = listed.collect();
        let operators = addresses.iter().chain(candidates).filter(|_| is_staked);
        operators.for_each(|address| {
            genesis.accounts.entry(*address).or_insert_with(funded);
        });
    }
    let listed = ValidatorSet::equal(genesis.validators.iter().map(|validator| validator.address));
    if listed.as_ref() != Ok(&equal) {
        let genesis = genesis.validators.iter().map(|validator| validator.address).collect();
        return Err(ChainOptionsError::OtherValidators { genesis, keys: addresses.to_vec() }.into());
    }
    if !is_staked {
        let registered = genesis.registered_validators();
        let members = registered.into_iter().map(|(address, weight)| Validator { address, weight });
        return match genesis.validator_registry {
            Some(_) => Ok(ValidatorSet::new(members).map_err(ConsensusError::from)?),
            None => Ok(equal),
        };
    }
    bond(genesis, addresses, stakes)?;
    let members = genesis.validators.iter().map(|validator| Validator {
        address: validator.address,
        weight: (validator.stake / WEIGHT_UNIT).saturating_to(),
    });
    Ok(ValidatorSet::new(members).map_err(ConsensusError::from)?)
}

/// Returns whether the chain has stake; its parameters are in genesis then.
fn decide(genesis: &mut GenesisSpec, config: &ConsensusConfig, has_stakes: bool) -> Result<bool, ChainOptionsError> {
    let info = config.info();
    let wants = has_stakes || genesis.staking.is_some();
    match info.stake_use {
        StakeUse::Never if wants => Err(ChainOptionsError::NoStake { protocol: info.name }),
        StakeUse::Never => Ok(false),
        StakeUse::Optional if !wants => Ok(false),
        StakeUse::Optional | StakeUse::Always => {
            let staking = genesis.staking.get_or_insert_with(StakingParams::default);
            if !matches!(config, ConsensusConfig::Pos(_)) {
                // Its queues move at the ends of epochs, which only proof of stake has.
                staking.churn_limit = 0;
            }
            Ok(true)
        }
    }
}

/// Sets the stakes of the listed validators where genesis does not.
fn bond(genesis: &mut GenesisSpec, addresses: &[Address], stakes: Option<&[U256]>) -> Result<(), ChainOptionsError> {
    let are_listed = genesis.validators.iter().any(|validator| !validator.stake.is_zero());
    for (index, address) in addresses.iter().enumerate() {
        let Some(validator) = genesis.validators.iter_mut().find(|validator| validator.address == *address) else {
            continue;
        };
        let given = stakes.and_then(|stakes| stakes.get(index)).copied();
        match given {
            Some(stake) if are_listed && stake != validator.stake => {
                let genesis = validator.stake;
                return Err(ChainOptionsError::StakeTwice { address: *address, genesis, given: stake });
            }
            _ if are_listed => {}
            Some(stake) => validator.stake = stake,
            None => validator.stake = default_stake(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        consensus::{ConsensusKind, pbft::PbftConfig},
        sim::network::{Network, builder::NetworkBuilder},
        system::staking::STAKING_ADDRESS,
    };

    fn pbft(count: u32) -> NetworkBuilder {
        Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(count)
    }

    fn weights(network: &Network) -> Vec<u64> {
        network.genesis_validators().members().iter().map(|member| member.weight).collect()
    }

    #[test]
    fn stakes_are_weights_and_lie_in_the_contract() {
        let plain = pbft(4).build().unwrap();
        assert_eq!(weights(&plain), [1; 4]);
        let staked = pbft(4).with_stakes([ether(1), ether(2), ether(3), ether(4)]).with_candidates(1).build().unwrap();
        let mut sorted = weights(&staked);
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3, 4].map(|tokens| tokens * 1_000_000_000));
        let chain = staked.primary().chain();
        let balance = |address| chain.latest_state().unwrap().account(&address).unwrap().unwrap_or_default().balance;
        assert_eq!(balance(STAKING_ADDRESS), ether(10));
        for index in 0..5 {
            assert_eq!(balance(NetworkBuilder::validator_key(0, index).address()), default_funds());
        }
        assert_eq!(staked.replicas().len(), 5);
    }

    #[test]
    fn a_chain_of_stake_without_stakes_has_32_tokens_each() {
        let staked = pbft(4).with_staking(StakingParams::default()).build().unwrap();
        assert_eq!(weights(&staked), [32_000_000_000; 4]);
    }

    #[test]
    fn impossible_stakes_say_what_to_change() {
        for (builder, want) in [
            (pbft(4).with_stakes([ether(1)]), "1 stakes are given for 4 validators"),
            (pbft(2).with_stakes([ether(1), U256::ZERO]), "weight 0"),
            (Network::builder().with_stakes([ether(1)]), "proof-of-authority does not support stake"),
            (Network::builder().with_staking(StakingParams::default()), "leave out"),
            (pbft(1).with_staking(StakingParams { downtime_window: 0, ..StakingParams::default() }), "downtimeWindow"),
        ] {
            let error = builder.build().unwrap_err();
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(format!("{error} {cause}").contains(want), "{error} {cause}");
        }
    }

    #[test]
    fn every_protocol_says_what_it_makes_of_stake() {
        for kind in ConsensusKind::ALL {
            assert_eq!(kind.on_demand().uses_stake(), kind.stake_use() == StakeUse::Always);
        }
    }
}
