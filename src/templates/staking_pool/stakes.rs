//! Stakes, their lock, and the construction.

use super::{
    interface::{self as sol, RewardTerms},
    owned::{self, non_reentrant, not_paused},
    reward::{self, now},
    state::{ADDED, FIRST, POOL, Terms},
};
use crate::{
    templates::common::{ds_math::require_that, safe_erc20_v2, safe_math::SafeMath},
    vm::contract::*,
};

/// Most rewards of a pool: each is counted at every change of a stake.
pub const REWARDS_MAX: usize = 8;

/// Longest lock, in seconds: 100 years of 365 days.
pub const LOCK_PERIOD_MAX: u64 = 100 * 365 * 24 * 60 * 60;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    owned::construct(host, params.owner)?;
    let staking_token = params.stakingToken;
    require(!staking_token.is_zero(), sol::StakingInvalidToken { token: staking_token })?;
    let lock_period = params.lockPeriod;
    let too_long =
        sol::StakingInvalidLockPeriod { lockPeriod: U256::from(lock_period), max: U256::from(LOCK_PERIOD_MAX) };
    require(lock_period <= LOCK_PERIOD_MAX, too_long)?;
    POOL.staking_token.overwrite(host, staking_token)?;
    POOL.rewards_distribution.overwrite(host, params.rewardsDistribution)?;
    POOL.rewards_duration.set(host, U256::from(params.rewardsDuration))?;
    let rewards = rewards_of(&params)?;
    let mut further_rewards = 0;
    for (number, terms) in (0..).zip(&rewards) {
        let reward = if number == 0 { FIRST } else { ADDED.further_rewards.at(host, number)? };
        reward.token.overwrite(host, terms.token)?;
        reward.rate.set(host, U256::from(terms.rate))?;
        further_rewards = number;
    }
    if lock_period == 0 && further_rewards == 0 {
        return Ok(());
    }
    ADDED.terms.set(host, Terms { lock_period, further_rewards })
}

/// Returns the rewards that parameters name: a list, or one token with its rate, which is by default the staking token.
fn rewards_of(params: &sol::constructorCall) -> Result<Vec<RewardTerms>, Stop> {
    let (staking, token, rate) = (params.stakingToken, params.rewardToken, params.rewardRate);
    let or_staking = |token: Address| if token.is_zero() { staking } else { token };
    if params.rewards.is_empty() {
        return Ok(vec![RewardTerms { token: or_staking(token), rate }]);
    }
    require(token.is_zero() && rate == 0, sol::StakingAmbiguousRewards {})?;
    let (count, max) = (U256::from(params.rewards.len()), U256::from(REWARDS_MAX));
    require(params.rewards.len() <= REWARDS_MAX, sol::StakingTooManyRewards { count, max })?;
    let mut rewards: Vec<RewardTerms> = Vec::new();
    for terms in &params.rewards {
        let token = or_staking(terms.token);
        let is_new = rewards.iter().all(|other| other.token != token);
        require(is_new, sol::StakingDuplicateReward { token })?;
        rewards.push(RewardTerms { token, rate: terms.rate });
    }
    Ok(rewards)
}

pub(super) fn stake(host: &mut Host<'_>, amount: U256) -> Result<(), Stop> {
    non_reentrant(host, |host| {
        not_paused(host)?;
        let user = host.caller();
        reward::update_all(host, user)?;
        require_that(!amount.is_zero(), "Cannot stake 0")?;
        POOL.total_supply.update(host, |total| total.safe_add(amount))?;
        POOL.balances.at(host, user)?.update(host, |balance| balance.safe_add(amount))?;
        lock(host, user)?;
        let (token, pool) = (POOL.staking_token.get(host)?, host.address());
        safe_erc20_v2::safe_transfer_from(host, token, user, pool, amount)?;
        host.emit(&sol::Staked { user, amount })
    })
}

pub(super) fn withdraw(host: &mut Host<'_>, amount: U256) -> Result<(), Stop> {
    non_reentrant(host, |host| {
        let user = host.caller();
        reward::update_all(host, user)?;
        require_that(!amount.is_zero(), "Cannot withdraw 0")?;
        require_unlocked(host, user)?;
        POOL.total_supply.update(host, |total| total.safe_sub(amount))?;
        POOL.balances.at(host, user)?.update(host, |balance| balance.safe_sub(amount))?;
        let token = POOL.staking_token.get(host)?;
        safe_erc20_v2::safe_transfer(host, token, user, amount)?;
        host.emit(&sol::Withdrawn { user, amount })
    })
}

/// Pays the caller's rewards in all tokens.
pub(super) fn get_rewards(host: &mut Host<'_>) -> Result<(), Stop> {
    non_reentrant(host, |host| {
        let user = host.caller();
        reward::update_all(host, user)?;
        reward::all(host)?.into_iter().try_for_each(|reward| reward.pay(host, user))
    })
}

/// Pays the caller's rewards in one token.
pub(super) fn get_reward_in(host: &mut Host<'_>, token: Address) -> Result<(), Stop> {
    non_reentrant(host, |host| {
        let user = host.caller();
        let reward = reward::by_token(host, token)?;
        reward.update(host, user)?;
        reward.pay(host, user)
    })
}

/// Withdraws all and pays all rewards.
pub(super) fn exit(host: &mut Host<'_>) -> Result<(), Stop> {
    let user = host.caller();
    let balance = POOL.balances.get(host, user)?;
    withdraw(host, balance)?;
    get_rewards(host)
}

pub(super) fn reward_tokens(host: &mut Host<'_>) -> Result<Vec<Address>, Stop> {
    reward::all(host)?.into_iter().map(|reward| reward.token.get(host)).collect()
}

pub(super) fn lock_period(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(ADDED.terms.get(host)?.lock_period))
}

/// Locks all of an account's stake for the period from now on.
fn lock(host: &mut Host<'_>, user: Address) -> Result<(), Stop> {
    let period = lock_period(host)?;
    if period.is_zero() {
        return Ok(());
    }
    let unlock_time = now(host).safe_add(period)?;
    ADDED.unlock_times.set(host, user, unlock_time)
}

fn require_unlocked(host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
    if lock_period(host)?.is_zero() {
        return Ok(());
    }
    let unlock_time = ADDED.unlock_times.get(host, account)?;
    require(now(host) >= unlock_time, sol::StakeLocked { account, unlockTime: unlock_time })
}
