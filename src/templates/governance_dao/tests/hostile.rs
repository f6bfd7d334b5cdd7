//! Contracts that call back in the middle of what a proposal does.

use super::*;
use crate::templates::test_chain::actor::{self, ActorTemplate};

/// A queued proposal that pays five wei to a contract, which then makes `call` of the governor; its answer.
fn called_back(call: impl FnOnce(U256) -> Vec<u8>) -> (World, U256, actor::answerReturn) {
    let mut world = deploy();
    let hostile = world.chain.deploy(STRANGER, 0, &ActorTemplate::init_code(0));
    let id = world.queued(&sol::proposeCall {
        values: vec![U256::from(5)],
        ..proposal(&[(hostile, Vec::new())], "Pay the actor")
    });
    let (target, data) = (world.governor, call(id).into());
    world.chain.ok(STRANGER, hostile, &actor::armCall { target, data });
    world.execute(id);
    assert_eq!((world.chain.wei(hostile), world.chain.wei(world.timelock)), (5, 495), "paid once");
    assert_eq!(world.state(id), sol::ProposalState::Executed);
    let answer = world.chain.read(hostile, &actor::answerCall {});
    assert!(answer.wasMade);
    (world, id, answer)
}

#[test]
fn what_a_proposal_calls_can_not_execute_it_again() {
    let (_, id, answer) = called_back(|id| sol::execute_1Call { proposalId: id }.abi_encode());
    let want = unexpected(id, sol::ProposalState::Executed, 0b10_0000);
    assert_eq!((answer.isSuccess, answer.output.as_ref()), (false, want.abi_encode().as_slice()));
}

#[test]
fn what_a_proposal_calls_can_neither_cancel_it_nor_govern() {
    for call in [
        |id| sol::cancel_1Call { proposalId: id }.abi_encode(),
        |_| sol::setVotingPeriodCall { newVotingPeriod: 1 }.abi_encode(),
        |_| sol::relayCall { target: STRANGER, value: U256::ZERO, data: Bytes::new() }.abi_encode(),
    ] {
        let (world, _, answer) = called_back(call);
        assert!(!answer.isSuccess && !answer.output.is_empty());
        assert_eq!(world.read(&sol::votingPeriodCall {}), U256::from(PERIOD));
    }
}
