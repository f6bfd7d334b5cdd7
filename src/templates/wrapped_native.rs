//! `wrapped-native`: the chain's native token as an ERC-20 token, with the ABI and the behaviour of WETH9.
//!
//! Ether that is deposited, or plainly sent, becomes as many tokens; withdrawn tokens become ether again, sent with 2,300 gas. Unlike the
//! WETH9 of Ethereum's mainnet, whose fallback takes any call for a deposit, a function that is not there reverts: nobody takes a missing
//! `permit` for one that succeeded.
//!
//! | slot | what |
//! |---|---|
//! | 0, 1 | name, symbol |
//! | 2 | decimals, 18 |
//! | 3 | `mapping(address => uint256)` balances |
//! | 4 | `mapping(address => mapping(address => uint256))` allowances |

pub mod interface;
#[cfg(test)]
mod tests;
mod token;

use alloy_json_abi::JsonAbi;

use self::{
    interface::WrappedNative::{self as sol, WrappedNativeCalls as Calls},
    token::TOKEN,
};
use super::common::erc165::supports;
use crate::vm::{Marker, ParameterNote, Template, TemplateId, abi, contract::*};

/// Functions that take ether.
const PAYABLE: &[[u8; 4]] = &[sol::depositCall::SELECTOR];

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(string name, string symbol)`.
///
/// ```
/// use chainbox::templates::WrappedNativeParams;
/// assert_eq!(WrappedNativeParams::default().init_code()[..6], [0xef, 0xcb, 0, 21, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedNativeParams {
    /// Name of the token.
    pub name: String,
    /// Symbol of the token.
    pub symbol: String,
}

impl Default for WrappedNativeParams {
    /// Those of WETH9.
    fn default() -> Self {
        Self { name: DEFAULT_NAME.to_owned(), symbol: DEFAULT_SYMBOL.to_owned() }
    }
}

const DEFAULT_NAME: &str = "Wrapped Ether";
const DEFAULT_SYMBOL: &str = "WETH";

impl WrappedNativeParams {
    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        sol::constructorCall { name: self.name.clone(), symbol: self.symbol.clone() }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(WrappedNative::ID).init_code(&self.encode())
    }
}

/// The template `wrapped-native`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct WrappedNative;

impl WrappedNative {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(21, 1);
    /// Name of the template.
    pub const NAME: &'static str = "wrapped-native";
}

impl Template for WrappedNative {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "WETH9: ether as an ERC-20 token"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("name", "Name of the token.").with_default(DEFAULT_NAME),
            ParameterNote::of("symbol", "Symbol of the token.").with_default(DEFAULT_SYMBOL),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<token::TokenStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("wrapped_native/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        token::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            // `receive`
            host.compute(abi::DISPATCH_UNITS)?;
            return token::deposit(host).map(|()| Bytes::new());
        }
        match host.decode_call_v1::<Calls>(input, PAYABLE)? {
            Calls::name(call) => call.returns(TOKEN.name.get(host)?),
            Calls::symbol(call) => call.returns(TOKEN.symbol.get(host)?),
            Calls::decimals(call) => call.returns(TOKEN.decimals.get(host)?),
            Calls::totalSupply(call) => call.returns(token::total_supply(host)?),
            Calls::balanceOf(call) => call.returns(TOKEN.balances.get(host, call.account)?),
            Calls::allowance(call) => call.returns(TOKEN.allowances.at(host, call.owner)?.get(host, call.spender)?),
            Calls::approve(call) => call.returns(token::approve(host, call.guy, call.wad)?),
            Calls::transfer(call) => call.returns(token::transfer(host, call.dst, call.wad)?),
            Calls::transferFrom(call) => call.returns(token::transfer_from(host, call.src, call.dst, call.wad)?),
            Calls::deposit(call) => call.returns(token::deposit(host)?),
            Calls::withdraw(call) => call.returns(token::withdraw(host, call.wad)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &[])),
        }
    }
}
