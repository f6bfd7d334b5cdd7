//! Tokens and receivers of ether that call while the router runs.

use super::*;
use crate::templates::test_chain::actor::{self, ActorTemplate};

/// A hostile token on the path and a hostile receiver of ether find the pools locked or consistent, and take nothing.
#[test]
fn hostile_tokens_and_receivers_take_nothing() {
    let mut pools = Pools::hostile();
    let hostile = pools.tokens.into_iter().find(|token| pools.chain.try_read(*token, &actor::answerCall {}).is_ok());
    let (token, pool, router) = (hostile.unwrap(), pools.pool, pools.router);
    let call = pools.add_call(1_000_000, 1_000_000);
    pools.routed(BOB, 0, &call).unwrap();
    let other = if pools.tokens[0] == token { pools.tokens[1] } else { pools.tokens[0] };
    let product = |pools: &Pools| u128::from(pools.reserves().0) * u128::from(pools.reserves().1);
    let path = vec![other, token];
    // The token calls while the pool sends it, in the middle of the swap.
    let inner = [
        pool::swapCall { amount0Out: n(1), amount1Out: n(1), to: CAROL, data: Bytes::new() }.abi_encode(),
        pool::skimCall { to: CAROL }.abi_encode(),
        pool::syncCall {}.abi_encode(),
    ];
    for data in inner {
        let mut pools = pools.clone();
        pools.chain.ok(BOB, token, &actor::armCall { target: pool, data: data.into() });
        let call = sol::swapExactTokensForTokensCall {
            amountIn: n(1_000),
            amountOutMin: n(996),
            path: path.clone(),
            to: CAROL,
            deadline: NOW_WORD,
        };
        let before = product(&pools);
        pools.routed(BOB, 0, &call).unwrap();
        let answer = pools.chain.read(token, &actor::answerCall {});
        assert_eq!((answer.wasMade, answer.isSuccess), (true, false));
        assert!(product(&pools) >= before);
    }
    let mut pools = Pools::with_ether();
    let receiver = pools.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
    let again = sol::swapExactETHForTokensCall {
        amountOutMin: U256::ZERO,
        path: pools.path(),
        to: receiver,
        deadline: NOW_WORD,
    };
    pools.chain.ok(BOB, receiver, &actor::armCall { target: router, data: again.abi_encode().into() });
    let call = sol::swapExactTokensForETHCall {
        amountIn: n(2_000),
        amountOutMin: U256::ZERO,
        path: pools.path_back(),
        to: receiver,
        deadline: NOW_WORD,
    };
    let amounts = pools.routed(BOB, 0, &call).unwrap();
    assert_eq!(pools.chain.wei(receiver), amounts[2].to::<u64>());
    pools.router_is_empty();
    // One that refuses ether has the whole swap undone.
    let refuses = sol::swapExactTokensForETHCall { to: pools.tokens[0], ..call };
    pools.refused(0, &refuses, "TransferHelper: ETH_TRANSFER_FAILED");
}
