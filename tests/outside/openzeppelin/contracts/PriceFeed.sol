// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// Chainlink's MockV3Aggregator as published in version 0.4.0 of Chainlink's npm package (v0.7/tests), but for: its version of Solidity, functions that an heir can
/// override, the events of AggregatorInterface, and no description.
abstract contract MockV3Aggregator {
    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);
    event NewRound(uint256 indexed roundId, address indexed startedBy, uint256 startedAt);

    uint256 public constant version = 0;

    uint8 public decimals;
    int256 public latestAnswer;
    uint256 public latestTimestamp;
    uint256 public latestRound;

    mapping(uint256 roundId => int256) public getAnswer;
    mapping(uint256 roundId => uint256) public getTimestamp;
    mapping(uint256 roundId => uint256) private getStartedAt;

    constructor(uint8 _decimals, int256 _initialAnswer) {
        decimals = _decimals;
        _updateAnswer(_initialAnswer);
    }

    function updateAnswer(int256 _answer) public virtual {
        _updateAnswer(_answer);
    }

    function _updateAnswer(int256 _answer) private {
        latestAnswer = _answer;
        latestTimestamp = block.timestamp;
        latestRound++;
        getAnswer[latestRound] = _answer;
        getTimestamp[latestRound] = block.timestamp;
        getStartedAt[latestRound] = block.timestamp;
        _emitRound();
    }

    function updateRoundData(uint80 _roundId, int256 _answer, uint256 _timestamp, uint256 _startedAt) public virtual {
        latestRound = _roundId;
        latestAnswer = _answer;
        latestTimestamp = _timestamp;
        getAnswer[latestRound] = _answer;
        getTimestamp[latestRound] = _timestamp;
        getStartedAt[latestRound] = _startedAt;
        _emitRound();
    }

    function getRoundData(uint80 _roundId)
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        return (_roundId, getAnswer[_roundId], getStartedAt[_roundId], getTimestamp[_roundId], _roundId);
    }

    function latestRoundData()
        external
        view
        returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)
    {
        return (
            uint80(latestRound),
            getAnswer[latestRound],
            getStartedAt[latestRound],
            getTimestamp[latestRound],
            uint80(latestRound)
        );
    }

    function _emitRound() private {
        emit NewRound(latestRound, msg.sender, getStartedAt[latestRound]);
        emit AnswerUpdated(latestAnswer, latestRound, latestTimestamp);
    }
}

/// The mock with a description, whose owner alone sets answers.
contract PriceFeed is MockV3Aggregator, Ownable {
    string public description;

    constructor(uint8 decimals_, string memory description_, int256 answer, address owner_)
        MockV3Aggregator(decimals_, answer)
        Ownable(owner_)
    {
        description = description_;
    }

    function updateAnswer(int256 _answer) public override onlyOwner {
        super.updateAnswer(_answer);
    }

    function updateRoundData(uint80 _roundId, int256 _answer, uint256 _timestamp, uint256 _startedAt)
        public
        override
        onlyOwner
    {
        super.updateRoundData(_roundId, _answer, _timestamp, _startedAt);
    }
}
