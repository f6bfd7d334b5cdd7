//! Destinations that call the wallet while it executes, as owners too.

use super::*;
use crate::templates::test_chain::actor::{self, ActorTemplate};

/// A wallet of alice and a hostile contract, of whom as many as `threshold` have to confirm.
fn world(threshold: u32) -> (World, Address) {
    let mut chain = TestChain::new(&[ALICE, BOB, CAROL, DAVE]);
    let hostile = chain.deploy(ALICE, 0, &ActorTemplate::init_code(0));
    let wallet = chain.deploy(ALICE, 0, &MultisigParams::new(vec![ALICE, hostile], threshold).init_code());
    assert!(chain.send(DAVE, wallet, WEI, &[], 100_000).is_success());
    (World { chain, wallet }, hostile)
}

/// Has the hostile contract make a call of the wallet at once.
fn run(world: &mut World, hostile: Address, data: Vec<u8>) -> bool {
    let target = world.wallet;
    world.chain.ok(BOB, hostile, &actor::runCall { target, data: data.into() }).isSuccess
}

/// Arms it to call the wallet when it is sent ether.
fn arm(world: &mut World, hostile: Address, data: Vec<u8>) {
    let target = world.wallet;
    world.chain.ok(BOB, hostile, &actor::armCall { target, data: data.into() });
}

#[test]
fn a_transaction_is_not_executed_inside_itself() {
    let (mut world, hostile) = world(2);
    let wallet = world.wallet;
    let id = world.submit(ALICE, hostile, 100, Vec::new());
    assert!(!run(&mut world, hostile, revoke(id).abi_encode()), "it has not confirmed");
    for inner in [execute(id).abi_encode(), confirm(id).abi_encode(), revoke(id).abi_encode()] {
        let (mut world, hostile) = (world.clone(), hostile);
        arm(&mut world, hostile, inner);
        assert!(run(&mut world, hostile, confirm(id).abi_encode()));
        let answer = world.chain.read(hostile, &actor::answerCall {});
        assert!(answer.wasMade && !answer.isSuccess && answer.output.is_empty(), "it is executed already");
        assert!(world.is_executed(id));
        assert_eq!((world.chain.wei(wallet), world.chain.wei(hostile)), (WEI - 100, 100), "paid once");
    }
}

#[test]
fn another_transaction_is_executed_inside_one_if_it_has_its_confirmations() {
    let (mut world, hostile) = world(2);
    let wallet = world.wallet;
    let other = world.submit(ALICE, DAVE, 50, Vec::new());
    let id = world.submit(ALICE, hostile, 100, Vec::new());
    arm(&mut world, hostile, confirm(other).abi_encode());
    assert!(run(&mut world, hostile, confirm(id).abi_encode()));
    assert!(world.is_executed(other) && world.is_executed(id));
    assert_eq!((world.chain.wei(wallet), world.chain.wei(hostile)), (WEI - 150, 100));
}

#[test]
fn a_destination_has_no_more_rights_than_any_caller() {
    let (mut world, hostile) = world(2);
    let id = world.submit(ALICE, hostile, 100, Vec::new());
    let changes = [
        sol::addOwnerCall { owner: DAVE }.abi_encode(),
        sol::removeOwnerCall { owner: ALICE }.abi_encode(),
        sol::replaceOwnerCall { owner: ALICE, newOwner: DAVE }.abi_encode(),
        sol::changeRequirementCall { _required: U256::ONE }.abi_encode(),
    ];
    for inner in changes {
        let mut world = world.clone();
        arm(&mut world, hostile, inner);
        assert!(run(&mut world, hostile, confirm(id).abi_encode()));
        let answer = world.chain.read(hostile, &actor::answerCall {});
        assert!(answer.wasMade && !answer.isSuccess);
        assert_eq!(world.read(&sol::getOwnersCall {}), [ALICE, hostile]);
        assert_eq!(world.read(&sol::requiredCall {}), U256::from(2));
    }
}

/// A submission inside an execution is one of its own, and needs its own confirmations.
#[test]
fn a_submission_inside_an_execution_waits() {
    let (mut world, hostile) = world(2);
    let id = world.submit(ALICE, hostile, 100, Vec::new());
    arm(&mut world, hostile, submit(hostile, WEI - 100, vec![]).abi_encode());
    assert!(run(&mut world, hostile, confirm(id).abi_encode()));
    let wallet = world.wallet;
    assert_eq!(world.chain.wei(wallet), WEI - 100);
    assert!(!world.is_executed(id + U256::ONE));
}
