//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where tokens are called, their gas is included: that of `test_chain`'s plain token; prices are a `price-feed`'s.

use super::*;
use crate::templates::test_chain::golden::assert_golden;

fn history(params: &LendingParams) -> String {
    let mut world = deploy(params);
    let (token, collateral) = (world.token, world.collateral);
    let supply = |world: &World, asset, value| world.supply_call(asset, ALICE, value).abi_encode();
    let withdraw = |world: &World, asset, value| world.withdraw_call(asset, value, CAROL).abi_encode();
    let liquidate = |world: &World, value| world.liquidation(BOB, value).abi_encode();
    let inside = sol::liquidationCallCall { receiveAToken: true, ..world.liquidation(BOB, amount(9 * USD)) };
    let put_in = world.supply_call(collateral, BOB, ETH).abi_encode();
    let steps = [
        ("supply, the first", 0, ALICE, supply(&world, token, 10_000 * USD)),
        ("supply", 1, ALICE, supply(&world, token, 10 * USD)),
        ("supply of nothing", 0, ALICE, supply(&world, token, 0)),
        ("supply of another asset", 0, ALICE, supply(&world, world.feed, 1)),
        ("supply of too much", 0, ALICE, supply(&world, token, u64::MAX)),
        ("supply of collateral, the first", 0, BOB, put_in.clone()),
        ("supply of collateral", 0, BOB, put_in),
        ("borrow, the first", 1, BOB, world.borrow_call(BOB, 1_000 * USD).abi_encode()),
        ("borrow", 1, BOB, world.borrow_call(BOB, 1_999 * USD).abi_encode()),
        ("borrow of too much", 0, BOB, world.borrow_call(BOB, USD * 2).abi_encode()),
        ("borrow without collateral", 0, CAROL, world.borrow_call(CAROL, 1).abi_encode()),
        ("repay", 3_600, BOB, world.repay_call(BOB, amount(10 * USD)).abi_encode()),
        ("repay by another", 0, CAROL, world.repay_call(BOB, amount(10 * USD)).abi_encode()),
        ("repay without debt", 0, CAROL, world.repay_call(CAROL, amount(1)).abi_encode()),
        ("withdraw", 1, ALICE, withdraw(&world, token, amount(100 * USD))),
        ("withdraw of too much", 0, ALICE, withdraw(&world, token, amount(20_000 * USD))),
        ("withdraw of collateral", 1, BOB, withdraw(&world, collateral, amount(10))),
        ("withdraw of collateral that is bound", 0, BOB, withdraw(&world, collateral, amount(ETH))),
        ("liquidationCall of the healthy", 0, CAROL, liquidate(&world, U256::MAX)),
        ("getUserAccountData", 0, CAROL, sol::getUserAccountDataCall { user: BOB }.abi_encode()),
        ("getUserAccountData of nobody", 0, CAROL, sol::getUserAccountDataCall { user: CAROL }.abi_encode()),
        ("getReserveData", 0, CAROL, sol::getReserveDataCall { asset: token }.abi_encode()),
        ("getReserveData of the collateral", 0, CAROL, sol::getReserveDataCall { asset: collateral }.abi_encode()),
        ("getUserReserveData", 0, CAROL, sol::getUserReserveDataCall { asset: token, user: BOB }.abi_encode()),
        ("getReserveConfigurationData", 0, CAROL, sol::getReserveConfigurationDataCall { asset: token }.abi_encode()),
        ("getReservesList", 0, CAROL, sol::getReservesListCall {}.abi_encode()),
        ("getReserveNormalizedIncome", 0, CAROL, sol::getReserveNormalizedIncomeCall { asset: token }.abi_encode()),
        (
            "getReserveNormalizedVariableDebt",
            0,
            CAROL,
            sol::getReserveNormalizedVariableDebtCall { asset: token }.abi_encode(),
        ),
        ("getReserveDeficit", 0, CAROL, sol::getReserveDeficitCall { asset: token }.abi_encode()),
        ("getVirtualUnderlyingBalance", 0, CAROL, sol::getVirtualUnderlyingBalanceCall { asset: token }.abi_encode()),
        (
            "getVirtualUnderlyingBalance of the collateral",
            0,
            CAROL,
            sol::getVirtualUnderlyingBalanceCall { asset: collateral }.abi_encode(),
        ),
        ("getAssetPrice", 0, CAROL, sol::getAssetPriceCall { asset: collateral }.abi_encode()),
        ("getAssetPrice of the token", 0, CAROL, sol::getAssetPriceCall { asset: token }.abi_encode()),
        ("getSourceOfAsset", 0, CAROL, sol::getSourceOfAssetCall { asset: collateral }.abi_encode()),
        ("maxPriceAge", 0, CAROL, sol::maxPriceAgeCall {}.abi_encode()),
        ("OPTIMAL_USAGE_RATIO", 0, CAROL, sol::OPTIMAL_USAGE_RATIOCall {}.abi_encode()),
        ("getBaseVariableBorrowRate", 0, CAROL, sol::getBaseVariableBorrowRateCall {}.abi_encode()),
        ("getVariableRateSlope1", 0, CAROL, sol::getVariableRateSlope1Call {}.abi_encode()),
        ("getVariableRateSlope2", 0, CAROL, sol::getVariableRateSlope2Call {}.abi_encode()),
        ("getMaxVariableBorrowRate", 0, CAROL, sol::getMaxVariableBorrowRateCall {}.abi_encode()),
        ("mintToTreasury", YEAR, CAROL, sol::mintToTreasuryCall { assets: vec![token] }.abi_encode()),
        ("mintToTreasury of nothing", 0, CAROL, sol::mintToTreasuryCall { assets: vec![token] }.abi_encode()),
        ("borrow at a stale price", 0, BOB, world.borrow_call(BOB, 1).abi_encode()),
        ("price of 1850", 0, OWNER, Vec::new()),
        ("liquidationCall", 0, CAROL, liquidate(&world, amount(10 * USD))),
        ("liquidationCall that credits", 0, CAROL, inside.abi_encode()),
        ("eliminateReserveDeficit of none", 0, ALICE, eliminate(token, 1)),
        ("price of 100", 0, OWNER, Vec::new()),
        ("liquidationCall that leaves bad debt", 0, CAROL, liquidate(&world, U256::MAX)),
        ("liquidationCall of nobody", 0, CAROL, liquidate(&world, U256::MAX)),
        ("eliminateReserveDeficit", 0, ALICE, eliminate(token, 10 * USD)),
        ("withdraw of what is not there", 0, ALICE, withdraw(&world, token, U256::MAX)),
        ("owner", 0, CAROL, sol::ownerCall {}.abi_encode()),
        ("transferOwnership by a stranger", 0, CAROL, sol::transferOwnershipCall { newOwner: BOB }.abi_encode()),
        ("transferOwnership", 0, OWNER, sol::transferOwnershipCall { newOwner: BOB }.abi_encode()),
        ("renounceOwnership", 0, BOB, sol::renounceOwnershipCall {}.abi_encode()),
        ("supportsInterface", 0, CAROL, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode()),
        ("a function that is not there", 0, CAROL, vec![1, 2, 3, 4]),
    ];
    let market = world.market;
    let lines = steps.into_iter().map(|(name, seconds, from, input)| {
        let now = world.chain.block.timestamp.as_secs() + seconds;
        world.chain.at(now);
        if let Some(price) = name.strip_prefix("price of ") {
            world.set_price(price.parse::<i64>().unwrap() * DOLLAR);
            return String::new();
        }
        world.chain.line(name, from, market, 0, &input)
    });
    lines.collect::<String>() + &world.chain.line("value", CAROL, market, 1, &sol::ownerCall {}.abi_encode())
}

fn eliminate(asset: Address, value: u64) -> Vec<u8> {
    sol::eliminateReserveDeficitCall { asset, amount: amount(value) }.abi_encode()
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let kinds = [
        ("one feed", params()),
        ("two feeds", LendingParams { token_oracle: Some(OWNER.create(2)), ..params() }),
        ("no collateral", LendingParams { collateral: Address::ZERO, ..params() }),
        ("a threshold that is too high", LendingParams { liquidation_threshold: 9_999, ..params() }),
        ("a feed that is none", LendingParams { oracle: BOB, ..params() }),
    ];
    let mut got = String::new();
    for (name, params) in kinds {
        let (_, line) = deploy(&self::params()).chain.creation_line(OWNER, name, &params.init_code());
        got += &line;
    }
    got += &history(&params());
    assert_golden(&got, include_str!("golden.txt"));
}
