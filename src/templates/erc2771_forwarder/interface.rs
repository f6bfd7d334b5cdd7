//! The forwarder's Solidity interface, as OpenZeppelin 5.7 has it.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Calls contracts that trust it in the name of accounts that signed what they are called with.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract ERC2771Forwarder {
        constructor(string name);

        struct ForwardRequestData {
            address from;
            address to;
            uint256 value;
            uint256 gas;
            uint48 deadline;
            bytes data;
            bytes signature;
        }

        event ExecutedForwardRequest(address indexed signer, uint256 nonce, bool success);
        event EIP712DomainChanged();

        error ERC2771ForwarderNoRefundReceiver();
        error ERC2771ForwarderInvalidSigner(address signer, address from);
        error ERC2771ForwarderMismatchedValue(uint256 requestedValue, uint256 msgValue);
        error ERC2771ForwarderExpiredRequest(uint48 deadline);
        error ERC2771UntrustfulTarget(address target, address forwarder);
        error FailedCall();
        error InsufficientBalance(uint256 balance, uint256 needed);
        error InvalidAccountNonce(address account, uint256 currentNonce);
        error StringTooLong(string str);
        error InvalidShortString();

        function verify(ForwardRequestData calldata request) external view returns (bool);
        function execute(ForwardRequestData calldata request) external payable;
        function executeBatch(ForwardRequestData[] calldata requests, address payable refundReceiver) external payable;
        function nonces(address owner) external view returns (uint256);
        function eip712Domain() external view returns (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] memory extensions);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}

pub use ERC2771Forwarder::*;
