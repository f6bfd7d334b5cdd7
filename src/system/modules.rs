//! The module registry: which modules of the service are on, of which version and with which configuration, at [`MODULES_ADDRESS`].
//!
//! Deployed in genesis where the specification has `modules`. A module is known by a short name, such as `defi` or `oracle`; the chain gives
//! no meaning to it. Its configuration is kept elsewhere, and its hash here, so that everybody runs the same one.
//!
//! - The authority is the contract's owner (OpenZeppelin's `Ownable2Step`), an account or a contract such as the governance. It enables and
//!   disables modules.
//! - A module that was enabled once stays in the registry. `since` is the height of the block that changed it last; what changes nothing
//!   leaves it, and has no event.

mod config;
pub mod interface;
mod name;
mod record;
mod registry;
mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Bytes, address};

use self::{
    interface::Modules::{self as sol, ModulesCalls as Calls},
    registry::{construct, disable, enable, module, modules},
    state::MODULES,
};
use crate::vm::{Marker, Template, TemplateId, TemplateRegistry, contract::*};

pub use config::{ModuleConfig, ModulesConfig, ModulesConfigError};
pub use name::NAME_BYTES_MAX;
pub use record::ModuleRecord;
pub use registry::{MODULES_MAX, PAGE_MAX};

/// Address of the module registry.
pub const MODULES_ADDRESS: Address = address!("0000000000000000000000000000000000001004");

/// The template `modules`, version 1.
#[derive(Clone, Copy, Debug)]
pub struct ModulesTemplate;

impl ModulesTemplate {
    /// Id and version of the template.
    pub const ID: TemplateId = TemplateId::new(0x7005, 1);
    /// Name of the template.
    pub const NAME: &'static str = "modules";

    /// Returns a registry of templates with this one alone.
    pub fn registry() -> TemplateRegistry {
        let mut registry = TemplateRegistry::new();
        let taken = registry.register_own(Arc::new(Self));
        debug_assert!(taken.is_ok(), "it is the only one");
        registry
    }

    /// Returns the init code of the contract with this authority and these modules.
    pub fn init_code(config: &ModulesConfig) -> Bytes {
        let module = |module: &ModuleConfig| sol::GenesisModule {
            name: module.name.clone(),
            version: module.version,
            configHash: module.config_hash,
        };
        let enabled = config.enabled.iter().map(module).collect();
        let call = sol::constructorCall { authority: config.authority, enabled };
        Marker(Self::ID).init_code(&call.abi_encode())
    }
}

impl Template for ModulesTemplate {
    fn id(&self) -> TemplateId {
        Self::ID
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> &str {
        "Which modules of the service are on"
    }

    fn abi(&self) -> JsonAbi {
        sol::abi::contract()
    }

    fn storage_layout(&self) -> StorageLayout {
        StorageLayout::of::<state::ModulesStorage>()
    }

    fn gas_table(&self) -> &str {
        include_str!("modules/gas.txt")
    }

    fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
        let call: sol::constructorCall = host.decode_constructor(params)?;
        construct(host, &call)
    }

    #[rustfmt::skip] // one function a line
    fn call(&self, host: &mut Host<'_>, input: &[u8]) -> Result<Bytes, Stop> {
        match host.decode_call_to_memory(input, NONE_PAYABLE, Calls::signature_by_selector)? {
            Calls::enable(call) => call.returns(enable(host, &call.name, call.version, call.configHash)?),
            Calls::disable(call) => call.returns(disable(host, &call.name)?),
            Calls::module(call) => call.returns(module(host, &call.name)?),
            Calls::moduleCount(call) => call.returns(MODULES.modules.length().get(host)?),
            Calls::modules(call) => call.returns(modules(host, call.from, call.count)?),
            Calls::owner(call) => call.returns(MODULES.ownership.ownable.owner.get(host)?),
            Calls::pendingOwner(call) => call.returns(MODULES.ownership.pending_owner.get(host)?),
            Calls::transferOwnership(call) => call.returns(MODULES.ownership.transfer_ownership(host, call.newOwner)?),
            Calls::acceptOwnership(call) => call.returns(MODULES.ownership.accept_ownership(host)?),
        }
    }
}
