//! A market's terms: what its constructor takes, what its views tell, and where it keeps them.

use super::*;

#[test]
fn immutables_are_at_the_documented_slots() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.lending.immutables").0), IMMUTABLES);
    let mut world = deploy(&params());
    for (offset, want) in [world.token, world.collateral, world.feed, Address::ZERO].into_iter().enumerate() {
        let word = world.chain.slot(world.market, IMMUTABLES + U256::from(offset)).to_be_bytes::<32>();
        assert_eq!(Address::from_slice(&word[12..]), want);
    }
}

#[test]
fn bad_parameters_are_refused() {
    let zero = Address::ZERO;
    let cases = [
        (LendingParams { token: zero, ..params() }, errors::ZERO_ADDRESS_NOT_VALID),
        (LendingParams { oracle: zero, ..params() }, errors::ZERO_ADDRESS_NOT_VALID),
        (LendingParams { collateral: params().token, ..params() }, errors::RESERVE_ALREADY_ADDED),
        (LendingParams { token: BOB, ..params() }, errors::INVALID_DECIMALS),
        (LendingParams { oracle: BOB, ..params() }, errors::NOT_CONTRACT),
        (LendingParams { token_oracle: Some(BOB), ..params() }, errors::NOT_CONTRACT),
        (LendingParams { ltv: 8_001, ..params() }, errors::INVALID_RESERVE_PARAMS),
        (LendingParams { liquidation_bonus: 0, ..params() }, errors::INVALID_RESERVE_PARAMS),
        (LendingParams { liquidation_bonus: 2_501, ..params() }, errors::INVALID_RESERVE_PARAMS),
        (LendingParams { reserve_factor: 10_001, ..params() }, errors::INVALID_RESERVE_FACTOR),
        (LendingParams { optimal_usage_ratio: 0, ..params() }, errors::INVALID_OPTIMAL_USAGE_RATIO),
        (LendingParams { optimal_usage_ratio: 10_001, ..params() }, errors::INVALID_OPTIMAL_USAGE_RATIO),
    ];
    let mut world = deploy(&params());
    for (params, want) in cases {
        let (_, result) = world.chain.create(OWNER, 0, &params.init_code(), 10_000_000);
        let want = reason(want).abi_encode();
        assert_eq!((result.outcome, result.output.as_ref()), (FrameOutcome::Revert, want.as_slice()), "{params:?}");
    }
    let ownerless = LendingParams { owner: zero, ..params() };
    let (_, result) = world.chain.create(OWNER, 0, &ownerless.init_code(), 10_000_000);
    assert_eq!(result.output.to_vec(), sol::OwnableInvalidOwner { owner: zero }.abi_encode());
    // The edges, and a market in which nothing can be borrowed.
    for params in [
        LendingParams {
            ltv: 8_000,
            liquidation_bonus: 2_500,
            reserve_factor: 10_000,
            optimal_usage_ratio: 1,
            ..params()
        },
        LendingParams {
            ltv: 0,
            liquidation_threshold: 0,
            liquidation_bonus: 0,
            optimal_usage_ratio: 10_000,
            ..params()
        },
    ] {
        world.chain.deploy(OWNER, 0, &params.init_code());
    }
}

#[test]
fn terms_are_told_as_aave_does() {
    let world = deploy(&LendingParams { base_variable_borrow_rate: 100, ..params() });
    let terms = |asset| world.read(&sol::getReserveConfigurationDataCall { asset });
    let token = terms(world.token);
    assert_eq!((token.decimals, token.ltv, token.reserveFactor), (amount(6), U256::ZERO, amount(1_000)));
    assert!(token.borrowingEnabled && token.isActive && !token.usageAsCollateralEnabled && !token.isFrozen);
    let collateral = terms(world.collateral);
    assert_eq!((collateral.decimals, collateral.ltv, collateral.reserveFactor), (amount(8), amount(7_500), U256::ZERO));
    assert_eq!((collateral.liquidationThreshold, collateral.liquidationBonus), (amount(8_000), amount(10_500)));
    assert!(collateral.usageAsCollateralEnabled && !collateral.borrowingEnabled);
    let percent = |number: u64| RAY / amount(100) * amount(number);
    assert_eq!(world.read(&sol::OPTIMAL_USAGE_RATIOCall {}), percent(80));
    assert_eq!(world.read(&sol::getBaseVariableBorrowRateCall {}), percent(1));
    assert_eq!(world.read(&sol::getVariableRateSlope1Call {}), percent(4));
    assert_eq!(world.read(&sol::getVariableRateSlope2Call {}), percent(75));
    assert_eq!(world.read(&sol::getMaxVariableBorrowRateCall {}), percent(80));
    assert_eq!(world.reserve().variableBorrowRate, percent(1), "without debt");
    assert_eq!(world.read(&sol::getReservesListCall {}), [world.token, world.collateral]);
    assert_eq!(world.read(&sol::maxPriceAgeCall {}), amount(24 * 60 * 60));
    assert_eq!(world.read(&sol::ownerCall {}), OWNER);
    for (id, want) in [(0x01ff_c9a7_u32, true), (0xffff_ffff, false)] {
        assert_eq!(world.read(&sol::supportsInterfaceCall { interfaceId: id.to_be_bytes().into() }), want);
    }
}

#[test]
fn selectors_and_topics_are_aaves() {
    assert_eq!(sol::supplyCall::SELECTOR, [0x61, 0x7b, 0xa0, 0x37]);
    assert_eq!(sol::withdrawCall::SELECTOR, [0x69, 0x32, 0x8d, 0xec]);
    assert_eq!(sol::borrowCall::SELECTOR, [0xa4, 0x15, 0xbc, 0xad]);
    assert_eq!(sol::repayCall::SELECTOR, [0x57, 0x3a, 0xde, 0x81]);
    assert_eq!(sol::liquidationCallCall::SELECTOR, [0x00, 0xa7, 0x18, 0xa9]);
    assert_eq!(sol::getUserAccountDataCall::SELECTOR, [0xbf, 0x92, 0x85, 0x7c]);
}

#[test]
fn storage_is_laid_out_as_solidity_does() {
    let layout = Lending.storage_layout();
    let variables = layout.storage.iter().map(|entry| {
        let slot = entry.slot.parse::<U256>().unwrap();
        let slot = match slot {
            REENTRANCY_GUARD => "guard".to_owned(),
            slot if slot < IMMUTABLES => slot.to_string(),
            slot => format!("immutables + {}", slot - IMMUTABLES),
        };
        format!("{} {} {} {}", entry.label, slot, entry.offset, layout.types[&entry.ty].label)
    });
    let want = [
        "_reserve 0 0 struct Reserve",
        "_supplies 5 0 mapping(address => uint256)",
        "_debts 6 0 mapping(address => uint256)",
        "_collaterals 7 0 mapping(address => uint256)",
        "_totalCollateral 8 0 uint256",
        "_owner 9 0 address",
        "_token immutables + 0 0 struct TokenTerms",
        "_collateral immutables + 1 0 struct CollateralTerms",
        "_oracle immutables + 2 0 struct OracleTerms",
        "_tokenOracle immutables + 3 0 address",
        "_status guard 0 uint256",
    ];
    assert_eq!(variables.collect::<Vec<_>>(), want);
}

#[test]
fn a_market_is_described_and_encoded_by_names() {
    let descriptor = Descriptor::of(&Lending);
    let encode = |values: serde_json::Value| descriptor.encode(values.as_object().unwrap(), OWNER);
    let LendingParams { token, collateral, oracle, .. } = params();
    let least = serde_json::json!({ "token": token, "collateral": collateral, "oracle": oracle });
    assert_eq!(encode(least).unwrap(), params().init_code());
    let more = serde_json::json!({
        "token": token, "collateral": collateral, "oracle": oracle, "tokenOracle": BOB, "ltv": "62.5%", "variableRateSlope2": 300,
        "maxPriceAge": "2h",
    });
    let want = LendingParams {
        token_oracle: Some(BOB),
        ltv: 6_250,
        variable_rate_slope2: 30_000,
        max_price_age_secs: 7_200,
        ..params()
    };
    assert_eq!(encode(more).unwrap(), want.init_code());
    let errors = encode(serde_json::json!({})).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["token", "collateral", "oracle"]);
}

#[test]
fn the_abi_is_complete() {
    let abi = Lending.abi();
    assert_eq!((abi.functions().count(), abi.events().count(), abi.errors().count()), (28, 12, 9));
    assert_eq!(abi.constructor.unwrap().inputs.len(), 14);
}
