//! `price-feed`: a Chainlink price feed for tests, whose owner sets the answers: AggregatorV3Interface with the functions of
//! AggregatorV2V3Interface, as Chainlink's MockV3Aggregator has them.
//!
//! `updateAnswer` starts the next round now, and `updateRoundData` writes any round and makes it the latest, also one of the past or with the
//! timestamps of another time: so a test makes a price stale. As in the mock, `version` is 0 and a round without data is all zeros, where
//! Chainlink's own feeds revert with `No data present`.
//!
//! What is otherwise than in the mock: only the owner sets answers, `description` is a parameter, and each answer emits `NewRound` and
//! `AnswerUpdated` as a feed of Chainlink's does. It answers ERC-165.
//!
//! The storage layout is solc's for the mock, followed by the owner and the description:
//!
//! | slot | what |
//! |---|---|
//! | 0 | decimals of the answers |
//! | 1 | the latest answer |
//! | 2 | its timestamp |
//! | 3 | its round |
//! | 4, 5, 6 | `mapping(uint256 => ...)` from rounds to answers, timestamps, and moments of the start |
//! | 7 | owner |
//! | 8 | description |

mod feed;
pub mod interface;
#[cfg(test)]
mod tests;

use alloy_json_abi::JsonAbi;
use alloy_primitives::I256;

use self::{
    feed::FEED,
    interface::PriceFeed::{self as sol, PriceFeedCalls as Calls},
};
use super::common::erc165::{interface_id, supports};
use crate::vm::{Marker, ParameterNote, Template, TemplateId, contract::*};

/// Decimals of Chainlink's feeds of prices in US dollars.
const DEFAULT_DECIMALS: u8 = 8;

/// Constructor parameters of the template.
///
/// Encoded as Solidity's `(uint8 decimals, string description, int256 answer, address owner)`.
///
/// ```
/// use chainbox::{primitives::Address, templates::PriceFeedParams};
/// // 2,000 dollars.
/// let params = PriceFeedParams::new("ETH / USD", 2_000 * 100_000_000, Address::repeat_byte(1));
/// assert_eq!(params.init_code()[..6], [0xef, 0xcb, 0, 18, 0, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceFeedParams {
    /// Decimals of the answers.
    pub decimals: u8,
    /// What the answers are, such as `ETH / USD`.
    pub description: String,
    /// First answer, in the smallest unit that the decimals tell.
    pub answer: I256,
    /// Account that sets the answers.
    pub owner: Address,
}

impl PriceFeedParams {
    /// Creates parameters of a feed with 8 decimals.
    pub fn new(description: &str, answer: i64, owner: Address) -> Self {
        let answer = I256::unchecked_from(answer);
        Self { decimals: DEFAULT_DECIMALS, description: description.to_owned(), answer, owner }
    }

    /// Returns the ABI encoding of the parameters.
    pub fn encode(&self) -> Vec<u8> {
        let Self { decimals, description, answer, owner } = self.clone();
        sol::constructorCall { decimals, description, answer, owner }.abi_encode()
    }

    /// Returns the input of a creation transaction: the template's marker and the encoded parameters.
    pub fn init_code(&self) -> Bytes {
        Marker(PriceFeed::ID).init_code(&self.encode())
    }
}

/// The template `price-feed`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct PriceFeed;

impl PriceFeed {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(18, 1);
    /// Name of the template.
    pub const NAME: &'static str = "price-feed";
}

impl Template for PriceFeed {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Chainlink price feed that its owner sets"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn parameters(&self) -> Vec<ParameterNote> {
        vec![
            ParameterNote::of("decimals", "Decimals of the answers.").with_default(DEFAULT_DECIMALS),
            ParameterNote::of("description", "What the answers are, such as ETH / USD.").with_default(""),
            ParameterNote::of("answer", "First answer, such as 200000000000 for a price of 2000 with 8 decimals."),
            ParameterNote::of("owner", "Account that sets the answers.").with_default_deployer(),
        ]
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<feed::FeedStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("price_feed/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let params = host.decode_constructor(params)?;
        feed::construct(host, params)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call::<Calls>(input, NONE_PAYABLE)? {
            Calls::decimals(call) => call.returns(FEED.decimals.get(host)?),
            Calls::description(call) => call.returns(FEED.description.get(host)?),
            Calls::version(call) => call.returns(feed::VERSION),
            Calls::getRoundData(call) => call.returns(feed::round_data(host, call._roundId)?),
            Calls::latestRoundData(call) => call.returns(feed::latest_round_data(host)?),
            Calls::latestAnswer(call) => call.returns(FEED.latest_answer.get(host)?),
            Calls::latestTimestamp(call) => call.returns(FEED.latest_timestamp.get(host)?),
            Calls::latestRound(call) => call.returns(FEED.latest_round.get(host)?),
            Calls::getAnswer(call) => call.returns(FEED.answers.get(host, call.roundId)?),
            Calls::getTimestamp(call) => call.returns(FEED.timestamps.get(host, call.roundId)?),
            Calls::updateAnswer(call) => call.returns(feed::update_answer(host, call._answer)?),
            Calls::updateRoundData(call) => call.returns(feed::update_round_data(host, &call)?),
            Calls::owner(call) => call.returns(FEED.ownable.owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(FEED.ownable.transfer_ownership(host, call.newOwner)?),
            Calls::renounceOwnership(call) => call.returns(FEED.ownable.renounce_ownership(host)?),
            Calls::supportsInterface(call) => call.returns(supports(call.interfaceId.0, &INTERFACES)),
        }
    }
}

/// AggregatorV3Interface.
const INTERFACES: [[u8; 4]; 1] = {
    use interface::*;
    let aggregator = [
        decimalsCall::SELECTOR,
        descriptionCall::SELECTOR,
        versionCall::SELECTOR,
        getRoundDataCall::SELECTOR,
        latestRoundDataCall::SELECTOR,
    ];
    [interface_id(&aggregator)]
};
