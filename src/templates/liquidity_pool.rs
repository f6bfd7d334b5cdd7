//! `liquidity-pool`: a pool of two ERC-20 tokens with a constant product, equivalent to Uniswap v2's UniswapV2Pair: its ABI, its LP token
//! with permits, flash swaps, protocol fee, price accumulators and revert strings.
//!
//! Whoever puts in tokens and calls `mint` gets LP tokens, whoever puts these in and calls `burn` gets tokens, and `swap` gives what it is
//! asked for, as long as the product of the balances, less 0.3 % of what came in, is not below what it was. These functions look at the
//! pool's balances alone and trust their caller to have paid before in the same transaction: people call a `liquidity-router`.
//!
//! A pool is made by a `liquidity-factory`, or alone with its two tokens in any order. A pool made alone has who deployed it as its
//! `factory()`, has no protocol fee and cannot be initialised anew; without tokens it waits for its creator's `initialize`, as Uniswap's.
//!
//! The storage layout is solc's for UniswapV2Pair, with one addition:
//!
//! | slot | what |
//! |---|---|
//! | 0 | supply of LP tokens |
//! | 1 | `mapping(address => uint256)` balances of LP tokens |
//! | 2 | `mapping(address => mapping(address => uint256))` allowances |
//! | 3 | EIP-712 domain separator |
//! | 4 | `mapping(address => uint256)` nonces of permits |
//! | 5 | factory (lowest 160 bits); whether the pool was made alone (bit 160), an addition |
//! | 6, 7 | the tokens, the lower address first |
//! | 8 | reserves (112 bits each), timestamp of their last update (32 bits) |
//! | 9, 10 | sums of each token's price in the other, a second each, in 2^-112; they wrap |
//! | 11 | product of the reserves after the last change of liquidity; zero without protocol fee |
//! | 12 | 1, and 0 while a guarded function runs |

pub mod interface;
mod lp_token;
mod pair;
mod reserves;
mod state;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;

use self::{
    interface::LiquidityPool::{self as sol, LiquidityPoolCalls as Calls},
    lp_token::PERMIT_TYPE,
    state::{POOL, RESERVES},
};
use super::common::erc165::supports;
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

pub use pair::MINIMUM_LIQUIDITY;

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address token0, address token1)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::LiquidityPoolParams};
/// let params = LiquidityPoolParams::new(Address::repeat_byte(1), Address::repeat_byte(2));
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 14, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiquidityPoolParams {
    /// One token; zero, as the other, for a pool whose creator initialises it.
    pub token0: Address,
    /// The other token.
    pub token1: Address,
}

impl LiquidityPoolParams {
    /// Parameters of a pool that its creator, such as a factory, initialises.
    pub const UNINITIALIZED: Self = Self::new(Address::ZERO, Address::ZERO);

    /// Creates parameters of a pool of two tokens, in any order.
    pub const fn new(token0: Address, token1: Address) -> Self {
        Self { token0, token1 }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { token0: self.token0, token1: self.token1 }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(LiquidityPool::ID).init_code(&self.encode())
    }
}

/// The template `liquidity-pool`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct LiquidityPool;

impl LiquidityPool {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(14, 1);
    /// Name of the template.
    pub const NAME: &'static str = "liquidity-pool";
}

impl Template for LiquidityPool {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Uniswap v2's pool of two tokens"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("token0", "One ERC-20 token; the pool sorts the two by address."),
            ParameterNote::of("token1", "The other ERC-20 token."),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::PoolStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("liquidity_pool/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        pair::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_v1::<Calls>(input, NONE_PAYABLE)? {
            Calls::name(call) => call.returns(lp_token::NAME.to_owned()),
            Calls::symbol(call) => call.returns(lp_token::SYMBOL.to_owned()),
            Calls::decimals(call) => call.returns(lp_token::DECIMALS),
            Calls::totalSupply(call) => call.returns(POOL.lp.total_supply.get(host)?),
            Calls::balanceOf(call) => call.returns(POOL.lp.balances.get(host, call.owner)?),
            Calls::allowance(call) => call.returns(POOL.lp.allowances.at(host, call.owner)?.get(host, call.spender)?),
            Calls::approve(call) => call.returns(POOL.lp.approve(host, call.spender, call.value)?),
            Calls::transfer(call) => call.returns(POOL.lp.transfer(host, call.to, call.value)?),
            Calls::transferFrom(call) => call.returns(POOL.lp.transfer_from(host, call.from, call.to, call.value)?),
            Calls::DOMAIN_SEPARATOR(call) => call.returns(POOL.lp.domain_separator.get(host)?),
            Calls::PERMIT_TYPEHASH(call) => call.returns(PERMIT_TYPE),
            Calls::nonces(call) => call.returns(POOL.lp.nonces.get(host, call.owner)?),
            Calls::permit(call) => call.returns(POOL.lp.permit(host, &call)?),
            Calls::MINIMUM_LIQUIDITY(call) => call.returns(MINIMUM_LIQUIDITY),
            Calls::factory(call) => call.returns(POOL.factory.get(host)?),
            Calls::token0(call) => call.returns(POOL.token0.get(host)?),
            Calls::token1(call) => call.returns(POOL.token1.get(host)?),
            Calls::getReserves(call) => call.returns(RESERVES.get(host)?.as_returned()),
            Calls::price0CumulativeLast(call) => call.returns(POOL.price0_cumulative_last.get(host)?),
            Calls::price1CumulativeLast(call) => call.returns(POOL.price1_cumulative_last.get(host)?),
            Calls::kLast(call) => call.returns(POOL.k_last.get(host)?),
            Calls::mint(call) => call.returns(pair::mint(host, call.to)?),
            Calls::burn(call) => call.returns(pair::burn(host, call.to)?),
            Calls::swap(call) => call.returns(pair::swap(host, &call)?),
            Calls::skim(call) => call.returns(pair::skim(host, call.to)?),
            Calls::sync(call) => call.returns(pair::sync(host)?),
            Calls::initialize(call) => call.returns(pair::initialize(host, call.token0, call.token1)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
