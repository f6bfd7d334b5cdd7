//! Conservation of the token supply.

use core::ops::ControlFlow;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Invariant, Violation, honest};
use crate::{
    chain::{Chain, ExecutedBlock, ReadError},
    consensus::ReplicaId,
    primitives::{B256, U256},
    sim::network::{Network, step::SimStep},
    state::{StateError, StateView},
    system::staking::StakeSums,
};

/// Checked blocks that are remembered.
const CHECKED_MAX: usize = 1_024;

/// Accounts up to which all balances are summed after every block. With k times more accounts they are summed every k blocks;
/// each sum covers everything since genesis, so that no change escapes.
const ACCOUNTS_MAX: usize = 4_096;

/// The staking contract holds what it owes, and all accounts together hold what genesis gave, and what was minted since,
/// less what was burned: slashed stake and base fees (EIP-1559). Every block that an honest replica adopts is checked, those
/// of a fetched branch too.
///
/// A block whose state was pruned before the check is counted as unjudged; a head whose state cannot be read is a violation. Not
/// for chains with interventions in balances.
#[derive(Clone, Debug, Default)]
pub struct SupplyConserved {
    heads: BTreeMap<ReplicaId, B256>,
    /// Base fees burned up to these blocks.
    checked: BTreeMap<B256, U256>,
    /// Heights of checked blocks, to remove the oldest.
    by_height: BTreeSet<(u64, B256)>,
    /// Sum of all balances in genesis.
    given: Option<U256>,
    /// Balances are summed after blocks at multiples of this height.
    sum_every: u64,
    /// Blocks that were summed, and blocks whose state was pruned.
    summed: u64,
    unjudged: u64,
}

impl Invariant for SupplyConserved {
    fn name(&self) -> &'static str {
        "supply-kept"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Some(replica) = honest(network, step) else { return Ok(()) };
        let chain = replica.chain();
        let head = chain.head();
        let is_same = self.heads.insert(replica.id(), head.hash()) == Some(head.hash());
        if is_same || self.checked.contains_key(&head.hash()) || chain.spec().allow_interventions {
            return Ok(());
        }
        let wrong = match self.check(chain, head) {
            Ok(None) => return Ok(()),
            Ok(Some(wrong)) => wrong,
            Err(error) => format!("the head's state can't be read: {error}"),
        };
        let detail = format!("{} at height {}: {wrong}", replica.id(), head.height());
        Err(Violation::new(self.name(), network, detail))
    }
}

impl SupplyConserved {
    /// Returns the number of blocks after which all balances were summed.
    pub const fn summed(&self) -> u64 {
        self.summed
    }

    /// Returns the number of adopted blocks whose state was pruned before the check.
    pub const fn unjudged(&self) -> u64 {
        self.unjudged
    }

    /// Checks the supply after `head` and after the unchecked blocks below it; returns the discrepancy.
    fn check(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Option<String>, ReadError> {
        for (block, fees) in self.new_blocks(chain, head)? {
            match self.check_one(chain, &block, fees) {
                Ok(None) => {}
                // The genesis sum of a chain that was joined late is unknown.
                Err(ReadError::Pruned { .. }) if block.hash() != head.hash() || self.given.is_none() => {
                    self.unjudged += 1;
                }
                other => return other,
            }
        }
        Ok(None)
    }

    /// Checks the supply after `block`, given the base fees burned up to it; returns the discrepancy.
    fn check_one(&mut self, chain: &Chain, block: &ExecutedBlock, fees: U256) -> Result<Option<String>, ReadError> {
        let state = chain.state_of(block.hash())?;
        let sums = StakeSums::read(&*state)?;
        if sums.balance < sums.owed() {
            return Ok(Some(format!("the staking contract holds {} and owes {}", sums.balance, sums.owed())));
        }
        let given = match self.given {
            Some(given) => given,
            None => *self.given.insert(total(&chain.state_of(chain.genesis().hash())?)?.0),
        };
        if !block.height().get().is_multiple_of(self.sum_every.max(1)) {
            return Ok(None);
        }
        let (held, accounts) = total(&state)?;
        self.sum_every = 1 + (accounts / ACCOUNTS_MAX) as u64;
        self.summed += 1;
        let (got, want) = (held.saturating_add(sums.burned).saturating_add(fees), given.saturating_add(sums.minted));
        Ok((got != want).then(|| {
            format!(
                "accounts hold {held}, {} of stake and {fees} of fees were burned; genesis gave {given} and {} was minted",
                sums.burned, sums.minted
            )
        }))
    }

    /// Returns the blocks from the newest remembered ancestor up to `head`, oldest first, each with the base fees burned up to
    /// it.
    fn new_blocks(&mut self, chain: &Chain, head: &ExecutedBlock) -> Result<Vec<(ExecutedBlock, U256)>, ReadError> {
        let mut new = Vec::new();
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
            new.push((block, sum));
        }
        while self.checked.len() > CHECKED_MAX {
            let Some((_, hash)) = self.by_height.pop_first() else { break };
            self.checked.remove(&hash);
        }
        Ok(new)
    }
}

/// Returns the sum of all balances, and the number of accounts.
fn total(state: &Arc<dyn StateView>) -> Result<(U256, usize), StateError> {
    let (mut sum, mut count) = (U256::ZERO, 0);
    state.for_each_account(&mut |_, account| {
        sum = sum.saturating_add(account.balance);
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok((sum, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::{GenesisSpec, Intervention},
        consensus::{ConsensusConfig, dpos::DposConfig, poa::PoaConfig},
        primitives::{Height, KeyPair, ether},
        sim::network::{builder::NetworkBuilder, error::NetworkError, validator_action::ValidatorAction},
        system::staking::{STAKING_ADDRESS, StakingParams},
    };

    fn builder(config: DposConfig) -> NetworkBuilder {
        Network::builder()
            .with_consensus(ConsensusConfig::Dpos(config))
            .with_validators(4)
            .with_candidates(1)
            .with_seed(3)
            .with_invariants([Box::new(SupplyConserved::default()) as Box<dyn Invariant>])
    }

    fn key(index: u32) -> KeyPair {
        NetworkBuilder::validator_key(3, index)
    }

    #[test]
    fn stake_rewards_and_shared_fees_keep_the_supply() {
        let params = StakingParams { unbonding_secs: 5, share_fees: true, ..StakingParams::default() };
        let mut network = builder(DposConfig::default()).with_staking(params).build().unwrap();
        let validator = key(0).address();
        network.run_to_height(Height::new(2)).unwrap();
        for (actor, action) in [
            (4, ValidatorAction::Join { stake: ether(9), commission_bps: 100 }),
            (1, ValidatorAction::Delegate { validator, amount: ether(5) }),
        ] {
            network.validator_action(&key(actor), &action).unwrap();
        }
        network.run_to_height(Height::new(10)).unwrap();
        network.validator_action(&key(1), &ValidatorAction::Undelegate { validator, amount: U256::MAX }).unwrap();
        network.run_to_height(Height::new(20)).unwrap();
        network.validator_action(&key(1), &ValidatorAction::ClaimRewards { validator }).unwrap();
        network.validator_action(&key(0), &ValidatorAction::ClaimCommission).unwrap();
        network.run_to_height(Height::new(33)).unwrap();
        let chain = network.primary().chain();
        let sums = StakeSums::read(&*chain.latest_state().unwrap()).unwrap();
        assert!(sums.minted > U256::ZERO && sums.balance >= sums.owed());
        let tips = (1..=33).map(|height| {
            let block = chain.block_at(Height::new(height)).unwrap();
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
            network.run_to_height(Height::new(1)).unwrap();
            let chain = network.primary().chain();
            let wrong = SupplyConserved::default().check(chain, chain.head()).unwrap();
            assert!(wrong.is_some_and(|wrong| wrong.contains("accounts hold")));
        }
    }

    #[test]
    fn every_block_is_added_up_those_of_a_fetched_branch_too() {
        let mut network = builder(DposConfig::default()).build().unwrap();
        network.run_to_height(Height::new(12)).unwrap();
        let chain = network.primary().chain();
        let mut supply = SupplyConserved::default();
        assert_eq!(supply.check(chain, chain.head()).unwrap(), None);
        let height = chain.head().height().get();
        assert_eq!((supply.summed() + supply.unjudged(), supply.unjudged() < height), (height, true));
    }

    #[test]
    fn a_head_that_can_not_be_read_is_no_pass() {
        let mut network = builder(DposConfig::default()).build().unwrap();
        network.run_to_height(Height::new(3)).unwrap();
        let chain = network.primary().chain();
        let other = builder(DposConfig::default()).with_seed(4).build().unwrap();
        let stranger = other.primary().chain();
        assert!(SupplyConserved::default().check(stranger, chain.head()).is_err());
    }

    #[test]
    fn a_contract_that_owes_more_than_it_has_is_found() {
        let mut genesis = GenesisSpec::new(7);
        genesis.allow_interventions = true;
        let mut network = builder(DposConfig::default()).with_genesis(genesis).build().unwrap();
        network.intervene(&Intervention::Balance { address: STAKING_ADDRESS, balance: ether(1) }).unwrap();
        network.run_to_height(Height::new(1)).unwrap();
        let chain = network.primary().chain();
        let wrong = SupplyConserved::default().check(chain, chain.head()).unwrap();
        assert!(wrong.is_some_and(|wrong| wrong.contains("owes")));
    }

    #[test]
    fn no_run_is_stopped_for_nothing() {
        let result: Result<(), NetworkError> = (|| {
            let mut network = builder(DposConfig::default()).build()?;
            network.run_to_height(Height::new(40))
        })();
        assert!(result.is_ok(), "{result:?}");
    }
}
