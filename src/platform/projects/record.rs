//! The record of a project.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use super::kind::{ProjectKind, ProjectNetwork};
use crate::platform::{
    contract_plan::PlacedContract,
    records::{Index, Reach, Record, RecordError, Records, SortKey},
};

/// Counter that is 1 once the index by chain has the projects that were in the store before it was.
const INDEXED: &str = "projects-indexed";

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
    /// Projects of a workspace by chain.
    pub(in crate::platform) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |project| Some(SortKey::new().text(&project.value.blockchain_id)),
        |project| SortKey::new().number(project.created_at_ms()),
    );
    /// Projects of all workspaces whose contracts are still to be planned.
    pub(super) const UNPLANNED: Index<Self> = Index::ordered(
        "unplanned",
        Reach::Service,
        |project| project.value.is_unplanned.then(SortKey::new),
        |project| SortKey::new().number(project.created_at_ms()),
    );

    /// Completes the index by chain in a store that was written before it was.
    pub(in crate::platform) fn complete_indices(records: &Records) -> Result<(), RecordError> {
        records.once(INDEXED, Records::complete_indices::<Self>)
    }

    /// Takes over what another state of it has on the chain.
    pub(in crate::platform) fn take_contracts_of(&mut self, other: &Self) {
        self.contracts.clone_from(&other.contracts);
        (self.transaction, self.is_unplanned) = (other.transaction, other.is_unplanned);
    }
}

impl Record for Project {
    const KIND: &'static str = "project";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[Self::BY_NAME, Self::BY_BLOCKCHAIN, Self::UNPLANNED, Index::UPDATED];
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        node::ManualClock,
        platform::records::Owner,
        store::{Batch, KeyValue, MemoryStore, suite},
    };

    fn project(blockchain_id: &str) -> Project {
        Project {
            name: "Gold rush".to_owned(),
            description: String::new(),
            kind: ProjectKind::Dapp,
            template: "blank".to_owned(),
            blockchain_id: blockchain_id.to_owned(),
            network: None,
            features: Vec::new(),
            contracts: Vec::new(),
            transaction: None,
            is_unplanned: false,
        }
    }

    #[test]
    fn a_store_of_an_earlier_version_gets_the_index_by_chain() {
        let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
        let open = || Records::open(Arc::clone(&store), Arc::<ManualClock>::default()).unwrap();
        let (owner, records) = (Owner::Service, open());
        for id in ["prj_1", "prj_2"] {
            records.unit(|unit| unit.insert(&owner, id, project("bc_1"))).unwrap();
        }
        drop(records);
        let is_of_index = |key: &[u8]| {
            [b"platform/iproject\0blockchain\0", b"platform/nproject\0blockchain\0"]
                .iter()
                .any(|prefix| key.strip_prefix(b"\xff").is_some_and(|key| key.starts_with(*prefix)))
        };
        let mut entries = suite::dump(&*store);
        entries.retain(|(_, key, _)| is_of_index(key));
        assert_eq!(entries.len(), 3, "two entries and their count");
        let mut batch = Batch::new();
        entries.into_iter().for_each(|(table, key, _)| batch.delete(table, key));
        store.write(batch).unwrap();

        let (records, group) = (open(), SortKey::new().text("bc_1"));
        let count = || records.of::<Project>().count(&Project::BY_BLOCKCHAIN, &owner, &group).unwrap();
        assert!(records.verify::<Project>().is_err());
        assert_eq!(count(), 0);
        Project::complete_indices(&records).unwrap();
        assert_eq!((records.verify::<Project>().unwrap(), count()), (2, 2));
    }
}
