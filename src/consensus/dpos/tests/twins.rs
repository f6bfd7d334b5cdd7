//! Several blocks of one producer in one slot.

use std::sync::Arc;

use super::{super::*, faults::two_blocks_of_one_slot, lab::*};
use crate::{
    chain::Block,
    consensus::{
        Admin, OffenceProof,
        mutation::{self, Mutation},
    },
    primitives::Bytes,
};

/// Shows a replica two blocks of one slot of a producer that is absent, after evidence against it for another slot or without. Returns the lab,
/// the producer, the replica and the blocks, as shown: the better one first or last.
fn shown_two_blocks_of_one_slot(is_caught: bool, is_better_last: bool) -> (Lab, usize, usize, [Arc<Block>; 2]) {
    let (mut lab, owner, mut twins) = two_blocks_of_one_slot();
    // All else is the same, so that the lower hash is better.
    twins.sort_by_key(|block| block.hash());
    if is_better_last {
        twins.reverse();
    }
    let to = (owner + 1) % 4;
    if is_caught {
        let [one, two] = [1, 2].map(|salt| {
            let earlier = lab.raw(BlockId::of(&lab.genesis), owner, Bytes::new(), 1, &Odd { salt, ..Odd::default() });
            (earlier.header().clone(), earlier.seal().clone())
        });
        let proof = OffenceProof::Dpos(ConflictingBlocks::new(one, two));
        lab.deliver(to, Event::Admin(Admin::Offence(Box::new(proof))));
    }
    twins.iter().for_each(|block| lab.announce(to, block));
    (lab, owner, to, twins)
}

fn has(lab: &Lab, replica: usize, block: &Block) -> bool {
    lab.replica(replica).tree.get(&BlockId::of(block)).is_some()
}

/// Returns how many of two blocks of one slot are kept, of which the better one comes first.
fn kept_of_one_slot(is_caught: bool) -> usize {
    let (lab, _, to, twins) = shown_two_blocks_of_one_slot(is_caught, false);
    twins.iter().filter(|block| has(&lab, to, block)).count()
}

#[test]
fn an_offenders_refused_block_is_taken_where_another_extends_it() {
    let (mut lab, owner, to, [one, two]) = shown_two_blocks_of_one_slot(true, false);
    assert!(has(&lab, to, &one) && !has(&lab, to, &two));
    let other = (owner + 2) % 4;
    let mut fork = lab.clone();
    fork.announce(other, &two);
    let child = fork.block(other, 10, &Odd::default());
    assert_eq!(child.parent_hash(), two.hash());
    lab.announce(to, &child);
    lab.announce(to, &two);
    assert!(has(&lab, to, &two) && has(&lab, to, &child));
}

#[test]
fn of_an_offender_one_block_of_a_slot_is_kept() {
    assert_eq!([false, true].map(kept_of_one_slot), [2, 1]);
    assert_eq!(mutation::with(Mutation::DposKeepsOffendersTwins, || kept_of_one_slot(true)), 2);
}

/// Returns which of two blocks of one slot are kept, of which the better one comes last, and whether that is the head.
fn kept_where_the_better_is_last() -> ([bool; 2], bool) {
    let (lab, _, to, twins) = shown_two_blocks_of_one_slot(true, true);
    let kept = [0, 1].map(|index| has(&lab, to, &twins[index]));
    (kept, lab.replica(to).head() == BlockId::of(&twins[1]))
}

#[test]
fn a_better_block_of_an_offender_is_kept_beside_the_first_of_its_slot() {
    assert_eq!(kept_where_the_better_is_last(), ([true, true], true));
    let refused = mutation::with(Mutation::DposRefusesBetterTwins, kept_where_the_better_is_last);
    assert_eq!(refused, ([true, false], false), "whoever knows another one has another head");
}

/// A producer shows a replica sixteen blocks of one slot, each better than the one before. Returns the lab, the replica and the blocks.
fn shown_better_and_better(is_quiet: bool) -> (Lab, usize, Vec<Arc<Block>>) {
    let (mut lab, owner, _) = two_blocks_of_one_slot();
    let to = (owner + 1) % 4;
    let mut blocks: Vec<_> = (0..16).map(|salt| lab.block(to, 9, &Odd { salt, ..Odd::default() })).collect();
    blocks.sort_by_key(|block| core::cmp::Reverse(block.hash()));
    for block in &blocks {
        if is_quiet {
            lab.fire(to, QUIET_TIMER);
        }
        lab.announce(to, block);
    }
    (lab, to, blocks)
}

fn kept<'b>(lab: &Lab, to: usize, blocks: &'b [Arc<Block>]) -> Vec<&'b Arc<Block>> {
    blocks.iter().filter(|block| has(lab, to, block)).collect()
}

#[test]
fn a_stream_of_better_blocks_moves_no_head_while_the_chain_goes_on() {
    let (lab, to, blocks) = shown_better_and_better(false);
    assert_eq!(kept(&lab, to, &blocks), [&blocks[0], &blocks[1]]);
}

/// However many better ones there are, two stay: the head and one that is evidence with it.
#[test]
fn where_nothing_moves_a_better_block_of_a_slot_takes_the_place_of_another() {
    let (mut lab, to, blocks) = shown_better_and_better(true);
    assert_eq!(lab.replica(to).head(), BlockId::of(&blocks[15]));
    assert_eq!(kept(&lab, to, &blocks), [&blocks[14], &blocks[15]]);
    lab.restart(to);
    assert_eq!(lab.replica(to).proven_infractions().count(), 1, "the stored blocks are evidence");
    assert_eq!(lab.replica(to).head(), BlockId::of(&blocks[15]));
}
