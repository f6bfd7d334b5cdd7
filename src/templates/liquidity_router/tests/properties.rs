//! What holds in every history.

use proptest::{collection::vec, prelude::*};

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whoever goes there and back along a path loses by the fee, and the router keeps nothing.
    #[test]
    fn no_round_trip_gains(trades in vec((any::<bool>(), 1_u64..50_000), 1..6)) {
        let mut pools = Pools::with_ether();
        for (is_ether, amount) in trades {
            let (path, back) = (pools.path(), pools.path_back());
            let (before, wei) = (pools.held(BOB), pools.chain.wei(BOB));
            let (there, here) = if is_ether { (path, back) } else { (pools.tokens.to_vec(), vec![pools.tokens[1], pools.tokens[0]]) };
            let value = if is_ether { amount.min(wei / 2) } else { 0 };
            let out = if is_ether {
                let call = sol::swapExactETHForTokensCall { amountOutMin: U256::ZERO, path: there, to: BOB, deadline: NOW_WORD };
                pools.routed(BOB, value, &call)
            } else {
                let call = sol::swapExactTokensForTokensCall {
                    amountIn: n(amount), amountOutMin: U256::ZERO, path: there, to: BOB, deadline: NOW_WORD,
                };
                pools.routed(BOB, 0, &call)
            };
            let Ok(out) = out else { continue };
            let amount_in = *out.last().unwrap();
            let call = if is_ether {
                sol::swapExactTokensForETHCall { amountIn: amount_in, amountOutMin: U256::ZERO, path: here, to: BOB, deadline: NOW_WORD }.abi_encode()
            } else {
                sol::swapExactTokensForTokensCall { amountIn: amount_in, amountOutMin: U256::ZERO, path: here, to: BOB, deadline: NOW_WORD }.abi_encode()
            };
            let is_back = pools.chain.send(BOB, pools.router, 0, &call, 10_000_000).is_success();
            if is_back {
                let (after, wei_after) = (pools.held(BOB), pools.chain.wei(BOB));
                prop_assert!(after.0 <= before.0 && after.1 <= before.1 && wei_after <= wei);
            }
            pools.router_is_empty();
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..28, tail: Vec<u8>, words: [u16; 24], gas in 0_u64..300_000, value in 0_u64..2) {
        let mut pools = Pools::with_ether();
        let known = sol::LiquidityRouterCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = pools.chain.send(BOB, pools.router, value, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(LiquidityRouter::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
