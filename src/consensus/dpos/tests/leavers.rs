//! Evidence against producers that left the schedule.

use super::{super::*, lab::*};
use crate::{
    consensus::mutation::{self, Mutation},
    primitives::{Header, Height},
    system::{ValidatorUpdate, ValidatorUpdates, staking::StakingParams},
};

/// Producer 0 makes two blocks in slot 8 and is voted out at height 10; the evidence is in a block of `slot`. Returns the block's
/// rejection, if any. Stake is locked for 100 seconds.
fn shown_in(slot: u64) -> Option<String> {
    let params = StakingParams { unbonding_secs: 100, ..StakingParams::default() };
    let config = DposConfig::default().with_producers(4).with_staking(&params);
    let mut lab = Lab::with_config(5, 4, config);
    let update = |index: usize, weight| ValidatorUpdate { address: lab.signers[index].address(), weight };
    let updates = ValidatorUpdates::new([update(0, 0), update(4, 9)]);
    lab.updates.insert(Height::new(10), updates);
    let sealed = |lab: &Lab, salt: u64| {
        let header = Header { timestamp: 8, gas_limit: salt, number: 7, ..Header::default() };
        let seal = lab.signers[0].sign(crate::consensus::Purpose::Block, header.hash_slow());
        (header, seal)
    };
    lab.slots(slot - 1);
    let proof = ConflictingBlocks::new(sealed(&lab, 1), sealed(&lab, 2));
    let regular = Payload::decode(lab.block(1, slot, &Odd::default()).payload()).unwrap();
    let payload = Some(Payload { evidence: vec![proof], ..regular });
    let block = lab.block(1, slot, &Odd { payload, ..Odd::default() });
    lab.rejections.clear();
    lab.announce(1, &block);
    lab.rejections.first().map(|(_, why)| why.to_string())
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
