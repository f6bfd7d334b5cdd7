//! The contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

use alloy_sol_types::sol;

sol! {
    /// Operations of one signer, all or none.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Batch {
        /// An operation: a call of `target`, or a creation with init code `data` where `target` is zero.
        struct Operation {
            address target;
            uint256 value;
            bytes data;
        }

        /// The caller is not the signer of the transaction, who alone may run operations in its own name.
        error OnlySigner(address caller);
        /// An operation failed, with this revert data, which is empty after a halt.
        error OperationFailed(uint256 index, bytes reason);
        /// An operation without target, which creates a contract, has no init code.
        error NoInitCode(uint256 index);

        /// Runs operations one after another with the signer as their caller, and returns what each returned: for a creation, the
        /// address as a word.
        function execute(Operation[] operations) external returns (bytes[] results);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
    }
}
