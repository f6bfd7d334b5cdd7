//! Producers that were away while they were elected.

use super::{super::*, lab::*};
use crate::{
    consensus::mutation,
    primitives::Height,
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// The four producers of genesis elect four others, who are away, and make the election irreversible: nobody else may produce then.
fn all_elected_while_away(restarts: bool) -> Lab {
    let mut lab = Lab::with_config(8, 4, DposConfig::default().with_producers(4));
    let weights = (0..8).map(|who| (lab.signers[who].address(), u64::from(who >= 4)));
    let updates = ValidatorUpdates::new(weights.map(|(address, weight)| ValidatorUpdate { address, weight }));
    lab.updates.insert(Height::new(10), updates);
    lab.slots(4);
    (4..8).for_each(|who| lab.nodes[who].is_up = false);
    lab.slots(30);
    let old = lab.signers[..4].iter().map(Signer::address);
    assert!(old.into_iter().all(|address| !lab.replica(0).validators().contains(&address)), "others are elected");
    if restarts {
        (0..4).for_each(|who| lab.restart(who));
    }
    for who in 4..8 {
        lab.nodes[who].is_up = true;
        lab.deliver(who, Event::Start);
    }
    for _ in 0..2 {
        (0..8).for_each(|who| lab.fire(who, QUIET_TIMER));
        lab.settle();
    }
    lab.slots(40);
    lab
}

#[test]
fn whoever_was_away_when_elected_hears_of_it() {
    for restarts in [false, true] {
        let lab = all_elected_while_away(restarts);
        let rejected: Vec<_> = lab.rejections.iter().rev().take(3).collect();
        let reached: Vec<_> = (0..8).map(|who| (lab.replica(who).head().height, lab.irreversible(who))).collect();
        assert!(lab.is_agreed() && lab.violations.is_empty(), "{:?} {reached:?}: {rejected:?}", lab.violations);
        assert!(lab.irreversible(7) > 30, "{:?} {reached:?}: {rejected:?}", lab.violations);
    }
    let halted = mutation::with(Mutation::DposElectorsFallSilent, || all_elected_while_away(false));
    assert!(halted.irreversible(7) < 10);
}
