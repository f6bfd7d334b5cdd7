//! Evidence against producers that left the schedule.

use super::{super::*, lab::*};
use crate::{
    consensus::mutation::{self, Mutation},
    primitives::{Header, Height},
    system::{ValidatorUpdate, ValidatorUpdates, staking::StakingParams},
};

/// Producer 0 leaves at height 10. Stake is locked for 100 seconds.
fn lab() -> Lab {
    lab_with(&[(0, 0), (4, 9)])
}

/// Producer 0 is voted out at height 10, and stands by with its stake.
fn lab_of_candidates() -> Lab {
    lab_with(&[(1, 9), (2, 9), (3, 9), (4, 9)])
}

/// The weights of these validators change at height 10. Stake is locked for 100 seconds.
fn lab_with(weights: &[(usize, u64)]) -> Lab {
    let params = StakingParams { unbonding_secs: 100, ..StakingParams::default() };
    let config = DposConfig::default().with_producers(4).with_staking(&params);
    let mut lab = Lab::with_config(5, 4, config);
    let update =
        |(index, weight): &(usize, u64)| ValidatorUpdate { address: lab.signers[*index].address(), weight: *weight };
    let updates = ValidatorUpdates::new(weights.iter().map(update));
    lab.updates.insert(Height::new(10), updates);
    lab
}

/// A signer made two blocks in slot 8.
fn proof_against(lab: &Lab, offender: usize) -> ConflictingBlocks {
    let sealed = |salt: u64| {
        let header = Header { timestamp: 8, gas_limit: salt, number: 7, ..Header::default() };
        let seal = lab.signers[offender].sign(crate::consensus::Purpose::Block, header.hash_slow());
        (header, seal)
    };
    ConflictingBlocks::new(sealed(1), sealed(2))
}

/// Producer 0 made two blocks in slot 8.
fn proof(lab: &Lab) -> ConflictingBlocks {
    proof_against(lab, 0)
}

/// The evidence is in a block of `slot`. Returns the block's rejection, if any.
fn shown_in(slot: u64) -> Option<String> {
    shown_to(lab(), slot)
}

fn shown_to(lab: Lab, slot: u64) -> Option<String> {
    let evidence = proof(&lab);
    shown_evidence(lab, slot, evidence)
}

fn shown_evidence(mut lab: Lab, slot: u64, evidence: ConflictingBlocks) -> Option<String> {
    lab.slots(slot - 1);
    let regular = Payload::decode(lab.block(1, slot, &Odd::default()).payload()).unwrap();
    let payload = Some(Payload { evidence: vec![evidence], ..regular });
    let block = lab.block(1, slot, &Odd { payload, ..Odd::default() });
    lab.rejections.clear();
    lab.announce(1, &block);
    lab.rejections.first().map(|(_, why)| why.to_string())
}

/// Returns how many infractions a replica reports in `slot` that learns of the two blocks just before.
fn reported_in(slot: u64) -> usize {
    let mut lab = lab();
    lab.slots(slot - 1);
    let (offender, proof) = (lab.signers[0].address(), proof(&lab));
    lab.replica_mut(1).offences.insert((8, offender), std::sync::Arc::new(proof));
    lab.replica(1).unreported(slot).len()
}

#[test]
fn who_left_the_schedule_answers_for_what_it_did_there() {
    assert_eq!(
        [9, 60, 160].map(shown_in),
        [None, None, None],
        "while it produces, and after it left: the contract knows its stake"
    );
    mutation::with(Mutation::DposForgetsLeavers, || {
        assert_eq!(shown_in(9), None);
        assert!(shown_in(60).is_some(), "slashable as long as it produces only");
    });
}

#[test]
fn evidence_against_who_was_never_elected_is_refused() {
    // Signer 4 is elected at height 10 and signer 5 never is, nor a candidate.
    let mut lab = Lab::with_config(6, 4, lab().fixture.config);
    let weights = lab.signers[..5].iter().map(|signer| ValidatorUpdate { address: signer.address(), weight: 9 });
    lab.updates.insert(Height::new(10), ValidatorUpdates::new(weights));
    let evidence = proof_against(&lab, 5);
    let why = shown_evidence(lab, 60, evidence).unwrap();
    assert!(why.contains("is no candidate for election"), "{why}");
}

#[test]
fn who_left_the_schedule_is_reported_by_whoever_learns_of_it_later() {
    assert_eq!([9, 60, 160].map(reported_in), [1, 1, 1], "while it produces, and after it left");
    let of_producers = mutation::with(Mutation::DposReportsProducersOnly, || [9, 60].map(reported_in));
    assert_eq!(of_producers, [1, 0]);
}

#[test]
fn who_stands_by_with_its_stake_is_slashed_however_long_ago_it_left_the_schedule() {
    assert_eq!([9, 60, 160, 400].map(|slot| shown_to(lab_of_candidates(), slot)), [None, None, None, None]);
    mutation::with(Mutation::DposForgetsCandidates, || {
        assert_eq!(shown_to(lab_of_candidates(), 60), None, "for the unbonding period");
        assert!(shown_to(lab_of_candidates(), 400).is_some());
    });
}
