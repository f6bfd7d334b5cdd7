//! The pool's variables, in StakingRewards' order and by its names, and its additions.

use super::ADDITIONS;
use crate::vm::contract::*;

storage! {
    /// State variables, in solc's order.
    pub(super) contract PoolStorage {
        pub(super) owner: Slot<Address> as "owner",
        pub(super) nominated_owner: Slot<Address> as "nominatedOwner",
        pub(super) rewards_distribution: Slot<Address> as "rewardsDistribution",
        pub(super) guard_counter: Slot<U256> as "_guardCounter",
        pub(super) last_pause_time: Slot<U256> as "lastPauseTime",
        pub(super) paused: Slot<bool> as "paused",
        pub(super) rewards_token: Slot<Address> as "rewardsToken",
        pub(super) staking_token: Slot<Address> as "stakingToken",
        pub(super) period_finish: Slot<U256> as "periodFinish",
        pub(super) reward_rate: Slot<U256> as "rewardRate",
        pub(super) rewards_duration: Slot<U256> as "rewardsDuration",
        pub(super) last_update_time: Slot<U256> as "lastUpdateTime",
        pub(super) reward_per_token_stored: Slot<U256> as "rewardPerTokenStored",
        pub(super) user_reward_per_token_paid: Mapping<Address, U256> as "userRewardPerTokenPaid",
        pub(super) rewards: Mapping<Address, U256> as "rewards",
        pub(super) total_supply: Slot<U256> as "_totalSupply",
        pub(super) balances: Mapping<Address, U256> as "_balances",
    }
}

storage! {
    /// What StakingRewards does not have.
    pub(super) contract Additions layout at ADDITIONS {
        pub(super) terms: Slot<Terms> as "terms",
        pub(super) unlock_times: Mapping<Address, U256> as "unlockTimes",
        /// Rewards beside the first, from number 1 on.
        pub(super) further_rewards: Mapping<u8, Reward> as "furtherRewards",
    }
}

storage! {
    /// Rewards in one token.
    pub(super) struct Reward {
        pub(super) token: Slot<Address>,
        /// Moment until which rewards accrue, in seconds since the Unix epoch.
        pub(super) period_finish: Slot<U256>,
        /// Rewards a second, of all stakes together, in the token's smallest unit.
        pub(super) rate: Slot<U256>,
        pub(super) last_update_time: Slot<U256>,
        /// Rewards that a staked unit has had so far, times 10^18.
        pub(super) per_token_stored: Slot<U256>,
        /// That sum when an account's rewards were last counted.
        pub(super) per_token_paid: Mapping<Address, U256>,
        /// Rewards counted and not paid, by account.
        pub(super) owed: Mapping<Address, U256>,
    }
}

record! {
    /// What is fixed at the construction.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Terms {
        /// In seconds; 0 without a lock.
        pub(super) lock_period: u64,
        /// Number of rewards beside the first.
        pub(super) further_rewards: u8,
    }
}

pub(super) const POOL: PoolStorage = PoolStorage::STATE;
pub(super) const ADDED: Additions = Additions::STATE;

/// The rewards whose variables are StakingRewards'.
pub(super) const FIRST: Reward = Reward {
    token: POOL.rewards_token,
    period_finish: POOL.period_finish,
    rate: POOL.reward_rate,
    last_update_time: POOL.last_update_time,
    per_token_stored: POOL.reward_per_token_stored,
    per_token_paid: POOL.user_reward_per_token_paid,
    owed: POOL.rewards,
};
