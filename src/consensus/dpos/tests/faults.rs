//! Forks, crashes and double production, also without watermark and lock.

use std::{collections::BTreeSet, sync::Arc};

use super::{super::*, lab::*};
use crate::{
    chain::Block,
    consensus::{
        Admin, ConsensusMessage, Event, Evidence, OffenceProof, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{B256, Bytes, Height, Timestamp, U256},
};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// Runs four replicas with random partitions, crashes and restarts for 60 slots, then 40 slots without faults.
fn random_run(seed: u64, per_turn: u32) -> Lab {
    let mut random = Dice(seed);
    let mut lab = Lab::with_config(4, 4, DposConfig::default().with_blocks_per_turn(per_turn));
    for _ in 0..60 {
        match random.below(8) {
            0 => (0..4).for_each(|index| lab.groups[index] = random.below(2)),
            1 => lab.heal(),
            2 => lab.stop(random.below(4)),
            3 => {
                let index = random.below(4);
                lab.restart(index);
            }
            _ => {}
        }
        if random.below(4) == 0 {
            // Blocks of two slots are reordered.
            lab.begin_slot();
            lab.begin_slot();
            lab.settle();
        } else {
            lab.slot();
        }
    }
    lab.heal();
    (0..4).filter(|index| !lab.nodes[*index].is_up).collect::<Vec<_>>().into_iter().for_each(|i| lab.restart(i));
    lab.slots(40);
    lab
}

/// Names of the properties that do not hold in the runs up to the one that violates `want`.
fn violated_within(seeds: u64, want: &str) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    for seed in 0..seeds {
        if names.contains(want) {
            break;
        }
        names.extend(random_run(seed, 1 + seed as u32 % 2).violations.iter().map(|violation| violation.property));
    }
    names
}

#[test]
fn random_partitions_crashes_and_reordering_violate_no_property() {
    let mut forks = 0;
    for seed in 0..60 {
        let lab = random_run(seed, 1 + seed as u32 % 2);
        assert!(lab.violations.is_empty(), "seed {seed}: {:?}", lab.violations);
        assert!(lab.evidence.is_empty(), "seed {seed}: {:?}", lab.evidence);
        assert!(lab.is_agreed(), "seed {seed}: {:?}", lab.heads());
        let lag = lab.heads()[0].height.get() - lab.irreversible(0);
        assert!(lag <= 16, "seed {seed}: {lag} blocks are not irreversible");
        forks += lab.mark("dpos/reorg");
    }
    assert!(forks > 60, "{forks}");
}

#[test]
fn lost_safety_states_and_other_bugs_are_detected_by_the_checker() {
    for (bug, want) in [
        (Mutation::DposPromiseForgotten, CONFIRMED_TWICE),
        (Mutation::DposConfirmsTwice, CONFIRMED_TWICE),
        (Mutation::DposSlotTwice, SLOT_TWICE),
        (Mutation::DposWrongProducer, SLOT_OWNER),
    ] {
        let found = mutation::with(bug, || violated_within(40, want));
        assert!(found.contains(want), "{bug:?}: {found:?}");
    }
}

/// Two of four producers were offline for many slots, so that many blocks become irreversible at once: one restarts and gives the last
/// confirmation, the other is partitioned. No other replica receives the block that makes them irreversible, and all except the
/// partitioned one stop until its branch is longer. Then all restart except the producer of that block. By length alone they
/// follow the partitioned one, and a second block of the same height becomes irreversible.
fn restarted_producers(rule: FinalityRule) -> Lab {
    let mut lab = Lab::with_config(4, 4, DposConfig::default().with_finality(rule));
    lab.slots(8);
    let (loner, back) = (lab.owner(0, 9), lab.owner(0, 10));
    let others: Vec<_> = (0..4).filter(|index| *index != loner).collect();
    lab.stop(loner);
    lab.stop(back);
    lab.slots(16);
    let steady = lab.owner(0, 11);
    while [loner, back].contains(&lab.owner(steady, lab.fixture.now + 1)) {
        lab.slot();
    }
    lab.restart(loner);
    lab.slot();
    let fork = lab.replica(loner).head().height;
    assert_eq!(lab.replica(loner).head(), lab.replica(steady).head());
    let groups: Vec<_> = (0..4).map(|index| usize::from(index == loner)).collect();
    lab.split(&groups);
    lab.slots(12);
    lab.restart(back);
    let knows = |lab: &Lab, index: usize| lab.replica(index).finality().finalized.height > fork;
    while !others.iter().any(|index| knows(&lab, *index)) {
        lab.settle();
        lab.begin_slot();
    }
    lab.queue.clear();
    let (wise, unaware): (Vec<_>, Vec<_>) = others.iter().copied().partition(|index| knows(&lab, *index));
    assert_eq!(wise.len(), 1);
    let longest = lab.heads().iter().map(|head| head.height).max().unwrap();
    others.iter().for_each(|index| lab.stop(*index));
    while lab.replica(loner).head().height.get() < longest.get() + 4 {
        lab.slot();
    }
    lab.heal();
    unaware.iter().for_each(|index| lab.restart(*index));
    lab.slots(60);
    lab.restart(wise[0]);
    lab.slots(20);
    lab
}

#[test]
fn restarted_producers_return_to_the_block_they_implied() {
    let lab = restarted_producers(FinalityRule::Locked);
    assert!(lab.violations.is_empty(), "{:?}", lab.violations);
    assert!(lab.is_agreed() && lab.irreversible(0) > 30);
    assert!(lab.mark("dpos/below-watermark") > 0);
}

#[test]
fn by_the_classic_rule_two_blocks_become_irreversible() {
    let classic = restarted_producers(FinalityRule::Classic);
    assert!(classic.is_violated(AGREEMENT), "{:?}", classic.violations);
}

/// Locks keep the chain from a second irreversible block even where the fork choice does not know what is prepared; but producers
/// whose locks exclude the longest branch remain on it, and nothing more becomes irreversible.
#[test]
fn by_length_alone_locked_producers_stop_irreversibility() {
    let by_length = mutation::with(Mutation::DposLengthAlone, || restarted_producers(FinalityRule::Locked));
    assert!(!by_length.is_violated(AGREEMENT), "{:?}", by_length.violations);
    assert!(by_length.mark("dpos/locked-out") > 0);
}

/// Returns a lab before slot 9, whose owner misbehaves, is down, and has made two blocks there that nobody has yet.
pub(super) fn two_blocks_of_one_slot() -> (Lab, usize, [Arc<Block>; 2]) {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let owner = lab.owner(0, 9);
    lab.nodes[owner].is_faulty = true;
    lab.stop(owner);
    let blocks = [100, 101].map(|salt| lab.block((owner + 1) % 4, 9, &Odd { salt, ..Odd::default() }));
    (lab, owner, blocks)
}

#[test]
fn two_blocks_of_one_producer_in_one_slot_are_evidence_and_are_reported() {
    let (mut lab, owner, [one, two]) = two_blocks_of_one_slot();
    for index in (0..4).filter(|index| *index != owner) {
        let (first, second) = if index % 2 == 0 { (&one, &two) } else { (&two, &one) };
        lab.announce(index, first);
        lab.announce(index, second);
    }
    lab.fixture.now += 1;
    assert_eq!(lab.evidence.len(), 3);
    let offender = lab.signers[owner].address();
    for (_, evidence) in &lab.evidence {
        let want = Evidence::DoubleSign { offender, height: Height::new(9), first: one.hash(), second: two.hash() };
        let swapped = Evidence::DoubleSign { offender, height: Height::new(9), first: two.hash(), second: one.hash() };
        assert!(*evidence == want || *evidence == swapped, "{evidence:?}");
    }
    lab.slots(8);
    let told: Vec<_> = (10..=lab.heads()[0].height.get())
        .filter(|height| {
            let payload = Payload::decode(&lab.sealed((owner + 1) % 4, *height).payload).unwrap();
            payload
                .evidence
                .iter()
                .any(|evidence| evidence.hashes() == (one.hash().min(two.hash()), one.hash().max(two.hash())))
        })
        .collect();
    assert_eq!(told, [10], "reported once, by the next block");
    lab.slots(8);
    assert!(lab.replica((owner + 1) % 4).offences.is_empty(), "dropped once the report is irreversible");
    let sealed = lab.sealed((owner + 1) % 4, 10);
    let header = crate::primitives::Header::default();
    let rules = crate::consensus::common::header_rules::CachedHeaderRules::<Dpos>::new(
        lab.fixture.config,
        lab.set(4),
        lab.authenticator.clone(),
    );
    let context = crate::system::SystemContext {
        header: &sealed.header,
        parent: &header,
        payload: &sealed.payload,
        has_stake: true,
        has_validators: false,
    };
    let calls = crate::chain::HeaderRules::system_calls(&rules, &context).unwrap();
    let time = crate::primitives::Timestamp::from_secs(9);
    let slash =
        crate::system::staking::slash(offender, crate::system::staking::Offence::DoubleSign, Height::new(9), time);
    assert_eq!(calls, [crate::system::staking::begin_turn(sealed.header.beneficiary, &[]), slash]);
}

/// A producer confirms the same heights on two branches. Returns a lab in which `honest` has heard of both.
fn confirmed_on_two_branches() -> (Lab, usize) {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let liar = lab.owner(0, 9);
    let honest = (liar + 1) % 4;
    lab.nodes[liar].is_faulty = true;
    lab.stop(liar);
    // Beside its block in slot 9, three others make blocks on its parent, and it confirms their branch too.
    let mut fork = lab.clone();
    let one = lab.block(honest, 9, &Odd::default());
    lab.announce(honest, &one);
    for slot in 10..13 {
        let block = fork.block(honest, slot, &Odd { confirmed: Some(0), salt: 7, ..Odd::default() });
        fork.announce(honest, &block);
        lab.announce(honest, &block);
    }
    let two = fork.block(honest, 13, &Odd { confirmed: Some(4), ..Odd::default() });
    assert_eq!((fork.owner(honest, 13), two.height().get()), (liar, 12));
    lab.announce(honest, &two);
    (lab, honest)
}

#[test]
fn votes_that_contradict_each_other_are_evidence_and_are_reported() {
    let (unnoticed, honest) = mutation::with(Mutation::DposReportsSlotsAlone, confirmed_on_two_branches);
    assert!(unnoticed.evidence.is_empty() && unnoticed.replica(honest).offences.is_empty());
    let (mut lab, honest) = confirmed_on_two_branches();
    assert!(lab.mark("dpos/conflicting-votes") > 0);
    let proof = lab.replica(honest).offences.values().next().cloned().unwrap();
    assert_eq!(proof.conflict(&lab.fixture.config), Some(Conflict::ConfirmedTwice));
    lab.fixture.now = 13;
    lab.queue.clear();
    lab.slots(8);
    let reported = (9..=lab.replica(honest).head().height.get()).any(|height| {
        let payload = Payload::decode(&lab.sealed(honest, height).payload).unwrap();
        payload.evidence.contains(&proof)
    });
    assert!(reported);
}

/// A producer makes two blocks in one slot, and `witness` alone has both. Returns a lab in slot 9.
fn seen_by_one_alone() -> (Lab, usize) {
    let (mut lab, liar, [one, two]) = two_blocks_of_one_slot();
    let witness = (liar + 1) % 4;
    [&one, &two].into_iter().for_each(|block| lab.announce(witness, block));
    // Whoever builds on a block that others lack tells them of it.
    let shared = if lab.replica(witness).head() == BlockId::of(&one) { one } else { two };
    (0..4).filter(|index| ![liar, witness].contains(index)).for_each(|index| lab.announce(index, &shared));
    lab.fixture.now += 1;
    assert_eq!(lab.replica(witness).offences.len(), 1);
    (lab, witness)
}

/// How many blocks of replica `on` report something.
fn reports(lab: &Lab, on: usize) -> usize {
    let heights = 1..=lab.replica(on).head().height.get();
    let evidence = |height| Payload::decode(&lab.sealed(on, height).payload).unwrap().evidence;
    heights.filter(|height| !evidence(*height).is_empty()).count()
}

/// The witness reports in a block of its own while it is cut off, and that block loses. Returns how many blocks of the others' branch report.
fn reported_on_a_branch_that_loses() -> usize {
    let (mut lab, witness) = seen_by_one_alone();
    lab.isolate(witness);
    lab.slots(8);
    assert!(reports(&lab, witness) == 1 && lab.heads().windows(2).any(|pair| pair[0] != pair[1]));
    lab.heal();
    lab.slots(8);
    assert!(lab.is_agreed());
    reports(&lab, witness)
}

#[test]
fn evidence_is_kept_until_its_report_is_irreversible() {
    assert_eq!(reported_on_a_branch_that_loses(), 1);
    assert_eq!(mutation::with(Mutation::DposTakesReportsForDone, reported_on_a_branch_that_loses), 0);
}

/// Returns how many blocks report what a witness has seen that restarts before its turn.
fn reported_after_a_restart() -> usize {
    let (mut lab, witness) = seen_by_one_alone();
    lab.restart(witness);
    lab.slots(8);
    reports(&lab, witness)
}

#[test]
fn evidence_of_stored_blocks_outlives_a_restart() {
    assert_eq!(reported_after_a_restart(), 1);
    assert_eq!(mutation::with(Mutation::DposForgetsEvidence, reported_after_a_restart), 0);
}

/// Tells a replica of evidence against producer 1 for each of the first `count` slots, then of evidence against producer 2; returns how many
/// pieces of each it keeps.
fn kept_evidence(count: u64) -> [usize; 2] {
    let mut lab = Lab::new(4);
    lab.slots(300);
    let genesis = BlockId::of(&lab.genesis);
    let offence = |lab: &Lab, author: usize, slot: u64| {
        let twin = |salt| lab.raw(genesis, author, Bytes::new(), slot, &Odd { salt, ..Odd::default() });
        let sealed = |block: Arc<Block>| (block.header().clone(), block.seal().clone());
        ConflictingBlocks::new(sealed(twin(1)), sealed(twin(2)))
    };
    for (author, slot) in (1..=count).map(|slot| (1, slot)).chain([(2, 1)]) {
        let proof = OffenceProof::Dpos(offence(&lab, author, slot));
        lab.deliver(0, Event::Admin(Admin::Offence(Box::new(proof))));
    }
    [1, 2].map(|author| {
        let offender = lab.signers[author].address();
        lab.replica(0).proven_infractions().filter(|(_, known)| *known == offender).count()
    })
}

#[test]
fn evidence_against_one_producer_keeps_out_none_against_others() {
    assert_eq!(kept_evidence(3), [3, 1]);
    assert_eq!(kept_evidence(4), [4, 1]);
    assert_eq!(kept_evidence(260), [4, 1]);
    assert_eq!(mutation::with(Mutation::DposSharesEvidence, || kept_evidence(260)), [256, 0]);
}

/// A producer that implies less than before, under the same schedule or an earlier one, proves it by two headers, except by the
/// classic rule, which has no lock.
#[test]
fn a_lower_implied_height_is_evidence_only_where_there_are_locks() {
    let lab = Lab::new(4);
    let sealed = |number: u64, implied: u64| {
        let vote = Confirmation { confirmed: 1, implied: Prepared { version: 0, height: Height::new(implied) } };
        let nonce = vote.nonce(Height::new(number)).unwrap();
        let header = crate::primitives::Header { number, nonce, timestamp: number, ..Default::default() };
        let seal = lab.signers[0].sign(crate::consensus::Purpose::Block, header.hash_slow());
        (header, seal)
    };
    let at = (12, crate::primitives::Timestamp::from_secs(12));
    let check = |config: DposConfig, proof: &ConflictingBlocks| proof.check(&config, at, &lab.authenticator);
    let less = ConflictingBlocks::new(sealed(8, 5), sealed(10, 4));
    let want = Infraction { slot: 10, offender: lab.signers[0].address(), height: Height::new(10) };
    assert_eq!(check(DposConfig::default(), &less), Ok(want));
    let classic = DposConfig::default().with_finality(FinalityRule::Classic);
    assert_eq!(check(classic, &less), Err(EvidenceError::NoConflict));
    let equal = ConflictingBlocks::new(sealed(8, 5), sealed(10, 5));
    assert_eq!(check(DposConfig::default(), &equal), Err(EvidenceError::NoConflict));
}

#[test]
fn a_replica_that_extends_a_worse_branch_is_sent_the_better_head() {
    let mut lab = Lab::new(4);
    lab.slots(8);
    // Two of four continue together, but no block becomes irreversible.
    lab.split(&[0, 0, 1, 2]);
    lab.slots(16);
    // The replica that was alone sends first: without a response it would receive the better head in the others' slots only.
    while lab.owner(3, lab.fixture.now + 1) != 3 {
        lab.slot();
    }
    assert!(lab.heads()[3].height < lab.heads()[0].height);
    assert_eq!(lab.mark("dpos/show-head"), 0);
    lab.heal();
    lab.slot();
    assert!(lab.mark("dpos/show-head") > 0);
    assert_eq!(lab.heads()[3], lab.heads()[0]);
    assert!(lab.violations.is_empty(), "{:?}", lab.violations);
}

/// Two producers have the better branch, and a third one extends its own. Returns whether that one has the better head once the links are back and
/// a replica of the better branch, whose head is of a later slot by then, has heard its block.
fn is_shown_the_head_of_a_later_slot() -> bool {
    let mut lab = Lab::new(4);
    lab.slots(8);
    lab.split(&[0, 0, 1, 2]);
    lab.slots(16);
    let produced = |lab: &Lab, replica: usize| lab.link(replica).slot == lab.fixture.now;
    while !produced(&lab, 3) {
        lab.slot();
    }
    while !produced(&lab, 0) {
        lab.slot();
    }
    let late = lab.nodes[3].blocks[&lab.heads()[3].hash].clone();
    lab.heal();
    let message = ConsensusMessage::Block(late);
    lab.deliver(0, Event::Message { from: ReplicaId::new(3), message });
    lab.settle();
    lab.heads()[3] == lab.heads()[0]
}

#[test]
fn a_replica_that_extends_a_worse_branch_earlier_in_a_round_is_sent_the_better_head() {
    assert!(is_shown_the_head_of_a_later_slot());
    assert!(!mutation::with(Mutation::DposShowsToLaterAlone, is_shown_the_head_of_a_later_slot));
}

/// A producer that is absent has `kept` blocks on a branch that ends at height 9, as replica `to` has them; the others go on. Returns the lab, `to`,
/// two more blocks of the absent producer there, and one of another producer.
fn full_of_side_blocks(kept: u64) -> (Lab, usize, [Arc<Block>; 2], Arc<Block>) {
    let mut lab = Lab::new(4);
    lab.slots(8);
    let absent = lab.owner(0, 9);
    let to = (absent + 1) % 4;
    lab.nodes[absent].is_faulty = true;
    lab.stop(absent);
    let odd = |salt| Odd { confirmed: Some(0), salt, ..Odd::default() };
    let more = [lab.block(to, 9, &odd(7)), lab.block(to, 13, &odd(7))];
    let slot = (12..15).find(|slot| lab.owner(to, *slot) != to).unwrap();
    let other = lab.block(to, slot, &odd(7));
    // One block of the absent producer is on the head's branch.
    lab.slots(3);
    assert!(lab.replica(to).head().height.get() >= 10 && lab.replica(to).tree.root().height.get() <= 5);
    let author = lab.signers[absent].address();
    keep_side_blocks(&mut lab, to, BlockId::parent_of(&more[0]), author, kept);
    (lab, to, more, other)
}

/// Lets a replica have `kept` side blocks of an author on a block.
pub(super) fn keep_side_blocks(lab: &mut Lab, to: usize, parent: BlockId, author: Address, kept: u64) {
    let model = lab.replica(to).tree.get(&parent).unwrap().as_ref().clone();
    for number in 0..kept {
        let mut node = model.clone();
        node.context.block = BlockId { height: parent.height.next(), hash: B256::from(U256::from(number + 1)) };
        // In slots of its own, so that none of them is evidence.
        node.context.slot = 1_000 + number;
        node.context.timestamp = Timestamp::from_secs(node.context.slot);
        (node.parent, node.author, node.sealed) = (parent, author, None);
        assert!(lab.replica_mut(to).tree.insert(node).is_none());
    }
}

/// Most blocks of one author that a replica keeps outside of its head's branch.
pub(super) const SIDE_BLOCKS: u64 = 4_096;

/// Returns how many of these blocks a replica keeps, which has so many of the absent producer.
fn kept_of(kept: u64, blocks: impl Fn(&[Arc<Block>; 2], &Arc<Block>) -> Vec<Arc<Block>>) -> usize {
    let (mut lab, to, more, other) = full_of_side_blocks(kept);
    let blocks = blocks(&more, &other);
    blocks.iter().for_each(|block| lab.announce(to, block));
    blocks.iter().filter(|block| lab.replica(to).tree.get(&BlockId::of(block)).is_some()).count()
}

#[test]
fn side_blocks_of_one_producer_are_bounded_and_keep_out_no_others() {
    let own = |more: &[Arc<Block>; 2], _: &Arc<Block>| more.to_vec();
    let others = |_: &[Arc<Block>; 2], other: &Arc<Block>| vec![other.clone()];
    assert_eq!(kept_of(SIDE_BLOCKS - 2, own), 2);
    assert_eq!(kept_of(SIDE_BLOCKS - 1, own), 1, "one past the bound");
    assert_eq!(kept_of(SIDE_BLOCKS, own), 0);
    assert_eq!(kept_of(SIDE_BLOCKS, others), 1);
    assert_eq!(mutation::with(Mutation::DposSharesSideBlocks, || kept_of(SIDE_BLOCKS, others)), 0);
}

#[test]
fn side_blocks_of_a_producer_without_a_block_on_the_heads_branch_are_counted_at_the_bound() {
    let (mut lab, to, more, _) = full_of_side_blocks(0);
    let author = Address::repeat_byte(9);
    keep_side_blocks(&mut lab, to, BlockId::parent_of(&more[0]), author, SIDE_BLOCKS);
    assert_eq!(lab.replica(to).tree.side_blocks_of(author), SIDE_BLOCKS);
}

#[test]
fn a_side_block_of_a_proved_offender_takes_the_place_of_another_one() {
    let (mut lab, to, more, _) = full_of_side_blocks(SIDE_BLOCKS - 1);
    let author = more[0].header().beneficiary;
    lab.announce(to, &more[0]);
    let count = |lab: &Lab| lab.replica(to).tree.side_blocks_of(author);
    let keeps = |lab: &Lab, block: &Block| lab.replica(to).tree.get(&BlockId::of(block)).is_some();
    assert!(count(&lab) == SIDE_BLOCKS && keeps(&lab, &more[0]));
    lab.announce(to, &more[1]);
    assert!(!keeps(&lab, &more[1]), "there is no evidence against it");
    let why = lab.rejections.last().unwrap().1.to_string();
    assert!(why.contains("4096"), "{why}");
    let twin = lab.raw(BlockId::parent_of(&more[0]), 0, Bytes::new(), 0, &Odd::default());
    let sealed = |block: &Block| (block.header().clone(), block.seal().clone());
    let proof = ConflictingBlocks::new(sealed(&more[0]), sealed(&twin));
    lab.replica_mut(to).offences.insert((9, author), Arc::new(proof));
    let highest = lab.replica(to).tree.side_leaf_of(author).unwrap();
    lab.announce(to, &more[1]);
    assert!(keeps(&lab, &more[1]) && count(&lab) == SIDE_BLOCKS);
    assert!(lab.replica(to).tree.get(&highest).is_none(), "the highest gave its place");
}
