//! Open proposals about modules: the chain carries each of them out, as it has the hashes of their configurations alone.

use serde_json::{Map, Value};

use super::{Proposal, ProposalId, Proposals, unreadable};
use crate::{
    platform::{
        PlatformError,
        blockchain::Blockchain,
        modules::{Modules, VotedModule},
    },
    system::governance::{GOVERNANCE_ADDRESS, ProposalAction, interface as sol},
};

impl Proposals<'_> {
    /// Refuses a proposal about a module while another one about it is open, or waits for a block.
    pub(super) fn check_alone(&self, chain: &Blockchain, module: &str) -> Result<(), PlatformError> {
        let Some((other, _)) = self.open_of(chain, |action| Ok(module_of(action) == Some(module)))? else {
            return Ok(());
        };
        let message = format!(
            "{other} is about the module {module} and is open: propose again when it has ended, or vote on that one"
        );
        Err(PlatformError::Conflict { message })
    }

    /// Refuses a proposal that takes the token of a module from one that another open proposal enables, or that enables one which works with
    /// the token of a module that another one disables. `config` is the configuration of a module that it enables, where it is known.
    pub(super) fn check_needs(
        &self,
        chain: &Blockchain,
        action: &ProposalAction,
        config: Option<&Map<String, Value>>,
    ) -> Result<(), PlatformError> {
        let modules = Modules { blockchains: self.chains };
        let found = self.open_of(chain, |open| match (action, open) {
            (
                ProposalAction::ModuleDisable { name: needed },
                ProposalAction::ModuleEnable { name, config_hash, .. },
            ) => modules.may_need(chain, VotedModule { name, config_hash: *config_hash, config: None }, needed),
            (
                ProposalAction::ModuleEnable { name, config_hash, .. },
                ProposalAction::ModuleDisable { name: needed },
            ) => modules.may_need(chain, VotedModule { name, config_hash: *config_hash, config }, needed),
            _ => Ok(false),
        })?;
        let Some((other, open)) = found else { return Ok(()) };
        let (own, module) = (module_of(action).unwrap_or_default(), module_of(&open).unwrap_or_default());
        let (does, needing, needed) = match &open {
            ProposalAction::ModuleEnable { .. } => ("enable", module, own),
            _ => ("disable", own, module),
        };
        let message = format!(
            "{other} is open and would {does} the module {module}, and {needing} may work with the token of {needed}: propose again when it \
             has ended, or vote on that one"
        );
        Err(PlatformError::Conflict { message })
    }

    /// Names an open proposal whose action is looked for, or one that waits for a block, and returns its action.
    fn open_of(
        &self,
        chain: &Blockchain,
        is_it: impl Fn(&ProposalAction) -> Result<bool, PlatformError>,
    ) -> Result<Option<(String, ProposalAction)>, PlatformError> {
        let view = chain.node().view();
        let open = view.chain().governance_view(view.head(), &sol::openProposalsCall {}).map_err(unreadable)?;
        for number in open {
            let record = view.chain().proposal(view.head(), number.saturating_to()).map_err(unreadable)?;
            let Some(record) = record else { continue };
            if !is_it(&record.action)? {
                continue;
            }
            // One whose block the chain has forgotten has no id.
            let named =
                self.id_of(chain, &record)?.map_or_else(|| format!("with the number {}", record.id), |id| id.text());
            return Ok(Some((format!("the proposal {named}"), record.action)));
        }
        let pooled = view.pooled().into_iter().filter(|pooled| pooled.transaction.to() == Some(GOVERNANCE_ADDRESS));
        let waiting = pooled.filter_map(|pooled| {
            let id = ProposalId::new(chain.id(), pooled.transaction.hash());
            Proposal::pending(id, &pooled.transaction)
        });
        for proposal in waiting {
            if is_it(&proposal.action)? {
                let named = format!("the proposal {}, which waits for a block,", proposal.id.text());
                return Ok(Some((named, proposal.action)));
            }
        }
        Ok(None)
    }
}

/// Name of the module that an action is about.
fn module_of(action: &ProposalAction) -> Option<&str> {
    match action {
        ProposalAction::ModuleEnable { name, .. } | ProposalAction::ModuleDisable { name } => Some(name),
        _ => None,
    }
}
