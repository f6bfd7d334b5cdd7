//! The market's rules, hostile tokens and feeds, what it costs, and random histories.

mod golden;
mod hostile;
mod liquidations;
mod properties;
mod terms;

use alloy_primitives::{I256, address, keccak256};
use alloy_sol_types::Revert;

use super::{errors, interface as sol, math::RAY, *};
use crate::{
    templates::{
        PriceFeedParams,
        common::reentrancy_guard::REENTRANCY_GUARD,
        price_feed::interface as feed,
        test_chain::{
            NOW, TestChain,
            test_token::{self as asset, TestToken},
        },
    },
    vm::{Descriptor, FrameOutcome},
};

const OWNER: Address = address!("000000000000000000000000000000000000a001");
const ALICE: Address = address!("000000000000000000000000000000000000b002");
const BOB: Address = address!("000000000000000000000000000000000000c003");
const CAROL: Address = address!("000000000000000000000000000000000000d004");
const USERS: [Address; 3] = [ALICE, BOB, CAROL];

/// A whole token and a whole collateral, in their smallest units.
const USD: u64 = 1_000_000;
const ETH: u64 = 100_000_000;

/// What each user has at first.
const DOLLARS: u64 = 1_000_000 * USD;
const ETHERS: u64 = 1_000 * ETH;

const YEAR: u64 = 365 * 24 * 60 * 60;

/// A price of one token, with the feed's 8 decimals.
const DOLLAR: i64 = 100_000_000;

/// A price of 2,000 tokens.
const PRICE: i64 = 2_000 * DOLLAR;

#[derive(Clone)]
struct World {
    chain: TestChain,
    token: Address,
    collateral: Address,
    feed: Address,
    market: Address,
}

/// Parameters of a market whose contracts are where [`deploy`] puts them.
fn params() -> LendingParams {
    LendingParams::new(OWNER.create(0), OWNER.create(1), OWNER.create(2), OWNER)
}

fn deploy(params: &LendingParams) -> World {
    deploy_with(params, &TestToken::init_code(6, 4 * DOLLARS), &TestToken::init_code(8, 4 * ETHERS))
}

fn deploy_with(params: &LendingParams, token: &[u8], collateral: &[u8]) -> World {
    let mut chain = TestChain::new(&[OWNER, ALICE, BOB, CAROL]);
    let token = chain.deploy(OWNER, 0, token);
    let collateral = chain.deploy(OWNER, 0, collateral);
    let feed = chain.deploy(OWNER, 0, &PriceFeedParams::new("ETH / USD", PRICE, OWNER).init_code());
    let market = chain.deploy(OWNER, 0, &params.init_code());
    let mut world = World { chain, token, collateral, feed, market };
    for user in USERS {
        for (token, value) in [(token, DOLLARS), (collateral, ETHERS)] {
            world.chain.ok(OWNER, token, &asset::transferCall { to: user, value: U256::from(value) });
            world.chain.ok(user, token, &asset::approveCall { spender: market, value: U256::MAX });
        }
    }
    world
}

/// A market to which ALICE supplied 10,000 tokens, and of which BOB borrowed 1,500 for one collateral: as much as he may.
fn lent() -> World {
    let mut world = deploy(&params());
    world.supply(ALICE, 10_000 * USD);
    world.put_in(BOB, ETH);
    world.borrow(BOB, 1_500 * USD);
    world
}

fn amount(value: u64) -> U256 {
    U256::from(value)
}

fn reason(reason: &str) -> Revert {
    Revert::from(reason)
}

impl World {
    fn ok<C: SolCall>(&mut self, from: Address, call: &C) -> C::Return {
        self.chain.ok(from, self.market, call)
    }

    fn fails<C: SolCall>(&mut self, from: Address, call: &C, error: &impl SolError) {
        self.chain.fails(from, self.market, call, error);
    }

    fn refuses<C: SolCall>(&mut self, from: Address, call: &C, error: &str) {
        self.fails(from, call, &reason(error));
    }

    fn read<C: SolCall>(&self, call: &C) -> C::Return {
        self.chain.read(self.market, call)
    }

    fn supply_call(&self, asset: Address, user: Address, value: u64) -> sol::supplyCall {
        sol::supplyCall { asset, amount: amount(value), onBehalfOf: user, referralCode: 0 }
    }

    fn supply(&mut self, user: Address, value: u64) {
        let call = self.supply_call(self.token, user, value);
        self.ok(user, &call);
    }

    /// Puts in collateral.
    fn put_in(&mut self, user: Address, value: u64) {
        let call = self.supply_call(self.collateral, user, value);
        self.ok(user, &call);
    }

    fn withdraw_call(&self, asset: Address, value: U256, to: Address) -> sol::withdrawCall {
        sol::withdrawCall { asset, amount: value, to }
    }

    fn borrow_call(&self, user: Address, value: u64) -> sol::borrowCall {
        let (asset, mode) = (self.token, amount(2));
        sol::borrowCall { asset, amount: amount(value), interestRateMode: mode, referralCode: 7, onBehalfOf: user }
    }

    fn borrow(&mut self, user: Address, value: u64) {
        let call = self.borrow_call(user, value);
        self.ok(user, &call);
    }

    fn repay_call(&self, user: Address, value: U256) -> sol::repayCall {
        sol::repayCall { asset: self.token, amount: value, interestRateMode: amount(2), onBehalfOf: user }
    }

    fn liquidation(&self, user: Address, value: U256) -> sol::liquidationCallCall {
        sol::liquidationCallCall {
            collateralAsset: self.collateral,
            debtAsset: self.token,
            user,
            debtToCover: value,
            receiveAToken: false,
        }
    }

    fn set_price(&mut self, price: i64) {
        let answer = I256::try_from(price).unwrap();
        self.chain.ok(OWNER, self.feed, &feed::updateAnswerCall { _answer: answer });
    }

    /// Moves so many seconds on, and answers the price again.
    fn later(&mut self, seconds: u64) {
        let price = self.chain.read(self.feed, &feed::latestAnswerCall {});
        let now = self.chain.block.timestamp.as_secs() + seconds;
        self.chain.at(now);
        self.chain.ok(OWNER, self.feed, &feed::updateAnswerCall { _answer: price });
    }

    fn account(&self, user: Address) -> sol::getUserAccountDataReturn {
        self.read(&sol::getUserAccountDataCall { user })
    }

    fn health(&self, user: Address) -> U256 {
        self.account(user).healthFactor
    }

    fn position(&self, asset: Address, user: Address) -> sol::getUserReserveDataReturn {
        self.read(&sol::getUserReserveDataCall { asset, user })
    }

    fn supplied(&self, user: Address) -> u64 {
        self.position(self.token, user).currentATokenBalance.to()
    }

    fn debt(&self, user: Address) -> u64 {
        self.position(self.token, user).currentVariableDebt.to()
    }

    fn collateral_of(&self, user: Address) -> u64 {
        self.position(self.collateral, user).currentATokenBalance.to()
    }

    fn reserve(&self) -> sol::getReserveDataReturn {
        self.read(&sol::getReserveDataCall { asset: self.token })
    }

    fn deficit(&self) -> u64 {
        self.read(&sol::getReserveDeficitCall { asset: self.token }).to()
    }

    fn held(&self, token: Address, account: Address) -> u64 {
        self.chain.read(token, &asset::balanceOfCall { account }).to()
    }

    fn last_event<E: SolEvent>(&self) -> E {
        let logs = self.chain.journal.logs();
        E::decode_log_data(&logs.last().unwrap().data).unwrap()
    }
}

#[test]
fn who_supplies_takes_out_as_much() {
    let mut world = deploy(&params());
    let call = sol::supplyCall { referralCode: 9, ..world.supply_call(world.token, BOB, 500) };
    world.ok(ALICE, &call);
    let (reserve, value) = (world.token, amount(500));
    let supplied = sol::Supply { reserve, user: ALICE, onBehalfOf: BOB, amount: value, referralCode: 9 };
    assert_eq!(world.last_event::<sol::Supply>(), supplied);
    assert_eq!((world.supplied(BOB), world.supplied(ALICE)), (500, 0));
    assert_eq!(world.ok(BOB, &world.withdraw_call(reserve, amount(200), CAROL)), amount(200));
    let withdrawn = sol::Withdraw { reserve, user: BOB, to: CAROL, amount: amount(200) };
    assert_eq!(world.last_event::<sol::Withdraw>(), withdrawn);
    assert_eq!(world.ok(BOB, &world.withdraw_call(reserve, U256::MAX, CAROL)), amount(300));
    assert_eq!((world.held(reserve, CAROL), world.held(reserve, world.market)), (DOLLARS + 500, 0));
    world.refuses(BOB, &world.withdraw_call(reserve, U256::MAX, BOB), errors::INVALID_AMOUNT);
}

#[test]
fn collateral_is_worth_its_price_and_earns_nothing() {
    let mut world = lent();
    let account = world.account(BOB);
    assert_eq!(account.totalCollateralBase, U256::from(PRICE));
    assert_eq!(account.totalDebtBase, U256::from(1_500 * DOLLAR));
    assert_eq!(account.availableBorrowsBase, U256::ZERO);
    assert_eq!((account.currentLiquidationThreshold, account.ltv), (amount(8_000), amount(7_500)));
    // 1,600 for 1,500.
    assert_eq!(account.healthFactor, math::WAD * amount(16) / amount(15));
    world.later(YEAR);
    assert_eq!(world.collateral_of(BOB), ETH);
    let nobody = world.account(CAROL);
    assert_eq!((nobody.totalCollateralBase, nobody.healthFactor), (U256::ZERO, U256::MAX));
    assert_eq!(world.account(ALICE).totalCollateralBase, U256::ZERO, "a supply is no collateral");
}

/// Usage of 15 % at an optimum of 80 % and a slope of 4 %: 0.75 % a year, of which suppliers earn 90 %.
#[test]
fn debts_compound_and_supplies_earn() {
    let mut world = lent();
    let event = world.chain.journal.logs().iter().find_map(|log| sol::Borrow::decode_log_data(&log.data).ok()).unwrap();
    let rate = RAY / amount(10_000) * amount(75);
    assert_eq!((event.borrowRate, event.interestRateMode, event.referralCode), (rate, 2, 7));
    assert_eq!(world.reserve().variableBorrowRate, rate);
    world.later(YEAR);
    // 1,500 * (1 + r + r^2/2), rounded up: the cube of a second's rate is below a ray.
    assert_eq!(world.debt(BOB), 1_511_292_188);
    assert_eq!(world.supplied(ALICE), 10_010_125_000);
    assert_eq!(
        world.read(&sol::getReserveNormalizedIncomeCall { asset: world.token }),
        RAY + RAY / amount(800_000) * amount(810)
    );
    let paid = world.ok(BOB, &world.repay_call(BOB, U256::MAX));
    assert_eq!((paid, world.debt(BOB)), (amount(1_511_292_188), 0));
    let repaid = sol::Repay { reserve: world.token, user: BOB, repayer: BOB, amount: paid, useATokens: false };
    assert_eq!(world.last_event::<sol::Repay>(), repaid);
    // A tenth of the interest.
    let (token, owner) = (world.token, OWNER);
    world.ok(CAROL, &sol::mintToTreasuryCall { assets: vec![world.collateral, token] });
    let minted: u64 = world.last_event::<sol::MintedToTreasury>().amountMinted.to();
    assert!((1_129_210..=1_129_218).contains(&minted), "{minted}");
    assert_eq!(world.supplied(owner), minted);
    world.ok(ALICE, &world.withdraw_call(token, U256::MAX, ALICE));
    world.ok(OWNER, &world.withdraw_call(token, U256::MAX, OWNER));
    assert!(world.held(token, world.market) < 50_000, "what rounding and compounding leave");
}

#[test]
fn a_borrower_needs_collateral_and_liquidity() {
    let mut world = deploy(&params());
    world.supply(ALICE, 1_000 * USD);
    world.refuses(BOB, &world.borrow_call(BOB, 1), errors::COLLATERAL_BALANCE_IS_ZERO);
    world.put_in(BOB, ETH);
    world.refuses(BOB, &world.borrow_call(BOB, 1_500 * USD + 1), errors::COLLATERAL_CANNOT_COVER_NEW_BORROW);
    let short = sol::LendingInsufficientLiquidity { available: amount(1_000 * USD), needed: amount(1_001 * USD) };
    world.fails(BOB, &world.borrow_call(BOB, 1_001 * USD), &short);
    world.borrow(BOB, 1_000 * USD);
    assert_eq!(world.held(world.token, BOB), DOLLARS + 1_000 * USD);
    let short = sol::LendingInsufficientLiquidity { available: U256::ZERO, needed: amount(1) };
    world.fails(ALICE, &world.withdraw_call(world.token, amount(1), ALICE), &short);
    // 1,000 of debt need 1,250 at the threshold: 0.625 of the collateral.
    let out = |world: &World, value| world.withdraw_call(world.collateral, amount(value), BOB);
    world.refuses(BOB, &out(&world, ETH * 3 / 8 + 1), errors::HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD);
    world.ok(BOB, &out(&world, ETH * 3 / 8));
    assert_eq!(world.health(BOB), math::WAD);
    world.refuses(BOB, &world.borrow_call(BOB, 1), errors::HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD);
}

#[test]
fn what_makes_no_sense_is_refused_with_aaves_numbers() {
    let mut world = lent();
    let stranger = world.feed;
    let zero = world.supply_call(world.token, BOB, 0);
    world.refuses(BOB, &zero, errors::INVALID_AMOUNT);
    world.refuses(BOB, &world.supply_call(stranger, BOB, 1), errors::ASSET_NOT_LISTED);
    world.refuses(BOB, &world.supply_call(world.token, Address::ZERO, 1), errors::ZERO_ADDRESS_NOT_VALID);
    let more = world.withdraw_call(world.collateral, amount(ETH + 1), BOB);
    world.refuses(BOB, &more, errors::NOT_ENOUGH_AVAILABLE_USER_BALANCE);
    let inside = world.withdraw_call(world.token, amount(1), world.market);
    world.refuses(ALICE, &inside, errors::OPERATION_NOT_SUPPORTED);
    let borrow = world.borrow_call(BOB, 1);
    let collateral = world.collateral;
    world.refuses(BOB, &sol::borrowCall { asset: collateral, ..borrow.clone() }, errors::BORROWING_NOT_ENABLED);
    let mode = |mode: u64| sol::borrowCall { interestRateMode: amount(mode), ..borrow.clone() };
    world.refuses(BOB, &mode(1), errors::STABLE_BORROWING_NOT_ENABLED);
    world.refuses(BOB, &mode(3), errors::INVALID_INTEREST_RATE_MODE_SELECTED);
    world.refuses(CAROL, &borrow, errors::OPERATION_NOT_SUPPORTED);
    world.refuses(CAROL, &world.repay_call(BOB, U256::MAX), errors::NO_EXPLICIT_AMOUNT_TO_REPAY_ON_BEHALF);
    world.refuses(CAROL, &world.repay_call(CAROL, amount(1)), errors::NO_DEBT_OF_SELECTED_TYPE);
    let stable = sol::repayCall { interestRateMode: amount(1), ..world.repay_call(BOB, amount(1)) };
    world.refuses(BOB, &stable, errors::NO_DEBT_OF_SELECTED_TYPE);
    let cover = sol::eliminateReserveDeficitCall { asset: world.token, amount: amount(1) };
    world.refuses(ALICE, &cover, errors::INVALID_AMOUNT);
    let without = LendingParams { ltv: 0, ..params() };
    let mut world = deploy(&without);
    world.put_in(BOB, ETH);
    world.refuses(BOB, &world.borrow_call(BOB, 1), errors::LTV_VALIDATION_FAILED);
}

/// All is lent at 655 % a year for as long as it takes: interest ends when the index is at its bound, and nothing is stuck.
#[test]
fn an_index_at_its_bound_stops_and_nobody_is_stuck() {
    let mut world = deploy(&LendingParams { variable_rate_slope2: u16::MAX, ..params() });
    world.supply(ALICE, 1_500 * USD);
    world.put_in(BOB, ETH);
    world.borrow(BOB, 1_500 * USD);
    let poke = sol::mintToTreasuryCall { assets: vec![world.token] };
    for _ in 0..20 {
        world.later(YEAR);
        world.ok(CAROL, &poke);
    }
    let index = world.reserve().variableBorrowIndex;
    world.later(YEAR);
    assert_eq!(world.reserve().variableBorrowIndex, index);
    assert!(index > RAY * amount(1 << 30) && index <= U256::from(u128::MAX), "{index}");
    world.supply(CAROL, USD * 1_000_000 / 2);
    world.ok(BOB, &world.repay_call(BOB, amount(900_000 * USD)));
    world.ok(ALICE, &world.withdraw_call(world.token, amount(100_000 * USD), ALICE));
}

/// The debt is rounded up by a unit, with which it has to be covered.
#[test]
fn nobody_borrows_into_a_liquidation() {
    let mut world = deploy(&LendingParams { ltv: 8_000, ..params() });
    world.supply(ALICE, 10_000 * USD);
    world.put_in(CAROL, ETH);
    world.borrow(CAROL, 100 * USD);
    world.later(YEAR);
    world.ok(CAROL, &world.repay_call(CAROL, U256::MAX));
    world.put_in(BOB, ETH);
    world.refuses(BOB, &world.borrow_call(BOB, 1_600 * USD), errors::COLLATERAL_CANNOT_COVER_NEW_BORROW);
    world.borrow(BOB, 1_600 * USD - 1);
    assert_eq!((world.debt(BOB), world.health(BOB)), (1_600 * USD, math::WAD));
}

/// One unit is worth less than one at an index above one: it is neither credited nor taken for nothing.
#[test]
fn amounts_that_are_worth_nothing_are_refused() {
    let mut world = lent();
    world.later(YEAR);
    world.refuses(ALICE, &world.supply_call(world.token, ALICE, 1), errors::INVALID_MINT_AMOUNT);
    world.refuses(BOB, &world.repay_call(BOB, amount(1)), errors::INVALID_BURN_AMOUNT);
}

/// What needs a price fails without a good one; what needs none goes on.
#[test]
fn a_bad_price_stops_only_what_depends_on_it() {
    let mut world = lent();
    let feed = world.feed;
    let day = 24 * 60 * 60;
    let stale = |world: &mut World| {
        let started = world.chain.block.timestamp.as_secs();
        world.chain.at(started + day + 1);
        sol::LendingStalePrice { oracle: feed, updatedAt: amount(started), maxAge: amount(day) }.abi_encode()
    };
    let answer = |price: i64| {
        move |world: &mut World| {
            world.set_price(price);
            let answer = I256::try_from(price).unwrap();
            sol::LendingInvalidPrice { oracle: feed, answer }.abi_encode()
        }
    };
    let future = |world: &mut World| {
        let moment = amount(world.chain.block.timestamp.as_secs() + 1);
        let call = feed::updateRoundDataCall {
            _roundId: alloy_primitives::aliases::U80::from(9),
            _answer: I256::ONE,
            _timestamp: moment,
            _startedAt: moment,
        };
        world.chain.ok(OWNER, feed, &call);
        sol::LendingStalePrice { oracle: feed, updatedAt: moment, maxAge: amount(day) }.abi_encode()
    };
    let bad: [&dyn Fn(&mut World) -> Vec<u8>; 4] = [&stale, &answer(0), &answer(-1), &future];
    for spoil in bad {
        let mut world = world.clone();
        let error = spoil(&mut world);
        let market = world.market;
        let borrow = world.borrow_call(BOB, 1).abi_encode();
        let withdraw = world.withdraw_call(world.collateral, amount(1), BOB).abi_encode();
        let liquidation = world.liquidation(BOB, amount(1)).abi_encode();
        let account = sol::getUserAccountDataCall { user: BOB }.abi_encode();
        for input in [borrow, withdraw, liquidation, account] {
            let result = world.chain.send(BOB, market, 0, &input, 1_000_000);
            assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, error.as_slice()));
        }
        world.supply(ALICE, 5);
        world.put_in(CAROL, 5);
        world.ok(CAROL, &world.withdraw_call(world.collateral, U256::MAX, CAROL));
        world.ok(ALICE, &world.withdraw_call(world.token, amount(5), ALICE));
        world.ok(BOB, &world.repay_call(BOB, U256::MAX));
        world.ok(BOB, &world.withdraw_call(world.collateral, U256::MAX, BOB));
    }
    // At the bound it is good.
    world.chain.at(NOW + day);
    world.ok(BOB, &world.repay_call(BOB, amount(10 * USD)));
    world.borrow(BOB, USD);
}

#[test]
fn two_feeds_are_of_one_currency() {
    let mut world = deploy(&params());
    let mut feed = |decimals, answer| {
        let params = PriceFeedParams::new("USD", answer, OWNER);
        world.chain.deploy(OWNER, 0, &PriceFeedParams { decimals, ..params }.init_code())
    };
    let (two, other) = (feed(8, 2 * 100_000_000), feed(18, 1));
    let (_, refused) =
        world.chain.create(OWNER, 0, &LendingParams { token_oracle: Some(other), ..params() }.init_code(), 10_000_000);
    let mismatch = sol::LendingFeedDecimalsMismatch { decimals: 8, tokenFeedDecimals: 18 }.abi_encode();
    assert_eq!((refused.outcome, refused.output.to_vec()), (FrameOutcome::Revert, mismatch));
    world.market = world.chain.deploy(OWNER, 0, &LendingParams { token_oracle: Some(two), ..params() }.init_code());
    for (user, token) in [(ALICE, world.token), (BOB, world.collateral)] {
        world.chain.ok(user, token, &asset::approveCall { spender: world.market, value: U256::MAX });
    }
    world.supply(ALICE, 10_000 * USD);
    world.put_in(BOB, ETH);
    // A token is two dollars: 750 are 1,500 dollars.
    world.refuses(BOB, &world.borrow_call(BOB, 750 * USD + 1), errors::COLLATERAL_CANNOT_COVER_NEW_BORROW);
    world.borrow(BOB, 750 * USD);
    assert_eq!(world.read(&sol::getAssetPriceCall { asset: world.token }), amount(2 * 100_000_000));
    assert_eq!(world.read(&sol::getSourceOfAssetCall { asset: world.token }), two);
    assert_eq!(world.read(&sol::getSourceOfAssetCall { asset: world.collateral }), world.feed);
}

#[test]
fn a_donation_changes_nothing() {
    let mut world = lent();
    let before = (world.reserve(), world.supplied(ALICE));
    let donation = asset::transferCall { to: world.market, value: amount(77 * USD) };
    world.chain.ok(CAROL, world.token, &donation);
    assert_eq!((world.reserve(), world.supplied(ALICE)), before);
    assert_eq!(world.read(&sol::getVirtualUnderlyingBalanceCall { asset: world.token }), u128::from(8_500 * USD));
}
