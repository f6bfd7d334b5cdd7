//! A deployed contract with its journal and accounts.

use core::ops::{Deref, DerefMut};

use alloy_primitives::address;

use super::super::{interface as sol, *};
use crate::system::lab::ContractLab;

pub(super) const ADMIN: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const ALICE: Address = address!("0000000000000000000000000000000000000b01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");
pub(super) const CAROL: Address = address!("0000000000000000000000000000000000000b03");

/// The section of a genesis with both lists off.
pub(super) fn open() -> PermissionsConfig {
    PermissionsConfig::new(ADMIN)
}

pub(super) fn set(account: Address, is_account: bool, is_deployer: bool) -> sol::setPermissionsCall {
    sol::setPermissionsCall { account, isAccount: is_account, isDeployer: is_deployer }
}

/// The contract.
pub(super) struct Lab(pub(super) ContractLab);

impl Deref for Lab {
    type Target = ContractLab;

    fn deref(&self) -> &ContractLab {
        &self.0
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut ContractLab {
        &mut self.0
    }
}

impl Lab {
    pub(super) fn new(config: &PermissionsConfig) -> Self {
        config.check().unwrap();
        let init_code = PermissionsTemplate::init_code(config);
        Self(ContractLab::new(PERMISSIONS_ADDRESS, PermissionsTemplate::registry(), &init_code))
    }

    pub(super) fn permissions(&mut self, account: Address) -> sol::PermissionsInfo {
        self.ok(BOB, &sol::permissionsOfCall { account })
    }
}
