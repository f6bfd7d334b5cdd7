//! The effects of misbehaviour, and the tolerance of fewer than a third of Byzantine replicas.

use super::*;
use crate::{
    consensus::{AnyProtocol, ConsensusMessage, dpos::DposConfig, pos::PosConfig},
    system::parameters::ParametersSpec,
};

/// Twenty seconds of PBFT with one replica of four misbehaving from the beginning, and a clean end.
fn with(behaviour: Behaviour, when: Trigger) -> Network {
    let mut network = network(pbft(), 4);
    network.misbehave(id(1), behaviour, when).unwrap();
    run_ms(&mut network, 20_000);
    assert!(!network.is_honest(id(1)) && network.is_honest(id(0)));
    let honest = [0, 2, 3].map(|replica| height(&network, replica));
    assert!(honest.iter().all(|height| *height > 3), "{honest:?}");
    network
}

fn rejected(network: &Network) -> u64 {
    [0, 2, 3].iter().map(|replica| network.replica(id(*replica)).unwrap().counters().rejected).sum()
}

#[test]
fn a_behaviour_never_triggered_changes_nothing() {
    let quiet = rejected(&with(Behaviour::Silent, Trigger::Never));
    let mut network = network(pbft(), 4);
    run_ms(&mut network, 20_000);
    assert_eq!(rejected(&network), quiet);
}

#[test]
fn a_silent_primary_causes_a_view_change() {
    let network = with(Behaviour::Silent, Trigger::Always);
    assert!(marks(&network, "pbft/timeout") > 0);
    let AnyProtocol::Pbft(pbft) = network.primary().protocol() else { panic!("not pbft") };
    assert!(pbft.view().get() > 0);
}

#[test]
fn a_selective_sender_reaches_some_only() {
    // The two replicas that it sends to are no quorum without the third.
    let network = with(Behaviour::SelectiveSend { to: vec![id(0)] }, Trigger::Always);
    assert!(marks(&network, "pbft/timeout") > 0);
}

#[test]
fn an_equivocating_replica_sends_each_half_another_block() {
    let mut network = network(pbft(), 4);
    let AnyProtocol::Pbft(first) = network.primary().protocol() else { panic!("not pbft") };
    let leader = network.replicas().iter().find(|replica| replica.address() == Some(first.primary())).unwrap().id();
    network.misbehave(leader, Behaviour::Equivocate, Trigger::Always).unwrap();
    run_ms(&mut network, 20_000);
    // Each replica receives votes for the other block, and has the evidence.
    assert!(marks(&network, "pbft/shown-other-proposal") > 0 && marks(&network, "pbft/evidence") >= 3);
    assert!(network.lowest_height().get() > 3, "{:?}", heights(&network));

    // In proof of authority both blocks are forwarded, and a replica with both has the evidence.
    let mut network = network_of_poa();
    network.misbehave(id(1), Behaviour::Equivocate, Trigger::Always).unwrap();
    run_ms(&mut network, 30_000);
    let offender = network.replica(id(1)).unwrap().address();
    let evidence: Vec<_> = network.replicas().iter().flat_map(Replica::evidence).collect();
    assert!(!evidence.is_empty() && evidence.iter().all(|piece| Some(piece.offender()) == offender), "{evidence:?}");
}

/// Where the chain's parameters decide the gas limit, the second of two empty blocks votes for less.
#[test]
fn two_empty_blocks_differ_where_the_chain_decides_the_gas_limit() {
    for config in [
        ConsensusConfig::Dpos(DposConfig::default().with_period(Duration::from_secs(1))),
        ConsensusConfig::Pos(PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4)),
    ] {
        let genesis = GenesisSpec::new(1_337).with_parameters(ParametersSpec::new(alice().address()));
        let mut network = network_of(config, 4, 1).with_genesis(genesis).build().unwrap();
        network.misbehave(id(1), Behaviour::Equivocate, Trigger::Always).unwrap();
        run_ms(&mut network, 40_000);
        let (name, offender) = (network.config().name(), network.replica(id(1)).unwrap().address());
        let evidence: Vec<_> = network.replicas().iter().flat_map(Replica::evidence).collect();
        assert!(!evidence.is_empty(), "{name}");
        assert!(evidence.iter().all(|piece| Some(piece.offender()) == offender), "{name}: {evidence:?}");
    }
}

fn network_of_poa() -> Network {
    network(poa(), 4)
}

#[test]
fn garbled_messages_are_refused_and_change_nothing() {
    let network = with(Behaviour::Invalid, Trigger::Always);
    assert!(rejected(&network) > 30, "{}", rejected(&network));
}

#[test]
fn messages_of_the_past_and_future_are_refused() {
    let quiet = rejected(&with(Behaviour::Silent, Trigger::Never));
    for behaviour in [Behaviour::Replay, Behaviour::FutureSpam] {
        let network = with(behaviour.clone(), Trigger::Always);
        assert!(rejected(&network) > quiet + 100, "{behaviour:?}: {} against {quiet}", rejected(&network));
    }
}

#[test]
fn withheld_messages_are_delayed() {
    let network = with(Behaviour::Withhold { delay: Duration::from_secs(5) }, Trigger::Always);
    assert!(marks(&network, "pbft/timeout") > 0);
}

#[test]
fn triggers_select_heights_and_draws() {
    let chance = rejected(&with(Behaviour::Invalid, Trigger::Chance { per_mille: 100 }));
    let always = rejected(&with(Behaviour::Invalid, Trigger::Always));
    let some = rejected(&with(Behaviour::Invalid, Trigger::Heights { heights: vec![Height::new(2)] }));
    assert!(0 < chance && chance < always && 0 < some && some < always, "{chance} {some} {always}");
}

#[test]
fn rounds_are_those_of_the_protocol() {
    for kind in crate::consensus::ConsensusKind::ALL {
        let config = default_sim_config(kind);
        let mut network = builder(config, 4).build().unwrap();
        // In one network a replica is silent in the current rounds, in the other in a round that never begins.
        run_ms(&mut network, 9_500);
        let mut other = network.fork();
        let round = network.replica(id(1)).unwrap().protocol().round();
        assert!(kind == crate::consensus::ConsensusKind::Pbft || round > 0, "{kind:?} is in round {round}");
        let rounds = |rounds| Trigger::Rounds { rounds };
        network.misbehave(id(1), Behaviour::Silent, rounds((round..round + 8).collect())).unwrap();
        other.misbehave(id(1), Behaviour::Silent, rounds(vec![1 << 40])).unwrap();
        run_ms(&mut network, 4_000);
        run_ms(&mut other, 4_000);
        assert_ne!(network.digest(), other.digest(), "{kind:?}");
        let mut quiet = builder(default_sim_config(kind), 4).build().unwrap();
        run_ms(&mut quiet, 13_500);
        assert_eq!(heights(&quiet), heights(&other), "{kind:?}: a round that never begins");
    }
}

#[test]
fn a_censor_excludes_the_chosen_senders() {
    let mut network = network(raft(), 1);
    let mut clients = campaign::workload::Workload::new(1, 8, Duration::from_millis(8), 1);
    let transactions: Vec<_> = core::iter::from_fn(|| clients.next()).map(|(_, transaction, _)| transaction).collect();
    let victim = transactions[0].sender();
    let of_victim = transactions.iter().filter(|transaction| transaction.sender() == victim).count();
    let censorship = network.misbehave(id(0), Behaviour::Censor { senders: vec![victim] }, Trigger::Always).unwrap();
    for transaction in transactions {
        network.submit(transaction, id(0)).unwrap();
    }
    run_ms(&mut network, 8_000);
    assert_eq!(network.primary().pool().len(), of_victim);
    network.end_fault(censorship).unwrap();
    run_ms(&mut network, 5_000);
    assert!(network.primary().pool().is_empty());
}

#[test]
fn one_pair_of_twins_is_tolerated_and_two_break_agreement() {
    let mut network = network(pbft(), 4);
    network.begin_fault(FaultKind::Twins { replica: id(0), group: vec![id(1), id(2)] }).unwrap();
    run_ms(&mut network, 20_000);
    assert!([1, 2, 3].iter().all(|replica| height(&network, *replica) > 3), "{:?}", heights(&network));

    // The negative control: f + 1 of 3f + 1 are Byzantine, and the checker reports the disagreement.
    let violation = (0..10).find_map(two_of_four).expect("two of four Byzantine replicas break agreement");
    assert!(violation.invariant == "agreement" && violation.detail.contains("is final as"), "{violation}");
}

/// Two replicas have twins, one process connected to each honest replica, and clients submit to both halves.
fn two_of_four(seed: u64) -> Option<Violation> {
    let one_way = |from, to| FaultKind::OneWay { from: vec![id(from)], to: vec![id(to)] };
    let plan = FaultPlan::default()
        .with_lasting(Duration::ZERO, FaultKind::Twins { replica: id(0), group: vec![id(1), id(2)] })
        .with_lasting(Duration::ZERO, FaultKind::Twins { replica: id(1), group: vec![id(0), id(2)] })
        .with_lasting(Duration::ZERO, one_way(2, 3))
        .with_lasting(Duration::ZERO, one_way(3, 2));
    let network = Network::builder()
        .with_genesis(campaign::workload::Workload::genesis())
        .with_invariants(invariant::generic())
        .with_consensus(pbft())
        .with_validators(4)
        .with_seed(seed)
        .with_faults(plan);
    let mut network = network.build().unwrap();
    let mut clients = campaign::workload::Workload::new(seed, 20, Duration::from_secs(20), 4);
    while let Some((at, transaction, replica)) = clients.next() {
        if let Err(NetworkError::Violated(violation)) = network.run_to(at) {
            return Some(*violation);
        }
        drop(network.submit(transaction, replica));
    }
    None
}

#[test]
fn whole_blocks_are_garbled_and_advanced_too() {
    let mut network = network(poa(), 4);
    network.misbehave(id(1), Behaviour::Invalid, Trigger::Always).unwrap();
    network.misbehave(id(2), Behaviour::FutureSpam, Trigger::Always).unwrap();
    run_ms(&mut network, 30_000);
    assert!(network.replica(id(0)).unwrap().counters().rejected > 3);
    // An injected message passes links and faults as any other.
    let block = network.primary().chain().head().block().clone();
    network.inject(id(0), id(3), ConsensusMessage::Block(block)).unwrap();
    run_ms(&mut network, 100);
}

#[test]
fn lying_answers_mislead_nobody() {
    for config in [dpos(), pos(), pbft()] {
        // What a replica refuses that was away while the others went on, in some seeds together.
        let refused = |when: &Trigger| {
            let of_seed = |seed| {
                let mut network = builder(config.clone(), 4).with_seed(seed).build().unwrap();
                network.misbehave(id(1), Behaviour::LyingAnswers, when.clone()).unwrap();
                // So often that the liar is one of those who are asked for what was missed.
                for _ in 0..5 {
                    let cut = network.isolate(id(3)).unwrap();
                    run_ms(&mut network, 5_000);
                    network.end_fault(cut).unwrap();
                    run_ms(&mut network, 3_000);
                }
                assert_progress(&mut network, 12);
                let common = Height::new(network.lowest_height().get() - 6);
                let blocks = network.replicas().iter().map(|replica| replica.chain().hash_at(common).unwrap());
                assert_eq!(blocks.collect::<std::collections::BTreeSet<_>>().len(), 1, "{seed}: one block at {common}");
                assert_eq!(
                    network.replicas().iter().flat_map(Replica::evidence).count(),
                    0,
                    "{seed}: nobody is accused"
                );
                network.replica(id(3)).unwrap().counters().rejected
            };
            (0..6).map(of_seed).sum::<u64>()
        };
        let (honest, lying) = (refused(&Trigger::Never), refused(&Trigger::Always));
        assert!(lying > honest, "{config:?}: {lying} with lies, {honest} without");
    }
}

#[test]
fn another_body_has_the_hash_of_the_first() {
    let mut network = network(dpos(), 4);
    run_ms(&mut network, 6_000);
    let replica = network.primary();
    let block = replica.serve_block(replica.head()).unwrap();
    let mut rng = engine::rng::Streams::new(3).stream("bodies");
    let others: Vec<_> = (0..16).map(|_| replica.with_other_body(&block, &mut rng)).collect();
    assert!(others.iter().all(|other| other.hash() == block.hash() && other.seal() == block.seal()));
    let changed = others.iter().filter(|other| !other.has_same_body(&block)).count();
    assert!(changed >= 4, "{changed} of 16: a payload may be that of the block before");
    let digests = others.iter().filter(|other| other.body_digest() != block.body_digest()).count();
    assert_eq!(digests, changed, "the digest tells bodies apart");
}

#[test]
fn altered_relays_overtake_and_are_refused() {
    for config in [dpos(), pos(), pbft()] {
        let uniform = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(60) };
        let mut network = builder(config, 4).with_latency(uniform).build().unwrap();
        network.misbehave(id(1), Behaviour::AlteredRelays, Trigger::Always).unwrap();
        run_ms(&mut network, 20_000);
        assert!(rejected(&network) > 10, "{}", rejected(&network));
        assert_progress(&mut network, 4);
        // Nobody is accused for what another did to its message.
        let accused = network.replicas().iter().flat_map(Replica::evidence).count();
        assert_eq!(accused, 0);
    }
}
