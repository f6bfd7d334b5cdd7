//! Where rewards come from: an amount that is spread over the duration, as StakingRewards has it, or payments for time at the rate.

use super::{
    interface as sol,
    owned::{non_reentrant, only_owner},
    reward::{self, now},
    state::{POOL, Reward},
};
use crate::{
    templates::common::{ds_math::require_that, safe_erc20_v2, safe_math::SafeMath},
    vm::contract::*,
};

/// Largest amount of rewards that is added at a time to rewards beside the first, and by `fundReward`: far from where sums times 10^18
/// would overflow, which would lock the stakes in.
pub const REWARD_MAX: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

/// Spreads an amount that the pool has, with what is left of the current period, over the duration from now on.
pub(super) fn notify(host: &mut Host<'_>, reward: Reward, amount: U256) -> Result<(), Stop> {
    only_distribution(host)?;
    let token = if reward.is_first() { None } else { Some(reward.token.get(host)?) };
    if let Some(token) = token {
        require(amount <= REWARD_MAX, sol::StakingRewardTooLarge { token, amount, max: REWARD_MAX })?;
    }
    reward.update(host, Address::ZERO)?;
    let (now, finish, duration) = (now(host), reward.period_finish.get(host)?, POOL.rewards_duration.get(host)?);
    let rate = if now >= finish {
        amount.safe_div(duration)?
    } else {
        let leftover = finish.safe_sub(now)?.safe_mul(reward.rate.get(host)?)?;
        amount.safe_add(leftover)?.safe_div(duration)?
    };
    reward.rate.set(host, rate)?;
    let balance = reward.balance(host)?;
    require_that(rate <= balance.safe_div(duration)?, "Provided reward too high")?;
    reward.last_update_time.set(host, now)?;
    reward.period_finish.set(host, now.safe_add(duration)?)?;
    match token {
        None => host.emit(&sol::RewardAdded { reward: amount }),
        Some(token) => host.emit(&sol::TokenRewardAdded { token, reward: amount }),
    }
}

/// Takes tokens for whole seconds at the rate, at most `amount`, and lets the period go on for that time, which it returns in seconds.
pub(super) fn fund(host: &mut Host<'_>, token: Address, amount: U256) -> Result<U256, Stop> {
    only_distribution(host)?;
    non_reentrant(host, |host| {
        let reward = reward::by_token(host, token)?;
        reward.update(host, Address::ZERO)?;
        let rate = reward.rate.get(host)?;
        require(!rate.is_zero(), sol::StakingNoRewardRate { token })?;
        let too_small = |amount| sol::StakingFundingTooSmall { token, amount, rate };
        let rest = amount.safe_sub(amount.safe_div(rate)?.safe_mul(rate)?)?;
        let wanted = amount.safe_sub(rest)?;
        require(!wanted.is_zero(), too_small(amount))?;
        require(wanted <= REWARD_MAX, sol::StakingRewardTooLarge { token, amount: wanted, max: REWARD_MAX })?;
        let (before, payer, pool) = (reward.balance(host)?, host.caller(), host.address());
        safe_erc20_v2::safe_transfer_from(host, token, payer, pool, wanted)?;
        // A token that takes a fee pays for less time.
        let received = reward.balance(host)?.safe_sub(before)?.min(wanted);
        let duration = received.safe_div(rate)?;
        require(!duration.is_zero(), too_small(received))?;
        let now = now(host);
        let finish = reward.period_finish.get(host)?.max(now).safe_add(duration)?;
        reward.last_update_time.set(host, now)?;
        reward.period_finish.set(host, finish)?;
        host.emit(&sol::RewardFunded { token, amount: received, periodFinish: finish })?;
        Ok(duration)
    })
}

pub(super) fn set_rewards_distribution(host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
    only_owner(host)?;
    POOL.rewards_distribution.overwrite(host, account)
}

/// Sets the duration over which amounts are spread, between two periods of every reward.
pub(super) fn set_rewards_duration(host: &mut Host<'_>, duration: U256) -> Result<(), Stop> {
    only_owner(host)?;
    let now = now(host);
    for reward in reward::all(host)? {
        require_that(
            now > reward.period_finish.get(host)?,
            "Previous rewards period must be complete before changing the duration for the new period",
        )?;
    }
    POOL.rewards_duration.set(host, duration)?;
    host.emit(&sol::RewardsDurationUpdated { newDuration: duration })
}

/// Sends the owner tokens that are not the staking token.
pub(super) fn recover(host: &mut Host<'_>, token: Address, amount: U256) -> Result<(), Stop> {
    only_owner(host)?;
    require_that(token != POOL.staking_token.get(host)?, "Cannot withdraw the staking token")?;
    let owner = POOL.owner.get(host)?;
    safe_erc20_v2::safe_transfer(host, token, owner, amount)?;
    host.emit(&sol::Recovered { token, amount })
}

fn only_distribution(host: &mut Host<'_>) -> Result<(), Stop> {
    let caller = host.caller();
    require_that(caller == POOL.rewards_distribution.get(host)?, "Caller is not RewardsDistribution contract")
}
