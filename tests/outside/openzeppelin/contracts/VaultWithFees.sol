// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Vault} from "./Vault.sol";

/// A vault that takes a fee in assets at deposits and withdrawals, computed and paid as OpenZeppelin's guide to ERC-4626 describes:
/// rounded up, on top of the assets where these exclude it, out of them where they include it.
contract VaultWithFees is Vault {
    uint256 private constant WHOLE = 10_000;

    uint256 private immutable _entryFee;
    uint256 private immutable _exitFee;
    address private immutable _recipient;

    /// Fees in hundredths of a percent.
    constructor(
        IERC20 asset_,
        string memory name_,
        string memory symbol_,
        uint8 offset,
        uint256 entryFee,
        uint256 exitFee,
        address recipient
    ) Vault(asset_, name_, symbol_, offset) {
        _entryFee = entryFee;
        _exitFee = exitFee;
        _recipient = recipient;
    }

    function maxWithdraw(address owner) public view override returns (uint256) {
        return previewRedeem(maxRedeem(owner));
    }

    function previewDeposit(uint256 assets) public view override returns (uint256) {
        return super.previewDeposit(assets - feeIncluded(assets, _entryFee));
    }

    function previewMint(uint256 shares) public view override returns (uint256) {
        uint256 assets = super.previewMint(shares);
        return assets + feeOnTop(assets, _entryFee);
    }

    function previewWithdraw(uint256 assets) public view override returns (uint256) {
        return super.previewWithdraw(assets + feeOnTop(assets, _exitFee));
    }

    function previewRedeem(uint256 shares) public view override returns (uint256) {
        uint256 assets = super.previewRedeem(shares);
        return assets - feeIncluded(assets, _exitFee);
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        pay(feeIncluded(assets, _entryFee));
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        super._withdraw(caller, receiver, owner, assets, shares);
        pay(feeOnTop(assets, _exitFee));
    }

    function pay(uint256 fee) private {
        if (fee > 0 && _recipient != address(this)) SafeERC20.safeTransfer(IERC20(asset()), _recipient, fee);
    }

    function feeOnTop(uint256 assets, uint256 fee) private pure returns (uint256) {
        return Math.mulDiv(assets, fee, WHOLE, Math.Rounding.Ceil);
    }

    function feeIncluded(uint256 assets, uint256 fee) private pure returns (uint256) {
        return Math.mulDiv(assets, fee, fee + WHOLE, Math.Rounding.Ceil);
    }
}
