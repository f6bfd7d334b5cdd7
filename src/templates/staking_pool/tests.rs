//! The pool's rules, its rewards and locks, hostile tokens, what it costs, and all histories.

mod additions;
mod golden;
mod hostile;
mod properties;

use alloy_primitives::{address, keccak256};
use alloy_sol_types::Revert;

use super::{interface as sol, *};
use crate::{
    templates::test_chain::{
        NOW, TestChain,
        test_token::{self as asset, TestToken},
    },
    vm::Descriptor,
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const BOB: Address = address!("000000000000000000000000000000000000b002");
const CAROL: Address = address!("000000000000000000000000000000000000c003");
const USERS: [Address; 3] = [OWNER, BOB, CAROL];

/// Tokens of each kind that each user has at first.
const TOKENS: u64 = 1_000_000_000;

const DAY: u64 = 24 * 60 * 60;
const WEEK: u64 = 7 * DAY;

/// A pool over plain tokens, of which everyone has some that the pool may take.
#[derive(Clone)]
struct World {
    chain: TestChain,
    pool: Address,
    staking: Address,
    rewards: Vec<Address>,
}

impl World {
    /// A pool of one reward, without rate and lock: StakingRewards.
    fn plain() -> Self {
        Self::new(&[0], 0, DURATION_SECS)
    }

    /// A pool of rewards with these rates.
    fn new(rates: &[u128], lock_period_secs: u64, rewards_duration_secs: u64) -> Self {
        let mut chain = TestChain::new(&USERS);
        let token = TestToken::init_code(18, 3 * TOKENS);
        let staking = chain.deploy(OWNER, 0, &token);
        let rewards: Vec<_> = rates.iter().map(|_| chain.deploy(OWNER, 0, &token)).collect();
        Self::over(chain, staking, rewards, rates, lock_period_secs, rewards_duration_secs)
    }

    fn over(
        mut chain: TestChain,
        staking: Address,
        rewards: Vec<Address>,
        rates: &[u128],
        lock_period_secs: u64,
        rewards_duration_secs: u64,
    ) -> Self {
        let terms = rewards.iter().zip(rates).map(|(token, rate)| RewardTerms { token: *token, rate: *rate }).collect();
        let params = StakingPoolParams {
            rewards: terms,
            lock_period_secs,
            rewards_duration_secs,
            ..StakingPoolParams::new(staking, staking, 0, OWNER)
        };
        let pool = chain.deploy(OWNER, 0, &params.init_code());
        let mut world = Self { chain, pool, staking, rewards };
        let mut tokens = world.rewards.clone();
        tokens.push(staking);
        tokens.dedup();
        for token in tokens {
            for user in [BOB, CAROL] {
                world.pay(OWNER, token, user, TOKENS);
            }
            for user in USERS {
                world.chain.ok(user, token, &asset::approveCall { spender: pool, value: U256::MAX });
            }
        }
        world
    }

    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.pool, call)
    }

    /// Calls the pool, which refuses with this reason.
    fn fails<C: SolCall>(&mut self, from: Address, call: &C, reason: &str) {
        self.chain.fails(from, self.pool, call, &Revert::from(reason));
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.pool, call)
    }

    fn pay(&mut self, from: Address, token: Address, to: Address, value: u64) {
        self.chain.ok(from, token, &asset::transferCall { to, value: U256::from(value) });
    }

    fn held(&self, token: Address, account: Address) -> u64 {
        self.chain.read(token, &asset::balanceOfCall { account }).to()
    }

    fn stake(&mut self, from: Address, amount: u64) {
        self.ok(from, &stake(amount));
    }

    /// Pays so much into the pool and spreads it over the duration.
    fn notify(&mut self, amount: u64) {
        self.pay(OWNER, self.rewards[0], self.pool, amount);
        self.ok(OWNER, &notify(amount));
    }

    fn earned(&self, account: Address) -> u64 {
        self.read(&sol::earned_0Call { account }).to()
    }

    /// Moves to so many seconds after the start.
    fn after(&mut self, seconds: u64) {
        self.chain.at(NOW + seconds);
    }
}

fn stake(amount: u64) -> sol::stakeCall {
    sol::stakeCall { amount: U256::from(amount) }
}

fn withdraw(amount: u64) -> sol::withdrawCall {
    sol::withdrawCall { amount: U256::from(amount) }
}

fn notify(amount: u64) -> sol::notifyRewardAmount_0Call {
    sol::notifyRewardAmount_0Call { reward: U256::from(amount) }
}

fn fund(token: Address, amount: u64) -> sol::fundRewardCall {
    sol::fundRewardCall { token, amount: U256::from(amount) }
}

#[test]
fn rewards_accrue_by_the_second_in_proportion_to_stakes() {
    let mut world = World::plain();
    world.notify(10 * WEEK);
    assert_eq!(world.read(&sol::rewardRate_0Call {}), U256::from(10));
    assert_eq!(world.read(&sol::getRewardForDuration_0Call {}), U256::from(10 * WEEK));
    assert_eq!(world.read(&sol::periodFinish_0Call {}), U256::from(NOW + WEEK));
    world.stake(BOB, 100);
    world.after(100);
    world.stake(CAROL, 400);
    world.after(200);
    assert_eq!((world.earned(BOB), world.earned(CAROL)), (1_200, 800));
    world.ok(BOB, &withdraw(100));
    world.after(300);
    assert_eq!((world.earned(BOB), world.earned(CAROL)), (1_200, 1_800));
    world.ok(BOB, &sol::getReward_0Call {});
    let paid = sol::RewardPaid { user: BOB, reward: U256::from(1_200) };
    assert_eq!(world.chain.journal.logs().last().unwrap().data, paid.encode_log_data());
    assert_eq!(world.held(world.rewards[0], BOB), TOKENS + 1_200);
    // After the period nothing accrues.
    world.after(WEEK);
    let at_end = world.earned(CAROL);
    assert_eq!(at_end, 1_800 + 10 * (WEEK - 300));
    world.after(2 * WEEK);
    assert_eq!(world.earned(CAROL), at_end);
    world.ok(CAROL, &sol::exitCall {});
    assert_eq!(world.held(world.rewards[0], CAROL), TOKENS + at_end);
    assert_eq!(world.held(world.staking, CAROL), TOKENS);
    assert_eq!(world.read(&sol::totalSupplyCall {}), U256::ZERO);
}

#[test]
fn an_amount_joins_what_is_left_of_the_period() {
    let mut world = World::plain();
    world.notify(10 * WEEK);
    world.after(WEEK / 2);
    world.notify(10 * WEEK);
    assert_eq!(world.read(&sol::rewardRate_0Call {}), U256::from(15));
    assert_eq!(world.read(&sol::periodFinish_0Call {}), U256::from(NOW + WEEK / 2 + WEEK));
    // What the pool does not have is refused, but for what is rounded away.
    world.fails(OWNER, &notify(10 * WEEK), "Provided reward too high");
}

#[test]
fn what_the_reference_refuses_is_refused_with_its_reasons() {
    let mut world = World::plain();
    world.fails(BOB, &stake(0), "Cannot stake 0");
    world.fails(BOB, &withdraw(0), "Cannot withdraw 0");
    world.fails(BOB, &withdraw(1), "SafeMath: subtraction overflow");
    world.fails(BOB, &sol::exitCall {}, "Cannot withdraw 0");
    world.fails(BOB, &stake(TOKENS + 1), "SafeERC20: low-level call failed");
    world.fails(BOB, &notify(1), "Caller is not RewardsDistribution contract");
    let owner_only = "Only the contract owner may perform this action";
    world.fails(BOB, &sol::setPausedCall { _paused: true }, owner_only);
    world.fails(BOB, &sol::setRewardsDurationCall { _rewardsDuration: U256::ONE }, owner_only);
    world.fails(BOB, &sol::setRewardsDistributionCall { _rewardsDistribution: BOB }, owner_only);
    world.fails(BOB, &sol::nominateNewOwnerCall { _owner: BOB }, owner_only);
    world.fails(BOB, &sol::acceptOwnershipCall {}, "You must be nominated before you can accept ownership");
    let recover = |token| sol::recoverERC20Call { tokenAddress: token, tokenAmount: U256::ONE };
    let (staking, reward) = (world.staking, world.rewards[0]);
    world.fails(BOB, &recover(reward), owner_only);
    world.fails(OWNER, &recover(staking), "Cannot withdraw the staking token");
    world.fails(OWNER, &recover(BOB), "SafeERC20: call to non-contract");
    world.notify(10 * WEEK);
    world.after(WEEK);
    let duration = sol::setRewardsDurationCall { _rewardsDuration: U256::from(DAY) };
    let early = "Previous rewards period must be complete before changing the duration for the new period";
    world.fails(OWNER, &duration, early);
    world.after(WEEK + 1);
    world.ok(OWNER, &duration);
    world.ok(OWNER, &recover(reward));
    world.ok(OWNER, &sol::setRewardsDurationCall { _rewardsDuration: U256::ZERO });
    world.fails(OWNER, &notify(1), "SafeMath: division by zero");
}

#[test]
fn a_pause_stops_stakes_alone_and_ownership_takes_two_steps() {
    let mut world = World::plain();
    world.stake(BOB, 10);
    world.after(5);
    world.ok(OWNER, &sol::setPausedCall { _paused: true });
    assert_eq!(world.read(&sol::lastPauseTimeCall {}), U256::from(NOW + 5));
    world.ok(OWNER, &sol::setPausedCall { _paused: true });
    assert!(world.chain.journal.logs().is_empty(), "it is paused already");
    world.fails(BOB, &stake(1), "This action cannot be performed while the contract is paused");
    world.ok(BOB, &withdraw(4));
    world.ok(OWNER, &sol::setPausedCall { _paused: false });
    world.stake(BOB, 1);
    world.ok(OWNER, &sol::nominateNewOwnerCall { _owner: CAROL });
    assert_eq!((world.read(&sol::ownerCall {}), world.read(&sol::nominatedOwnerCall {})), (OWNER, CAROL));
    world.ok(CAROL, &sol::acceptOwnershipCall {});
    assert_eq!((world.read(&sol::ownerCall {}), world.read(&sol::nominatedOwnerCall {})), (CAROL, Address::ZERO));
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.staking.additions").0), ADDITIONS);
    let layout = StakingPool.storage_layout();
    let variables = layout.storage.iter().filter(|entry| entry.contract.contains("PoolStorage"));
    let variables = variables
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "owner 0 0 address",
        "nominatedOwner 1 0 address",
        "rewardsDistribution 2 0 address",
        "_guardCounter 3 0 uint256",
        "lastPauseTime 4 0 uint256",
        "paused 5 0 bool",
        "rewardsToken 5 1 address",
        "stakingToken 6 0 address",
        "periodFinish 7 0 uint256",
        "rewardRate 8 0 uint256",
        "rewardsDuration 9 0 uint256",
        "lastUpdateTime 10 0 uint256",
        "rewardPerTokenStored 11 0 uint256",
        "userRewardPerTokenPaid 12 0 mapping(address => uint256)",
        "rewards 13 0 mapping(address => uint256)",
        "_totalSupply 14 0 uint256",
        "_balances 15 0 mapping(address => uint256)",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_pool_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&StakingPool);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let deployed = |init_code: Bytes| {
        let mut chain = TestChain::new(&[OWNER]);
        let pool = chain.deploy(OWNER, 0, &init_code);
        let terms = |token| {
            let rate: U256 = chain.read(pool, &sol::rewardRate_1Call { token });
            (token, rate.to::<u64>())
        };
        let rewards: Vec<_> = chain.read(pool, &sol::rewardTokensCall {}).into_iter().map(terms).collect();
        let owner = (chain.read(pool, &sol::ownerCall {}), chain.read(pool, &sol::rewardsDistributionCall {}));
        let times = (chain.read(pool, &sol::lockPeriodCall {}), chain.read(pool, &sol::rewardsDurationCall {}));
        (rewards, owner, (times.0.to::<u64>(), times.1.to::<u64>()))
    };
    let least = serde_json::json!({ "stakingToken": BOB.to_string() });
    assert_eq!(deployed(encode(least).unwrap()), (vec![(BOB, 0)], (OWNER, OWNER), (0, WEEK)));
    let one = serde_json::json!({
        "stakingToken": BOB.to_string(), "rewardToken": CAROL.to_string(), "rewardRate": "7", "lockPeriod": "30d",
    });
    assert_eq!(deployed(encode(one).unwrap()), (vec![(CAROL, 7)], (OWNER, OWNER), (30 * DAY, WEEK)));
    let several = serde_json::json!({
        "stakingToken": BOB.to_string(), "rewards": [{ "token": CAROL.to_string(), "rate": "3" }, { "rate": "4" }],
        "rewardsDuration": "1d", "owner": CAROL.to_string(),
    });
    assert_eq!(deployed(encode(several).unwrap()), (vec![(CAROL, 3), (BOB, 4)], (CAROL, OWNER), (0, DAY)));
    let errors = encode(serde_json::json!({ "lockPeriod": "soon" })).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["stakingToken", "lockPeriod"]);
}
