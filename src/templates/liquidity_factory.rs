//! `liquidity-factory`: makes and lists `liquidity-pool`s, one for each two tokens, equivalent to Uniswap v2's UniswapV2Factory.
//!
//! A pool is created by CREATE2 with the salt keccak(token0, token1) and init code that is the same for all, so that its address follows
//! from factory and tokens: [`pool_address`]. It gets its tokens by `initialize`. `feeToSetter` alone may switch the protocol fee on by
//! naming who gets it.
//!
//! | slot | what |
//! |---|---|
//! | 0 | who gets the protocol fee; zero for nobody |
//! | 1 | who may set that |
//! | 2 | `mapping(address => mapping(address => address))` pools by tokens, in both orders |
//! | 3 | `address[]` all pools |

mod factory;
pub mod interface;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use alloy_json_abi::JsonAbi;
use alloy_primitives::keccak256;

use self::{
    factory::FACTORY,
    interface::LiquidityFactory::{self as sol, LiquidityFactoryCalls as Calls},
};
use super::common::erc165::supports;
use super::liquidity_pool::LiquidityPoolParams;
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// Returns the address of a factory's pool of two tokens, whether it is made yet or not.
///
/// ```
/// use chainbox::{primitives::Address, templates::liquidity_factory::pool_address};
/// let (factory, a, b) = (Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3));
/// assert_eq!(pool_address(factory, a, b), pool_address(factory, b, a));
/// ```
pub fn pool_address(factory: Address, token_a: Address, token_b: Address) -> Address {
    let (token0, token1) = if token_a < token_b { (token_a, token_b) } else { (token_b, token_a) };
    factory.create2(keccak256([token0, token1].concat()), pool_init_code_hash())
}

/// Returns the keccak of the init code of a factory's pools: Uniswap's "init code hash".
pub fn pool_init_code_hash() -> B256 {
    static HASH: LazyLock<B256> = LazyLock::new(|| keccak256(LiquidityPoolParams::UNINITIALIZED.init_code()));
    *HASH
}

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address feeToSetter)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiquidityFactoryParams {
    /// Account that may name who gets the protocol fee.
    pub fee_to_setter: Address,
}

impl LiquidityFactoryParams {
    /// Creates parameters.
    pub const fn new(fee_to_setter: Address) -> Self {
        Self { fee_to_setter }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { feeToSetter: self.fee_to_setter }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(LiquidityFactory::ID).init_code(&self.encode())
    }
}

/// The template `liquidity-factory`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct LiquidityFactory;

impl LiquidityFactory {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(15, 1);
    /// Name of the template.
    pub const NAME: &'static str = "liquidity-factory";
}

impl Template for LiquidityFactory {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Uniswap v2's factory of pools"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        let note = ParameterNote::of("feeToSetter", "Account that may name who gets the protocol fee.");
        vec![note.with_default_deployer()]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<factory::FactoryStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("liquidity_factory/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: sol::constructorCall = host.decode_constructor(params)?;
        FACTORY.fee_to_setter.overwrite(host, params.feeToSetter)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_v1::<Calls>(input, NONE_PAYABLE)? {
            Calls::feeTo(call) => call.returns(FACTORY.fee_to.get(host)?),
            Calls::feeToSetter(call) => call.returns(FACTORY.fee_to_setter.get(host)?),
            Calls::getPair(call) => call.returns(FACTORY.pairs.at(host, call.tokenA)?.get(host, call.tokenB)?),
            Calls::allPairs(call) => call.returns(factory::pair_at(host, call.index)?),
            Calls::allPairsLength(call) => call.returns(FACTORY.all_pairs.length().get(host)?),
            Calls::createPair(call) => call.returns(factory::create_pair(host, call.tokenA, call.tokenB)?),
            Calls::setFeeTo(call) => call.returns(factory::set_fee_to(host, call.feeTo)?),
            Calls::setFeeToSetter(call) => call.returns(factory::set_fee_to_setter(host, call.feeToSetter)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
