//! `liquidity-router`: adds and removes liquidity of a factory's pools and swaps along paths of them, equivalent to Uniswap v2's
//! UniswapV2Router02, with the same revert strings.
//!
//! Callers bound what is taken and given, and until when (`deadline`, in seconds since the Unix epoch). Functions with ETH wrap and unwrap
//! the native token through `WETH`, such as a `wrapped-native`; those that support fees on transfers look at what arrived and not at
//! what was sent. Tokens are taken by allowance of the caller, LP tokens also by permit.
//!
//! Pools are found by the factory's `getPair`; Uniswap's router computes their addresses from the init code of its pairs. The router has
//! no storage but:
//!
//! | slot | what |
//! |---|---|
//! | [`IMMUTABLES`], [`IMMUTABLES`] + 1 | what Solidity would put into the code: factory, WETH |

pub mod interface;
mod library;
mod liquidity;
mod payments;
mod state;
mod swaps;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::uint;

use self::{
    interface::LiquidityRouter::{self as sol, LiquidityRouterCalls as Calls},
    library::Route,
    state::FIXED,
};
use super::common::{ds_math::assert_holds, erc165::supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*};

/// First slot of the values that Solidity puts into the code: keccak of `chainbox.liquidity-router.immutables`.
pub const IMMUTABLES: U256 = uint!(0x162ca65e781778215d657c1791d8556bc112c521b22d3c07671a9dc33ccb1dd2_U256);

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[
    sol::addLiquidityETHCall::SELECTOR,
    sol::swapExactETHForTokensCall::SELECTOR,
    sol::swapETHForExactTokensCall::SELECTOR,
    sol::swapExactETHForTokensSupportingFeeOnTransferTokensCall::SELECTOR,
];

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(address factory, address WETH)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiquidityRouterParams {
    /// Factory whose pools the router uses.
    pub factory: Address,
    /// The native token as an ERC-20 token, such as a `wrapped-native`.
    pub weth: Address,
}

impl LiquidityRouterParams {
    /// Creates parameters.
    pub const fn new(factory: Address, weth: Address) -> Self {
        Self { factory, weth }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { factory: self.factory, WETH: self.weth }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(LiquidityRouter::ID).init_code(&self.encode())
    }
}

/// The template `liquidity-router`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct LiquidityRouter;

impl LiquidityRouter {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(16, 1);
    /// Name of the template.
    pub const NAME: &'static str = "liquidity-router";
}

impl Template for LiquidityRouter {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Uniswap v2's Router02: swaps and liquidity"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("factory", "The liquidity-factory whose pools the router uses."),
            ParameterNote::of("WETH", "The native token as an ERC-20 token, such as a wrapped-native."),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::RouterImmutables>()
    }

    fn gas_table(&self) -> &str {
        include_str!("liquidity_router/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: sol::constructorCall = host.decode_constructor(params)?;
        FIXED.factory.overwrite(host, params.factory)?;
        FIXED.weth.overwrite(host, params.WETH)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            // `receive`: ether comes from WETH only.
            host.compute(abi::DISPATCH_UNITS)?;
            let weth = FIXED.weth.get(host)?;
            return assert_holds(host.caller() == weth).map(|()| Bytes::new());
        }
        match host.decode_call_v1::<Calls>(input, PAYABLE)? {
            Calls::factory(call) => call.returns(FIXED.factory.get(host)?),
            Calls::WETH(call) => call.returns(FIXED.weth.get(host)?),
            Calls::addLiquidity(call) => call.returns(liquidity::add(host, &call)?),
            Calls::addLiquidityETH(call) => call.returns(liquidity::add_eth(host, &call)?),
            Calls::removeLiquidity(call) => call.returns(liquidity::remove(host, &call)?),
            Calls::removeLiquidityETH(call) => call.returns(liquidity::remove_eth(host, &call)?),
            Calls::removeLiquidityWithPermit(call) => call.returns(liquidity::remove_with_permit(host, &call)?),
            Calls::removeLiquidityETHWithPermit(call) => call.returns(liquidity::remove_eth_with_permit(host, &call)?),
            Calls::removeLiquidityETHSupportingFeeOnTransferTokens(call) => call.returns(liquidity::remove_eth_with_fee(host, &call)?),
            Calls::removeLiquidityETHWithPermitSupportingFeeOnTransferTokens(call) => call.returns(liquidity::remove_eth_with_permit_and_fee(host, &call)?),
            Calls::swapExactTokensForTokens(call) => call.returns(swaps::exact_tokens_for_tokens(host, &call)?),
            Calls::swapTokensForExactTokens(call) => call.returns(swaps::tokens_for_exact_tokens(host, &call)?),
            Calls::swapExactETHForTokens(call) => call.returns(swaps::exact_eth_for_tokens(host, &call)?),
            Calls::swapTokensForExactETH(call) => call.returns(swaps::tokens_for_exact_eth(host, &call)?),
            Calls::swapExactTokensForETH(call) => call.returns(swaps::exact_tokens_for_eth(host, &call)?),
            Calls::swapETHForExactTokens(call) => call.returns(swaps::eth_for_exact_tokens(host, &call)?),
            Calls::swapExactTokensForTokensSupportingFeeOnTransferTokens(call) => call.returns(swaps::tokens_for_tokens_with_fee(host, &call)?),
            Calls::swapExactETHForTokensSupportingFeeOnTransferTokens(call) => call.returns(swaps::eth_for_tokens_with_fee(host, &call)?),
            Calls::swapExactTokensForETHSupportingFeeOnTransferTokens(call) => call.returns(swaps::tokens_for_eth_with_fee(host, &call)?),
            Calls::quote(call) => call.returns(library::quote(call.amountA, call.reserveA, call.reserveB)?),
            Calls::getAmountOut(call) => call.returns(library::amount_out(call.amountIn, call.reserveIn, call.reserveOut)?),
            Calls::getAmountIn(call) => call.returns(library::amount_in(call.amountOut, call.reserveIn, call.reserveOut)?),
            Calls::getAmountsOut(call) => call.returns(Route::forwards(host, call.amountIn, &call.path)?.amounts),
            Calls::getAmountsIn(call) => call.returns(Route::backwards(host, call.amountOut, &call.path)?.amounts),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
