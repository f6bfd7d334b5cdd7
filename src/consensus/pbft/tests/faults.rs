//! Silent primaries, lost messages, view changes, catching up.

use std::sync::Arc;

use super::lab::Lab;
use crate::consensus::{
    Deadline, Effect, Event, Protocol, Rejection, ReplicaId,
    pbft::{Body, CertificateError, MessageError, RESEND_TIMER, SUSPECT_TIMER, Seal, View, ViewChange},
};

#[test]
fn a_silent_primary_is_replaced_and_comes_back() {
    let mut lab = Lab::new(4);
    (0..3).for_each(|_| lab.produce());
    lab.cut[0] = true;
    lab.suspect();
    assert_eq!(lab.views()[1..], [1, 1, 1]);
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [3, 8, 8, 8]);
    // It comes back, hears of blocks it has not, fetches them, and learns from their certificates that a later view began.
    lab.cut[0] = false;
    lab.produce();
    assert!(lab.mark("pbft/view-missed") > 0 && lab.mark("pbft/new-view-resent") > 0);
    assert_eq!(lab.views(), [1; 4]);
    assert!(!lab.replicas[0].is_changing());
    lab.cut[3] = true;
    lab.produce();
    assert_eq!(lab.heights()[..3], [10; 3], "its votes count again");
    assert_eq!(lab.disagreement, None);
}

#[test]
fn what_one_replica_committed_survives_the_view_change() {
    for keeper in 0..4 {
        let mut lab = Lab::new(4);
        (0..5).for_each(|_| lab.produce());
        // Only `keeper` hears the commits of block 6; then it falls silent.
        lab.deaf = (0..4).map(|index| if index == keeper { vec![] } else { vec!["commit"] }).collect();
        lab.produce();
        assert_eq!(lab.heights()[keeper], 6);
        assert_eq!(lab.heights().iter().filter(|height| **height == 6).count(), 1);
        lab.deaf = vec![vec![]; 4];
        lab.cut[keeper] = true;
        lab.suspect();
        lab.suspect_if_changing();
        assert_eq!(lab.heights().iter().filter(|height| **height == 6).count(), 4, "{keeper}: {:?}", lab.heights());
        lab.produce();
        lab.cut[keeper] = false;
        lab.produce();
        assert_eq!(lab.disagreement, None);
        assert_eq!(lab.heights(), [8; 4]);
    }
}

#[test]
fn a_block_that_was_only_proposed_may_be_dropped() {
    let mut lab = Lab::new(4);
    lab.deaf = vec![vec!["prepare"]; 4];
    lab.produce();
    let proposed = lab.replicas[1].log.pre_prepared()[0].block;
    lab.deaf = vec![vec![]; 4];
    lab.suspect();
    lab.produce();
    assert_eq!(lab.heights(), [1; 4]);
    assert_ne!(lab.replicas[1].head(), proposed);
    assert_eq!(lab.disagreement, None);
}

#[test]
fn a_new_primary_fetches_the_body_of_what_it_must_propose() {
    let mut lab = Lab::new(4);
    // Replica 1, the next primary, hears nothing of block 1, which 2 and 3 prepare.
    lab.deaf = vec![vec!["commit"], vec!["pre-prepare", "prepare", "commit"], vec!["commit"], vec!["commit"]];
    lab.produce();
    let prepared = lab.replicas[2].prepared(crate::primitives::Height::new(1)).unwrap().block;
    lab.deaf = vec![vec![]; 4];
    lab.cut[0] = true;
    lab.suspect();
    assert!(lab.mark("pbft/fetch-chosen") > 0);
    assert_eq!(lab.replicas[1].head(), prepared);
    assert_eq!(lab.heights(), [0, 1, 1, 1]);
}

#[test]
fn lost_view_changes_and_new_views_are_sent_again() {
    let mut lab = Lab::new(4);
    lab.cut[0] = true;
    lab.deaf = vec![vec!["view-change"]; 4];
    lab.suspect();
    assert!(lab.replicas[1..].iter().all(|replica| replica.is_changing()));
    lab.deaf = vec![vec![], vec![], vec!["new-view"], vec![]];
    (1..4).for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    assert!(!lab.replicas[1].is_changing() && lab.replicas[2].is_changing());
    lab.deaf = vec![vec![]; 4];
    lab.fire(2, RESEND_TIMER);
    lab.settle();
    assert!(!lab.replicas[2].is_changing());
    lab.produce();
    assert_eq!(lab.heights(), [0, 1, 1, 1]);
}

#[test]
fn lost_votes_are_sent_again() {
    let mut lab = Lab::new(4);
    lab.deaf = vec![vec!["prepare", "commit"]; 4];
    lab.produce();
    assert_eq!(lab.heights(), [0; 4]);
    lab.deaf = vec![vec![]; 4];
    for _ in 0..2 {
        (0..4).for_each(|index| lab.fire(index, RESEND_TIMER));
        lab.settle();
    }
    assert_eq!(lab.heights(), [1; 4]);
    assert_eq!(lab.views(), [0; 4]);
}

#[test]
fn several_silent_primaries_in_a_row_are_passed_over() {
    let mut lab = Lab::new(7);
    (lab.cut[0], lab.cut[1]) = (true, true);
    lab.suspect();
    assert!(lab.replicas[2].is_changing(), "view 1 has no primary");
    lab.suspect();
    assert_eq!(lab.views()[2..], [2; 5]);
    lab.produce();
    assert_eq!(lab.heights()[2..], [1; 5]);
}

#[test]
fn f_plus_1_higher_views_are_joined_at_the_smallest_and_f_are_not() {
    let mut lab = Lab::new(7);
    let wish = |lab: &Lab, who: usize, view: u64| {
        let stable = lab.replicas[0].stable_checkpoint();
        let (prepared, pre_prepared) = (vec![], vec![]);
        let view = View::new(view);
        lab.signed(
            who,
            Body::ViewChange(ViewChange { view, stable, checkpoints: vec![stable], prepared, pre_prepared }),
        )
    };
    for (who, view) in [(4, 9), (5, 5)] {
        let message = wish(&lab, who, view);
        lab.inject(who, 1, message);
    }
    lab.deliver_at(0);
    lab.deliver_at(0);
    assert_eq!(lab.views()[1], 0, "f of them may be faulty");
    let message = wish(&lab, 6, 7);
    lab.inject(6, 1, message);
    lab.deliver_at(0);
    assert_eq!(lab.views()[1], 5);
    assert!(lab.replicas[1].is_changing());
}

#[test]
fn the_new_views_time_runs_from_a_quorum_on_and_doubles() {
    let mut lab = Lab::new(4);
    lab.cut[1] = true;
    lab.deaf = vec![vec!["view-change"]; 4];
    lab.suspect();
    // Alone it waits without end.
    assert!(lab.replicas[2].is_changing() && !lab.armed[2].contains_key(&SUSPECT_TIMER));
    lab.deaf = vec![vec![]; 4];
    [0, 2, 3].into_iter().for_each(|index| lab.fire(index, RESEND_TIMER));
    lab.settle();
    assert!(lab.armed[2].contains_key(&SUSPECT_TIMER), "a quorum wants view 1, whose primary is silent");
    let waits: Vec<_> = (0..3)
        .map(|_| {
            let mut copy = lab.replicas[2].clone();
            copy.doublings += 1;
            let mut effects = Vec::new();
            copy.arm_suspect(&mut effects);
            lab.replicas[2].doublings += 1;
            match effects.as_slice() {
                [Effect::ArmTimer { deadline: Deadline::After { nanos }, .. }] => *nanos - 1_000_000_000,
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!((waits[1], waits[2]), (2 * waits[0], 4 * waits[0]));
}

#[test]
fn a_backup_that_missed_more_than_the_log_catches_up_by_blocks_with_proof() {
    let mut lab = Lab::new(4);
    lab.cut[3] = true;
    (0..30).for_each(|_| lab.produce());
    assert_eq!(lab.heights(), [30, 30, 30, 0]);
    lab.cut[3] = false;
    lab.produce();
    assert_eq!(lab.heights(), [31, 31, 31, 30], "block 31 was agreed upon beyond its watermarks");
    lab.produce();
    assert_eq!(lab.heights(), [32; 4]);
    assert!(lab.mark("pbft/synced") >= 30);
    assert_eq!(lab.replicas[3].stable_checkpoint().height.get(), 32);
    // It votes again.
    lab.cut[2] = true;
    (0..10).for_each(|_| lab.produce());
    assert_eq!((lab.heights()[0], lab.heights()[3]), (42, 42));
    assert_eq!(lab.disagreement, None);
}

#[test]
fn a_synced_block_without_its_certificate_is_refused() {
    let mut lab = Lab::new(4);
    lab.cut[3] = true;
    (0..3).for_each(|_| lab.produce());
    let certified = lab.canonical(0, 1);
    // Two validators tell that they are ahead; nobody answers its request yet.
    lab.cut[3] = false;
    let mut replica = lab.replicas[3].clone();
    for who in [0_usize, 1] {
        let message = lab.signed(who, Body::Commit { view: View::new(0), block: lab.replicas[who].head() });
        let from = ReplicaId::new(who as u32);
        let mut effects = Vec::new();
        replica
            .step(Event::Message { from, message: crate::consensus::Message::Pbft(Arc::new(message)) }, &mut effects);
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
    /// A silent primary of the new view is passed over too.
    fn suspect_if_changing(&mut self) {
        if self.replicas.iter().enumerate().any(|(index, replica)| !self.cut[index] && replica.is_changing()) {
            self.suspect();
        }
    }
}
