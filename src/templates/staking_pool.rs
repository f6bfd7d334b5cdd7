//! `staking-pool`: rewards for those who stake a token, equivalent to Synthetix' StakingRewards, in several tokens and with a lock by
//! choice.
//!
//! Whoever stakes gets of each second's rewards the part that their stake is of all stakes. The account `rewardsDistribution` decides on
//! the rewards, in either of two ways:
//!
//! - `notifyRewardAmount`, as in StakingRewards: an amount that the pool has already is spread over `rewardsDuration` from now on, with
//!   what is left of the current period. The amount makes the rate.
//! - `fundReward`, an addition: the pool takes tokens from its caller, and rewards go on for as many seconds as these pay at the rate. The
//!   rate is the one given at the construction, or that of the last `notifyRewardAmount`. Nothing accrues beyond what was paid in, so that
//!   a pool that was given a rate and never funded pays nothing.
//!
//! A pool of one reward token, which is not the staking token, and without a lock does what StakingRewards does, with its storage. The
//! additions:
//!
//! - Up to [`REWARDS_MAX`] rewards, each with its own token, rate and period; the duration is theirs together. The functions of
//!   StakingRewards speak of the first one, those with a `token` of any. `getReward` and `exit` pay all, `getReward(token)` one, so that a
//!   token that refuses keeps nobody from the others. Events of rewards beside the first name their token.
//! - A lock: each stake locks all of its account's stake for `lockPeriod` from then on. Rewards are paid meanwhile.
//! - Where the reward token is the staking token, stakes are no rewards: they don't count for `notifyRewardAmount`, and rewards are never
//!   paid out of them (`StakingInsufficientRewards`). StakingRewards would pay some with the stakes of others.
//! - ERC-165.
//!
//! As in StakingRewards, rewards of seconds in which nobody stakes accrue to nobody; the owner recovers them, or any token but the staking
//! token, by `recoverERC20`; and a stake counts in full, so that a staking token must not take fees on transfers.
//!
//! The storage layout is solc's for StakingRewards, and what it does not have is apart:
//!
//! | slot | what |
//! |---|---|
//! | 0, 1 | owner, and who is nominated to be the next |
//! | 2 | who decides on the rewards |
//! | 3 | count of guarded calls, against reentrancy |
//! | 4 | moment of the last pause |
//! | 5 | whether staking is paused (bits 0 to 7), the first reward token (from bit 8 on) |
//! | 6 | the staking token |
//! | 7, 8 | end of the period, rate |
//! | 9 | duration of periods |
//! | 10, 11 | when rewards were last counted, and what a staked unit had had then, times 10^18 |
//! | 12, 13 | `mapping(address => uint256)` that sum when an account's rewards were last counted, what it was owed then |
//! | 14, 15 | all stakes, `mapping(address => uint256)` stakes |
//! | [`ADDITIONS`] | lock, in seconds (lowest 64 bits); number of rewards beside the first (8 bits); zero without both |
//! | [`ADDITIONS`] + 1 | `mapping(address => uint256)` moment from which a stake may leave |
//! | [`ADDITIONS`] + 2 | `mapping(uint8 => Reward)` rewards beside the first, by number |

mod funding;
pub mod interface;
mod owned;
mod reward;
mod stakes;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    interface::StakingPool::{self as sol, StakingPoolCalls as Calls},
    state::{ADDED, FIRST, POOL},
};
use super::common::erc165::supports;
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

pub use funding::REWARD_MAX;
pub use interface::RewardTerms;
pub use stakes::{LOCK_PERIOD_MAX, REWARDS_MAX};

/// First slot of what StakingRewards does not have: keccak of `chainbox.staking.additions`.
pub const ADDITIONS: U256 = uint!(0xb8af079d36055ffa3938c32b0fb71094a4c21a8532e9e3720a1b025d7009e4e9_U256);

/// Duration of periods of StakingRewards, in seconds: 7 days.
const DURATION_SECS: u64 = 7 * 24 * 60 * 60;

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address stakingToken, address rewardToken, uint128 rewardRate, (address token, uint128 rate)[] rewards, uint64
/// rewardsDuration, uint64 lockPeriod, address owner, address rewardsDistribution)`. Of the rewards only the list is used here.
///
/// ```
/// use chainbox::{primitives::Address, templates::StakingPoolParams};
/// let [token, reward, owner] = [1, 2, 3].map(Address::repeat_byte);
/// let params = StakingPoolParams { lock_period_secs: 86_400, ..StakingPoolParams::new(token, reward, 5, owner) };
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 12, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StakingPoolParams {
    /// The token that is staked.
    pub staking_token: Address,
    /// Tokens that the pool pays and what it pays of each in a second, once that is funded; at least one and at most [`REWARDS_MAX`].
    pub rewards: Vec<RewardTerms>,
    /// Time over which `notifyRewardAmount` spreads an amount, in seconds.
    pub rewards_duration_secs: u64,
    /// Time for which a stake is locked, in seconds, at most [`LOCK_PERIOD_MAX`].
    pub lock_period_secs: u64,
    /// Account that pauses, recovers tokens and names who decides on rewards.
    pub owner: Address,
    /// Account that decides on rewards.
    pub rewards_distribution: Address,
}

impl StakingPoolParams {
    /// Creates parameters of a pool with one reward and without a lock, whose owner decides on the rewards, over 7 days.
    pub fn new(staking_token: Address, reward_token: Address, rate: u128, owner: Address) -> Self {
        Self {
            staking_token,
            rewards: vec![RewardTerms { token: reward_token, rate }],
            rewards_duration_secs: DURATION_SECS,
            lock_period_secs: 0,
            owner,
            rewards_distribution: owner,
        }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall {
            stakingToken: self.staking_token,
            rewardToken: Address::ZERO,
            rewardRate: 0,
            rewards: self.rewards.clone(),
            rewardsDuration: self.rewards_duration_secs,
            lockPeriod: self.lock_period_secs,
            owner: self.owner,
            rewardsDistribution: self.rewards_distribution,
        }
        .abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(StakingPool::ID).init_code(&self.encode())
    }
}

/// The template `staking-pool`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct StakingPool;

impl StakingPool {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(12, 1);
    /// Name of the template.
    pub const NAME: &'static str = "staking-pool";
}

impl Template for StakingPool {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Synthetix' StakingRewards, with a lock"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let a_second = "the token's smallest unit a second";
        vec![
            ParameterNote::of("stakingToken", "The ERC-20 token that is staked."),
            ParameterNote::of(
                "rewardToken",
                "The ERC-20 token that the pool pays; the zero address for the staking token.",
            )
            .with_default(Address::ZERO.to_string()),
            ParameterNote::of("rewardRate", "What the pool pays in a second, once fundReward paid for it.")
                .with_unit(a_second)
                .with_default("0"),
            ParameterNote::of(
                "rewards",
                "Instead of rewardToken and rewardRate: up to 8 tokens that the pool pays, each with its rate.",
            )
            .with_default(Vec::<String>::new()),
            ParameterNote::of("rewards.token", "The ERC-20 token; the zero address for the staking token.")
                .with_default(Address::ZERO.to_string()),
            ParameterNote::of("rewards.rate", "What the pool pays in a second, once fundReward paid for it.")
                .with_unit(a_second)
                .with_default("0"),
            ParameterNote::of("rewardsDuration", "Time over which notifyRewardAmount spreads an amount.")
                .with_unit(Unit::Duration)
                .with_default("7d"),
            ParameterNote::of(
                "lockPeriod",
                "Time for which a stake is locked, from an account's last one on; at most 36500d.",
            )
            .with_unit(Unit::Duration)
            .with_default("0"),
            ParameterNote::of("owner", "Account that pauses, recovers tokens and names who decides on rewards.")
                .with_default_deployer(),
            ParameterNote::of("rewardsDistribution", "Account that decides on rewards.").with_default_deployer(),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::PoolStorage>().and::<state::Additions>()
    }

    fn gas_table(&self) -> &str {
        include_str!("staking_pool/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        stakes::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_v1::<Calls>(input, NONE_PAYABLE)? {
            Calls::owner(call) => call.returns(POOL.owner.get(host)?),
            Calls::nominatedOwner(call) => call.returns(POOL.nominated_owner.get(host)?),
            Calls::nominateNewOwner(call) => call.returns(owned::nominate_new_owner(host, call._owner)?),
            Calls::acceptOwnership(call) => call.returns(owned::accept_ownership(host)?),
            Calls::rewardsDistribution(call) => call.returns(POOL.rewards_distribution.get(host)?),
            Calls::setRewardsDistribution(call) => call.returns(funding::set_rewards_distribution(host, call._rewardsDistribution)?),
            Calls::lastPauseTime(call) => call.returns(POOL.last_pause_time.get(host)?),
            Calls::paused(call) => call.returns(POOL.paused.get(host)?),
            Calls::setPaused(call) => call.returns(owned::set_paused(host, call._paused)?),
            Calls::rewardsToken(call) => call.returns(POOL.rewards_token.get(host)?),
            Calls::stakingToken(call) => call.returns(POOL.staking_token.get(host)?),
            Calls::periodFinish_0(call) => call.returns(POOL.period_finish.get(host)?),
            Calls::rewardRate_0(call) => call.returns(POOL.reward_rate.get(host)?),
            Calls::rewardsDuration(call) => call.returns(POOL.rewards_duration.get(host)?),
            Calls::lastUpdateTime(call) => call.returns(POOL.last_update_time.get(host)?),
            Calls::rewardPerTokenStored(call) => call.returns(POOL.reward_per_token_stored.get(host)?),
            Calls::userRewardPerTokenPaid(call) => call.returns(POOL.user_reward_per_token_paid.get(host, call.account)?),
            Calls::rewards(call) => call.returns(POOL.rewards.get(host, call.account)?),
            Calls::totalSupply(call) => call.returns(POOL.total_supply.get(host)?),
            Calls::balanceOf(call) => call.returns(POOL.balances.get(host, call.account)?),
            Calls::lastTimeRewardApplicable_0(call) => call.returns(FIRST.last_time_applicable(host)?),
            Calls::rewardPerToken_0(call) => call.returns(FIRST.per_token(host)?),
            Calls::earned_0(call) => call.returns(FIRST.earned(host, call.account)?),
            Calls::getRewardForDuration_0(call) => call.returns(FIRST.for_duration(host)?),
            Calls::stake(call) => call.returns(stakes::stake(host, call.amount)?),
            Calls::withdraw(call) => call.returns(stakes::withdraw(host, call.amount)?),
            Calls::getReward_0(call) => call.returns(stakes::get_rewards(host)?),
            Calls::exit(call) => call.returns(stakes::exit(host)?),
            Calls::notifyRewardAmount_0(call) => call.returns(funding::notify(host, FIRST, call.reward)?),
            Calls::recoverERC20(call) => call.returns(funding::recover(host, call.tokenAddress, call.tokenAmount)?),
            Calls::setRewardsDuration(call) => call.returns(funding::set_rewards_duration(host, call._rewardsDuration)?),
            Calls::rewardTokens(call) => call.returns(stakes::reward_tokens(host)?),
            Calls::periodFinish_1(call) => call.returns(reward::by_token(host, call.token)?.period_finish.get(host)?),
            Calls::rewardRate_1(call) => call.returns(reward::by_token(host, call.token)?.rate.get(host)?),
            Calls::lastTimeRewardApplicable_1(call) => call.returns(reward::by_token(host, call.token)?.last_time_applicable(host)?),
            Calls::rewardPerToken_1(call) => call.returns(reward::by_token(host, call.token)?.per_token(host)?),
            Calls::earned_1(call) => call.returns(reward::by_token(host, call.token)?.earned(host, call.account)?),
            Calls::getRewardForDuration_1(call) => call.returns(reward::by_token(host, call.token)?.for_duration(host)?),
            Calls::notifyRewardAmount_1(call) => {
                let reward = reward::by_token(host, call.token)?;
                call.returns(funding::notify(host, reward, call.reward)?)
            }
            Calls::getReward_1(call) => call.returns(stakes::get_reward_in(host, call.token)?),
            Calls::fundReward(call) => call.returns(funding::fund(host, call.token, call.amount)?),
            Calls::lockPeriod(call) => call.returns(stakes::lock_period(host)?),
            Calls::unlockTime(call) => call.returns(ADDED.unlock_times.get(host, call.account)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
