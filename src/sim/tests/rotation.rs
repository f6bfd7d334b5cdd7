//! Changes of sealing keys in networks with stake: every replica takes them over at one block, and headers alone tell.

use core::time::Duration;
use std::collections::BTreeMap;

use super::*;
use crate::{
    consensus::{
        Authenticator, ConsensusConfig, ConsensusKind, Protocol, SealScheme, SealedHeader, StakeUse, dpos::DposConfig,
        pbft::PbftConfig, pos::PosConfig,
    },
    primitives::{Address, Height, KeyPair, U256, ether},
    sim::check::invariant::{Invariant, SupplyConserved, WeightsOfKeys},
    system::staking::{StakingParams, prove_sealing_key},
};

const LONG: Duration = Duration::from_secs(2_000);

fn key(index: u32) -> KeyPair {
    NetworkBuilder::validator_key(1, index)
}

/// Four validators, and two replicas with keys of no validator.
fn networks() -> impl Iterator<Item = NetworkBuilder> {
    let configs = [
        ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8)),
        ConsensusConfig::Dpos(DposConfig::default()),
        ConsensusConfig::Pos(PosConfig::default().with_slots_per_epoch(4)),
    ];
    configs.into_iter().map(|config| {
        let params = StakingParams { block_reward: ether(1), downtime_window: 16, ..StakingParams::default() };
        let invariants = [
            Box::new(SupplyConserved::default()) as Box<dyn Invariant>,
            Box::new(WeightsOfKeys::default()) as Box<dyn Invariant>,
        ];
        let builder = Network::builder().with_consensus(config).with_validators(4).with_candidates(2).with_seed(1);
        builder.with_staking(params).with_seals(SealScheme::Secp256k1).with_invariants(invariants)
    })
}

/// Hands the sealing of one replica's validator on to another replica.
fn rotate(network: &mut Network, operator: u32, to: u32) {
    let (operator, key) = (key(operator), key(to));
    let chain_id = network.primary().chain().spec().chain_id;
    let proof = prove_sealing_key(chain_id, operator.address(), &key);
    let action = ValidatorAction::SetSealingKey { key: key.address(), proof };
    let transaction = Arc::new(network.validator_transaction(&operator, &action).unwrap());
    for replica in 0..3 {
        network.submit(transaction.clone(), ReplicaId::new(replica)).unwrap();
    }
}

/// Returns whether these replicas count `new` and not `old`.
fn took_over(network: &Network, replicas: core::ops::Range<usize>, old: u32, new: u32) -> bool {
    let [old, new] = [old, new].map(|index| key(index).address());
    network.replicas()[replicas].iter().all(|replica| {
        let set = replica.protocol().validators();
        set.contains(&new) && !set.contains(&old)
    })
}

/// Returns the first final height that a block of this author has.
fn sealed_by(network: &Network, replica: usize, author: Address) -> Option<u64> {
    let chain = network.replicas()[replica].chain();
    (1..=chain.finalized().height().get()).find(|height| {
        let block = chain.block_at(Height::new(*height)).unwrap();
        block.block().header().beneficiary == author
    })
}

#[test]
fn a_light_verifier_follows_a_change_of_keys_from_headers_alone() {
    for builder in networks() {
        let mut network = builder.build().unwrap();
        let name = network.config().name();
        network.run_to_height(Height::new(3)).unwrap();
        rotate(&mut network, 1, 4);
        network.run_until(LONG, |network| took_over(network, 0..4, 1, 4)).unwrap();
        // The next one, and the operator of the first again: its key was the only one that it had for a window.
        let high = network.lowest_height().get() + 16;
        network.run_to_height(Height::new(high)).unwrap();
        rotate(&mut network, 1, 5);
        network.run_until(LONG, |network| took_over(network, 0..4, 4, 5)).unwrap();
        // Three of four keys are a quorum: without the new one nothing becomes final.
        network.crash(ReplicaId::new(2)).unwrap();
        let high = network.primary().head().height.get() + 30;
        network.run_until(LONG, |network| network.primary().chain().finalized().height().get() >= high).unwrap();

        let replica = &network.replicas()[0];
        let (chain, validators) = (replica.chain(), network.genesis_validators().clone());
        let genesis = chain.genesis().block().header();
        let mut light = network.config().light_verifier(genesis, validators, Authenticator::secp256k1()).unwrap();
        let mut authors = BTreeMap::new();
        for height in 1..=chain.head().height().get() {
            let sealed = SealedHeader::from(chain.block_at(Height::new(height)).unwrap().block().as_ref());
            light.follow(&sealed).unwrap_or_else(|error| panic!("{name}, height {height}: {error}"));
            *authors.entry(sealed.header.beneficiary).or_insert(0) += 1;
        }
        assert_eq!((light.head(), light.validators()), (replica.head(), replica.protocol().validators()), "{name}");
        let newest = light.validators();
        assert!(newest.contains(&key(5).address()) && !newest.contains(&key(4).address()), "{name}");
        // Headers name keys; what they earn is the operator's.
        let has_turns = network.config().kind() != Some(ConsensusKind::Pbft);
        for index in [1, 4, 5].into_iter().filter(|_| has_turns) {
            assert!(authors.contains_key(&key(index).address()), "{name}: replica {index} sealed nothing");
        }
        let records = network.validators().unwrap();
        assert_eq!(records.len(), 4, "{name}: keys are no validators of their own");
        let record = records.iter().find(|record| record.address == key(1).address()).unwrap();
        assert_eq!((record.sealing_key, record.validates), (key(5).address(), true), "{name}");
        let stake = record.stake.as_ref().unwrap();
        let sealed = |index| authors.get(&key(index).address()).copied().unwrap_or(0);
        let least = ether(sealed(4) + sealed(5)).saturating_sub(ether(1) / U256::from(1_000));
        assert!(stake.commission_owed + stake.rewards_owed >= least, "{name}: {stake:?}");
    }
}

/// Fees, and what contracts read as the block's beneficiary, are the operator's.
#[test]
fn a_block_pays_the_operator_of_the_key_that_sealed_it() {
    let builder = networks().next().unwrap();
    let mut network = builder.build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    rotate(&mut network, 1, 4);
    network.run_until(LONG, |network| took_over(network, 0..4, 1, 4)).unwrap();
    let (operator, sealing) = (key(1).address(), key(4).address());
    let state = |network: &Network| network.primary().chain().latest_state().unwrap();
    let balance = |network: &Network, address| state(network).account(&address).unwrap().unwrap_or_default().balance;
    let before = [operator, sealing].map(|address| balance(&network, address));
    let from = network.primary().head().height.get();
    let mut paid = U256::ZERO;
    for _ in 0..12 {
        let action = ValidatorAction::Stake { amount: ether(1) };
        network.validator_action(&key(2), &action).unwrap();
        let height = network.primary().head().height.get() + 2;
        network.run_to_height(Height::new(height)).unwrap();
    }
    let chain = network.primary().chain();
    for height in from + 1..=chain.head().height().get() {
        let block = chain.block_at(Height::new(height)).unwrap();
        let header = block.block().header();
        if header.beneficiary == sealing {
            paid += U256::from(header.gas_used) * U256::from(1_000_000_000);
        }
    }
    assert!(!paid.is_zero(), "no block of the key had a transaction");
    let after = [operator, sealing].map(|address| balance(&network, address));
    assert_eq!((after[0] - before[0], after[1] - before[1]), (paid, U256::ZERO));
    let context = chain.call_context(chain.head()).unwrap();
    let author = chain.head().block().header().beneficiary;
    let want = if author == sealing { operator } else { author };
    assert_eq!(context.block.beneficiary, want);
}

/// A replica that was down while the others took over has the same blocks and the same set when it is back.
#[test]
fn a_replica_that_was_down_at_the_boundary_agrees() {
    for builder in networks() {
        let mut network = builder.build().unwrap();
        let name = network.config().name();
        network.run_to_height(Height::new(6)).unwrap();
        let down = ReplicaId::new(3);
        network.crash(down).unwrap();
        rotate(&mut network, 1, 4);
        network.run_until(LONG, |network| took_over(network, 0..3, 1, 4)).unwrap();
        network.run_for(Duration::from_secs(60)).unwrap();
        network.restart(down).unwrap();
        network
            .run_until(LONG, |network| took_over(network, 0..5, 1, 4))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let sealed = |network: &Network, index| sealed_by(network, index, key(4).address());
        network.run_until(LONG, |network| [0, 3].iter().all(|index| sealed(network, *index).is_some())).unwrap();
        assert_eq!(sealed(&network, 0), sealed(&network, 3), "{name}");
        let height = network.replicas().iter().map(|replica| replica.chain().finalized().height()).min().unwrap();
        let hashes = [0, 3].map(|index: usize| network.replicas()[index].chain().hash_at(height).unwrap());
        assert_eq!(hashes[0], hashes[1], "{name}");
    }
}

/// The profile in which keys rotate finds nothing, and keys do rotate in it.
#[test]
fn nothing_is_found_while_keys_rotate() {
    for kind in staked() {
        assert!(campaign(kind, 0..2) > 0, "{kind:?}: no key rotated");
    }
}

/// A campaign of `SEEDS` seeds from `FIRST` on, of `PROTOCOL` or of all.
#[test]
#[ignore = "a campaign, which takes as long as it is given seeds"]
fn a_campaign_of_rotations() {
    let of = |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (first, seeds) = (of("FIRST", 100), of("SEEDS", 10));
    let protocol = std::env::var("PROTOCOL").unwrap_or_default();
    for kind in staked().filter(|kind| protocol.is_empty() || kind.short_name() == protocol) {
        println!(
            "{kind:?}: {seeds} seeds from {first}, {} keys in use that were rotated to",
            campaign(kind, first..first + seeds)
        );
    }
}

fn staked() -> impl Iterator<Item = ConsensusKind> {
    ConsensusKind::ALL.into_iter().filter(|kind| kind.stake_use() != StakeUse::Never)
}

/// Runs seeds of the profile, which must pass; returns the number of keys in use that are no operator's own address.
fn campaign(kind: ConsensusKind, seeds: core::ops::Range<u64>) -> usize {
    let rotated = Rotated::default();
    let setup = CampaignSetup::rotation(default_sim_config(kind))
        .with_invariants([Box::new(rotated.clone()) as Box<dyn Invariant>]);
    for seed in seeds {
        let report = run_seed(&setup, seed);
        assert!(report.is_passed(), "{kind:?}, seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
    }
    rotated.0.lock().unwrap().len()
}

/// Collects the rotated keys that have weight, in every sixteenth block.
#[derive(Clone, Debug, Default)]
struct Rotated(Arc<std::sync::Mutex<std::collections::BTreeSet<Address>>>);

impl Invariant for Rotated {
    fn name(&self) -> &'static str {
        "rotated"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        let Ok(replica) = network.replica(step.replica) else { return Ok(()) };
        let chain = replica.chain();
        if step.replica == ReplicaId::new(0) && chain.head().height().get().is_multiple_of(16) {
            let records = chain.staked_validators(chain.head()).unwrap_or_default();
            let rotated = records.iter().filter(|record| record.weight > 0 && record.sealing_key != record.address);
            self.0.lock().unwrap().extend(rotated.map(|record| record.sealing_key));
        }
        Ok(())
    }
}
