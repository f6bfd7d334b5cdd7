//! Random histories of a market under moving and bad prices. After each step, whatever it was:
//!
//! - what is there, owed and written off is worth no less than what suppliers and treasury own, by a margin in rays that no step lowers;
//! - the parts are the whole: supplies, debts and collateral of all users, and the tokens that the market holds;
//! - no index falls.
//!
//! And of the steps: nobody borrows or takes out collateral to a health factor below one, who is at one or above is not liquidated and who is
//! below is, supplying and repaying need no price, and nobody takes out more than he owns.

use core::cell::RefCell;
use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Supply {
        user: usize,
        value: u64,
    },
    Withdraw {
        user: usize,
        value: u64,
    },
    PutIn {
        user: usize,
        value: u64,
    },
    TakeOut {
        user: usize,
        value: u64,
    },
    /// Hundredths of a percent of what may be borrowed.
    Borrow {
        user: usize,
        part: u64,
    },
    Repay {
        user: usize,
        debtor: usize,
        value: u64,
    },
    Liquidate {
        user: usize,
        debtor: usize,
        value: u64,
        inside: bool,
    },
    /// In hundredths of a percent of the last good one.
    MovePrice {
        part: u64,
    },
    /// To where a debtor's health factor is one, and so many units of the price above.
    Edge {
        debtor: usize,
        above: i64,
    },
    BadPrice {
        is_stale: bool,
    },
    Wait {
        seconds: u64,
    },
    Mint,
    Cover {
        user: usize,
        value: u64,
    },
    Donate {
        value: u64,
    },
}

/// How often the steps of each kind succeeded and failed.
type Reached = BTreeMap<&'static str, (u32, u32)>;

fn a_step() -> impl Strategy<Value = Step> {
    let user = || 0..USERS.len();
    let value = || prop_oneof![4 => 1_u64..5_000 * USD, 2 => 1_u64..100, 1 => Just(u64::MAX)];
    let collateral = || prop_oneof![4 => 1_u64..5 * ETH, 1 => 1_u64..10, 1 => Just(u64::MAX)];
    let part = select(vec![1_000_u64, 3_000, 6_000, 8_000, 9_000, 9_500, 9_900, 9_999, 10_001, 10_100, 12_000, 15_000]);
    let seconds = select(vec![1_u64, 12, 3_600, 86_400, 30 * 86_400, YEAR]);
    prop_oneof![
        5 => (user(), value()).prop_map(|(user, value)| Step::Supply { user, value }),
        3 => (user(), value()).prop_map(|(user, value)| Step::Withdraw { user, value }),
        4 => (user(), collateral()).prop_map(|(user, value)| Step::PutIn { user, value }),
        3 => (user(), collateral()).prop_map(|(user, value)| Step::TakeOut { user, value }),
        8 => (user(), prop_oneof![1 => 1_u64..9_000, 3 => 9_000_u64..10_100]).prop_map(|(user, part)| Step::Borrow { user, part }),
        3 => (user(), user(), value()).prop_map(|(user, debtor, value)| Step::Repay { user, debtor, value }),
        6 => (user(), user(), value(), any::<bool>())
            .prop_map(|(user, debtor, value, inside)| Step::Liquidate { user, debtor, value, inside }),
        5 => part.prop_map(|part| Step::MovePrice { part }),
        3 => (user(), -2_i64..=2).prop_map(|(debtor, above)| Step::Edge { debtor, above }),
        1 => any::<bool>().prop_map(|is_stale| Step::BadPrice { is_stale }),
        4 => seconds.prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Mint),
        3 => (user(), value()).prop_map(|(user, value)| Step::Cover { user, value }),
        1 => value().prop_map(|value| Step::Donate { value }),
    ]
}

fn some_params() -> impl Strategy<Value = LendingParams> {
    let factors = (select(vec![0_u16, 1_000, 10_000]), select(vec![1_u16, 8_000, 10_000]));
    let rates = (select(vec![0_u16, 200]), select(vec![0_u16, 400]), select(vec![0_u16, 7_500, u16::MAX]));
    let ltv = select(vec![7_500, 8_000]);
    (ltv, factors, rates).prop_map(|(ltv, (reserve_factor, optimal_usage_ratio), (base, slope1, slope2))| {
        LendingParams {
            ltv,
            reserve_factor,
            optimal_usage_ratio,
            base_variable_borrow_rate: base,
            variable_rate_slope1: slope1,
            variable_rate_slope2: slope2,
            ..params()
        }
    })
}

/// A history, its last good price and what was given to the market for nothing.
struct History {
    world: World,
    price: i64,
    is_good: bool,
    donated: u64,
}

/// What solvency is about, in rays.
struct Books {
    assets: U256,
    liabilities: U256,
    indexes: [U256; 2],
}

impl Books {
    /// The margin of assets above liabilities is not negative, and not less than that of others.
    fn check_not_below(&self, other: &Self, moment: &str, step: &Step) {
        assert!(
            self.assets >= self.liabilities,
            "insolvent {moment} {step:?}: {} for {}",
            self.assets,
            self.liabilities
        );
        let (margin, least) = (self.assets - self.liabilities, other.assets - other.liabilities);
        assert!(margin >= least, "{moment} {step:?} the margin is {margin}, which was {least}");
    }
}

impl History {
    fn new(params: &LendingParams) -> Self {
        let mut world = deploy(params);
        world.supply(ALICE, 10_000 * USD);
        USERS.into_iter().for_each(|user| world.put_in(user, 2 * ETH));
        Self { world, price: PRICE, is_good: true, donated: 0 }
    }

    fn half(&mut self, slot: u64, is_high: bool) -> U256 {
        let word = self.world.chain.slot(self.world.market, U256::from(slot));
        if is_high { word >> 128_usize } else { word & U256::from(u128::MAX) }
    }

    /// The books at the block's time.
    fn books(&mut self) -> Books {
        let reserve = self.world.reserve();
        self.books_at([reserve.liquidityIndex, reserve.variableBorrowIndex], reserve.accruedToTreasuryScaled)
    }

    /// The books as they were written last.
    fn stored_books(&mut self) -> Books {
        let (indexes, treasury) = ([self.half(0, false), self.half(1, false)], self.half(3, true));
        self.books_at(indexes, treasury)
    }

    fn books_at(&mut self, indexes: [U256; 2], treasury: U256) -> Books {
        let (supply, debt) = (self.half(2, false), self.half(2, true));
        let (cash, deficit) = (self.half(3, false), self.half(4, false));
        let [liquidity_index, borrow_index] = indexes;
        Books {
            assets: (cash + deficit) * RAY + debt * borrow_index,
            liabilities: (supply + treasury) * liquidity_index,
            indexes,
        }
    }

    /// The parts are the whole.
    fn check_sums(&mut self) {
        let (token, collateral, market) = (self.world.token, self.world.collateral, self.world.market);
        let holders = [OWNER, ALICE, BOB, CAROL];
        let mut sum = |mapping: u64| {
            let slot = |user: Address| keccak256([user.into_word().0, U256::from(mapping).to_be_bytes()].concat());
            holders.map(|user| self.world.chain.slot(market, slot(user).into())).into_iter().sum::<U256>()
        };
        let (supplies, debts, collaterals) = (sum(5), sum(6), sum(7));
        assert_eq!((supplies, debts), (self.half(2, false), self.half(2, true)));
        assert_eq!(collaterals, self.world.chain.slot(market, U256::from(8)));
        assert_eq!(amount(self.world.held(collateral, market)), collaterals);
        assert_eq!(amount(self.world.held(token, market)), self.half(3, false) + amount(self.donated));
    }

    fn health_of(&self, user: Address) -> Option<U256> {
        self.world
            .chain
            .try_read(self.world.market, &sol::getUserAccountDataCall { user })
            .ok()
            .map(|data| data.healthFactor)
    }

    fn call<C: SolCall>(&mut self, from: Address, call: &C) -> Result<C::Return, Bytes> {
        self.world.chain.call(from, self.world.market, call)
    }

    fn answer(&mut self, price: i64) {
        self.world.set_price(price);
        (self.price, self.is_good) = (price, true);
    }

    /// Runs a step; its name, and whether it succeeded.
    fn run(&mut self, step: &Step) -> (&'static str, bool) {
        let (token, collateral) = (self.world.token, self.world.collateral);
        let bound = |value: u64| if value == u64::MAX { U256::MAX } else { amount(value) };
        match *step {
            Step::Supply { user, value } => {
                let (user, value) = (USERS[user], value.min(self.world.held(token, USERS[user])));
                let call = self.world.supply_call(token, user, value);
                let result = self.call(user, &call);
                // It fails only for less than what a unit is worth.
                let least = self.world.read(&sol::getReserveNormalizedIncomeCall { asset: token }) / RAY;
                assert!(result.is_ok() || amount(value) <= least, "{:?}", result.err());
                ("supply", result.is_ok())
            }
            Step::Withdraw { user, value } => {
                let owned = self.world.supplied(USERS[user]);
                let call = self.world.withdraw_call(token, bound(value), USERS[user]);
                let result = self.call(USERS[user], &call);
                let paid: u64 = result.as_ref().map_or(0, |paid| paid.to());
                assert!(paid <= owned && self.world.supplied(USERS[user]) <= owned - paid);
                ("withdraw", result.is_ok())
            }
            Step::PutIn { user, value } => {
                let (user, value) = (USERS[user], value.min(self.world.held(collateral, USERS[user])));
                let call = self.world.supply_call(collateral, user, value);
                let result = self.call(user, &call);
                assert!(result.is_ok() || value == 0, "{:?}", result.err());
                ("collateral in", result.is_ok())
            }
            Step::TakeOut { user, value } => {
                let (user, has_debt) = (USERS[user], self.world.debt(USERS[user]) > 0);
                let call = self.world.withdraw_call(collateral, bound(value), user);
                let is_ok = self.call(user, &call).is_ok();
                assert!(!is_ok || !has_debt || self.health_of(user).is_some_and(|health| health >= math::WAD));
                ("collateral out", is_ok)
            }
            Step::Borrow { user, part } => {
                let user = USERS[user];
                let power = self.health_of(user).map(|_| self.world.account(user).availableBorrowsBase);
                // From 8 decimals to 6.
                let most: u64 = (power.unwrap_or(amount(100_000)) / amount(100)).saturating_to();
                let call = self.world.borrow_call(user, (u128::from(most) * u128::from(part) / 10_000) as u64);
                let is_ok = self.call(user, &call).is_ok();
                assert!(!is_ok || self.health_of(user).is_some_and(|health| health >= math::WAD));
                ("borrow", is_ok)
            }
            Step::Repay { user, debtor, value } => {
                let (user, debtor) = (USERS[user], USERS[debtor]);
                let debt = self.world.debt(debtor);
                let value = value.min(self.world.held(token, user)).min(debt);
                let call = self.world.repay_call(debtor, amount(value));
                let result = self.call(user, &call);
                let least = self.world.read(&sol::getReserveNormalizedVariableDebtCall { asset: token }) / RAY;
                assert!(result.is_ok() || debt == 0 || amount(value) <= least, "{result:?}");
                assert!(self.world.debt(debtor) >= debt - result.as_ref().map_or(0, |paid| paid.to::<u64>()));
                ("repay", result.is_ok())
            }
            Step::Liquidate { user, debtor, value, inside } => {
                self.liquidate(USERS[user], USERS[debtor], value, inside)
            }
            Step::MovePrice { part } => {
                let price = (i128::from(self.price) * i128::from(part) / 10_000).clamp(1, 1 << 45) as i64;
                self.answer(price);
                ("price", true)
            }
            Step::Edge { debtor, above } => self.move_to_edge(USERS[debtor], above),
            Step::BadPrice { is_stale } => {
                if is_stale {
                    let later = self.world.chain.block.timestamp.as_secs() + 86_401;
                    self.world.chain.at(later);
                } else {
                    self.world.set_price(-1);
                }
                self.is_good = false;
                ("bad price", true)
            }
            Step::Wait { seconds } => {
                self.world.later(seconds);
                ("time", true)
            }
            Step::Mint => ("treasury", self.call(ALICE, &sol::mintToTreasuryCall { assets: vec![token] }).is_ok()),
            Step::Cover { user, value } => {
                let call = sol::eliminateReserveDeficitCall { asset: token, amount: amount(value) };
                ("cover", self.call(USERS[user], &call).is_ok())
            }
            Step::Donate { value } => {
                let value = value.min(self.world.held(token, CAROL) / 10);
                let call = asset::transferCall { to: self.world.market, value: amount(value) };
                self.world.chain.ok(CAROL, token, &call);
                self.donated += value;
                ("donation", true)
            }
        }
    }

    fn liquidate(&mut self, user: Address, debtor: Address, value: u64, inside: bool) -> (&'static str, bool) {
        let before = self.health_of(debtor);
        let (debt, collateral) = (self.world.debt(debtor), self.world.collateral_of(debtor));
        let (deficit, held) = (self.world.deficit(), self.world.held(self.world.token, user));
        let value = value.min(held);
        let call = sol::liquidationCallCall { receiveAToken: inside, ..self.world.liquidation(debtor, amount(value)) };
        let result = self.call(user, &call);
        let is_due = before.is_some_and(|health| health < math::WAD);
        if result.is_ok() {
            assert!(is_due, "{before:?}");
            assert!(self.world.debt(debtor) < debt);
            // Who liquidates himself inside keeps his collateral.
            assert!(self.world.collateral_of(debtor) <= collateral);
            let written_off = self.world.deficit() - deficit;
            assert!(written_off == 0 || self.world.debt(debtor) == 0);
            return (if written_off > 0 { "bad debt" } else { "liquidation" }, true);
        }
        // Amounts of less than a unit, and debtors without collateral, are refused all the same.
        let least = self.world.read(&sol::getReserveNormalizedVariableDebtCall { asset: self.world.token }) / RAY;
        assert!(!is_due || collateral == 0 || amount(value) <= least + U256::ONE, "{:?} at {before:?}", result.err());
        ("liquidation", false)
    }

    /// Sets the price at which a debtor's health factor is one, or a little beside that.
    fn move_to_edge(&mut self, debtor: Address, above: i64) -> (&'static str, bool) {
        let (debt, collateral) = (self.world.debt(debtor), self.world.collateral_of(debtor));
        if debt == 0 || collateral == 0 {
            return ("edge", false);
        }
        // debt * 10^-6 = 0.8 * collateral * 10^-8 * price * 10^-8, rounded up.
        let (debt, collateral) = (u128::from(debt), u128::from(collateral));
        let price = (debt * 10_u128.pow(10) * 10_000).div_ceil(8_000 * collateral);
        let Ok(price) = i64::try_from(price) else { return ("edge", false) };
        self.answer((price + above).clamp(1, 1 << 45));
        let is_at_least_one = self.health_of(debtor).is_some_and(|health| health >= math::WAD);
        // Amounts of some units are beside the edge by rounding; large ones are at it.
        if collateral > u128::from(ETH / 100) && above < 0 {
            assert!(!is_at_least_one);
        }
        ("edge", true)
    }
}

fn run_history(params: &LendingParams, steps: &[Step], reached: &mut Reached) {
    let mut history = History::new(params);
    for step in steps {
        let (now, before, stored) = (history.world.chain.block.timestamp, history.books(), history.stored_books());
        before.check_not_below(&stored, "before", step);
        let (name, is_ok) = history.run(step);
        let (after, is_later) = (history.books(), history.world.chain.block.timestamp > now);
        // What accrues until then has fractions of a unit, which the treasury gets when they make a whole: time is counted from the last write.
        after.check_not_below(if is_later { &stored } else { &before }, "after", step);
        for (before, after) in before.indexes.into_iter().zip(after.indexes) {
            assert!(before <= after, "an index falls");
            assert!(is_later || before == after, "an index rises within a block");
        }
        history.check_sums();
        let count = reached.entry(name).or_default();
        if is_ok { count.0 += 1 } else { count.1 += 1 }
    }
}

proptest! {
    #[test]
    fn the_market_is_solvent_whatever_happens(params in some_params(), steps in vec(a_step(), 1..40)) {
        run_history(&params, &steps, &mut Reached::new());
    }
}

#[test]
fn histories_reach_all() {
    let reached = RefCell::new(Reached::new());
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner =
        TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(Default::default()));
    runner
        .run(&(some_params(), vec(a_step(), 40)), |(params, steps)| {
            run_history(&params, &steps, &mut reached.borrow_mut());
            Ok(())
        })
        .unwrap();
    let reached = reached.into_inner();
    for name in ["supply", "withdraw", "collateral in", "collateral out", "borrow", "repay", "liquidation", "edge"] {
        let (successes, failures) = reached[name];
        assert!(successes >= 5 && failures >= 1, "{name}: {reached:?}");
    }
    for name in ["bad debt", "treasury", "cover", "bad price", "time", "donation"] {
        assert!(reached.get(name).is_some_and(|(successes, _)| *successes >= 1), "{name}: {reached:?}");
    }
}
