//! Members that leave, come back or come later, and what a change of the committee means for views.

use std::sync::Arc;

use super::lab::{Lab, config};
use crate::{
    consensus::{
        BlockId, ConsensusMessage, Event, ReplicaId,
        mutation::{self, Mutation},
        pbft::{BUILD_TIMER, Body, MessageError, PbftConfig, RESEND_TIMER, SUSPECT_TIMER, View, ViewChange},
        testing::Content,
    },
    primitives::{Height, keccak256},
};

/// Each block is a checkpoint.
fn often() -> PbftConfig {
    config().with_checkpoints(1, 8)
}

/// Block 2 takes replica 0 out of a committee of four and puts 4 in. Replica 3 is Byzantine: it lets 0 alone commit the block, and is
/// silent from then on. What 0 sends before `forgetful` replicas restart is lost. Some rounds without a fault follow.
fn committed_by_the_leaver_alone(forgetful: &[usize]) -> Lab {
    let mut lab = Lab::with_validators(5, 4, often());
    lab.nodes[3].is_faulty = true;
    lab.change(1, &[(0, 0), (4, 1)]);
    lab.produce();
    assert_eq!(lab.heights(), [1; 5]);
    for index in 1..5 {
        lab.lost_labels[index] = vec!["commit", "checkpoint"];
    }
    lab.produce();
    assert_eq!((lab.heights(), lab.members(0)), (vec![2, 1, 1, 1, 1], vec![1, 2, 3, 4]));
    lab.isolate(3);
    forgetful.iter().for_each(|index| lab.restart(*index));
    lab.settle();
    lab.lose_nothing();
    lab.run(&[0, 1, 2, 4], 12);
    assert_eq!(lab.violations, []);
    lab
}

#[test]
fn a_block_that_its_leaver_alone_committed_is_found_again() {
    for forgetful in [&[][..], &[0], &[1, 2], &[1, 2, 4], &[0, 1, 2, 4]] {
        let lab = committed_by_the_leaver_alone(forgetful);
        let heights = lab.heights();
        assert!([0, 1, 2, 4].iter().all(|index| heights[*index] >= 4), "{forgetful:?}: {heights:?}");
        assert!(lab.mark("pbft/departure-announced") > 0);
    }
    // Those who know nobody that has it can't ask; the joiner would tell them, if it did.
    let lab = mutation::with(Mutation::PbftLeaverFallsSilent, || committed_by_the_leaver_alone(&[1, 2, 4]));
    assert_eq!(lab.heights(), [2, 1, 1, 1, 1], "the network stands still");
}

/// The whole committee is replaced while replica 8, an observer, hears nothing; now it is back.
fn replaced_without_the_observer() -> Lab {
    let mut lab = Lab::with_validators(9, 4, often());
    (0..2).for_each(|_| lab.produce());
    lab.isolate(8);
    let leaves = (0..4).map(|index| (index, 0));
    lab.change(3, &leaves.chain((4..8).map(|index| (index, 1))).collect::<Vec<_>>());
    (0..5).for_each(|_| lab.produce());
    assert_eq!(lab.members(5), [4, 5, 6, 7]);
    lab.reconnect(8);
    lab
}

/// Some rounds without a fault follow [`replaced_without_the_observer`].
fn observer_of_a_replaced_committee() -> Lab {
    let mut lab = replaced_without_the_observer();
    for _ in 0..20 {
        lab.fire_all(&[8], RESEND_TIMER);
    }
    lab.run(&[4, 5, 6, 7, 8], 2);
    lab
}

#[test]
fn whoever_missed_the_replacement_of_all_validators_asks_those_it_knew() {
    let lab = observer_of_a_replaced_committee();
    let heights = lab.heights();
    assert!(heights[8] + 1 >= heights[5] && heights[5] >= 7, "{heights:?}");
    assert!(lab.mark("pbft/ask-who-is-ahead") > 0);
    let lab = mutation::with(Mutation::PbftAsksClaimantsOnly, observer_of_a_replaced_committee);
    assert_eq!(lab.heights()[8], 2, "{:?}", lab.heights());
}

/// The observer of [`replaced_without_the_observer`] restarts and so forgets its links; the former validators have no more to say.
fn restarted_observer_of_a_replaced_committee() -> Lab {
    let mut lab = replaced_without_the_observer();
    lab.restart(8);
    lab.run(&[4, 5, 6, 7, 8], 20);
    lab
}

#[test]
fn whoever_restarts_after_the_replacement_of_all_validators_asks_strangers() {
    let lab = restarted_observer_of_a_replaced_committee();
    let heights = lab.heights();
    assert!(heights[8] + 1 >= heights[5] && heights[5] >= 7, "{heights:?}");
    let lab = mutation::with(Mutation::PbftAsksNoStranger, restarted_observer_of_a_replaced_committee);
    assert_eq!(lab.heights()[8], 2, "{:?}", lab.heights());
}

/// Of the committee that an observer knows, one is still a member when it is back, forty blocks later: too few to claim them.
fn observer_far_behind_a_replaced_committee() -> Lab {
    let mut lab = Lab::with_validators(9, 4, often());
    lab.produce();
    lab.isolate(8);
    lab.change(2, &(0..3).map(|index| (index, 0)).chain((4..7).map(|index| (index, 1))).collect::<Vec<_>>());
    (0..40).for_each(|_| lab.produce());
    lab.reconnect(8);
    (0..8).for_each(|_| {
        lab.produce();
        lab.run(&[8], 1);
    });
    lab
}

#[test]
fn whoever_is_many_blocks_behind_a_replaced_committee_catches_up() {
    let heights = observer_far_behind_a_replaced_committee().heights();
    assert!(heights[3] > 40 && heights[8] + 1 >= heights[3], "{heights:?}");
    let lab = mutation::with(Mutation::PbftAsksOnceInPatience, observer_far_behind_a_replaced_committee);
    assert!(lab.heights()[8] < 10, "{:?}", lab.heights());
}

#[test]
fn a_leaver_that_is_behind_is_told_when_it_asks_for_a_view() {
    let mut lab = Lab::with_validators(9, 4, often());
    lab.isolate(3);
    let leaves = (0..4).map(|index| (index, 0));
    lab.change(1, &leaves.chain((4..8).map(|index| (index, 1))).collect::<Vec<_>>());
    (0..4).for_each(|_| lab.produce());
    lab.reconnect(3);
    lab.fire_all(&[3], SUSPECT_TIMER);
    assert!(lab.mark("pbft/checkpoint-shown") > 0);
    let shown = lab.mark("pbft/checkpoint-shown");
    let again = lab.signed(
        3,
        Body::ViewChange(ViewChange {
            since: Height::GENESIS,
            view: View::new(9),
            stable: BlockId::of(&lab.genesis),
            checkpoints: vec![BlockId::of(&lab.genesis)],
            prepared: vec![],
            pre_prepared: vec![],
        }),
    );
    (0..9).for_each(|_| lab.inject(3, 0, again.clone()));
    lab.settle();
    assert_eq!(lab.mark("pbft/checkpoint-shown"), shown, "once between two ticks");
    lab.run(&[3], 8);
    assert!(lab.heights()[3] >= 4, "{:?}", lab.heights());
}

/// Replica 4 of five requests view 1 alone, leaves with block 2 and comes back with block 4.
fn returned_in_a_view_change() -> Lab {
    let mut lab = Lab::with_config(5, often());
    lab.change(1, &[(4, 0)]);
    lab.change(3, &[(4, 1)]);
    lab.fire(4, SUSPECT_TIMER);
    lab.queue.clear();
    assert_eq!((lab.views()[4], lab.replica(4).is_changing()), (1, true));
    for _ in 0..4 {
        lab.produce();
        lab.fire_all(&[0, 1, 2, 3, 4], RESEND_TIMER);
    }
    assert_eq!((lab.members(0), lab.heights()), (vec![0, 1, 2, 3, 4], vec![4; 5]));
    lab
}

/// No timer of a view runs out from now on; one of five is silent.
fn height_without_one_more(mut lab: Lab) -> u64 {
    lab.isolate(1);
    (0..3).for_each(|_| lab.produce());
    lab.heights()[0]
}

/// Returns the labels of what replica 4 sends for a block that the primary of view 1 proposes there, for which nobody has a new-view.
fn sent_without_a_new_view(mut lab: Lab) -> Vec<&'static str> {
    let head = lab.canonical(4, 4);
    let (_, proposal) = lab.proposal(&head, 1, 1);
    lab.inject(1, 4, proposal);
    lab.deliver_at(0);
    let label = |content: &Content| match content {
        Content::Message(message) => message.constant_label(),
        Content::Block(_) => "block",
    };
    lab.queue.iter().map(|envelope| label(&envelope.content)).collect()
}

#[test]
fn whoever_left_in_a_view_change_votes_in_the_view_of_the_others_when_it_is_back() {
    let lab = returned_in_a_view_change();
    assert_eq!((lab.views()[4], lab.replica(4).is_changing()), (0, false));
    assert!(sent_without_a_new_view(lab.clone()).is_empty(), "it prepares nothing there");
    assert_eq!(height_without_one_more(lab), 7);
    let mutated = || {
        let lab = returned_in_a_view_change();
        (sent_without_a_new_view(lab.clone()), height_without_one_more(lab))
    };
    let (sent, height) = mutation::with(Mutation::PbftViewOutlivesCommittee, mutated);
    assert_eq!(sent, ["prepare"; 4], "to all others, in a view that it has no new-view of");
    assert_eq!(height, 4, "its vote is missing");
}

#[test]
fn joiners_and_those_in_a_later_view_begin_together() {
    let mut lab = Lab::with_validators(7, 4, config());
    lab.suspect();
    assert_eq!(lab.views()[..4], [1; 4]);
    lab.change(2, &[(4, 1), (5, 1), (6, 1)]);
    // Two of the joiners hear nothing of the view, nor of the block that takes them in.
    [5, 6].into_iter().for_each(|index| lab.isolate(index));
    (0..5).for_each(|_| lab.produce());
    [5, 6].into_iter().for_each(|index| lab.reconnect(index));
    (0..3).for_each(|_| lab.produce());
    assert_eq!((lab.members(6), lab.views()), (vec![0, 1, 2, 3, 4, 5, 6], vec![0; 7]));
    assert_eq!(lab.mark("pbft/views-begin"), 7);
    // With them two of seven may be silent.
    [1, 2].into_iter().for_each(|index| lab.isolate(index));
    let before = lab.heights()[0];
    (0..4).for_each(|_| lab.produce());
    assert_eq!(lab.heights()[0], before + 4);
    assert_eq!(lab.violations, []);
}

#[test]
fn messages_of_views_of_another_committee_do_not_count() {
    let mut lab = Lab::with_validators(5, 4, often());
    let genesis = BlockId::of(&lab.genesis);
    let old = |view| ViewChange {
        since: Height::GENESIS,
        view: View::new(view),
        stable: genesis,
        checkpoints: vec![genesis],
        prepared: vec![],
        pre_prepared: vec![],
    };
    lab.change(1, &[(4, 1)]);
    (0..2).for_each(|_| lab.produce());
    for who in [0, 1, 2] {
        let message = lab.signed(who, Body::ViewChange(old(1)));
        lab.inject(who, 3, message);
    }
    lab.settle();
    assert_eq!((lab.views()[3], lab.replica(3).is_changing()), (0, false), "three requests of the former committee");
    let ahead = ViewChange { since: Height::new(9), ..old(1) };
    for who in [0, 1, 2] {
        let message = lab.signed(who, Body::ViewChange(ahead.clone()));
        lab.inject(who, 3, message);
    }
    lab.settle();
    assert_eq!((lab.views()[3], lab.replica(3).view_changes.len()), (0, 0));
    let is_other = |rejection: &crate::consensus::Rejection| {
        matches!(rejection, crate::consensus::Rejection::Pbft(MessageError::OtherCommittee { .. }))
    };
    assert_eq!(lab.rejections_of(3).filter(|rejection| is_other(rejection)).count(), 3);
}

#[test]
fn views_of_a_new_committee_survive_a_restart() {
    let mut lab = Lab::with_validators(5, 4, often());
    (0..3).for_each(|_| lab.suspect());
    assert_eq!(lab.views()[..4], [3; 4]);
    lab.change(1, &[(4, 1)]);
    (0..2).for_each(|_| lab.produce());
    assert_eq!(lab.views(), [0; 5]);
    (0..5).for_each(|index| lab.restart(index));
    lab.settle();
    assert_eq!(lab.views(), [0; 5], "records of the former committee's views do not count");
    lab.suspect();
    assert_eq!(lab.views(), [1; 5]);
    (0..5).for_each(|index| lab.restart(index));
    lab.settle();
    assert_eq!(lab.views(), [1; 5]);
    assert!(lab.replicas().all(|replica| !replica.is_changing()));
    (0..3).for_each(|_| lab.produce());
    assert_eq!((lab.heights(), lab.violations.len()), (vec![5; 5], 0));
    let views = |index: usize| lab.nodes[index].records.keys().filter(|key| key.starts_with(b"v/")).count();
    assert!((0..5).all(|index| views(index) == 1), "the others are deleted");
}

#[test]
fn whoever_missed_the_new_view_of_a_new_committee_gets_it_on_request() {
    let mut lab = Lab::with_validators(5, 4, often());
    // The former committee has a view 1 too, whose new-view is of no use in the next one.
    lab.suspect();
    assert_eq!(lab.views()[..4], [1; 4]);
    lab.change(1, &[(4, 1)]);
    (0..2).for_each(|_| lab.produce());
    assert_eq!((lab.heights(), lab.views(), lab.members(3)), (vec![2; 5], vec![0; 5], vec![0, 1, 2, 3, 4]));
    lab.isolate(3);
    lab.suspect();
    assert_eq!(lab.views(), [1, 1, 1, 0, 1]);
    lab.reconnect(3);
    // Its first request is lost.
    lab.fire(3, SUSPECT_TIMER);
    lab.queue.clear();
    assert_eq!((lab.views()[3], lab.replica(3).is_changing()), (1, true));
    let resent = lab.mark("pbft/new-view-resent");
    lab.fire_all(&[3], RESEND_TIMER);
    assert_eq!(lab.mark("pbft/new-view-resent"), resent + 4, "each of the others answers");
    assert_eq!((lab.views(), lab.replica(3).is_changing()), (vec![1; 5], false));
    // While another one is silent, no block has a quorum without its votes.
    lab.isolate(0);
    lab.produce();
    assert_eq!(lab.heights(), [2, 3, 3, 3, 3]);
    assert_eq!(lab.violations, []);
}

/// The former primary, Byzantine, proposed a block above the one that removes it; returns the lab after the new primary's block.
fn stale_proposal() -> Lab {
    let mut lab = Lab::with_validators(5, 4, often());
    lab.change(1, &[(0, 0), (4, 1)]);
    lab.produce();
    lab.fire(0, BUILD_TIMER);
    let newest = lab.nodes[0].blocks.values().find(|block| block.height().get() == 2).unwrap().clone();
    let (_, stale) = lab.proposal(&newest, 0, 0);
    lab.inject(0, 2, stale);
    lab.settle();
    lab.produce();
    lab
}

#[test]
fn a_stale_proposal_of_a_former_primary_accuses_nobody() {
    let lab = stale_proposal();
    assert_eq!((lab.heights(), lab.views()), (vec![3; 5], vec![0; 5]));
    assert_eq!(lab.evidence, []);
    let lab = mutation::with(Mutation::PbftAccusesWithoutProof, stale_proposal);
    let accused: Vec<_> = lab.evidence.iter().map(|(_, evidence)| evidence.offender()).collect();
    assert_eq!(accused, [lab.signers[1].address()], "an honest validator, without a signature of it");
}

/// What is known of two proposals is one signature and a hash: no proof.
#[test]
fn a_second_proposal_without_the_first_ones_signature_is_no_evidence() {
    let mut lab = Lab::new(4);
    let genesis = lab.genesis.clone();
    let (id, first) = lab.proposal(&genesis, 0, 0);
    lab.inject(0, 1, first);
    lab.deliver_at(0);
    let slot = lab.replica_mut(1).log.slot_mut(id.height).unwrap();
    slot.bodies.clear();
    let (_, second) = lab.proposal(&genesis, 0, 0);
    lab.deliver(1, Event::Message { from: ReplicaId::new(0), message: ConsensusMessage::Pbft(Arc::new(second)) });
    assert_eq!(lab.evidence, []);
    assert!(lab.replica(1).is_changing(), "it leaves the view of the primary all the same");
    for byte in [1, 2] {
        let block = BlockId { height: Height::new(4), hash: keccak256([byte]) };
        let message = lab.signed(3, Body::Checkpoint { block });
        lab.deliver(2, Event::Message { from: ReplicaId::new(3), message: ConsensusMessage::Pbft(Arc::new(message)) });
    }
    let last = lab.rejections_of(2).next_back();
    let is_refused = matches!(last, Some(crate::consensus::Rejection::Pbft(MessageError::Contradiction { .. })));
    assert!(is_refused && lab.evidence.is_empty(), "{last:?}");
}

/// Returns how many new-views a replica sends for ten copies of a view-change of the view that it is in, for ten more, and for ten after its
/// resend timer fired.
fn new_views_for_outdated_view_changes() -> [usize; 3] {
    let mut lab = Lab::new(4);
    lab.suspect();
    assert_eq!(lab.views(), [1; 4]);
    let stable = lab.replica(0).stable_checkpoint();
    let (checkpoints, prepared, pre_prepared) = (vec![stable], vec![], vec![]);
    let (since, view) = (Height::GENESIS, View::new(1));
    let change = ViewChange { since, view, stable, checkpoints, prepared, pre_prepared };
    let message = lab.signed(3, Body::ViewChange(change));
    let answers = |lab: &mut Lab| {
        (0..10).for_each(|_| {
            lab.deliver(
                1,
                Event::Message { from: ReplicaId::new(3), message: ConsensusMessage::Pbft(Arc::new(message.clone())) },
            );
        });
        let sent = core::mem::take(&mut lab.queue);
        let is_new_view =
            |content: &Content| matches!(content, Content::Message(message) if message.label() == "new-view");
        sent.iter().filter(|envelope| is_new_view(&envelope.content)).count()
    };
    lab.fire(1, RESEND_TIMER);
    lab.queue.clear();
    let (first, more) = (answers(&mut lab), answers(&mut lab));
    lab.fire(1, RESEND_TIMER);
    let after = answers(&mut lab);
    lab.fire(1, BUILD_TIMER);
    [first, more, after]
}

#[test]
fn an_outdated_view_change_is_answered_once_between_two_ticks() {
    assert_eq!(new_views_for_outdated_view_changes(), [1, 0, 1], "the first may be lost");
    let every = mutation::with(Mutation::PbftAnswersEveryViewChange, new_views_for_outdated_view_changes);
    assert_eq!(every, [10; 3]);
}
