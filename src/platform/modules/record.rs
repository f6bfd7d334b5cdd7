//! What the service keeps of a module of a chain, beside what the chain's registry has.

use core::mem;
use std::collections::BTreeSet;

use alloy_primitives::{B256, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::ModuleKind;
use crate::platform::records::Owner;
use crate::platform::{
    PlatformError,
    contract_plan::PlacedContract,
    records::{Index, Reach, Record, RecordError, SortKey, Unit},
};

/// Version of the modules of this build.
pub(in crate::platform) const VERSION: u32 = 1;
/// Transactions of a module that are kept; of the older ones those alone that may still leave the chain.
const TRANSACTIONS_KEPT: usize = 100;

/// A module that was enabled on a chain of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedModule {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Which one it is.
    pub kind: ModuleKind,
    /// Its version.
    pub version: u32,
    /// Its configuration as it was given, JSON text with sorted keys.
    pub config: String,
    /// Its contracts.
    pub contracts: Vec<PlacedContract>,
    /// Hashes of the transactions that enabled, changed and disabled it, the oldest first, the newest hundred of many; none for one that is in
    /// genesis.
    pub transactions: Vec<B256>,
    /// What it was before, the oldest first, as far back as transactions that changed it may be taken back.
    pub earlier: Vec<EarlierModule>,
}

/// What a module was until a transaction changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierModule {
    /// Its configuration.
    pub config: String,
    /// Its contracts.
    pub contracts: Vec<PlacedContract>,
    /// Hash of the transaction that changed it.
    pub changed_by: B256,
}

/// The record before it had what the module was.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
struct HostedModuleV1 {
    blockchain_id: String,
    kind: ModuleKind,
    version: u32,
    config: String,
    contracts: Vec<PlacedContract>,
    transactions: Vec<B256>,
}

impl HostedModule {
    /// Modules of a chain by name.
    pub(in crate::platform) const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |module| Some(SortKey::new().text(&module.value.blockchain_id)),
        |module| SortKey::new().text(module.value.kind.name()),
    );
    /// Modules of a workspace by name.
    pub(in crate::platform) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |module| SortKey::new().text(module.value.kind.name()),
    );

    /// Id of the record: `mod_`, the chain's id without its prefix, `_`, the name.
    pub(super) fn id(blockchain_id: &str, kind: ModuleKind) -> String {
        let chain = blockchain_id.strip_prefix("bc_").unwrap_or(blockchain_id);
        format!("mod_{chain}_{}", kind.name())
    }

    /// Hash of its configuration, as the registry has it.
    pub fn config_hash(&self) -> B256 {
        keccak256(&self.config)
    }

    /// Its configuration.
    pub fn config(&self) -> Map<String, Value> {
        serde_json::from_str(&self.config).unwrap_or_default()
    }

    /// Makes it what a transaction makes of it.
    pub(super) fn change_to(&mut self, new: Self, by: B256) {
        let (mut transactions, mut earlier) = (mem::take(&mut self.transactions), mem::take(&mut self.earlier));
        transactions.push(by);
        if (&self.config, &self.contracts) != (&new.config, &new.contracts) {
            let (config, contracts) = (mem::take(&mut self.config), mem::take(&mut self.contracts));
            earlier.push(EarlierModule { config, contracts, changed_by: by });
        }
        *self = Self { transactions, earlier, ..new };
    }

    /// Forgets what it was before changes that stay, and the oldest transactions where there are many: for whoever adds one. `stays` tells whether
    /// a transaction will not leave the chain.
    ///
    /// # Errors
    /// Those of `stays`.
    pub(super) fn forget_settled(
        &mut self,
        stays: impl Fn(B256) -> Result<bool, PlatformError>,
    ) -> Result<(), PlatformError> {
        let mut may_return = Vec::new();
        for earlier in &self.earlier {
            if !stays(earlier.changed_by)? {
                may_return.push(earlier.clone());
            }
        }
        self.earlier = may_return;
        // With the first one the module goes: where older ones are forgotten, the first one stays.
        while let [first, second, ..] = self.transactions[..]
            && self.transactions.len() >= TRANSACTIONS_KEPT
            && stays(first)?
            && stays(second)?
        {
            self.transactions.remove(0);
        }
        Ok(())
    }

    /// Takes back what transactions made of it that are gone.
    fn without(mut self, gone: &BTreeSet<B256>) -> Self {
        while let Some(place) = self.earlier.iter().position(|one| gone.contains(&one.changed_by)) {
            let EarlierModule { config, contracts, .. } = self.earlier.remove(place);
            // What the transaction made of it is the next state: it was as before then.
            match self.earlier.get_mut(place) {
                Some(next) => (next.config, next.contracts) = (config, contracts),
                None => (self.config, self.contracts) = (config, contracts),
            }
        }
        self.transactions.retain(|hash| !gone.contains(hash));
        self
    }

    /// Takes back what transactions that are gone made of a chain's modules. One that they enabled is deleted.
    pub(in crate::platform) fn forget_transactions(
        unit: &mut Unit<'_>,
        owner: &Owner,
        chain: &str,
        gone: &BTreeSet<B256>,
    ) -> Result<(), RecordError> {
        for mut module in unit.of().of_chain(&Self::BY_BLOCKCHAIN, owner, chain)? {
            let enabled_by = module.value.transactions.first();
            if enabled_by.is_some_and(|hash| gone.contains(hash)) {
                unit.delete(&module)?;
            } else if module.value.transactions.iter().any(|hash| gone.contains(hash)) {
                module.value = module.value.without(gone);
                unit.replace(&module)?;
            }
        }
        Ok(())
    }
}

impl Record for HostedModule {
    const KIND: &'static str = "module";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN, Self::BY_NAME, Index::UPDATED];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let HostedModuleV1 { blockchain_id, kind, version, config, contracts, transactions } =
            (version == 1).then(|| postcard::from_bytes(bytes).ok())??;
        Some(Self { blockchain_id, kind, version, config, contracts, transactions, earlier: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    fn module(config: &str, transactions: &[u8]) -> HostedModule {
        HostedModule {
            blockchain_id: "bc_1".to_owned(),
            kind: ModuleKind::Nft,
            version: VERSION,
            config: config.to_owned(),
            contracts: Vec::new(),
            transactions: transactions.iter().map(|byte| B256::repeat_byte(*byte)).collect(),
            earlier: Vec::new(),
        }
    }

    #[test]
    fn what_a_transaction_made_goes_with_it() {
        let mut changed = module("a", &[1]);
        for (config, by) in [("b", 2), ("b", 3), ("c", 4)] {
            changed.change_to(module(config, &[]), B256::repeat_byte(by));
        }
        let transactions = |of: &HostedModule| of.transactions.iter().map(|hash| hash[0]).collect::<Vec<_>>();
        assert_eq!((transactions(&changed), changed.earlier.len()), (vec![1, 2, 3, 4], 2));
        for (gone, config, left) in [
            (vec![9], "c", vec![1, 2, 3, 4]),
            (vec![4], "b", vec![1, 2, 3]),
            (vec![3], "c", vec![1, 2, 4]),
            (vec![2], "c", vec![1, 3, 4]),
            (vec![3, 4], "b", vec![1, 2]),
            (vec![2, 3, 4], "a", vec![1]),
        ] {
            let gone: BTreeSet<B256> = gone.into_iter().map(B256::repeat_byte).collect();
            let is_left = changed.clone().without(&gone);
            assert_eq!((is_left.config.as_str(), transactions(&is_left)), (config, left));
        }
        // Once the first change is gone, the second one's is from what was before both.
        let second = changed.without(&[B256::repeat_byte(2)].into()).without(&[B256::repeat_byte(4)].into());
        assert_eq!(second, module("a", &[1, 3]));
    }

    fn hash(number: u64) -> B256 {
        B256::from(U256::from(number))
    }

    /// However often it is changed, it has what can be taken back alone.
    #[test]
    fn what_stays_is_forgotten() {
        let mut changed = module("0", &[]);
        changed.transactions.push(hash(0));
        for number in 1..=1_000_u64 {
            // The newest 64 may leave the chain.
            changed.forget_settled(|one| Ok(one <= hash(number.saturating_sub(65)))).unwrap();
            changed.change_to(module(&number.to_string(), &[]), hash(number));
            assert!(changed.earlier.len() <= 65 && changed.transactions.len() <= TRANSACTIONS_KEPT, "{number}");
        }
        let gone = (937..=1_000).map(hash).collect();
        let left = changed.clone().without(&gone);
        assert_eq!((left.config.as_str(), left.transactions.last()), ("936", Some(&hash(936))));
        assert_eq!((changed.transactions.len(), changed.transactions[0]), (TRANSACTIONS_KEPT, hash(901)));
        // While nothing stays, nothing is forgotten.
        let mut open = module("0", &[]);
        for number in 0..=200 {
            open.forget_settled(|_| Ok(false)).unwrap();
            open.change_to(module(&format!("from {number}"), &[]), hash(number));
        }
        assert_eq!((open.earlier.len(), open.transactions.len()), (201, 201));
        // What is not known is not forgotten.
        let before = open.clone();
        assert!(open.forget_settled(|_| Err(PlatformError::internal("unread"))).is_err());
        assert_eq!(open, before);
    }

    #[test]
    fn a_module_of_the_first_version_is_read() {
        let HostedModule { blockchain_id, kind, version, config, contracts, transactions, .. } = module("{}", &[1]);
        let old = HostedModuleV1 { blockchain_id, kind, version, config, contracts, transactions };
        let old = postcard::to_allocvec(&old).unwrap();
        assert_eq!(<HostedModule as Record>::upgrade(1, &old), Some(module("{}", &[1])));
        assert_eq!(<HostedModule as Record>::upgrade(0, &old), None);
    }
}
