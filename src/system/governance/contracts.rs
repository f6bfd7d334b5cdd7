//! What governance calls of the other system contracts that may be beside it.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// The validators of a chain without stake. A weight of 0 removes one. Weights are those at the end of a past block.
    interface ValidatorsContract {
        function setValidator(address validator, uint64 weight) external;
        function weightAt(address validator, uint64 height) external view returns (uint128);
        function totalWeightAt(uint64 height) external view returns (uint128);
    }

    /// The modules of a chain.
    interface ModuleRegistry {
        function enable(string name, uint32 version, bytes32 configHash) external;
        function disable(string name) external;
    }
}
