//! A protocol that is not one of the crate's: the example's, through the public interface alone.

#[path = "../examples/own_protocol/two_phase.rs"]
mod two_phase;

use core::time::Duration;
use std::collections::BTreeSet;

use chainbox::{
    consensus::{AnyProtocol, BlockTree, ConsensusConfig, OwnProtocol, Pacemaker, ReplicaId},
    node::Node,
    primitives::Height,
    sim::{
        Campaign, CampaignSetup, FaultKind, FaultPlan, Network, NetworkBuilder, Regression, RegressionError, invariant,
        record_plan, shrink,
        trace::{Replay, Trace},
    },
};
use two_phase::{TwoPhase, certified_once, two_phase};

fn setup(missing_votes: u128) -> CampaignSetup {
    CampaignSetup::of(two_phase(missing_votes).into()).with_invariants([certified_once()])
}

fn builder() -> NetworkBuilder {
    Network::builder().with_protocol(two_phase(0)).with_validators(4).with_seed(3).with_invariants(invariant::generic())
}

/// The leader of view 3 is down for a while.
fn crash() -> FaultPlan {
    let kind = FaultKind::Crash { replica: ReplicaId::new(3) };
    FaultPlan::default().with(Duration::from_millis(2_500), Duration::from_secs(5), kind)
}

#[test]
fn it_makes_blocks_survives_a_crash_and_replays_without_the_seed() {
    let mut network = builder().with_faults(crash()).with_trace("two-phase").build().unwrap();
    network.run_to_height(Height::new(15)).unwrap();
    assert!(network.replicas().iter().any(|replica| replica.marks().any(|(name, _)| name == Pacemaker::TIMED_OUT)));
    assert_eq!(network.replicas()[3].counters().restarts, 1);
    assert!(network.replicas()[0].own_protocol::<AnyProtocol>().is_none(), "another type");

    let trace = network.trace().unwrap();
    let read = Trace::read(trace.to_ndjson().as_bytes()).unwrap();
    assert_eq!(read, trace);
    let mut replay = Replay::of_own(&read, &two_phase(0)).unwrap();
    replay.finish().unwrap();
    assert_eq!(replay.head_of(0), Some(network.replicas()[0].head()));
    // It is found out where it is not the protocol that was recorded.
    assert!(Replay::of_own(&read, &two_phase(1)).unwrap_err().to_string().contains("given is"));
    assert!(Replay::new(&read).unwrap_err().to_string().contains("`Replay::of_own`"));

    let mut again = builder().with_faults(crash()).build().unwrap();
    again.run_to_height(Height::new(15)).unwrap();
    assert_eq!(again.digest(), network.digest(), "one seed, one run");
}

#[cfg(feature = "diagram")]
#[test]
fn its_picture_has_its_messages_and_views() {
    let mut network = builder().with_faults(crash()).with_trace("two-phase").build().unwrap();
    network.run_for(Duration::from_secs(12)).unwrap();
    let picture = chainbox::sim::diagram::draw(&network.trace().unwrap(), &Default::default());
    assert!(picture.contains("vote") && picture.contains("new-view"), "{picture}");
}

#[test]
fn its_campaign_finds_nothing_and_reaches_every_mark() {
    let campaign = Campaign::new(setup(0), 0..60);
    let mut marks = BTreeSet::new();
    let run = campaign.run(&BTreeSet::new(), |report| {
        if !report.is_passed() {
            return Err(format!("seed {}: {:?}\n{}", report.seed, report.outcome, report.plan.to_toml()));
        }
        marks.extend(report.marks.into_keys());
        Ok(())
    });
    run.unwrap();
    let known: BTreeSet<_> = two_phase(0).marks().iter().map(|mark| (*mark).to_owned()).collect();
    assert_eq!(marks, known);
}

#[test]
fn replicas_that_missed_many_blocks_catch_up_from_below() {
    let setup = CampaignSetup::long(two_phase(0).into()).with_invariants([certified_once()]);
    let mut caught_up = 0;
    for seed in 0..6 {
        let report = chainbox::sim::run_seed(&setup, seed);
        assert!(report.is_passed(), "seed {seed}: {:?}", report.outcome);
        caught_up += u32::from(report.marks.contains_key(BlockTree::<()>::CAUGHT_UP));
    }
    assert!(caught_up > 0, "no seed had a gap that was wide enough");
}

#[test]
fn a_certificate_of_one_vote_too_few_is_found_shrunk_and_kept() {
    let setup = setup(1);
    let found = Campaign::new(setup.clone(), 0..200).first_failure().expect("a quorum of 2f is found");
    let violation = found.violation().expect("by an invariant").clone();
    assert_eq!(violation.invariant, "two-phase-certified-once");
    let shrunk = shrink(&setup, &found, 60);
    assert_eq!(shrunk.report.violation().unwrap().invariant, violation.invariant);
    assert!(shrunk.report.plan.faults.len() < shrunk.faults_before || shrunk.faults_before == 1);

    // The file has the plan; the protocol is code, and given.
    let file = Regression::mended("a quorum too small", setup.clone(), &shrunk.report).to_toml().unwrap();
    assert!(Regression::from_toml(&file).is_err());
    let read = Regression::from_toml_of_own(&file, &two_phase(1)).unwrap();
    assert_eq!((&read.plan, read.setup.consensus.name()), (&shrunk.report.plan, "two-phase"));
    assert!(!Regression { setup: setup.clone(), ..read }.replay().1, "it is not mended");
    let other = Regression::from_toml_of_own(&file, &two_phase(0)).unwrap_err();
    assert!(matches!(other, RegressionError::OtherProtocol { .. }), "{other}");
    let (_, trace) = record_plan(&setup, found.seed, &shrunk.report.plan, "found");
    assert!(Replay::of_own(&trace.unwrap(), &two_phase(1)).unwrap().finish().is_ok());
    // With whole quorums the same plan does nothing.
    assert!(chainbox::sim::run_plan(&self::setup(0), found.seed, &shrunk.report.plan).is_passed());
}

#[test]
fn what_it_cannot_do_is_refused_by_name() {
    let error = Node::builder().with_consensus(two_phase(0).with_period(Duration::ZERO).into()).build().unwrap_err();
    assert!(error.to_string().contains("two-phase is a protocol of one's own"), "{error}");
    let section = ConsensusConfig::from(two_phase(0)).section();
    assert_eq!(section["name"], "two-phase");
    assert!(ConsensusConfig::deserialize_section(&section).unwrap_err().to_string().contains("own"));

    let broken: OwnProtocol = OwnProtocol::new("broken", |_| Err::<TwoPhase, _>("it has no genesis".to_owned()));
    let error = Network::builder().with_protocol(broken).build().unwrap_err();
    assert_eq!(error.to_string(), "broken: it has no genesis");
}
