//! The pool's Solidity interface: StakingRewards', and what several rewards, funding at a rate and a lock add.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Pays rewards to those who stake a token, in proportion to their stakes and by the second.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract StakingPool {
        /// A token that the pool pays, and how much of it a second.
        struct RewardTerms {
            address token;
            uint128 rate;
        }

        constructor(address stakingToken, address rewardToken, uint128 rewardRate, RewardTerms[] rewards, uint64 rewardsDuration, uint64 lockPeriod, address owner, address rewardsDistribution);

        event RewardAdded(uint256 reward);
        event Staked(address indexed user, uint256 amount);
        event Withdrawn(address indexed user, uint256 amount);
        event RewardPaid(address indexed user, uint256 reward);
        event RewardsDurationUpdated(uint256 newDuration);
        event Recovered(address token, uint256 amount);
        event OwnerNominated(address newOwner);
        event OwnerChanged(address oldOwner, address newOwner);
        event PauseChanged(bool isPaused);
        /// Rewards in a token beside the first were added.
        event TokenRewardAdded(address indexed token, uint256 reward);
        /// Rewards in a token beside the first were paid.
        event TokenRewardPaid(address indexed user, address indexed token, uint256 reward);
        /// Tokens were paid in, for which rewards go on at their rate until `periodFinish`.
        event RewardFunded(address indexed token, uint256 amount, uint256 periodFinish);

        /// The stake may not leave before that moment, in seconds since the Unix epoch.
        error StakeLocked(address account, uint256 unlockTime);
        /// The staking token is no valid account, such as the zero address.
        error StakingInvalidToken(address token);
        /// Rewards are named twice: as `rewardToken` with its rate, and in the list.
        error StakingAmbiguousRewards();
        /// A token is named twice among the rewards.
        error StakingDuplicateReward(address token);
        /// There are more rewards than a pool can have.
        error StakingTooManyRewards(uint256 count, uint256 max);
        /// The lock is longer than the longest one, in seconds.
        error StakingInvalidLockPeriod(uint256 lockPeriod, uint256 max);
        /// The pool pays no rewards in this token.
        error StakingUnknownReward(address token);
        /// Rewards in this token have no rate yet, at which they could be funded.
        error StakingNoRewardRate(address token);
        /// What was paid in is not enough for a second.
        error StakingFundingTooSmall(address token, uint256 amount, uint256 rate);
        /// An amount of rewards is larger than the largest at a time.
        error StakingRewardTooLarge(address token, uint256 amount, uint256 max);
        /// The pool has too little beside the stakes, which are in the same token.
        error StakingInsufficientRewards(address token, uint256 available, uint256 needed);

        function owner() external view returns (address);
        function nominatedOwner() external view returns (address);
        function nominateNewOwner(address _owner) external;
        function acceptOwnership() external;
        function rewardsDistribution() external view returns (address);
        function setRewardsDistribution(address _rewardsDistribution) external;
        function lastPauseTime() external view returns (uint256);
        function paused() external view returns (bool);
        function setPaused(bool _paused) external;
        function rewardsToken() external view returns (address);
        function stakingToken() external view returns (address);
        function periodFinish() external view returns (uint256);
        function rewardRate() external view returns (uint256);
        function rewardsDuration() external view returns (uint256);
        function lastUpdateTime() external view returns (uint256);
        function rewardPerTokenStored() external view returns (uint256);
        function userRewardPerTokenPaid(address account) external view returns (uint256);
        function rewards(address account) external view returns (uint256);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function lastTimeRewardApplicable() external view returns (uint256);
        function rewardPerToken() external view returns (uint256);
        function earned(address account) external view returns (uint256);
        function getRewardForDuration() external view returns (uint256);
        function stake(uint256 amount) external;
        function withdraw(uint256 amount) external;
        function getReward() external;
        function exit() external;
        function notifyRewardAmount(uint256 reward) external;
        function recoverERC20(address tokenAddress, uint256 tokenAmount) external;
        function setRewardsDuration(uint256 _rewardsDuration) external;

        /// The tokens that the pool pays, `rewardsToken` first.
        function rewardTokens() external view returns (address[] memory);
        function periodFinish(address token) external view returns (uint256);
        function rewardRate(address token) external view returns (uint256);
        function lastTimeRewardApplicable(address token) external view returns (uint256);
        function rewardPerToken(address token) external view returns (uint256);
        function earned(address account, address token) external view returns (uint256);
        function getRewardForDuration(address token) external view returns (uint256);
        function notifyRewardAmount(address token, uint256 reward) external;
        /// Pays the caller's rewards in one token: when another token refuses, `getReward()` does too.
        function getReward(address token) external;
        /// Takes from the caller what the rate pays in whole seconds, at most `amount`, and lets the rewards go on for that time.
        function fundReward(address token, uint256 amount) external returns (uint256 duration);
        /// Time for which stakes are locked, in seconds.
        function lockPeriod() external view returns (uint256);
        /// Moment from which an account's stake may leave; 0 without a lock.
        function unlockTime(address account) external view returns (uint256);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use StakingPool::*;
