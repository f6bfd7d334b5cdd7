// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {ERC2771Context} from "@openzeppelin/contracts/metatx/ERC2771Context.sol";

/// A contract that trusts a forwarder and tells who called it. What it is asked to do may fail in several ways.
contract RelayTarget is ERC2771Context {
    error Refused(address sender);
    event Told(address sender, address direct, uint256 value, bytes data);

    constructor(address forwarder) ERC2771Context(forwarder) {}

    /// Says who calls, for whom, with how much ether and what data.
    function tell() external payable returns (address) {
        emit Told(_msgSender(), msg.sender, msg.value, _msgData());
        return _msgSender();
    }

    function refuse() external payable {
        revert Refused(_msgSender());
    }

    /// Calls another contract; whoever was relayed to this one is not the caller of that.
    function pass(address to, bytes calldata data) external payable {
        emit Told(_msgSender(), msg.sender, msg.value, data);
        (bool success, bytes memory answer) = to.call(data);
        if (!success) {
            assembly {
                revert(add(answer, 0x20), mload(answer))
            }
        }
    }
}
