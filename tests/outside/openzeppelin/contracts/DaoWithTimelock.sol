// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {IVotes} from "@openzeppelin/contracts/governance/utils/IVotes.sol";
import {Dao} from "./printed/Dao.sol";

/// The wizard's governor with a timelock that it creates itself: the governor proposes and cancels, anybody executes.
contract DaoWithTimelock is Dao {
    constructor(
        string memory name_,
        IVotes token_,
        uint48 votingDelay_,
        uint32 votingPeriod_,
        uint256 proposalThreshold_,
        uint256 quorumNumerator_,
        uint256 timelockDelay
    ) Dao(name_, token_, ownTimelock(timelockDelay), votingDelay_, votingPeriod_, proposalThreshold_, quorumNumerator_) {}

    function ownTimelock(uint256 delay) private returns (TimelockController) {
        address[] memory proposers = new address[](1);
        address[] memory executors = new address[](1);
        proposers[0] = address(this);
        return new TimelockController(delay, proposers, executors, address(0));
    }
}
