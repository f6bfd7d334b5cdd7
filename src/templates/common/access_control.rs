//! OpenZeppelin's `AccessControl`: roles, each with another role that grants and revokes it.

use self::interface::{
    AccessControlBadConfirmation, AccessControlUnauthorizedAccount, RoleAdminChanged, RoleGranted, RoleRevoked,
};
use super::erc165;
use crate::vm::contract::*;

/// Functions, events and errors.
#[allow(missing_docs)] // The macro makes types whose fields are the Solidity parameters.
pub mod interface {
    alloy_sol_types::sol! {
        #![sol(extra_derives(Debug, PartialEq, Eq))]
        /// The account has not the role that the function needs.
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        /// Who renounces a role confirms it by its own address.
        error AccessControlBadConfirmation();
        /// Another role grants and revokes the role from now on.
        event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
        /// An account has the role.
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        /// An account has no longer the role.
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

        /// The functions, whose selectors are the interface's id.
        interface IAccessControl {
            function hasRole(bytes32 role, address account) external view returns (bool);
            function getRoleAdmin(bytes32 role) external view returns (bytes32);
            function grantRole(bytes32 role, address account) external;
            function revokeRole(bytes32 role, address account) external;
            function renounceRole(bytes32 role, address callerConfirmation) external;
        }
    }
}

/// The role that administers every role whose administrators nobody changed, itself too.
pub const DEFAULT_ADMIN_ROLE: B256 = B256::ZERO;

/// ERC-165 id of `IAccessControl`.
pub const INTERFACE_ID: [u8; 4] = {
    use interface::IAccessControl::*;
    erc165::interface_id(&[
        hasRoleCall::SELECTOR,
        getRoleAdminCall::SELECTOR,
        grantRoleCall::SELECTOR,
        revokeRoleCall::SELECTOR,
        renounceRoleCall::SELECTOR,
    ])
};

storage! {
    /// A role.
    pub struct RoleData {
        /// Whether an account has it.
        pub has_role: Mapping<Address, bool>,
        /// The role that administers it.
        pub admin_role: Slot<B256>,
    }
}

storage! {
    /// The roles.
    pub contract AccessControl {
        /// Roles by id, which is keccak of a name by convention.
        pub roles: Mapping<B256, RoleData>,
    }
}

impl AccessControl {
    /// Returns whether an account has a role (`hasRole`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn has_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<bool, Stop> {
        self.roles.at(host, role)?.has_role.get(host, account)
    }

    /// Returns the role that administers a role (`getRoleAdmin`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn get_role_admin(self, host: &mut Host<'_>, role: B256) -> Result<B256, Stop> {
        self.roles.at(host, role)?.admin_role.get(host)
    }

    /// Refuses callers without a role (`onlyRole`).
    ///
    /// # Errors
    /// [`AccessControlUnauthorizedAccount`]; [`Stop`].
    pub fn only_role(self, host: &mut Host<'_>, role: B256) -> Result<(), Stop> {
        let account = host.caller();
        self.check_role(host, role, account)
    }

    /// Refuses an account without a role (`_checkRole`).
    ///
    /// # Errors
    /// [`AccessControlUnauthorizedAccount`]; [`Stop`].
    pub fn check_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<(), Stop> {
        let has_role = self.has_role(host, role, account)?;
        require(has_role, AccessControlUnauthorizedAccount { account, neededRole: role })
    }

    /// Grants a role, for an administrator of it (`grantRole`).
    ///
    /// # Errors
    /// [`AccessControlUnauthorizedAccount`]; [`Stop`].
    pub fn grant_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<(), Stop> {
        let admin = self.get_role_admin(host, role)?;
        self.only_role(host, admin)?;
        self.give_role(host, role, account).map(drop)
    }

    /// Revokes a role, for an administrator of it (`revokeRole`).
    ///
    /// # Errors
    /// [`AccessControlUnauthorizedAccount`]; [`Stop`].
    pub fn revoke_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<(), Stop> {
        let admin = self.get_role_admin(host, role)?;
        self.only_role(host, admin)?;
        self.take_role(host, role, account).map(drop)
    }

    /// Gives a role up, for who has it (`renounceRole`).
    ///
    /// # Errors
    /// [`AccessControlBadConfirmation`] when `confirmation` is not the caller; [`Stop`].
    pub fn renounce_role(self, host: &mut Host<'_>, role: B256, confirmation: Address) -> Result<(), Stop> {
        require(confirmation == host.caller(), AccessControlBadConfirmation {})?;
        self.take_role(host, role, confirmation).map(drop)
    }

    /// Changes the role that administers a role, whoever calls (`_setRoleAdmin`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn set_role_admin(self, host: &mut Host<'_>, role: B256, new_admin: B256) -> Result<(), Stop> {
        let admin = self.roles.at(host, role)?.admin_role;
        let previous = admin.get(host)?;
        admin.set(host, new_admin)?;
        host.emit(&RoleAdminChanged { role, previousAdminRole: previous, newAdminRole: new_admin })
    }

    /// Gives an account a role, whoever calls, and returns whether it had it not (`_grantRole`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn give_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<bool, Stop> {
        if self.has_role(host, role, account)? {
            return Ok(false);
        }
        self.roles.at(host, role)?.has_role.set(host, account, true)?;
        let sender = host.caller();
        host.emit(&RoleGranted { role, account, sender })?;
        Ok(true)
    }

    /// Takes a role from an account, whoever calls, and returns whether it had it (`_revokeRole`).
    ///
    /// # Errors
    /// [`Stop`].
    pub fn take_role(self, host: &mut Host<'_>, role: B256, account: Address) -> Result<bool, Stop> {
        if !self.has_role(host, role, account)? {
            return Ok(false);
        }
        self.roles.at(host, role)?.has_role.set(host, account, false)?;
        let sender = host.caller();
        host.emit(&RoleRevoked { role, account, sender })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;
    use crate::vm::sandbox::Sandbox;

    const ROLES: AccessControl = AccessControl::STATE;
    const BOB: Address = Address::repeat_byte(0xbb);

    fn minter() -> B256 {
        keccak256("MINTER_ROLE")
    }

    /// A contract whose caller has the default administrator's role.
    fn sandbox() -> Sandbox {
        let mut sandbox = Sandbox::new();
        let admin = sandbox.caller;
        assert_eq!(sandbox.run(move |host| ROLES.give_role(host, DEFAULT_ADMIN_ROLE, admin)), Ok(true));
        sandbox
    }

    #[test]
    fn an_administrator_grants_and_revokes_and_the_holder_renounces() {
        let mut sandbox = sandbox();
        let admin = sandbox.caller;
        let (role, account, sender) = (minter(), BOB, admin);
        sandbox.run(move |host| ROLES.grant_role(host, role, BOB)).unwrap();
        assert_eq!(sandbox.logs()[0].data, RoleGranted { role, account, sender }.encode_log_data());
        sandbox.run(move |host| ROLES.grant_role(host, role, BOB)).unwrap();
        assert!(sandbox.logs().is_empty(), "it has the role already");
        assert_eq!(sandbox.run(move |host| ROLES.has_role(host, role, BOB)), Ok(true));
        sandbox.run(move |host| ROLES.revoke_role(host, role, BOB)).unwrap();
        assert_eq!(sandbox.logs()[0].data, RoleRevoked { role, account, sender }.encode_log_data());
        sandbox.run(move |host| ROLES.grant_role(host, role, BOB)).unwrap();
        let bad = revert(&AccessControlBadConfirmation {});
        assert_eq!(sandbox.run(move |host| ROLES.renounce_role(host, role, BOB)), Err(bad));
        sandbox.caller = BOB;
        sandbox.run(move |host| ROLES.renounce_role(host, role, BOB)).unwrap();
        let sender = BOB;
        assert_eq!(sandbox.logs()[0].data, RoleRevoked { role, account, sender }.encode_log_data());
        let refused = AccessControlUnauthorizedAccount { account: BOB, neededRole: DEFAULT_ADMIN_ROLE };
        assert_eq!(sandbox.run(move |host| ROLES.grant_role(host, role, BOB)), Err(revert(&refused)));
        assert_eq!(sandbox.run(move |host| ROLES.revoke_role(host, role, admin)), Err(revert(&refused)));
    }

    #[test]
    fn another_role_administers_a_role() {
        let mut sandbox = sandbox();
        let (role, other) = (minter(), keccak256("OTHER_ROLE"));
        sandbox.run(move |host| ROLES.set_role_admin(host, role, other)).unwrap();
        let event = RoleAdminChanged { role, previousAdminRole: DEFAULT_ADMIN_ROLE, newAdminRole: other };
        assert_eq!(sandbox.logs()[0].data, event.encode_log_data());
        assert_eq!(sandbox.run(move |host| ROLES.get_role_admin(host, role)), Ok(other));
        let refused = AccessControlUnauthorizedAccount { account: sandbox.caller, neededRole: other };
        assert_eq!(sandbox.run(move |host| ROLES.grant_role(host, role, BOB)), Err(revert(&refused)));
        let admin = sandbox.caller;
        sandbox.run(move |host| ROLES.grant_role(host, other, admin)).unwrap();
        sandbox.run(move |host| ROLES.grant_role(host, role, BOB)).unwrap();
        assert_eq!(sandbox.run(move |host| ROLES.only_role(host, other)), Ok(()));
    }

    #[test]
    fn ids_and_slots_are_openzeppelins() {
        assert_eq!(INTERFACE_ID, [0x79, 0x65, 0xdb, 0x0b]);
        assert_eq!(AccessControlUnauthorizedAccount::SELECTOR, [0xe2, 0x51, 0x7d, 0x3f]);
        assert_eq!(AccessControlBadConfirmation::SELECTOR, [0x66, 0x97, 0xb2, 0x32]);
        let layout = StorageLayout::of::<AccessControl>();
        assert_eq!(layout.storage[0].label, "_roles");
        assert_eq!(layout.types["t_struct(RoleData)_storage"].number_of_bytes, "64");
    }
}
