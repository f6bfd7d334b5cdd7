//! Money is neither made nor lost but by the rules.

use core::ops::ControlFlow;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ChainError, ExecutedBlock},
    consensus::ReplicaId,
    primitives::{B256, U256},
    sim::{Network, Step},
    state::StateView,
    system::staking::StakeSums,
};

/// Every so many blocks all accounts are added up.
const SUM_EVERY: u64 = 8;

/// Blocks that are remembered as checked.
const CHECKED_MAX: usize = 1_024;

/// Accounts up to which all are added up; above, only the staking contract's own sums are checked.
const ACCOUNTS_MAX: usize = 4_096;

/// The staking contract holds what it owes, and all accounts together hold what genesis gave, and what was minted since,
/// less what was burned: slashed stake and base fees (EIP-1559).
///
/// Not for chains on which balances are set by hand.
#[derive(Clone, Debug, Default)]
pub struct SupplyKept {
    heads: BTreeMap<ReplicaId, B256>,
    /// Base fees burned up to these blocks.
    checked: BTreeMap<B256, U256>,
    /// Heights of what is checked, to forget the oldest.
    by_height: BTreeSet<(u64, B256)>,
    /// All that genesis gave.
    given: Option<U256>,
}

impl Invariant for SupplyKept {
    fn name(&self) -> &'static str {
        "supply-kept"
    }

    fn on_step(&mut self, network: &Network, step: &Step) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let chain = replica.chain();
        let head = chain.head();
        let is_same = self.heads.insert(replica.id(), head.hash()) == Some(head.hash());
        if is_same || self.checked.contains_key(&head.hash()) || chain.spec().allow_interventions {
            return Ok(());
        }
        match self.check(chain, head) {
            Ok(None) => Ok(()),
            Ok(Some(wrong)) => {
                let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
                Err(Violation::new(self.name(), network, detail))
            }
            // A state that is pruned can't be judged any more.
            Err(_) => Ok(()),
        }
    }
}

impl SupplyKept {
    /// What is wrong with the money after `head`.
    fn check(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Option<String>, ChainError> {
        let state = chain.state_of(head.hash())?;
        let sums = StakeSums::read(&*state)?;
        if sums.balance < sums.owed() {
            return Ok(Some(format!("the staking contract holds {} and owes {}", sums.balance, sums.owed())));
        }
        let fees = self.base_fees_up_to(chain, head)?;
        if !head.height().get().is_multiple_of(SUM_EVERY) {
            return Ok(None);
        }
        let Some(held) = total(&state)? else { return Ok(None) };
        let given = match self.given {
            Some(given) => given,
            None => {
                let genesis = chain.state_of(chain.genesis().hash())?;
                let Some(given) = total(&genesis)? else { return Ok(None) };
                *self.given.insert(given)
            }
        };
        let (got, want) = (held.saturating_add(sums.burned).saturating_add(fees), given.saturating_add(sums.minted));
        Ok((got != want).then(|| {
            format!(
                "accounts hold {held}, {} of stake and {fees} of fees were burned; genesis gave {given} and {} was minted",
                sums.burned, sums.minted
            )
        }))
    }

    /// Base fees that were burned up to `head`, from the newest ancestor that is remembered.
    fn base_fees_up_to(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<U256, ChainError> {
        let mut path = Vec::new();
        let mut block = head.clone();
        let mut sum = loop {
            if let Some(known) = self.checked.get(&block.hash()) {
                break *known;
            }
            if block.height().get() == 0 {
                break U256::ZERO;
            }
            let parent = chain.block(block.block().parent_hash())?;
            path.push(core::mem::replace(&mut block, parent));
        };
        for block in path.into_iter().rev() {
            let header = block.block().header();
            let base_fee = U256::from(header.base_fee_per_gas.unwrap_or(0));
            sum = sum.saturating_add(base_fee * U256::from(header.gas_used));
            self.checked.insert(block.hash(), sum);
            self.by_height.insert((header.number, block.hash()));
        }
        while self.checked.len() > CHECKED_MAX {
            let Some((_, hash)) = self.by_height.pop_first() else { break };
            self.checked.remove(&hash);
        }
        Ok(sum)
    }
}

/// All balances together; `None` where there are too many accounts to add up.
fn total(state: &Arc<dyn StateView>) -> Result<Option<U256>, ChainError> {
    let (mut sum, mut count) = (U256::ZERO, 0);
    state.for_each_account(&mut |_, account| {
        sum = sum.saturating_add(account.balance);
        count += 1;
        if count > ACCOUNTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok((count <= ACCOUNTS_MAX).then_some(sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::{GenesisSpec, Intervention},
        consensus::{ConsensusConfig, dpos::DposConfig, poa::PoaConfig},
        primitives::{KeyPair, ether},
        sim::{NetworkBuilder, NetworkError, ValidatorAction},
        system::staking::{STAKING_ADDRESS, StakingParams},
    };

    fn builder(config: DposConfig) -> NetworkBuilder {
        Network::builder()
            .with_consensus(ConsensusConfig::Dpos(config))
            .with_validators(4)
            .with_candidates(1)
            .with_seed(3)
            .with_invariants([Box::new(SupplyKept::default()) as Box<dyn Invariant>])
    }

    fn key(index: u32) -> KeyPair {
        NetworkBuilder::validator_key(3, index)
    }

    #[test]
    fn stake_rewards_and_shared_fees_keep_the_supply() {
        let params = StakingParams { unbonding_secs: 5, share_fees: true, ..StakingParams::default() };
        let mut network = builder(DposConfig::default()).with_staking(params).build().unwrap();
        let validator = key(0).address();
        network.run_to_height(2).unwrap();
        for (actor, action) in [
            (4, ValidatorAction::Join { stake: ether(9), commission_bps: 100 }),
            (1, ValidatorAction::Delegate { validator, amount: ether(5) }),
        ] {
            network.validator_action(&key(actor), &action).unwrap();
        }
        network.run_to_height(10).unwrap();
        network.validator_action(&key(1), &ValidatorAction::Undelegate { validator, amount: U256::MAX }).unwrap();
        network.run_to_height(20).unwrap();
        network.validator_action(&key(1), &ValidatorAction::ClaimRewards { validator }).unwrap();
        network.validator_action(&key(0), &ValidatorAction::ClaimCommission).unwrap();
        network.run_to_height(33).unwrap();
        let chain = network.primary().chain();
        let sums = StakeSums::read(&*chain.latest_state().unwrap()).unwrap();
        assert!(sums.minted > U256::ZERO && sums.balance >= sums.owed());
        let tips = (1..=33).map(|height| {
            let block = chain.block_at(crate::primitives::Height::new(height)).unwrap();
            U256::from(block.block().header().gas_used) * U256::from(1_000_000_000)
        });
        let tips = tips.fold(U256::ZERO, |sum, tip| sum + tip);
        assert!(tips > U256::ZERO);
        let state = chain.latest_state().unwrap();
        let own = state.account(&key(2).address()).unwrap().unwrap().balance;
        assert_eq!(own, ether(1_000), "a proposer that does nothing gets its tips by the contract");
    }

    #[test]
    fn money_from_nowhere_is_found() {
        for target in [STAKING_ADDRESS, key(0).address()] {
            let genesis = GenesisSpec::new(7).with_balance(key(0).address(), ether(1));
            let mut network = Network::builder()
                .with_genesis(GenesisSpec { allow_interventions: true, ..genesis })
                .with_consensus(ConsensusConfig::Poa(PoaConfig::default()))
                .build()
                .unwrap();
            network.intervene(&Intervention::Balance { address: target, balance: ether(2) }).unwrap();
            network.run_to_height(SUM_EVERY).unwrap();
            let chain = network.primary().chain();
            let wrong = SupplyKept::default().check(chain, chain.head()).unwrap();
            assert!(wrong.is_some_and(|wrong| wrong.contains("accounts hold")));
        }
    }

    #[test]
    fn a_contract_that_owes_more_than_it_has_is_found() {
        let mut genesis = GenesisSpec::new(7);
        genesis.allow_interventions = true;
        let mut network = builder(DposConfig::default()).with_genesis(genesis).build().unwrap();
        network.intervene(&Intervention::Balance { address: STAKING_ADDRESS, balance: ether(1) }).unwrap();
        network.run_to_height(1).unwrap();
        let chain = network.primary().chain();
        let wrong = SupplyKept::default().check(chain, chain.head()).unwrap();
        assert!(wrong.is_some_and(|wrong| wrong.contains("owes")));
    }

    #[test]
    fn no_run_is_stopped_for_nothing() {
        let result: Result<(), NetworkError> = (|| {
            let mut network = builder(DposConfig::default()).build()?;
            network.run_to_height(40)
        })();
        assert!(result.is_ok(), "{result:?}");
    }
}
