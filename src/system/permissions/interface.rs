//! The permissions contract's Solidity interface.
#![allow(missing_docs)] // The macro below makes types whose fields are the Solidity parameters.

alloy_sol_types::sol! {
    /// Who may send transactions and who may deploy contracts on a chain.
    ///
    /// Changes take effect for the next transaction. The administrator, who is the owner, may always send.
    #[sol(abi, extra_derives(Debug, PartialEq, Eq))]
    contract Permissions {
        /// An account and the lists that it is on.
        struct Entry {
            address account;
            bool isAccount;
            bool isDeployer;
        }

        /// The lists that an account is on, and what it may do: where a list is off, everybody may.
        struct PermissionsInfo {
            bool isAccount;
            bool isDeployer;
            bool maySend;
            bool mayDeploy;
        }

        constructor(address administrator, bool accountListOn, bool deployerListOn, Entry[] entries);

        /// The lists that the account is on from now on; neither, where it was removed.
        event PermissionsChanged(address indexed account, bool isAccount, bool isDeployer);
        /// Only listed accounts may send from now on, or everybody.
        event AccountListSwitched(bool isOn);
        /// Only listed accounts may deploy from now on, or everybody.
        event DeployerListSwitched(bool isOn);
        event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
        event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

        /// The caller is not the administrator.
        error OwnableUnauthorizedAccount(address account);
        /// The administrator can't be the zero address.
        error OwnableInvalidOwner(address owner);
        /// More entries than one call may set: split them.
        error TooManyEntries(uint256 count, uint256 maximum);
        /// A creation by a contract was refused: the signer of the transaction may not deploy. Creations revert with it, no function does.
        error DeployerNotAllowed(address origin);

        /// Sets the lists that an account is on; for the administrator.
        function setPermissions(address account, bool isAccount, bool isDeployer) external;
        /// Sets the lists that up to 256 accounts are on, in order; for the administrator.
        function setPermissionsOfMany(Entry[] entries) external;
        /// Switches the list of accounts: on, only those on it may send transactions; for the administrator.
        function switchAccountList(bool isOn) external;
        /// Switches the list of deployers: on, only those on it may deploy contracts; for the administrator.
        function switchDeployerList(bool isOn) external;

        /// Returns the lists that an account is on, and what it may do.
        function permissionsOf(address account) external view returns (PermissionsInfo memory);
        /// Returns whether only listed accounts may send.
        function accountListOn() external view returns (bool);
        /// Returns whether only listed accounts may deploy.
        function deployerListOn() external view returns (bool);
        /// Returns the number of accounts that are on a list.
        function entryCount() external view returns (uint256);
        /// Returns entries from an index on, up to 100. A removal moves the last entry into the gap.
        function entries(uint256 from, uint256 count) external view returns (Entry[] memory);

        /// Returns the administrator.
        function owner() external view returns (address);
        /// Returns who may become the administrator by `acceptOwnership`; zero for nobody.
        function pendingOwner() external view returns (address);
        /// Offers the administration to another account or contract; zero withdraws the offer.
        function transferOwnership(address newOwner) external;
        /// Takes the administration over; for the pending owner, who must be allowed to send.
        function acceptOwnership() external;
    }
}

pub use Permissions::*;
