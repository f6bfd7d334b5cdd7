//! Randomness: what a proposer can choose; and evidence against validators that left.

use std::{collections::BTreeSet, sync::Arc};

use super::lab::{Lab, config};
use crate::{
    chain::Block,
    consensus::{
        Event, Protocol, ReplicaId,
        mutation::{self, Mutation},
        pos::{
            Payload, PosConfig, SlashingCondition, SlashingEvidence, Vote,
            reveal::{OwnReveals, RevealChain, mixed},
            shuffling,
            state::epoch_seed,
        },
    },
    primitives::{B256, Height, keccak256},
    system::{ValidatorUpdate, ValidatorUpdates, staking::StakingParams},
};

/// Returns how many slots of epoch 7 the proposer of slot 23, the last of epoch 5, would have by each of many reveals that it
/// may put into its block: those that other replicas take.
fn choices(lab: &mut Lab) -> Vec<usize> {
    let parent = lab.heads()[0];
    let proposer = lab.proposer(0, 23, parent);
    let set = lab.link(0, parent).state.next.0.set.clone();
    let to = (0..4).find(|replica| *replica != proposer).unwrap();
    let own = lab.forge(0, parent, 23, &[]);
    let mut taken = Vec::new();
    for salt in 0..64_u64 {
        let block = match salt {
            0 => own.clone(),
            _ => lab.forge_with_reveal(0, parent, 23, keccak256(salt.to_be_bytes())),
        };
        let mut replica = lab.clone();
        replica.give_block(to, &block);
        if replica.replica(to).tree.get(&block.hash()).is_some() {
            let seed = epoch_seed(7, block.header().mix_hash);
            let is_own = |slot: &u64| {
                shuffling::proposer(&set, seed, *slot).map(|place| set.members()[place].address)
                    == Some(lab.address(proposer))
            };
            taken.push((28..32).filter(is_own).count());
        }
    }
    taken
}

/// A lab in slot 23, whose block is not made yet.
fn before_the_end_of_an_epoch() -> Lab {
    let mut lab = Lab::new(4);
    lab.run(22);
    lab.tick();
    lab
}

#[test]
fn a_proposer_can_not_choose_its_reveal() {
    let taken = choices(&mut before_the_end_of_an_epoch());
    assert_eq!(taken.len(), 1, "the one element of its chain");
    // With reveals that are not bound to a chain it takes most slots of a later epoch.
    let taken = mutation::with(Mutation::PosAnyReveal, || choices(&mut before_the_end_of_an_epoch()));
    assert_eq!(taken.len(), 64);
    assert!(taken.iter().max().unwrap() >= &3, "{taken:?}");
}

/// What is left to the proposer of an epoch's last slot is one bit: to propose, or to leave its slot empty. With a quarter of the
/// stake it then has 1.46 slots of four on average in place of 1, and pays for it with the slot that it skips.
#[test]
fn withholding_gives_the_better_of_two_draws_and_no_more() {
    let lab = Lab::new(4);
    let set = lab.genesis_set();
    let own = set.members()[0].address;
    let slots_of = |mix: B256| {
        let seed = epoch_seed(9, mix);
        let is_own = |slot: &u64| set.members()[shuffling::proposer(&set, seed, *slot).unwrap()].address == own;
        (36..40).filter(is_own).count()
    };
    let (mut honest, mut better) = (0, 0);
    for draw in 0..4_000_u64 {
        let (revealed, skipped) = (keccak256([&[1][..], &draw.to_be_bytes()].concat()), keccak256(draw.to_be_bytes()));
        honest += slots_of(revealed);
        better += slots_of(revealed).max(slots_of(skipped));
    }
    assert!((3_800..4_200).contains(&honest), "{honest}");
    assert!((5_500..6_100).contains(&better), "{better}");
    assert!(better - honest < 4_000, "the gain in the later epoch is less than the slot that is skipped");
}

/// Returns the seeds that one proposer can choose from at the end of an epoch, in which it has `count` slots: each is proposed in, or left empty.
/// With `others`, somebody else proposes between any two of them.
fn seeds_by_withholding(count: u32, others: bool) -> BTreeSet<B256> {
    let lab = Lab::new(2);
    let (authenticator, config) = (&lab.authenticator, &lab.fixture.config);
    // Both have announced a chain in the first epoch, which is in force from the third on.
    let announced = [0, 1].map(|place: usize| {
        let (chain, signer) = (RevealChain::default(), &lab.signers[place]);
        let reveal = OwnReveals::default().reveal(config, signer, &chain, 1);
        assert!(reveal.element.is_none() && reveal.next_chain.is_some());
        chain.after(config, authenticator, 1, &reveal).unwrap()
    });
    let seed = |withheld: u32| {
        let (mut chains, mut mix) = (announced, keccak256("the mix before"));
        let mut slot = 8 * config.slots_per_epoch;
        let mut propose = |place: usize, slot: u64| {
            let reveal = OwnReveals::default().reveal(config, &lab.signers[place], &chains[place], slot);
            assert!(reveal.element.is_some());
            chains[place] = chains[place].after(config, authenticator, slot, &reveal).unwrap();
            mix = mixed(authenticator, mix, reveal.element);
        };
        for turn in 0..count {
            if others && turn > 0 {
                propose(1, slot);
                slot += 1;
            }
            if withheld & (1 << turn) == 0 {
                propose(0, slot);
            }
            slot += 1;
        }
        epoch_seed(10, mix)
    };
    (0..1 << count).map(seed).collect()
}

/// What `k` withheld slots give: one bit each where others propose between them. Of slots in a row, the number of blocks alone counts, as the
/// next element does not depend on the slot.
#[test]
fn withheld_slots_give_two_draws_each_at_most() {
    for count in 0..=4 {
        assert_eq!(seeds_by_withholding(count, true).len(), 1 << count, "{count} slots between those of others");
        assert_eq!(seeds_by_withholding(count, false).len(), count as usize + 1, "{count} slots in a row");
    }
}

#[test]
fn every_validator_reveals_once_its_first_chain_is_in_force() {
    let mut lab = Lab::with_config(4, config().with_reveal_chain_length(8));
    lab.run(120);
    let payloads: Vec<_> = lab.chain_of(0).iter().map(|block| Payload::decode(block.payload()).unwrap()).collect();
    let of = |payload: &Payload| payload.reveal.element;
    assert!(payloads[..7].iter().all(|payload| of(payload).is_none()), "no chain is in force in the first two epochs");
    let late = payloads[60..].iter().filter(|payload| of(payload).is_some()).count();
    assert!(late >= 55, "{late} of 60: chains follow each other");
    let announced = payloads.iter().filter(|payload| payload.reveal.next_chain.is_some()).count();
    assert!(announced > 12, "{announced}: each of four several times");
    assert!(lab.rejections.is_empty(), "{:?}", lab.rejections);
    // A replica that restarts reveals the next element.
    let before = lab.replica(0).head().height;
    (0..4).for_each(|replica| lab.restart_in_slot(replica));
    lab.run(20);
    assert!(lab.replica(0).head().height.get() >= before.get() + 19);
}

/// Slots of a second, four an epoch; stake is locked for 60 seconds.
fn short() -> PosConfig {
    config().with_staking(&StakingParams { unbonding_secs: 60, evidence_max_age_blocks: 1, ..StakingParams::default() })
}

/// Validator 4 votes twice in slot 5 or 6, leaves by block 6, and its votes are shown to a proposer in `slot`. Returns whether
/// a block then has the evidence, and the lab.
fn shown_in(slot: u64) -> (bool, Lab) {
    let mut lab = Lab::with_config(5, short());
    let gone = ValidatorUpdate { address: lab.address(4), weight: 0 };
    lab.updates.insert(Height::new(6), ValidatorUpdates::new([gone]));
    lab.run(5);
    let head = lab.replica(0).head();
    let mut data = lab.vote(0, 4, 5, head.hash).data;
    let votes = [1, 2].map(|byte| {
        data.head.hash = B256::repeat_byte(byte);
        Vote::signed(data, &lab.signers[4])
    });
    let offence = SlashingEvidence::of_votes(&votes[0], &votes[1]).unwrap();
    assert_eq!(offence.condition(), SlashingCondition::DoubleVote);
    lab.run(slot - 5);
    lab.evidence.clear();
    for replica in 0..4 {
        let from = ReplicaId::new(3);
        let message = Lab::offence_message(offence.clone());
        lab.deliver(replica, Event::Message { from, message });
    }
    lab.run(8);
    let has_evidence = |block: &Arc<Block>| !Payload::decode(block.payload()).unwrap().offences.is_empty();
    (lab.chain_of(0).iter().any(has_evidence), lab)
}

#[test]
fn who_left_is_slashed_until_its_stake_is_withdrawable() {
    let is_member = |lab: &Lab| lab.replica(0).head_state().unwrap().current.set().contains(&lab.address(4));
    let (is_shown, lab) = shown_in(8);
    assert!(is_shown && lab.replica(0).head_state().unwrap().is_slashed(&lab.address(4)), "while it is a validator");
    let (is_shown, lab) = shown_in(52);
    assert!(!is_member(&lab), "gone for six epochs");
    assert!(is_shown && lab.replica(0).head_state().unwrap().is_slashed(&lab.address(4)), "after it left");
    assert!(!lab.replica(0).head_state().unwrap().is_accountable(&lab.address(4)), "punished once");
    let (is_shown, lab) = shown_in(120);
    assert!(!is_shown, "its stake is withdrawable");
    assert!(lab.rejections.iter().any(|(_, why)| why.to_string().contains("no validator")), "{:?}", lab.rejections);
    mutation::with(Mutation::PosForgetsLeavers, || {
        assert!(shown_in(8).0);
        assert!(!shown_in(52).0, "slashable as long as it validates only");
    });
}

/// Validator 4 leaves, and when it is no validator any more it votes against its last vote. Returns whether a block then has the evidence.
fn votes_again_after_it_left() -> bool {
    let mut lab = Lab::with_config(5, short());
    let gone = ValidatorUpdate { address: lab.address(4), weight: 0 };
    lab.updates.insert(Height::new(6), ValidatorUpdates::new([gone]));
    let is_known = |lab: &Lab| lab.replica(0).check_known(&lab.address(4)).is_ok();
    let mut slots = 0;
    while is_known(&lab) && slots < 60 {
        lab.run(1);
        slots += 1;
    }
    assert!(!is_known(&lab) && lab.replica(0).head_state().unwrap().is_accountable(&lab.address(4)));
    let of_leaver = (lab.address(4), 0)..=(lab.address(4), u64::MAX);
    let mut data = lab.replica(0).votes.range(of_leaver).next_back().unwrap().1.data;
    data.head.hash = B256::repeat_byte(1);
    let second = Vote::signed(data, &lab.signers[4]);
    (0..4).for_each(|replica| lab.give_vote(replica, &second));
    lab.run(8);
    let has_evidence = |block: &Arc<Block>| !Payload::decode(block.payload()).unwrap().offences.is_empty();
    lab.chain_of(0).iter().any(has_evidence)
}

#[test]
fn a_vote_of_who_left_is_evidence_with_its_earlier_one() {
    assert!(votes_again_after_it_left());
    assert!(!mutation::with(Mutation::PosIgnoresLeaversVotes, votes_again_after_it_left));
}

/// The rule itself says why.
#[test]
fn a_block_with_late_evidence_is_refused_with_the_reason() {
    let (_, mut lab) = shown_in(120);
    let slot = lab.fixture.slot + 1;
    let parent = lab.heads()[0];
    let data = lab.vote(0, 0, slot - 1, parent).data;
    let votes = [1, 2].map(|byte| {
        let mut data = data;
        data.head.hash = B256::repeat_byte(byte);
        Vote::signed(data, &lab.signers[4])
    });
    let offence = SlashingEvidence::of_votes(&votes[0], &votes[1]).unwrap();
    let block = lab.forge_with(0, parent, slot, |payload| payload.offences = vec![offence]);
    lab.tick();
    lab.give_block(1, &block);
    let why = lab.rejections.last().unwrap().1.to_string();
    assert!(why.contains("its stake is withdrawable"), "{why}");
}
