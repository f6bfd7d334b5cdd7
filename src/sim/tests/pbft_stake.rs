//! Whole networks of PBFT with stake: transactions change the committee at checkpoints, and equivocation is slashed.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        AnyProtocol, ConsensusConfig, ReplicaId, SealedHeader,
        pbft::{LightVerifier, Payload, Pbft, PbftConfig, Seal},
    },
    primitives::{Address, Height, KeyPair, ether},
    system::staking::{StakingParams, ValidatorRecord, ValidatorStatus},
};

const LONG: Duration = Duration::from_secs(1_000);

fn config() -> PbftConfig {
    PbftConfig::default().with_checkpoints(4, 8)
}

/// Validators with stake, two candidates and an observer.
fn network(validators: u32, seed: u64) -> NetworkBuilder {
    let latency = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(80) };
    let consensus = ConsensusConfig::Pbft(config());
    Network::builder()
        .with_invariants(invariant::of_protocol(&consensus))
        .with_consensus(consensus)
        .with_validators(validators)
        .with_candidates(2)
        .with_observers(1)
        .with_staking(StakingParams { unbonding_secs: 20, ..StakingParams::default() })
        .with_seed(seed)
        .with_latency(latency)
}

fn key(seed: u64, index: u32) -> KeyPair {
    NetworkBuilder::validator_key(seed, index)
}

fn pbft(network: &Network, index: usize) -> &Pbft {
    let AnyProtocol::Pbft(pbft) = network.replicas()[index].protocol() else { panic!("another protocol") };
    pbft
}

fn mark(network: &Network, index: usize, name: &str) -> u64 {
    network.replicas()[index].marks().find(|(other, _)| *other == name).map_or(0, |(_, count)| count)
}

fn join() -> ValidatorAction {
    ValidatorAction::Join { stake: ether(40), commission_bps: 100 }
}

/// Returns whether the committee of every replica has exactly these replicas' validators.
fn is_committee(network: &Network, seed: u64, members: &[u32]) -> bool {
    let want: Vec<_> = members.iter().map(|index| key(seed, *index).address()).collect();
    (0..network.replicas().len()).all(|index| {
        let set = pbft(network, index).committee().validators();
        set.len() == want.len() && want.iter().all(|address| set.contains(address))
    })
}

fn record(network: &Network, address: Address) -> ValidatorRecord {
    network.validators().unwrap().into_iter().find(|record| record.address == address).unwrap()
}

/// Follows a replica's chain by headers alone; returns the heights at which the set changed.
fn follow_by_headers(network: &Network, index: usize) -> Vec<u64> {
    let chain = network.replicas()[index].chain();
    let (set, authenticator) = (network.genesis_validators().clone(), network.authenticator().clone());
    let mut light = LightVerifier::new(config(), chain.genesis().block().header(), set, authenticator).unwrap();
    let mut changes = Vec::new();
    for height in 1..=network.replicas()[index].head().height.get() {
        let block = chain.block(chain.hash_at(Height::new(height)).unwrap()).unwrap();
        let before = light.validators().clone();
        let header = SealedHeader::from(block.block().as_ref());
        let named = Payload::decode(&header.payload).unwrap().successor;
        if named.is_some() {
            let mut other = header.clone();
            other.payload = Default::default();
            assert!(light.clone().follow(&other).is_err(), "the header commits to the new set");
        }
        light.follow(&header).unwrap();
        assert_eq!(named.as_ref().unwrap_or(&before), light.validators());
        changes.extend((*light.validators() != before).then_some(height));
    }
    assert_eq!(light.validators(), pbft(network, index).committee().validators());
    changes
}

#[test]
fn transactions_change_the_committee_at_checkpoints_and_headers_show_it() {
    let seed = SeedGuard::new(5);
    let mut network = network(4, seed.get()).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    for newcomer in [4, 5] {
        network.validator_action(&key(seed.get(), newcomer), &join()).unwrap();
    }
    assert!(is_committee(&network, seed.get(), &[0, 1, 2, 3]));
    network.run_until(LONG, |network| is_committee(network, seed.get(), &[0, 1, 2, 3, 4, 5])).unwrap();
    assert_eq!((mark(&network, 4, "pbft/joined"), mark(&network, 6, "pbft/joined")), (1, 0));

    // Of six a quorum is four: without the first two, blocks need the votes of the new members.
    let silent = [0, 1].map(ReplicaId::new);
    for replica in silent {
        network.crash(replica).unwrap();
    }
    let goal = network.replicas()[5].head().height.get() + 4;
    let running = |network: &Network| network.replicas()[2..].iter().all(|replica| replica.head().height.get() >= goal);
    network.run_until(LONG, running).unwrap();
    silent.iter().for_each(|replica| network.restart(*replica).unwrap());
    network.run_until(LONG, |network| network.lowest_height().get() >= goal).unwrap();

    // A growing stake appears in the set; a validator that exits follows without a vote.
    network.validator_action(&key(seed.get(), 1), &ValidatorAction::Stake { amount: ether(8) }).unwrap();
    network.validator_action(&key(seed.get(), 0), &ValidatorAction::Exit).unwrap();
    network.run_until(LONG, |network| is_committee(network, seed.get(), &[1, 2, 3, 4, 5])).unwrap();
    let set = pbft(&network, 6).committee().validators().clone();
    let weight = |index| set.members()[set.index_of(&key(seed.get(), index).address()).unwrap()].weight;
    assert_eq!([1, 2, 4].map(weight), [40_000_000_000, 32_000_000_000, 40_000_000_000]);
    assert_eq!(mark(&network, 0, "pbft/left"), 1);
    let own = key(seed.get(), 0).address();
    let built = network.replicas()[0].counters().blocks_built;
    let height = network.lowest_height().get();
    network.run_to_height(Height::new(height + 12)).unwrap();
    assert_eq!(network.replicas()[0].counters().blocks_built, built);
    for above in height + 1..=height + 12 {
        let chain = network.primary().chain();
        let block = chain.block(chain.hash_at(Height::new(above)).unwrap()).unwrap();
        let certificate = Seal::certificate(block.block().seal()).unwrap();
        assert_ne!(block.block().header().beneficiary, own);
        assert_eq!(certificate.signatures.len(), pbft(&network, 0).committee().quorums().strong());
    }
    let gone = record(&network, own);
    assert!(!gone.validates && matches!(gone.status, ValidatorStatus::Unbonding | ValidatorStatus::Unbonded));
    let changes = follow_by_headers(&network, 6);
    assert!(changes.len() >= 2 && changes.iter().all(|height| height % 4 == 0), "{changes:?}");
    assert_eq!(follow_by_headers(&network, 0).len(), changes.len());
}

#[test]
fn sets_change_under_loss_and_crashes() {
    for seed in 0..4 {
        let seed = SeedGuard::new(seed);
        let link = |per_mille| LinkFault {
            from: Vec::new(),
            to: Vec::new(),
            labels: Vec::new(),
            effect: LinkEffect::Loss { per_mille },
        };
        let of = |replica: u64| FaultKind::Crash { replica: ReplicaId::new((replica % 6) as u32) };
        // One at a time, before, at and after the change; the new members too.
        let plan = FaultPlan::default()
            .with(Duration::from_secs(1), Duration::from_secs(45), FaultKind::Link(link(120)))
            .with(Duration::from_millis(2_500), Duration::from_secs(4), of(seed.get()))
            .with(Duration::from_secs(8), Duration::from_secs(5), of(seed.get() + 1))
            .with(Duration::from_secs(15), Duration::from_secs(5), of(seed.get() + 4))
            .with(Duration::from_secs(24), Duration::from_secs(6), of(seed.get() + 5));
        let mut network = network(4, seed.get()).with_faults(plan).build().unwrap();
        let actors = [(4, join()), (5, join()), (1, ValidatorAction::Exit)];
        for (actor, action) in actors {
            let done = |network: &Network| {
                let set = pbft(network, 6).committee().validators();
                set.contains(&key(seed.get(), actor).address()) != (actor == 1)
            };
            let mut tries = 0;
            while !done(&network) {
                // Its replica may be down now, or the transaction lost with one that crashed.
                match network.validator_action(&key(seed.get(), actor), &action) {
                    Ok(_) | Err(ValidatorActionError::Pool(_) | ValidatorActionError::Internal(_)) => {}
                    Err(ValidatorActionError::Refused { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                tries += 1;
                assert!(tries < 60, "{action:?}");
                network.run_for(Duration::from_secs(3)).unwrap();
            }
        }
        network.run_until(LONG, |network| is_committee(network, seed.get(), &[0, 2, 3, 4, 5])).unwrap();
        let goal = network.replicas()[6].head().height.get() + 5;
        network.run_to_height(Height::new(goal)).unwrap();
        assert!(follow_by_headers(&network, 6).len() >= 2);
    }
}

#[test]
fn an_equivocating_primary_is_slashed_tombstoned_and_removed() {
    for validators in [4, 7] {
        let seed = SeedGuard::new(3);
        let mut network = network(validators, seed.get()).build().unwrap();
        network.run_to_height(Height::new(2)).unwrap();
        let primary = pbft(&network, 0).primary();
        let byzantine = network.replicas().iter().find(|replica| replica.address() == Some(primary)).unwrap().id();
        network.misbehave(byzantine, Behaviour::Equivocate, Trigger::Always).unwrap();
        network.run_until(LONG, |network| record(network, primary).status == ValidatorStatus::Tombstoned).unwrap();
        let stake = record(&network, primary).stake.unwrap();
        assert!(stake.tokens < ether(32) && stake.tokens > ether(30), "5 % of it is burnt: {}", stake.tokens);
        if validators == 4 {
            // All validators are needed: the next one to join takes its place.
            assert!(record(&network, primary).validates);
            network.validator_action(&key(seed.get(), 4), &join()).unwrap();
        }
        network.run_until(LONG, |network| !record(network, primary).validates).unwrap();
        let height = network.lowest_height().get();
        network.run_to_height(Height::new(height + 6)).unwrap();
        assert!(!follow_by_headers(&network, validators as usize + 2).is_empty());
    }
}
