//! A token as plain as ERC-20 allows, so that the gas of what holds tokens does not depend on the templates of tokens.

use alloy_json_abi::JsonAbi;

use crate::{
    templates::common::Erc20Base,
    vm::{Marker, Template, TemplateId, contract::*},
};

alloy_sol_types::sol! {
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Token {
        constructor(uint8 decimals, uint256 supply);

        function decimals() external view returns (uint8);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
    }
}

use Token::TokenCalls as Calls;
pub(in crate::templates) use Token::*;

storage! {
    /// State variables.
    contract TokenStorage {
        token: Erc20Base,
        decimals: Slot<u8>,
    }
}

const TOKEN: TokenStorage = TokenStorage::STATE;

/// The token. Who creates it has the supply.
#[derive(Debug)]
pub(in crate::templates) struct TestToken;

impl TestToken {
    const ID: TemplateId = TemplateId::new(0x8000, 1);

    pub(in crate::templates) fn init_code(decimals: u8, supply: u64) -> Bytes {
        Marker(Self::ID).init_code(&constructorCall { decimals, supply: U256::from(supply) }.abi_encode())
    }
}

impl Template for TestToken {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "test-token"
    }

    fn abi(&self) -> JsonAbi {
        Token::abi::contract()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: constructorCall = host.decode_constructor(params)?;
        TOKEN.decimals.set(host, params.decimals)?;
        let holder = host.caller();
        TOKEN.token.mint(host, holder, params.supply)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::decimals(call) => call.returns(TOKEN.decimals.get(host)?),
            Calls::balanceOf(call) => call.returns(TOKEN.token.balances.get(host, call.account)?),
            Calls::transfer(call) => call.returns(TOKEN.token.transfer(host, call.to, call.value)?),
            Calls::approve(call) => call.returns(TOKEN.token.approve(host, call.spender, call.value)?),
            Calls::transferFrom(call) => call.returns(TOKEN.token.transfer_from(host, call.from, call.to, call.value)?),
        }
    }
}
