// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// OpenZeppelin's ERC-4626 with its one setting, the decimals by which a share is finer than the asset. The wizard prints no vault.
contract Vault is ERC4626 {
    uint8 private immutable _offset;

    constructor(IERC20 asset_, string memory name_, string memory symbol_, uint8 offset)
        ERC20(name_, symbol_)
        ERC4626(asset_)
    {
        _offset = offset;
    }

    function _decimalsOffset() internal view override returns (uint8) {
        return _offset;
    }
}
