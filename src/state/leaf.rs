//! Contents of the leaves of the two kinds of trie: accounts and storage slots.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use alloy_rlp::Encodable;

use super::{
    Account, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT,
    trie::{LeafValue, NodeLink},
};

/// An account in its leaf; `L` links to the root of a storage trie.
#[derive(Clone, Debug)]
pub(crate) struct AccountLeaf<L> {
    pub(crate) address: Address,
    pub(crate) nonce: u64,
    pub(crate) balance: U256,
    /// Code and storage; `None` for an account with neither.
    pub(crate) contract: Option<Arc<ContractLeaf<L>>>,
}

/// Code hash and storage of a contract.
#[derive(Clone, Debug)]
pub(crate) struct ContractLeaf<L> {
    pub(crate) code_hash: B256,
    pub(crate) storage: Option<L>,
}

impl<L: NodeLink> AccountLeaf<L> {
    /// Creates an account with these values and this storage.
    pub(crate) fn new(address: Address, info: &AccountInfo, storage: Option<L>) -> Self {
        let contract = (info.code_hash != EMPTY_CODE_HASH || storage.is_some())
            .then(|| Arc::new(ContractLeaf { code_hash: info.code_hash, storage }));
        Self { address, nonce: info.nonce, balance: info.balance, contract }
    }

    /// Returns the link to the root of its storage trie.
    pub(crate) fn storage(&self) -> Option<&L> {
        self.contract.as_ref()?.storage.as_ref()
    }

    /// Returns the account as the state root covers it.
    pub(crate) fn account(&self) -> Account {
        Account {
            nonce: self.nonce,
            balance: self.balance,
            storage_root: self.storage().map_or(EMPTY_ROOT, |root| root.reference().root_hash()),
            code_hash: self.code_hash(),
        }
    }

    fn code_hash(&self) -> B256 {
        self.contract.as_ref().map_or(EMPTY_CODE_HASH, |contract| contract.code_hash)
    }
}

impl<L: NodeLink> PartialEq for AccountLeaf<L> {
    fn eq(&self, other: &Self) -> bool {
        self.nonce == other.nonce
            && self.balance == other.balance
            && self.code_hash() == other.code_hash()
            && self.storage().map(NodeLink::reference) == other.storage().map(NodeLink::reference)
    }
}

impl<L: NodeLink> LeafValue for AccountLeaf<L> {
    fn encode(&self, out: &mut Vec<u8>) {
        let account = self.account();
        let payload_length = account.nonce.length() + account.balance.length() + 2 * (1 + 32);
        alloy_rlp::Header { list: true, payload_length }.encode(out);
        account.nonce.encode(out);
        account.balance.encode(out);
        for hash in [account.storage_root, account.code_hash] {
            out.push(0x80 + 32);
            out.extend_from_slice(&hash.0);
        }
    }

    /// Takes the storage from `old`, which a change of nonce, balance or code leaves unchanged.
    fn inherit(&self, old: &Self) -> Self {
        let contract = match &old.contract {
            Some(contract) if contract.code_hash == self.code_hash() => Some(Arc::clone(contract)),
            Some(contract) if contract.storage.is_some() => {
                Some(Arc::new(ContractLeaf { code_hash: self.code_hash(), storage: contract.storage.clone() }))
            }
            _ => self.contract.clone(),
        };
        Self { contract, ..self.clone() }
    }
}

/// A storage slot in its leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotLeaf {
    pub(crate) slot: U256,
    /// Value, never zero: a slot that is zero has no leaf.
    pub(crate) value: U256,
}

impl LeafValue for SlotLeaf {
    fn encode(&self, out: &mut Vec<u8>) {
        alloy_rlp::Encodable::encode(&self.value, out);
    }

    fn inherit(&self, _: &Self) -> Self {
        *self
    }
}
