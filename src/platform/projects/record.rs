//! The record of a project.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use super::kind::{ProjectKind, ProjectNetwork};
use crate::platform::{
    contract_plan::PlacedContract,
    records::{Index, Reach, Record, SortKey},
};

/// A project of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Its type.
    pub kind: ProjectKind,
    /// Name of its template.
    pub template: String,
    /// Id of its chain.
    pub blockchain_id: String,
    /// Network that its chain was made as; `None` of a chain that was there before.
    pub network: Option<ProjectNetwork>,
    /// Features that it was made with, by name.
    pub features: Vec<String>,
    /// Its contracts; none before they are planned.
    pub contracts: Vec<PlacedContract>,
    /// Hash of the transaction that makes them; `None` before it is signed, and without contracts.
    pub transaction: Option<B256>,
    /// Whether its contracts are still to be planned.
    pub is_unplanned: bool,
}

impl Project {
    /// Projects of a workspace by name.
    pub const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |project| SortKey::new().text(&project.value.name),
    );
    /// Projects of all workspaces whose contracts are still to be planned.
    pub(super) const UNPLANNED: Index<Self> = Index::ordered(
        "unplanned",
        Reach::Service,
        |project| project.value.is_unplanned.then(SortKey::new),
        |project| SortKey::new().number(project.created_at_ms()),
    );
}

impl Record for Project {
    const KIND: &'static str = "project";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[Self::BY_NAME, Self::UNPLANNED, Index::UPDATED];
}
