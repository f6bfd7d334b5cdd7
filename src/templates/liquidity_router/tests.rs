//! Liquidity and swaps through the router, with ether and with hostile tokens, and what they cost.

mod golden;
mod hostile;
mod properties;

use alloy_primitives::keccak256;
use alloy_sol_types::Revert;

use super::{interface as sol, *};
use crate::{
    templates::{
        LiquidityPoolParams,
        liquidity_factory::pool_address,
        liquidity_pool::interface as pool,
        test_chain::{
            FUNDS, NOW, TestChain,
            pools::{BOB, CAROL, OWNER, Pools, TOKENS},
            test_token::TestToken,
        },
        wrapped_native::interface as weth,
    },
    vm::{Descriptor, FrameOutcome, HaltReason},
};

const NOW_WORD: U256 = U256::from_limbs([NOW, 0, 0, 0]);

fn n(number: u64) -> U256 {
    U256::from(number)
}

impl Pools {
    fn routed<C: SolCall>(&mut self, from: Address, value: u64, call: &C) -> Result<C::Return, Bytes> {
        let result = self.chain.send(from, self.router, value, &call.abi_encode(), 10_000_000);
        match result.outcome {
            FrameOutcome::Success => Ok(C::abi_decode_returns_validate(&result.output).unwrap()),
            FrameOutcome::Revert => Err(result.output),
            FrameOutcome::Halt(reason) => panic!("{reason:?}"),
        }
    }

    fn refused(&mut self, value: u64, call: &impl SolCall, reason: &str) {
        let result = self.chain.send(BOB, self.router, value, &call.abi_encode(), 10_000_000);
        let want = Revert::from(reason).abi_encode();
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{reason}");
    }

    /// A call that ends with INVALID.
    fn is_invalid(&mut self, value: u64, call: &impl SolCall) {
        let result = self.chain.send(BOB, self.router, value, &call.abi_encode(), 1_000_000);
        assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::InvalidOpcode));
    }

    fn add_call(&self, amount0: u64, amount1: u64) -> sol::addLiquidityCall {
        sol::addLiquidityCall {
            tokenA: self.tokens[0],
            tokenB: self.tokens[1],
            amountADesired: n(amount0),
            amountBDesired: n(amount1),
            amountAMin: U256::ZERO,
            amountBMin: U256::ZERO,
            to: BOB,
            deadline: NOW_WORD,
        }
    }

    fn add_eth_call(&self, amount: u64) -> sol::addLiquidityETHCall {
        sol::addLiquidityETHCall {
            token: self.tokens[0],
            amountTokenDesired: n(amount),
            amountTokenMin: U256::ZERO,
            amountETHMin: U256::ZERO,
            to: BOB,
            deadline: NOW_WORD,
        }
    }

    /// A pool of the tokens and one of the first with ether, both with liquidity.
    fn with_ether() -> Self {
        let mut pools = Self::with_liquidity(1_000_000, 4_000_000);
        let call = pools.add_eth_call(200_000);
        pools.routed(BOB, 100_000, &call).unwrap();
        pools
    }

    fn eth_pool(&self) -> Address {
        pool_address(self.factory, self.tokens[0], self.weth)
    }

    /// From ether over the first token to the second.
    fn path(&self) -> Vec<Address> {
        vec![self.weth, self.tokens[0], self.tokens[1]]
    }

    fn path_back(&self) -> Vec<Address> {
        self.path().into_iter().rev().collect()
    }

    fn amounts_out(&self, amount: u64, path: Vec<Address>) -> Vec<U256> {
        self.chain.read(self.router, &sol::getAmountsOutCall { amountIn: n(amount), path })
    }

    fn amounts_in(&self, amount: u64, path: Vec<Address>) -> Vec<U256> {
        self.chain.read(self.router, &sol::getAmountsInCall { amountOut: n(amount), path })
    }

    /// The router keeps nothing between calls.
    fn router_is_empty(&mut self) {
        let (router, weth) = (self.router, self.weth);
        let wrapped = self.chain.read(weth, &weth::balanceOfCall { account: router });
        assert_eq!((self.held(router), self.chain.wei(router), wrapped), ((0, 0), 0, U256::ZERO));
    }
}

#[test]
fn immutables_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.liquidity-router.immutables").0), IMMUTABLES);
    let mut pools = Pools::new();
    assert_eq!(pools.chain.read(pools.router, &sol::factoryCall {}), pools.factory);
    assert_eq!(pools.chain.read(pools.router, &sol::WETHCall {}), pools.weth);
    let word = pools.chain.slot(pools.router, IMMUTABLES + U256::ONE);
    assert_eq!(Address::from_word(word.into()), pools.weth);
}

#[test]
fn liquidity_is_added_at_the_pools_price() {
    let mut pools = Pools::new();
    let call = pools.add_call(10_000, 40_000);
    let got = pools.routed(BOB, 0, &call).unwrap();
    assert_eq!((got.amountA, got.amountB, got.liquidity), (n(10_000), n(40_000), n(19_000)));
    let reversed = sol::addLiquidityCall {
        tokenA: pools.tokens[1],
        tokenB: pools.tokens[0],
        amountADesired: n(1_000),
        amountBDesired: n(1_000),
        ..pools.add_call(0, 0)
    };
    let got = pools.routed(CAROL, 0, &reversed).unwrap();
    assert_eq!((got.amountA, got.amountB, got.liquidity), (n(1_000), n(250), n(500)));
    assert_eq!(pools.held(CAROL), (TOKENS - 250, TOKENS - 1_000));
    let few_b = sol::addLiquidityCall { amountBMin: n(4_001), ..pools.add_call(1_000, 5_000) };
    pools.refused(0, &few_b, "UniswapV2Router: INSUFFICIENT_B_AMOUNT");
    let few_a = sol::addLiquidityCall { amountAMin: n(1_001), ..pools.add_call(2_000, 4_000) };
    pools.refused(0, &few_a, "UniswapV2Router: INSUFFICIENT_A_AMOUNT");
    let late = sol::addLiquidityCall { deadline: n(NOW - 1), ..pools.add_call(2_000, 4_000) };
    pools.refused(0, &late, "UniswapV2Router: EXPIRED");
    let one_token = sol::addLiquidityCall { tokenB: pools.tokens[0], ..pools.add_call(2_000, 4_000) };
    pools.refused(0, &one_token, "UniswapV2: IDENTICAL_ADDRESSES");
    pools.router_is_empty();
}

#[test]
fn a_missing_pool_is_made_with_its_first_liquidity() {
    let mut pools = Pools::new();
    let before = pools.chain.wei(BOB);
    let call = pools.add_eth_call(90_000);
    let got = pools.routed(BOB, 10_000, &call).unwrap();
    assert_eq!((got.amountToken, got.amountETH, got.liquidity), (n(90_000), n(10_000), n(29_000)));
    let call = pools.add_eth_call(900);
    let got = pools.routed(BOB, 500, &call).unwrap();
    assert_eq!((got.amountToken, got.amountETH), (n(900), n(100)));
    assert_eq!(pools.chain.wei(BOB), before - 10_100, "the rest comes back");
    pools.pool = pools.eth_pool();
    let lp_tokens = pools.lp_tokens(BOB);
    pools.ok(BOB, &pool::approveCall { spender: pools.router, value: U256::MAX });
    let remove = sol::removeLiquidityETHCall {
        token: pools.tokens[0],
        liquidity: n(lp_tokens),
        amountTokenMin: U256::ZERO,
        amountETHMin: U256::ZERO,
        to: CAROL,
        deadline: NOW_WORD,
    };
    let got = pools.routed(BOB, 0, &remove).unwrap();
    assert_eq!(pools.chain.wei(CAROL), FUNDS + got.amountETH.to::<u64>());
    assert!(got.amountETH > n(9_600) && got.amountToken > n(86_000));
    pools.router_is_empty();
}

#[test]
fn liquidity_is_removed_within_bounds() {
    let mut pools = Pools::with_liquidity(10_000, 40_000);
    let (router, [token0, token1]) = (pools.router, pools.tokens);
    pools.ok(OWNER, &pool::transferCall { to: BOB, value: n(10_000) });
    let remove = |liquidity: u64, least: (u64, u64)| sol::removeLiquidityCall {
        tokenA: token1,
        tokenB: token0,
        liquidity: n(liquidity),
        amountAMin: n(least.0),
        amountBMin: n(least.1),
        to: BOB,
        deadline: NOW_WORD,
    };
    pools.refused(0, &remove(100, (0, 0)), "ds-math-sub-underflow");
    pools.ok(BOB, &pool::approveCall { spender: router, value: n(10_000) });
    pools.refused(0, &remove(1_000, (2_001, 0)), "UniswapV2Router: INSUFFICIENT_A_AMOUNT");
    pools.refused(0, &remove(1_000, (0, 501)), "UniswapV2Router: INSUFFICIENT_B_AMOUNT");
    let got = pools.routed(BOB, 0, &remove(1_000, (2_000, 500))).unwrap();
    assert_eq!((got.amountA, got.amountB), (n(2_000), n(500)));
    let late = sol::removeLiquidityCall { deadline: n(NOW - 1), ..remove(1, (0, 0)) };
    pools.refused(0, &late, "UniswapV2Router: EXPIRED");
    let one_token = sol::removeLiquidityCall { tokenA: token0, ..remove(1, (0, 0)) };
    pools.refused(0, &one_token, "UniswapV2Library: IDENTICAL_ADDRESSES");
    let no_token = sol::removeLiquidityCall { tokenA: Address::ZERO, ..remove(1, (0, 0)) };
    pools.refused(0, &no_token, "UniswapV2Library: ZERO_ADDRESS");
    // There is no pool of these.
    let no_pool = sol::removeLiquidityCall { tokenA: CAROL, ..remove(1, (0, 0)) };
    pools.chain.is_absent(BOB, router, &no_pool);
}

#[test]
fn tokens_are_swapped_along_paths() {
    let mut pools = Pools::with_ether();
    let path: Vec<_> = pools.tokens.to_vec();
    let want = pools.amounts_out(1_000, path.clone());
    let exact_in = sol::swapExactTokensForTokensCall {
        amountIn: n(1_000),
        amountOutMin: want[1],
        path: path.clone(),
        to: CAROL,
        deadline: NOW_WORD,
    };
    let greedy = sol::swapExactTokensForTokensCall { amountOutMin: want[1] + U256::ONE, ..exact_in.clone() };
    pools.refused(0, &greedy, "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
    assert_eq!(pools.routed(BOB, 0, &exact_in), Ok(want.clone()));
    assert_eq!(pools.held(CAROL), (TOKENS, TOKENS + want[1].to::<u64>()));
    let want = pools.amounts_in(1_000, path.clone());
    let exact_out = sol::swapTokensForExactTokensCall {
        amountOut: n(1_000),
        amountInMax: want[0],
        path,
        to: CAROL,
        deadline: NOW_WORD,
    };
    let stingy = sol::swapTokensForExactTokensCall { amountInMax: want[0] - U256::ONE, ..exact_out.clone() };
    pools.refused(0, &stingy, "UniswapV2Router: EXCESSIVE_INPUT_AMOUNT");
    assert_eq!(pools.routed(BOB, 0, &exact_out), Ok(want));
    pools.router_is_empty();
}

#[test]
fn ether_is_swapped_at_both_ends() {
    let mut pools = Pools::with_ether();
    let (path, back) = (pools.path(), pools.path_back());
    let want = pools.amounts_out(1_000, path.clone());
    let call =
        sol::swapExactETHForTokensCall { amountOutMin: want[2], path: path.clone(), to: CAROL, deadline: NOW_WORD };
    assert_eq!(pools.routed(BOB, 1_000, &call), Ok(want.clone()));
    assert_eq!(pools.held(CAROL), (TOKENS, TOKENS + want[2].to::<u64>()));

    let want = pools.amounts_in(500, path.clone());
    let call = sol::swapETHForExactTokensCall { amountOut: n(500), path: path.clone(), to: CAROL, deadline: NOW_WORD };
    pools.refused(want[0].to::<u64>() - 1, &call, "UniswapV2Router: EXCESSIVE_INPUT_AMOUNT");
    let before = pools.chain.wei(BOB);
    assert_eq!(pools.routed(BOB, 5_000, &call), Ok(want.clone()));
    assert_eq!(pools.chain.wei(BOB), before - want[0].to::<u64>(), "the rest comes back");

    let want = pools.amounts_out(2_000, back.clone());
    let call = sol::swapExactTokensForETHCall {
        amountIn: n(2_000),
        amountOutMin: want[2],
        path: back.clone(),
        to: CAROL,
        deadline: NOW_WORD,
    };
    assert_eq!(pools.routed(BOB, 0, &call), Ok(want.clone()));
    assert_eq!(pools.chain.wei(CAROL), FUNDS + want[2].to::<u64>());

    let amounts = pools.amounts_in(100, back.clone());
    let call = sol::swapTokensForExactETHCall {
        amountOut: n(100),
        amountInMax: amounts[0],
        path: back,
        to: CAROL,
        deadline: NOW_WORD,
    };
    assert_eq!(pools.routed(BOB, 0, &call), Ok(amounts));
    assert_eq!(pools.chain.wei(CAROL), FUNDS + want[2].to::<u64>() + 100);
    pools.router_is_empty();
}

/// The plain tokens have no fee: what arrives is what was sent.
#[test]
fn functions_for_fees_on_transfers_give_what_the_others_do() {
    let mut pools = Pools::with_ether();
    let (path, back, router) = (pools.path(), pools.path_back(), pools.router);
    let want = pools.amounts_out(1_000, path.clone())[2];
    let call = sol::swapExactETHForTokensSupportingFeeOnTransferTokensCall {
        amountOutMin: want,
        path: path.clone(),
        to: CAROL,
        deadline: NOW_WORD,
    };
    let greedy =
        sol::swapExactETHForTokensSupportingFeeOnTransferTokensCall { amountOutMin: want + U256::ONE, ..call.clone() };
    pools.refused(1_000, &greedy, "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
    pools.routed(BOB, 1_000, &call).unwrap();
    assert_eq!(pools.held(CAROL), (TOKENS, TOKENS + want.to::<u64>()));
    let want = pools.amounts_out(2_000, back.clone())[2];
    let call = sol::swapExactTokensForETHSupportingFeeOnTransferTokensCall {
        amountIn: n(2_000),
        amountOutMin: want,
        path: back.clone(),
        to: CAROL,
        deadline: NOW_WORD,
    };
    pools.routed(BOB, 0, &call).unwrap();
    assert_eq!(pools.chain.wei(CAROL), FUNDS + want.to::<u64>());
    let tokens = pools.tokens.to_vec();
    let want = pools.amounts_out(3_000, tokens.clone())[1];
    let call = sol::swapExactTokensForTokensSupportingFeeOnTransferTokensCall {
        amountIn: n(3_000),
        amountOutMin: want,
        path: tokens,
        to: OWNER,
        deadline: NOW_WORD,
    };
    let (_, before) = pools.held(OWNER);
    pools.routed(BOB, 0, &call).unwrap();
    assert_eq!(pools.held(OWNER).1 - before, want.to::<u64>());
    pools.pool = pools.eth_pool();
    pools.ok(BOB, &pool::approveCall { spender: router, value: U256::MAX });
    let call = sol::removeLiquidityETHSupportingFeeOnTransferTokensCall {
        token: pools.tokens[0],
        liquidity: n(1_000),
        amountTokenMin: U256::ZERO,
        amountETHMin: U256::ZERO,
        to: OWNER,
        deadline: NOW_WORD,
    };
    let before = pools.chain.wei(OWNER);
    let got = pools.routed(BOB, 0, &call).unwrap();
    assert_eq!(pools.chain.wei(OWNER), before + got.to::<u64>());
    pools.router_is_empty();
}

#[test]
fn paths_have_two_tokens_and_the_right_ends() {
    let mut pools = Pools::with_ether();
    let [token0, token1] = pools.tokens;
    let from_ether = |path: Vec<Address>| sol::swapExactETHForTokensCall {
        amountOutMin: U256::ZERO,
        path,
        to: CAROL,
        deadline: NOW_WORD,
    };
    let to_ether = |path: Vec<Address>| sol::swapExactTokensForETHCall {
        amountIn: n(100),
        amountOutMin: U256::ZERO,
        path,
        to: CAROL,
        deadline: NOW_WORD,
    };
    pools.refused(10, &from_ether(vec![token0, token1]), "UniswapV2Router: INVALID_PATH");
    pools.refused(0, &to_ether(vec![token0, token1]), "UniswapV2Router: INVALID_PATH");
    pools.refused(10, &from_ether(vec![pools.weth]), "UniswapV2Library: INVALID_PATH");
    pools.refused(0, &to_ether(vec![pools.weth]), "UniswapV2Library: INVALID_PATH");
    pools.is_invalid(10, &from_ether(Vec::new()));
    pools.is_invalid(0, &to_ether(Vec::new()));
    pools.refused(10, &from_ether(vec![pools.weth, pools.weth]), "UniswapV2Library: IDENTICAL_ADDRESSES");
    pools.refused(0, &from_ether(pools.path()), "UniswapV2Library: INSUFFICIENT_INPUT_AMOUNT");
    let no_pool = from_ether(vec![pools.weth, token1]);
    let result = pools.chain.send(BOB, pools.router, 10, &no_pool.abi_encode(), 1_000_000);
    assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
    let supporting = |path: Vec<Address>| sol::swapExactTokensForTokensSupportingFeeOnTransferTokensCall {
        amountIn: n(100),
        amountOutMin: U256::ZERO,
        path,
        to: CAROL,
        deadline: NOW_WORD,
    };
    pools.is_invalid(0, &supporting(Vec::new()));
    pools.is_invalid(0, &supporting(vec![token0]));
    let no_pool = supporting(vec![token1, pools.weth]);
    pools.chain.is_absent(BOB, pools.router, &no_pool);
}

#[test]
fn ether_comes_from_the_wrapper_only() {
    let mut pools = Pools::new();
    let result = pools.chain.send(BOB, pools.router, 5, &[], 100_000);
    assert_eq!(result.outcome, FrameOutcome::Halt(HaltReason::InvalidOpcode));
    let value_to_tokens = sol::WETHCall {}.abi_encode();
    let result = pools.chain.send(BOB, pools.router, 5, &value_to_tokens, 100_000);
    assert_eq!((result.outcome, result.output.len()), (FrameOutcome::Revert, 0));
}

/// A pool that no factory knows is no pool to a router.
#[test]
fn pools_are_those_of_the_factory() {
    let mut pools = Pools::new();
    let token = pools.chain.deploy(BOB, 0, &TestToken::init_code(18, 1_000));
    let alone = LiquidityPoolParams::new(token, pools.tokens[0]);
    pools.chain.deploy(BOB, 0, &alone.init_code());
    let call = sol::getAmountsOutCall { amountIn: n(1), path: vec![token, pools.tokens[0]] };
    pools.chain.is_absent(BOB, pools.router, &call);
}

#[test]
fn a_router_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&LiquidityRouter);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let values = serde_json::json!({ "factory": BOB.to_string(), "WETH": CAROL.to_string() });
    assert_eq!(encode(values).unwrap(), LiquidityRouterParams::new(BOB, CAROL).init_code());
    let errors = encode(serde_json::json!({})).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["factory", "WETH"]);
    let layout = LiquidityRouter.storage_layout();
    let labels: Vec<_> = layout.storage.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(labels, ["factory", "WETH"]);
}
