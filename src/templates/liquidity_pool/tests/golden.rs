//! Gas of each function and refusal, and what it returns and emits. A changed number is a changed chain: raise the template's version
//! with it.
//!
//! Where tokens are called, their gas is included: that of `test_chain`'s plain token, so that other templates may change theirs.

use super::*;

fn history(pools: &mut Pools) -> String {
    let pool = pools.pool;
    let [token0, token1] = pools.tokens;
    let amount = |value: u64| U256::from(value);
    let permit = |deadline: u64| sol::permitCall {
        owner: BOB,
        spender: CAROL,
        value: amount(1),
        deadline: amount(deadline),
        v: 27,
        r: B256::repeat_byte(1),
        s: B256::repeat_byte(1),
    };
    // What is paid in before, and the call.
    let steps = [
        ("mint, the first", (10_000, 40_000), mint(BOB).abi_encode()),
        ("mint", (1_000, 4_000), mint(BOB).abi_encode()),
        ("mint for nothing", (0, 0), mint(BOB).abi_encode()),
        ("swap", (1_000, 0), swap(0, amount_out(1_000, 11_000, 44_000), CAROL).abi_encode()),
        ("swap back", (0, 1_000), swap(250, 0, CAROL).abi_encode()),
        ("swap for nothing", (0, 0), swap(0, 0, CAROL).abi_encode()),
        ("swap for all", (0, 0), swap(0, 1 << 40, CAROL).abi_encode()),
        ("swap to a token", (0, 0), swap(0, 1, token0).abi_encode()),
        ("swap without payment", (0, 0), swap(0, 1, CAROL).abi_encode()),
        ("swap beyond the product", (1, 0), swap(0, 100, CAROL).abi_encode()),
        ("skim", (5, 5), sol::skimCall { to: CAROL }.abi_encode()),
        ("sync", (5, 5), sol::syncCall {}.abi_encode()),
        ("transfer to the pool", (0, 0), sol::transferCall { to: pool, value: amount(2_000) }.abi_encode()),
        ("burn", (0, 0), burn(BOB).abi_encode()),
        ("burn of nothing", (0, 0), burn(BOB).abi_encode()),
        ("transfer", (0, 0), sol::transferCall { to: CAROL, value: amount(100) }.abi_encode()),
        ("transfer of too much", (0, 0), sol::transferCall { to: CAROL, value: U256::MAX }.abi_encode()),
        ("approve", (0, 0), sol::approveCall { spender: BOB, value: amount(100) }.abi_encode()),
        ("transferFrom", (0, 0), sol::transferFromCall { from: BOB, to: CAROL, value: amount(100) }.abi_encode()),
        (
            "transferFrom of too much",
            (0, 0),
            sol::transferFromCall { from: BOB, to: CAROL, value: amount(1) }.abi_encode(),
        ),
        ("permit of somebody else", (0, 0), permit(NOW).abi_encode()),
        ("permit that is too late", (0, 0), permit(NOW - 1).abi_encode()),
        ("initialize", (0, 0), sol::initializeCall { token0, token1 }.abi_encode()),
        ("name", (0, 0), sol::nameCall {}.abi_encode()),
        ("symbol", (0, 0), sol::symbolCall {}.abi_encode()),
        ("decimals", (0, 0), sol::decimalsCall {}.abi_encode()),
        ("totalSupply", (0, 0), sol::totalSupplyCall {}.abi_encode()),
        ("balanceOf", (0, 0), sol::balanceOfCall { owner: BOB }.abi_encode()),
        ("allowance", (0, 0), sol::allowanceCall { owner: BOB, spender: CAROL }.abi_encode()),
        ("DOMAIN_SEPARATOR", (0, 0), sol::DOMAIN_SEPARATORCall {}.abi_encode()),
        ("PERMIT_TYPEHASH", (0, 0), sol::PERMIT_TYPEHASHCall {}.abi_encode()),
        ("nonces", (0, 0), sol::noncesCall { owner: BOB }.abi_encode()),
        ("MINIMUM_LIQUIDITY", (0, 0), sol::MINIMUM_LIQUIDITYCall {}.abi_encode()),
        ("factory", (0, 0), sol::factoryCall {}.abi_encode()),
        ("token0", (0, 0), sol::token0Call {}.abi_encode()),
        ("token1", (0, 0), sol::token1Call {}.abi_encode()),
        ("getReserves", (0, 0), sol::getReservesCall {}.abi_encode()),
        ("price0CumulativeLast", (0, 0), sol::price0CumulativeLastCall {}.abi_encode()),
        ("price1CumulativeLast", (0, 0), sol::price1CumulativeLastCall {}.abi_encode()),
        ("kLast", (0, 0), sol::kLastCall {}.abi_encode()),
        ("a function that is not there", (0, 0), vec![1, 2, 3, 4]),
    ];
    let lines = steps.into_iter().enumerate().map(|(number, (name, (amount0, amount1), input))| {
        pools.chain.at(NOW + number as u64);
        pools.pay_in(BOB, amount0, amount1);
        // A permit's deadline is the first block's.
        if name.starts_with("permit") {
            pools.chain.at(NOW);
        }
        pools.chain.line(name, BOB, pool, 0, &input)
    });
    lines.collect::<String>() + &pools.chain.line("value", BOB, pool, 1, &sol::syncCall {}.abi_encode())
}

#[test]
fn gas_and_effects_stay_as_they_are() {
    let mut got = String::new();
    let [token0, token1] = Pools::new().tokens;
    let kinds = [
        ("no tokens", LiquidityPoolParams::UNINITIALIZED),
        ("tokens", LiquidityPoolParams::new(token0, token1)),
        ("one token", LiquidityPoolParams::new(token0, token0)),
        ("the zero address", LiquidityPoolParams::new(token0, Address::ZERO)),
    ];
    for (name, params) in kinds {
        let mut pools = Pools::new();
        let (pool, line) = pools.chain.creation_line(BOB, name, &params.init_code());
        got += &line;
        if let Some(pool) = pool.filter(|_| params != LiquidityPoolParams::UNINITIALIZED) {
            got += &history(&mut Pools { pool, ..pools });
        }
    }
    got += &history(&mut Pools::new());
    let mut with_fee = Pools::new();
    with_fee.chain.ok(OWNER, with_fee.factory, &factory::setFeeToCall { feeTo: CAROL });
    got += &history(&mut with_fee);
    let (pool, supports) =
        (with_fee.pool, sol::supportsInterfaceCall { interfaceId: [1, 2, 3, 4].into() }.abi_encode());
    got += &with_fee.chain.line("supportsInterface", BOB, pool, 0, &supports);
    let want = include_str!("golden.txt");
    let wrong: Vec<_> = got.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
    assert!(got == want, "{wrong:#?}\nall of it now:\n{got}");
}
