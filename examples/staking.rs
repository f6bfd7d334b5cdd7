//! A validator with stake: it joins, receives a delegation, earns rewards and exits.
//!
//! `cargo run --example staking`

use std::time::Duration;

use chainbox::{
    consensus::ConsensusKind,
    node::Node,
    primitives::{U256, ether},
    sim::ValidatorAction,
    system::staking::{StakingParams, ValidatorStatus},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let consensus = ConsensusKind::Dpos.on_demand();
    let params = StakingParams { unbonding_secs: 60, block_reward: ether(1), ..StakingParams::default() };
    let node =
        Node::builder().with_consensus(consensus).with_validators(3).with_candidates(1).with_staking(params).build()?;

    // The candidate, a fourth replica with a key of its own, becomes a validator.
    let newcomer = node.validator_key(3);
    node.validator_action(&newcomer, &ValidatorAction::Join { stake: ether(40), commission_bps: 500 })?;
    let alice = node.keys()[0].clone();
    let validator = newcomer.address();
    node.validator_action(&alice, &ValidatorAction::Delegate { validator, amount: ether(60) })?;
    for record in node.validators()? {
        println!("{} has weight {} gwei, {:?}", record.address, record.weight, record.status);
    }

    // Of each reward for its blocks 5 % are its commission, and of the rest 60 % are Alice's.
    node.mine(40)?;
    let before = node.view().balance(alice.address(), Default::default())?;
    node.validator_action(&alice, &ValidatorAction::ClaimRewards { validator })?;
    let earned = node.view().balance(alice.address(), Default::default())? - before;
    println!("alice earned {} gwei", earned / U256::from(1_000_000_000));
    assert!(earned > ether(1));

    // Undelegated stake can be withdrawn after the unbonding period.
    node.validator_action(&alice, &ValidatorAction::Undelegate { validator, amount: U256::MAX })?;
    let early = node.validator_action(&alice, &ValidatorAction::Withdraw).map(drop).unwrap_err();
    println!("{early}");
    node.increase_time(Duration::from_secs(61));
    node.mine(1)?;
    node.validator_action(&alice, &ValidatorAction::Withdraw)?;

    node.validator_action(&newcomer, &ValidatorAction::Exit)?;
    let left = node.validators()?.into_iter().find(|record| record.address == validator).ok_or("it is listed")?;
    assert_eq!(left.status, ValidatorStatus::Unbonding);
    Ok(())
}
