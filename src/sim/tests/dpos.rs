//! Whole networks of delegated proof of stake: lags, missed slots, forks, catching up, production on demand, restarts.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        Admin, AnyProtocol, Authenticator, ConsensusConfig, ConsensusError, FinalityKind, Protocol, ReplicaId,
        SealScheme, SealedHeader,
        dpos::{Dpos, DposConfig, DposError, FinalityRule, LightVerifier},
    },
    primitives::{Address, Height, U256},
};

fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Dpos(DposConfig::default()), validators, seed)
}

fn dpos(replica: &Replica) -> &Dpos {
    let AnyProtocol::Dpos(dpos) = replica.protocol() else { panic!("another protocol") };
    dpos
}

fn lag(replica: &Replica) -> u64 {
    replica.head().height.get() - replica.protocol().finality().finalized.height.get()
}

#[test]
fn any_number_of_replicas_agree_and_execute_transactions_once() {
    for validators in [1, 3, 4, 7] {
        let seed = SeedGuard::new(u64::from(validators));
        let mut network = with_transfers(network(validators, seed.get()).with_observers(1).build().unwrap());
        network.run_to_height(Height::new(40)).unwrap();
        let hash = network.primary().chain().hash_at(Height::new(40)).unwrap();
        for replica in network.replicas() {
            let chain = replica.chain();
            assert_eq!(chain.hash_at(Height::new(40)).unwrap(), hash);
            let finality = replica.protocol().finality();
            assert_eq!(finality.kind, FinalityKind::Irreversible);
            assert_eq!((chain.finalized().hash(), chain.safe().hash()), (finality.finalized.hash, finality.safe.hash));
            assert!(finality.safe == finality.finalized && finality.finalized.height.get() > 25);
            let balance = chain.latest_state().unwrap().account(&Address::repeat_byte(0xbb)).unwrap().unwrap().balance;
            assert_eq!(balance, U256::from(5));
            assert!(replica.pool().is_empty());
            assert_eq!((replica.counters().reorgs, replica.counters().rejected), (0, 0));
        }
    }
}

/// The smallest and the largest lag of any replica over one round, once it is steady.
fn steady_lags(validators: u32, per_turn: u32, rounds: u32) -> (u64, u64) {
    let config = DposConfig::default().with_blocks_per_turn(per_turn);
    let mut network = network_of(ConsensusConfig::Dpos(config), validators, 4).build().unwrap();
    let round = u64::from(validators * per_turn);
    let steady = round * u64::from(rounds);
    let mut lags = std::collections::BTreeSet::new();
    for height in steady..steady + round {
        network.run_to_height(Height::new(height)).unwrap();
        lags.extend(network.replicas().iter().filter(|replica| replica.head().height.get() == height).map(lag));
    }
    (lags.first().copied().unwrap(), lags.last().copied().unwrap())
}

#[test]
fn the_steady_lag_is_that_of_the_model_at_both_ends() {
    for (validators, per_turn, rounds, want) in [(4, 1, 6, (5, 5)), (7, 6, 4, (43, 48)), (21, 1, 3, (29, 29))] {
        assert_eq!(steady_lags(validators, per_turn, rounds), want, "{validators} x {per_turn}");
    }
}

/// Half a minute without optimisation: three rounds of 252 blocks at 21 replicas, of which nothing can be left out.
#[test]
fn the_steady_lag_of_21_times_12_is_325_to_336() {
    assert_eq!(steady_lags(21, 12, 2), (325, 336));
}

#[test]
fn less_than_a_third_may_be_silent_and_more_stop_irreversibility_but_not_the_chain() {
    for (validators, silent, height, is_final) in
        [(4, 1, 40, true), (4, 2, 40, false), (21, 6, 120, true), (21, 7, 120, false)]
    {
        let mut network = silenced(network(validators, 3), &(0..silent).collect::<Vec<_>>(), validators);
        let heard = |network: &Network| network.replicas()[silent as usize..].to_vec();
        network
            .run_until(Duration::from_secs(400), |network| {
                heard(network).iter().all(|replica| replica.head().height.get() >= height)
            })
            .unwrap();
        for replica in heard(&network) {
            let finalized = replica.protocol().finality().finalized.height.get();
            assert_eq!(finalized > 25, is_final, "{silent} of {validators} silent: {finalized}");
        }
    }
}

#[test]
fn a_light_verifier_follows_the_headers_to_the_same_irreversible_block() {
    let mut network = network(4, 8).with_seals(SealScheme::Secp256k1).build().unwrap();
    network.run_to_height(Height::new(30)).unwrap();
    let replica = network.primary();
    let chain = replica.chain();
    let genesis = chain.genesis().block().header();
    let (config, set) = (*dpos(replica).config(), network.genesis_validators());
    let mut light = LightVerifier::new(config, genesis, set, Authenticator::secp256k1()).unwrap();
    for height in 1..=replica.head().height.get() {
        let block = chain.block(chain.hash_at(Height::new(height)).unwrap()).unwrap().block().clone();
        let sealed = SealedHeader::from(block.as_ref());
        let mut forged = sealed.clone();
        forged.header.gas_used += 1;
        assert!(light.follow(&forged).is_err());
        light.follow(&sealed).unwrap();
    }
    assert_eq!(light.head(), replica.head());
    assert_eq!(light.irreversible(), replica.protocol().finality().finalized);
}

#[test]
fn a_late_replica_catches_up() {
    let mut builder = network(4, 2);
    for from in 0..3 {
        let late = Latency::Constant(Duration::from_secs(100));
        builder = builder.with_link_latency(ReplicaId::new(from), ReplicaId::new(3), late);
    }
    let mut network = builder.build().unwrap();
    network.run_for(Duration::from_secs(400)).unwrap();
    let heads: Vec<_> = network.replicas().iter().map(|replica| replica.head().height.get()).collect();
    assert!(heads[3] > 100, "{heads:?}");
    let common = Height::new(heads[3].min(heads[0]) - 60);
    let hash = |replica: &Replica| replica.chain().hash_at(common).unwrap();
    assert_eq!(hash(&network.replicas()[3]), hash(network.primary()));
}

/// Messages take up to `latency_ms` for so many seconds, counted from the start.
fn slow_for(latency_ms: u64, secs: u64) -> FaultPlan {
    let slow = Delay::Uniform { min: Duration::from_millis(10), max: Duration::from_millis(latency_ms) };
    let link = LinkFault { from: Vec::new(), to: Vec::new(), labels: Vec::new(), effect: LinkEffect::Latency(slow) };
    let slow = Fault { at: Duration::ZERO, duration: Some(Duration::from_secs(secs)), kind: FaultKind::Link(link) };
    FaultPlan { faults: vec![slow], ..FaultPlan::default() }
}

/// The least and the greatest height that is irreversible to all after 240 slots, of ten seeds of four and of seven producers.
fn irreversible_after_240_slots(finality: FinalityRule, latency_ms: u64) -> (u64, u64) {
    let reached = (0..10).map(|seed| {
        let config = ConsensusConfig::Dpos(DposConfig::default().with_finality(finality));
        let builder = network_of(config, 4 + 3 * (seed % 2) as u32, seed).with_faults(slow_for(latency_ms, 240));
        let mut network = builder.build().unwrap();
        network.run_for(Duration::from_secs(240)).unwrap();
        let finalized = network.replicas().iter().map(|replica| replica.protocol().finality().finalized.height.get());
        finalized.min().unwrap()
    });
    let reached: Vec<_> = reached.collect();
    (*reached.iter().min().unwrap(), *reached.iter().max().unwrap())
}

#[test]
fn a_vote_without_a_gap_costs_finality_where_messages_take_longer_than_a_slot() {
    let document = include_str!("../../../docs/protocols/dpos.md");
    let mut missing = Vec::new();
    let ranges = [1_500, 2_000, 2_500].map(|latency_ms| {
        let [locked, classic] =
            [FinalityRule::Locked, FinalityRule::Classic].map(|rule| irreversible_after_240_slots(rule, latency_ms));
        let slots = latency_ms as f64 / 1_000.0;
        let row = format!("| {slots} slots | {} to {} | {} to {} |", locked.0, locked.1, classic.0, classic.1);
        missing.extend((!document.contains(&row)).then_some(row));
        (locked.0, classic.0)
    });
    assert!(missing.is_empty(), "not in docs/protocols/dpos.md: {missing:#?}");
    let [fast, _, slow] = ranges;
    assert!(10 * fast.0 >= 9 * fast.1, "as the classic rule, up to one and a half slots: {fast:?}");
    assert!(10 * slow.0 < 9 * slow.1, "the price, beyond that: {slow:?}");
}

/// Runs 20 seeds for 120 slots with messages that take up to `latency_ms`, checks that all replicas agree on what is irreversible to
/// all, and returns the lowest such height and the number of reorganisations. With a fast network after that, all becomes irreversible soon.
fn with_latencies_to(latency_ms: u64) -> (u64, u64) {
    let plan = slow_for(latency_ms, 120);
    let (mut least, mut reorgs) = (u64::MAX, 0);
    for seed in 0..20 {
        let seed = SeedGuard::new(seed);
        let builder = network(4 + 3 * (seed.get() % 2) as u32, seed.get()).with_faults(plan.clone());
        let mut network = builder.build().unwrap();
        network.run_for(Duration::from_secs(120)).unwrap();
        let lowest = network.replicas().iter().map(|replica| replica.protocol().finality().finalized.height).min();
        let lowest = lowest.unwrap();
        least = least.min(lowest.get());
        let hash = network.primary().chain().hash_at(lowest).unwrap();
        for replica in network.replicas() {
            assert_eq!(replica.chain().hash_at(lowest).unwrap(), hash);
            assert_eq!(replica.counters().evidence, 0);
            reorgs += replica.counters().reorgs;
        }
        network.run_for(Duration::from_secs(60)).unwrap();
        let lags: Vec<_> = network.replicas().iter().map(lag).collect();
        // Five of four producers, nine of seven, and a block that is on its way.
        assert!(lags.iter().all(|lag| *lag <= 10), "{}: {lags:?}", seed.get());
    }
    (least, reorgs)
}

#[test]
fn latencies_beyond_the_period_fork_the_chain_and_never_what_is_irreversible() {
    let (least, reorgs) = with_latencies_to(1_500);
    assert!(least > 20, "only {least} is irreversible");
    assert!(reorgs > 50, "{reorgs}");
    // Where every other block is left behind, producers rarely confirm without a gap: what is irreversible may stand still until messages
    // take less than a slot again.
    let (_, reorgs) = with_latencies_to(2_500);
    assert!(reorgs > 50, "{reorgs}");
}

#[test]
fn invalid_configurations_are_refused_and_admin_commands_unsupported() {
    for (config, want) in [
        (DposConfig::default().with_producers(0), DposError::Producers { got: 0 }),
        (DposConfig::default().with_blocks_per_turn(0), DposError::BlocksPerTurn { got: 0 }),
    ] {
        let error = network_of(ConsensusConfig::Dpos(config), 4, 1).build().unwrap_err();
        assert!(matches!(error, NetworkError::Consensus(ConsensusError::Dpos(got)) if got == want));
    }
    let mut network = network(4, 1).build().unwrap();
    let vote = Admin::Vote { target: Address::ZERO, authorize: true };
    let before = network.primary().protocol().digest();
    assert!(matches!(network.admin(vote, ReplicaId::new(0)), Err(NetworkError::Refused(_))));
    assert_eq!(network.primary().protocol().digest(), before);
}

#[test]
fn genesis_names_the_protocol_by_both_names() {
    for name in ["dpos", "delegated-proof-of-stake"] {
        let section = serde_json::json!({"protocol": name, "period": 3, "producers": 5, "blocksPerTurn": 2});
        let config = ConsensusConfig::deserialize_section(&section).unwrap();
        let want = DposConfig::default().with_period(Duration::from_secs(3)).with_producers(5).with_blocks_per_turn(2);
        assert_eq!(config, ConsensusConfig::Dpos(want));
    }
}

#[test]
fn a_producer_of_two_blocks_a_slot_is_reported_slashed_and_loses_its_seat() {
    use crate::system::staking::ValidatorStatus;
    let offender = ReplicaId::new(1);
    let what = FaultKind::Byzantine { replica: offender, behaviour: Behaviour::Equivocate, when: Trigger::Always };
    let plan = FaultPlan {
        faults: vec![Fault { at: Duration::from_millis(10), duration: None, kind: what }],
        ..FaultPlan::default()
    };
    let mut network = network(5, 6).with_faults(plan).build().unwrap();
    let address = network.replica(offender).unwrap().address().unwrap();
    network.run_to_height(Height::new(40)).unwrap();
    let record = network.validators().unwrap().into_iter().find(|record| record.address == address).unwrap();
    assert_eq!((record.status, record.weight), (ValidatorStatus::Tombstoned, 0));
    for replica in network.replicas().iter().filter(|replica| replica.id() != offender) {
        assert!(!replica.protocol().validators().contains(&address), "its next schedule is without the offender");
        assert!(replica.protocol().finality().finalized.height.get() > 25);
        assert!(replica.evidence().all(|evidence| format!("{evidence:?}").contains(&format!("{address:?}"))));
    }
}
