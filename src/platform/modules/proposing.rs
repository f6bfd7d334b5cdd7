//! Proposals about modules: what could not be carried out after the vote is refused before it.

use super::{
    ModuleKind, ModuleSpec, Modules, contracts::contracts, enabling::known_contracts, record::HostedModule,
    state::registry,
};
use crate::platform::{
    Blockchain, PlatformError,
    contract_plan::{Deployer, in_batch},
    principal::Principal,
};

impl Modules<'_> {
    /// Refuses a module to vote for that could not be enabled after the vote. Paths of fields are those of a proposal's body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] of the configuration; [`PlatformError::Conflict`] for a module that this build does not have, for one
    /// that is on as asked for, for a change that would leave contracts of the former configuration wrong, and for what the module needs and
    /// the chain lacks; those of reading.
    pub(in crate::platform) fn check_proposed(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        spec: &ModuleSpec,
    ) -> Result<(), PlatformError> {
        self.check_contracts(principal, chain, spec).map_err(in_changes)
    }

    /// Plans the contracts, as the service does after the vote.
    fn check_contracts(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        spec: &ModuleSpec,
    ) -> Result<(), PlatformError> {
        let config = spec.read()?;
        let id = HostedModule::id(chain.id(), spec.kind);
        let former = self.blockchains.context.records.of::<HostedModule>().get(chain.owner(), &id)?;
        self.check_change(principal, chain, spec, &config, former.as_ref())?;
        let around = self.surroundings(principal, chain, &config)?;
        let mut placed = known_contracts(chain, former.as_ref())?;
        let address = chain.treasury().unwrap_or_default();
        let deployer = Deployer { templates: chain.node().templates(), address, nonce: 0 };
        in_batch(&contracts(&config, around)?, deployer, &mut placed).map(drop)
    }

    /// Refuses to vote for the end of a module that is not on, or whose token another one works with that is on, or is to be.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`]; those of reading.
    pub(in crate::platform) fn check_proposed_end(
        &self,
        principal: &Principal,
        chain: &Blockchain,
        name: &str,
    ) -> Result<(), PlatformError> {
        if !registry(chain)?.iter().any(|entry| entry.is_enabled && entry.name == name) {
            let message =
                format!("no module {name} is enabled on blockchain {}: there is nothing to disable", chain.id());
            return Err(PlatformError::Conflict { message });
        }
        self.check_nobody_on_needs(principal, chain.id(), ModuleKind::from_name(name))
    }
}

/// Names fields of a configuration as the body of a proposal has them.
fn in_changes(cause: PlatformError) -> PlatformError {
    match cause {
        PlatformError::Validation { mut fields } => {
            for field in &mut fields {
                field.path = format!("changes.{}", field.path);
            }
            PlatformError::Validation { fields }
        }
        other => other,
    }
}
