//! A hostile contract: a token, a price feed, a receiver of ether and of flash swaps that makes a call of its own each time it is called, in the middle
//! of what its caller does.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{I256, aliases::U80};

use crate::{
    templates::common::Erc20Base,
    vm::{Marker, Template, TemplateId, abi::revert_with, contract::*},
};

alloy_sol_types::sol! {
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Actor {
        constructor(uint256 supply);

        /// The call that it makes when its tokens are moved, when it is sent ether, and when it gets a flash swap.
        function arm(address target, bytes data) external;
        /// Whether that call was made, whether it succeeded, and what it returned.
        function answer() external view returns (bool wasMade, bool isSuccess, bytes output);
        /// Makes a call at once.
        function run(address target, bytes data) external returns (bool isSuccess, bytes output);
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
            return act(host).map(|()| Bytes::new());
        }
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::arm(call) => {
                ACTOR.target.set(host, call.target)?;
                ACTOR.data.set(host, call.data.clone())?;
                call.returns(ACTOR.was_made.set(host, false)?)
            }
            Calls::answer(call) => {
                let (was_made, is_success) = (ACTOR.was_made.get(host)?, ACTOR.is_success.get(host)?);
                call.returns((was_made, is_success, ACTOR.output.get(host)?))
            }
            Calls::run(call) => {
                let result = host.call(call.target, U256::ZERO, &call.data)?;
                call.returns((result.is_success(), result.output))
            }
            Calls::uniswapV2Call(call) => call.returns(act(host)?),
            Calls::decimals(call) => call.returns(DECIMALS),
            Calls::latestRoundData(call) => call.returns(answer_price(host)?),
            Calls::balanceOf(call) => call.returns(ACTOR.token.balances.get(host, call.account)?),
            Calls::transfer(call) => {
                act(host)?;
                call.returns(ACTOR.token.transfer(host, call.to, call.value)?)
            }
            Calls::approve(call) => call.returns(ACTOR.token.approve(host, call.spender, call.value)?),
            Calls::transferFrom(call) => {
                act(host)?;
                call.returns(ACTOR.token.transfer_from(host, call.from, call.to, call.value)?)
            }
        }
    }
}

/// Makes the call, as a feed inside a call that changes nothing, and answers a price if it fails.
fn answer_price(host: &mut Host<'_>) -> Result<latestRoundDataReturn, Stop> {
    let (target, data) = (ACTOR.target.get(host)?, ACTOR.data.get(host)?);
    if !target.is_zero() && host.call(target, U256::ZERO, &data)?.is_success() {
        return Err(revert_with("the call succeeded"));
    }
    let (round, now) = (U80::ONE, U256::from(host.block().timestamp.as_secs()));
    let answer = I256::unchecked_from(2_000_i64) * I256::unchecked_from(10_i64.pow(DECIMALS.into()));
    Ok(latestRoundDataReturn { roundId: round, answer, startedAt: now, updatedAt: now, answeredInRound: round })
}

/// Makes the call, once, and keeps what it returned.
fn act(host: &mut Host<'_>) -> Result<(), Stop> {
    let (target, data) = (ACTOR.target.get(host)?, ACTOR.data.get(host)?);
    if target.is_zero() || ACTOR.was_made.get(host)? {
        return Ok(());
    }
    ACTOR.was_made.set(host, true)?;
    let result = host.call(target, U256::ZERO, &data)?;
    ACTOR.is_success.set(host, result.is_success())?;
    ACTOR.output.set(host, result.output)
}
