//! Contracts that call back in the middle of an operation.

use super::*;
use crate::templates::test_chain::actor::{self, ActorTemplate};

/// A timelock in which anybody executes, and a ready operation that pays five wei to a contract.
fn ready_payment() -> (World, Address, sol::executeCall, B256) {
    let mut world = deploy(&TimelockControllerParams { executors: vec![Address::ZERO], ..params() });
    let hostile = world.chain.deploy(STRANGER, 0, &ActorTemplate::init_code(0));
    let pay = sol::executeCall { value: U256::from(5), ..operation(hostile, Bytes::new()) };
    let id = world.ready(&pay);
    (world, hostile, pay, id)
}

/// As in OpenZeppelin's contract: the inner execution is a whole one, after which the outer one finds its operation done.
#[test]
fn an_operation_that_executes_itself_again_is_undone() {
    let (mut world, hostile, pay, id) = ready_payment();
    let target = world.timelock;
    world.chain.ok(STRANGER, hostile, &actor::armCall { target, data: pay.abi_encode().into() });
    world.fails(STRANGER, &pay, &unexpected(id, 0b100));
    assert_eq!((world.chain.wei(hostile), world.chain.wei(target)), (0, 500));
    assert!(world.read(&sol::isOperationReadyCall { id }));
    // Without the call back it pays once.
    world.chain.ok(STRANGER, hostile, &actor::armCall { target: Address::ZERO, data: Bytes::new() });
    world.ok(STRANGER, &pay);
    assert_eq!((world.chain.wei(hostile), world.chain.wei(target)), (5, 495));
    assert!(world.read(&sol::isOperationDoneCall { id }));
}

#[test]
fn what_an_operation_calls_has_no_role() {
    let calls: [fn(B256) -> Vec<u8>; 4] = [
        |id| sol::cancelCall { id }.abi_encode(),
        |_| scheduled(&operation(STRANGER, Bytes::new()), DELAY).abi_encode(),
        |_| sol::updateDelayCall { newDelay: U256::ZERO }.abi_encode(),
        |_| sol::grantRoleCall { role: PROPOSER_ROLE, account: STRANGER }.abi_encode(),
    ];
    for call in calls {
        let (mut world, hostile, pay, id) = ready_payment();
        let target = world.timelock;
        world.chain.ok(STRANGER, hostile, &actor::armCall { target, data: call(id).into() });
        world.ok(STRANGER, &pay);
        let answer = world.chain.read(hostile, &actor::answerCall {});
        assert!(answer.wasMade && !answer.isSuccess && !answer.output.is_empty());
    }
}
