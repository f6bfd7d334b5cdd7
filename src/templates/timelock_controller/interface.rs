//! The timelock's Solidity interface, as OpenZeppelin 5.7 has it.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Executes what its proposers schedule, and not before a delay is over.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract TimelockController {
        /// What becomes of an operation.
        enum OperationState { Unset, Waiting, Ready, Done }

        constructor(uint256 minDelay, address[] proposers, address[] executors, address admin);

        event CallScheduled(bytes32 indexed id, uint256 indexed index, address target, uint256 value, bytes data, bytes32 predecessor, uint256 delay);
        event CallExecuted(bytes32 indexed id, uint256 indexed index, address target, uint256 value, bytes data);
        event CallSalt(bytes32 indexed id, bytes32 salt);
        event Cancelled(bytes32 indexed id);
        event MinDelayChange(uint256 oldDuration, uint256 newDuration);
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

        error TimelockInvalidOperationLength(uint256 targets, uint256 payloads, uint256 values);
        error TimelockInsufficientDelay(uint256 delay, uint256 minDelay);
        error TimelockUnexpectedOperationState(bytes32 operationId, bytes32 expectedStates);
        error TimelockUnexecutedPredecessor(bytes32 predecessorId);
        error TimelockUnauthorizedCaller(address caller);
        error FailedCall();
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error AccessControlBadConfirmation();

        receive() external payable;
        function PROPOSER_ROLE() external view returns (bytes32);
        function EXECUTOR_ROLE() external view returns (bytes32);
        function CANCELLER_ROLE() external view returns (bytes32);
        function isOperation(bytes32 id) external view returns (bool);
        function isOperationPending(bytes32 id) external view returns (bool);
        function isOperationReady(bytes32 id) external view returns (bool);
        function isOperationDone(bytes32 id) external view returns (bool);
        function getTimestamp(bytes32 id) external view returns (uint256);
        function getOperationState(bytes32 id) external view returns (OperationState);
        function getMinDelay() external view returns (uint256);
        function hashOperation(address target, uint256 value, bytes calldata data, bytes32 predecessor, bytes32 salt) external pure returns (bytes32);
        function hashOperationBatch(address[] calldata targets, uint256[] calldata values, bytes[] calldata payloads, bytes32 predecessor, bytes32 salt) external pure returns (bytes32);
        function schedule(address target, uint256 value, bytes calldata data, bytes32 predecessor, bytes32 salt, uint256 delay) external;
        function scheduleBatch(address[] calldata targets, uint256[] calldata values, bytes[] calldata payloads, bytes32 predecessor, bytes32 salt, uint256 delay) external;
        function cancel(bytes32 id) external;
        function execute(address target, uint256 value, bytes calldata payload, bytes32 predecessor, bytes32 salt) external payable;
        function executeBatch(address[] calldata targets, uint256[] calldata values, bytes[] calldata payloads, bytes32 predecessor, bytes32 salt) external payable;
        function updateDelay(uint256 newDelay) external;
        function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function getRoleAdmin(bytes32 role) external view returns (bytes32);
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function renounceRole(bytes32 role, address callerConfirmation) external;
        function onERC721Received(address operator, address from, uint256 tokenId, bytes memory data) external returns (bytes4);
        function onERC1155Received(address operator, address from, uint256 id, uint256 value, bytes memory data) external returns (bytes4);
        function onERC1155BatchReceived(address operator, address from, uint256[] memory ids, uint256[] memory values, bytes memory data) external returns (bytes4);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use TimelockController::*;
