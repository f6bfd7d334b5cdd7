//! Projects: a chain and contracts of a template, made by one request.
//!
//! The first batch has the project's record and its chain's; the chain is then built; the next batch has the contracts' places and the one
//! signed transaction that makes them. A crash between leaves what the next start finishes. Where the caller has signed that transaction, on
//! a chain that is there, it is in the batch of the project's record.

mod kind;
mod making;
pub(super) mod record;
mod signing;
mod spec;
mod templates;
#[cfg(test)]
mod tests;

pub use self::{
    kind::{ProjectKind, ProjectNetwork},
    record::Project,
    spec::{ProjectChain, ProjectSpec},
    templates::{ProjectTemplate, TEMPLATES},
};
use super::{
    BlockchainRecord, ChainState, PlatformError,
    blockchains::Blockchains,
    context::audit,
    principal::Principal,
    records::{Collection, Index, Page, PageRequest, SortKey, Stored, Unit},
};
use crate::node::{BlockRef, Located};

/// Rules of projects.
#[derive(Clone, Copy, Debug)]
pub struct Projects<'a> {
    pub(super) blockchains: Blockchains<'a>,
}

/// State of a project, as its chain has it.
///
/// | from | by | to |
/// |---|---|---|
/// | (none) | create | provisioning |
/// | provisioning | the block with its contracts | active |
/// | provisioning | a failure of the chain, or of the transaction | failed |
/// | active | pause, stop of its chain | paused, stopped |
/// | paused, stopped | resume, start of its chain | active |
/// | active, paused, stopped | the end of its chain | failed |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProjectState {
    /// Its chain is being built, or its contracts wait for a block.
    Provisioning,
    /// Chain and contracts are there.
    Active,
    /// Its chain is paused: it is read, and takes no transactions.
    Paused,
    /// Its chain is stopped.
    Stopped,
    /// It is not known to the caller, who may not read its chain.
    Unavailable,
    /// They are not.
    Failed {
        /// Cause of the failure, in words.
        reason: String,
    },
}

impl ProjectState {
    /// Name of the state.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Unavailable => "unavailable",
            Self::Failed { .. } => "failed",
        }
    }
}

impl<'a> Projects<'a> {
    /// The projects, for reading.
    pub fn all(&self) -> Collection<'a, Project> {
        self.blockchains.context.records.of()
    }

    /// Returns a project of the principal's workspace.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require(&self, principal: &Principal, id: &str) -> Result<Stored<Project>, PlatformError> {
        Ok(self.all().require(&principal.owner(), id)?)
    }

    /// Returns a page of the projects of the principal's workspace, by an index of [`Project`].
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn page(
        &self,
        principal: &Principal,
        index: &Index<Project>,
        request: &PageRequest,
    ) -> Result<Page<Project>, PlatformError> {
        Ok(self.all().page(index, &principal.owner(), &SortKey::new(), request)?)
    }

    /// Changes name and description; what is `None` stays.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn update(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        (name, description): (Option<String>, Option<String>),
    ) -> Result<Stored<Project>, PlatformError> {
        let mut stored = unit.of::<Project>().require(&principal.owner(), id)?;
        stored.value.name = name.unwrap_or(stored.value.name);
        stored.value.description = description.unwrap_or(stored.value.description);
        let stored = unit.replace(&stored)?;
        audit(unit, principal, "project.update", format!("project {id}"))?;
        Ok(stored)
    }

    /// Deletes a project. Its chain and contracts stay.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn delete(&self, unit: &mut Unit<'_>, principal: &Principal, id: &str) -> Result<(), PlatformError> {
        let stored = unit.of::<Project>().require(&principal.owner(), id)?;
        unit.delete(&stored)?;
        audit(unit, principal, "project.delete", format!("project {id}"))
    }

    /// Returns the state of a project, as a principal may know it.
    ///
    /// # Errors
    /// Those of reading.
    pub fn state(&self, principal: &Principal, stored: &Stored<Project>) -> Result<ProjectState, PlatformError> {
        let project = &stored.value;
        let failed = |reason: String| Ok(ProjectState::Failed { reason });
        let chains = self.blockchains.context.records.of::<BlockchainRecord>();
        let Some(chain) = chains.get(stored.owner(), &project.blockchain_id)? else {
            return failed("its blockchain was deleted".to_owned());
        };
        let sight = self.blockchains.sight(principal, &project.blockchain_id)?;
        if sight.is_hidden() {
            return Ok(ProjectState::Unavailable);
        }
        let present = match self.blockchains.state(&chain) {
            ChainState::Failed { reason } => return failed(format!("its blockchain has failed: {reason}")),
            ChainState::Deleting => return failed("its blockchain is being deleted".to_owned()),
            ChainState::Created | ChainState::Provisioning => return Ok(ProjectState::Provisioning),
            ChainState::Stopped => return Ok(ProjectState::Stopped),
            ChainState::Paused => ProjectState::Paused,
            ChainState::Running => ProjectState::Active,
        };
        if project.is_unplanned {
            return Ok(ProjectState::Provisioning);
        }
        let (Some(hash), Some(chain)) = (project.transaction, sight.chain()) else { return Ok(present) };
        let view = chain.node().view();
        if let Some(Located::Pooled(_)) = view.transaction(hash).map_err(PlatformError::from_query)? {
            return Ok(ProjectState::Provisioning);
        }
        for contract in &project.contracts {
            if view.code(contract.address, BlockRef::Latest).map_err(PlatformError::from_query)?.is_empty() {
                return failed(format!("the transaction {hash} of its contracts had no effect"));
            }
        }
        Ok(present)
    }
}
