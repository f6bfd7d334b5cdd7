//! Rewards, penalties and ejection in whole networks, whose staking contract executes them.

use std::collections::BTreeMap;

use super::*;
use crate::{
    consensus::{
        AnyProtocol, Authenticator, SealScheme, SealedHeader,
        pos::{EpochAccounting, LightVerifier, Payload, Pos, PosConfig},
    },
    sim::check::invariant,
    system::staking::{StakeSums, StakingParams, ValidatorRecord, ValidatorStatus},
};

const SEED: u64 = 5;
/// Its messages reach nobody.
const SILENT: usize = 2;

/// Four validators of 32 tokens with slots of a second, four an epoch. Nobody is jailed for absence.
fn builder(factor: u64, percent: u8) -> NetworkBuilder {
    let config = PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4);
    let config = ConsensusConfig::Pos(config.with_base_reward_factor(factor).with_ejection_percent(percent));
    let staking = StakingParams { min_self_stake: ether(32), downtime_min_signed_ppm: 0, ..StakingParams::default() };
    let invariants = invariant::of_protocol(&config);
    network_of(config, 4, SEED).with_staking(staking).with_invariants(invariants)
}

fn pos(network: &Network) -> &Pos {
    let AnyProtocol::Pos(pos) = network.primary().protocol() else { panic!("another protocol") };
    pos
}

fn address(index: usize) -> Address {
    NetworkBuilder::validator_key(SEED, index as u32).address()
}

fn record(network: &Network, index: usize) -> ValidatorRecord {
    network.validators().unwrap().into_iter().find(|record| record.address == address(index)).unwrap()
}

/// The accounts of the epochs in the primary's chain, and how many blocks each validator made.
fn accounts(network: &Network) -> (Vec<EpochAccounting>, BTreeMap<Address, u64>) {
    let (chain, mut accounts, mut made) = (network.primary().chain(), Vec::new(), BTreeMap::new());
    for height in 1..=network.primary().head().height.get() {
        let block = chain.block(chain.hash_at(Height::new(height)).unwrap()).unwrap();
        *made.entry(block.block().header().beneficiary).or_default() += 1;
        accounts.extend(Payload::decode(block.block().payload()).unwrap().accounting);
    }
    (accounts, made)
}

/// Follows the primary's chain by its headers and payloads alone.
fn followed(network: &Network) -> LightVerifier {
    let (chain, ConsensusConfig::Pos(config)) = (network.primary().chain(), network.config()) else {
        panic!("another protocol")
    };
    let (genesis, authenticator) = (chain.genesis(), Authenticator::new(SealScheme::Symbolic, SEED));
    let validators = network.genesis_validators();
    let mut light = LightVerifier::new(*config, genesis.block().header(), validators, authenticator).unwrap();
    for height in 1..=network.primary().head().height.get() {
        let block = chain.block(chain.hash_at(Height::new(height)).unwrap()).unwrap();
        light.follow(&SealedHeader::from(block.block().as_ref())).unwrap();
    }
    light
}

fn in_wei(amounts: impl Iterator<Item = (Address, u64)>, of: Address) -> U256 {
    amounts.filter(|(who, _)| *who == of).map(|(_, gwei)| U256::from(gwei) * U256::from(1_000_000_000)).sum()
}

/// What the chain's accounts say, the contract has done to the wei, and sums and supply are conserved after every block.
#[test]
fn one_of_four_that_is_silent_for_twenty_epochs_pays_and_the_others_earn() {
    let mut network = silenced(builder(64, 50), &[SILENT as u32], 4);
    network.run_for(Duration::from_secs(4 * 22)).unwrap();
    let (accounts, made) = accounts(&network);
    assert!(accounts.len() >= 20);
    let penalties = || accounts.iter().flat_map(|account| account.penalties.iter().copied());
    let rewards = || accounts.iter().flat_map(|account| account.rewards.iter().copied());
    let block_reward = StakingParams::default().block_reward;
    for index in 0..4 {
        let stake = record(&network, index).stake.unwrap();
        let (lost, votes) = (in_wei(penalties(), address(index)), in_wei(rewards(), address(index)));
        assert_eq!(stake.tokens, ether(32) - lost, "replica {index}");
        let earned = votes + block_reward * U256::from(made.get(&address(index)).copied().unwrap_or_default());
        let owed = stake.commission_owed + stake.rewards_owed;
        assert!(owed <= earned && earned - owed < U256::from(200), "replica {index}: {owed} of {earned}");
        if index == SILENT {
            // Source and target of 20 epochs, each 3_577_717 gwei of 32 tokens, and less of less.
            let most = U256::from(20 * 3_577_717_u64) * U256::from(1_000_000_000);
            assert!(lost <= most && lost > most * U256::from(99) / U256::from(100), "{lost}");
            assert_eq!((votes, made.get(&address(index))), (U256::ZERO, None));
        } else {
            assert!(lost.is_zero() && votes > ether(1) / U256::from(20), "replica {index}: {votes}");
        }
    }
    let sums = StakeSums::read(&*network.primary().chain().latest_state().unwrap()).unwrap();
    let lost = in_wei(penalties(), address(SILENT));
    assert_eq!((sums.burned, sums.bonded), (lost, ether(4 * 32) - lost));
    let minted: U256 = (0..4).map(|index| in_wei(rewards(), address(index))).sum();
    assert_eq!(sums.minted, minted + block_reward * U256::from(made.values().sum::<u64>()));
}

/// A base reward that halves the stake of who is absent within 20 epochs.
#[test]
fn who_is_absent_is_ejected_at_the_floor_and_the_others_finalise() {
    let mut network = silenced(builder(20_000, 50), &[SILENT as u32], 4);
    let is = |status| move |network: &Network| record(network, SILENT).status == status;
    network.run_until(Duration::from_secs(400), is(ValidatorStatus::Unbonding)).unwrap();
    let (accounts, _) = accounts(&network);
    assert!((15..30).contains(&accounts.len()), "{} epochs", accounts.len());
    let tokens = record(&network, SILENT).stake.unwrap().tokens;
    assert!(tokens <= ether(16) && tokens > ether(14), "{tokens}");
    let before = pos(&network).finalized().epoch;
    let validates = |network: &Network| pos(network).head_state().unwrap().current.set().contains(&address(SILENT));
    assert!(validates(&network), "until a checkpoint above its exit is final");
    network.run_until(Duration::from_secs(400), |network| !validates(network)).unwrap();
    // The votes of its last epoch are accounted for two epochs later.
    network.run_for(Duration::from_secs(12)).unwrap();
    let last = record(&network, SILENT).stake.unwrap().tokens;
    network.run_for(Duration::from_secs(40)).unwrap();
    assert_eq!(record(&network, SILENT).stake.unwrap().tokens, last, "who left is penalised no more");
    assert!(pos(&network).finalized().epoch >= before + 12, "{:?}", pos(&network).finalized());
    assert!(network.replicas().iter().all(|replica| replica.counters().evidence == 0));
    for index in (0..4).filter(|index| *index != SILENT) {
        let record = record(&network, index);
        assert_eq!((record.status, record.stake.unwrap().tokens), (ValidatorStatus::Bonded, ether(32)));
    }
    let light = followed(&network);
    let state = pos(&network).head_state().unwrap();
    assert_eq!(light.validators(), state.current.set());
    assert!(!light.validators().contains(&address(SILENT)) && light.finalized() == state.casper.finalized);
}

#[test]
fn with_an_ejection_percentage_of_zero_nobody_is_ejected() {
    let mut network = silenced(builder(20_000, 0), &[SILENT as u32], 4);
    network.run_for(Duration::from_secs(4 * 35)).unwrap();
    let record = record(&network, SILENT);
    assert_eq!(record.status, ValidatorStatus::Bonded);
    assert!(record.stake.unwrap().tokens < ether(14));
}
