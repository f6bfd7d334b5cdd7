//! The arithmetic of `lending` against Aave v3's libraries and interest rate strategy, on random numbers.

use alloy_primitives::{U256, aliases::U40};
use alloy_sol_types::{SolCall, SolError, sol};
use chainbox::{
    templates::lending::{
        math::{
            PERCENTAGE_FACTOR, RAY, compounded_interest, linear_interest, percent_div, percent_mul, ray_div, ray_mul,
            wad_div,
        },
        rates::{RateStrategy, Usage},
    },
    vm::Stop,
};
use proptest::{prelude::*, sample::select, test_runner::TestRunner};

use crate::{
    differential::{create, prepare},
    engine::{Call, Engine, Outcome},
    parties::{contract, person},
    reference::Reference,
    suite::Creation,
};

sol! {
    function rayMul(uint256 a, uint256 b) returns (uint256);
    function rayDiv(uint256 a, uint256 b) returns (uint256);
    function wadDiv(uint256 a, uint256 b) returns (uint256);
    function percentMul(uint256 a, uint256 b) returns (uint256);
    function percentDiv(uint256 a, uint256 b) returns (uint256);
    function linearInterest(uint256 rate, uint40 time) returns (uint256);
    function compoundedInterest(uint256 rate, uint40 time) returns (uint256);
    function rates(uint256[4] terms, uint256 cash, uint256 debt, uint256 deficit, uint256 reserveFactor) returns (uint256 liquidityRate, uint256 variableBorrowRate);
}

/// Numbers that are compared of each function.
const CASES: u32 = 2_000;

fn aave() -> Reference {
    let mut engine = Reference::new();
    prepare(&mut engine);
    assert!(create(&mut engine, 0, &Creation::reference("AaveMath", &[])).is_success());
    engine
}

fn ask(engine: &mut Reference, call: &impl SolCall) -> Outcome {
    let input = call.abi_encode().into();
    engine.view(&Call { from: person(0), to: contract(0), value: U256::ZERO, input })
}

/// Asserts that a result is what Aave returns or reverts with.
fn assert_same(ours: Result<U256, Stop>, theirs: &Outcome) {
    match (ours, theirs) {
        (Ok(number), Outcome::Success { output, .. }) => assert_eq!(number, U256::from_be_slice(output)),
        (Err(Stop::Revert(data)), Outcome::Revert { output }) => assert_eq!(data, *output),
        (ours, theirs) => panic!("{ours:?}, and Aave {theirs:?}"),
    }
}

/// Numbers of all sizes, rays among them, and the edges.
fn number() -> impl Strategy<Value = U256> {
    let sized = (any::<[u64; 4]>(), 0_usize..256).prop_map(|(limbs, shift)| U256::from_limbs(limbs) >> shift);
    prop_oneof![
        8 => sized,
        2 => (0_u64..10_000_000).prop_map(|millionths| RAY / U256::from(1_000_000) * U256::from(millionths)),
        2 => (0_u64..20_001).prop_map(U256::from),
        1 => select(vec![U256::ZERO, U256::ONE, RAY, RAY - U256::ONE, U256::MAX, U256::MAX / RAY, U256::MAX / PERCENTAGE_FACTOR]),
    ]
}

fn compare<T: core::fmt::Debug>(cases: u32, strategy: &impl Strategy<Value = T>, check: impl Fn(&mut Reference, T)) {
    let engine = core::cell::RefCell::new(aave());
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(strategy, |value| {
        check(&mut engine.borrow_mut(), value);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn products_and_quotients_are_aaves() {
    compare(CASES, &(number(), number()), |engine, (a, b)| {
        assert_same(ray_mul(a, b), &ask(engine, &rayMulCall { a, b }));
        assert_same(ray_div(a, b), &ask(engine, &rayDivCall { a, b }));
        assert_same(wad_div(a, b), &ask(engine, &wadDivCall { a, b }));
        assert_same(percent_mul(a, b), &ask(engine, &percentMulCall { a, b }));
        assert_same(percent_div(a, b), &ask(engine, &percentDivCall { a, b }));
    });
}

#[test]
fn interest_over_time_is_aaves() {
    let seconds = prop_oneof![4 => 0_u64..100_000_000, 2 => 0_u64..4, 1 => 0_u64..1 << 40];
    compare(CASES, &(number(), seconds), |engine, (rate, seconds)| {
        // The reference's clock is at a million seconds: simple interest counts back from there.
        let back = seconds % 1_000_000;
        let simple = ask(engine, &linearInterestCall { rate, time: U40::from(back) });
        assert_same(linear_interest(rate, back), &simple);
        let compounded = ask(engine, &compoundedInterestCall { rate, time: U40::from(seconds) });
        assert_same(compounded_interest(rate, seconds), &compounded);
    });
}

/// The borrowers' rate is Aave's. The suppliers' differs by what Aave rounds: it takes the rate of all debts out of their sum in rays, which
/// is coarse for small debts.
#[test]
fn rates_are_those_of_aaves_strategy() {
    let basis_points =
        |least: u64, most: u64| (least..=most).prop_map(|number| RAY / U256::from(10_000) * U256::from(number));
    let terms = (basis_points(1, 10_000), basis_points(0, 65_535), basis_points(0, 65_535), basis_points(0, 65_535));
    let tokens = || prop_oneof![4 => any::<u128>().prop_map(|value| U256::from(value >> 40)), 2 => (0_u64..1_000_000).prop_map(U256::from)];
    let deficit = prop_oneof![2 => Just(U256::ZERO), 1 => tokens()];
    let reserve_factor = (0_u64..=10_000).prop_map(U256::from);
    compare(
        300,
        &(terms, tokens(), tokens(), deficit, reserve_factor),
        |engine, (terms, cash, debt, deficit, factor)| {
            let (optimal_usage_ratio, base_variable_borrow_rate, variable_rate_slope1, variable_rate_slope2) = terms;
            let strategy = RateStrategy {
                optimal_usage_ratio,
                base_variable_borrow_rate,
                variable_rate_slope1,
                variable_rate_slope2,
            };
            let ours = strategy.rates(Usage { cash, debt, deficit }, factor).expect("no overflow");
            let terms = [optimal_usage_ratio, base_variable_borrow_rate, variable_rate_slope1, variable_rate_slope2];
            let theirs = ask(engine, &ratesCall { terms, cash, debt, deficit, reserveFactor: factor });
            let Outcome::Success { output, .. } = &theirs else { panic!("{theirs:?}") };
            let theirs = ratesCall::abi_decode_returns(output).expect("two numbers");
            assert_eq!(ours.variable_borrow, theirs.variableBorrowRate);
            let coarse = U256::from(10).pow(U256::from(18)) / debt.max(U256::ONE) + U256::from(32);
            assert!(ours.liquidity.abs_diff(theirs.liquidityRate) <= coarse, "{ours:?}, {}", theirs.liquidityRate);
        },
    );
}

/// The comparison can fail: another rounding and another error are found.
#[test]
fn other_results_are_noticed() {
    let mut engine = aave();
    let halves = ask(&mut engine, &rayMulCall { a: U256::ONE, b: RAY / U256::from(2) });
    let is_noticed = |ours, theirs: &Outcome| {
        std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| assert_same(ours, theirs))).is_err()
    };
    assert!(!is_noticed(Ok(U256::ONE), &halves) && is_noticed(Ok(U256::ZERO), &halves));
    let overflow = ask(&mut engine, &linearInterestCall { rate: U256::MAX, time: U40::from(2) });
    let panic = alloy_sol_types::Panic { code: U256::from(0x11) }.abi_encode();
    assert!(!is_noticed(Err(Stop::Revert(panic.into())), &overflow));
    assert!(is_noticed(Err(Stop::Revert(Default::default())), &overflow) && is_noticed(Ok(U256::ONE), &overflow));
}
