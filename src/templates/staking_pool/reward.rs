//! The rewards in one token: what has accrued, to whom, and its payment.
//!
//! Every division rounds down, so that the rewards of all accounts together are never above what the rate gave.

use alloy_primitives::uint;

use super::{
    interface as sol,
    state::{ADDED, FIRST, POOL, Reward},
};
use crate::{
    templates::common::{legacy_calls, safe_erc20::interface::balanceOfCall, safe_erc20_v2, safe_math::SafeMath},
    vm::contract::*,
};

/// What a staked unit has had is counted in parts of this.
const PRECISION: U256 = uint!(1_000_000_000_000_000_000_U256);

/// Returns all rewards, the first one first.
pub(super) fn all(host: &mut Host<'_>) -> Result<Vec<Reward>, Stop> {
    let further = ADDED.terms.get(host)?.further_rewards;
    let mut rewards = vec![FIRST];
    for number in 1..=further {
        rewards.push(ADDED.further_rewards.at(host, number)?);
    }
    Ok(rewards)
}

/// Returns the rewards in a token.
pub(super) fn by_token(host: &mut Host<'_>, token: Address) -> Result<Reward, Stop> {
    for reward in all(host)? {
        if reward.token.get(host)? == token {
            return Ok(reward);
        }
    }
    Err(revert(&sol::StakingUnknownReward { token }))
}

/// Counts the rewards of an account in all tokens (`updateReward`).
pub(super) fn update_all(host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
    all(host)?.into_iter().try_for_each(|reward| reward.update(host, account))
}

impl Reward {
    /// Returns whether it is the one whose events are StakingRewards'.
    pub(super) fn is_first(self) -> bool {
        self.rate.slot() == FIRST.rate.slot()
    }

    pub(super) fn last_time_applicable(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let now = now(host);
        Ok(now.min(self.period_finish.get(host)?))
    }

    /// Returns what a staked unit has had until now, times 10^18.
    pub(super) fn per_token(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let total = POOL.total_supply.get(host)?;
        let stored = self.per_token_stored.get(host)?;
        if total.is_zero() {
            return Ok(stored);
        }
        let elapsed = self.last_time_applicable(host)?.safe_sub(self.last_update_time.get(host)?)?;
        stored.safe_add(elapsed.safe_mul(self.rate.get(host)?)?.safe_mul(PRECISION)?.safe_div(total)?)
    }

    pub(super) fn earned(self, host: &mut Host<'_>, account: Address) -> Result<U256, Stop> {
        let per_token = self.per_token(host)?;
        self.earned_at(host, account, per_token)
    }

    /// Returns what an account has earned when a staked unit has had so much.
    fn earned_at(self, host: &mut Host<'_>, account: Address, per_token: U256) -> Result<U256, Stop> {
        let since = per_token.safe_sub(self.per_token_paid.get(host, account)?)?;
        let accrued = POOL.balances.get(host, account)?.safe_mul(since)?.safe_div(PRECISION)?;
        accrued.safe_add(self.owed.get(host, account)?)
    }

    pub(super) fn for_duration(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        self.rate.get(host)?.safe_mul(POOL.rewards_duration.get(host)?)
    }

    /// Counts what has accrued, and the part of an account; the zero address for none (`updateReward`).
    pub(super) fn update(self, host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
        let per_token = self.per_token(host)?;
        self.per_token_stored.set(host, per_token)?;
        let time = self.last_time_applicable(host)?;
        self.last_update_time.set(host, time)?;
        if account.is_zero() {
            return Ok(());
        }
        let earned = self.earned_at(host, account, per_token)?;
        self.owed.set(host, account, earned)?;
        self.per_token_paid.set(host, account, per_token)
    }

    /// Returns what the pool has to pay with: its balance, without the stakes when these are in the same token.
    pub(super) fn balance(self, host: &mut Host<'_>) -> Result<U256, Stop> {
        let (token, account) = (self.token.get(host)?, host.address());
        let balance = legacy_calls::view(host, token, &balanceOfCall { account })?;
        if token == POOL.staking_token.get(host)? {
            Ok(balance.saturating_sub(POOL.total_supply.get(host)?))
        } else {
            Ok(balance)
        }
    }

    /// Pays what an account is owed, as it was last counted.
    pub(super) fn pay(self, host: &mut Host<'_>, account: Address) -> Result<(), Stop> {
        let owed = self.owed.at(host, account)?;
        let reward = owed.get(host)?;
        if reward.is_zero() {
            return Ok(());
        }
        owed.set(host, U256::ZERO)?;
        let token = self.token.get(host)?;
        if token == POOL.staking_token.get(host)? {
            let available = self.balance(host)?;
            require(reward <= available, sol::StakingInsufficientRewards { token, available, needed: reward })?;
        }
        safe_erc20_v2::safe_transfer(host, token, account, reward)?;
        if self.is_first() {
            host.emit(&sol::RewardPaid { user: account, reward })
        } else {
            host.emit(&sol::TokenRewardPaid { user: account, token, reward })
        }
    }
}

/// Returns the block's timestamp, in seconds.
pub(super) fn now(host: &Host<'_>) -> U256 {
    U256::from(host.block().timestamp.as_secs())
}
