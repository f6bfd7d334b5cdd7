//! A hostile contract: a token, a price feed, a receiver of ether, of flash swaps and of tokens of ERC-721 and ERC-1155 that makes a call of
//! its own each time it is called, in the middle of what its caller does.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{I256, aliases::U80};

use crate::{
    templates::common::{Erc20Base, receivers::accepted},
    vm::{Marker, Template, TemplateId, abi::revert_with, contract::*},
};

alloy_sol_types::sol! {
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Actor {
        constructor(uint256 supply);

        /// The call that it makes when its tokens are moved, when it is sent ether or tokens, and when it gets a flash swap.
        function arm(address target, bytes data) external;
        /// Whether that call was made, whether it succeeded, and what it returned.
        function answer() external view returns (bool wasMade, bool isSuccess, bytes output);
        /// Makes a call at once, with what ether comes with this.
        function run(address target, bytes data) external payable returns (bool isSuccess, bytes output);
        /// How it takes ether: 0 gladly, 1 not at all, 2 it burns all gas.
        function refuse(uint8 how) external;
        function onERC721Received(address operator, address from, uint256 tokenId, bytes data) external returns (bytes4);
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes data) external returns (bytes4);
        function uniswapV2Call(address sender, uint256 amount0, uint256 amount1, bytes data) external;
        function decimals() external view returns (uint8);
        /// A price of 2,000, unless the call that it makes at this has an effect.
        function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
        function balanceOf(address account) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);
    }
}

use Actor::ActorCalls as Calls;
pub(in crate::templates) use Actor::*;

storage! {
    /// State variables.
    contract ActorStorage {
        token: Erc20Base,
        trap: Trap,
        refusal: Slot<u8>,
    }
}

storage! {
    /// A call that is made once, in the middle of another, and what came of it.
    pub(super) contract Trap {
        target: Slot<Address>,
        data: Slot<Bytes>,
        was_made: Slot<bool>,
        is_success: Slot<bool>,
        output: Slot<Bytes>,
    }
}

const ACTOR: ActorStorage = ActorStorage::STATE;

/// Decimals of the token and of the price.
const DECIMALS: u8 = 6;

/// The contract. Who creates it has the supply.
#[derive(Debug)]
pub(in crate::templates) struct ActorTemplate;

impl ActorTemplate {
    const ID: TemplateId = TemplateId::new(0x8002, 1);

    pub(in crate::templates) fn init_code(supply: u64) -> Bytes {
        Marker(Self::ID).init_code(&constructorCall { supply: U256::from(supply) }.abi_encode())
    }
}

impl Template for ActorTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        "actor"
    }

    fn abi(&self) -> JsonAbi {
        Actor::abi::contract()
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params: constructorCall = host.decode_constructor(params)?;
        let holder = host.caller();
        ACTOR.token.mint(host, holder, params.supply)
    }

    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        if input.is_empty() {
            match ACTOR.refusal.get(host)? {
                0 => return ACTOR.trap.spring(host).map(|()| Bytes::new()),
                1 => return Err(empty_revert()),
                _ => host.compute(u64::MAX)?,
            }
        }
        match host.decode_call::<Calls>(input, &[runCall::SELECTOR])? {
            Calls::arm(call) => call.returns(ACTOR.trap.arm(host, call.target, call.data.clone())?),
            Calls::answer(call) => call.returns(ACTOR.trap.answer(host)?),
            Calls::run(call) => {
                let value = host.value();
                let result = host.call(call.target, value, &call.data)?;
                call.returns((result.is_success(), result.output))
            }
            Calls::decimals(call) => call.returns(DECIMALS),
            Calls::latestRoundData(call) => call.returns(ACTOR.trap.answer_price(host)?),
            Calls::refuse(call) => call.returns(ACTOR.refusal.set(host, call.how)?),
            Calls::onERC721Received(call) => {
                ACTOR.trap.spring(host)?;
                call.returns(accepted(&call))
            }
            Calls::onERC1155Received(call) => {
                ACTOR.trap.spring(host)?;
                call.returns(accepted(&call))
            }
            Calls::uniswapV2Call(call) => call.returns(ACTOR.trap.spring(host)?),
            Calls::balanceOf(call) => call.returns(ACTOR.token.balances.get(host, call.account)?),
            Calls::transfer(call) => {
                ACTOR.trap.spring(host)?;
                call.returns(ACTOR.token.transfer(host, call.to, call.value)?)
            }
            Calls::approve(call) => call.returns(ACTOR.token.approve(host, call.spender, call.value)?),
            Calls::transferFrom(call) => {
                ACTOR.trap.spring(host)?;
                call.returns(ACTOR.token.transfer_from(host, call.from, call.to, call.value)?)
            }
        }
    }
}

impl Trap {
    pub(super) fn arm(self, host: &mut Host<'_>, target: Address, data: Bytes) -> Result<(), Stop> {
        self.target.set(host, target)?;
        self.data.set(host, data)?;
        self.was_made.set(host, false)
    }

    /// Returns whether the call was made, whether it succeeded, and what it returned.
    pub(super) fn answer(self, host: &mut Host<'_>) -> Result<(bool, bool, Bytes), Stop> {
        Ok((self.was_made.get(host)?, self.is_success.get(host)?, self.output.get(host)?))
    }

    /// Makes the call, once, and keeps what it returned.
    pub(super) fn spring(self, host: &mut Host<'_>) -> Result<(), Stop> {
        let (target, data) = (self.target.get(host)?, self.data.get(host)?);
        if target.is_zero() || self.was_made.get(host)? {
            return Ok(());
        }
        self.was_made.set(host, true)?;
        let result = host.call(target, U256::ZERO, &data)?;
        self.is_success.set(host, result.is_success())?;
        self.output.set(host, result.output)
    }
    /// Makes the call, as a feed inside a call that changes nothing, and answers a price if it fails.
    fn answer_price(self, host: &mut Host<'_>) -> Result<latestRoundDataReturn, Stop> {
        let (target, data) = (self.target.get(host)?, self.data.get(host)?);
        if !target.is_zero() && host.call(target, U256::ZERO, &data)?.is_success() {
            return Err(revert_with("the call succeeded"));
        }
        let (round, now) = (U80::ONE, U256::from(host.block().timestamp.as_secs()));
        let answer = I256::unchecked_from(2_000_i64) * I256::unchecked_from(10_i64.pow(DECIMALS.into()));
        Ok(latestRoundDataReturn { roundId: round, answer, startedAt: now, updatedAt: now, answeredInRound: round })
    }
}
