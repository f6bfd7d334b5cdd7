use proptest::prelude::*;

use super::*;
use crate::{consensus::Validator, primitives::Height};

fn hash(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}

fn address(byte: u8) -> Address {
    Address::repeat_byte(byte)
}

fn checkpoint(epoch: u64, byte: u8) -> Checkpoint {
    Checkpoint { epoch, block: BlockId { height: Height::GENESIS, hash: hash(byte) } }
}

/// Epochs of four slots.
fn block(byte: u8, parent: u8, slot: u64) -> ForkBlock {
    let genesis = checkpoint(0, 1);
    let id = BlockId { height: Height::new(slot), hash: hash(byte) };
    ForkBlock { block: id, parent: hash(parent), slot, epoch: slot / 4, justified: genesis, unrealized: genesis }
}

fn equal(count: u8) -> ValidatorSet {
    ValidatorSet::new((1..=count).map(|byte| Validator { address: address(byte), weight: 10 })).unwrap()
}

fn view(weights: &ValidatorSet) -> View<'_> {
    View { justified: checkpoint(0, 1), epoch: 0, weights, boost: 4 }
}

/// 1 <- 2 <- 3 and 2 <- 4, and 1 <- 5.
fn forked() -> ForkChoice {
    let mut forks = ForkChoice::new(block(1, 0, 0));
    for (byte, parent, slot) in [(2, 1, 1), (3, 2, 2), (4, 2, 3), (5, 1, 3)] {
        assert!(forks.insert(block(byte, parent, slot)));
    }
    forks
}

fn vote(forks: &mut ForkChoice, validator: u8, epoch: u64, byte: u8) -> bool {
    forks.vote(address(validator), LatestMessage { epoch, block: hash(byte) })
}

#[test]
fn the_heaviest_subtree_wins_and_not_the_longest_chain() {
    let (mut forks, set) = (forked(), equal(3));
    assert_eq!(forks.head(&view(&set)).hash, hash(5), "without votes ties go to the higher hash at each fork");
    vote(&mut forks, 1, 0, 3);
    assert_eq!(forks.head(&view(&set)).hash, hash(3));
    vote(&mut forks, 2, 0, 5);
    vote(&mut forks, 3, 0, 4);
    assert_eq!(forks.head(&view(&set)).hash, hash(4), "two votes below 2, and 4 is the higher of them");
}

#[test]
fn only_the_newest_vote_of_a_validator_counts_and_others_do_not() {
    let (mut forks, set) = (forked(), equal(3));
    assert!(vote(&mut forks, 1, 1, 3));
    assert!(!vote(&mut forks, 1, 1, 5), "one vote an epoch");
    assert!(!vote(&mut forks, 1, 0, 5), "nor an older one");
    assert_eq!(forks.head(&view(&set)).hash, hash(3));
    assert!(vote(&mut forks, 1, 2, 5));
    assert_eq!(forks.head(&view(&set)).hash, hash(5));
    vote(&mut forks, 9, 3, 3);
    assert_eq!(forks.head(&view(&set)).hash, hash(5));
}

#[test]
fn messages_expire_unless_a_block_carries_them() {
    let (mut forks, set) = (forked(), equal(3));
    forks.vote_in_block(address(1), LatestMessage { epoch: 1, block: hash(3) });
    vote(&mut forks, 1, 2, 5);
    vote(&mut forks, 2, 2, 5);
    assert_eq!(forks.head(&view(&set)).hash, hash(5));
    forks.expire_messages(2);
    assert_eq!(forks.head(&view(&set)).hash, hash(5), "of this epoch and the last one all count");
    forks.expire_messages(3);
    assert_eq!(forks.votes().get(&address(1)), Some(&LatestMessage { epoch: 1, block: hash(3) }), "the carried one");
    assert_eq!(forks.votes().get(&address(2)), None);
    assert_eq!(forks.head(&view(&set)).hash, hash(3));
    forks.vote_in_block(address(2), LatestMessage { epoch: 2, block: hash(5) });
    forks.expire_messages(9);
    assert_eq!(forks.votes().len(), 2);
}

#[test]
fn an_equivocator_is_excluded_permanently() {
    let (mut forks, set) = (forked(), equal(3));
    vote(&mut forks, 1, 1, 3);
    forks.discount(address(1));
    assert_eq!(forks.head(&view(&set)).hash, hash(5));
    assert!(!vote(&mut forks, 1, 2, 3));
    assert_eq!(forks.head(&view(&set)).hash, hash(5));
}

#[test]
fn the_boost_adds_its_weight_and_is_removed() {
    let (mut forks, set) = (forked(), equal(3));
    vote(&mut forks, 1, 0, 5);
    forks.set_boost(Some(hash(3)));
    assert_eq!(forks.head(&view(&set)).hash, hash(5), "4 is less than a vote of 10");
    let strong = View { boost: 11, ..view(&set) };
    assert_eq!(forks.head(&strong).hash, hash(3));
    forks.set_boost(None);
    assert_eq!(forks.head(&strong).hash, hash(5));
}

#[test]
fn a_branch_without_the_justified_checkpoint_is_excluded() {
    let set = equal(3);
    let mut forks = ForkChoice::new(block(1, 0, 0));
    let aware = ForkBlock { justified: checkpoint(4, 1), unrealized: checkpoint(4, 1), ..block(2, 1, 21) };
    let unaware = block(3, 1, 22);
    let late = ForkBlock { unrealized: checkpoint(4, 1), ..block(4, 1, 23) };
    for block in [aware, unaware, late] {
        assert!(forks.insert(block));
    }
    (1..=3).for_each(|validator| assert!(vote(&mut forks, validator, 5, 3)));
    let at = |epoch| View { justified: checkpoint(4, 1), epoch, ..view(&set) };
    assert_eq!(forks.head(&at(5)).hash, hash(2), "3 has all votes and is not viable");
    // In the next epoch the pulled-up justification of 4 counts, and 4 is the higher of the two without votes.
    assert_eq!(forks.head(&at(7)).hash, hash(4));
    // A source of at most two epochs ago is recent enough.
    let recent = ForkBlock { justified: checkpoint(3, 1), unrealized: checkpoint(3, 1), ..block(6, 1, 23) };
    assert!(forks.insert(recent));
    assert!(forks.vote(address(1), LatestMessage { epoch: 6, block: hash(6) }));
    assert_eq!(forks.head(&at(5)).hash, hash(6));
    assert_eq!(forks.head(&at(6)).hash, hash(4));
}

#[test]
fn nothing_viable_leaves_the_justified_block() {
    let set = equal(1);
    let mut forks = ForkChoice::new(block(1, 0, 0));
    forks.insert(block(2, 1, 30));
    let view = View { justified: checkpoint(6, 1), epoch: 8, ..view(&set) };
    assert_eq!(forks.head(&view).hash, hash(1));
}

#[test]
fn pruning_keeps_what_is_built_upon_the_root() {
    let mut forks = forked();
    vote(&mut forks, 1, 0, 5);
    forks.set_boost(Some(hash(5)));
    forks.prune(&hash(2));
    let left: Vec<_> = forks.blocks().map(|block| block.block.hash).collect();
    assert_eq!(left, [hash(2), hash(3), hash(4)]);
    assert_eq!(forks.boosted(), None);
    assert!(forks.get(&hash(5)).is_none() && !forks.insert(block(6, 5, 9)) && forks.insert(block(7, 4, 9)));
    assert!(forks.is_ancestor(&hash(2), &hash(7)) && !forks.is_ancestor(&hash(3), &hash(7)));
    assert_eq!(forks.ancestor_at(&hash(7), 8).map(|id| id.hash), Some(hash(4)));
    assert_eq!(forks.head(&View { justified: checkpoint(0, 2), ..view(&equal(1)) }).hash, hash(7));
}

/// A literal implementation of the specification: every weight is computed anew at every fork.
mod naive {
    use super::*;

    fn descends(blocks: &[ForkBlock], ancestor: B256, mut hash: B256) -> bool {
        while hash != ancestor {
            match blocks.iter().find(|block| block.block.hash == hash) {
                Some(block) => hash = block.parent,
                None => return false,
            }
        }
        true
    }

    fn weight(blocks: &[ForkBlock], forks: &ForkChoice, view: &View<'_>, hash: B256) -> u128 {
        let votes = view.weights.members().iter().filter(|member| {
            let message = forks.votes().get(&member.address);
            !forks.equivocators().contains(&member.address)
                && message.is_some_and(|message| descends(blocks, hash, message.block))
        });
        let boost = forks.boosted().filter(|boosted| descends(blocks, hash, *boosted)).map_or(0, |_| view.boost);
        votes.map(|member| u128::from(member.weight)).sum::<u128>() + boost
    }

    fn is_viable(blocks: &[ForkBlock], view: &View<'_>, block: &ForkBlock) -> bool {
        let children: Vec<_> = blocks.iter().filter(|child| child.parent == block.block.hash).collect();
        if !children.is_empty() {
            return children.into_iter().any(|child| is_viable(blocks, view, child));
        }
        let source = if view.epoch > block.epoch { block.unrealized } else { block.justified };
        view.justified.epoch == 0 || source.epoch == view.justified.epoch || source.epoch + 2 >= view.epoch
    }

    pub(super) fn head(forks: &ForkChoice, view: &View<'_>) -> B256 {
        let blocks: Vec<_> = forks.blocks().copied().collect();
        let mut head = view.justified.block.hash;
        loop {
            let children = blocks.iter().filter(|block| block.parent == head && is_viable(&blocks, view, block));
            let best = children.max_by_key(|child| (weight(&blocks, forks, view, child.block.hash), child.block.hash));
            match best {
                Some(child) => head = child.block.hash,
                None => return head,
            }
        }
    }
}

proptest! {
    #[test]
    fn the_head_is_the_specifications_head(
        parents in proptest::collection::vec((any::<prop::sample::Index>(), 0..3_u64, 0..4_u64, 0..4_u64, any::<u8>()), 1..25),
        votes in proptest::collection::vec((1..8_u8, 0..5_u64, any::<prop::sample::Index>()), 0..25),
        weights in proptest::collection::vec(1..4_u64, 7),
        discounted in proptest::option::of(1..8_u8),
        (boosted, boost) in (proptest::option::of(any::<prop::sample::Index>()), 0..6_u128),
        (justified, justified_epoch, epoch) in (any::<prop::sample::Index>(), 0..5_u64, 0..8_u64),
    ) {
        let mut forks = ForkChoice::new(block(0, 255, 0));
        for (parent, gap, known, unrealized, salt) in parents {
            let blocks: Vec<_> = forks.blocks().copied().collect();
            let parent = blocks[parent.index(blocks.len())];
            let slot = parent.slot + 1 + gap;
            // Hashes in another order than the blocks were inserted.
            let mut id = hash(salt);
            id.0[31] = blocks.len() as u8;
            let block = BlockId { height: parent.block.height.next(), hash: id };
            let (justified, unrealized) = (checkpoint(known, 0), checkpoint(unrealized, 0));
            forks.insert(ForkBlock { block, parent: parent.block.hash, slot, epoch: slot / 4, justified, unrealized });
        }
        let ids: Vec<_> = forks.blocks().map(|block| block.block).collect();
        for (validator, epoch, place) in votes {
            forks.vote(address(validator), LatestMessage { epoch, block: ids[place.index(ids.len())].hash });
        }
        discounted.into_iter().for_each(|validator| forks.discount(address(validator)));
        forks.set_boost(boosted.map(|place| ids[place.index(ids.len())].hash));
        let members = (1..).zip(weights).map(|(byte, weight)| Validator { address: address(byte), weight });
        let set = ValidatorSet::new(members).unwrap();
        let justified = Checkpoint { epoch: justified_epoch, block: ids[justified.index(ids.len())] };
        let view = View { justified, epoch, weights: &set, boost };
        prop_assert_eq!(forks.head(&view).hash, naive::head(&forks, &view));
        // The same after pruning below the justified block.
        let before = forks.head(&view);
        forks.prune(&justified.block.hash);
        prop_assert_eq!(forks.head(&view), before);
    }
}
