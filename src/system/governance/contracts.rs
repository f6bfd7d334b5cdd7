//! What governance calls of the contract of the validators, which may be beside it on a chain without stake.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// The validators of a chain without stake. A weight of 0 removes one. Weights are those at the end of a past block.
    interface ValidatorsContract {
        function setValidator(address validator, uint64 weight) external;
        function weightAt(address validator, uint64 height) external view returns (uint128);
        function totalWeightAt(uint64 height) external view returns (uint128);
    }
}
