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

/// Producer 0 made two blocks in slot 8.
fn proof(lab: &Lab) -> ConflictingBlocks {
    let sealed = |salt: u64| {
        let header = Header { timestamp: 8, gas_limit: salt, number: 7, ..Header::default() };
        let seal = lab.signers[0].sign(crate::consensus::Purpose::Block, header.hash_slow());
        (header, seal)
    };
    ConflictingBlocks::new(sealed(1), sealed(2))
}

/// The evidence is in a block of `slot`. Returns the block's rejection, if any.
fn shown_in(slot: u64) -> Option<String> {
    shown_to(lab(), slot)
}

fn shown_to(mut lab: Lab, slot: u64) -> Option<String> {
    lab.slots(slot - 1);
    let regular = Payload::decode(lab.block(1, slot, &Odd::default()).payload()).unwrap();
    let payload = Some(Payload { evidence: vec![proof(&lab)], ..regular });
    let block = lab.block(1, slot, &Odd { payload, ..Odd::default() });
    assert!(slot < 20 || !lab.replica(1).validators().contains(&lab.signers[0].address()), "it left");
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
fn who_left_the_schedule_is_slashed_until_its_stake_is_withdrawable() {
    assert_eq!(shown_in(9), None, "while it produces");
    assert_eq!(shown_in(60), None, "after it left");
    let why = shown_in(160).unwrap();
    assert!(why.contains("its stake is withdrawable"), "{why}");
    mutation::with(Mutation::DposForgetsLeavers, || {
        assert_eq!(shown_in(9), None);
        assert!(shown_in(60).is_some(), "slashable as long as it produces only");
    });
}

#[test]
fn who_left_the_schedule_is_reported_by_whoever_learns_of_it_later() {
    assert_eq!(
        [9, 60, 160].map(reported_in),
        [1, 1, 0],
        "while it produces, after it left, and with its stake withdrawable"
    );
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
