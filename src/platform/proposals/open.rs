//! Open proposals, each of which the chain may carry out. Of those about modules it has the hashes of their configurations alone.

use serde_json::{Map, Value};

use super::{Proposal, ProposalId, Proposals, id_of, unreadable};
use crate::{
    platform::{
        PlatformError,
        blockchain::Blockchain,
        modules::{Modules, VotedModule},
    },
    primitives::Height,
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
        let found = self.open_of(chain, |open| match opposites(action, config, open) {
            Some((enabled, disabled)) => modules.may_need(chain, enabled, disabled),
            None => Ok(false),
        })?;
        let Some((other, open)) = found else { return Ok(()) };
        let module = module_of(&open).unwrap_or_default();
        let named = opposites(action, config, &open).map(|(enabled, disabled)| (enabled.name, disabled));
        let (needing, needed) = named.unwrap_or_default();
        let does = if module == needing { "enable" } else { "disable" };
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
        for proposal in open_proposals(chain)? {
            if is_it(&proposal.action)? {
                return Ok(Some((proposal.named(chain)?, proposal.action)));
            }
        }
        Ok(None)
    }
}

/// A proposal that is open, or waits for a block.
pub(in crate::platform) struct OpenProposal {
    /// What it does once it has passed.
    pub(in crate::platform) action: ProposalAction,
    place: Place,
}

/// Where an open proposal is.
enum Place {
    /// In the contract, by this number, since the block of this height.
    OnChain(u64, Height),
    /// In the pool.
    Pooled(ProposalId),
}

impl OpenProposal {
    /// Names it: as the subject of a sentence.
    pub(in crate::platform) fn named(&self, chain: &Blockchain) -> Result<String, PlatformError> {
        Ok(match &self.place {
            Place::OnChain(number, height) => {
                // One whose block the chain has forgotten has no id.
                let id = id_of(chain, (*number, *height))?;
                let named = id.map_or_else(|| format!("with the number {number}"), |id| id.text());
                format!("the proposal {named}")
            }
            Place::Pooled(id) => format!("the proposal {}, which waits for a block,", id.text()),
        })
    }
}

/// Returns the open proposals of a chain, and after them those that wait for a block.
pub(in crate::platform) fn open_proposals(chain: &Blockchain) -> Result<Vec<OpenProposal>, PlatformError> {
    let view = chain.node().view();
    if !view.chain().has_governance() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for number in view.chain().governance_view(view.head(), &sol::openProposalsCall {}).map_err(unreadable)? {
        let record = view.chain().proposal(view.head(), number.saturating_to()).map_err(unreadable)?;
        found.extend(record.map(|record| {
            let place = Place::OnChain(record.id, record.height);
            OpenProposal { action: record.action, place }
        }));
    }
    let pooled = view.pooled().into_iter().filter(|pooled| pooled.transaction.to() == Some(GOVERNANCE_ADDRESS));
    found.extend(pooled.filter_map(|pooled| {
        let id = ProposalId::new(chain.id(), pooled.transaction.hash());
        let proposal = Proposal::pending(id, &pooled.transaction)?;
        Some(OpenProposal { action: proposal.action, place: Place::Pooled(proposal.id) })
    }));
    Ok(found)
}

/// Of two actions one of which enables a module and the other disables one: the module that is enabled, and the name of the other. `config`
/// is the configuration where the first of them enables.
fn opposites<'a>(
    own: &'a ProposalAction,
    config: Option<&'a Map<String, Value>>,
    open: &'a ProposalAction,
) -> Option<(VotedModule<'a>, &'a str)> {
    let (enables, config, disables) = match own {
        ProposalAction::ModuleDisable { .. } => (open, None, own),
        _ => (own, config, open),
    };
    let ProposalAction::ModuleEnable { name, config_hash, .. } = enables else { return None };
    let ProposalAction::ModuleDisable { name: disabled } = disables else { return None };
    Some((VotedModule { name, config_hash: *config_hash, config }, disabled))
}

/// Name of the module that an action is about.
fn module_of(action: &ProposalAction) -> Option<&str> {
    match action {
        ProposalAction::ModuleEnable { name, .. } | ProposalAction::ModuleDisable { name } => Some(name),
        _ => None,
    }
}
