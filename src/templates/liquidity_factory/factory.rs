//! The factory's variables, and what it does.

use super::interface as sol;
use crate::{
    templates::{
        common::{
            ds_math::{invalid, require_that},
            legacy_calls,
        },
        liquidity_pool::{LiquidityPoolParams, interface::initializeCall},
    },
    vm::contract::*,
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract FactoryStorage {
        pub(super) fee_to: Slot<Address> as "feeTo",
        pub(super) fee_to_setter: Slot<Address> as "feeToSetter",
        pub(super) pairs: Mapping<Address, Mapping<Address, Address>> as "getPair",
        pub(super) all_pairs: Array<Address> as "allPairs",
    }
}

pub(super) const FACTORY: FactoryStorage = FactoryStorage::STATE;

pub(super) fn pair_at(host: &mut Host<'_>, index: U256) -> Result<Address, Stop> {
    let length = FACTORY.all_pairs.len(host)?;
    let index = u64::try_from(index).ok().filter(|index| *index < length).ok_or_else(invalid)?;
    FACTORY.all_pairs.unchecked_at(host, index)?.get(host)
}

pub(super) fn create_pair(host: &mut Host<'_>, token_a: Address, token_b: Address) -> Result<Address, Stop> {
    require_that(token_a != token_b, "UniswapV2: IDENTICAL_ADDRESSES")?;
    let (token0, token1) = if token_a < token_b { (token_a, token_b) } else { (token_b, token_a) };
    require_that(!token0.is_zero(), "UniswapV2: ZERO_ADDRESS")?;
    let by_token1 = FACTORY.pairs.at(host, token0)?.at(host, token1)?;
    require_that(by_token1.get(host)?.is_zero(), "UniswapV2: PAIR_EXISTS")?;
    let salt = host.keccak(&[token0, token1].concat())?;
    let (pair, created) = host.create2(&LiquidityPoolParams::UNINITIALIZED.init_code(), U256::ZERO, salt)?;
    if !created.is_success() {
        // Solidity's next line calls the zero address.
        return Err(empty_revert());
    }
    legacy_calls::call(host, pair, U256::ZERO, &initializeCall { token0, token1 })?;
    by_token1.overwrite(host, pair)?;
    FACTORY.pairs.at(host, token1)?.at(host, token0)?.overwrite(host, pair)?;
    FACTORY.all_pairs.push(host, pair)?;
    let number = FACTORY.all_pairs.length().get(host)?;
    host.emit(&sol::PairCreated { token0, token1, pair, _3: number })?;
    Ok(pair)
}

pub(super) fn set_fee_to(host: &mut Host<'_>, fee_to: Address) -> Result<(), Stop> {
    only_setter(host)?;
    FACTORY.fee_to.overwrite(host, fee_to)
}

pub(super) fn set_fee_to_setter(host: &mut Host<'_>, fee_to_setter: Address) -> Result<(), Stop> {
    only_setter(host)?;
    FACTORY.fee_to_setter.overwrite(host, fee_to_setter)
}

fn only_setter(host: &mut Host<'_>) -> Result<(), Stop> {
    let setter = FACTORY.fee_to_setter.get(host)?;
    require_that(host.caller() == setter, "UniswapV2: FORBIDDEN")
}
