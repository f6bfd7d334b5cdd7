//! Lawful reports of absences in PBFT, which the invariants must not take for wrong ones.

use super::{faults::id, *};
use crate::{
    chain::ExecutedBlock,
    consensus::{
        AnyProtocol, ConsensusConfig, PbftConfig, ReplicaId,
        mutation::{self, Mutation},
        pbft::{Payload, Pbft},
    },
    sim::{
        check::invariant,
        faults::plan::{Behaviour, Delay, FaultKind, LinkEffect, LinkFault, Trigger},
    },
    system::staking::StakingParams,
};

/// Four members and an observer, with the invariants of PBFT. Whoever is reported thirteen times in a window of 24 blocks is jailed.
fn network() -> Network {
    let config = ConsensusConfig::Pbft(PbftConfig::default().with_reported_absences());
    Network::builder()
        .with_invariants(invariant::of_protocol(&config))
        .with_consensus(config)
        .with_staking(StakingParams { downtime_window: 24, ..StakingParams::default() })
        .with_validators(4)
        .with_observers(1)
        .with_seed(5)
        .with_latency(Latency::Constant(Duration::from_millis(20)))
        .build()
        .unwrap()
}

fn protocol(network: &Network, replica: ReplicaId) -> &Pbft {
    let AnyProtocol::Pbft(pbft) = network.replica(replica).unwrap().protocol() else { panic!("not pbft") };
    pbft
}

/// The primary of now, and a member that is none.
fn primary_and_other(network: &Network) -> (ReplicaId, ReplicaId) {
    let primary = protocol(network, id(0)).primary();
    let members = || (0..4).map(id);
    let is_primary = |member: &ReplicaId| network.replica(*member).unwrap().address() == Some(primary);
    (members().find(is_primary).unwrap(), members().find(|member| !is_primary(member)).unwrap())
}

/// How many blocks report the member.
fn reports(network: &Network, member: ReplicaId) -> usize {
    let (chain, address) =
        (network.replica(id(4)).unwrap().chain(), network.replica(member).unwrap().address().unwrap());
    let blocks = (1..=chain.head().height().get()).map(|height| chain.block_at(Height::new(height)).unwrap());
    let is_reported =
        |block: &ExecutedBlock| Payload::decode(block.block().protocol_payload()).unwrap().absent.contains(&address);
    blocks.filter(|block| is_reported(block)).count()
}

fn clog(from: Vec<ReplicaId>, to: Vec<ReplicaId>, label: &str) -> LinkFault {
    LinkFault { from, to, labels: vec![label.to_owned()], effect: LinkEffect::Clog }
}

/// Observers have no vote with which to end the view of who reports it.
#[test]
fn a_member_that_only_an_observer_hears_is_absent() {
    let mut network = network();
    let (_, mute) = primary_and_other(&network);
    let others = (0..4).map(id).filter(|member| *member != mute).collect();
    network.begin_fault(FaultKind::OneWay { from: vec![mute], to: others }).unwrap();
    network.run_to_height(Height::new(20)).unwrap();
    assert!(reports(&network, mute) > 12, "{}", reports(&network, mute));
}

/// Who is late for all is absent, though all have its commits before they commit the next block.
#[test]
fn a_member_that_is_late_for_all_is_absent() {
    let mut network = network();
    let (_, slow) = primary_and_other(&network);
    let delay = Delay::Constant { delay: Duration::from_millis(1_000) };
    network.begin_fault(FaultKind::SlowExecution { replica: slow, delay }).unwrap();
    network.run_to_height(Height::new(20)).unwrap();
    assert!(reports(&network, slow) > 12, "{}", reports(&network, slow));
}

/// What counts is which commits reached the author, whatever its protocol keeps of them.
#[test]
fn an_honest_author_that_loses_a_commit_reports_wrongly() {
    let mut network = network();
    let (primary, other) = primary_and_other(&network);
    let address = network.replica(other).unwrap().address().unwrap();
    network.run_to_height(Height::new(5)).unwrap();
    // The quorum's commits made the block; those of all arrive before the next one is requested.
    let has_all = |network: &Network| protocol(network, primary).present().len() == 4;
    network.run_until(Duration::from_secs(5), has_all).unwrap();
    assert!(!protocol(&network, primary).is_building() && protocol(&network, primary).proposed().is_none());
    let AnyProtocol::Pbft(pbft) = &mut network.replicas[primary.index()].protocol else { panic!("not pbft") };
    pbft.lose_attendance(&address);
    let NetworkError::Violated(violation) = network.run_to_height(Height::new(8)).unwrap_err() else {
        panic!("not violated")
    };
    assert_eq!(violation.invariant, "absences-own");
}

/// What the author learns after it made the block does not make its report a wrong one, though the next view repeats the block.
#[test]
fn a_block_that_the_next_view_repeats_reports_whom_its_author_lacked() {
    let mut network = network();
    let (primary, late) = primary_and_other(&network);
    network.run_to_height(Height::new(4)).unwrap();
    let held = network.set_link(clog(vec![late], vec![primary], "commit")).unwrap();
    network.run_to_height(Height::new(5)).unwrap();
    let proposes = |network: &Network| protocol(network, primary).proposed().is_some();
    network.run_until(Duration::from_secs(5), |network| !proposes(network)).unwrap();
    network.run_until(Duration::from_secs(5), proposes).unwrap();
    // The commit for the parent comes now, and the block is prepared and not committed.
    network.end_fault(held).unwrap();
    let commits = network.set_link(clog(Vec::new(), Vec::new(), "commit")).unwrap();
    let is_repeated = |network: &Network| {
        let pbft = protocol(network, primary);
        pbft.view().get() == 1 && !pbft.is_changing() && pbft.proposed().is_some()
    };
    network.run_until(Duration::from_secs(30), is_repeated).unwrap();
    let own = protocol(&network, primary).proposed().unwrap();
    let named = Payload::decode(own.protocol_payload()).unwrap().absent;
    let address = network.replica(late).unwrap().address().unwrap();
    assert_eq!(
        (own.header().beneficiary, named),
        (network.replica(primary).unwrap().address().unwrap(), vec![address])
    );
    assert!(protocol(&network, primary).present().contains(&address));
    network.end_fault(commits).unwrap();
    network.run_to_height(Height::new(12)).unwrap();
}

/// Runs a primary that accuses a member while links hold the suspicions.
fn with_held_suspicions() -> Result<Network, NetworkError> {
    let mut network = network();
    let (primary, _) = primary_and_other(&network);
    network.misbehave(primary, Behaviour::FalseAbsences, Trigger::Always)?;
    let held = network.set_link(clog(Vec::new(), Vec::new(), "suspicion"))?;
    network.run_to_height(Height::new(20))?;
    assert_eq!(protocol(&network, id(4)).view().get(), 0);
    network.end_fault(held)?;
    network.run_to_height(Height::new(22))?;
    Ok(network)
}

#[test]
fn reports_are_not_wrong_while_links_hold_the_suspicions_of_those_who_know_better() {
    let network = with_held_suspicions().unwrap();
    let most = (0..4).map(|member| reports(&network, id(member))).max();
    assert!(most > Some(12), "{most:?}");
    assert!((0..4).map(id).any(|member| protocol(&network, member).view().get() == 1), "they arrived");
    // Where nobody suspects, nothing excuses them.
    let violated = mutation::with(Mutation::PbftBelievesReports, with_held_suspicions).unwrap_err();
    let NetworkError::Violated(violation) = violated else { panic!("{violated}") };
    assert_eq!(violation.invariant, "absences-unjust");
}

#[test]
fn who_stays_with_a_primary_that_a_weak_quorum_suspects_is_told() {
    let accused = || {
        let mut network = network();
        let (primary, _) = primary_and_other(&network);
        network.misbehave(primary, Behaviour::FalseAbsences, Trigger::Always)?;
        network.run_to_height(Height::new(20)).map(|()| network)
    };
    let network = accused().unwrap();
    assert!(protocol(&network, id(4)).view().get() > 0, "its view is over");
    let NetworkError::Violated(violation) = mutation::with(Mutation::PbftIgnoresSuspicions, accused).unwrap_err()
    else {
        panic!("a violation")
    };
    assert_eq!(violation.invariant, "absences-unjust");
    assert!(violation.detail.contains("stays in view 0 though f + 1 suspect its primary"), "{}", violation.detail);
}
