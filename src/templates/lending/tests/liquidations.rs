//! Who is liquidated, how far, for how much, and what becomes of a debt that nothing covers.

use super::*;

/// 1,500 of debt are covered at the threshold of 80 % by 1,875: there the health factor is one.
const EDGE: i64 = 1_875 * DOLLAR;

#[test]
fn a_health_factor_of_one_is_safe_and_below_it_is_not() {
    let mut world = lent();
    world.set_price(EDGE);
    assert_eq!(world.health(BOB), math::WAD);
    let call = world.liquidation(BOB, U256::MAX);
    world.refuses(CAROL, &call, errors::HEALTH_FACTOR_NOT_BELOW_THRESHOLD);
    world.set_price(EDGE - 1);
    assert!(world.health(BOB) < math::WAD);
    world.ok(CAROL, &call);
    let event: sol::LiquidationCall = world.last_event();
    // Half of the debt, for 0.4 and 5 % on top.
    assert_eq!((event.debtToCover, event.liquidatedCollateralAmount), (amount(750 * USD), amount(ETH / 100 * 42)));
    assert_eq!((event.user, event.liquidator, event.receiveAToken), (BOB, CAROL, false));
    assert_eq!((world.debt(BOB), world.collateral_of(BOB)), (750 * USD, ETH / 100 * 58));
    assert_eq!(world.held(world.token, CAROL), DOLLARS - 750 * USD);
    assert_eq!(world.held(world.collateral, CAROL), ETHERS + ETH / 100 * 42);
    assert!(world.health(BOB) > math::WAD, "he is safe again");
    world.refuses(CAROL, &call, errors::HEALTH_FACTOR_NOT_BELOW_THRESHOLD);
}

/// The close factor of one: at a health factor of 0.95, not above it.
#[test]
fn all_of_a_debt_is_liquidated_at_a_health_factor_of_95_percent() {
    for (price, covered) in [(EDGE / 100 * 95, 1_500), (EDGE / 100 * 95 + 10, 750)] {
        let mut world = lent();
        world.set_price(price);
        let call = world.liquidation(BOB, U256::MAX);
        world.ok(CAROL, &call);
        let event: sol::LiquidationCall = world.last_event();
        assert_eq!(event.debtToCover, amount(covered * USD), "at {price}");
    }
}

#[test]
fn a_liquidator_covers_as_little_as_he_likes_and_may_keep_the_collateral_inside() {
    let mut world = lent();
    world.set_price(EDGE - 1);
    let call = sol::liquidationCallCall { receiveAToken: true, ..world.liquidation(BOB, amount(75 * USD)) };
    world.ok(CAROL, &call);
    assert_eq!((world.debt(BOB), world.collateral_of(CAROL)), (1_425 * USD, ETH / 1_000 * 42));
    assert_eq!(world.held(world.collateral, CAROL), ETHERS);
    let enabled = sol::ReserveUsedAsCollateralEnabled { reserve: world.collateral, user: CAROL };
    let logs = world.chain.journal.logs();
    assert!(logs.iter().any(|log| log.data == enabled.encode_log_data()));
    world.ok(CAROL, &world.withdraw_call(world.collateral, U256::MAX, CAROL));
}

#[test]
fn only_the_two_assets_of_a_debtor_with_both_are_liquidated() {
    let mut world = lent();
    world.set_price(EDGE - 1);
    let call = world.liquidation(BOB, U256::MAX);
    let (token, collateral) = (world.token, world.collateral);
    let same = sol::liquidationCallCall { collateralAsset: token, ..call.clone() };
    world.refuses(CAROL, &same, errors::COLLATERAL_CANNOT_BE_LIQUIDATED);
    let same = sol::liquidationCallCall { debtAsset: collateral, ..call };
    world.refuses(CAROL, &same, errors::SPECIFIED_CURRENCY_NOT_BORROWED_BY_USER);
    world.refuses(CAROL, &world.liquidation(ALICE, U256::MAX), errors::HEALTH_FACTOR_NOT_BELOW_THRESHOLD);
    world.refuses(CAROL, &world.liquidation(BOB, U256::ZERO), errors::INVALID_BURN_AMOUNT);
}

/// At 1,000 the collateral pays 952.380953 of 1,500: the rest is the suppliers' loss, until somebody covers it.
#[test]
fn a_debt_without_collateral_becomes_the_deficit() {
    let mut world = lent();
    world.set_price(1_000 * DOLLAR);
    world.ok(CAROL, &world.liquidation(BOB, U256::MAX));
    let event: sol::LiquidationCall = world.last_event();
    assert_eq!((event.debtToCover, event.liquidatedCollateralAmount), (amount(952_380_953), amount(ETH)));
    let rest = 1_500 * USD - 952_380_953;
    let created = sol::DeficitCreated { user: BOB, debtAsset: world.token, amountCreated: amount(rest) };
    assert!(world.chain.journal.logs().iter().any(|log| log.data == created.encode_log_data()));
    assert_eq!((world.debt(BOB), world.collateral_of(BOB), world.deficit()), (0, 0, rest));
    world.later(YEAR);
    assert_eq!((world.deficit(), world.supplied(ALICE)), (rest, 10_000 * USD), "it bears no interest");
    let (token, cash) = (world.token, 10_000 * USD - rest);
    let short = sol::LendingInsufficientLiquidity { available: amount(cash), needed: amount(10_000 * USD) };
    world.fails(ALICE, &world.withdraw_call(token, U256::MAX, ALICE), &short);
    // Who supplied gives it up.
    let cover = |value| sol::eliminateReserveDeficitCall { asset: token, amount: value };
    world.supply(CAROL, rest / 2);
    world.refuses(CAROL, &cover(amount(rest)), errors::NOT_ENOUGH_AVAILABLE_USER_BALANCE);
    assert_eq!(world.ok(CAROL, &cover(amount(rest / 2))), amount(rest / 2));
    let covered = sol::DeficitCovered { reserve: token, caller: CAROL, amountCovered: amount(rest / 2) };
    assert_eq!(world.last_event::<sol::DeficitCovered>(), covered);
    assert_eq!(world.ok(ALICE, &cover(U256::MAX)), amount(rest - rest / 2));
    assert_eq!((world.deficit(), world.supplied(CAROL)), (0, 0));
    world.ok(ALICE, &world.withdraw_call(token, U256::MAX, ALICE));
    assert_eq!(world.held(token, world.market), 0);
}

/// A unit of collateral that is worth less than a unit of debt is taken all the same, so that the debt does not stay for ever.
#[test]
fn a_debt_behind_dust_is_written_off() {
    let mut world = lent();
    world.later(YEAR);
    world.set_price(1);
    world.ok(CAROL, &world.liquidation(BOB, U256::MAX));
    assert_eq!(world.last_event::<sol::LiquidationCall>().debtToCover, amount(1));
    assert_eq!((world.debt(BOB), world.collateral_of(BOB)), (0, 0));
    assert!(world.deficit() > 1_500 * USD);
}
