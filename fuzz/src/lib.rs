//! What the stateful fuzz targets share: a few addresses, a state in which they hold something, a cluster, and a
//! contract of every template.

pub mod cluster;
pub mod contracts;

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use arbitrary::Arbitrary;
use chainbox::{
    state::{AccountChange, AccountInfo, CommitId, EMPTY_CODE_HASH, MemoryState, StateChanges, StateStore, StateView},
    store::Batch,
};

/// What every [`Who`] holds at the start.
pub const FUNDS: u64 = 1_000_000_000;

/// One of few accounts, so that operations meet.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    Alice,
    Bob,
    Carol,
}

impl Who {
    pub const ALL: [Self; 3] = [Self::Alice, Self::Bob, Self::Carol];

    pub const fn address(self) -> Address {
        Address::repeat_byte(self as u8 + 1)
    }
}

/// A state where everyone holds [`FUNDS`], has nonce 0, and keeps 7 in slot 1.
pub fn funded_state() -> Arc<dyn StateView> {
    rich_state(U256::from(FUNDS))
}

/// The same, where everyone holds `balance`.
pub fn rich_state(balance: U256) -> Arc<dyn StateView> {
    let mut changes = StateChanges::default();
    for who in Who::ALL {
        let info = AccountInfo { nonce: 0, balance, code_hash: EMPTY_CODE_HASH };
        let storage = [(U256::from(1), U256::from(7))].into_iter().collect();
        changes.accounts.insert(who.address(), AccountChange { info: Some(info), clear_storage: false, storage });
    }
    let store = MemoryState::new();
    let commit = store.commit(CommitId::EMPTY, &changes, &mut Batch::default()).expect("memory holds it");
    store.view(commit.id).expect("just made")
}
