//! What the factory makes, who may set its fees, and what it costs.

use alloy_primitives::{address, keccak256};
use alloy_sol_types::Revert;
use proptest::prelude::*;

use super::{interface as sol, *};
use crate::{
    templates::{
        LiquidityPool,
        liquidity_pool::interface as pool,
        test_chain::{
            TestChain,
            pools::{BOB, CAROL, OWNER},
        },
    },
    vm::{Descriptor, FrameOutcome, HaltReason},
};

/// Two accounts that stand for tokens: a factory does not look at them.
const LOW: Address = address!("1000000000000000000000000000000000000000");
const HIGH: Address = address!("2000000000000000000000000000000000000000");

#[derive(Clone)]
struct World {
    chain: TestChain,
    factory: Address,
}

fn deploy() -> World {
    let mut chain = TestChain::new(&[OWNER, BOB]);
    let factory = chain.deploy(OWNER, 0, &LiquidityFactoryParams::new(OWNER).init_code());
    World { chain, factory }
}

fn create(token_a: Address, token_b: Address) -> sol::createPairCall {
    sol::createPairCall { tokenA: token_a, tokenB: token_b }
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.factory, call)
    }

    fn fails(&mut self, from: Address, call: &impl SolCall, reason: &str) {
        self.chain.fails(from, self.factory, call, &Revert::from(reason));
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.factory, call)
    }
}

#[test]
fn one_pool_is_made_for_each_two_tokens() {
    for (token_a, token_b) in [(LOW, HIGH), (HIGH, LOW)] {
        let mut world = deploy();
        let pair = world.ok(BOB, &create(token_a, token_b));
        let created = sol::PairCreated { token0: LOW, token1: HIGH, pair, _3: U256::ONE };
        assert_eq!(world.chain.journal.logs()[0].data, created.encode_log_data());
        assert_eq!(pair, pool_address(world.factory, token_a, token_b));
        for (token_a, token_b) in [(LOW, HIGH), (HIGH, LOW)] {
            assert_eq!(world.read(&sol::getPairCall { tokenA: token_a, tokenB: token_b }), pair);
            world.fails(BOB, &create(token_a, token_b), "UniswapV2: PAIR_EXISTS");
        }
        assert_eq!(world.read(&sol::allPairsCall { index: U256::ZERO }), pair);
        assert_eq!(world.read(&sol::allPairsLengthCall {}), U256::ONE);
        assert_eq!(world.chain.read(pair, &pool::factoryCall {}), world.factory);
        assert_eq!(world.chain.read(pair, &pool::token0Call {}), LOW);
        assert_eq!(world.chain.read(pair, &pool::token1Call {}), HIGH);
        let other = world.ok(BOB, &create(LOW, BOB));
        assert_eq!(world.read(&sol::allPairsCall { index: U256::ONE }), other);
        assert_ne!(pair, other);
    }
}

#[test]
fn tokens_have_to_be_two_accounts() {
    let mut world = deploy();
    world.fails(BOB, &create(LOW, LOW), "UniswapV2: IDENTICAL_ADDRESSES");
    world.fails(BOB, &create(LOW, Address::ZERO), "UniswapV2: ZERO_ADDRESS");
    world.fails(BOB, &create(Address::ZERO, LOW), "UniswapV2: ZERO_ADDRESS");
    assert_eq!(world.read(&sol::getPairCall { tokenA: LOW, tokenB: HIGH }), Address::ZERO);
}

/// As an array's getter of Solidity before 0.8.
#[test]
fn an_index_past_the_end_takes_all_gas() {
    let mut world = deploy();
    world.ok(BOB, &create(LOW, HIGH));
    for index in [U256::ONE, U256::MAX] {
        let input = sol::allPairsCall { index }.abi_encode();
        let result = world.chain.send(BOB, world.factory, 0, &input, 100_000);
        assert_eq!((result.outcome, result.gas_left.get()), (FrameOutcome::Halt(HaltReason::InvalidOpcode), 0));
    }
}

#[test]
fn the_setter_alone_sets_fees_and_setter() {
    let mut world = deploy();
    assert_eq!((world.read(&sol::feeToCall {}), world.read(&sol::feeToSetterCall {})), (Address::ZERO, OWNER));
    world.fails(BOB, &sol::setFeeToCall { feeTo: BOB }, "UniswapV2: FORBIDDEN");
    world.fails(BOB, &sol::setFeeToSetterCall { feeToSetter: BOB }, "UniswapV2: FORBIDDEN");
    world.ok(OWNER, &sol::setFeeToCall { feeTo: CAROL });
    world.ok(OWNER, &sol::setFeeToSetterCall { feeToSetter: BOB });
    assert_eq!((world.read(&sol::feeToCall {}), world.read(&sol::feeToSetterCall {})), (CAROL, BOB));
    world.fails(OWNER, &sol::setFeeToCall { feeTo: OWNER }, "UniswapV2: FORBIDDEN");
}

/// A pool's address is Uniswap's formula over another init code.
#[test]
fn addresses_follow_from_factory_and_tokens() {
    let salt = keccak256([LOW, HIGH].concat());
    let bytes = [&[0xff], OWNER.as_slice(), salt.as_slice(), pool_init_code_hash().as_slice()].concat();
    assert_eq!(pool_address(OWNER, HIGH, LOW), Address::from_word(keccak256(bytes)));
    assert_eq!(LiquidityPoolParams::UNINITIALIZED.init_code(), Marker(LiquidityPool::ID).init_code(&[0; 64]));
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = LiquidityFactory.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "feeTo 0 0 address",
        "feeToSetter 1 0 address",
        "getPair 2 0 mapping(address => mapping(address => address))",
        "allPairs 3 0 address[]",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_factory_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&LiquidityFactory);
    let encoded = descriptor.encode(&serde_json::Map::new(), OWNER).unwrap();
    assert_eq!(encoded, LiquidityFactoryParams::new(OWNER).init_code(), "the deployer sets the fee");
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let init_code = LiquidityFactoryParams::new(OWNER).init_code();
    let (_, mut got) = TestChain::new(&[OWNER]).creation_line(OWNER, "a setter", &init_code);
    let mut world = deploy();
    let steps = [
        ("createPair, the first", BOB, create(LOW, HIGH).abi_encode()),
        ("createPair", BOB, create(HIGH, BOB).abi_encode()),
        ("createPair again", BOB, create(HIGH, LOW).abi_encode()),
        ("createPair of one token", BOB, create(LOW, LOW).abi_encode()),
        ("createPair of none", BOB, create(LOW, Address::ZERO).abi_encode()),
        ("setFeeTo", OWNER, sol::setFeeToCall { feeTo: BOB }.abi_encode()),
        ("setFeeTo by a stranger", BOB, sol::setFeeToCall { feeTo: BOB }.abi_encode()),
        ("feeTo", BOB, sol::feeToCall {}.abi_encode()),
        ("feeToSetter", BOB, sol::feeToSetterCall {}.abi_encode()),
        ("getPair", BOB, sol::getPairCall { tokenA: LOW, tokenB: HIGH }.abi_encode()),
        ("allPairs", BOB, sol::allPairsCall { index: U256::ONE }.abi_encode()),
        ("allPairsLength", BOB, sol::allPairsLengthCall {}.abi_encode()),
        ("setFeeToSetter", OWNER, sol::setFeeToSetterCall { feeToSetter: BOB }.abi_encode()),
        ("setFeeToSetter by a stranger", OWNER, sol::setFeeToSetterCall { feeToSetter: BOB }.abi_encode()),
        ("a function that is not there", BOB, vec![1, 2, 3, 4]),
    ];
    for (name, from, input) in steps {
        got += &world.chain.line(name, from, world.factory, 0, &input);
    }
    got += &world.chain.line("value", BOB, world.factory, 1, &sol::feeToCall {}.abi_encode());
    let supports = sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode();
    got += &world.chain.line("supportsInterface", BOB, world.factory, 0, &supports);
    let want = include_str!("tests/golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..9, tail: Vec<u8>, words: [u64; 8], gas in 0_u64..200_000) {
        let mut world = deploy();
        world.ok(BOB, &create(LOW, HIGH));
        let known = sol::LiquidityFactoryCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = world.chain.send(BOB, world.factory, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(LiquidityFactory::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
