//! A token whose units vote once they are delegated, so that the gas of what counts its votes does not depend on the templates of tokens.

use alloy_json_abi::JsonAbi;

use crate::{
    templates::common::{
        Erc20Base, Ownable, Votes,
        votes::{CLOCK_MODE, clock},
    },
    vm::{Marker, Template, TemplateId, contract::*},
};

alloy_sol_types::sol! {
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract VotesToken {
        constructor(uint256 supply);

        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external;
        function mint(address to, uint256 value) external;
        function transferOwnership(address newOwner) external;
        function delegate(address delegatee) external;
        function getPastVotes(address account, uint256 timepoint) external view returns (uint256);
        function getPastTotalSupply(uint256 timepoint) external view returns (uint256);
        function clock() external view returns (uint48);
        function CLOCK_MODE() external view returns (string memory);
    }
}

use VotesToken::VotesTokenCalls as Calls;
pub(in crate::templates) use VotesToken::*;

storage! {
    /// State variables.
    contract VotesStorage {
        token: Erc20Base,
        ownable: Ownable,
        votes: Votes,
    }
}

const TOKEN: VotesStorage = VotesStorage::STATE;

/// The token. Who creates it has the supply, and mints.
#[derive(Debug)]
pub(in crate::templates) struct TestVotes;

impl TestVotes {
    const ID: TemplateId = TemplateId::new(0x8001, 1);

    pub(in crate::templates) fn init_code(supply: u64) -> Bytes {
        Marker(Self::ID).init_code(&constructorCall { supply: U256::from(supply) }.abi_encode())
    }
}

fn mint(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    TOKEN.token.mint(host, to, value)?;
    TOKEN.votes.transfer_voting_units(host, Address::ZERO, to, value)
}

fn transfer(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    let from = host.caller();
    TOKEN.token.transfer(host, to, value)?;
    TOKEN.votes.transfer_voting_units(host, from, to, value)
}

impl Template for TestVotes {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "test-votes"
    }

    fn abi(&self) -> JsonAbi {
        VotesToken::abi::contract()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: constructorCall = host.decode_constructor(params)?;
        let creator = host.caller();
        TOKEN.ownable.construct(host, creator)?;
        mint(host, creator, params.supply)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        let caller = host.caller();
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::balanceOf(call) => call.returns(TOKEN.token.balances.get(host, call.account)?),
            Calls::transfer(call) => call.returns(transfer(host, call.to, call.value)?),
            Calls::mint(call) => {
                TOKEN.ownable.only_owner(host)?;
                call.returns(mint(host, call.to, call.value)?)
            }
            Calls::transferOwnership(call) => call.returns(TOKEN.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::delegate(call) => {
                let units = |host: &mut Host<'_>, account| TOKEN.token.balances.get(host, account);
                call.returns(TOKEN.votes.delegate(host, caller, call.delegatee, units)?)
            }
            Calls::getPastVotes(call) => {
                call.returns(TOKEN.votes.get_past_votes(host, call.account, call.timepoint)?)
            }
            Calls::getPastTotalSupply(call) => call.returns(TOKEN.votes.get_past_total_supply(host, call.timepoint)?),
            Calls::clock(call) => call.returns(clock(host)?),
            Calls::CLOCK_MODE(call) => call.returns(CLOCK_MODE.to_owned()),
        }
    }
}
