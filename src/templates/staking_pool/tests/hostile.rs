//! Tokens that call the pool while it moves them.

use super::*;
use crate::templates::test_chain::actor::{self, ActorTemplate};

const REENTRANT: &str = "ReentrancyGuard: reentrant call";

/// A pool over a hostile token, which has itself a stake and rewards, as has bob.
fn world(is_staked: bool) -> (World, Address) {
    let mut chain = TestChain::new(&USERS);
    let hostile = chain.deploy(OWNER, 0, &ActorTemplate::init_code(3 * TOKENS));
    let plain = chain.deploy(OWNER, 0, &TestToken::init_code(18, 3 * TOKENS));
    let (staking, reward) = if is_staked { (hostile, plain) } else { (plain, hostile) };
    let mut world = World::over(chain, staking, vec![reward], &[10], 0, DURATION_SECS);
    let pool = world.pool;
    world.pay(OWNER, staking, hostile, 1_000);
    let run = |target, data: Vec<u8>| actor::runCall { target, data: data.into() };
    let approve = asset::approveCall { spender: pool, value: U256::MAX }.abi_encode();
    assert!(world.chain.ok(BOB, hostile, &run(staking, approve)).isSuccess);
    assert!(world.chain.ok(BOB, hostile, &run(pool, stake(100).abi_encode())).isSuccess);
    world.stake(BOB, 100);
    world.ok(OWNER, &fund(reward, 10_000));
    world.after(50);
    (world, hostile)
}

/// Guarded functions, of which each succeeds by itself.
fn guarded(token: Address) -> [Vec<u8>; 5] {
    [
        stake(1).abi_encode(),
        withdraw(1).abi_encode(),
        sol::getReward_0Call {}.abi_encode(),
        sol::getReward_1Call { token }.abi_encode(),
        sol::exitCall {}.abi_encode(),
    ]
}

/// As with OpenZeppelin 2's guard the inner call runs, and the outer one undoes it.
#[test]
fn a_hostile_token_undoes_what_it_is_called_by() {
    for is_staked in [true, false] {
        let (world, hostile) = world(is_staked);
        let reward = world.rewards[0];
        let entries = if is_staked {
            vec![stake(1).abi_encode(), withdraw(1).abi_encode(), sol::exitCall {}.abi_encode()]
        } else {
            vec![
                sol::getReward_0Call {}.abi_encode(),
                sol::getReward_1Call { token: reward }.abi_encode(),
                sol::exitCall {}.abi_encode(),
            ]
        };
        for entry in entries {
            for inner in guarded(reward) {
                let mut world = world.clone();
                let pool = world.pool;
                world.chain.ok(BOB, hostile, &actor::armCall { target: pool, data: inner.into() });
                let before = world.chain.journal.clone().take_changes();
                let result = world.chain.send(BOB, pool, 0, &entry, 3_000_000);
                assert_eq!(result.output, Revert::from(REENTRANT).abi_encode());
                assert_eq!(world.chain.journal.clone().take_changes(), before);
            }
        }
    }
}

/// What is not guarded does no harm: rewards are counted before, and stakes are written before tokens move.
#[test]
fn a_hostile_token_may_read_what_is_true_already() {
    let (mut world, hostile) = world(true);
    let pool = world.pool;
    let balance = sol::balanceOfCall { account: BOB }.abi_encode();
    world.chain.ok(BOB, hostile, &actor::armCall { target: pool, data: balance.into() });
    world.ok(BOB, &withdraw(40));
    let answer = world.chain.read(hostile, &actor::answerCall {});
    assert_eq!((answer.isSuccess, answer.output), (true, U256::from(60).abi_encode().into()));
}
