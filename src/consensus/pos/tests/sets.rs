//! Changes of stake by execution: committed to, finalized, and only then in force.

use super::lab::{Lab, WEIGHT, config};
use crate::{
    consensus::{
        Protocol, ValidatorSet,
        pos::{LightVerifier, Payload},
    },
    primitives::Height,
    system::{ValidatorUpdate, ValidatorUpdates},
};

fn set(lab: &Lab, replica: usize) -> ValidatorSet {
    lab.replica(replica).head_state().unwrap().current.set().clone()
}

fn weight(set: &ValidatorSet, lab: &Lab, who: usize) -> u64 {
    set.index_of(&lab.address(who)).map_or(0, |place| set.members()[place].weight)
}

/// Validator 4 joins, 0 halves its stake, 3 leaves, all by block 6.
fn changing() -> Lab {
    let mut lab = Lab::with_extra(4, 1, config());
    let update = |who: usize, weight| ValidatorUpdate { address: lab.address(who), weight };
    let updates = ValidatorUpdates::new([update(4, WEIGHT), update(0, WEIGHT / 2), update(3, 0)]);
    lab.updates.insert(Height::new(6), updates);
    lab
}

#[test]
fn stake_is_in_force_once_the_block_that_commits_to_it_is_final() {
    let mut lab = changing();
    let (mut committed, mut in_force, mut settled) = (None, None, None);
    for slot in 1..=48 {
        lab.pass();
        let head = lab.nodes[0].blocks[&lab.heads()[0]].clone();
        let payload = Payload::decode(head.payload()).unwrap();
        if let Some(members) = payload.accounting.as_ref().and_then(|accounting| accounting.elected.clone()) {
            assert_eq!(committed, None, "once");
            let elected = ValidatorSet::new(members).unwrap();
            assert_eq!([0, 3, 4].map(|who| weight(&elected, &lab, who)), [WEIGHT / 2, 0, WEIGHT]);
            committed = Some((slot, head.height()));
        }
        let now = set(&lab, 0);
        let is_new = weight(&now, &lab, 4) > 0;
        if is_new && in_force.is_none() {
            in_force = Some(slot);
            let (_, height) = committed.unwrap();
            assert!(lab.replica(0).finalized().block.height >= height, "in force before it is final");
            assert_eq!([0, 3].map(|who| weight(&now, &lab, who)), [WEIGHT / 2, WEIGHT], "who left still has duties");
        }
        assert_eq!(is_new, in_force.is_some(), "and stays");
        if is_new && settled.is_none() && weight(&now, &lab, 3) == 0 {
            settled = Some(slot);
        }
        assert_eq!(is_new && weight(&now, &lab, 3) == 0, settled.is_some(), "and stays away");
    }
    assert_eq!(committed.unwrap().0, 8, "the first block of the epoch after the change");
    let in_force = in_force.unwrap();
    assert!(in_force > 16 && in_force % 4 == 0, "{in_force}");
    assert_eq!(
        settled,
        Some(in_force + 12),
        "two epochs after the one in which the changed set's first epoch is final"
    );
    // The new validator votes and proposes, the one that left is not absent, and all replicas agree.
    let joined = lab.address(4);
    assert!(lab.votes_of(0).iter().any(|vote| vote.signer(&lab.authenticator) == Ok(joined)));
    assert!((0..5).all(|replica| set(&lab, replica) == set(&lab, 0)));
    assert!(lab.finalized().iter().all(|checkpoint| checkpoint.epoch >= 9), "{:?}", lab.finalized());
    assert!(lab.chain_of(0).iter().any(|block| block.header().beneficiary == joined));
    assert_eq!(lab.replica(0).validators().len(), 4);
}

#[test]
fn headers_commit_to_every_set_and_a_light_verifier_follows() {
    let mut lab = changing();
    lab.run(48);
    let chain = lab.chain_of(0);
    let announced: Vec<_> =
        chain.iter().filter_map(|block| Payload::decode(block.payload()).unwrap().accounting?.next).collect();
    assert_eq!(announced.len(), 2, "one change, an epoch ahead, and its end");
    assert_eq!(announced[1], set(&lab, 0).hash());
    let first = ValidatorSet::new((0..4).map(|who| super::lab::member(lab.address(who)))).unwrap();
    let mut light =
        LightVerifier::new(lab.fixture.config, lab.genesis.header(), &first, lab.authenticator.clone()).unwrap();
    for block in &chain {
        light.follow(&block.as_ref().into()).unwrap();
    }
    assert_eq!(*light.validators(), set(&lab, 0));
    assert_eq!(light.finalized(), lab.replica(0).head_state().unwrap().casper.finalized);
}

#[test]
fn a_block_that_commits_to_another_set_is_refused() {
    let mut lab = changing();
    lab.run(7);
    let parent = lab.heads()[0];
    let honest = lab.forge(0, parent, 8, &[]);
    let other = lab.forge_with(0, parent, 8, |payload| {
        let accounting = payload.accounting.as_mut().unwrap();
        let elected = accounting.elected.as_mut().unwrap();
        elected.pop();
    });
    let none = lab.forge_with(0, parent, 8, |payload| payload.accounting.as_mut().unwrap().elected = None);
    lab.tick();
    for block in [other, none] {
        let before = lab.replica(1).clone();
        lab.give_block(1, &block);
        assert!(*lab.replica(1) == before);
        assert!(lab.rejections.last().unwrap().1.to_string().contains("accounting"), "{:?}", lab.rejections.last());
    }
    lab.give_block(1, &honest);
    assert_eq!(lab.heads()[1], honest.hash());
}

#[test]
fn the_last_validator_can_not_leave() {
    let mut lab = Lab::new(2);
    let update = |who: usize| ValidatorUpdate { address: lab.address(who), weight: 0 };
    let updates = ValidatorUpdates::new([update(0), update(1)]);
    lab.updates.insert(Height::new(3), updates);
    lab.run(40);
    assert_eq!(set(&lab, 0).len(), 2, "a chain without validators would be none");
    assert!(lab.finalized()[0].epoch >= 7);
}
