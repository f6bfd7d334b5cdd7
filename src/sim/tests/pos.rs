//! Whole networks of proof of stake: finality, silent validators, reorgs, production on demand, restarts.

use core::time::Duration;

use super::*;
use crate::{
    chain::GenesisSpec,
    consensus::{
        Admin, AnyProtocol, Authenticator, BlockId, ConsensusConfig, ConsensusError, ConsensusMessage, FinalityKind,
        Protocol, ReplicaId, SealScheme, SealedHeader,
        mutation::{self, Mutation},
        pos::{Checkpoint, LightVerifier, Pos, PosConfig, PosError, PosMessage, SlashingEvidence, Vote, VoteData},
    },
    primitives::{Address, B256, Height, U256, ether},
    system::staking::{StakingParams, ValidatorStatus},
};

fn config() -> PosConfig {
    PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4)
}

/// A network of `validators` with one-second slots and links between 5 and 80 ms.
fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Pos(config()), validators, seed)
}

fn pos(replica: &Replica) -> &Pos {
    let AnyProtocol::Pos(pos) = replica.protocol() else { panic!("another protocol") };
    pos
}

#[test]
fn any_number_of_replicas_agree_finalise_and_execute_transactions_once() {
    for validators in [1, 2, 4, 7] {
        let seed = SeedGuard::new(u64::from(validators));
        let mut network = with_transfers(network(validators, seed.get()).with_observers(1).build().unwrap());
        network.run_to_height(Height::new(30)).unwrap();
        network.run_for(Duration::from_millis(500)).unwrap();
        let hash = network.primary().chain().hash_at(Height::new(20)).unwrap();
        for replica in network.replicas() {
            let (chain, finality) = (replica.chain(), replica.protocol().finality());
            assert_eq!(chain.hash_at(Height::new(20)).unwrap(), hash);
            assert_eq!(finality.kind, FinalityKind::Checkpoint);
            assert_eq!((chain.finalized().hash(), chain.safe().hash()), (finality.finalized.hash, finality.safe.hash));
            assert!(finality.finalized.height.get() >= 16 && finality.finalized.height < finality.safe.height);
            let balance = chain.latest_state().unwrap().account(&Address::repeat_byte(0xbb)).unwrap().unwrap().balance;
            assert_eq!(balance, U256::from(5));
            assert!(replica.pool().is_empty());
            assert_eq!((replica.counters().reorgs, replica.counters().evidence), (0, 0));
            assert!(pos(replica).slot() <= 31, "{}: every slot has its block", pos(replica).slot());
        }
    }
}

#[test]
fn a_silent_quarter_costs_slots_and_not_finality() {
    let mut network = silenced(network(4, 3), &[2], 4);
    network.run_for(Duration::from_secs(60)).unwrap();
    for replica in network.replicas() {
        // The silent one receives messages of the others, and follows.
        assert!(pos(replica).finalized().epoch >= 10, "{:?}", pos(replica).finalized());
        assert_eq!(replica.counters().evidence, 0);
        assert!(mark(replica, "pos/reorg") < 20);
    }
}

#[test]
fn half_of_the_stake_absent_leaks_until_the_others_finalise() {
    let config = ConsensusConfig::Pos(config().with_leak_quotient(256));
    let seed = 7;
    let mut network = silenced(network(4, seed).with_consensus(config), &[1, 2], 4);
    network.run_for(Duration::from_secs(24)).unwrap();
    assert_eq!(pos(network.primary()).finalized().epoch, 0, "half is not two thirds");
    let is_final = |network: &Network| pos(network.primary()).finalized().epoch > 0;
    network.run_until(Duration::from_secs(400), is_final).unwrap();
    let state = pos(network.primary()).head_state().unwrap();
    let weight = |set: &crate::consensus::ValidatorSet, replica: u32| {
        let address = NetworkBuilder::validator_key(seed, replica).address();
        set.index_of(&address).map_or(0, |place| set.members()[place].weight)
    };
    let full = 32_000_000_000;
    for (replica, is_absent) in [(0, false), (1, true), (2, true), (3, false)] {
        let weight = weight(state.current.set(), replica);
        // A vote that no proposer is there to pack in time counts as absence too.
        assert_eq!(weight < full - full / 10, is_absent, "replica {replica} has {weight}");
    }
    assert!(weight(state.current.set(), 1) > full / 4, "no more than it takes");
    // No replica misbehaved.
    assert!(network.replicas().iter().all(|replica| replica.counters().evidence == 0));
}

#[test]
fn a_replica_that_was_disconnected_catches_up() {
    let far = ReplicaId::new(2);
    let mut builder = network(4, 11);
    for from in [0, 1, 3].map(ReplicaId::new) {
        let slow = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_secs(20) };
        builder = builder.with_link_latency(from, far, slow);
    }
    let mut network = builder.build().unwrap();
    network.run_for(Duration::from_secs(120)).unwrap();
    let heights: Vec<_> = network.replicas().iter().map(|replica| replica.head().height.get()).collect();
    assert!(heights[0] > 80 && heights[2] > 60, "{heights:?}");
    assert!(mark(network.replica(far).unwrap(), "pos/fetch-parent") > 5);
    assert!(network.replicas().iter().all(|replica| replica.counters().evidence == 0));
}

#[test]
fn a_light_verifier_follows_to_the_final_checkpoint_under_both_schemes() {
    for seals in [SealScheme::Symbolic, SealScheme::Secp256k1] {
        let mut network = network(4, 8).with_seals(seals).build().unwrap();
        network.run_to_height(Height::new(20)).unwrap();
        let chain = network.primary().chain();
        let authenticator = Authenticator::new(seals, 8);
        let genesis = chain.genesis().block().header();
        let mut light = LightVerifier::new(config(), genesis, network.genesis_validators(), authenticator).unwrap();
        for height in 1..=20 {
            let block = chain.block(chain.hash_at(Height::new(height)).unwrap()).unwrap();
            light.follow(&SealedHeader::from(block.block().as_ref())).unwrap();
        }
        assert!(light.finalized().epoch >= 2);
        assert_eq!(chain.hash_at(light.finalized().block.height).unwrap(), light.finalized().block.hash);
    }
}

#[test]
fn invalid_options_are_refused() {
    let with = |config| network(4, 0).with_consensus(ConsensusConfig::Pos(config)).build();
    let short = with(config().with_slots_per_epoch(1));
    let want = PosError::SlotsPerEpoch { got: 1, max: 256 };
    assert!(matches!(short, Err(NetworkError::Consensus(ConsensusError::Pos(error))) if error == want));
    assert!(matches!(
        with(config().with_period(Duration::ZERO)),
        Err(NetworkError::Options(NetworkOptionsError::ZeroPeriod { .. }))
    ));
    let mut network = network(4, 0).build().unwrap();
    let vote = Admin::Vote { target: Address::ZERO, authorize: true };
    assert!(matches!(network.admin(vote, ReplicaId::new(0)), Err(NetworkError::Refused(_))));
    let mut genesis = GenesisSpec::new(1);
    genesis.consensus = serde_json::json!({"protocol": "proof-of-stake", "slotsPerEpoch": 4});
    let built = Network::builder().with_genesis(genesis).with_validators(4).build().unwrap();
    assert!(matches!(built.config(), ConsensusConfig::Pos(config) if config.slots_per_epoch == 4));
}

#[test]
fn many_seeds_with_latencies_longer_than_a_slot_stay_in_agreement() {
    let latency = Latency::Uniform { min: Duration::from_millis(10), max: Duration::from_millis(1_800) };
    let mut reorgs = 0;
    for seed in 0..20 {
        let seed = SeedGuard::new(seed);
        let builder = network(4 + 3 * (seed.get() % 2) as u32, seed.get()).with_latency(latency);
        let mut network = builder.build().unwrap();
        let is_on = |network: &Network| network.replicas().iter().all(|replica| pos(replica).finalized().epoch >= 3);
        network.run_until(Duration::from_secs(2_000), is_on).unwrap();
        let lowest = network.replicas().iter().map(|r| r.protocol().finality().finalized.height).min().unwrap();
        let hash = network.primary().chain().hash_at(lowest).unwrap();
        for replica in network.replicas() {
            assert_eq!(replica.chain().hash_at(lowest).unwrap(), hash);
            assert_eq!(replica.counters().evidence, 0, "no evidence");
            reorgs += replica.counters().reorgs;
        }
    }
    assert!(reorgs > 50, "{reorgs}");
}

#[test]
fn campaigns_find_nothing() {
    let setup = CampaignSetup::of(ConsensusConfig::Pos(config()));
    for seed in 0..20 {
        let report = run_seed(&setup, seed);
        assert!(report.is_passed(), "seed {seed}: {:?}\n{}", report.outcome, report.plan.to_toml());
        assert!(report.counters.height.get() > 3, "{report:?}");
    }
}

#[test]
fn a_double_proposer_is_slashed_and_removed_by_the_contract() {
    let byzantine = ReplicaId::new(2);
    let what = FaultKind::Byzantine { replica: byzantine, behaviour: Behaviour::Equivocate, when: Trigger::Always };
    let plan = FaultPlan {
        faults: vec![Fault { at: Duration::from_secs(4), duration: Some(Duration::from_secs(30)), kind: what }],
        ..FaultPlan::default()
    };
    let invariants = invariant::of_protocol(&ConsensusConfig::Pos(config()));
    let mut network = network(4, 3).with_faults(plan).with_invariants(invariants).build().unwrap();
    network.run_for(Duration::from_secs(90)).unwrap();
    let byzantine = network.replica(byzantine).unwrap().address().unwrap();
    for record in network.validators().unwrap() {
        let (status, stake) = (record.status, record.stake.unwrap());
        if record.address == byzantine {
            assert_eq!((status, record.validates), (ValidatorStatus::Tombstoned, false));
            // Five percent at once, and three quarters of its stake for being a quarter of all that offended.
            assert!(stake.tokens > ether(6) && stake.tokens < ether(7), "{}", stake.tokens);
        } else {
            assert_eq!((status, record.validates), (ValidatorStatus::Bonded, true));
            assert_eq!(stake.tokens, ether(32));
        }
    }
    let state = pos(network.primary()).head_state().unwrap();
    assert_eq!(state.current.set().len(), 3);
    assert!(pos(network.primary()).finalized().epoch >= 18);
}

/// Three of seven, a third plus one, break finality and are identified on every seed; two of seven break nothing.
#[cfg(feature = "scenarios")]
#[test]
fn three_of_seven_break_finality_on_every_seed_and_two_on_none() {
    for (name, seeds) in [("pos-third-plus-one", 5), ("pos-less-than-third", 20)] {
        let scenario = scenario::find(name).unwrap();
        for seed in 0..seeds {
            let options = scenario::ScenarioOptions::default().with_seed(seed);
            let played = scenario.play(&options, &mut |_| {}).unwrap();
            assert!(played.outcome.is_ok(), "{name}, seed {seed}: {:?}", played.outcome);
        }
    }
}

/// The control campaign: a third and one of the validators have twins. Every seed that fails, breaks agreement
/// and nothing else, and names them.
#[test]
fn a_control_campaign_breaks_agreement_and_names_the_offenders() {
    let [zero, one, two, three] = [0, 1, 2, 3].map(ReplicaId::new);
    let plan = FaultPlan::default()
        .with_lasting(Duration::ZERO, FaultKind::OneWay { from: vec![zero], to: vec![one] })
        .with_lasting(Duration::ZERO, FaultKind::OneWay { from: vec![one], to: vec![zero] })
        .with_lasting(Duration::ZERO, FaultKind::Twins { replica: two, group: vec![zero] })
        .with_lasting(Duration::ZERO, FaultKind::Twins { replica: three, group: vec![zero] });
    assert_eq!(plan.byzantine().len(), Budget::Exactly(4 / 3 + 1).of(4) as usize);
    let config = ConsensusConfig::Pos(config());
    // Four validators and no fifth that joins: two are a third and one.
    let setup = CampaignSetup {
        validators: vec![4],
        fault_phase: Duration::from_secs(200),
        candidates: 0,
        observers: 0,
        is_strict: false,
        ..CampaignSetup::of(config)
    };
    let broken: Vec<_> = (0..4).filter_map(|seed| run_plan(&setup, seed, &plan).violation().cloned()).collect();
    assert!(!broken.is_empty(), "half of the stake breaks something");
    for violation in broken {
        assert_eq!(violation.invariant, "agreement", "{violation}");
        let is_told = violation.detail.contains("offenders with ") && !violation.detail.contains("honest among");
        assert!(is_told, "{violation}");
    }
}

/// Returns the first seed from `first` on that finds a deliberate bug, with the invariant.
fn found(mutation: Mutation, seeds: core::ops::Range<u64>) -> Option<(u64, String)> {
    let setup = CampaignSetup::of(ConsensusConfig::Pos(config()));
    mutation::with(mutation, || {
        seeds.into_iter().find_map(|seed| match run_seed(&setup, seed).outcome {
            RunOutcome::Passed => None,
            RunOutcome::Violated(violation) => Some((seed, violation.invariant.into_owned())),
            RunOutcome::Failed { error } => Some((seed, format!("failed: {error}"))),
        })
    })
}

/// The seeds of those bugs that few seeds find; the others need a campaign.
#[test]
fn deliberate_bugs_are_found_by_their_invariants() {
    for (mutation, seed, invariant) in [
        (Mutation::PosFinalizesJustified, 0, "finality-is-earned"),
        (Mutation::PosBoostStays, 0, "fork-choice-is-fair"),
        (Mutation::PosVotesEachSlot, 0, "honesty-unblamed"),
    ] {
        assert_eq!(found(mutation, seed..seed + 1), Some((seed, invariant.to_owned())), "{mutation:?}");
        assert_eq!(run_seed(&CampaignSetup::of(ConsensusConfig::Pos(config())), seed).outcome, RunOutcome::Passed);
    }
}

/// Plans of `tests/regressions` with a twin's votes, of which each side has its own, and whether the sides still follow two heads when such
/// votes count for ever. Where they converge all the same, the plan shows nothing about these votes any more.
const PLANS_WITH_TWINS: [(&str, bool); 6] = [
    ("pos-twins-83-convergence", true),
    ("pos-twins-1228-convergence", false),
    ("pos-7010219-convergence", false),
    ("pos-7011618-convergence", false),
    ("pos-7015521-convergence", false),
    ("pos-7017445-convergence", false),
];

#[test]
fn votes_that_one_side_alone_has_leave_two_heads() {
    let (mut found, mut outcomes) = (Vec::new(), Vec::new());
    for (plan, _) in PLANS_WITH_TWINS {
        let file = format!("{}/tests/regressions/{plan}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let regression = Regression::from_toml(&text).unwrap();
        assert_eq!(regression.replay().0.outcome, RunOutcome::Passed, "{plan}");
        let (report, _) = mutation::with(Mutation::PosKeepsMessages, || regression.replay());
        found.push((plan, report.violation().is_some_and(|violation| violation.invariant == "convergence")));
        outcomes.push((plan, report.outcome));
    }
    assert_eq!(found, PLANS_WITH_TWINS, "{outcomes:#?}");
    assert!(found.iter().any(|(_, bites)| *bites), "no plan needs the rule: {outcomes:#?}");
}

/// Lets three candidates join at once a chain with the default parameters of stake. Returns how many of them are bonded at the end of each
/// of the next epochs, and how many wait.
fn joined_by_epoch() -> Vec<(usize, usize)> {
    let seed = 5;
    let builder = network(4, seed).with_candidates(3).with_staking(StakingParams::default());
    let mut network = builder.build().unwrap();
    network.run_to_height(Height::new(6)).unwrap();
    for candidate in 4..7 {
        let join = ValidatorAction::Join { stake: ether(32), commission_bps: 500 };
        network.validator_action(&NetworkBuilder::validator_key(seed, candidate), &join).unwrap();
    }
    network.run_for(Duration::from_secs(1)).unwrap();
    let of_epoch = |_| {
        network.run_for(Duration::from_secs(4)).unwrap();
        let records = network.validators().unwrap();
        let count = |status| records.iter().filter(|record| record.status == status).count();
        (count(ValidatorStatus::Bonded) - 4, count(ValidatorStatus::Pending))
    };
    (0..5).map(of_epoch).collect()
}

#[test]
fn by_default_one_validator_an_epoch_joins() {
    let joined = joined_by_epoch();
    assert!(joined.windows(2).all(|pair| pair[1].0 <= pair[0].0 + 1), "{joined:?}");
    assert!(joined[0].0 <= 1 && joined.last() == Some(&(3, 0)), "{joined:?}");
    let at_once = mutation::with(Mutation::StakingHasNoQueues, joined_by_epoch);
    assert_eq!(at_once, [(3, 0); 5]);
}

/// Returns the status and the stake of validator 4, whose double vote is shown while it validates, or so long after it has left.
/// Stake is locked for 100 seconds.
fn double_voter_shown(after_leaving: Option<Duration>) -> (ValidatorStatus, U256) {
    let (seed, who) = (5, 4);
    let params = StakingParams { unbonding_secs: 100, evidence_max_age_blocks: 10, ..StakingParams::default() };
    let mut network = network(5, seed).with_staking(params).build().unwrap();
    network.run_to_height(Height::new(12)).unwrap();
    let key = NetworkBuilder::validator_key(seed, who);
    let epoch = pos(network.primary()).epoch();
    let checkpoint = |epoch, byte| Checkpoint { epoch, block: block(1, byte) };
    let vote = |byte| {
        let data = VoteData {
            slot: epoch * 4 + 1,
            head: block(2, byte),
            source: checkpoint(epoch - 1, 7),
            target: checkpoint(epoch, byte),
        };
        Vote::signed(data, &network.authenticator().signer(&key))
    };
    let offence = SlashingEvidence::of_votes(&vote(1), &vote(2)).unwrap();
    if let Some(wait) = after_leaving {
        network.validator_action(&key, &ValidatorAction::Exit).unwrap();
        let is_out = |network: &Network| {
            let state = pos(network.primary()).head_state().unwrap();
            ![state.previous.set(), state.current.set(), &state.next.0.set]
                .iter()
                .any(|set| set.contains(&key.address()))
        };
        network.run_until(Duration::from_secs(120), is_out).unwrap();
        network.run_for(wait).unwrap();
    }
    for to in 0..4 {
        let message = ConsensusMessage::Pos(Arc::new(PosMessage::Offence(offence.clone())));
        network.inject(ReplicaId::new(who), ReplicaId::new(to), message).unwrap();
    }
    network.run_for(Duration::from_secs(16)).unwrap();
    let record = network.validators().unwrap().into_iter().find(|record| record.address == key.address()).unwrap();
    (record.status, record.stake.unwrap().tokens)
}

fn block(height: u64, byte: u8) -> BlockId {
    BlockId { height: Height::new(height), hash: B256::repeat_byte(byte) }
}

#[test]
fn the_contract_slashes_who_left_until_its_stake_is_withdrawable() {
    for (name, after_leaving, is_slashed) in [
        ("while it validates", None, true),
        ("six epochs after it left", Some(24), true),
        ("after its stake is free", Some(140), false),
    ] {
        let (status, tokens) = double_voter_shown(after_leaving.map(Duration::from_secs));
        assert_eq!(status == ValidatorStatus::Tombstoned, is_slashed, "{name}: {status:?}");
        assert_eq!(tokens < ether(32), is_slashed, "{name}: {tokens}");
    }
}
