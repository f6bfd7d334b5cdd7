//! What lists of calls do, what block data is told, what it costs.

mod golden;

use alloy_primitives::b256;
use alloy_sol_types::{Revert, SolValue};
use proptest::prelude::*;

use super::{interface as sol, *};
use crate::{
    primitives::{Gas, Height},
    templates::{
        common::erc20_base::interface::ERC20InsufficientBalance,
        test_chain::{
            FUNDS, NOW, TestChain,
            test_token::{self as asset, TestToken},
        },
    },
    vm::{FrameOutcome, FrameResult, HaltReason},
};

const USER: Address = address!("000000000000000000000000000000000000a001");
const OTHER: Address = address!("000000000000000000000000000000000000b002");
const PARENT: B256 = b256!("1111111111111111111111111111111111111111111111111111111111111111");

/// A multicall that has 1,000 tokens.
#[derive(Clone)]
struct World {
    chain: TestChain,
    multicall: Address,
    token: Address,
}

fn deploy() -> World {
    let mut chain = TestChain::new(&[USER]);
    chain.block.height = Height::new(1_000);
    chain.block.parent_hash = PARENT;
    chain.block.base_fee = 7;
    chain.block.beneficiary = OTHER;
    chain.block.gas_limit = Gas::new(30_000_000);
    chain.block.prev_randao = B256::repeat_byte(9);
    let multicall = chain.deploy(USER, 0, &Multicall::init_code());
    let token = chain.deploy(USER, 0, &TestToken::init_code(6, 1_000_000));
    chain.ok(USER, token, &asset::transferCall { to: multicall, value: U256::from(1_000) });
    World { chain, multicall, token }
}

impl World {
    fn ok<C: SolCall>(&mut self, call: &C) -> C::Return {
        self.chain.ok(USER, self.multicall, call)
    }

    fn send(&mut self, value: u64, call: &impl SolCall) -> FrameResult {
        self.chain.send(USER, self.multicall, value, &call.abi_encode(), 10_000_000)
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.multicall, call)
    }

    /// A call that returns the balance of `account`.
    fn balance(&self, account: Address) -> sol::Call {
        sol::Call { target: self.token, callData: asset::balanceOfCall { account }.abi_encode().into() }
    }

    /// A call that moves tokens of the multicall.
    fn pay(&self, value: u64) -> sol::Call {
        let call = asset::transferCall { to: OTHER, value: U256::from(value) };
        sol::Call { target: self.token, callData: call.abi_encode().into() }
    }

    fn paid(&self) -> u64 {
        self.chain.read(self.token, &asset::balanceOfCall { account: OTHER }).to()
    }
}

fn with_failure(call: sol::Call, is_allowed: bool) -> sol::Call3 {
    sol::Call3 { target: call.target, allowFailure: is_allowed, callData: call.callData }
}

fn with_value(target: Address, value: u64, is_allowed: bool) -> sol::Call3Value {
    sol::Call3Value { target, allowFailure: is_allowed, value: U256::from(value), callData: Bytes::new() }
}

fn word(value: u64) -> Bytes {
    U256::from(value).abi_encode().into()
}

fn failed() -> Vec<u8> {
    Revert::from("Multicall3: call failed").abi_encode()
}

#[test]
fn calls_are_run_in_order_with_the_multicall_as_the_caller() {
    let mut world = deploy();
    let (pay, balance) = (world.pay(10), world.balance(OTHER));
    let calls = vec![balance.clone(), pay, balance];
    let got = world.ok(&sol::aggregateCall { calls: calls.clone() });
    assert_eq!(got.blockNumber, U256::from(1_000));
    assert_eq!(got.returnData, [word(0), word(1), word(10)]);
    let got = world.ok(&sol::blockAndAggregateCall { calls: calls.clone() });
    assert_eq!((got.blockNumber, got.blockHash), (U256::from(1_000), B256::ZERO));
    let want = [word(10), word(1), word(20)].map(|data| sol::Result { success: true, returnData: data });
    assert_eq!(got.returnData, want);
    let got = world.ok(&sol::tryBlockAndAggregateCall { requireSuccess: false, calls });
    assert_eq!((got.blockNumber, got.blockHash, got.returnData.len()), (U256::from(1_000), B256::ZERO, 3));
    assert_eq!(world.paid(), 30);
    assert!(world.ok(&sol::aggregate3Call { calls: Vec::new() }).is_empty());
}

#[test]
fn a_failure_is_told_or_fails_all() {
    let mut world = deploy();
    let (good, bad) = (world.pay(10), world.pay(1_001));
    let calls = vec![good.clone(), bad.clone()];
    for call in [
        sol::aggregateCall { calls: calls.clone() }.abi_encode(),
        sol::blockAndAggregateCall { calls: calls.clone() }.abi_encode(),
        sol::tryAggregateCall { requireSuccess: true, calls: calls.clone() }.abi_encode(),
        sol::tryBlockAndAggregateCall { requireSuccess: true, calls: calls.clone() }.abi_encode(),
        sol::aggregate3Call { calls: vec![with_failure(good.clone(), true), with_failure(bad.clone(), false)] }
            .abi_encode(),
    ] {
        let result = world.chain.send(USER, world.multicall, 0, &call, 10_000_000);
        assert_eq!((result.outcome, result.output.to_vec()), (FrameOutcome::Revert, failed()));
        assert_eq!(world.paid(), 0);
    }
    let sender = world.multicall;
    let results = |balance: u64| {
        let short = ERC20InsufficientBalance { sender, balance: U256::from(balance), needed: U256::from(1_001) };
        let told = sol::Result { success: false, returnData: short.abi_encode().into() };
        [sol::Result { success: true, returnData: word(1) }, told]
    };
    // The first call takes 10 each time.
    assert_eq!(world.ok(&sol::tryAggregateCall { requireSuccess: false, calls }), results(990));
    let calls = vec![with_failure(good, false), with_failure(bad, true)];
    assert_eq!(world.ok(&sol::aggregate3Call { calls }), results(980));
    assert_eq!(world.paid(), 20);
}

#[test]
fn values_are_passed_on_and_have_to_add_up() {
    let mut world = deploy();
    let plain = Address::repeat_byte(0x77);
    // The token takes no ether.
    let token = world.token;
    let calls = vec![with_value(plain, 30, false), with_value(token, 5, true), with_value(plain, 7, true)];
    let call = sol::aggregate3ValueCall { calls: calls.clone() };
    for value in [41, 43] {
        let result = world.send(value, &call);
        let want = Revert::from("Multicall3: value mismatch").abi_encode();
        assert_eq!((result.outcome, result.output.to_vec()), (FrameOutcome::Revert, want), "{value}");
    }
    let result = world.send(42, &call);
    let got = sol::aggregate3ValueCall::abi_decode_returns_validate(&result.output).unwrap();
    assert_eq!(got.iter().map(|result| result.success).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((world.chain.wei(plain), world.chain.wei(world.multicall)), (37, 5), "what a call refused stays");
    assert_eq!(world.chain.wei(USER), FUNDS - 42);
    let refused = world.send(5, &sol::aggregate3ValueCall { calls: vec![with_value(token, 5, false)] });
    let want = [failed(), vec![0; 32]].concat();
    assert_eq!(
        (refused.outcome, refused.output.to_vec()),
        (FrameOutcome::Revert, want),
        "a word too many, as the original"
    );
}

#[test]
fn any_word_but_zero_allows_failure() {
    let mut world = deploy();
    let bad = with_failure(world.pay(1_001), true);
    let mut input = sol::aggregate3Call { calls: vec![bad] }.abi_encode();
    // Selector, offset, length, offset of the call, target.
    let word = 4 + 4 * 32;
    for (flag, want) in [(1, true), (2, true), (0, false)] {
        input[word + 31] = flag;
        let result = world.chain.send(USER, world.multicall, 0, &input, 10_000_000);
        assert_eq!(result.is_success(), want, "{flag}");
    }
    input[word] = 0x80;
    assert!(world.chain.send(USER, world.multicall, 0, &input, 10_000_000).is_success());
}

#[test]
fn block_data_is_told() {
    let mut world = deploy();
    assert_eq!(world.read(&sol::getBlockNumberCall {}), U256::from(1_000));
    assert_eq!(world.read(&sol::getCurrentBlockCoinbaseCall {}), OTHER);
    assert_eq!(world.read(&sol::getCurrentBlockDifficultyCall {}), U256::from_be_bytes([9; 32]));
    assert_eq!(world.read(&sol::getCurrentBlockGasLimitCall {}), U256::from(30_000_000));
    assert_eq!(world.read(&sol::getCurrentBlockTimestampCall {}), U256::from(NOW));
    assert_eq!(world.read(&sol::getEthBalanceCall { addr: USER }), U256::from(FUNDS));
    assert_eq!(world.read(&sol::getBasefeeCall {}), U256::from(7));
    assert_eq!(world.read(&sol::getChainIdCall {}), U256::ONE);
    assert_eq!(world.read(&sol::getLastBlockHashCall {}), PARENT);
    let hash = |number: u64| sol::getBlockHashCall { blockNumber: U256::from(number) };
    for (number, want) in [(1_001, B256::ZERO), (1_000, B256::ZERO), (999, PARENT), (743, B256::ZERO), (0, B256::ZERO)]
    {
        assert_eq!(world.read(&hash(number)), want, "{number}");
    }
    assert_eq!(world.read(&sol::getBlockHashCall { blockNumber: U256::MAX }), B256::ZERO);
    let unknown = Revert::from("multicall: of the blocks before, the chain tells the parent's hash only");
    for number in [998, 744] {
        world.chain.fails(USER, world.multicall, &hash(number), &unknown);
    }
}

#[test]
fn what_runs_no_calls_takes_no_ether() {
    let mut world = deploy();
    for input in [sol::getBlockNumberCall {}.abi_encode(), Vec::new(), vec![1, 2, 3, 4]] {
        let result = world.chain.send(USER, world.multicall, 1, &input, 100_000);
        assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
    }
    let calls = Vec::new();
    assert!(world.send(1, &sol::tryAggregateCall { requireSuccess: true, calls }).is_success());
}

#[test]
fn the_abi_is_multicall3s() {
    let abi = Multicall.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (17, 0, 0));
    assert!(abi.constructor.is_none());
    // As published.
    let selectors = [
        (sol::aggregateCall::SELECTOR, 0x252d_ba42_u32),
        (sol::tryAggregateCall::SELECTOR, 0xbce3_8bd7),
        (sol::tryBlockAndAggregateCall::SELECTOR, 0x399542e9),
        (sol::blockAndAggregateCall::SELECTOR, 0xc307_7fa9),
        (sol::aggregate3Call::SELECTOR, 0x82ad_56cb),
        (sol::aggregate3ValueCall::SELECTOR, 0x174d_ea71),
        (sol::getBlockHashCall::SELECTOR, 0xee82_ac5e),
        (sol::getBlockNumberCall::SELECTOR, 0x42cb_b15c),
        (sol::getCurrentBlockCoinbaseCall::SELECTOR, 0xa8b0_574e),
        (sol::getCurrentBlockDifficultyCall::SELECTOR, 0x72425d9d),
        (sol::getCurrentBlockGasLimitCall::SELECTOR, 0x86d5_16e8),
        (sol::getCurrentBlockTimestampCall::SELECTOR, 0x0f28_c97d),
        (sol::getEthBalanceCall::SELECTOR, 0x4d23_01cc),
        (sol::getLastBlockHashCall::SELECTOR, 0x27e8_6d6e),
        (sol::getBasefeeCall::SELECTOR, 0x3e64_a696),
        (sol::getChainIdCall::SELECTOR, 0x3408_e470),
    ];
    for (selector, want) in selectors {
        assert_eq!(u32::from_be_bytes(selector), want);
    }
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..17, tail: Vec<u8>, words: [u16; 12], gas in 0_u64..200_000) {
        let mut world = deploy();
        let known = sol::Multicall3Calls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| U256::from(word % 260).to_be_bytes::<32>()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(USER, world.multicall, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
    }
}
