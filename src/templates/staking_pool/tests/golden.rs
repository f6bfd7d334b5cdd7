//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where tokens are called, their gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

/// What pools of any parameters do.
fn history(mut world: World) -> String {
    let (pool, staking, first) = (world.pool, world.staking, world.rewards[0]);
    let last = *world.rewards.last().unwrap();
    world.pay(OWNER, first, pool, 100_000);
    let steps: Vec<(&str, u64, Address, Vec<u8>)> = vec![
        ("stake", 0, BOB, stake(100).abi_encode()),
        ("stake of nothing", 0, BOB, stake(0).abi_encode()),
        ("stake of too much", 0, BOB, stake(TOKENS).abi_encode()),
        ("notifyRewardAmount by a stranger", 0, BOB, notify(5_000).abi_encode()),
        ("notifyRewardAmount of too much", 0, OWNER, notify(2 * TOKENS).abi_encode()),
        ("notifyRewardAmount", 0, OWNER, notify(50_000).abi_encode()),
        ("notifyRewardAmount again", 5, OWNER, notify(5_000).abi_encode()),
        (
            "notifyRewardAmount of the last",
            5,
            OWNER,
            sol::notifyRewardAmount_1Call { token: last, reward: U256::ZERO }.abi_encode(),
        ),
        (
            "notifyRewardAmount of no reward",
            5,
            OWNER,
            sol::notifyRewardAmount_1Call { token: BOB, reward: U256::ZERO }.abi_encode(),
        ),
        ("fundReward", 5, OWNER, fund(first, 1_000).abi_encode()),
        ("fundReward of the last", 5, OWNER, fund(last, 1_000).abi_encode()),
        ("fundReward of too little", 5, OWNER, fund(first, 0).abi_encode()),
        ("stake of another", 10, CAROL, stake(300).abi_encode()),
        ("stake again", 15, BOB, stake(100).abi_encode()),
        ("withdraw of nothing", 20, BOB, withdraw(0).abi_encode()),
        ("withdraw", 20, BOB, withdraw(50).abi_encode()),
        ("getReward", 30, BOB, sol::getReward_0Call {}.abi_encode()),
        ("getReward again", 30, BOB, sol::getReward_0Call {}.abi_encode()),
        ("getReward in a token", 40, BOB, sol::getReward_1Call { token: last }.abi_encode()),
        ("getReward in no reward", 40, BOB, sol::getReward_1Call { token: BOB }.abi_encode()),
        ("withdraw of too much", 200, BOB, withdraw(500).abi_encode()),
        ("exit", 200, BOB, sol::exitCall {}.abi_encode()),
        ("exit again", 200, BOB, sol::exitCall {}.abi_encode()),
        ("setPaused", 200, OWNER, sol::setPausedCall { _paused: true }.abi_encode()),
        ("setPaused again", 200, OWNER, sol::setPausedCall { _paused: true }.abi_encode()),
        ("setPaused by a stranger", 200, BOB, sol::setPausedCall { _paused: true }.abi_encode()),
        ("stake while paused", 200, BOB, stake(1).abi_encode()),
        (
            "recoverERC20",
            200,
            OWNER,
            sol::recoverERC20Call { tokenAddress: first, tokenAmount: U256::ONE }.abi_encode(),
        ),
        (
            "recoverERC20 of stakes",
            200,
            OWNER,
            sol::recoverERC20Call { tokenAddress: staking, tokenAmount: U256::ONE }.abi_encode(),
        ),
        (
            "setRewardsDuration too early",
            200,
            OWNER,
            sol::setRewardsDurationCall { _rewardsDuration: U256::ONE }.abi_encode(),
        ),
        (
            "setRewardsDuration",
            100_000,
            OWNER,
            sol::setRewardsDurationCall { _rewardsDuration: U256::from(50) }.abi_encode(),
        ),
        (
            "setRewardsDistribution",
            100_000,
            OWNER,
            sol::setRewardsDistributionCall { _rewardsDistribution: BOB }.abi_encode(),
        ),
        ("nominateNewOwner", 100_000, OWNER, sol::nominateNewOwnerCall { _owner: CAROL }.abi_encode()),
        ("acceptOwnership by a stranger", 100_000, BOB, sol::acceptOwnershipCall {}.abi_encode()),
        ("acceptOwnership", 100_000, CAROL, sol::acceptOwnershipCall {}.abi_encode()),
        ("a function that is not there", 100_000, BOB, vec![1, 2, 3, 4]),
    ];
    let mut lines = String::new();
    for (name, seconds, from, input) in steps {
        world.after(seconds);
        lines += &world.chain.line(name, from, pool, 0, &input);
    }
    lines += &world.chain.line("value to a function", BOB, pool, 1, &sol::getReward_0Call {}.abi_encode());
    for (name, input) in views(last) {
        lines += &world.chain.line(name, BOB, pool, 0, &input);
    }
    lines
}

fn views(token: Address) -> Vec<(&'static str, Vec<u8>)> {
    let account = CAROL;
    vec![
        ("owner", sol::ownerCall {}.abi_encode()),
        ("nominatedOwner", sol::nominatedOwnerCall {}.abi_encode()),
        ("rewardsDistribution", sol::rewardsDistributionCall {}.abi_encode()),
        ("lastPauseTime", sol::lastPauseTimeCall {}.abi_encode()),
        ("paused", sol::pausedCall {}.abi_encode()),
        ("rewardsToken", sol::rewardsTokenCall {}.abi_encode()),
        ("stakingToken", sol::stakingTokenCall {}.abi_encode()),
        ("periodFinish", sol::periodFinish_0Call {}.abi_encode()),
        ("rewardRate", sol::rewardRate_0Call {}.abi_encode()),
        ("rewardsDuration", sol::rewardsDurationCall {}.abi_encode()),
        ("lastUpdateTime", sol::lastUpdateTimeCall {}.abi_encode()),
        ("rewardPerTokenStored", sol::rewardPerTokenStoredCall {}.abi_encode()),
        ("userRewardPerTokenPaid", sol::userRewardPerTokenPaidCall { account }.abi_encode()),
        ("rewards", sol::rewardsCall { account }.abi_encode()),
        ("totalSupply", sol::totalSupplyCall {}.abi_encode()),
        ("balanceOf", sol::balanceOfCall { account }.abi_encode()),
        ("lastTimeRewardApplicable", sol::lastTimeRewardApplicable_0Call {}.abi_encode()),
        ("rewardPerToken", sol::rewardPerToken_0Call {}.abi_encode()),
        ("earned", sol::earned_0Call { account }.abi_encode()),
        ("getRewardForDuration", sol::getRewardForDuration_0Call {}.abi_encode()),
        ("rewardTokens", sol::rewardTokensCall {}.abi_encode()),
        ("periodFinish of a token", sol::periodFinish_1Call { token }.abi_encode()),
        ("rewardRate of a token", sol::rewardRate_1Call { token }.abi_encode()),
        ("lastTimeRewardApplicable of a token", sol::lastTimeRewardApplicable_1Call { token }.abi_encode()),
        ("rewardPerToken of a token", sol::rewardPerToken_1Call { token }.abi_encode()),
        ("earned of a token", sol::earned_1Call { account, token }.abi_encode()),
        ("earned of no reward", sol::earned_1Call { account, token: BOB }.abi_encode()),
        ("getRewardForDuration of a token", sol::getRewardForDuration_1Call { token }.abi_encode()),
        ("lockPeriod", sol::lockPeriodCall {}.abi_encode()),
        ("unlockTime", sol::unlockTimeCall { account }.abi_encode()),
        ("supportsInterface", sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
    ]
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let reward = |number: u8| RewardTerms { token: Address::repeat_byte(number), rate: 10 };
    let params = StakingPoolParams::new(BOB, CAROL, 0, OWNER);
    let several =
        StakingPoolParams { rewards: vec![reward(1), reward(2), reward(3)], lock_period_secs: 100, ..params.clone() };
    let twice = StakingPoolParams { rewards: vec![reward(1), reward(1)], ..params.clone() };
    let mut got = String::new();
    for (name, params) in [("one reward", params), ("three rewards and a lock", several), ("a reward twice", twice)] {
        got += &TestChain::new(&[OWNER]).creation_line(OWNER, name, &params.init_code()).1;
    }
    got += &history(World::new(&[0], 0, 1_000));
    got += &history(World::new(&[10, 20, 30], 100, 1_000));
    assert_golden(&got, include_str!("golden.txt"));
}
