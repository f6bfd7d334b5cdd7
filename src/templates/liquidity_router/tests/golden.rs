//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! The gas of the pools, of the factory, of wrapped ether and of `test_chain`'s plain tokens is included.

use super::*;

/// All functions that change something, in an order in which each succeeds, and refusals.
fn steps(pools: &Pools) -> Vec<(&'static str, u64, Vec<u8>)> {
    let (path, back, tokens) = (pools.path(), pools.path_back(), pools.tokens.to_vec());
    let (zero, to, deadline) = (U256::ZERO, CAROL, NOW_WORD);
    let (token, [token0, token1]) = (pools.tokens[0], pools.tokens);
    let (v, r, s) = (27, B256::repeat_byte(1), B256::repeat_byte(1));
    vec![
        ("addLiquidity", 0, pools.add_call(1_000, 4_000).abi_encode()),
        ("addLiquidityETH", 500, pools.add_eth_call(900).abi_encode()),
        (
            "removeLiquidity",
            0,
            sol::removeLiquidityCall {
                tokenA: token0,
                tokenB: token1,
                liquidity: n(100),
                amountAMin: zero,
                amountBMin: zero,
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "removeLiquidityETH",
            0,
            sol::removeLiquidityETHCall {
                token,
                liquidity: n(100),
                amountTokenMin: zero,
                amountETHMin: zero,
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "removeLiquidityETHSupportingFeeOnTransferTokens",
            0,
            sol::removeLiquidityETHSupportingFeeOnTransferTokensCall {
                token,
                liquidity: n(100),
                amountTokenMin: zero,
                amountETHMin: zero,
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapExactTokensForTokens",
            0,
            sol::swapExactTokensForTokensCall {
                amountIn: n(500),
                amountOutMin: zero,
                path: tokens.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapTokensForExactTokens",
            0,
            sol::swapTokensForExactTokensCall {
                amountOut: n(500),
                amountInMax: U256::MAX,
                path: tokens.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapExactETHForTokens",
            500,
            sol::swapExactETHForTokensCall { amountOutMin: zero, path: path.clone(), to, deadline }.abi_encode(),
        ),
        (
            "swapTokensForExactETH",
            0,
            sol::swapTokensForExactETHCall {
                amountOut: n(50),
                amountInMax: U256::MAX,
                path: back.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapExactTokensForETH",
            0,
            sol::swapExactTokensForETHCall { amountIn: n(500), amountOutMin: zero, path: back.clone(), to, deadline }
                .abi_encode(),
        ),
        (
            "swapETHForExactTokens",
            5_000,
            sol::swapETHForExactTokensCall { amountOut: n(500), path: path.clone(), to, deadline }.abi_encode(),
        ),
        (
            "swapExactTokensForTokensSupportingFeeOnTransferTokens",
            0,
            sol::swapExactTokensForTokensSupportingFeeOnTransferTokensCall {
                amountIn: n(500),
                amountOutMin: zero,
                path: tokens.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapExactETHForTokensSupportingFeeOnTransferTokens",
            500,
            sol::swapExactETHForTokensSupportingFeeOnTransferTokensCall {
                amountOutMin: zero,
                path: path.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "swapExactTokensForETHSupportingFeeOnTransferTokens",
            0,
            sol::swapExactTokensForETHSupportingFeeOnTransferTokensCall {
                amountIn: n(500),
                amountOutMin: zero,
                path: back.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "removeLiquidityWithPermit of nobody",
            0,
            sol::removeLiquidityWithPermitCall {
                tokenA: token0,
                tokenB: token1,
                liquidity: n(100),
                amountAMin: zero,
                amountBMin: zero,
                to,
                deadline,
                approveMax: true,
                v,
                r,
                s,
            }
            .abi_encode(),
        ),
        (
            "removeLiquidityETHWithPermit of nobody",
            0,
            sol::removeLiquidityETHWithPermitCall {
                token,
                liquidity: n(100),
                amountTokenMin: zero,
                amountETHMin: zero,
                to,
                deadline,
                approveMax: false,
                v,
                r,
                s,
            }
            .abi_encode(),
        ),
        (
            "removeLiquidityETHWithPermitSupportingFeeOnTransferTokens of nobody",
            0,
            sol::removeLiquidityETHWithPermitSupportingFeeOnTransferTokensCall {
                token,
                liquidity: n(100),
                amountTokenMin: zero,
                amountETHMin: zero,
                to,
                deadline,
                approveMax: false,
                v,
                r,
                s,
            }
            .abi_encode(),
        ),
        (
            "too late",
            0,
            sol::swapExactTokensForTokensCall {
                amountIn: n(500),
                amountOutMin: zero,
                path: tokens.clone(),
                to,
                deadline: n(NOW - 1),
            }
            .abi_encode(),
        ),
        (
            "too little",
            0,
            sol::swapExactTokensForTokensCall {
                amountIn: n(500),
                amountOutMin: U256::MAX,
                path: tokens.clone(),
                to,
                deadline,
            }
            .abi_encode(),
        ),
        (
            "not from ether",
            5,
            sol::swapExactETHForTokensCall { amountOutMin: zero, path: tokens.clone(), to, deadline }.abi_encode(),
        ),
        (
            "a pool that is not there",
            0,
            sol::getAmountsOutCall { amountIn: n(500), path: vec![token1, pools.weth] }.abi_encode(),
        ),
        ("getAmountsOut", 0, sol::getAmountsOutCall { amountIn: n(500), path }.abi_encode()),
        ("getAmountsIn", 0, sol::getAmountsInCall { amountOut: n(50), path: back }.abi_encode()),
        ("quote", 0, sol::quoteCall { amountA: n(5), reserveA: n(7), reserveB: n(9) }.abi_encode()),
        ("getAmountOut", 0, sol::getAmountOutCall { amountIn: n(5), reserveIn: n(7), reserveOut: n(9) }.abi_encode()),
        ("getAmountIn", 0, sol::getAmountInCall { amountOut: n(5), reserveIn: n(7), reserveOut: n(9) }.abi_encode()),
        ("factory", 0, sol::factoryCall {}.abi_encode()),
        ("WETH", 0, sol::WETHCall {}.abi_encode()),
        ("ether", 5, Vec::new()),
        ("value", 5, sol::WETHCall {}.abi_encode()),
        ("a function that is not there", 0, vec![1, 2, 3, 4]),
    ]
}

/// Bob has LP tokens of both pools, which the router may take.
fn prepared() -> Pools {
    let mut pools = Pools::with_ether();
    pools.add(BOB, 1_000, 4_000);
    for pool in [pools.pool, pools.eth_pool()] {
        pools.chain.ok(BOB, pool, &pool::approveCall { spender: pools.router, value: U256::MAX });
    }
    pools
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut pools = Pools::new();
    let init_code = LiquidityRouterParams::new(pools.factory, pools.weth).init_code();
    let (_, mut got) = pools.chain.creation_line(OWNER, "a factory", &init_code);
    let first = pools.add_eth_call(9_000).abi_encode();
    got += &pools.chain.line("addLiquidityETH, the first", BOB, pools.router, 1_000, &first);
    let mut pools = prepared();
    for (name, value, input) in steps(&pools) {
        got += &pools.chain.line(name, BOB, pools.router, value, &input);
    }
    let supports = sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode();
    got += &pools.chain.line("supportsInterface", BOB, pools.router, 0, &supports);
    let want = include_str!("golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}
