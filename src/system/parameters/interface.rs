//! The contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Rules of the chain that its owner changes: block time, gas limit, base fee, bounds of validators and evidence.
    ///
    /// A change is scheduled first. The protocol takes it over at the next boundary of its own, and it is in force from that block on.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract ChainParameters {
        /// A parameter's new value.
        struct Change {
            uint8 parameter;
            uint256 value;
        }

        /// A parameter of the chain: the value in force, and the scheduled one, which is the same when none is.
        struct Info {
            uint8 parameter;
            string name;
            uint256 value;
            uint256 scheduled;
        }

        constructor(address owner, Change[] values);

        /// The protocol takes the value over at its next boundary.
        event ParameterScheduled(uint8 indexed parameter, uint256 value);
        /// The value is in force from this block on.
        event ParameterChanged(uint8 indexed parameter, uint256 oldValue, uint256 newValue);
        event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// Only a system call may use this function.
        error OnlySystem(address caller);
        /// There is no parameter with this number.
        error UnknownParameter(uint8 parameter);
        /// This chain does not have the parameter: block time where blocks are made on demand, base fee where it is off, stake where there is none.
        error ParameterUnavailable(uint8 parameter);
        /// The value is not one that the parameter may have.
        error ValueOutOfRange(uint8 parameter, uint256 value, uint256 least, uint256 most);
        /// The list has no change.
        error NoChanges();
        error OwnableUnauthorizedAccount(address account);
        error OwnableInvalidOwner(address owner);

        function schedule(Change[] changes) external;
        function activate(Change[] changes) external;

        function parameter(uint8 parameter) external view returns (Info memory);
        function parameters() external view returns (Info[] memory);

        function owner() external view returns (address);
        function transferOwnership(address newOwner) external;
        function pendingOwner() external view returns (address);
        function acceptOwnership() external;
    }
}

pub use ChainParameters::*;
