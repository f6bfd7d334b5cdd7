//! The module registry's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Which modules of the service are on, of which version and with which configuration.
    ///
    /// A name has 1 to 32 bytes: lowercase letters, digits and dashes. The owner is the authority.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Modules {
        /// A module that genesis enables.
        struct GenesisModule {
            string name;
            uint32 version;
            bytes32 configHash;
        }

        /// A module, and the height of the block that changed it last.
        struct ModuleInfo {
            string name;
            uint32 version;
            bytes32 configHash;
            bool enabled;
            uint64 since;
        }

        constructor(address authority, GenesisModule[] enabled);

        /// The module is on from now on, with this version and configuration.
        event ModuleEnabled(string name, uint32 version, bytes32 configHash);
        /// The module is off from now on.
        event ModuleDisabled(string name);
        event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// The caller is not the authority.
        error OwnableUnauthorizedAccount(address account);
        /// The authority can't be the zero address.
        error OwnableInvalidOwner(address owner);
        /// A name has 1 to 32 bytes: lowercase letters, digits and dashes.
        error InvalidModuleName(string name);
        /// The module was never enabled.
        error UnknownModule(string name);
        /// The registry has its largest number of modules: use one of their names.
        error TooManyModules(uint256 maximum);

        /// Enables a module, or changes its version or configuration; for the authority. What changes nothing has no event.
        function enable(string name, uint32 version, bytes32 configHash) external;
        /// Disables a module, which keeps its version and configuration; for the authority.
        function disable(string name) external;

        /// Returns a module that was enabled once.
        function module(string name) external view returns (ModuleInfo memory);
        /// Returns the number of modules, disabled ones too.
        function moduleCount() external view returns (uint256);
        /// Returns modules from an index on, up to 100, in the order in which they were enabled first.
        function modules(uint256 from, uint256 count) external view returns (ModuleInfo[] memory);

        /// Returns the authority.
        function owner() external view returns (address);
        /// Returns who may become the authority by `acceptOwnership`; zero for nobody.
        function pendingOwner() external view returns (address);
        /// Offers the authority to another account or contract; zero withdraws the offer.
        function transferOwnership(address newOwner) external;
        /// Takes the authority over; for the pending owner.
        function acceptOwnership() external;
    }
}

pub use Modules::*;
