//! What holds in every history: the product never falls in a swap, an LP token is never worth less, the reserves are what the pool
//! accounts for and never above its balances, and sums add up.

use alloy_primitives::U512;
use proptest::{collection::vec, prelude::*};

use super::*;

const USERS: [Address; 3] = [OWNER, BOB, CAROL];

#[derive(Clone, Debug)]
enum Step {
    /// Tokens paid in, without a call.
    Pay {
        user: usize,
        amount0: u64,
        amount1: u64,
    },
    Mint {
        user: usize,
    },
    /// LP tokens paid in and burnt.
    Burn {
        user: usize,
        liquidity: u64,
    },
    /// A swap for what was paid in, at the limit of the product, or beyond it by so much.
    Swap {
        user: usize,
        is_token0_in: bool,
        amount: u64,
        beyond: u64,
    },
    /// A swap for amounts of any size.
    WildSwap {
        user: usize,
        amount0: u64,
        amount1: u64,
    },
    Skim {
        user: usize,
    },
    Sync,
    Wait {
        seconds: u64,
    },
    SetFeeTo {
        is_on: bool,
    },
}

fn a_step() -> impl Strategy<Value = Step> {
    let user = || 0..USERS.len();
    let amount = || prop_oneof![4 => 0_u64..50_000, 1 => 0_u64..TOKENS];
    prop_oneof![
        2 => (user(), amount(), amount()).prop_map(|(user, amount0, amount1)| Step::Pay { user, amount0, amount1 }),
        3 => user().prop_map(|user| Step::Mint { user }),
        3 => (user(), amount()).prop_map(|(user, liquidity)| Step::Burn { user, liquidity }),
        6 => (user(), any::<bool>(), amount(), prop_oneof![3 => Just(0_u64), 1 => 1_u64..3])
            .prop_map(|(user, is_token0_in, amount, beyond)| Step::Swap { user, is_token0_in, amount, beyond }),
        2 => (user(), amount(), amount()).prop_map(|(user, amount0, amount1)| Step::WildSwap { user, amount0, amount1 }),
        1 => user().prop_map(|user| Step::Skim { user }),
        1 => Just(Step::Sync),
        1 => (1_u64..10_000).prop_map(|seconds| Step::Wait { seconds }),
        1 => any::<bool>().prop_map(|is_on| Step::SetFeeTo { is_on }),
    ]
}

impl Pools {
    /// Runs a step; returns whether it was a swap that succeeded.
    fn step(&mut self, step: &Step, now: &mut u64) -> bool {
        let pool = self.pool;
        match *step {
            Step::Pay { user, amount0, amount1 } => {
                let (held0, held1) = self.held(USERS[user]);
                self.pay_in(USERS[user], amount0.min(held0), amount1.min(held1));
            }
            Step::Mint { user } => drop(self.chain.call(USERS[user], pool, &mint(USERS[user]))),
            Step::Burn { user, liquidity } => {
                let value = U256::from(liquidity.min(self.lp_tokens(USERS[user])));
                self.ok(USERS[user], &sol::transferCall { to: pool, value });
                let result = self.chain.send(USERS[user], pool, 0, &burn(USERS[user]).abi_encode(), 1_000_000);
                assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
            }
            Step::Swap { user, is_token0_in, amount, beyond } => {
                let user = USERS[user];
                let (held0, held1) = self.held(user);
                let ((reserve0, reserve1), (balance0, balance1)) = (self.reserves(), self.held(pool));
                // What is in the pool beside the reserves is swapped too.
                let (call, excess) = if is_token0_in {
                    let paid = amount.min(held0);
                    self.pay_in(user, paid, 0);
                    let out = amount_out(paid + balance0 - reserve0, reserve0, reserve1.max(1));
                    (swap(0, out + beyond, user), balance1 > reserve1)
                } else {
                    let paid = amount.min(held1);
                    self.pay_in(user, 0, paid);
                    let out = amount_out(paid + balance1 - reserve1, reserve1, reserve0.max(1));
                    (swap(out + beyond, 0, user), balance0 > reserve0)
                };
                let result = self.chain.call(user, pool, &call);
                if beyond > 0 && !excess {
                    assert!(result.is_err(), "a swap beyond the product: {step:?}");
                }
                return result.is_ok();
            }
            Step::WildSwap { user, amount0, amount1 } => {
                return self.chain.call(USERS[user], pool, &swap(amount0, amount1, USERS[user])).is_ok();
            }
            Step::Skim { user } => {
                self.ok(USERS[user], &sol::skimCall { to: USERS[user] });
            }
            Step::Sync => {
                self.ok(BOB, &sol::syncCall {});
                assert_eq!(self.reserves(), self.held(pool));
            }
            Step::Wait { seconds } => {
                *now += seconds;
                self.chain.at(*now);
            }
            Step::SetFeeTo { is_on } => {
                let fee_to = if is_on { CAROL } else { Address::ZERO };
                self.chain.ok(OWNER, self.factory, &factory::setFeeToCall { feeTo: fee_to });
            }
        }
        false
    }

    fn product_and_supply(&self) -> (U512, U512) {
        let (reserve0, reserve1) = self.reserves();
        (U512::from(reserve0) * U512::from(reserve1), U512::from(self.read(&sol::totalSupplyCall {})))
    }

    fn sums_add_up(&self) -> Result<(), TestCaseError> {
        let accounts = USERS.iter().chain([&self.pool]);
        let (sum0, sum1) =
            accounts.clone().map(|account| self.held(*account)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        prop_assert_eq!((sum0, sum1), (3 * TOKENS, 3 * TOKENS));
        let lp_tokens: u64 = accounts.chain([&Address::ZERO]).map(|account| self.lp_tokens(*account)).sum();
        prop_assert_eq!(self.read(&sol::totalSupplyCall {}), U256::from(lp_tokens));
        let ((reserve0, reserve1), (balance0, balance1)) = (self.reserves(), self.held(self.pool));
        prop_assert!(reserve0 <= balance0 && reserve1 <= balance1);
        Ok(())
    }
}

/// Compares the root of the product for each LP token, squared.
fn is_worth_no_less(before: (U512, U512), after: (U512, U512)) -> bool {
    after.0 * before.1 * before.1 >= before.0 * after.1 * after.1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_product_and_the_value_of_an_lp_token_never_fall(steps in vec(a_step(), 1..30)) {
        let (mut pools, mut now) = (Pools::with_liquidity(100_000, 200_000), NOW);
        let mut at_last_change = pools.product_and_supply();
        for step in steps {
            let before = pools.product_and_supply();
            let has_fee = pools.chain.read(pools.factory, &factory::feeToCall {}) != Address::ZERO;
            let is_swapped = pools.step(&step, &mut now);
            let after = pools.product_and_supply();
            if is_swapped {
                prop_assert!(after.0 >= before.0, "{} fell to {} in {step:?}", before.0, after.0);
            }
            let is_change = matches!(step, Step::Mint { .. } | Step::Burn { .. });
            if !(is_change && has_fee) {
                prop_assert!(is_worth_no_less(before, after), "an LP token is worth less after {step:?}");
            }
            // The protocol's fee dilutes by a part of what the value has grown by since liquidity last changed.
            prop_assert!(is_worth_no_less(at_last_change, after), "an LP token lost more than the fee in {step:?}");
            // One that is refused changes nothing, nor the product from which the fee is counted.
            if is_change && after != before {
                at_last_change = after;
            }
            pools.sums_add_up()?;
        }
    }

    #[test]
    fn no_input_makes_it_panic(selector in 0_usize..29, tail: Vec<u8>, words: [u64; 8], gas in 0_u64..400_000) {
        let mut pools = Pools::with_liquidity(10_000, 20_000);
        pools.pay_in(BOB, 500, 500);
        let known = sol::LiquidityPoolCalls::selectors().nth(selector).unwrap_or([1; 4]);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        for arguments in [tail.as_slice(), &words] {
            let input = [known.as_slice(), arguments].concat();
            let result = pools.chain.send(BOB, pools.pool, 0, &input, gas);
            prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
        }
        let init_code = Marker(LiquidityPool::ID).init_code(&tail);
        let (_, result) = TestChain::new(&[OWNER]).create(OWNER, 0, &init_code, 1_000_000);
        prop_assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }
}
