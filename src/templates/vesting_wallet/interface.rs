//! The wallet's Solidity interface: functions, events and errors as OpenZeppelin 5 has them, and those of the revocation.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Holds ether, ERC-20 and ERC-1155 tokens for a beneficiary, its owner, to whom it releases them over time.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract VestingWallet {
        constructor(address beneficiary, uint64 start, uint64 duration, uint64 cliff, bool revocable, address revoker) payable;

        event EtherReleased(uint256 amount);
        event ERC20Released(address indexed token, uint256 amount);
        /// Tokens of an id went to the owner.
        event ERC1155Released(address indexed token, uint256 indexed id, uint256 amount);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
        /// Ether that had not vested went back to the revoker.
        event EtherRevoked(uint256 amount);
        /// Tokens that had not vested went back to the revoker.
        event ERC20Revoked(address indexed token, uint256 amount);
        /// Tokens of an id that had not vested went back to the revoker.
        event ERC1155Revoked(address indexed token, uint256 indexed id, uint256 amount);

        error InvalidCliffDuration(uint64 cliffSeconds, uint64 durationSeconds);
        error InsufficientBalance(uint256 balance, uint256 needed);
        error FailedCall();
        error SafeERC20FailedOperation(address token);
        error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value);
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);
        /// The revoker is no valid account, such as the zero address.
        error VestingInvalidRevoker(address revoker);
        /// The caller is not the revoker.
        error VestingUnauthorizedRevoker(address account);
        /// The token was revoked before; the zero address stands for ether.
        error VestingAlreadyRevoked(address token);

        receive() external payable;
        function start() external view returns (uint256);
        function duration() external view returns (uint256);
        function end() external view returns (uint256);
        function cliff() external view returns (uint256);
        function released() external view returns (uint256);
        function released(address token) external view returns (uint256);
        function released(address token, uint256 id) external view returns (uint256);
        function releasable() external view returns (uint256);
        function releasable(address token) external view returns (uint256);
        function releasable(address token, uint256 id) external view returns (uint256);
        function vestedAmount(uint64 timestamp) external view returns (uint256);
        function vestedAmount(address token, uint64 timestamp) external view returns (uint256);
        function vestedAmount(address token, uint256 id, uint64 timestamp) external view returns (uint256);
        function release() external;
        function release(address token) external;
        function release(address token, uint256 id) external;
        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function renounceOwnership() external;
        function revocable() external view returns (bool);
        function revoker() external view returns (address);
        function revoked() external view returns (bool);
        function revoked(address token) external view returns (bool);
        function revoked(address token, uint256 id) external view returns (bool);
        function revoke() external;
        function revoke(address token) external;
        function revoke(address token, uint256 id) external;
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes memory data) external returns (bytes4);
        function onERC1155BatchReceived(address operator, address from, uint256[] memory ids, uint256[] memory values, bytes memory data) external returns (bytes4);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use VestingWallet::*;
