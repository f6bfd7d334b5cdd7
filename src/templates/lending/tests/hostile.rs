//! Tokens and feeds that call the market while it runs.

use super::*;
use crate::templates::{
    common::reentrancy_guard::interface::ReentrancyGuardReentrantCall,
    test_chain::actor::{self, ActorTemplate},
};

/// All functions that change something, such as a caller inside would like to call.
fn inner(world: &World) -> [Vec<u8>; 7] {
    [
        world.supply_call(world.token, ALICE, 1).abi_encode(),
        world.withdraw_call(world.token, amount(1), ALICE).abi_encode(),
        world.borrow_call(ALICE, 1).abi_encode(),
        world.repay_call(BOB, amount(1)).abi_encode(),
        world.liquidation(BOB, amount(1)).abi_encode(),
        sol::mintToTreasuryCall { assets: vec![world.token] }.abi_encode(),
        sol::eliminateReserveDeficitCall { asset: world.token, amount: amount(1) }.abi_encode(),
    ]
}

fn outer(world: &World) -> Vec<(Address, Vec<u8>)> {
    vec![
        (ALICE, world.supply_call(world.token, ALICE, 10).abi_encode()),
        (ALICE, world.withdraw_call(world.token, amount(10), ALICE).abi_encode()),
        (BOB, world.supply_call(world.collateral, BOB, 10).abi_encode()),
        (BOB, world.repay_call(BOB, amount(10)).abi_encode()),
        (CAROL, world.liquidation(BOB, amount(10 * USD)).abi_encode()),
    ]
}

#[test]
fn a_hostile_token_finds_the_market_guarded() {
    let (hostile, plain) = (ActorTemplate::init_code(4 * DOLLARS), TestToken::init_code(6, 4 * DOLLARS));
    let refused: Bytes = ReentrancyGuardReentrantCall {}.abi_encode().into();
    for (token, collateral) in [(&hostile, &plain), (&plain, &hostile)] {
        // Both have 6 decimals: a whole collateral is 10^6 here.
        let mut world = deploy_with(&params(), token, collateral);
        world.supply(ALICE, 10_000 * USD);
        world.put_in(BOB, USD);
        world.borrow(BOB, 1_500 * USD);
        world.set_price(1_800 * DOLLAR);
        let actor = if token == &hostile { world.token } else { world.collateral };
        for (from, entry) in outer(&world) {
            let mut met = 0;
            for data in inner(&world) {
                let (mut world, market) = (world.clone(), world.market);
                world.chain.ok(BOB, actor, &actor::armCall { target: market, data: data.into() });
                let result = world.chain.send(from, market, 0, &entry, 2_000_000);
                assert!(result.is_success(), "{result:?}");
                let answer = world.chain.read(actor, &actor::answerCall {});
                if answer.wasMade {
                    assert_eq!((answer.isSuccess, &answer.output), (false, &refused));
                    met += 1;
                }
                // The guard is off again.
                world.supply(ALICE, 10);
            }
            assert!(met == 0 || met == 7, "the actor moves in this operation or it does not");
        }
    }
}

#[test]
fn a_hostile_feed_changes_nothing() {
    let mut chain = deploy(&params()).chain;
    let feed = chain.deploy(OWNER, 0, &ActorTemplate::init_code(0));
    let market = chain.deploy(OWNER, 0, &LendingParams { oracle: feed, ..params() }.init_code());
    let mut world = World { chain, feed, market, ..deploy(&params()) };
    for user in USERS {
        for token in [world.token, world.collateral] {
            world.chain.ok(user, token, &asset::approveCall { spender: market, value: U256::MAX });
        }
    }
    world.supply(ALICE, 10_000 * USD);
    world.put_in(BOB, ETH);
    for data in inner(&world) {
        world.chain.ok(BOB, feed, &actor::armCall { target: market, data: data.into() });
        // The feed answers as long as what it calls fails.
        world.borrow(BOB, USD);
        world.ok(BOB, &world.withdraw_call(world.collateral, amount(1), BOB));
    }
    assert_eq!(world.debt(BOB), 7 * USD);
    // A feed that refuses to answer stops the borrower, and not who repays.
    let data = sol::getReservesListCall {}.abi_encode().into();
    world.chain.ok(BOB, feed, &actor::armCall { target: market, data });
    world.refuses(BOB, &world.borrow_call(BOB, 1), "the call succeeded");
    world.ok(BOB, &world.repay_call(BOB, U256::MAX));
    world.ok(BOB, &world.withdraw_call(world.collateral, U256::MAX, BOB));
}
