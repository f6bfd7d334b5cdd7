//! The pool's rules, its LP token, hostile tokens and receivers, what it costs, and all histories.

mod golden;
mod hostile;
mod lp_token;
mod properties;

use alloy_primitives::aliases::U112;
use alloy_sol_types::Revert;

use super::{interface as sol, *};
use crate::{
    templates::{
        liquidity_factory::interface as factory,
        test_chain::{
            NOW, TestChain,
            actor::{self, ActorTemplate},
            pools::{BOB, CAROL, OWNER, Pools, TOKENS},
        },
    },
    vm::{Descriptor, FrameOutcome, HaltReason},
};

const MINTED_TOO_LITTLE: &str = "UniswapV2: INSUFFICIENT_LIQUIDITY_MINTED";

fn swap(amount0_out: u64, amount1_out: u64, to: Address) -> sol::swapCall {
    sol::swapCall { amount0Out: U256::from(amount0_out), amount1Out: U256::from(amount1_out), to, data: Bytes::new() }
}

fn mint(to: Address) -> sol::mintCall {
    sol::mintCall { to }
}

fn burn(to: Address) -> sol::burnCall {
    sol::burnCall { to }
}

/// The most that a pool with these reserves gives for `amount_in`.
fn amount_out(amount_in: u64, reserve_in: u64, reserve_out: u64) -> u64 {
    let kept = u128::from(amount_in) * 997;
    (kept * u128::from(reserve_out) / (u128::from(reserve_in) * 1_000 + kept)) as u64
}

#[test]
fn a_new_pool_has_its_tokens_and_factory() {
    let pools = Pools::new();
    assert_eq!(pools.read(&sol::nameCall {}), "Uniswap V2");
    assert_eq!(pools.read(&sol::symbolCall {}), "UNI-V2");
    assert_eq!(pools.read(&sol::decimalsCall {}), 18);
    assert_eq!(pools.read(&sol::factoryCall {}), pools.factory);
    assert_eq!(pools.read(&sol::token0Call {}), pools.tokens[0]);
    assert_eq!(pools.read(&sol::token1Call {}), pools.tokens[1]);
    assert_eq!(pools.read(&sol::MINIMUM_LIQUIDITYCall {}), U256::from(1_000));
    assert_eq!(pools.reserves(), (0, 0));
}

#[test]
fn a_pool_alone_sorts_its_tokens_and_is_nobodys() {
    let [low, high] = Pools::new().tokens;
    for params in [LiquidityPoolParams::new(low, high), LiquidityPoolParams::new(high, low)] {
        let mut pools = Pools::new();
        pools.pool = pools.chain.deploy(BOB, 0, &params.init_code());
        assert_eq!((pools.read(&sol::token0Call {}), pools.read(&sol::token1Call {})), (low, high));
        assert_eq!(pools.read(&sol::factoryCall {}), BOB, "who deployed it");
        let other = sol::initializeCall { token0: high, token1: low };
        pools.fails(BOB, &other, "UniswapV2: FORBIDDEN");
        assert_eq!(pools.add(BOB, 10_000, 40_000), U256::from(19_000));
        pools.pay_in(BOB, 1_000, 0);
        pools.ok(BOB, &swap(0, amount_out(1_000, 10_000, 40_000), BOB));
        assert_eq!(pools.add(BOB, 11_000, 40_000), U256::from(20_000), "nobody takes a fee");
        assert_eq!(pools.read(&sol::kLastCall {}), U256::ZERO);
    }
}

#[test]
fn a_pool_alone_of_no_two_tokens_is_refused() {
    let [low, high] = Pools::new().tokens;
    let invalid = sol::PoolInvalidToken { token: Address::ZERO }.abi_encode();
    let cases = [
        (LiquidityPoolParams::new(low, low), sol::PoolIdenticalTokens { token: low }.abi_encode()),
        (LiquidityPoolParams::new(Address::ZERO, high), invalid.clone()),
        (LiquidityPoolParams::new(low, Address::ZERO), invalid),
    ];
    for (params, want) in cases {
        let (_, result) = TestChain::new(&[BOB]).create(BOB, 0, &params.init_code(), 1_000_000);
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
    }
}

#[test]
fn a_pool_without_tokens_waits_for_its_creator() {
    let mut pools = Pools::new();
    let [token0, token1] = pools.tokens;
    pools.pool = pools.chain.deploy(BOB, 0, &LiquidityPoolParams::UNINITIALIZED.init_code());
    pools.fails(CAROL, &sol::initializeCall { token0, token1 }, "UniswapV2: FORBIDDEN");
    assert_eq!(pools.read(&sol::token0Call {}), Address::ZERO);
    pools.ok(BOB, &sol::initializeCall { token0, token1 });
    assert_eq!(pools.read(&sol::token0Call {}), token0);
    // Its factory is a person, whom nobody can ask for a recipient of fees: as at Uniswap.
    pools.pay_in(BOB, 10_000, 10_000);
    pools.chain.is_absent(BOB, pools.pool, &mint(BOB));
}

#[test]
fn the_first_liquidity_is_the_root_of_the_product_less_what_is_locked() {
    let mut pools = Pools::new();
    pools.pay_in(BOB, 1_000, 1_000);
    pools.fails(BOB, &mint(BOB), MINTED_TOO_LITTLE);
    pools.pay_in(BOB, 9_000, 39_000);
    assert_eq!(pools.ok(BOB, &mint(CAROL)), U256::from(19_000));
    let minted = sol::Mint { sender: BOB, amount0: U256::from(10_000), amount1: U256::from(40_000) };
    let synced = sol::Sync { reserve0: U112::from(10_000), reserve1: U112::from(40_000) };
    let logs: Vec<_> = pools.chain.journal.logs().iter().map(|log| log.data.clone()).collect();
    assert_eq!(logs[2..], [synced.encode_log_data(), minted.encode_log_data()]);
    assert_eq!((pools.lp_tokens(CAROL), pools.lp_tokens(Address::ZERO)), (19_000, 1_000));
    assert_eq!(pools.read(&sol::totalSupplyCall {}), U256::from(20_000));
    assert_eq!(pools.reserves(), (10_000, 40_000));
    assert_eq!(pools.add(BOB, 1_000, 8_000), U256::from(2_000), "by the scarcer of the two");
    pools.fails(BOB, &mint(BOB), MINTED_TOO_LITTLE);
    let mut poor = Pools::new();
    poor.pay_in(BOB, 999, 999);
    poor.fails(BOB, &mint(BOB), "ds-math-sub-underflow");
}

#[test]
fn burnt_liquidity_gives_its_part_of_the_balances() {
    let mut pools = Pools::new();
    pools.add(BOB, 10_000, 40_000);
    pools.fails(BOB, &burn(BOB), "UniswapV2: INSUFFICIENT_LIQUIDITY_BURNED");
    let pool = pools.pool;
    pools.ok(BOB, &sol::transferCall { to: pool, value: U256::from(10_000) });
    let got = pools.ok(CAROL, &burn(CAROL));
    assert_eq!((got.amount0, got.amount1), (U256::from(5_000), U256::from(20_000)));
    assert_eq!(pools.held(CAROL), (TOKENS + 5_000, TOKENS + 20_000));
    assert_eq!(pools.reserves(), (5_000, 20_000));
    assert_eq!(pools.read(&sol::totalSupplyCall {}), U256::from(10_000));
}

/// Before 0.8, Solidity divides by zero with INVALID, which takes all gas.
#[test]
fn an_empty_pool_has_nothing_to_divide() {
    let mut pools = Pools::new();
    let result = pools.chain.send(BOB, pools.pool, 0, &burn(BOB).abi_encode(), 500_000);
    assert_eq!((result.outcome, result.gas_left.get()), (FrameOutcome::Halt(HaltReason::InvalidOpcode), 0));
}

#[test]
fn a_swap_gives_what_the_product_allows_and_no_more() {
    for (amount_in, reserve0, reserve1) in [
        (1_000, 5_000, 10_000),
        (1_000, 10_000, 5_000),
        (2_000, 5_000, 10_000),
        (1, 1_000_000, 1_000_000_000),
        (997, 10_000, 10_000),
    ] {
        let mut pools = Pools::with_liquidity(reserve0, reserve1);
        let out = amount_out(amount_in, reserve0, reserve1);
        pools.pay_in(BOB, amount_in, 0);
        pools.fails(BOB, &swap(0, out + 1, BOB), "UniswapV2: K");
        pools.ok(BOB, &swap(0, out, CAROL));
        let swapped = sol::Swap {
            sender: BOB,
            amount0In: U256::from(amount_in),
            amount1In: U256::ZERO,
            amount0Out: U256::ZERO,
            amount1Out: U256::from(out),
            to: CAROL,
        };
        assert_eq!(pools.chain.journal.logs().last().unwrap().data, swapped.encode_log_data());
        assert_eq!(pools.held(CAROL), (TOKENS, TOKENS + out));
        assert_eq!(pools.reserves(), (reserve0 + amount_in, reserve1 - out));
    }
}

#[test]
fn a_swap_of_nothing_or_too_much_is_refused() {
    let mut pools = Pools::with_liquidity(5_000, 10_000);
    let [token0, token1] = pools.tokens;
    pools.fails(BOB, &swap(0, 0, BOB), "UniswapV2: INSUFFICIENT_OUTPUT_AMOUNT");
    pools.fails(BOB, &swap(5_000, 0, BOB), "UniswapV2: INSUFFICIENT_LIQUIDITY");
    pools.fails(BOB, &swap(0, 10_000, BOB), "UniswapV2: INSUFFICIENT_LIQUIDITY");
    pools.fails(BOB, &swap(1, 0, token0), "UniswapV2: INVALID_TO");
    pools.fails(BOB, &swap(1, 0, token1), "UniswapV2: INVALID_TO");
    pools.fails(BOB, &swap(1, 0, BOB), "UniswapV2: INSUFFICIENT_INPUT_AMOUNT");
    // Who is called back has to be a contract.
    let call = sol::swapCall { data: Bytes::from_static(&[1]), ..swap(1, 0, BOB) };
    pools.chain.is_absent(BOB, pools.pool, &call);
}

#[test]
fn prices_accumulate_by_the_second() {
    let mut pools = Pools::with_liquidity(3_000, 6_000);
    let one = U256::ONE << 112_usize;
    let sums =
        |pools: &Pools| (pools.read(&sol::price0CumulativeLastCall {}), pools.read(&sol::price1CumulativeLastCall {}));
    let last = |pools: &Pools| pools.read(&sol::getReservesCall {})._blockTimestampLast;
    pools.ok(BOB, &sol::syncCall {});
    assert_eq!((sums(&pools), last(&pools)), ((U256::ZERO, U256::ZERO), NOW as u32));
    pools.chain.at(NOW + 10);
    pools.pay_in(BOB, 3_000, 0);
    pools.ok(BOB, &sol::syncCall {});
    let ten = (one * U256::from(20), one / U256::from(2) * U256::from(10));
    assert_eq!((sums(&pools), last(&pools)), (ten, NOW as u32 + 10), "by the price before");
    pools.chain.at(NOW + 30);
    pools.ok(BOB, &sol::syncCall {});
    assert_eq!(sums(&pools), (ten.0 + one * U256::from(20), ten.1 + one * U256::from(20)));
    // Sums wrap, and time does at 2^32.
    let near = U256::MAX - U256::from(5);
    pools.chain.journal.begin_transaction();
    pools.chain.journal.set_storage(&pools.pool, &U256::from(9), near).unwrap();
    pools.chain.at((1 << 32) + NOW);
    pools.ok(BOB, &sol::syncCall {});
    let elapsed = U256::from((1_u64 << 32) - 30);
    assert_eq!(sums(&pools).0, (one * elapsed).wrapping_add(near));
    assert_eq!(last(&pools), NOW as u32);
}

#[test]
fn balances_beside_the_reserves_are_skimmed_or_synced() {
    let mut pools = Pools::with_liquidity(5_000, 10_000);
    pools.pay_in(BOB, 7, 9);
    pools.ok(BOB, &sol::skimCall { to: CAROL });
    assert_eq!(pools.held(CAROL), (TOKENS + 7, TOKENS + 9));
    assert_eq!(pools.reserves(), (5_000, 10_000));
    pools.pay_in(BOB, 7, 9);
    pools.ok(BOB, &sol::syncCall {});
    assert_eq!(pools.reserves(), (5_007, 10_009));
}

#[test]
fn the_protocol_gets_a_sixth_of_the_growth_while_it_is_asked_for() {
    let grow = |pools: &mut Pools| {
        for _ in 0..10 {
            let (reserve0, reserve1) = pools.reserves();
            pools.pay_in(BOB, 100_000_000, 0);
            pools.ok(BOB, &swap(0, amount_out(100_000_000, reserve0, reserve1), BOB));
            let (reserve0, reserve1) = pools.reserves();
            pools.pay_in(BOB, 0, 100_000_000);
            pools.ok(BOB, &swap(amount_out(100_000_000, reserve1, reserve0), 0, BOB));
        }
    };
    let root = |pools: &Pools| {
        let (reserve0, reserve1) = pools.reserves();
        (u128::from(reserve0) * u128::from(reserve1)).isqrt()
    };
    let mut pools = Pools::with_liquidity(1_000_000_000, 1_000_000_000);
    grow(&mut pools);
    pools.add(CAROL, 10_000_000, 10_000_000);
    assert_eq!(pools.lp_tokens(BOB), 0, "nobody asked");
    let to_bob = factory::setFeeToCall { feeTo: BOB };
    pools.chain.ok(OWNER, pools.factory, &to_bob);
    pools.add(CAROL, 10_000_000, 10_000_000);
    assert_eq!(pools.lp_tokens(BOB), 0, "growth counts from now on");
    let (before, supply) = (root(&pools), pools.read(&sol::totalSupplyCall {}).to::<u128>());
    grow(&mut pools);
    let after = root(&pools);
    assert!(after > before);
    pools.add(CAROL, 10_000_000, 10_000_000);
    let want = supply * (after - before) / (5 * after + before);
    assert_eq!(u128::from(pools.lp_tokens(BOB)), want);
    assert!(want > 0);
    assert_ne!(pools.read(&sol::kLastCall {}), U256::ZERO);
    pools.chain.ok(OWNER, pools.factory, &factory::setFeeToCall { feeTo: Address::ZERO });
    grow(&mut pools);
    pools.add(CAROL, 10_000_000, 10_000_000);
    assert_eq!(pools.read(&sol::kLastCall {}), U256::ZERO);
    assert_eq!(u128::from(pools.lp_tokens(BOB)), want);
}

#[test]
fn balances_above_112_bits_are_refused() {
    let mut pools = Pools::new();
    let [token0, token1] = pools.tokens;
    let most = U256::from(U112::MAX);
    for (balance, is_accepted) in [(most, true), (most + U256::ONE, false)] {
        for token in [token0, token1] {
            // The balance of the pool in the plain token.
            let slot = crate::vm::mapping_slot(pools.pool.into_word().into(), U256::ZERO);
            pools.chain.journal.begin_transaction();
            pools.chain.journal.set_storage(&token, &slot, balance).unwrap();
        }
        match is_accepted {
            true => pools.ok(BOB, &sol::syncCall {}),
            false => {
                pools.fails(BOB, &sol::syncCall {}, "UniswapV2: OVERFLOW");
                sol::syncReturn {}
            }
        };
    }
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = LiquidityPool.storage_layout();
    let variables = layout
        .storage
        .iter()
        .map(|entry| format!("{} {} {} {}", entry.label, entry.slot, entry.offset, layout.types[&entry.ty].label));
    let want = [
        "totalSupply 0 0 uint256",
        "balanceOf 1 0 mapping(address => uint256)",
        "allowance 2 0 mapping(address => mapping(address => uint256))",
        "DOMAIN_SEPARATOR 3 0 bytes32",
        "nonces 4 0 mapping(address => uint256)",
        "factory 5 0 address",
        "isAlone 5 20 bool",
        "token0 6 0 address",
        "token1 7 0 address",
        "reserve0 8 0 uint112",
        "reserve1 8 14 uint112",
        "blockTimestampLast 8 28 uint32",
        "price0CumulativeLast 9 0 uint256",
        "price1CumulativeLast 10 0 uint256",
        "kLast 11 0 uint256",
        "unlocked 12 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_pool_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&LiquidityPool);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let values = serde_json::json!({ "token0": BOB.to_string(), "token1": CAROL.to_string() });
    assert_eq!(encode(values).unwrap(), LiquidityPoolParams::new(BOB, CAROL).init_code());
    let errors = encode(serde_json::json!({})).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["token0", "token1"]);
}
