//! Validators that are all stopped and started by their operator.

use super::*;
use crate::consensus::ConsensusKind;

/// The observer, which takes transactions, has them alone while all validators are stopped.
#[test]
fn what_was_submitted_while_all_were_stopped_is_included_once_they_run() {
    let minute = Duration::from_secs(60);
    for kind in ConsensusKind::ALL {
        for validators in [1, 4] {
            let observer = ReplicaId::new(validators);
            let builder = network_of(default_sim_config(kind), validators, 1).with_observers(1).with_primary(observer);
            let mut network = builder.build().unwrap();
            network.run_to_height_within(minute * 60, Height::new(2)).unwrap();
            let all = (0..validators).map(ReplicaId::new);
            all.clone().for_each(|validator| network.stop_replica(validator).unwrap());
            for nonce in [1, 0] {
                network.submit(transfer(nonce), observer).unwrap();
            }
            network.run_for(minute).unwrap();
            all.for_each(|validator| network.start_replica(validator).unwrap());
            network.submit(transfer(2), observer).unwrap();
            let includes = |network: &Network| network.primary().pool().is_empty();
            network.run_until(minute * 60, includes).unwrap_or_else(|error| panic!("{kind:?}, {validators}: {error}"));
        }
    }
}
