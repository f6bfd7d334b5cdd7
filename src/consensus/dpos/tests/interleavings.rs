//! Slots that one producer after the other uses, with every message delivered by hand: how a rule that lets votes of different
//! branches add up makes two blocks irreversible.

use super::{
    super::*,
    faults::{SIDE_BLOCKS, keep_side_blocks},
    lab::*,
};
use crate::{
    chain::Block,
    consensus::{mutation, testing::Content},
    primitives::Height,
};

/// Producers who hear only what they are shown, and look at the clock only when they are woken.
struct Sleepers {
    lab: Lab,
}

impl Sleepers {
    /// Four producers that heard each other for 16 slots.
    fn new(config: DposConfig) -> Self {
        let mut sleepers = Self { lab: Lab::with_config(4, 4, config) };
        sleepers.lab.slots(16);
        assert!(sleepers.lab.is_agreed());
        sleepers
    }

    /// The owner of `slot` wakes a slot before, and makes its block, which nobody hears of yet.
    fn make(&mut self, slot: u64) -> Arc<Block> {
        let owner = self.lab.owner(0, slot);
        for now in [slot - 1, slot] {
            self.lab.fixture.now = now;
            assert!(self.lab.queue.is_empty());
            self.lab.fire_due_of(owner);
        }
        let sent = core::mem::take(&mut self.lab.queue).into_iter().next_back();
        let Some(Content::Message(ConsensusMessage::Block(block))) = sent.map(|envelope| envelope.content) else {
            panic!("slot {slot}: no block of {owner}");
        };
        block
    }

    fn show(&mut self, to: usize, blocks: &[&Arc<Block>]) {
        for block in blocks {
            self.lab.announce(to, block);
        }
        self.lab.queue.clear();
    }
}

/// 39 slots and 19 blocks after a common head. Two producers imply the first block of branch A and leave it, one for good and one
/// for a while; both implied it when it was prepared, but neither stayed until the others did.
fn two_branches(config: DposConfig) -> Lab {
    let mut it = Sleepers::new(config);
    let base = 17;
    let [p, u, s, t] = [0, 1, 2, 3].map(|slot| it.lab.owner(0, base + slot));
    let b1 = it.make(base + 1);
    let a1 = it.make(base + 2);
    it.show(t, &[&a1]);
    it.show(p, &[&a1]);
    let a2 = it.make(base + 3);
    it.show(p, &[&a2]);
    let a3 = it.make(base + 4);
    it.show(s, &[&b1]);
    let b2 = it.make(base + 6);
    let a4 = it.make(base + 8);
    let [b3, b4, b5] = [10, 14, 18].map(|slot| it.make(base + slot));
    it.show(t, &[&b1, &b2, &b3, &b4, &b5]);
    let b6 = it.make(base + 19);
    it.show(s, &[&a2, &a3, &a4]);
    let a5 = it.make(base + 22);
    let b7 = it.make(base + 23);
    let a6 = it.make(base + 26);
    it.show(u, &[&b2, &b3, &b4, &b5, &b6, &b7]);
    let b8 = it.make(base + 29);
    it.show(p, &[&b1, &b2, &b3, &b4, &b5, &b6, &b7, &b8]);
    let b9 = it.make(base + 32);
    it.show(u, &[&b9]);
    let b10 = it.make(base + 33);
    it.show(s, &[&b6, &b7, &b8, &b9, &b10]);
    let b11 = it.make(base + 34);
    it.show(t, &[&a3, &a4, &a5, &a6]);
    let [a7, a8] = [35, 39].map(|slot| it.make(base + slot));
    it.show(u, &[&b11]);
    it.show(p, &[&b11]);
    // Then everybody hears everything.
    let mut lab = it.lab;
    lab.fixture.now = base + 40;
    for block in [&a1, &a2, &a3, &a4, &a5, &a6, &a7, &a8, &b1, &b2, &b3, &b4, &b5, &b6, &b7, &b8, &b9, &b10, &b11] {
        (0..4).for_each(|index| lab.announce(index, block));
    }
    lab.slots(40);
    lab
}

#[test]
fn votes_of_different_branches_do_not_add_up() {
    let lab = two_branches(DposConfig::default());
    assert!(lab.violations.is_empty(), "{:?}", lab.violations);
    assert!(lab.evidence.is_empty(), "{:?}", lab.evidence);
    assert!(lab.is_agreed(), "{:?}", lab.heads());
    assert_eq!(lab.irreversible(0), lab.heads()[0].height.get() - 5);
}

#[test]
fn implied_heights_that_count_for_ever_make_two_blocks_irreversible() {
    let lab = mutation::with(Mutation::DposImpliedForEver, || two_branches(DposConfig::default()));
    let first = lab.violations.first().expect("a violation");
    assert_eq!((first.property, first.at), (AGREEMENT, Height::new(17).get()), "{:?}", lab.violations);
    assert!(lab.evidence.is_empty(), "no producer broke a rule: {:?}", lab.evidence);
}

/// A producer makes one block by the rules, and 4,096 more of the same slot for one replica alone; then it is silent. The others go on
/// without it, and its victim follows them.
#[test]
fn many_blocks_of_one_producer_in_one_slot_keep_out_no_others() {
    let mut it = Sleepers::new(DposConfig::default());
    let [liar, one, other, victim] = [17, 18, 19, 20].map(|slot| it.lab.owner(0, slot));
    let first = it.make(17);
    it.show(victim, &[&first]);
    it.lab.nodes[liar].is_faulty = true;
    for salt in 1..=4_096_u64 {
        let header = crate::primitives::Header { gas_limit: 1_000 + salt, ..first.header().clone() };
        let twin = Block::new(header, Vec::new(), first.payload().clone(), Vec::new());
        let seal = it.lab.signers[liar].sign(crate::consensus::Purpose::Block, twin.hash());
        it.show(victim, &[&Arc::new(twin.with_seal(seal))]);
    }
    assert_eq!(it.lab.replica(victim).tree.blocks_of_slot(17, it.lab.signers[liar].address()).count(), 2);
    it.lab.stop(liar);
    // What the two others make is heard by the victim too, as what it makes by them.
    it.lab.fixture.now = 17;
    it.lab.slots(60);
    let heads = it.lab.heads();
    assert_eq!((heads.len(), it.lab.is_agreed()), (3, true), "{heads:?}");
    for index in [one, other, victim] {
        assert!(it.lab.irreversible(index) > heads[0].height.get() - 9, "{}", it.lab.irreversible(index));
    }
    assert!(it.lab.violations.is_empty(), "{:?}", it.lab.violations);
}

/// A producer goes on alone, and has as many side blocks of a liar as one author may have. Two others make the better branch meanwhile, of which
/// the first blocks are lower than its head. Returns whether the three have one head some rounds after they hear each other.
fn joins_the_others_beside_a_liars_side_blocks() -> bool {
    let mut it = Sleepers::new(DposConfig::default());
    let common = it.lab.heads()[0];
    let [liar, one, other, victim] = [17, 18, 19, 20].map(|slot| it.lab.owner(0, slot));
    it.lab.nodes[liar].is_faulty = true;
    for round in [0, 4, 8] {
        let first = it.make(18 + round);
        it.show(other, &[&first]);
        let second = it.make(19 + round);
        it.show(one, &[&second]);
        it.make(20 + round);
    }
    let [better, alone] = [one, victim].map(|index| it.lab.replica(index).head());
    assert_eq!((better.height.get(), alone.height.get()), (common.height.get() + 6, common.height.get() + 3));
    let author = it.lab.signers[liar].address();
    keep_side_blocks(&mut it.lab, victim, common, author, SIDE_BLOCKS);
    it.lab.stop(liar);
    it.lab.slots(40);
    assert!(it.lab.violations.is_empty(), "{:?}", it.lab.violations);
    it.lab.is_agreed()
}

#[test]
fn side_blocks_of_one_producer_keep_nobody_from_a_better_branch() {
    assert!(joins_the_others_beside_a_liars_side_blocks());
    assert!(!mutation::with(Mutation::DposSharesSideBlocks, joins_the_others_beside_a_liars_side_blocks));
}
