//! Contracts that many accounts share: stakes in a pool, and transactions of a wallet of several owners. Execution alone, without intrinsic gas,
//! roots or commits.
//!
//! `rewards` is the number of tokens that the pool pays, `owners` that of the wallet's owners, all of whom confirm.

use alloy_sol_types::SolCall;
use chainbox::{
    primitives::{Address, Bytes, Gas, Timestamp, U256},
    state::{CommitId, Journal, MemoryState, StateStore},
    templates::{
        Erc20Params, MultisigParams, RewardTerms, StakingPoolParams, builtin,
        erc20::interface::{approveCall, transferCall},
        multisig::interface::{confirmTransactionCall, submitTransactionCall, transactionCountCall},
        staking_pool::interface::{fundRewardCall, stakeCall, totalSupplyCall},
    },
    vm::{BlockContext, Message, execute},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const DEPLOYER: Address = Address::repeat_byte(0xaa);
const USERS: u64 = 1_000;
const SUPPLY: U256 = U256::from_limbs([1 << 63, 0, 0, 0]);
const NOW: u64 = 1_000;

/// A call of a contract by an account.
type Call = (Address, Address, Bytes);

struct Chain {
    journal: Journal,
    block: BlockContext,
    creations: u64,
}

impl Chain {
    fn new() -> Self {
        let view = MemoryState::new().view(CommitId::EMPTY).expect("the empty version");
        let block = BlockContext { timestamp: Timestamp::from_secs(NOW), ..BlockContext::default() };
        Self { journal: Journal::new(view), block, creations: 0 }
    }

    fn create(&mut self, init_code: &[u8]) -> Address {
        let message = Message::create(DEPLOYER, self.creations, U256::ZERO, init_code, Gas::new(10_000_000));
        self.creations += 1;
        transact(&mut self.journal, &self.block, &message);
        message.to
    }

    fn token(&mut self) -> Address {
        self.create(&Erc20Params::new("Token", "TKN", SUPPLY, DEPLOYER).init_code())
    }

    fn call(&mut self, from: Address, to: Address, call: &impl SolCall) -> Bytes {
        let input = call.abi_encode();
        let message = Message::call(from, to, U256::ZERO, &input, Gas::new(10_000_000));
        transact(&mut self.journal, &self.block, &message)
    }

    /// Runs calls, a transaction each, on a copy of the state.
    fn run_all(&self, mut journal: Journal, calls: &[Call]) -> Journal {
        for (from, to, input) in calls {
            let message = Message::call(*from, *to, U256::ZERO, input, Gas::new(10_000_000));
            transact(&mut journal, &self.block, &message);
        }
        journal
    }
}

fn transact(journal: &mut Journal, block: &BlockContext, message: &Message<'_>) -> Bytes {
    journal.begin_transaction();
    let result = execute(journal, block, builtin(), message).expect("memory");
    assert!(result.is_success(), "{result:?}");
    result.output
}

fn user(number: u64) -> Address {
    Address::left_padding_from(&(number + 1_000_000).to_be_bytes())
}

/// Every user adds to a stake, in another second than that of the last change.
fn stakes(c: &mut Criterion) {
    let mut group = c.benchmark_group("execute_stakes");
    group.throughput(Throughput::Elements(USERS)).sample_size(20);
    for rewards in [1, 2, 8] {
        let mut chain = Chain::new();
        let staking = chain.token();
        let tokens: Vec<_> = (0..rewards).map(|_| chain.token()).collect();
        let terms = tokens.iter().map(|token| RewardTerms { token: *token, rate: 1_000 }).collect();
        let params = StakingPoolParams { rewards: terms, ..StakingPoolParams::new(staking, tokens[0], 0, DEPLOYER) };
        let pool = chain.create(&params.init_code());
        for token in tokens {
            chain.call(DEPLOYER, token, &approveCall { spender: pool, value: U256::MAX });
            chain.call(DEPLOYER, pool, &fundRewardCall { token, amount: U256::from(1_000_000_000) });
        }
        let stake = stakeCall { amount: U256::from(1_000) };
        for number in 0..USERS {
            chain.call(DEPLOYER, staking, &transferCall { to: user(number), value: U256::from(1_000_000) });
            chain.call(user(number), staking, &approveCall { spender: pool, value: U256::MAX });
            chain.call(user(number), pool, &stake);
        }
        chain.block.timestamp = Timestamp::from_secs(NOW + 100);
        let calls: Vec<Call> = (0..USERS).map(|number| (user(number), pool, stake.abi_encode().into())).collect();
        let mut after = Chain { journal: chain.run_all(chain.journal.clone(), &calls), ..Chain::new() };
        let total = after.call(DEPLOYER, pool, &totalSupplyCall {});
        assert_eq!(U256::from_be_slice(&total), U256::from(2_000 * USERS));
        group.bench_function(format!("rewards={rewards}"), |b| {
            b.iter_batched(|| chain.journal.clone(), |journal| chain.run_all(journal, &calls), BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// One owner submits a transaction and the others confirm it, the last of whom executes it.
fn confirmations(c: &mut Criterion) {
    const TRANSACTIONS: u64 = 200;
    let mut group = c.benchmark_group("execute_multisig_transactions");
    group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
    for owners in [1, 3, 10] {
        let mut chain = Chain::new();
        let everyone: Vec<_> = (0..owners).map(user).collect();
        let wallet = chain.create(&MultisigParams::new(everyone.clone(), owners as u32).init_code());
        let submit = submitTransactionCall { destination: DEPLOYER, value: U256::ZERO, data: Bytes::new() };
        let mut calls: Vec<Call> = Vec::new();
        for number in 0..TRANSACTIONS {
            calls.push((everyone[0], wallet, submit.abi_encode().into()));
            let confirm = confirmTransactionCall { transactionId: U256::from(number) };
            calls.extend(everyone[1..].iter().map(|owner| (*owner, wallet, confirm.abi_encode().into())));
        }
        let mut after = Chain { journal: chain.run_all(chain.journal.clone(), &calls), ..Chain::new() };
        let count = after.call(DEPLOYER, wallet, &transactionCountCall {});
        assert_eq!(U256::from_be_slice(&count), U256::from(TRANSACTIONS));
        group.bench_function(format!("owners={owners}"), |b| {
            b.iter_batched(|| chain.journal.clone(), |journal| chain.run_all(journal, &calls), BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, stakes, confirmations);
criterion_main!(benches);
