//! Suspicion of a primary that omits a transaction.

use std::sync::Arc;

use super::lab::Lab;
use crate::{
    consensus::{
        Admin, ConsensusMessage, Event, Rejection, ReplicaId,
        mutation::{self, Mutation},
        pbft::{Body, MessageError, RESEND_TIMER, Suspicion, VIEWS_AHEAD_MAX, View},
    },
    primitives::Height,
};

fn overdue(lab: &mut Lab, index: usize) {
    lab.deliver(index, Event::Admin(Admin::Overdue));
    lab.settle();
}

fn suspicion(lab: &Lab, who: usize, view: u64, height: u64) -> Arc<crate::consensus::pbft::PbftMessage> {
    let (since, view, height) = (Height::GENESIS, View::new(view), Height::new(height));
    Arc::new(lab.signed(who, Body::Suspicion(Suspicion { since, view, height })))
}

/// Replica 3 alone suspects the primary, then replica 1 is silent; returns the height that the others reach without timeouts.
fn one_suspects() -> u64 {
    let mut lab = Lab::new(4);
    overdue(&mut lab, 3);
    lab.isolate(1);
    (0..3).for_each(|_| lab.produce());
    lab.heights()[0]
}

#[test]
fn whoever_suspects_alone_stays_in_the_view() {
    assert_eq!(one_suspects(), 3);
    assert_eq!(mutation::with(Mutation::PbftLeavesViewAlone, one_suspects), 0);
}

#[test]
fn f_plus_1_suspicions_end_the_view() {
    let mut lab = Lab::new(7);
    [3, 5].into_iter().for_each(|index| overdue(&mut lab, index));
    assert_eq!(lab.views(), [0; 7]);
    // Also of those that did not hear all of them: whoever leaves repeats them.
    lab.cut.insert((6, 2));
    overdue(&mut lab, 6);
    assert_eq!(lab.views(), [1; 7]);
    lab.heal();
    lab.fire_all(&[0, 1, 2, 3, 4, 5, 6], RESEND_TIMER);
    assert!(lab.replicas().all(|replica| !replica.is_changing() && replica.suspicions.is_empty()));
    lab.produce();
    assert_eq!((lab.heights(), lab.evidence.len()), (vec![1; 7], 0));
}

/// A Byzantine validator shows its suspicion to one replica that suspects too: that one takes all others with it.
#[test]
fn whoever_is_made_to_leave_shows_why() {
    let mut lab = Lab::new(4);
    lab.nodes[2].is_faulty = true;
    let message = suspicion(&lab, 2, 0, 0);
    lab.inject(2, 3, message.as_ref().clone());
    lab.settle();
    assert_eq!(lab.views(), [0; 4], "f suspicions are none");
    overdue(&mut lab, 3);
    assert_eq!(lab.views(), [1; 4]);
    assert!(lab.replicas().all(|replica| !replica.is_changing()));
}

#[test]
fn a_suspicion_expires_with_a_checkpoint_interval_of_blocks() {
    let mut lab = Lab::new(4);
    overdue(&mut lab, 3);
    (0..5).for_each(|_| lab.produce());
    overdue(&mut lab, 2);
    assert_eq!(lab.views(), [0; 4]);
    overdue(&mut lab, 3);
    assert_eq!(lab.views(), [1; 4], "it suspects again");
}

#[test]
fn suspicions_are_bounded_and_of_this_committee_and_view() {
    let mut lab = Lab::new(4);
    lab.suspect();
    let give = |lab: &mut Lab, message| {
        lab.deliver(2, Event::Message { from: ReplicaId::new(3), message: ConsensusMessage::Pbft(message) });
        lab.rejections_of(2).next_back().cloned()
    };
    let other = Suspicion { since: Height::new(4), view: View::new(1), height: Height::GENESIS };
    let other = Arc::new(lab.signed(3, Body::Suspicion(other)));
    for (message, want) in [
        (other, "OtherCommittee"),
        (suspicion(&lab, 3, 0, 0), "OldView"),
        (suspicion(&lab, 3, 2 + VIEWS_AHEAD_MAX, 0), "FarView"),
    ] {
        let Some(Rejection::Pbft(error)) = give(&mut lab, message) else { panic!("{want}") };
        assert!(format!("{error:?}").starts_with(want), "{error:?}");
    }
    assert!(lab.replica(2).suspicions.is_empty());
    for height in [5, 3] {
        let message = suspicion(&lab, 3, 1, height);
        give(&mut lab, message);
    }
    assert_eq!(lab.rejections_of(2).next_back(), Some(&Rejection::Pbft(MessageError::Known)));
    assert_eq!((lab.replica(2).suspicions.len(), lab.views()), (1, vec![1; 4]));
}

#[test]
fn a_primary_does_not_suspect_itself_nor_does_an_observer() {
    let mut lab = Lab::with_validators(5, 4, super::lab::config());
    [0, 4].into_iter().for_each(|index| overdue(&mut lab, index));
    assert_eq!((lab.mark("pbft/overdue"), lab.queue.len()), (0, 0));
}
