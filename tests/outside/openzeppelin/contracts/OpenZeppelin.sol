// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

// Contracts that are deployed as OpenZeppelin has them.
import {VestingWallet} from "@openzeppelin/contracts/finance/VestingWallet.sol";
import {TimelockController} from "@openzeppelin/contracts/governance/TimelockController.sol";
import {ERC2771Forwarder} from "@openzeppelin/contracts/metatx/ERC2771Forwarder.sol";
