//! Changes of the set while two branches differ in when they put them in force.

use super::lab::{Lab, WEIGHT, config};
use crate::{
    consensus::{
        Event, Protocol, ReplicaId,
        mutation::{self, Mutation},
        pos::{Electorate, FinalityProof, LightVerifier, SlashingEvidence},
    },
    primitives::Height,
    system::{ValidatorUpdate, ValidatorUpdates},
};

/// Validators at first, of equal weight.
const FIRST: usize = 7;
/// The one that joins with thrice as much as all of them.
const LARGE: usize = FIRST;

/// The block of this height makes the large validator one.
fn joining(height: u64) -> Lab {
    let mut lab = Lab::with_extra(FIRST, 1, config());
    let update = ValidatorUpdate { address: lab.address(LARGE), weight: 21 * WEIGHT };
    lab.updates.insert(Height::new(height), ValidatorUpdates::new([update]));
    lab
}

fn current(lab: &Lab, replica: usize) -> Electorate {
    lab.replica(replica).head_state().unwrap().current.electorate.clone()
}

/// Two sides of a split put one change in force an epoch apart: the last block of the epoch before, with the votes that make the
/// commitment final in time, reaches the large validator only, with the proposer. Returns the lab at the end of the split, when
/// both sides had the time to make checkpoints final on their own.
fn split_at_a_change(height: u64) -> Lab {
    let mut lab = joining(height);
    // The commitment is in the first block of an epoch; the epoch after it becomes final with the votes of the second one after it.
    let last_slot = (height / 4 + 3) * 4 + 3;
    lab.run(last_slot - 1);
    let proposer = lab.proposer(0, last_slot, lab.heads()[0]);
    [proposer, LARGE].into_iter().for_each(|replica| lab.groups[replica] = 1);
    lab.run(18);
    lab
}

/// Whether both sides made checkpoints final that are not on the other's branch.
fn disagrees(lab: &Lab) -> bool {
    let one = (0..FIRST).find(|replica| lab.groups[*replica] == 0).unwrap();
    let is_final_elsewhere = |replica: usize, other: usize| {
        let checkpoint = lab.replica(replica).finalized().block;
        lab.nodes[other].canonical.values().all(|block| *block != checkpoint)
    };
    is_final_elsewhere(one, LARGE) && is_final_elsewhere(LARGE, one)
}

#[test]
fn branches_that_change_the_set_an_epoch_apart_do_not_both_become_final() {
    let heights = [6, 10, 14, 18];
    let disagrees_without_rear =
        |height: &u64| mutation::with(Mutation::PosForgetsRearSet, || disagrees(&split_at_a_change(*height)));
    let found = heights.iter().filter(|height| disagrees_without_rear(height)).count();
    assert!(found >= 2, "{found}: those after the change alone finalise what those before it do not");
    for height in heights {
        let mut lab = split_at_a_change(height);
        assert!(!disagrees(&lab), "{height}");
        lab.heal();
        lab.run(40);
        assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]), "{height}");
        let settled = current(&lab, 0);
        assert!(settled.change.is_none() && settled.set.contains(&lab.address(LARGE)), "{height}");
        let epoch = lab.replica(0).epoch();
        assert!(
            lab.finalized().iter().all(|checkpoint| checkpoint.epoch + 3 >= epoch),
            "{height}: {:?}",
            lab.finalized()
        );
    }
}

#[test]
fn the_validators_before_a_change_answer_until_a_checkpoint_after_it_is_final() {
    let mut lab = joining(6);
    let mut changing = Vec::new();
    for slot in 1..=48 {
        lab.pass();
        if let Some(change) = current(&lab, 0).change {
            assert_eq!([&change.rear, &change.forward].map(|set| set.len()), [FIRST, FIRST + 1]);
            assert_eq!(change.rear.weight_of(&lab.address(LARGE)), 0);
            changing.push(slot / 4);
        }
    }
    changing.dedup();
    assert_eq!(changing, [6, 7, 8], "from two epochs after the commitment is final until two after its epoch is");
    assert_eq!(current(&lab, 0), Electorate::settled(lab.replica(0).validators()));
}

/// In a change, the large validator alone is two thirds of the stake after it.
#[test]
fn neither_chain_nor_proof_takes_the_votes_of_one_set_for_both() {
    let mut lab = joining(6);
    lab.run(24);
    let (before, change) = (lab.replica(0).finalized(), current(&lab, 0));
    assert!(change.change.is_some());
    let (_, proof) = lab.reported_finality(0).unwrap();
    let settled = FinalityProof::decode(&proof.unwrap()).unwrap();
    assert!(settled.is_proven_by(&Electorate::settled(lab.genesis_set()), &lab.authenticator));
    (0..FIRST).for_each(|who| lab.pause(who));
    lab.run(24);
    assert_eq!(lab.replica(LARGE).finalized().epoch, before.epoch);
    let votes: Vec<_> = lab
        .votes_of(LARGE)
        .into_iter()
        .filter(|vote| vote.signer(&lab.authenticator) == Ok(lab.address(LARGE)))
        .collect();
    let vote = votes.iter().find(|vote| vote.data.source.epoch + 2 >= vote.data.target.epoch).expect("it votes");
    let proof = FinalityProof { finalized: vote.data.source, target: vote.data.target, votes: vec![vote.clone()] };
    let after = Electorate::settled(change.change.clone().unwrap().forward);
    assert!(proof.is_proven_by(&after, &lab.authenticator), "two thirds of the set after the change");
    assert!(!proof.is_proven_by(&change, &lab.authenticator));
    (0..FIRST).for_each(|who| lab.resume(who));
    lab.run(24);
    assert!(lab.replica(0).finalized().epoch >= 14);
}

/// All of the validators before a change go away as soon as they have left.
#[test]
fn leavers_that_go_away_stall_finality_until_their_stake_has_leaked() {
    let mut lab = Lab::with_extra(4, 4, config());
    let update =
        |lab: &Lab, who: usize| ValidatorUpdate { address: lab.address(who), weight: if who < 4 { 0 } else { WEIGHT } };
    let updates = ValidatorUpdates::new((0..8).map(|who| update(&lab, who)));
    lab.updates.insert(Height::new(6), updates);
    lab.run(24);
    assert_eq!(current(&lab, 4).set.len(), 8, "in the change both have duties");
    // One of them has voted twice.
    let (head, slot) = (lab.heads()[4], lab.fixture.slot / 4 * 4 + 3);
    let [one, other] = [head, lab.nodes[4].blocks[&head].parent_hash()].map(|block| lab.vote(4, 0, slot, block));
    let evidence = SlashingEvidence::of_votes(&one, &other).unwrap();
    (0..4).for_each(|who| lab.pause(who));
    lab.deliver(4, Event::Message { from: ReplicaId::new(5), message: Lab::offence_message(evidence) });
    let stalled = lab.replica(4).finalized().epoch;
    lab.run(100);
    assert_eq!(lab.replica(4).finalized().epoch, stalled);
    let rear = current(&lab, 4).change.unwrap().rear;
    assert_eq!([0, 1].map(|who| rear.contains(&lab.address(who))), [false, true], "an offender never counts again");
    assert!(
        current(&lab, 4).change.is_some_and(|change| change.rear.total_weight() < u128::from(4 * WEIGHT)),
        "it leaks"
    );
    lab.run(100);
    let state = lab.replica(4).head_state().unwrap().clone();
    assert_eq!((state.current.set().len(), state.current.electorate.change.clone()), (4, None));
    assert!(lab.replica(4).finalized().epoch + 3 >= lab.replica(4).epoch(), "{:?}", lab.replica(4).finalized());
    assert!((1..4).all(|who| state.is_slashable(&lab.address(who))), "their stake is locked");
}

#[test]
fn a_light_verifier_has_both_sets_of_a_change() {
    let mut lab = joining(6);
    lab.run(27);
    let first = lab.genesis_set();
    let mut light =
        LightVerifier::new(lab.fixture.config, lab.genesis.header(), &first, lab.authenticator.clone()).unwrap();
    lab.chain_of(0).iter().for_each(|block| {
        light.follow(&block.as_ref().into()).unwrap();
    });
    assert_eq!(light.epoch().electorate, current(&lab, 0));
    assert!(light.epoch().electorate.change.is_some());
    assert_eq!(light.finalized(), lab.replica(0).head_state().unwrap().casper.finalized);
}
