// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {IERC1155} from "@openzeppelin/contracts/token/ERC1155/IERC1155.sol";

/// A contract that is sent tokens or lent them, or asked for a signature, and answers as it was told to at its creation.
contract Receiver {
    enum Answer {
        Accept,
        RevertWithReason,
        RevertWithError,
        RevertEmpty,
        Panic,
        WrongValue,
        NoValue,
        SendBack
    }

    error Refused(address operator);
    event Asked(address token, address operator, address from, uint256 id, uint256 amount, bytes data);

    Answer private answer;

    constructor(Answer answer_) payable {
        answer = answer_;
    }

    /// Native currency.
    receive() external payable {
        respond(0);
    }

    function onERC721Received(address operator, address from, uint256 id, bytes calldata data) external returns (bytes4) {
        emit Asked(msg.sender, operator, from, id, 1, data);
        if (answer == Answer.SendBack) IERC721(msg.sender).transferFrom(address(this), operator, id);
        return bytes4(respond(this.onERC721Received.selector));
    }

    function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes calldata data)
        external
        returns (bytes4)
    {
        emit Asked(msg.sender, operator, from, id, amount, data);
        if (answer == Answer.SendBack) IERC1155(msg.sender).safeTransferFrom(address(this), operator, id, amount, "");
        return bytes4(respond(this.onERC1155Received.selector));
    }

    function onERC1155BatchReceived(
        address operator,
        address from,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external returns (bytes4) {
        emit Asked(msg.sender, operator, from, ids.length, amounts.length, data);
        if (answer == Answer.SendBack) IERC1155(msg.sender).safeBatchTransferFrom(address(this), operator, ids, amounts, "");
        return bytes4(respond(this.onERC1155BatchReceived.selector));
    }

    /// A flash loan: one that accepts lets the lender take loan and fee; one that sends back gives the loan to the initiator, so that it
    /// can repay only what it had.
    function onFlashLoan(address initiator, address token, uint256 amount, uint256 fee, bytes calldata data)
        external
        returns (bytes32)
    {
        emit Asked(token, initiator, msg.sender, amount, fee, data);
        if (answer == Answer.SendBack) IERC20(token).transfer(initiator, amount);
        IERC20(token).approve(msg.sender, amount + fee);
        return respond(keccak256("ERC3156FlashBorrower.onFlashLoan"));
    }

    /// A signature (ERC-1271), which is right where the answer is.
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes32) {
        return respond(this.isValidSignature.selector);
    }

    function respond(bytes32 right) private view returns (bytes32) {
        if (answer == Answer.RevertWithReason) revert("refused");
        if (answer == Answer.RevertWithError) revert Refused(msg.sender);
        if (answer == Answer.RevertEmpty) revert();
        if (answer == Answer.Panic) assert(false);
        if (answer == Answer.WrongValue) return bytes32(bytes4(0xdeadbeef));
        if (answer == Answer.NoValue) {
            assembly {
                return(0, 0)
            }
        }
        return right;
    }
}
