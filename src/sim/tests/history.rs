//! Histories of clients: sound services pass their check, planted bugs do not.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{ConsensusKind, ReplicaId},
    sim::{
        FaultKind, FaultPlan,
        check::history::{self, Anomaly, Consistency, History, HistoryOptions, HistoryRecorder, Service},
    },
};

/// Replica 0 is cut off from five to fifteen seconds.
fn cut() -> FaultPlan {
    let isolate = FaultKind::Isolate { replica: ReplicaId::new(0) };
    FaultPlan::default().with(Duration::from_secs(5), Duration::from_secs(10), isolate)
}

fn served(kind: ConsensusKind, seed: u64, service: Service) -> History {
    let builder = Network::builder().with_consensus(default_sim_config(kind)).with_validators(4).with_seed(seed);
    let mut network = builder.with_genesis(history::genesis()).with_faults(cut()).build().unwrap();
    let mut recorder = HistoryRecorder::new(seed, &network).with_service(service);
    let options = HistoryOptions { seed, rest: Duration::from_secs(20), ..HistoryOptions::default() };
    history::run(&mut network, &options, &mut recorder).unwrap();
    recorder.into_history()
}

#[test]
fn every_protocol_serves_what_it_promises() {
    for kind in ConsensusKind::ALL {
        let recorded = served(kind, 1, Service::default());
        let checked = recorded.check().unwrap_or_else(|anomaly| panic!("{kind:?}: {anomaly}"));
        assert!(checked.reads > 500 && checked.undecided.is_empty(), "{kind:?}: {checked:?}");
        // Finality by depth comes after more blocks than these.
        assert_eq!(checked.acknowledged > 5, kind != ConsensusKind::Poa, "{kind:?}: {checked:?}");
        let read = History::from_ndjson(&recorded.to_ndjson()).unwrap();
        assert_eq!(read, recorded);
    }
    let error = History::from_ndjson("{}\n").unwrap_err().to_string();
    assert!(error.starts_with("line 1 of the history: "), "{error}");
}

fn anomaly(service: Service) -> Box<Anomaly> {
    let kinds = [ConsensusKind::Dpos, ConsensusKind::Poa];
    let histories = kinds.into_iter().flat_map(|kind| (0..10).map(move |seed| served(kind, seed, service)));
    histories.into_iter().find_map(|recorded| recorded.check().err()).expect("the planted bug is found")
}

#[test]
fn a_read_of_a_block_that_is_not_final_is_found() {
    let found = anomaly(Service { reads_head: true, ..Service::default() });
    assert!(found.to_string().contains("no order of the operations explains"), "{found}");
}

#[test]
fn an_acknowledgement_of_a_block_that_is_not_final_is_found() {
    let found = anomaly(Service { acknowledges_head: true, ..Service::default() });
    assert_eq!(found.consistency, Consistency::Linearizable, "{found}");
    assert!(found.value < found.acknowledged, "an acknowledged transfer is missing: {found}");
}

/// Everything that the replica of an acknowledged transfer holds is lost.
#[test]
fn a_lost_acknowledged_write_is_found() {
    let mut recorded = served(ConsensusKind::Pbft, 3, Service::default());
    let lost = recorded.operations.iter().position(|operation| {
        matches!(operation.action, history::Action::Transfer { .. }) && operation.answered.is_none()
    });
    assert_eq!(lost, None, "all are acknowledged");
    // One more, which no block has.
    let mut lost = recorded.operations.iter().find(|operation| operation.answered.is_some()).unwrap().clone();
    lost.answered = Some(lost.called.plus(Duration::from_secs(2)));
    let last = recorded.operations.iter().rposition(|operation| operation.called <= lost.called).unwrap();
    let transfer =
        recorded.operations.iter().find(|operation| matches!(operation.action, history::Action::Transfer { .. }));
    lost.action = transfer.unwrap().action.clone();
    lost.client = transfer.unwrap().client;
    recorded.operations.insert(last + 1, lost);
    assert_eq!(recorded.check().unwrap_err().consistency, Consistency::Linearizable);
}

#[test]
fn a_campaign_checks_histories() {
    for kind in [ConsensusKind::Pbft, ConsensusKind::Raft, ConsensusKind::Dpos] {
        let setup = CampaignSetup { checks_history: true, ..CampaignSetup::of(default_sim_config(kind)) };
        let sound = CampaignSetup { checks_history: false, ..setup.clone() };
        for seed in 0..4 {
            let report = run_seed(&setup, seed);
            assert!(report.is_passed(), "{kind:?} seed {seed}: {:?}", report.outcome);
            assert_eq!(report.digest, run_seed(&sound, seed).digest, "reading changes nothing");
        }
    }
}
