//! Open proposals about a module: of several the chain carries out each, as it has the hashes of their configurations alone.

use super::{Proposal, ProposalId, Proposals, unreadable};
use crate::{
    platform::{PlatformError, blockchain::Blockchain},
    system::governance::{GOVERNANCE_ADDRESS, ProposalAction, interface as sol},
};

impl Proposals<'_> {
    /// Refuses a proposal about a module while another one is open, or waits for a block.
    pub(super) fn check_alone(&self, chain: &Blockchain, module: &str) -> Result<(), PlatformError> {
        let Some(other) = self.open_about(chain, module)? else { return Ok(()) };
        let message = format!(
            "{other} is about the module {module} and is open: propose again when it has ended, or vote on that one"
        );
        Err(PlatformError::Conflict { message })
    }

    /// Names an open proposal about a module.
    fn open_about(&self, chain: &Blockchain, module: &str) -> Result<Option<String>, PlatformError> {
        let view = chain.node().view();
        let open = view.chain().governance_view(view.head(), &sol::openProposalsCall {}).map_err(unreadable)?;
        for number in open {
            let record = view.chain().proposal(view.head(), number.saturating_to()).map_err(unreadable)?;
            let Some(record) = record.filter(|record| module_of(&record.action) == Some(module)) else { continue };
            // One whose block the chain has forgotten has no id.
            let named =
                self.id_of(chain, &record)?.map_or_else(|| format!("with the number {}", record.id), |id| id.text());
            return Ok(Some(format!("the proposal {named}")));
        }
        let pooled = view.pooled().into_iter().filter(|pooled| pooled.transaction.to() == Some(GOVERNANCE_ADDRESS));
        let mut waiting = pooled.filter_map(|pooled| {
            let id = ProposalId::new(chain.id(), pooled.transaction.hash());
            Proposal::pending(id, &pooled.transaction)
        });
        let found = waiting.find(|proposal| module_of(&proposal.action) == Some(module));
        Ok(found.map(|proposal| format!("the proposal {}, which waits for a block,", proposal.id.text())))
    }
}

/// Name of the module that an action is about.
fn module_of(action: &ProposalAction) -> Option<&str> {
    match action {
        ProposalAction::ModuleEnable { name, .. } | ProposalAction::ModuleDisable { name } => Some(name),
        _ => None,
    }
}
