//! A deployed registry with its journal.

use core::ops::{Deref, DerefMut};

use alloy_primitives::address;

use super::{
    super::{interface as sol, *},
    *,
};
use crate::{primitives::Height, system::lab::ContractLab};

pub(super) const AUTHORITY: Address = address!("0000000000000000000000000000000000000a01");
pub(super) const BOB: Address = address!("0000000000000000000000000000000000000b02");

/// A section with the module `dao`.
pub(super) fn config() -> ModulesConfig {
    ModulesConfig::new(AUTHORITY).with_module("dao", 2, hash(9))
}

pub(super) fn hash(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}

pub(super) fn enabling(name: &str, version: u32, config: u8) -> sol::enableCall {
    sol::enableCall { name: name.to_owned(), version, configHash: hash(config) }
}

pub(super) fn info(name: &str, version: u32, config: u8, enabled: bool, since: u64) -> sol::ModuleInfo {
    sol::ModuleInfo { name: name.to_owned(), version, configHash: hash(config), enabled, since }
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
    pub(super) fn new(config: &ModulesConfig) -> Self {
        config.check().unwrap();
        let init_code = ModulesTemplate::init_code(config);
        Self(ContractLab::new(MODULES_ADDRESS, ModulesTemplate::registry(), &init_code))
    }

    pub(super) fn at_height(&mut self, height: u64) -> &mut Self {
        self.block.height = Height::new(height);
        self
    }

    pub(super) fn module(&mut self, name: &str) -> sol::ModuleInfo {
        self.ok(BOB, &sol::moduleCall { name: name.to_owned() })
    }
}
