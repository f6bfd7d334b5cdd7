//! Silent primaries, lost messages, view changes, catching up.

use std::sync::Arc;

use super::lab::Lab;
use crate::consensus::{
    Deadline, Effect, Event, Protocol, Rejection, ReplicaId,
    pbft::{Body, CertificateError, MessageError, RESEND_TIMER, SUSPECT_TIMER, Seal, View, ViewChange},
};
use crate::primitives::Height;

#[test]
fn a_silent_primary_is_replaced_and_catches_up() {
    let mut lab = Lab::new(4);
    (0..3).for_each(|_| lab.produce());
    lab.isolate(0);
    lab.suspect();
    assert_eq!(lab.views()[1..], [1, 1, 1]);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [3, 8, 8, 8]);
    // It is reconnected, fetches the blocks that it lacks, and enters the later view that their certificates prove.
    lab.reconnect(0);
    lab.produce();
    assert!(lab.mark("pbft/view-missed") > 0 && lab.mark("pbft/new-view-resent") > 0);
    assert_eq!(lab.views(), [1; 4]);
    assert!(!lab.replica(0).is_changing());
    lab.isolate(3);
    lab.produce();
    assert_eq!(lab.heights()[..3], [10; 3], "its votes count again");
    assert_eq!(lab.violations, []);
}

#[test]
fn a_block_committed_by_one_replica_survives_the_view_change() {
    for keeper in 0..4 {
        let mut lab = Lab::new(4);
        (0..5).for_each(|_| lab.produce());
        // Only `keeper` receives the commits of block 6; then it is isolated.
        lab.lost_labels = (0..4).map(|index| if index == keeper { vec![] } else { vec!["commit"] }).collect();
        lab.produce();
        assert_eq!(lab.heights()[keeper], 6);
        assert_eq!(lab.heights().iter().filter(|height| **height == 6).count(), 1);
        lab.lose_nothing();
        lab.isolate(keeper);
        lab.suspect();
        lab.suspect_if_changing();
        assert_eq!(lab.heights().iter().filter(|height| **height == 6).count(), 4, "{keeper}: {:?}", lab.heights());
        lab.produce();
        lab.reconnect(keeper);
        lab.produce();
        assert_eq!(lab.violations, []);
        assert_eq!(lab.heights(), [8; 4]);
    }
}

#[test]
fn a_block_that_was_only_proposed_may_be_dropped() {
    let mut lab = Lab::new(4);
    lab.lose(&["prepare"]);
    lab.produce();
    let proposed = lab.replica(1).log.pre_prepared()[0].block;
    lab.lose_nothing();
    lab.suspect();
    lab.produce();
    assert_eq!(lab.heights(), [1; 4]);
    assert_ne!(lab.replica(1).head(), proposed);
    assert_eq!(lab.violations, []);
}

#[test]
fn a_new_primary_fetches_the_block_that_it_must_propose() {
    let mut lab = Lab::new(4);
    // Replica 1, the next primary, receives nothing about block 1, which 2 and 3 prepare.
    lab.lost_labels = vec![vec!["commit"], vec!["pre-prepare", "prepare", "commit"], vec!["commit"], vec!["commit"]];
    lab.produce();
    let prepared = lab.replica(2).prepared(Height::new(1)).unwrap().block;
    lab.lose_nothing();
    lab.isolate(0);
    lab.suspect();
    assert!(lab.mark("pbft/fetch-chosen") > 0);
    assert_eq!(lab.replica(1).head(), prepared);
    assert_eq!(lab.heights(), [0, 1, 1, 1]);
}

#[test]
fn lost_view_changes_and_new_views_are_resent() {
    let mut lab = Lab::new(4);
    lab.isolate(0);
    lab.lose(&["view-change"]);
    lab.suspect();
    assert!(lab.replicas().skip(1).all(|replica| replica.is_changing()));
    lab.lost_labels = vec![vec![], vec![], vec!["new-view"], vec![]];
    (1..4).for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    assert!(!lab.replica(1).is_changing() && lab.replica(2).is_changing());
    lab.lose_nothing();
    lab.fire(2, RESEND_TIMER);
    lab.settle();
    assert!(!lab.replica(2).is_changing());
    lab.produce();
    assert_eq!(lab.heights(), [0, 1, 1, 1]);
}

#[test]
fn lost_votes_are_resent() {
    let mut lab = Lab::new(4);
    lab.lose(&["prepare", "commit"]);
    lab.produce();
    assert_eq!(lab.heights(), [0; 4]);
    lab.lose_nothing();
    for _ in 0..2 {
        (0..4).for_each(|index| lab.fire(index, RESEND_TIMER));
        lab.settle();
    }
    assert_eq!(lab.heights(), [1; 4]);
    assert_eq!(lab.views(), [0; 4]);
}

#[test]
fn consecutive_silent_primaries_are_replaced() {
    let mut lab = Lab::new(7);
    [0, 1].into_iter().for_each(|index| lab.isolate(index));
    lab.suspect();
    assert!(lab.replica(2).is_changing(), "view 1 has no primary");
    lab.suspect();
    assert_eq!(lab.views()[2..], [2; 5]);
    lab.produce();
    assert_eq!(lab.heights()[2..], [1; 5]);
}

#[test]
fn f_plus_1_higher_views_are_joined_at_the_smallest_and_f_are_not() {
    let mut lab = Lab::new(7);
    let view_change = |lab: &Lab, who: usize, view: u64| {
        let stable = lab.replica(0).stable_checkpoint();
        let (prepared, pre_prepared) = (vec![], vec![]);
        let view = View::new(view);
        lab.signed(
            who,
            Body::ViewChange(ViewChange {
                since: Height::GENESIS,
                view,
                stable,
                checkpoints: vec![stable],
                prepared,
                pre_prepared,
            }),
        )
    };
    for (who, view) in [(4, 9), (5, 5)] {
        let message = view_change(&lab, who, view);
        lab.inject(who, 1, message);
    }
    lab.deliver_at(0);
    lab.deliver_at(0);
    assert_eq!(lab.views()[1], 0, "f of them may be faulty");
    let message = view_change(&lab, 6, 7);
    lab.inject(6, 1, message);
    lab.deliver_at(0);
    assert_eq!(lab.views()[1], 5);
    assert!(lab.replica(1).is_changing());
}

#[test]
fn the_new_view_timeout_starts_at_a_quorum_and_doubles() {
    let mut lab = Lab::new(4);
    lab.isolate(1);
    lab.lose(&["view-change"]);
    lab.suspect();
    // Alone it waits without a timeout.
    assert!(lab.replica(2).is_changing() && !lab.nodes[2].timers.contains_key(&SUSPECT_TIMER));
    lab.lose_nothing();
    [0, 2, 3].into_iter().for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    assert!(lab.nodes[2].timers.contains_key(&SUSPECT_TIMER), "a quorum wants view 1, whose primary is silent");
    let waits: Vec<_> = (0..3)
        .map(|_| {
            let mut copy = lab.replica(2).clone();
            copy.doublings += 1;
            let mut effects = Vec::new();
            copy.arm_suspect(&mut effects);
            lab.replica_mut(2).doublings += 1;
            match effects.as_slice() {
                [Effect::ArmTimer { deadline: Deadline::After { nanos }, .. }] => *nanos - 1_000_000_000,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!((waits[1], waits[2]), (2 * waits[0], 4 * waits[0]));
}

#[test]
fn a_backup_that_missed_more_than_the_log_catches_up_by_certified_blocks() {
    let mut lab = Lab::new(4);
    lab.isolate(3);
    (0..30).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [30, 30, 30, 0]);
    lab.reconnect(3);
    lab.produce();
    assert_eq!(lab.heights(), [31, 31, 31, 30], "block 31 was agreed upon beyond its watermarks");
    lab.produce();
    assert_eq!(lab.heights(), [32; 4]);
    assert!(lab.mark("pbft/synced") >= 30);
    assert_eq!(lab.replica(3).stable_checkpoint().height.get(), 32);
    // It votes again.
    lab.isolate(2);
    (0..10).for_each(|_| lab.produce());
    assert_eq!((lab.heights()[0], lab.heights()[3]), (42, 42));
    assert_eq!(lab.violations, []);
}

#[test]
fn a_synced_block_without_its_certificate_is_refused() {
    let mut lab = Lab::new(4);
    lab.isolate(3);
    (0..3).for_each(|_| lab.produce());
    let certified = lab.canonical(0, 1);
    // Two validators have proved that they are ahead; its request is not answered yet.
    lab.reconnect(3);
    let mut replica = lab.replica(3).clone();
    for who in [0_usize, 1] {
        let message = lab.signed(who, Body::Commit { view: View::new(0), block: lab.replica(who).head() });
        let from = ReplicaId::new(who as u32);
        let mut effects = Vec::new();
        replica.step(
            Event::Message { from, message: crate::consensus::ConsensusMessage::Pbft(Arc::new(message)) },
            &mut effects,
        );
        let fetches = effects.iter().any(|effect| matches!(effect, Effect::Fetch { .. }));
        assert_eq!(fetches, who == 1, "f validators may lie");
    }
    let proposal = Seal::Proposal { view: View::new(0), signature: vec![1; 52].into() };
    let mut short = Seal::certificate(certified.seal()).unwrap();
    short.signatures.pop();
    for (seal, want) in [
        (proposal.encoded(), CertificateError::NotCommitted),
        (Seal::Certificate(short).encoded(), CertificateError::Count { got: 2, want: 3 }),
    ] {
        let before = replica.clone();
        let block = Arc::new(certified.as_ref().clone().with_seal(seal));
        let mut effects = Vec::new();
        replica.step(Event::BlockSynced { from: ReplicaId::new(0), block }, &mut effects);
        let [Effect::Reject(Rejection::Pbft(MessageError::Certificate(got)))] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert_eq!(*got, want);
        assert_eq!(replica, before);
    }
    let mut effects = Vec::new();
    replica.step(Event::BlockSynced { from: ReplicaId::new(0), block: certified }, &mut effects);
    assert!(matches!(effects.as_slice(), [Effect::Validate { .. }]));
}

impl Lab {
    /// A silent primary of the new view is replaced too.
    fn suspect_if_changing(&mut self) {
        if self.replicas().enumerate().any(|(index, replica)| !self.is_isolated(index) && replica.is_changing()) {
            self.suspect();
        }
    }
}
