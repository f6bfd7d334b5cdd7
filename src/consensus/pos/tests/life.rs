//! Normal operation, absence, restarts, catch-up.

use super::lab::{Lab, WEIGHT, config};
use crate::{
    consensus::{
        Event, Protocol,
        pos::{Electorate, FinalityProof, LightVerifier, Payload, Pos},
    },
    primitives::Height,
    system::staking::StakingParams,
};

#[test]
fn every_slot_has_a_block_every_validator_a_vote_and_epochs_become_final() {
    for count in [1, 2, 4, 7] {
        let mut lab = Lab::new(count);
        lab.run(24);
        assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(lab.replica(0).head().height, Height::new(24));
        assert!(lab.finalized().iter().all(|checkpoint| checkpoint.epoch >= 4), "{:?}", lab.finalized());
        assert!(lab.evidence.is_empty() && lab.rejections.is_empty(), "{:?}", lab.rejections);
        assert_eq!(lab.mark("pos/reorg"), 0);
        let mut voters: Vec<_> = lab.votes_of(0).iter().map(|vote| vote.signer(&lab.authenticator).unwrap()).collect();
        assert!(voters.len() >= 5 * count);
        voters.sort_unstable();
        voters.dedup();
        assert_eq!(voters.len(), count);
    }
}

#[test]
fn finality_comes_with_a_proof() {
    let mut lab = Lab::new(4);
    lab.run(30);
    let (block, proof) = lab.reported_finality(1).unwrap();
    let proof = FinalityProof::decode(&proof.unwrap()).unwrap();
    assert_eq!(proof.finalized.block, block);
    let set = Electorate::settled(lab.genesis_set());
    assert!(proof.is_proven_by(&set, &lab.authenticator));
    let two = FinalityProof { votes: proof.votes[..2].to_vec(), ..proof.clone() };
    assert!(!two.is_proven_by(&set, &lab.authenticator), "two of four are not two thirds");
    let twice = FinalityProof { votes: vec![proof.votes[0].clone(); 4], ..proof.clone() };
    assert!(!twice.is_proven_by(&set, &lab.authenticator), "one voice four times");
    let other = FinalityProof { finalized: proof.target, ..proof };
    assert!(!other.is_proven_by(&set, &lab.authenticator));
}

#[test]
fn a_block_whose_slot_is_over_is_not_wanted_any_more() {
    let mut lab = Lab::new(1);
    lab.run(3);
    lab.fixture.is_slow = true;
    lab.pass();
    assert_eq!(lab.mark("pos/late-build"), 0, "its slot runs");
    lab.pass();
    assert_eq!(lab.mark("pos/late-build"), 1);
    lab.fixture.is_slow = false;
    lab.pass();
    assert_eq!((lab.replica(0).head().height, lab.mark("pos/late-build")), (Height::new(4), 2));
}

#[test]
fn a_quarter_absent_does_not_stop_finality_and_is_reported() {
    let mut lab = Lab::new(4);
    lab.pause(2);
    lab.run(48);
    assert!(lab.replica(0).finalized().epoch >= 7, "{:?}", lab.finalized());
    let chain = lab.chain_of(0);
    let payload = Payload::decode(chain.last().unwrap().payload()).unwrap();
    assert_eq!(payload.absent, [lab.address(2)]);
    // It resumes, catches up and votes again.
    lab.resume(2);
    lab.run(16);
    assert_eq!(lab.heads()[2], lab.heads()[0]);
    let payload = Payload::decode(lab.chain_of(0).last().unwrap().payload()).unwrap();
    assert!(payload.absent.is_empty());
    assert!(lab.mark("pos/sync") > 0, "it was far behind");
    assert!(lab.evidence.is_empty());
}

#[test]
fn above_a_third_absent_stake_leaks_and_finality_resumes() {
    let mut lab = Lab::with_config(4, config().with_leak_quotient(256));
    [1, 2].into_iter().for_each(|index| lab.pause(index));
    let before = lab.replica(0).finalized().epoch;
    lab.run(5 * 4);
    assert_eq!(lab.replica(0).finalized().epoch, before);
    let weight = |lab: &Lab, who: usize| {
        let set = lab.replica(0).head_state().unwrap().current.set().clone();
        set.index_of(&lab.address(who)).map_or(0, |place| set.members()[place].weight)
    };
    // Three epochs of absence cost source and target, 40 of 64 parts of a base reward of some 5,724,000: no leak within four epochs.
    assert_eq!(weight(&lab, 1), 31_989_266_849);
    for _ in 0..60 {
        lab.run(4);
        if lab.replica(0).finalized().epoch > before {
            break;
        }
    }
    assert!(lab.replica(0).finalized().epoch > before);
    assert!(weight(&lab, 1) < WEIGHT * 2 / 3 && weight(&lab, 2) < WEIGHT * 2 / 3);
    assert!(weight(&lab, 0) > WEIGHT * 9 / 10 && weight(&lab, 3) > WEIGHT * 9 / 10);
    let penalties: Vec<_> = lab
        .chain_of(0)
        .iter()
        .filter_map(|block| Payload::decode(block.payload()).unwrap().accounting)
        .flat_map(|accounting| accounting.penalties)
        .collect();
    let leaked: u64 = penalties.iter().filter(|(who, _)| *who == lab.address(1)).map(|(_, gwei)| gwei).sum();
    // The weights in force are one epoch behind the payloads.
    assert!(leaked >= WEIGHT - weight(&lab, 1) && leaked < WEIGHT, "{leaked}");
}

#[test]
fn a_restarted_validator_continues_and_never_signs_twice() {
    let mut lab = Lab::new(4);
    for slot in 0..60 {
        lab.tick();
        if slot % 3 == 0 {
            lab.restart_in_slot(slot % 4);
        }
        lab.propose();
        if slot % 5 == 0 {
            lab.restart_in_slot((slot + 1) % 4);
        }
        lab.attest();
        // Also right after it signed.
        if slot % 2 == 0 {
            lab.restart_in_slot((slot + 2) % 4);
            (0..4).for_each(|index| lab.deliver(index, Event::Timer(super::super::ATTEST_TIMER)));
            lab.settle();
        }
    }
    assert!(lab.evidence.is_empty(), "{:?}", lab.evidence);
    assert!(lab.finalized().iter().all(|checkpoint| checkpoint.epoch >= 9), "{:?}", lab.finalized());
    lab.run(4);
    assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_state_is_restored_from_its_records() {
    let mut lab = Lab::new(4);
    lab.run(27);
    let before = lab.replica(1).clone();
    lab.restart_in_slot(1);
    let after = &lab.replica(1);
    assert_eq!(
        (after.head(), after.justified(), after.finalized()),
        (before.head(), before.justified(), before.finalized())
    );
    assert_eq!(after.head_state(), before.head_state());
    assert_eq!(after.slot(), before.slot());
    assert_eq!(after.slashing_protection, before.slashing_protection);
    // From the head record alone, as when a stored chain is opened.
    let record = &lab.nodes[1].records[super::super::HEAD_KEY];
    let opened = Pos::restore(lab.fixture.config, record, lab.authenticator.clone(), None).unwrap();
    assert_eq!(
        (opened.head(), opened.finalized(), opened.head_state()),
        (before.head(), before.finalized(), before.head_state())
    );
    let damaged = &record[..record.len() - 1];
    assert!(Pos::restore(lab.fixture.config, damaged, lab.authenticator.clone(), None).is_err());
    // Old blocks leave no records.
    let kept = lab.nodes[1].records.len() as u64;
    assert!(kept <= 3 + before.head().height.get() - before.finalized().block.height.get(), "{kept}");
}

#[test]
fn a_partition_heals_into_one_chain() {
    let mut lab = Lab::new(5);
    lab.run(6);
    lab.groups = vec![0, 0, 1, 1, 1];
    lab.run(17);
    let heads = lab.heads();
    assert!(heads[0] == heads[1] && heads[1] != heads[2] && heads[2] == heads[4]);
    lab.heal();
    lab.run(16);
    assert!(lab.heads().windows(2).all(|pair| pair[0] == pair[1]));
    assert!(lab.finalized().iter().all(|checkpoint| checkpoint.epoch >= 7), "{:?}", lab.finalized());
    assert!(lab.evidence.is_empty(), "{:?}", lab.evidence);
    assert!(lab.mark("pos/reorg") > 0);
}

#[test]
fn a_light_verifier_counts_the_votes_itself() {
    // 200 epochs of four seconds.
    let params = StakingParams { unbonding_secs: 800, ..StakingParams::default() };
    let mut lab = Lab::with_config(4, config().with_staking(&params).with_leak_quotient(1 << 24));
    lab.run(26);
    let new =
        || LightVerifier::new(lab.fixture.config, lab.genesis.header(), &lab.genesis_set(), lab.authenticator.clone());
    let mut light = new().unwrap();
    for block in lab.chain_of(0) {
        light.follow(&block.as_ref().into()).unwrap();
    }
    let state = lab.replica(0).head_state().unwrap();
    assert_eq!((light.finalized(), light.justified()), (state.casper.finalized, state.casper.justified));
    assert!(light.finalized().epoch >= 4);
    assert!(light.is_within_weak_subjectivity(204) && !light.is_within_weak_subjectivity(206));
    // A header with another parent or with a seal of another validator changes nothing.
    let chain = lab.chain_of(0);
    let mut light = new().unwrap();
    assert!(light.follow(&chain[1].as_ref().into()).is_err());
    let resealed = chain[0].as_ref().clone().with_seal(chain[1].seal().clone());
    assert!(light.follow(&(&resealed).into()).is_err());
    assert_eq!(light.head().height, Height::GENESIS);
    light.follow(&chain[0].as_ref().into()).unwrap();
}
