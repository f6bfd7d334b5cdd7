//! Synthetix' StakingRewards: `staking-pool` with one reward and without a lock.
#![allow(non_snake_case)] // Solidity's names of parameters.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::templates::{Erc20Params, StakingPoolParams};
use proptest::{prelude::*, sample::select};

use super::erc20::{OWN_SLOTS, WITHOUT_VOTES};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, Answer, PERSONS, contract, person, receiver},
    suite::{Creation, Scene, Suite},
    values::{self, mostly_admin, sender},
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Staking {
        function nominateNewOwner(address _owner);
        function acceptOwnership();
        function setRewardsDistribution(address _rewardsDistribution);
        function setPaused(bool _paused);
        function stake(uint256 amount);
        function withdraw(uint256 amount);
        function getReward();
        function exit();
        function notifyRewardAmount(uint256 reward);
        function recoverERC20(address tokenAddress, uint256 tokenAmount);
        function setRewardsDuration(uint256 _rewardsDuration);
    }

    function transfer(address to, uint256 value);
    function approve(address spender, uint256 value);
    function pause();
    function unpause();
}

use Staking::*;

/// Places among the creations.
const STAKED: usize = 0;
const REWARD: usize = 1;
const POOL: usize = 2;

#[derive(Clone, Debug)]
struct StakingSuite;

#[derive(Clone, Debug)]
struct Setup {
    owner: Address,
    distribution: Address,
    reward: Address,
    staked: Address,
}

#[derive(Clone, Debug)]
enum Operation {
    Call {
        from: Address,
        call: StakingCalls,
    },
    /// Reward tokens are sent to the pool.
    Fund {
        amount: u64,
    },
    PauseToken {
        token: usize,
        is_on: bool,
    },
}

fn token() -> Erc20Params {
    let supply = U256::from(1_000_000_000_000_u64);
    Erc20Params { features: WITHOUT_VOTES, ..Erc20Params::new("Token", "TKN", supply, person(ADMIN)) }
}

impl Suite for StakingSuite {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = "StakingRewards";
    const INDEX: usize = POOL;
    const ADVANCES: u32 = 5;

    fn setups() -> BoxedStrategy<Setup> {
        let owner = prop_oneof![30 => Just(person(ADMIN)), 1 => Just(Address::ZERO)];
        let distribution = prop_oneof![8 => Just(person(ADMIN)), 1 => values::account()];
        let reward = prop_oneof![12 => Just(contract(REWARD)), 1 => Just(person(3))];
        let staked = prop_oneof![12 => Just(contract(STAKED)), 1 => Just(person(3))];
        (owner, distribution, reward, staked)
            .prop_map(|(owner, distribution, reward, staked)| Setup { owner, distribution, reward, staked })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use StakingCalls as Calls;
        use values::{account, amount};
        let duration =
            prop_oneof![6 => select(vec![1_u64, 3, 7, 100, 1_000, 604_800]), 1 => Just(0)].prop_map(U256::from);
        let duration = prop_oneof![20 => duration, 1 => values::edge()];
        let token = prop_oneof![6 => Just(contract(REWARD)), 2 => Just(contract(STAKED)), 1 => account()];
        let reward = prop_oneof![4 => (0_u64..3_000_000).prop_map(U256::from), 1 => amount()];
        let owner = prop_oneof![5 => Just(person(ADMIN)), 1 => values::a_person()];
        let calls = prop_oneof![
            10 => (sender(), amount()).prop_map(|(from, amount)| (from, Calls::stake(stakeCall { amount }))),
            7 => (sender(), amount()).prop_map(|(from, amount)| (from, Calls::withdraw(withdrawCall { amount }))),
            6 => sender().prop_map(|from| (from, Calls::getReward(getRewardCall {}))),
            3 => sender().prop_map(|from| (from, Calls::exit(exitCall {}))),
            4 => (mostly_admin(), reward)
                .prop_map(|(from, reward)| (from, Calls::notifyRewardAmount(notifyRewardAmountCall { reward }))),
            2 => (mostly_admin(), token, amount()).prop_map(|(from, tokenAddress, tokenAmount)| {
                (from, Calls::recoverERC20(recoverERC20Call { tokenAddress, tokenAmount }))
            }),
            4 => (mostly_admin(), duration).prop_map(|(from, _rewardsDuration)| {
                (from, Calls::setRewardsDuration(setRewardsDurationCall { _rewardsDuration }))
            }),
            1 => (mostly_admin(), owner.clone()).prop_map(|(from, _rewardsDistribution)| {
                (from, Calls::setRewardsDistribution(setRewardsDistributionCall { _rewardsDistribution }))
            }),
            2 => (mostly_admin(), any::<bool>())
                .prop_map(|(from, _paused)| (from, Calls::setPaused(setPausedCall { _paused }))),
            1 => (mostly_admin(), owner)
                .prop_map(|(from, _owner)| (from, Calls::nominateNewOwner(nominateNewOwnerCall { _owner }))),
            2 => mostly_admin().prop_map(|from| (from, Calls::acceptOwnership(acceptOwnershipCall {}))),
        ]
        .boxed()
        .prop_map(|(from, call)| Operation::Call { from, call });
        let fund = (0_u64..3_000_000).prop_map(|amount| Operation::Fund { amount });
        let pause = (0_usize..2, proptest::bool::weighted(0.2))
            .prop_map(|(token, is_on)| Operation::PauseToken { token, is_on });
        prop_oneof![24 => calls, 3 => fund, 1 => pause].boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let Setup { owner, distribution, reward, staked } = setup;
        let token = || Creation::reference("Erc20WithoutVotes", &token().encode());
        let params = (owner, distribution, reward, staked).abi_encode_params();
        vec![token(), token(), Creation::reference(Self::CONTRACT, &params)]
    }

    fn call(_: &Setup, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let (from, to, input) = match operation {
            Operation::Call { from, call } => (*from, POOL, call.abi_encode()),
            Operation::Fund { amount } => {
                (person(ADMIN), REWARD, transferCall { to: contract(POOL), value: U256::from(*amount) }.abi_encode())
            }
            Operation::PauseToken { token, is_on } => {
                (person(ADMIN), *token, if *is_on { pauseCall {}.abi_encode() } else { unpauseCall {}.abi_encode() })
            }
        };
        Call { from, to: contract(to), value: U256::ZERO, input: input.into() }
    }

    /// All have tokens that the pool may take, which has rewards for a while.
    fn preparation(_: &Setup) -> Vec<Call> {
        let send = |from, to, input: Vec<u8>| Call { from, to: contract(to), value: U256::ZERO, input: input.into() };
        let pool = contract(POOL);
        let mut calls = Vec::new();
        for user in (0..PERSONS).map(person).chain(Answer::ALL.map(receiver)) {
            calls.push(send(person(ADMIN), STAKED, transferCall { to: user, value: U256::from(1_000) }.abi_encode()));
            calls.push(send(user, STAKED, approveCall { spender: pool, value: U256::MAX }.abi_encode()));
        }
        calls.push(send(person(ADMIN), REWARD, transferCall { to: pool, value: U256::from(3_000_000) }.abi_encode()));
        calls.push(send(person(ADMIN), POOL, notifyRewardAmountCall { reward: U256::from(2_500_000) }.abi_encode()));
        calls
    }

    fn keys(_: &Setup) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([]), words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<StakingSuite>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<StakingSuite>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    Differential::<StakingSuite> {
        creations: |setup| {
            let Setup { owner, distribution, reward, staked } = *setup;
            let params = StakingPoolParams {
                rewards_distribution: distribution,
                ..StakingPoolParams::new(staked, reward, 0, owner)
            };
            vec![
                Creation::new(token().init_code()),
                Creation::new(token().init_code()),
                Creation::new(params.init_code()),
            ]
        },
        own_slots: &OWN_SLOTS,
        regressions: "tests/openzeppelin/regressions/staking.txt",
    }
    .run();
}
