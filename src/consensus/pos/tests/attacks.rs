//! Known attacks on Gasper and their outcome.

use std::{collections::BTreeSet, sync::Arc};

use super::lab::{Lab, WEIGHT, config};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusMessage, Event, Evidence, Protocol, Rejection, ReplicaId,
        mutation::{self, Mutation},
        pos::{
            ATTEST_TIMER, MessageError, Payload, Pos, PosConfig, Proposal, SLOT_TIMER, SlashingCondition,
            SlashingEvidence, Vote, VoteData, offenders,
        },
    },
    primitives::{Address, B256, Header, Height, KeyPair, TransactionRequest},
    system::staking::StakingParams,
};

fn named(lab: &Lab) -> BTreeSet<(Address, SlashingCondition)> {
    let named = lab.evidence.iter().map(|(_, evidence)| match evidence {
        Evidence::Slashable { offender, offence } => (*offender, offence.condition()),
        other => panic!("{other:?}"),
    });
    named.collect()
}

/// Sixteen validators, four a slot. The proposer of slot 10 withholds its block and a vote of one of that slot's attesters, and
/// publishes both after the block of slot 11. Returns the two blocks and the honest head.
fn ex_ante(config: PosConfig) -> (B256, B256, B256) {
    let mut lab = Lab::with_config(16, config);
    lab.run(9);
    let parent = lab.heads()[0];
    let attacker = lab.committee(0, 10, parent)[0];
    let (late, timely) = (lab.forge(0, parent, 10, &[]), lab.forge(0, parent, 11, &[]));
    // The attacker's own replica has the block from the start.
    let mut private = lab.clone();
    private.deliver(1, Event::Timer(SLOT_TIMER));
    private.give_block(1, &late);
    let vote = private.vote(1, attacker, 10, late.hash());
    for _ in 0..2 {
        lab.deliver(0, Event::Timer(SLOT_TIMER));
    }
    lab.give_block(0, &timely);
    lab.give_block(0, &late);
    lab.give_vote(0, &vote);
    assert!(lab.rejections.is_empty(), "{:?}", lab.rejections);
    lab.deliver(0, Event::Timer(ATTEST_TIMER));
    (late.hash(), timely.hash(), lab.replica(0).head().hash)
}

#[test]
fn an_ex_ante_reorg_works_without_the_boost_and_not_with_it() {
    let (_, timely, head) = ex_ante(config());
    assert_eq!(head, timely, "a vote of a quarter of a slot is less than the boost of 40 %");
    let (late, _, head) = ex_ante(config().with_boost_percent(0));
    assert_eq!(head, late);
}

#[test]
fn a_balance_of_equivocations_tips_with_the_next_timely_block() {
    let mut lab = Lab::new(16);
    lab.run(8);
    let parent = lab.heads()[0];
    // The proposer of slot 9 makes two blocks; half of the attesters receive one first, half the other.
    let (left, right) = (lab.forge(0, parent, 9, &[]), lab.forge(0, parent, 9, &[]));
    let byzantine = lab.proposer(0, 9, parent);
    // One attester for each; the votes of the equivocator would not count.
    let is_other = |who: &usize| *who != byzantine;
    let committee: Vec<_> = lab.committee(0, 9, parent).into_iter().filter(is_other).take(2).collect();
    let (x, y) = (0, 1);
    for replica in [x, y] {
        lab.deliver(replica, Event::Timer(SLOT_TIMER));
    }
    for (replica, first, second) in [(x, &left, &right), (y, &right, &left)] {
        lab.give_block(replica, first);
        lab.give_block(replica, second);
    }
    assert_eq!(named(&lab), [(lab.address(byzantine), SlashingCondition::DoubleProposal)].into());
    for (place, who) in committee.iter().enumerate() {
        let head = if place % 2 == 0 { &left } else { &right };
        let vote = lab.vote(x, *who, 9, head.hash());
        [x, y].into_iter().for_each(|replica| lab.give_vote(replica, &vote));
    }
    for replica in [x, y] {
        lab.deliver(replica, Event::Timer(SLOT_TIMER));
    }
    // An equivocator of slot 10 that votes for one block on each side keeps the branches balanced.
    let double_voter = lab.committee(x, 10, left.hash()).into_iter().find(is_other).unwrap();
    let (for_left, for_right) =
        (lab.vote(x, double_voter, 10, left.hash()), lab.vote(x, double_voter, 10, right.hash()));
    lab.give_vote(x, &for_left);
    lab.give_vote(y, &for_right);
    for replica in [x, y] {
        lab.deliver(replica, Event::Timer(SLOT_TIMER));
    }
    assert_eq!((lab.heads()[x], lab.heads()[y]), (left.hash(), right.hash()), "balanced");
    // A timely honest block on either side wins on both sides, and the two votes are detected.
    let block = lab.forge(x, left.hash(), 11, &[]);
    [x, y].into_iter().for_each(|replica| lab.give_block(replica, &block));
    assert_eq!((lab.heads()[x], lab.heads()[y]), (block.hash(), block.hash()));
    lab.give_vote(x, &for_right);
    lab.give_vote(y, &for_left);
    assert!(named(&lab).contains(&(lab.address(double_voter), SlashingCondition::DoubleVote)));
    for replica in [x, y] {
        assert!(lab.replica(replica).tree.forks.equivocators().contains(&lab.address(double_voter)));
    }
}

#[test]
fn a_withheld_justification_reverts_no_head() {
    let mut lab = Lab::new(4);
    lab.run(18);
    // The last block of epoch 4 has the votes that justify it; it is published in the middle of epoch 5.
    let parent = lab.heads()[0];
    let votes: Vec<_> =
        lab.replica(0).votes().filter(|(_, vote)| vote.data.target.epoch == 4).map(|(_, v)| v.clone()).collect();
    let packed = lab.link(0, parent).state;
    let missing: Vec<Vote> =
        votes.into_iter().filter(|vote| !packed.has_vote(&vote.signer(&lab.authenticator).unwrap(), 4)).collect();
    let withheld = lab.forge(0, parent, 19, &missing);
    let byzantine = lab.proposer(0, 19, parent);
    lab.tick();
    // It attests to its own block.
    lab.pause(byzantine);
    lab.propose();
    lab.nodes[byzantine].is_up = true;
    lab.attest();
    lab.run(2);
    let finalized = lab.finalized();
    (0..4).for_each(|replica| lab.give_block(replica, &withheld));
    lab.settle();
    lab.run(11);
    assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]));
    for (before, after) in finalized.iter().zip(lab.finalized()) {
        assert!(after.epoch >= before.epoch + 2, "{before:?} {after:?}");
    }
    assert!(lab.evidence.is_empty());
}

#[test]
fn nothing_at_stake_is_slashed() {
    let mut lab = Lab::new(7);
    lab.run(9);
    let parent = lab.heads()[0];
    // One proposes two blocks, another votes for both.
    let (left, right) = (lab.forge(0, parent, 10, &[]), lab.forge(0, parent, 10, &[]));
    let proposer = lab.proposer(0, 10, parent);
    lab.pause(proposer);
    lab.tick();
    for replica in (0..7).filter(|replica| *replica != proposer) {
        lab.give_block(replica, &left);
        lab.give_block(replica, &right);
    }
    let witness = (0..7).find(|replica| *replica != proposer).unwrap();
    let voter = lab.committee(witness, 10, left.hash()).into_iter().find(|who| *who != proposer).unwrap();
    lab.pause(voter);
    let votes = [&left, &right].map(|head| lab.vote(witness, voter, 10, head.hash()));
    for replica in (0..7).filter(|replica| *replica != proposer && *replica != voter) {
        votes.iter().for_each(|vote| lab.give_vote(replica, vote));
    }
    lab.run(30);
    let want = [
        (lab.address(proposer), SlashingCondition::DoubleProposal),
        (lab.address(voter), SlashingCondition::DoubleVote),
    ];
    assert_eq!(named(&lab), want.into(), "they and nobody else");
    let honest = (0..7).find(|replica| *replica != proposer && *replica != voter).unwrap();
    let state = lab.replica(honest).head_state().unwrap().clone();
    for (offender, _) in want {
        assert!(state.is_slashed(&offender) && !state.current.set().contains(&offender));
    }
    assert_eq!(state.current.set().len(), 5);
    assert!(lab.replica(honest).finalized().epoch >= 7, "the others go on");
    // Besides the initial penalty, each loses in proportion to the stake slashed in the same period.
    lab.run(12);
    let fines: Vec<_> = lab
        .chain_of(honest)
        .iter()
        .filter_map(|block| super::super::Payload::decode(block.payload()).unwrap().accounting)
        .flat_map(|accounting| accounting.penalties)
        .filter(|(_, gwei)| *gwei > WEIGHT / 2)
        .collect();
    assert_eq!(fines.len(), 2, "{fines:?}");
}

/// A chain of the same genesis, made with all keys, that differs from the first slot on.
fn forged_history(config: PosConfig, slots: u64) -> Lab {
    let mut lab = Lab::with_config(4, config);
    lab.fixture.salt = 1_000_000;
    lab.run(slots);
    lab
}

#[test]
fn a_history_from_keys_without_stake_is_rejected() {
    // Six epochs of four seconds.
    let config = config().with_staking(&StakingParams { unbonding_secs: 24, ..StakingParams::default() });
    let mut lab = Lab::with_config(4, config);
    lab.run(60);
    let forged = forged_history(config, 60);
    let fork = forged.chain_of(0);
    // A replica that was online refuses it.
    let before = lab.replica(0).clone();
    let (old, new) = fork.split_at(before.finalized().block.height.get() as usize + 1);
    for block in old {
        lab.give_block(0, block);
        assert!(matches!(lab.rejections.last(), Some((0, Rejection::Pos(_) | Rejection::TooOld { .. }))));
    }
    assert!(*lab.replica(0) == before);
    // The blocks above are orphans: their parents never arrive.
    new.iter().for_each(|block| lab.give_block(0, block));
    assert_eq!((lab.replica(0).head(), lab.replica(0).finalized()), (before.head(), before.finalized()));
    assert_eq!(lab.replica(0).intake.orphans.len(), new.len());

    // A new replica cannot distinguish the two chains and accepts neither.
    let newcomer = |trusted: Option<(u64, B256)>| {
        let mut lab = Lab::with_config(4, trusted.map_or(config, |(epoch, block)| config.with_trusted(epoch, block)));
        lab.fixture.slot = 60;
        while lab.replica(0).slot() < 60 {
            lab.deliver(0, Event::Timer(SLOT_TIMER));
        }
        lab
    };
    let true_chain = lab.chain_of(0);
    let mut alone = newcomer(None);
    for chain in [&true_chain, &fork] {
        let before = alone.replica(0).clone();
        alone.give_block(0, &chain[0]);
        let refused = &alone.rejections.last().unwrap().1;
        assert!(matches!(refused, Rejection::Pos(MessageError::WeakSubjectivity { limit: 6, .. })), "{refused}");
        assert!(*alone.replica(0) == before);
    }
    // With a trusted checkpoint it accepts the true chain only.
    let friend = lab.replica(0).finalized();
    let mut told = newcomer(Some((friend.epoch, friend.block.hash)));
    for block in &fork {
        told.give_block(0, block);
    }
    let untrusted = |rejection: &Rejection| matches!(rejection, Rejection::Pos(MessageError::Untrusted { .. }));
    assert!(told.rejections.iter().any(|(_, rejection)| untrusted(rejection)));
    assert!(told.replica(0).head().height < friend.block.height);
    let mut told = newcomer(Some((friend.epoch, friend.block.hash)));
    for block in &true_chain {
        told.give_block(0, block);
    }
    assert_eq!(told.replica(0).head(), lab.replica(0).head());
}

#[test]
fn more_than_a_third_break_finality_and_are_identified() {
    // Validators 4, 5 and 6 of seven run on both sides of a partition, with one key each; two would not suffice.
    let (mut left, mut right) = (Lab::new(7), Lab::new(7));
    for (lab, other_side) in [(&mut left, [2, 3]), (&mut right, [0, 1])] {
        other_side.into_iter().for_each(|index| lab.pause(index));
    }
    right.fixture.salt = 1_000_000;
    left.run(40);
    right.run(40);
    let (one, other) = (left.replica(0).finalized(), right.replica(2).finalized());
    assert!(one.epoch >= 4 && other.epoch >= 4, "{one:?} {other:?}");
    let at = |lab: &Lab, replica: usize| lab.chain_of(replica)[0].hash();
    assert_ne!(at(&left, 0), at(&right, 2), "two chains are final from the first block on");

    let (votes_left, votes_right) = (left.votes_of(0), right.votes_of(2));
    let guilty = offenders(&votes_left, &votes_right, &left.authenticator);
    assert_eq!(guilty, [4, 5, 6].map(|index| left.address(index)).into());
    let set = left.genesis_set();
    let weight: u128 = guilty.iter().map(|who| u128::from(set.members()[set.index_of(who).unwrap()].weight)).sum();
    assert!(3 * weight >= set.total_weight(), "at least a third of the stake");

    // A replica that receives the votes of the other side detects the same offenders and no others.
    let recent = right.replica(2).votes().map(|(_, vote)| vote.clone()).collect::<Vec<_>>();
    for vote in &recent {
        left.give_vote(0, vote);
    }
    let kinds = named(&left);
    let accused: BTreeSet<_> = kinds.iter().map(|(offender, _)| *offender).collect();
    assert_eq!(accused, guilty);
}

#[test]
fn a_surrounding_vote_is_detected_however_late_it_arrives() {
    let mut lab = Lab::new(4);
    lab.run(26);
    let epoch = lab.replica(0).epoch();
    let byzantine = lab.replica(0).votes().map(|(who, _)| *who).next().unwrap();
    let own: Vec<VoteData> =
        lab.replica(0).votes().filter(|(who, _)| **who == byzantine).map(|(_, vote)| vote.data).collect();
    let last = own.iter().max_by_key(|data| data.target.epoch).unwrap();
    let first = own.iter().min_by_key(|data| data.source.epoch).unwrap();
    assert!(first.source.epoch + 1 < last.source.epoch);
    // From the oldest source to the newest target, in a slot of its own.
    let signer = lab.signers[lab.index_of(&byzantine)].clone();
    let data = VoteData { source: first.source, ..*last };
    lab.give_vote(0, &Vote::signed(data, &signer));
    assert_eq!(named(&lab), [(byzantine, SlashingCondition::SurroundVote)].into());
    assert!(epoch >= 6);
}

#[test]
fn evidence_is_gossiped_and_counts_once() {
    let mut lab = Lab::new(4);
    lab.run(9);
    let parent = lab.heads()[0];
    let byzantine = lab.committee(0, 10, parent)[0];
    let vote = |lab: &Lab, slot| lab.vote(0, byzantine, slot, parent);
    lab.deliver(0, Event::Timer(SLOT_TIMER));
    lab.deliver(0, Event::Timer(SLOT_TIMER));
    let (one, two) = (vote(&lab, 10), vote(&lab, 11));
    lab.give_vote(0, &one);
    lab.give_vote(0, &two);
    lab.settle();
    let heard: BTreeSet<_> = lab.evidence.iter().map(|(index, _)| *index).collect();
    assert_eq!(heard.len(), 4, "all heard of it, the byzantine too");
    assert_eq!(lab.evidence.len(), 4);
    let offence = lab.replica(0).offences().next().unwrap().1.clone();
    let before = lab.replica(1).clone();
    lab.deliver(1, Event::Message { from: ReplicaId::new(0), message: Lab::offence_message(offence) });
    assert!(*lab.replica(1) == before);
    assert_eq!(lab.evidence.len(), 4);
    let is_alone = |replica: &Pos| replica.offences().count() == 1;
    assert!(lab.replicas().all(is_alone));
}

/// Evidence against a voter does not undo a justification by its vote, which other replicas use already.
#[test]
fn evidence_undoes_no_justification() {
    let mut lab = Lab::new(4);
    lab.pause(0);
    // Three of four: each vote is needed.
    lab.run(26);
    let head = lab.heads()[1];
    let state = lab.link(1, head).state;
    let before = state.unrealized();
    assert!(before.justified.epoch >= 5);
    let byzantine = (1..4).find(|who| state.has_vote(&lab.address(*who), state.epoch())).unwrap();
    let own = lab
        .replica(1)
        .votes()
        .find(|(who, vote)| **who == lab.address(byzantine) && vote.data.target.epoch == state.epoch());
    let own = own.unwrap().1.clone();
    let other = Vote::signed(VoteData { slot: own.data.slot + 1, ..own.data }, &lab.signers[byzantine]);
    let offence = crate::consensus::pos::SlashingEvidence::of_votes(&own, &other).unwrap();
    let block = lab.forge_with(1, head, 27, |payload| payload.offences = vec![offence]);
    lab.deliver(1, Event::Timer(SLOT_TIMER));
    lab.give_block(1, &block);
    assert_eq!(lab.heads()[1], block.hash(), "{:?}", lab.rejections.last());
    let after = lab.link(1, block.hash()).state;
    assert!(after.is_slashed(&lab.address(byzantine)));
    assert!(after.unrealized().justified.epoch >= before.justified.epoch);
}

/// A proposer of two blocks in one slot must not keep two branches balanced with its votes, which no block carries once it is
/// slashed.
#[test]
fn the_votes_of_an_offender_by_blocks_do_not_count() {
    let mut lab = Lab::new(5);
    lab.run(9);
    let parent = lab.heads()[0];
    let (left, right) = (lab.forge(0, parent, 10, &[]), lab.forge(0, parent, 10, &[]));
    let byzantine = lab.proposer(0, 10, parent);
    for _ in 0..2 {
        lab.deliver(0, Event::Timer(SLOT_TIMER));
    }
    lab.give_block(0, &left);
    lab.give_block(0, &right);
    assert_eq!(named(&lab), [(lab.address(byzantine), SlashingCondition::DoubleProposal)].into());
    let forks = |lab: &Lab| lab.replica(0).tree.forks.clone();
    assert_eq!(*forks(&lab).equivocators(), [lab.address(byzantine)].into());
    for head in [&left, &right] {
        let vote = lab.vote(0, byzantine, 11, head.hash());
        lab.give_vote(0, &vote);
        assert!(!forks(&lab).votes().contains_key(&lab.address(byzantine)));
    }
}

/// A vote that its validator sends to one replica alone counts there for two epochs; then replicas with the same blocks have
/// the same votes again.
#[test]
fn a_vote_that_no_block_carries_expires() {
    let mut lab = Lab::new(5);
    lab.run(9);
    let (head, voter) = (lab.heads()[0], lab.committee(0, 10, lab.heads()[0])[0]);
    let to = (voter + 1) % 5;
    let vote = lab.vote(0, voter, 10, head);
    lab.tick();
    // It alone has the vote, and makes no block.
    lab.give_vote(to, &vote);
    assert!(lab.rejections.is_empty(), "{:?}", lab.rejections);
    lab.deliver(to, Event::Timer(SLOT_TIMER));
    let newest = |lab: &Lab| lab.replica(to).fork_choice().votes().get(&lab.address(voter)).map(|it| it.epoch);
    assert_eq!(newest(&lab), Some(2));
    (11..16).for_each(|_| lab.deliver(to, Event::Timer(SLOT_TIMER)));
    assert_eq!((lab.replica(to).epoch(), newest(&lab)), (4, Some(1)), "the one that a block carries");
}

/// Returns how many of 40 blocks of one proposer for one slot a replica keeps, and the lab, in which another validator has built
/// on the last of them.
fn flooded() -> (usize, Lab) {
    let mut lab = Lab::new(5);
    lab.run(9);
    let parent = lab.heads()[0];
    let blocks: Vec<_> = (0..40).map(|_| lab.forge(0, parent, 10, &[])).collect();
    let to = (lab.proposer(0, 10, parent) + 1) % 5;
    lab.deliver(to, Event::Timer(SLOT_TIMER));
    blocks.iter().for_each(|block| lab.give_block(to, block));
    let kept = |lab: &Lab| blocks.iter().filter(|block| lab.replica(to).tree.get(&block.hash()).is_some()).count();
    let (first, last) = (kept(&lab), blocks[39].clone());
    // A block on top of the last one, which it lacks: then it needs it.
    let mut other = lab.clone();
    other.nodes[to].is_up = true;
    let apart = (to + 1) % 5;
    other.deliver(apart, Event::Timer(SLOT_TIMER));
    other.give_block(apart, &last);
    let child = other.forge(apart, last.hash(), 11, &[]);
    lab.deliver(to, Event::Timer(SLOT_TIMER));
    lab.give_block(to, &child);
    lab.give_block(to, &last);
    assert!(lab.replica(to).tree.get(&child.hash()).is_some(), "{:?}", lab.rejections.last());
    (first, lab)
}

#[test]
fn one_proposer_can_not_fill_the_tree() {
    let (kept, lab) = flooded();
    assert!(kept <= 2, "{kept}");
    assert_eq!(named(&lab).len(), 1);
    let (kept, _) = mutation::with(Mutation::PosTakesEveryTwin, flooded);
    assert_eq!(kept, 40);
}

/// Returns how many of three blocks of one proposer for slot 10 a replica keeps that has evidence against it, so many slots later.
fn kept_of_an_offender(slots_later: u64) -> usize {
    let mut lab = Lab::new(5);
    lab.run(9);
    let parent = lab.heads()[0];
    let liar = lab.proposer(0, 10, parent);
    let to = (liar + 1) % 5;
    let blocks: Vec<_> = (0..3).map(|_| lab.forge(0, parent, 10, &[])).collect();
    let id = |byte| BlockId { height: Height::new(5), hash: B256::repeat_byte(byte) };
    let proposals = [1, 2].map(|byte| Proposal::signed(5, id(byte), &lab.signers[liar]));
    let offence = SlashingEvidence::of_proposals(&proposals[0], &proposals[1]).unwrap();
    let offender = lab.address(liar);
    lab.replica_mut(to).offences.insert(offender, Arc::new(offence));
    (0..=slots_later).for_each(|_| lab.deliver(to, Event::Timer(SLOT_TIMER)));
    assert_eq!(lab.replica(to).slot(), 10 + slots_later);
    blocks.iter().for_each(|block| lab.give_block(to, block));
    blocks.iter().filter(|block| lab.replica(to).tree.get(&block.hash()).is_some()).count()
}

#[test]
fn one_block_of_an_offender_is_taken_for_a_slot_and_none_later() {
    assert_eq!([0, 1, 2].map(kept_of_an_offender), [1, 1, 0]);
}

/// Whether the proposer of slot 10 gets its early block to a replica to which another validator has sent 20.
fn is_early_block_kept() -> bool {
    let mut lab = Lab::new(5);
    lab.run(9);
    let parent = lab.heads()[0];
    let proposer = lab.proposer(0, 10, parent);
    let (liar, to) = ((proposer + 1) % 5, (proposer + 2) % 5);
    let good = lab.forge(0, parent, 10, &[]);
    for _ in 0..20 {
        let junk = lab.forge(0, parent, 10, &[]);
        let junk = lab.seal(junk.as_ref().clone(), 10, liar);
        lab.give_block(to, &junk);
    }
    lab.give_block(to, &good);
    lab.deliver(to, Event::Timer(SLOT_TIMER));
    lab.replica(to).head().hash == good.hash()
}

#[test]
fn early_blocks_of_one_validator_keep_out_no_other() {
    assert!(is_early_block_kept());
    assert!(!mutation::with(Mutation::PosSharesEarlyBlocks, is_early_block_kept));
}

/// Whether a replica adopts a head whose parent it lacks, after others have voted for it. Its first sender does not answer, and has sent eight
/// blocks below it whose parents do not exist: as many as are requested again in each slot, from peers in turn.
fn is_voted_head_adopted(is_voted: bool) -> bool {
    const AWAY: usize = 4;
    let mut lab = Lab::new(5);
    lab.run(9);
    lab.isolate(AWAY);
    lab.run(2);
    lab.reconnect(AWAY);
    let tip = lab.heads()[0];
    let head = lab.nodes[0].blocks[&tip].clone();
    let voter = lab.committee(0, 11, tip).into_iter().find(|who| *who != AWAY).unwrap();
    let liar = (0..AWAY).find(|who| *who != voter).unwrap();
    lab.cut.insert((liar, AWAY));
    let low = lab.canonical(AWAY, lab.replica(AWAY).tree.root().height.get() + 2);
    let made_up = (0..8).map(|number| {
        let header = Header {
            parent_hash: B256::repeat_byte(number + 1),
            beneficiary: lab.address(liar),
            ..low.header().clone()
        };
        let block = Block::new(header, Vec::new(), low.payload().clone(), Vec::new());
        lab.seal(block, Payload::slot_of(low.payload()).unwrap(), liar)
    });
    let from = |sender: usize| ReplicaId::new(sender as u32);
    for block in made_up.collect::<Vec<_>>().into_iter().chain([head]) {
        lab.deliver(AWAY, Event::Message { from: from(liar), message: ConsensusMessage::Block(block) });
    }
    if is_voted {
        let vote = lab.vote(0, voter, 11, tip);
        lab.deliver(AWAY, Event::Message { from: from(voter), message: vote.into() });
    }
    for _ in 0..12 {
        lab.settle();
        lab.deliver(AWAY, Event::Timer(SLOT_TIMER));
    }
    assert!(lab.replica(AWAY).intake.orphans.len() >= 8, "{:?}", lab.rejections.last());
    lab.replica(AWAY).tree.get(&tip).is_some()
}

#[test]
fn what_a_voted_block_lacks_is_requested_from_its_voters_whoever_fills_the_requests() {
    assert!(is_voted_head_adopted(true));
    assert!(!is_voted_head_adopted(false), "the other requests are of no use");
    assert!(!mutation::with(Mutation::PosAsksNoVoterForAncestors, || is_voted_head_adopted(true)));
}

/// Whether a block is adopted of which others passed on two copies first, with transactions that its header does not name; and
/// who is accused then.
fn is_adopted_after_altered_copies() -> (bool, usize) {
    let mut lab = Lab::new(5);
    lab.run(9);
    let parent = lab.heads()[0];
    let block = lab.forge(0, parent, 10, &[]);
    let to = (lab.proposer(0, 10, parent) + 1) % 5;
    lab.deliver(to, Event::Timer(SLOT_TIMER));
    for nonce in 0..2 {
        let request = TransactionRequest { chain_id: Some(1), nonce, ..TransactionRequest::default() };
        let transactions = vec![Arc::new(request.sign(&KeyPair::from_seed(0, "sender")).unwrap())];
        let copy = Block::new(block.header().clone(), transactions, block.payload().clone(), Vec::new());
        lab.give_block(to, &Arc::new(copy.with_seal(block.seal().clone())));
    }
    lab.give_block(to, &block);
    let node = &lab.nodes[to];
    let has_own_body = node.blocks.get(&block.hash()).is_some_and(|kept| kept.transactions().is_empty());
    (has_own_body && lab.replica(to).head().hash == block.hash(), named(&lab).len())
}

#[test]
fn altered_copies_keep_out_no_block() {
    assert_eq!(is_adopted_after_altered_copies(), (true, 0));
    let (is_adopted, _) = mutation::with(Mutation::PosTakesAnyBody, is_adopted_after_altered_copies);
    assert!(!is_adopted);
}

/// A quarter of the stake is cut off and builds a branch of its own until all others have leaked on it. A replica that was away then
/// hears of this branch alone. Returns whether it takes what that branch made final.
fn trusts_a_leaked_branch() -> bool {
    let mut lab = Lab::with_extra(4, 1, config());
    lab.run(20);
    lab.pause(4);
    (lab.groups[3], lab.groups[4]) = (1, 1);
    lab.run(70 * 4);
    let (honest, alone) = (lab.replica(0).finalized(), lab.replica(3).finalized());
    assert!(alone.epoch > 20 && honest.block != alone.block, "each is final on its own");
    lab.resume(4);
    lab.run(8);
    let refuses = lab.rejections_of(4).any(|rejection| rejection.to_string().contains("trusted checkpoint"));
    assert_ne!(refuses, lab.replica(4).finalized().epoch > 20);
    !refuses
}

#[test]
fn who_was_away_while_all_others_leaked_on_a_branch_does_not_trust_it() {
    assert!(!trusts_a_leaked_branch());
    assert!(mutation::with(Mutation::PosTrustsLeakedBranches, trusts_a_leaked_branch));
}
