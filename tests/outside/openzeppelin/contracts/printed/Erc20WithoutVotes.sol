// SPDX-License-Identifier: MIT
// Compatible with OpenZeppelin Contracts ^5.7.0
pragma solidity ^0.8.27;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";
import {ERC20Capped} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Capped.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

contract Erc20WithoutVotes is ERC20, ERC20Burnable, ERC20Pausable, AccessControl, ERC20Permit, ERC20Capped {
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");

    struct Features {
        bool mintable;
        bool burnable;
        bool pausable;
        bool votes;
        bool flashMint;
    }

    struct VestingAllocation {
        address beneficiary;
        uint256 amount;
        uint64 start;
        uint64 duration;
        uint64 cliff;
        bool revocable;
    }

    uint8 private immutable _unit;

    constructor(
        string memory name_,
        string memory symbol_,
        uint8 unit,
        uint256 premint,
        uint256 cap_,
        address initialOwner,
        Features memory,
        VestingAllocation[] memory
    )
        ERC20(name_, symbol_)
        ERC20Permit(name_)
        ERC20Capped(cap_)
    {
        _unit = unit;
        if (premint > 0) _mint(initialOwner, premint);
        _grantRole(DEFAULT_ADMIN_ROLE, initialOwner);
        _grantRole(PAUSER_ROLE, initialOwner);
        _grantRole(MINTER_ROLE, initialOwner);
    }

    function decimals() public view override returns (uint8) {
        return _unit;
    }

    function pause() public onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() public onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    function mint(address to, uint256 amount) public onlyRole(MINTER_ROLE) {
        _mint(to, amount);
    }

    // The following functions are overrides required by Solidity.

    function _update(address from, address to, uint256 value)
        internal
        override(ERC20, ERC20Pausable, ERC20Capped)
    {
        super._update(from, to, value);
    }
}
