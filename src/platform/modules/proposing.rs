//! Proposals about modules: what could not be carried out after the vote is refused before it.

use alloy_primitives::B256;
use serde_json::{Map, Value};

use super::{
    ModuleKind, ModuleSpec, Modules, config::ModuleConfig, contracts::contracts, enabling::known_contracts,
    genesis::token_of, proposed::ProposedModule, record::HostedModule, state::registry,
};
use crate::platform::{
    Blockchain, PlatformError,
    contract_plan::{Deployer, in_batch},
    principal::Principal,
};

/// A module to vote for, by what is known of its configuration.
#[derive(Clone, Copy, Debug)]
pub(in crate::platform) struct VotedModule<'a> {
    /// Name of the module.
    pub(in crate::platform) name: &'a str,
    /// Hash of the configuration, which is all that the chain has of it.
    pub(in crate::platform) config_hash: B256,
    /// The configuration; `None` of one that only its hash tells.
    pub(in crate::platform) config: Option<&'a Map<String, Value>>,
}

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

    /// Returns whether a module to vote for works with the token of another one. Of a configuration that its hash alone tells, which is neither
    /// that of the module's contracts nor what the service has proposed, nobody knows: it may be any that has a token.
    ///
    /// # Errors
    /// Those of reading.
    pub(in crate::platform) fn may_need(
        &self,
        chain: &Blockchain,
        voted: VotedModule<'_>,
        needed: &str,
    ) -> Result<bool, PlatformError> {
        let (Some(kind), Some(needed)) = (ModuleKind::from_name(voted.name), ModuleKind::from_name(needed)) else {
            return Ok(false);
        };
        if kind == needed || !kind.is_in_this_build() {
            return Ok(false);
        }
        let records = &self.blockchains.context.records;
        let modules = records.of().of_chain(&HostedModule::BY_BLOCKCHAIN, chain.owner(), chain.id())?;
        let of_kind = |kind: ModuleKind| modules.iter().map(|stored| &stored.value).find(move |it| it.kind == kind);
        let made = of_kind(kind).filter(|it| it.config_hash() == voted.config_hash);
        let config = match (voted.config, made) {
            (Some(config), _) => Some(config.clone()),
            (None, Some(made)) => Some(made.config()),
            (None, None) => ProposedModule::config_of(records, chain, kind, voted.config_hash)?,
        };
        Ok(match config {
            Some(config) => ModuleConfig::read(kind, &config).is_ok_and(|config| config.depends_on() == Some(needed)),
            None => of_kind(needed).is_some_and(|it| token_of(&it.contracts).is_some()),
        })
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
