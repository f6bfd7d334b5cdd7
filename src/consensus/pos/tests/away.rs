//! Replicas that were away while others joined, made blocks final, and left.

use super::lab::{Lab, WEIGHT, config};
use crate::{
    consensus::{
        ConsensusMessage, Event, Protocol, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::Height,
    system::{ValidatorUpdate, ValidatorUpdates},
};

impl Lab {
    /// The block of this height changes the stakes of these replicas.
    fn change_stakes(&mut self, height: u64, stakes: &[(usize, u64)]) {
        let updates =
            stakes.iter().map(|(who, weight)| ValidatorUpdate { address: self.address(*who), weight: *weight });
        let updates = ValidatorUpdates::new(updates);
        self.updates.insert(Height::new(height), updates);
    }
}

/// Whether a replica that was away while all four validators were replaced follows the new ones.
fn follows_strangers() -> bool {
    let mut lab = Lab::with_extra(4, 5, config());
    let stakes: Vec<_> = (0..8).map(|who| (who, if who < 4 { 0 } else { WEIGHT })).collect();
    lab.change_stakes(6, &stakes);
    lab.run(4);
    lab.pause(8);
    lab.run(56);
    assert!((0..4).all(|old| !lab.replica(0).validators().contains(&lab.address(old))));
    lab.resume(8);
    lab.run(6);
    lab.heads()[8] == lab.heads()[4]
}

#[test]
fn whoever_missed_the_replacement_of_all_validators_follows_the_new_ones() {
    assert!(follows_strangers());
    assert!(!mutation::with(Mutation::PosShutsOutStrangers, follows_strangers));
}

/// Whether a replica that knows nobody yet catches up with a chain of forty blocks, one more in each slot, where the first that announces
/// a block to it answers one request in a slot.
fn catches_up_beside_a_slow_peer() -> bool {
    const SLOW: usize = 0;
    const NEWCOMER: usize = 4;
    let mut lab = Lab::with_extra(4, 1, config());
    lab.isolate(NEWCOMER);
    lab.run(40);
    lab.reconnect(NEWCOMER);
    lab.cut.insert((SLOW, NEWCOMER));
    let from = ReplicaId::new(SLOW as u32);
    let announced = lab.canonical(SLOW, 40);
    lab.deliver(NEWCOMER, Event::Message { from, message: ConsensusMessage::Block(announced) });
    for _ in 0..30 {
        lab.pass();
        let next = lab.replica(NEWCOMER).head().height.next();
        if next <= lab.replica(SLOW).head().height {
            let block = lab.canonical(SLOW, next.get());
            lab.deliver(NEWCOMER, Event::BlockSynced { from, block });
            lab.settle();
        }
    }
    lab.heads()[NEWCOMER] == lab.heads()[1]
}

#[test]
fn who_answers_slowly_holds_up_nobody_that_knows_others() {
    assert!(catches_up_beside_a_slow_peer());
    assert!(!mutation::with(Mutation::PosForgetsAnnouncers, catches_up_beside_a_slow_peer));
}

/// Replica 4 has two blocks of what becomes the chain, and its head on another branch below the second. Without votes the branch with the
/// higher hash wins.
#[test]
fn whoever_knows_the_next_blocks_of_the_chain_and_has_its_head_elsewhere_follows_it() {
    let mut lab = Lab::with_extra(4, 1, config());
    let silent = |lab: &mut Lab, slots: u64| {
        (0..slots).for_each(|_| {
            lab.tick();
            lab.propose();
        });
    };
    silent(&mut lab, 5);
    let chain = lab.chain_of(4);
    let (first, second) = (chain[3].clone(), chain[4].clone());
    lab.isolate(4);
    lab.tick();
    let slot = lab.fixture.slot;
    let mut other = lab.forge(4, first.parent_hash(), slot, &[]);
    while other.hash() < first.hash() {
        other = lab.forge(4, first.parent_hash(), slot, &[]);
    }
    lab.give_block(4, &other);
    silent(&mut lab, 40);
    assert_eq!((lab.heads()[4], other.height().next()), (other.hash(), second.height()));
    assert!(lab.replica(4).state_of(&second.hash()).is_some(), "what it has to request first is here");
    lab.reconnect(4);
    lab.run(3);
    assert_eq!(lab.heads()[4], lab.heads()[0]);
}

/// Validator 4, with most of the stake, asks to leave while the others are away, and restarts meanwhile if `restarts`.
fn leaves_when_the_others_are_back(restarts: bool) {
    let mut lab = Lab::with_extra(4, 1, config());
    lab.change_stakes(6, &[(4, 20 * WEIGHT)]);
    lab.change_stakes(34, &[(4, 0)]);
    lab.run(30);
    (0..4).for_each(|who| lab.pause(who));
    lab.run(40);
    let has_duties = |lab: &Lab| {
        let (head, start) = (lab.replica(4).head().hash, lab.fixture.slot / 4 * 4);
        (start..start + 4).any(|slot| lab.committee(4, slot, head).contains(&4))
    };
    assert!(has_duties(&lab), "those who stay have finalised nothing without it");
    let last = lab.replica(4).finalized();
    assert!(last.epoch > lab.replica(0).finalized().epoch, "it alone made final that it may leave");
    if restarts {
        lab.restart_in_slot(4);
    }
    (0..4).for_each(|who| lab.resume(who));
    lab.run(24);
    let is_on_it = |who: usize| lab.chain_of(who).iter().any(|block| block.hash() == last.block.hash);
    assert!((0..4).all(is_on_it) && (0..5).all(|who| lab.replica(who).finalized().epoch > last.epoch));
    assert!(!has_duties(&lab));
}

#[test]
fn who_leaves_has_duties_until_those_who_stay_finalise_with_it() {
    [false, true].into_iter().for_each(leaves_when_the_others_are_back);
}
