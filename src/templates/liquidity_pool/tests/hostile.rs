//! Tokens and receivers that call the pool while it runs, and flash swaps.

use super::*;

fn answer(pools: &Pools, actor: Address) -> (bool, bool, Bytes) {
    let answer = pools.chain.read(actor, &actor::answerCall {});
    (answer.wasMade, answer.isSuccess, answer.output)
}

/// All functions that the lock guards.
fn guarded(to: Address) -> [Vec<u8>; 5] {
    let swap = swap(1, 0, to).abi_encode();
    [
        mint(to).abi_encode(),
        burn(to).abi_encode(),
        swap,
        sol::skimCall { to }.abi_encode(),
        sol::syncCall {}.abi_encode(),
    ]
}

fn locked() -> Bytes {
    Revert::from("UniswapV2: LOCKED").abi_encode().into()
}

/// A pool with a hostile token, and some liquidity of which the pool itself holds LP tokens.
fn with_hostile_token() -> (Pools, Address) {
    let mut pools = Pools::hostile();
    let hostile = pools.tokens.into_iter().find(|token| pools.chain.try_read(*token, &actor::answerCall {}).is_ok());
    pools.add(OWNER, 10_000, 20_000);
    let pool = pools.pool;
    pools.ok(OWNER, &sol::transferCall { to: pool, value: U256::from(1_000) });
    (pools, hostile.unwrap())
}

#[test]
fn a_hostile_token_finds_the_pool_locked() {
    let (pools, token) = with_hostile_token();
    let entries = [burn(BOB).abi_encode(), swap(100, 100, BOB).abi_encode(), sol::skimCall { to: BOB }.abi_encode()];
    for entry in entries {
        for inner in guarded(BOB) {
            let mut pools = pools.clone();
            pools.pay_in(BOB, 500, 500);
            let pool = pools.pool;
            pools.chain.ok(BOB, token, &actor::armCall { target: pool, data: inner.into() });
            let result = pools.chain.send(BOB, pool, 0, &entry, 1_000_000);
            assert!(result.is_success(), "{result:?}");
            assert_eq!(answer(&pools, token), (true, false, locked()));
            // The lock is off again.
            pools.ok(BOB, &sol::syncCall {});
        }
    }
}

#[test]
fn a_hostile_receiver_finds_the_pool_locked() {
    for inner in guarded(CAROL) {
        let mut pools = Pools::with_liquidity(10_000, 20_000);
        let receiver = pools.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
        let pool = pools.pool;
        pools.chain.ok(BOB, receiver, &actor::armCall { target: pool, data: inner.into() });
        pools.pay_in(BOB, 2_000, 2_000);
        let call = sol::swapCall { data: Bytes::from_static(&[1]), ..swap(100, 100, receiver) };
        pools.ok(BOB, &call);
        assert_eq!(answer(&pools, receiver), (true, false, locked()));
    }
}

#[test]
fn a_flash_swap_is_paid_back_with_the_fee_or_undone() {
    let flash = |returned: u64| {
        let mut pools = Pools::with_liquidity(10_000, 20_000);
        let receiver = pools.chain.deploy(BOB, 0, &ActorTemplate::init_code(0));
        let (pool, [token0, _]) = (pools.pool, pools.tokens);
        pools.pay(BOB, token0, receiver, 100);
        let pay_back = asset_transfer(pool, returned);
        pools.chain.ok(BOB, receiver, &actor::armCall { target: token0, data: pay_back.into() });
        let call = sol::swapCall { data: Bytes::from_static(&[1]), ..swap(1_000, 0, receiver) };
        let result = pools.chain.call(BOB, pool, &call);
        (pools, result.map(drop))
    };
    // 1,000 / 0.997, rounded up.
    let (pools, result) = flash(1_004);
    assert_eq!(result, Ok(()));
    assert_eq!(pools.reserves(), (10_004, 20_000));
    let (pools, result) = flash(1_003);
    assert_eq!(result, Err(Revert::from("UniswapV2: K").abi_encode().into()));
    assert_eq!((pools.reserves(), pools.held(pools.pool)), ((10_000, 20_000), (10_000, 20_000)));
    let (_, result) = flash(0);
    assert_eq!(result, Err(Revert::from("UniswapV2: INSUFFICIENT_INPUT_AMOUNT").abi_encode().into()));
}

/// A receiver's refusal is the swap's.
#[test]
fn a_receiver_without_the_callback_refuses_a_flash_swap() {
    let mut pools = Pools::with_liquidity(10_000, 20_000);
    let (pool, weth) = (pools.pool, pools.weth);
    let call = sol::swapCall { data: Bytes::from_static(&[1]), ..swap(1_000, 0, weth) };
    pools.chain.is_absent(BOB, pool, &call);
}

#[test]
fn a_token_that_refuses_a_transfer_refuses_the_swap() {
    let mut pools = Pools::with_liquidity(10_000, 20_000);
    // The plain token refuses the zero address.
    pools.pay_in(BOB, 2_000, 0);
    pools.fails(BOB, &swap(0, 100, Address::ZERO), "UniswapV2: TRANSFER_FAILED");
    pools.fails(BOB, &sol::skimCall { to: Address::ZERO }, "UniswapV2: TRANSFER_FAILED");
}

fn asset_transfer(to: Address, value: u64) -> Vec<u8> {
    actor::transferCall { to, value: U256::from(value) }.abi_encode()
}
