//! What StakingRewards does not have: several rewards, funding at a rate, rewards in the staking token, locks.

use super::*;

fn earned_in(world: &World, account: Address, token: Address) -> u64 {
    world.read(&sol::earned_1Call { account, token }).to()
}

#[test]
fn a_rate_pays_for_as_long_as_it_is_funded() {
    let mut world = World::new(&[5], 0, DURATION_SECS);
    let token = world.rewards[0];
    world.stake(BOB, 10);
    world.after(100);
    assert_eq!((world.read(&sol::rewardRate_0Call {}), world.earned(BOB)), (U256::from(5), 0), "nothing was paid in");
    let held = world.held(token, OWNER);
    assert_eq!(world.ok(OWNER, &fund(token, 503)), U256::from(100));
    let funded = sol::RewardFunded { token, amount: U256::from(500), periodFinish: U256::from(NOW + 200) };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, funded.encode_log_data());
    assert_eq!(world.held(token, OWNER), held - 500, "whole seconds alone are paid");
    world.after(150);
    assert_eq!(world.earned(BOB), 250);
    assert_eq!(world.ok(OWNER, &fund(token, 50)), U256::from(10));
    assert_eq!(world.read(&sol::periodFinish_0Call {}), U256::from(NOW + 210));
    world.after(1_000);
    assert_eq!(world.earned(BOB), 550);
    world.ok(BOB, &sol::exitCall {});
    assert_eq!((world.held(token, BOB), world.held(token, world.pool)), (TOKENS + 550, 0));
}

#[test]
fn funding_that_makes_no_second_is_refused() {
    let mut world = World::new(&[5, 0], 0, DURATION_SECS);
    let [first, second] = [world.rewards[0], world.rewards[1]];
    let pool = world.pool;
    let (amount, rate) = (U256::from(4), U256::from(5));
    world.fails(BOB, &fund(first, 5), "Caller is not RewardsDistribution contract");
    let too_small = sol::StakingFundingTooSmall { token: first, amount, rate };
    world.chain.fails(OWNER, pool, &fund(first, 4), &too_small);
    world.chain.fails(OWNER, pool, &fund(second, 5), &sol::StakingNoRewardRate { token: second });
    world.chain.fails(OWNER, pool, &fund(BOB, 5), &sol::StakingUnknownReward { token: BOB });
    let amount = U256::from(u128::MAX) + rate;
    let most = U256::from(u128::MAX);
    let too_large = sol::StakingRewardTooLarge { token: first, amount, max: most };
    world.chain.fails(OWNER, pool, &sol::fundRewardCall { token: first, amount }, &too_large);
    let amount = most + U256::ONE;
    let too_large = sol::StakingRewardTooLarge { token: second, amount, max: most };
    let notify = sol::notifyRewardAmount_1Call { token: second, reward: amount };
    world.chain.fails(OWNER, pool, &notify, &too_large);
    let notify = sol::notifyRewardAmount_1Call { token: second, reward: most };
    world.fails(OWNER, &notify, "Provided reward too high");
}

#[test]
fn each_reward_has_a_rate_and_a_period_of_its_own() {
    let mut world = World::new(&[10, 3, 0], 0, 1_000);
    let [first, second, third] = [world.rewards[0], world.rewards[1], world.rewards[2]];
    assert_eq!(world.read(&sol::rewardTokensCall {}), world.rewards);
    world.stake(BOB, 100);
    world.stake(CAROL, 100);
    world.ok(OWNER, &fund(first, 1_000));
    world.ok(OWNER, &fund(second, 600));
    world.pay(OWNER, third, world.pool, 4_000);
    world.ok(OWNER, &sol::notifyRewardAmount_1Call { token: third, reward: U256::from(4_000) });
    let added = sol::TokenRewardAdded { token: third, reward: U256::from(4_000) };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, added.encode_log_data());
    let finish = |token| world.read(&sol::periodFinish_1Call { token }).to::<u64>() - NOW;
    assert_eq!(world.rewards.iter().copied().map(finish).collect::<Vec<_>>(), [100, 200, 1_000]);
    assert_eq!(world.read(&sol::getRewardForDuration_1Call { token: second }), U256::from(3_000));
    world.after(150);
    let earned: Vec<_> = world.rewards.iter().map(|token| earned_in(&world, BOB, *token)).collect();
    assert_eq!(earned, [500, 225, 300]);
    assert_eq!(world.read(&sol::lastTimeRewardApplicable_1Call { token: first }), U256::from(NOW + 100));
    assert_eq!(world.read(&sol::lastTimeRewardApplicable_1Call { token: third }), U256::from(NOW + 150));
    assert_eq!(
        world.read(&sol::rewardPerToken_1Call { token: second }),
        U256::from(225) * U256::from(10).pow(U256::from(16))
    );
    world.ok(BOB, &sol::getReward_1Call { token: second });
    let paid = sol::TokenRewardPaid { user: BOB, token: second, reward: U256::from(225) };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, paid.encode_log_data());
    world.ok(BOB, &sol::getReward_0Call {});
    let held: Vec<_> = world.rewards.iter().map(|token| world.held(*token, BOB) - TOKENS).collect();
    assert_eq!(held, [500, 225, 300]);
    assert_eq!(earned_in(&world, CAROL, third), 300);
    // The duration is that of all.
    world.after(500);
    let duration = sol::setRewardsDurationCall { _rewardsDuration: U256::ONE };
    let early = "Previous rewards period must be complete before changing the duration for the new period";
    world.fails(OWNER, &duration, early);
    world.after(1_001);
    world.ok(OWNER, &duration);
}

/// The owner recovers what a reward would have been paid with: the others are paid all the same, and stakes leave.
#[test]
fn a_token_that_refuses_keeps_nobody_from_the_others() {
    let mut world = World::new(&[10, 3], 0, 1_000);
    let [first, second] = [world.rewards[0], world.rewards[1]];
    world.stake(BOB, 100);
    world.ok(OWNER, &fund(first, 1_000));
    world.ok(OWNER, &fund(second, 300));
    world.after(100);
    world.ok(OWNER, &sol::recoverERC20Call { tokenAddress: first, tokenAmount: U256::from(1_000) });
    world.fails(BOB, &sol::getReward_0Call {}, "SafeERC20: low-level call failed");
    world.fails(BOB, &sol::exitCall {}, "SafeERC20: low-level call failed");
    world.ok(BOB, &sol::getReward_1Call { token: second });
    world.ok(BOB, &withdraw(100));
    assert_eq!((world.held(second, BOB), world.held(world.staking, BOB)), (TOKENS + 300, TOKENS));
    assert_eq!(earned_in(&world, BOB, first), 1_000, "still owed");
}

#[test]
fn stakes_are_no_rewards() {
    let mut chain = TestChain::new(&USERS);
    let staking = chain.deploy(OWNER, 0, &TestToken::init_code(18, 3 * TOKENS));
    let mut world = World::over(chain, staking, vec![staking], &[0], 0, 100);
    let pool = world.pool;
    world.stake(BOB, 10_000);
    world.fails(OWNER, &notify(1_000), "Provided reward too high");
    world.notify(1_000);
    world.after(100);
    // Owed and not paid yet, so that the pool has it, and it is promised a second time: StakingRewards' rule.
    world.ok(OWNER, &notify(1_000));
    world.after(200);
    assert_eq!(world.earned(BOB), 2_000);
    let (available, needed) = (U256::from(1_000), U256::from(2_000));
    let insufficient = sol::StakingInsufficientRewards { token: staking, available, needed };
    world.chain.fails(BOB, pool, &sol::getReward_0Call {}, &insufficient);
    world.ok(BOB, &withdraw(10_000));
    assert_eq!(world.held(staking, pool), 1_000);
    world.pay(OWNER, staking, pool, 1_000);
    world.ok(BOB, &sol::getReward_0Call {});
    assert_eq!(world.held(staking, BOB), TOKENS + 2_000);
}

#[test]
fn a_lock_holds_all_of_the_stake_from_the_last_one_on() {
    let mut world = World::new(&[10], 1_000, DURATION_SECS);
    let (pool, token) = (world.pool, world.rewards[0]);
    assert_eq!(world.read(&sol::lockPeriodCall {}), U256::from(1_000));
    world.ok(OWNER, &fund(token, 10_000));
    world.stake(BOB, 10);
    world.stake(CAROL, 10);
    world.after(500);
    world.stake(BOB, 10);
    let locked = |account, after: u64| sol::StakeLocked { account, unlockTime: U256::from(NOW + after) };
    for (seconds, unlock) in [(999, 1_000), (1_499, 1_500)] {
        world.after(seconds);
        let user = if unlock == 1_000 { CAROL } else { BOB };
        assert_eq!(world.read(&sol::unlockTimeCall { account: user }), U256::from(NOW + unlock));
        world.chain.fails(user, pool, &withdraw(1), &locked(user, unlock));
        world.chain.fails(user, pool, &sol::exitCall {}, &locked(user, unlock));
        world.ok(user, &sol::getReward_0Call {});
        world.after(unlock);
        world.ok(user, &sol::exitCall {});
    }
    assert_eq!((world.held(world.staking, BOB), world.held(world.staking, CAROL)), (TOKENS, TOKENS));
    world.fails(BOB, &withdraw(1), "SafeMath: subtraction overflow");
}

#[test]
fn parameters_that_make_no_pool_are_refused() {
    let terms = |token: Address| RewardTerms { token, rate: 1 };
    let params = StakingPoolParams::new(BOB, CAROL, 1, OWNER);
    let many = |count: u8| (1..=count).map(|number| terms(Address::repeat_byte(number))).collect::<Vec<_>>();
    let with = |rewards| StakingPoolParams { rewards, ..params.clone() };
    let most = U256::from(LOCK_PERIOD_MAX);
    let ambiguous = sol::constructorCall {
        stakingToken: BOB,
        rewardToken: CAROL,
        rewardRate: 0,
        rewards: many(1),
        rewardsDuration: 1,
        lockPeriod: 0,
        owner: OWNER,
        rewardsDistribution: OWNER,
    };
    let with_rate = sol::constructorCall { rewardToken: Address::ZERO, rewardRate: 1, ..ambiguous.clone() };
    let cases = [
        (
            StakingPoolParams { owner: Address::ZERO, ..params.clone() }.encode(),
            Revert::from("Owner address cannot be 0").abi_encode(),
        ),
        (
            StakingPoolParams { staking_token: Address::ZERO, ..params.clone() }.encode(),
            sol::StakingInvalidToken { token: Address::ZERO }.abi_encode(),
        ),
        (
            StakingPoolParams { lock_period_secs: LOCK_PERIOD_MAX + 1, ..params.clone() }.encode(),
            sol::StakingInvalidLockPeriod { lockPeriod: most + U256::ONE, max: most }.abi_encode(),
        ),
        (with(many(9)).encode(), sol::StakingTooManyRewards { count: U256::from(9), max: U256::from(8) }.abi_encode()),
        (
            with(vec![terms(BOB), terms(CAROL), terms(Address::ZERO)]).encode(),
            sol::StakingDuplicateReward { token: BOB }.abi_encode(),
        ),
        (ambiguous.abi_encode(), sol::StakingAmbiguousRewards {}.abi_encode()),
        (with_rate.abi_encode(), sol::StakingAmbiguousRewards {}.abi_encode()),
    ];
    let create = |encoded: &[u8]| {
        let init_code = Marker(StakingPool::ID).init_code(encoded);
        TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 3_000_000).1
    };
    for (encoded, want) in cases {
        let result = create(&encoded);
        assert_eq!(alloy_primitives::hex::encode(&result.output), alloy_primitives::hex::encode(want));
        assert!(!result.is_success());
    }
    assert!(create(&with(many(8)).encode()).is_success());
    assert!(create(&StakingPoolParams { lock_period_secs: LOCK_PERIOD_MAX, ..params.clone() }.encode()).is_success());
}

#[test]
fn it_answers_erc165_and_takes_no_ether() {
    let mut world = World::plain();
    let supports = |id: [u8; 4]| world.read(&sol::supportsInterfaceCall { interfaceId: id.into() });
    assert!(supports([0x01, 0xff, 0xc9, 0xa7]) && !supports([0xff; 4]));
    let (pool, input) = (world.pool, sol::ownerCall {}.abi_encode());
    assert!(!world.chain.send(OWNER, pool, 1, &input, 100_000).is_success());
    assert!(!world.chain.send(OWNER, pool, 0, &[], 100_000).is_success());
}
