//! The wallet's Solidity interface: Gnosis' MultiSigWallet, and ERC-165.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Executes transactions that enough of its owners confirm.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Multisig {
        constructor(address[] owners, uint32 threshold);

        event Confirmation(address indexed sender, uint256 indexed transactionId);
        event Revocation(address indexed sender, uint256 indexed transactionId);
        event Submission(uint256 indexed transactionId);
        event Execution(uint256 indexed transactionId);
        event ExecutionFailure(uint256 indexed transactionId);
        event Deposit(address indexed sender, uint256 value);
        event OwnerAddition(address indexed owner);
        event OwnerRemoval(address indexed owner);
        event RequirementChange(uint256 required);

        fallback() external payable;
        function MAX_OWNER_COUNT() external view returns (uint256);
        function transactions(uint256) external view returns (address destination, uint256 value, bytes memory data, bool executed);
        function confirmations(uint256 transactionId, address owner) external view returns (bool);
        function isOwner(address owner) external view returns (bool);
        function owners(uint256 index) external view returns (address);
        function required() external view returns (uint256);
        function transactionCount() external view returns (uint256);
        function addOwner(address owner) external;
        function removeOwner(address owner) external;
        function replaceOwner(address owner, address newOwner) external;
        function changeRequirement(uint256 _required) external;
        function submitTransaction(address destination, uint256 value, bytes data) external returns (uint256 transactionId);
        function confirmTransaction(uint256 transactionId) external;
        function revokeConfirmation(uint256 transactionId) external;
        function executeTransaction(uint256 transactionId) external;
        function isConfirmed(uint256 transactionId) external view returns (bool);
        function getConfirmationCount(uint256 transactionId) external view returns (uint256 count);
        function getTransactionCount(bool pending, bool executed) external view returns (uint256 count);
        function getOwners() external view returns (address[] memory);
        function getConfirmations(uint256 transactionId) external view returns (address[] memory _confirmations);
        function getTransactionIds(uint256 from, uint256 to, bool pending, bool executed) external view returns (uint256[] memory _transactionIds);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use Multisig::*;
