//! UniswapV2Router02, over two tokens, WETH9 and a factory.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolInterface, sol};
use chainbox::templates::{
    LiquidityFactoryParams, LiquidityRouterParams, WrappedNativeParams, liquidity_router::IMMUTABLES,
};
use proptest::{prelude::*, sample::select};

use super::{pair_address, persons, reference_factory, sign_permit, subject, token};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, PERSONS, contract, person},
    signatures::Permit,
    suite::{Creation, Scene, Suite},
    suites::erc20::OWN_SLOTS,
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Router {
        function addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline);
        function addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline);
        function removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline);
        function removeLiquidityETH(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline);
        function removeLiquidityETHSupportingFeeOnTransferTokens(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline);
        function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline);
        function swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline);
        function swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline);
        function swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function swapExactETHForTokensSupportingFeeOnTransferTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function swapExactTokensForETHSupportingFeeOnTransferTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline);
        function getAmountsOut(uint256 amountIn, address[] path);
        function getAmountsIn(uint256 amountOut, address[] path);
    }

    #[sol(extra_derives(Debug))]
    interface WithPermit {
        function removeLiquidityWithPermit(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s);
        function removeLiquidityETHWithPermit(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s);
        function removeLiquidityETHWithPermitSupportingFeeOnTransferTokens(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline, bool approveMax, uint8 v, bytes32 r, bytes32 s);
    }

    interface Others {
        function approve(address spender, uint256 value);
        function transfer(address to, uint256 value);
        function nonces(address owner);
        function deposit();
        function withdraw(uint256 wad);
        function transferFrom(address src, address dst, uint256 wad);
    }
}

use Router::*;

const WETH: usize = 2;
const FACTORY: usize = 3;
const ROUTER: usize = 4;

/// Slot of WETH, after the factory's.
const WETH_SLOT: U256 = IMMUTABLES.wrapping_add(U256::ONE);

#[derive(Clone, Debug)]
struct RouterSuite;

#[derive(Clone, Debug)]
enum Operation {
    Router {
        from: Address,
        value: u64,
        call: RouterCalls,
    },
    /// Liquidity removed with a signature: of two tokens, of a token and ether, or of such with a fee on transfers.
    WithPermit {
        kind: usize,
        signer: usize,
        is_max: bool,
        is_flawed: bool,
        liquidity: U256,
        to: Address,
    },
    /// WETH9 by itself: deposits, withdrawals, transfers, allowances.
    Wrapped {
        from: Address,
        kind: usize,
        account: Address,
        value: u64,
    },
    /// What a person allows the router of LP tokens.
    Allow {
        from: Address,
        pair: usize,
        value: U256,
    },
}

/// Pairs that exist from the start.
fn pairs() -> [Address; 2] {
    let pair = |a, b| pair_address(contract(FACTORY), contract(a), contract(b));
    [pair(0, 1), pair(0, WETH)]
}

fn a_token() -> impl Strategy<Value = Address> {
    prop_oneof![6 => Just(contract(0)), 6 => Just(contract(1)), 1 => Just(contract(WETH)), 1 => Just(contract(FACTORY)), 1 => Just(Address::ZERO)]
}

fn a_path() -> impl Strategy<Value = Vec<Address>> {
    let [a, b, weth] = [contract(0), contract(1), contract(WETH)];
    let known = vec![
        vec![a, b],
        vec![b, a],
        vec![weth, a],
        vec![a, weth],
        vec![weth, a, b],
        vec![b, a, weth],
        vec![a, b, a],
        vec![weth, b],
        vec![b, weth],
        vec![weth],
        Vec::new(),
        vec![a, a],
        vec![a, Address::ZERO],
    ];
    prop_oneof![8 => select(known[..6].to_vec()), 1 => select(known)]
}

fn from_ether() -> impl Strategy<Value = Vec<Address>> {
    let [a, b, weth] = [contract(0), contract(1), contract(WETH)];
    prop_oneof![6 => select(vec![vec![weth, a], vec![weth, a, b]]), 1 => a_path()]
}

fn to_ether() -> impl Strategy<Value = Vec<Address>> {
    from_ether().prop_map(|path| path.into_iter().rev().collect())
}

fn small() -> impl Strategy<Value = U256> {
    prop_oneof![12 => (1_u64..3_000).prop_map(U256::from), 1 => values::amount()]
}

/// Least amounts, which mostly suffice.
fn least() -> impl Strategy<Value = U256> {
    prop_oneof![6 => Just(U256::ZERO), 1 => small()]
}

/// Greatest amounts, which mostly suffice.
fn greatest() -> impl Strategy<Value = U256> {
    prop_oneof![6 => Just(U256::MAX), 1 => small()]
}

/// A moment that has mostly not passed.
fn a_deadline() -> impl Strategy<Value = U256> {
    prop_oneof![12 => Just(U256::MAX), 1 => Just(U256::from(1_000_000))]
}

fn liquidity() -> BoxedStrategy<(u64, RouterCalls)> {
    use RouterCalls as Calls;
    let to = values::account;
    prop_oneof![
        3 => (a_token(), a_token(), small(), small(), least(), least(), to(), a_deadline()).prop_map(
            |(tokenA, tokenB, amountADesired, amountBDesired, amountAMin, amountBMin, to, deadline)| (0, Calls::addLiquidity(addLiquidityCall {
                tokenA, tokenB, amountADesired, amountBDesired, amountAMin, amountBMin, to, deadline,
            }))
        ),
        3 => (0_u64..3_000, a_token(), small(), least(), least(), to(), a_deadline()).prop_map(
            |(value, token, amountTokenDesired, amountTokenMin, amountETHMin, to, deadline)| (value, Calls::addLiquidityETH(addLiquidityETHCall {
                token, amountTokenDesired, amountTokenMin, amountETHMin, to, deadline,
            }))
        ),
        2 => (a_token(), a_token(), small(), least(), least(), to(), a_deadline()).prop_map(
            |(tokenA, tokenB, liquidity, amountAMin, amountBMin, to, deadline)| (0, Calls::removeLiquidity(removeLiquidityCall {
                tokenA, tokenB, liquidity, amountAMin, amountBMin, to, deadline,
            }))
        ),
        2 => (a_token(), small(), least(), least(), to(), a_deadline()).prop_map(
            |(token, liquidity, amountTokenMin, amountETHMin, to, deadline)| (0, Calls::removeLiquidityETH(removeLiquidityETHCall {
                token, liquidity, amountTokenMin, amountETHMin, to, deadline,
            }))
        ),
        2 => (a_token(), small(), least(), least(), to(), a_deadline()).prop_map(
            |(token, liquidity, amountTokenMin, amountETHMin, to, deadline)| (0, Calls::removeLiquidityETHSupportingFeeOnTransferTokens(
                removeLiquidityETHSupportingFeeOnTransferTokensCall { token, liquidity, amountTokenMin, amountETHMin, to, deadline },
            ))
        ),
    ]
    .boxed()
}

fn swaps() -> BoxedStrategy<(u64, RouterCalls)> {
    use RouterCalls as Calls;
    let to = values::account;
    let tokens = prop_oneof![
        (small(), least(), a_path(), to(), a_deadline()).prop_map(|(amountIn, amountOutMin, path, to, deadline)| {
            (
                0,
                Calls::swapExactTokensForTokens(swapExactTokensForTokensCall {
                    amountIn,
                    amountOutMin,
                    path,
                    to,
                    deadline,
                }),
            )
        }),
        (small(), greatest(), a_path(), to(), a_deadline()).prop_map(|(amountOut, amountInMax, path, to, deadline)| {
            (
                0,
                Calls::swapTokensForExactTokens(swapTokensForExactTokensCall {
                    amountOut,
                    amountInMax,
                    path,
                    to,
                    deadline,
                }),
            )
        }),
        (small(), least(), a_path(), to(), a_deadline()).prop_map(|(amountIn, amountOutMin, path, to, deadline)| {
            (
                0,
                Calls::swapExactTokensForTokensSupportingFeeOnTransferTokens(
                    swapExactTokensForTokensSupportingFeeOnTransferTokensCall {
                        amountIn,
                        amountOutMin,
                        path,
                        to,
                        deadline,
                    },
                ),
            )
        }),
    ]
    .boxed();
    let ether_in = prop_oneof![
        (0_u64..3_000, least(), from_ether(), to(), a_deadline()).prop_map(
            |(value, amountOutMin, path, to, deadline)| {
                (value, Calls::swapExactETHForTokens(swapExactETHForTokensCall { amountOutMin, path, to, deadline }))
            }
        ),
        (0_u64..9_000, small(), from_ether(), to(), a_deadline()).prop_map(|(value, amountOut, path, to, deadline)| {
            (value, Calls::swapETHForExactTokens(swapETHForExactTokensCall { amountOut, path, to, deadline }))
        }),
        (0_u64..3_000, least(), from_ether(), to(), a_deadline()).prop_map(
            |(value, amountOutMin, path, to, deadline)| {
                (
                    value,
                    Calls::swapExactETHForTokensSupportingFeeOnTransferTokens(
                        swapExactETHForTokensSupportingFeeOnTransferTokensCall { amountOutMin, path, to, deadline },
                    ),
                )
            }
        ),
    ]
    .boxed();
    let ether_out = prop_oneof![
        (small(), least(), to_ether(), to(), a_deadline()).prop_map(|(amountIn, amountOutMin, path, to, deadline)| {
            (0, Calls::swapExactTokensForETH(swapExactTokensForETHCall { amountIn, amountOutMin, path, to, deadline }))
        }),
        (small(), greatest(), to_ether(), to(), a_deadline()).prop_map(
            |(amountOut, amountInMax, path, to, deadline)| {
                (
                    0,
                    Calls::swapTokensForExactETH(swapTokensForExactETHCall {
                        amountOut,
                        amountInMax,
                        path,
                        to,
                        deadline,
                    }),
                )
            }
        ),
        (small(), least(), to_ether(), to(), a_deadline()).prop_map(|(amountIn, amountOutMin, path, to, deadline)| {
            (
                0,
                Calls::swapExactTokensForETHSupportingFeeOnTransferTokens(
                    swapExactTokensForETHSupportingFeeOnTransferTokensCall {
                        amountIn,
                        amountOutMin,
                        path,
                        to,
                        deadline,
                    },
                ),
            )
        }),
    ]
    .boxed();
    prop_oneof![tokens, ether_in, ether_out].boxed()
}

impl Suite for RouterSuite {
    type Setup = ();
    type Operation = Operation;

    const CONTRACT: &'static str = "UniswapV2Router02";
    const INDEX: usize = ROUTER;

    fn setups() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        let router = (values::a_person(), prop_oneof![2 => liquidity(), 4 => swaps()])
            .prop_map(|(from, (value, call))| Operation::Router { from, value, call });
        let with_permit =
            (0_usize..3, 0..PERSONS, any::<bool>(), proptest::bool::weighted(0.2), small(), values::account())
                .prop_map(|(kind, signer, is_max, is_flawed, liquidity, to)| Operation::WithPermit {
                    kind,
                    signer,
                    is_max,
                    is_flawed,
                    liquidity,
                    to,
                });
        // Receivers' gas is not the same on both sides, and a withdrawer has 2,300.
        let wrapped = (values::a_person(), 0_usize..5, values::account(), 0_u64..5_000)
            .prop_map(|(from, kind, account, value)| Operation::Wrapped { from, kind, account, value });
        let allow = (values::a_person(), 0_usize..2, values::allowance())
            .prop_map(|(from, pair, value)| Operation::Allow { from, pair, value });
        prop_oneof![20 => router, 5 => with_permit, 3 => wrapped, 1 => allow].boxed()
    }

    fn reference((): &()) -> Vec<Creation> {
        let token = || Creation::reference("Erc20WithoutVotes", &token().encode());
        let router = LiquidityRouterParams::new(contract(FACTORY), contract(WETH)).encode();
        vec![
            token(),
            token(),
            Creation::reference("WETH9", &[]),
            reference_factory(),
            Creation::reference("UniswapV2Router02", &router),
        ]
    }

    fn call((): &(), operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let (from, to, value, input) = match operation {
            Operation::Router { from, value, call } => (*from, contract(ROUTER), *value, call.abi_encode()),
            Operation::WithPermit { kind, signer, is_max, is_flawed, liquidity, to } => {
                let owner = person(*signer);
                let (pair, tokens) = match kind {
                    0 => (pairs()[0], (contract(0), contract(1))),
                    _ => (pairs()[1], (contract(0), contract(WETH))),
                };
                let nonce = scene.read(pair, &Others::noncesCall { owner }) + U256::from(u64::from(*is_flawed));
                let (value, deadline) = (if *is_max { U256::MAX } else { *liquidity }, U256::MAX);
                let permit = Permit { owner, spender: contract(ROUTER), value, nonce, deadline };
                let parts = sign_permit(*signer, &permit, tokens, contract(FACTORY));
                (owner, contract(ROUTER), 0, with_permit(*kind, *liquidity, *to, *is_max, parts.v, parts.r, parts.s))
            }
            Operation::Wrapped { from, kind, account, value } => {
                let wad = U256::from(*value);
                let (value, input) = match kind {
                    0 => (*value, Others::depositCall {}.abi_encode()),
                    1 => (0, Others::withdrawCall { wad }.abi_encode()),
                    2 => (0, Others::transferCall { to: *account, value: wad }.abi_encode()),
                    3 => (0, Others::approveCall { spender: *account, value: wad }.abi_encode()),
                    _ => (0, Others::transferFromCall { src: *account, dst: *from, wad }.abi_encode()),
                };
                (*from, contract(WETH), value, input)
            }
            Operation::Allow { from, pair, value } => {
                let call = Others::approveCall { spender: contract(ROUTER), value: *value };
                (*from, pairs()[*pair], 0, call.abi_encode())
            }
        };
        Call { from, to, value: U256::from(value), input: input.into() }
    }

    /// All persons have tokens and wrapped ether, which the router may take, and there are two pools with liquidity of all.
    fn preparation((): &()) -> Vec<Call> {
        let send =
            |from, to, value: u64, input: Vec<u8>| Call { from, to, value: U256::from(value), input: input.into() };
        let amount = |value: u64| U256::from(value);
        let mut calls = Vec::new();
        for token in [contract(0), contract(1)] {
            for to in persons() {
                let call = Others::transferCall { to, value: amount(1_000_000) };
                calls.push(send(person(ADMIN), token, 0, call.abi_encode()));
            }
        }
        for from in persons() {
            calls.push(send(from, contract(WETH), 50_000, Others::depositCall {}.abi_encode()));
            let [pair, eth_pair] = pairs();
            let allow = Others::approveCall { spender: contract(ROUTER), value: U256::MAX };
            for token in [contract(0), contract(1), contract(WETH)] {
                calls.push(send(from, token, 0, allow.abi_encode()));
            }
            let (zero, deadline) = (U256::ZERO, U256::MAX);
            let add = addLiquidityCall {
                tokenA: contract(0),
                tokenB: contract(1),
                amountADesired: amount(20_000),
                amountBDesired: amount(50_000),
                amountAMin: zero,
                amountBMin: zero,
                to: from,
                deadline,
            };
            let add_eth = addLiquidityETHCall {
                token: contract(0),
                amountTokenDesired: amount(30_000),
                amountTokenMin: zero,
                amountETHMin: zero,
                to: from,
                deadline,
            };
            calls.push(send(from, contract(ROUTER), 0, add.abi_encode()));
            calls.push(send(from, contract(ROUTER), 20_000, add_eth.abi_encode()));
            calls.push(send(from, pair, 0, allow.abi_encode()));
            calls.push(send(from, eth_pair, 0, allow.abi_encode()));
        }
        calls
    }

    /// The published WETH9 takes no plain ether.
    fn is_compared(call: &Call) -> bool {
        call.to != contract(WETH) || !call.input.is_empty()
    }

    fn keys((): &()) -> Keys {
        Keys { addresses: values::accounts(), numbers: values::numbers([1_000]), words: Vec::new() }
    }

    fn views((): &()) -> Vec<alloy_primitives::Bytes> {
        let [a, b, weth] = [contract(0), contract(1), contract(WETH)];
        let paths = [vec![a, b], vec![b, a, weth], vec![weth, a], vec![weth, b], vec![a], Vec::new(), vec![a, a]];
        let amounts = [0_u64, 1, 1_000, 1 << 40].map(U256::from);
        let calls = paths.into_iter().flat_map(|path| {
            amounts.into_iter().flat_map(move |amount| {
                let out = getAmountsOutCall { amountIn: amount, path: path.clone() }.abi_encode();
                [out, getAmountsInCall { amountOut: amount, path: path.clone() }.abi_encode()]
            })
        });
        calls.map(Into::into).collect()
    }
}

fn with_permit(
    kind: usize,
    liquidity: U256,
    to: Address,
    approveMax: bool,
    v: u8,
    r: alloy_primitives::B256,
    s: alloy_primitives::B256,
) -> Vec<u8> {
    use WithPermit::*;
    let (zero, deadline, token) = (U256::ZERO, U256::MAX, contract(0));
    match kind {
        0 => removeLiquidityWithPermitCall {
            tokenA: token,
            tokenB: contract(1),
            liquidity,
            amountAMin: zero,
            amountBMin: zero,
            to,
            deadline,
            approveMax,
            v,
            r,
            s,
        }
        .abi_encode(),
        1 => removeLiquidityETHWithPermitCall {
            token,
            liquidity,
            amountTokenMin: zero,
            amountETHMin: zero,
            to,
            deadline,
            approveMax,
            v,
            r,
            s,
        }
        .abi_encode(),
        _ => removeLiquidityETHWithPermitSupportingFeeOnTransferTokensCall {
            token,
            liquidity,
            amountTokenMin: zero,
            amountETHMin: zero,
            to,
            deadline,
            approveMax,
            v,
            r,
            s,
        }
        .abi_encode(),
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<RouterSuite>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<RouterSuite>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    let differential = Differential::<RouterSuite> {
        creations: |()| {
            let token = || Creation::new(token().init_code());
            vec![
                token(),
                token(),
                Creation::new(WrappedNativeParams::default().init_code()),
                Creation::new(LiquidityFactoryParams::new(person(ADMIN)).init_code()),
                Creation::new(LiquidityRouterParams::new(contract(FACTORY), contract(WETH)).init_code()),
            ]
        },
        own_slots: &[OWN_SLOTS[0], OWN_SLOTS[1], IMMUTABLES, WETH_SLOT],
        regressions: "tests/openzeppelin/regressions/uniswap_router.txt",
    };
    differential.run_on(|| subject(contract(FACTORY)));
}
