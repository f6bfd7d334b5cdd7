//! The feed's Solidity interface: functions and events as Chainlink's AggregatorV2V3Interface and MockV3Aggregator have them, and the owner.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Answers the price of something in something else, round by round.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract PriceFeed {
        constructor(uint8 decimals, string description, int256 answer, address owner);

        event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);
        event NewRound(uint256 indexed roundId, address indexed startedBy, uint256 startedAt);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);

        function decimals() external view returns (uint8);
        function description() external view returns (string memory);
        function version() external view returns (uint256);
        function getRoundData(uint80 _roundId) external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
        function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
        function latestAnswer() external view returns (int256);
        function latestTimestamp() external view returns (uint256);
        function latestRound() external view returns (uint256);
        function getAnswer(uint256 roundId) external view returns (int256);
        function getTimestamp(uint256 roundId) external view returns (uint256);
        function updateAnswer(int256 _answer) external;
        function updateRoundData(uint80 _roundId, int256 _answer, uint256 _timestamp, uint256 _startedAt) external;
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use PriceFeed::*;
